/* Owns what `profalloc run` does with the traces that a command left. */
#include "analyze/report/report.h"
#include "analyze/base/memory.h"
#include "analyze/trace/seal.h"
#include "cli/request.h"
#include "cli/run.h"
#include "cli/tool.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pattern of files: what stands for something in the trace's name stands for anything. `number` goes before the suffix. */
static char *make_glob(const char *pattern, const char *number)
{
    size_t stem = strlen(pattern);
    size_t suffix = strlen(PFA_TRACE_SUFFIX);
    stem -= stem > suffix && strcmp(pattern + stem - suffix, PFA_TRACE_SUFFIX) == 0 ? suffix : 0;
    char *made = pfa_memory_get(2 * stem + strlen(number) + suffix + 1, 1);
    char *to = made;
    for (const char *at = pattern; at < pattern + stem; at++) {
        if (at[0] == '%' && at[1] != '\0' && strchr("pet", at[1]) != NULL) {
            *to++ = '*';
            at++;
        } else {
            if (strchr("*?[]\\", *at) != NULL) {
                *to++ = '\\';
            }
            *to++ = *at;
        }
    }
    to = stpcpy(to, number);
    strcpy(to, pattern + stem);
    return made;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All that the pattern can have become: where a name is taken already the library puts a number into it. Each once. */
static void find_traces(const char *pattern, glob_t *found)
{
    char *plain = make_glob(pattern, "");
    char *numbered = make_glob(pattern, ".[0-9]*");
    size_t kept = 0;
    (void)glob(plain, 0, NULL, found);
    (void)glob(numbered, found->gl_pathc != 0 ? GLOB_APPEND : 0, NULL, found);
    if (found->gl_pathc != 0) {
        qsort(found->gl_pathv, found->gl_pathc, sizeof *found->gl_pathv, compare_paths);
    }
    for (size_t i = 0; i < found->gl_pathc; i++) {
        if (kept != 0 && strcmp(found->gl_pathv[kept - 1], found->gl_pathv[i]) == 0) {
            free(found->gl_pathv[i]); /* as globfree does, with those that are left */
        } else {
            found->gl_pathv[kept++] = found->gl_pathv[i];
        }
    }
    found->gl_pathc = kept;
    pfa_memory_free(plain);
    pfa_memory_free(numbered);
}

static void seal(const char *path)
{
    char *why;
    pfa_sealed_t how = pfa_seal(path, NULL, &why);
    if (how == PFA_SEAL_FAILED) {
        pfa_tool_say("run", "%s", why != NULL ? why : path);
    } else if (how == PFA_SEAL_RUNNING) {
        pfa_tool_say("run", "%s: its process goes on", path);
    }
    pfa_memory_free(why);
}

/* Is there a live table in memory that no process holds? They lock theirs, also where we cannot see them. */
static bool has_free_table(const char *path)
{
    struct stat status;
    char *live = pfa_memory_format("%s" PFA_LIVE_SUFFIX, path);
    bool is_free = false;
    if (lstat(live, &status) == 0 && S_ISLNK(status.st_mode)) {
        int fd = open(live, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (fd >= 0) {
            close(fd);
        }
    }
    pfa_memory_free(live);
    return is_free;
}

static bool is_gone(uint32_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

void pfa_run_seal_ended(const char *pattern, uint64_t number)
{
    glob_t found = {.gl_pathc = 0};
    find_traces(pattern, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pfa_trace_start_t start;
        const char *path = found.gl_pathv[i];
        if (has_free_table(path) && pfa_trace_read_start(path, &start) && start.run == number && is_gone(start.pid)) {
            char *why;
            (void)pfa_seal(path, NULL, &why); /* what fails is told at the end */
            pfa_memory_free(why);
        }
    }
    globfree(&found);
}

static void summarise(const char *path)
{
    pfa_session_options_t options = pfa_request_session("run", 0);
    pfa_points_options_t points = {.thresholds = pfa_thresholds_standard()};
    pfa_session_t *session;
    pfa_report_t *report;
    if (pfa_session_open(&session, &options, &path, 1) != 0) {
        return;
    }
    if (pfa_points_collect(session, NULL, &points, &report) == 0) {
        (void)pfa_report_summary(report, stderr);
        for (size_t i = 0; i < report->query->sources[0].missing.count; i++) {
            fprintf(stderr, "  missing    %s\n", report->query->sources[0].missing.list[i]);
        }
    }
    pfa_answer_free(report);
    pfa_session_close(session);
}

static char *find_program(const char *name)
{
    if (strchr(name, '/') != NULL) {
        return pfa_memory_copy(name, strlen(name));
    }
    const char *folders = getenv("PATH");
    char *copy = pfa_memory_format("%s", folders != NULL ? folders : "/usr/bin:/bin");
    char *found = NULL;
    char *rest = copy;
    for (char *folder; found == NULL && rest != NULL && (folder = strsep(&rest, ":")) != NULL;) {
        found = pfa_memory_format("%s/%s", folder[0] != '\0' ? folder : ".", name);
        if (access(found, X_OK) != 0) {
            pfa_memory_free(found);
            found = NULL;
        }
    }
    pfa_memory_free(copy);
    return found;
}

/* Whether it is a program that the dynamic linker never sees. */
static bool is_static(int fd)
{
    Elf64_Ehdr head;
    if (pfa_file_read(fd, &head, sizeof head, 0) != 0 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64) {
        return false;
    }
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        if (pfa_file_read(fd, &segment, sizeof segment, head.e_phoff + i * sizeof segment) != 0 ||
            segment.p_type == PT_INTERP) {
            return false;
        }
    }
    return true;
}

static void tell_no_trace(const char *program)
{
    struct stat status = {.st_mode = 0};
    char *path = find_program(program);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const char *reason =
        "it may have been killed at once, left by _exit before its first allocation, or have cleared its "
        "environment";
    if (path != NULL && stat(path, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0) {
        reason = "it is set-user-ID or set-group-ID, and no library can be preloaded into such a program";
    } else if (fd >= 0 && is_static(fd)) {
        reason = "it is statically linked, and no library can be preloaded into it; link it with -lprofalloc instead";
    }
    pfa_tool_say("run", "%s left no trace: %s", program, reason);
    if (fd >= 0) {
        close(fd);
    }
    pfa_memory_free(path);
}

static void write_list(const char *list, const char *first, const glob_t *found, uint64_t number)
{
    FILE *file = fopen(list, "w");
    if (file == NULL) {
        pfa_tool_say("run", "cannot write %s: %s", list, strerror(errno));
        return;
    }
    if (first != NULL) {
        fprintf(file, "%s\n", first);
    }
    for (size_t i = 0; i < found->gl_pathc; i++) {
        pfa_trace_start_t start;
        const char *path = found->gl_pathv[i];
        if (path != first && pfa_trace_read_start(path, &start) && start.run == number) {
            fprintf(file, "%s\n", path);
        }
    }
    if (fclose(file) != 0) {
        pfa_tool_say("run", "cannot write %s: %s", list, strerror(errno));
    }
}

void pfa_run_tell(const char *pattern, pid_t pid, uint64_t number, const char *program, const char *list)
{
    glob_t found = {.gl_pathc = 0};
    const char *main_trace = NULL;
    const char *other = NULL;
    uint64_t main_start = 0;
    size_t others = 0;
    find_traces(pattern, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pfa_trace_start_t start;
        const char *path = found.gl_pathv[i];
        if (!pfa_trace_read_start(path, &start) || start.run != number) {
            continue;
        }
        seal(path);
        bool is_main = start.pid == (uint32_t)pid && start.unix_ns >= main_start; /* the last that it became by exec */
        const char *rest = is_main ? main_trace : path;
        main_trace = is_main ? path : main_trace;
        main_start = is_main ? start.unix_ns : main_start;
        others += rest != NULL;
        other = rest != NULL ? rest : other;
    }
    if (list != NULL) {
        write_list(list, main_trace, &found, number);
    }
    if (main_trace != NULL) {
        pfa_tool_say("run", "the profile is %s", main_trace);
        summarise(main_trace);
    } else {
        tell_no_trace(program);
    }
    if (others != 0) {
        pfa_tool_say("run", "%zu more trace%s, of other processes or programs: %s%s", others, others == 1 ? "" : "s",
                     other, others == 1 ? "" : ", ...");
    }
    globfree(&found);
}
