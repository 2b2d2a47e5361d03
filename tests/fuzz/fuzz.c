/* Owns what the fuzz targets share. See tests/fuzz/fuzz.h. One thread. */
#include "tests/fuzz/fuzz.h"
#include "export/format/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATHS = 8, PATH_SIZE = 96, LARGEST = 1 << 22 };

static char paths[PATHS][PATH_SIZE];
static size_t path_count;

static void remove_files(void)
{
    for (size_t i = 0; i < path_count; i++) {
        (void)unlink(paths[i]);
    }
}

const char *pfa_fuzz_path(const char *suffix)
{
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    pfa_fuzz_expect(path_count < PATHS, "there are too many files");
    if (path_count == 0) {
        atexit(remove_files);
    }
    char *path = paths[path_count++];
    snprintf(path, PATH_SIZE, "%s/profalloc-fuzz-%d%s", folder, (int)getpid(), suffix);
    return path;
}

void pfa_fuzz_write(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pfa_fuzz_expect(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "cannot write %s", path);
    close(fd);
}

uint8_t *pfa_fuzz_read(const char *path, size_t *size)
{
    FILE *from = fopen(path, "re");
    uint8_t *bytes = malloc(LARGEST + 1);
    pfa_fuzz_expect(from != NULL && bytes != NULL, "cannot read %s", path);
    *size = fread(bytes, 1, LARGEST, from);
    bytes[*size] = '\0';
    fclose(from);
    return bytes;
}

void pfa_fuzz_mend(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; size - at >= sizeof(pfa_block_header_t);) {
        pfa_block_header_t header;
        memcpy(&header, bytes + at, sizeof header);
        if (header.magic != PFA_BLOCK_MAGIC || header.stored_size > size - at - sizeof header) {
            at++;
            continue;
        }
        header.checksum = pfa_block_checksum(&header, bytes + at + sizeof header);
        memcpy(bytes + at, &header, sizeof header);
        at += sizeof header + header.stored_size;
    }
}

void pfa_fuzz_expect(bool holds, const char *format, ...)
{
    if (!holds) {
        va_list arguments;
        va_start(arguments, format);
        fputs("fuzz: ", stderr);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
        abort();
    }
}

void pfa_fuzz_expect_end(int error, const char *what)
{
    bool known =
        error == 0 || error == EIO || error == ENODATA || error == EINVAL || error == ENOTSUP || error == ERANGE;
    pfa_fuzz_expect(known, "%s: %s", what, strerror(error));
}

void pfa_fuzz_work(void (*work)(void *to), void *to)
{
    pfa_memory_t *arena = pfa_memory_new();
    pfa_fuzz_expect(arena != NULL, "there is no memory");
    int error = pfa_memory_work(arena, work, to);
    pfa_fuzz_expect(error == 0, "work was left: %s", strerror(error));
    pfa_memory_delete(arena);
}

void pfa_fuzz_hear(const char *text)
{
    static volatile size_t heard;
    if (text != NULL) {
        heard += strlen(text);
    }
}

static void say(void *to, const char *text)
{
    (void)to;
    pfa_fuzz_hear(text);
}

static bool tell(void *to, const char *what, double part)
{
    size_t *patience = to;
    pfa_fuzz_hear(what);
    pfa_fuzz_expect(part >= 0 && part <= 1, "%s: %f of it is done", what, part);
    if (*patience == 0) {
        return false;
    }
    --*patience;
    return true;
}

pfa_session_options_t pfa_fuzz_options(size_t *patience)
{
    return (pfa_session_options_t){.watch = {.tell = tell, .to = patience}, .say = say};
}

FILE *pfa_fuzz_nowhere(void)
{
    static FILE *nowhere;
    nowhere = nowhere != NULL ? nowhere : fopen("/dev/null", "we");
    pfa_fuzz_expect(nowhere != NULL, "there is no /dev/null");
    return nowhere;
}
