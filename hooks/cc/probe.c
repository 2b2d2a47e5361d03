/* Owns what is known of the compiler underneath: its kind and version, asked of the compiler itself through the macros that it
 * predefines, and kept for a day in the user's cache folder, since a build asks a thousand times. An entry belongs to
 * the command's words, files, sizes and times; one that does not fit, or cannot be read or written, costs a question and
 * no more. */
#include "hooks/cc/cc.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define A_DAY (24 * 60 * 60)

static int macro(const char *text, const char *name)
{
    char *line = pfa_text("#define %s ", name);
    const char *found = strstr(text, line);
    int value = found == NULL ? -1 : atoi(found + strlen(line));
    free(line);
    return value;
}

static char *read_pipe(int descriptor)
{
    size_t length = 0;
    char *text = NULL;
    for (;;) {
        char *more = realloc(text, length + 65537);
        if (more == NULL) {
            pfa_cc_fail("out of memory");
        }
        text = more;
        ssize_t got = read(descriptor, text + length, 65536);
        if (got <= 0) {
            text[length] = 0;
            return text;
        }
        length += (size_t)got;
    }
}

/* What is no compiler tells how it is used, which helps nobody. Our own words do: that the compiler cannot be run, or of
 * ourselves, whom it called. */
static void pass_on(int descriptor)
{
    char text[4096];
    ssize_t got = read(descriptor, text, sizeof text - 1);
    text[got > 0 ? got : 0] = 0;
    if (pfa_starts_with(text, "profalloc-c") || pfa_starts_with(text, pfa_text("%s: error: ", pfa_cc_name))) {
        fputs(text, stderr);
        exit(1);
    }
}

/* The predefined macros. */
static char *ask(const pfa_under_t *under)
{
    static const char *const question[] = {"-dM", "-E", "-x", "c", "/dev/null"};
    pfa_words_t command = {0};
    int ends[2];
    int said[2]; /* neither end waits: what would not fit is lost */
    pfa_words_add_all(&command, &under->command);
    for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
        pfa_words_add(&command, question[i]);
    }
    if (pipe(ends) != 0 || pipe2(said, O_NONBLOCK | O_CLOEXEC) != 0) {
        pfa_cc_fail("no pipe to the compiler: %m");
    }
    pid_t child = fork();
    if (child < 0) {
        pfa_cc_fail("no process for the compiler: %m");
    }
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(said[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(command.at[0], command.at);
        pfa_cc_fail("%s cannot be run: %m", command.at[0]);
    }
    close(ends[1]);
    char *answer = read_pipe(ends[0]);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 || macro(answer, "__GNUC__") < 0) {
        pass_on(said[0]);
        pfa_cc_fail("'%s' does not answer like gcc or clang ('%s -dM -E -x c /dev/null'); set PROFALLOC_CC and "
                    "PROFALLOC_CXX to one of these",
                    command.at[0], command.at[0]);
    }
    close(said[0]);
    close(said[1]);
    return answer;
}

/* What an answer belongs to: the words, and the programs that they are, as far as they are programs: in "ccache gcc" gcc counts,
 * wherever it lies in the PATH. */
static char *key_of(const pfa_under_t *under)
{
    char *key = pfa_text("1");
    for (size_t i = 0; i < under->command.count; i++) {
        struct stat about = {0};
        char *found = pfa_under_path(under->command.at[i]);
        char *path = found == NULL ? NULL : realpath(found, NULL);
        if (path != NULL && stat(path, &about) != 0) {
            about = (struct stat){0};
        }
        char *longer = pfa_text("%s|%s|%s|%lld|%lld", key, under->command.at[i], path == NULL ? "" : path,
                                (long long)about.st_size, (long long)about.st_mtime);
        free(path);
        free(found);
        free(key);
        key = longer;
    }
    return key;
}

/* Of the cache, or NULL where there is none. A folder of the user's alone: not /tmp. */
static char *cache_file(const char *key, bool make)
{
    const char *base = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char *folder;
    if (base != NULL && base[0] == '/') {
        folder = pfa_text("%s", base);
    } else if (home != NULL && home[0] == '/') {
        folder = pfa_text("%s/.cache", home);
    } else {
        return NULL;
    }
    char *own = pfa_text("%s/profalloc", folder);
    if (make) {
        mkdir(folder, 0700);
        mkdir(own, 0700);
    }
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = key; *c != 0; c++) {
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    }
    return pfa_text("%s/compiler-%016llx", own, (unsigned long long)hash);
}

static bool recall(pfa_under_t *under, const char *key)
{
    struct stat about;
    char *path = cache_file(key, false);
    if (path == NULL || stat(path, &about) != 0 || about.st_uid != geteuid() || about.st_mtime + A_DAY < time(NULL)) {
        return false;
    }
    char *text = pfa_file_read(path);
    size_t length = strlen(key);
    int clang;
    int x86;
    if (text == NULL || strncmp(text, key, length) != 0 ||
        sscanf(text + length, "\nclang %d major %d x86 %d", &clang, &under->major, &x86) != 3) {
        return false;
    }
    under->clang = clang != 0;
    under->x86 = x86 != 0;
    return true;
}

/* Whole or not at all: another compile may be reading. */
static void remember(const pfa_under_t *under, const char *key)
{
    char *path = cache_file(key, true);
    if (path == NULL) {
        return;
    }
    char *temporary = pfa_text("%s.%d", path, (int)getpid());
    FILE *file = fopen(temporary, "wxe");
    if (file == NULL) {
        return;
    }
    fprintf(file, "%s\nclang %d major %d x86 %d\n", key, under->clang, under->major, under->x86);
    if (fclose(file) != 0 || rename(temporary, path) != 0) {
        unlink(temporary);
    }
}

void pfa_under_probe(pfa_under_t *under)
{
    char *key = key_of(under);
    if (recall(under, key)) {
        return;
    }
    char *macros = ask(under);
    int clang = macro(macros, "__clang_major__");
    under->clang = clang >= 0;
    under->major = under->clang ? clang : macro(macros, "__GNUC__");
    under->x86 = macro(macros, "__x86_64__") >= 0;
    remember(under, key);
}
