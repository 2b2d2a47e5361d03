/* What fuzz targets share: files for inputs, and commands as from a command line. For one target each, which includes it once. */
#ifndef PFA_TESTS_FUZZ_H
#define PFA_TESTS_FUZZ_H

#include "export/format/trace.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where files are quickest. */
static const char *fuzz_folder(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
        abort();
    }
    close(fd);
}

/* All of a file; the caller frees it. */
__attribute__((unused)) static uint8_t *read_all(const char *path, size_t *size)
{
    FILE *from = fopen(path, "re");
    uint8_t *bytes = malloc((1 << 22) + 1); /* the caller may put a 0 behind it */
    if (from == NULL || bytes == NULL) {
        abort();
    }
    *size = fread(bytes, 1, 1 << 22, from);
    fclose(from);
    return bytes;
}

__attribute__((unused)) static void mend_checksums(uint8_t *bytes, size_t size)
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

/* As from the command line; words may be NULL. */
__attribute__((unused)) static int run_words(int command(int argc, char **argv), const char *const *words, size_t count)
{
    char *arguments[8];
    int given = 0;
    for (size_t i = 0; i < count; i++) {
        if (words[i] != NULL) {
            arguments[given++] = (char *)(uintptr_t)words[i];
        }
    }
    arguments[given] = NULL;
    optind = 0; /* getopt begins anew */
    return command(given, arguments);
}

__attribute__((unused)) static int run(int command(int argc, char **argv), const char *name, const char *option,
                                       const char *first, const char *second)
{
    return run_words(command, (const char *const[]){name, option, first, second}, 4);
}

#endif
