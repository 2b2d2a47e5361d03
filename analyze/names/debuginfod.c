/* Owns the client of debuginfod servers. See analyze/names/debuginfod.h.
 *
 * A child process asks, so that it can be left at any time: libdebuginfod may be stuck in a look-up of the server's name, and
 * when it is told to stop (by its progress function) some versions note in their cache that the file does not exist. */
#include "analyze/names/debuginfod.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/progress.h"
#include "analyze/base/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Seconds without a byte, unless the session says otherwise. libdebuginfod has 90, for each try of each file. */
enum { PATIENCE = 10, LOOK_MS = 100 };

/* As in <elfutils/debuginfod.h>, which comes with a package that nothing else here needs. */
typedef struct debuginfod_client client_t;
typedef int progress_t(client_t *client, long done, long total);
typedef client_t *begin_t(void);
typedef void set_progress_t(client_t *client, progress_t *progress);
typedef int find_t(client_t *client, const unsigned char *build_id, int size, char **path);

typedef enum answer { SILENT, ANSWERED, UNUSABLE } answer_t;

/* What the child tells. `answer` is read when it has ended. */
typedef struct told {
    _Atomic long done; /* bytes, if total is not 0 */
    _Atomic long total;
    answer_t answer;
    int error; /* 0: path is the file's */
    char path[PATH_MAX];
} told_t;

struct pfa_debuginfod {
    char *urls;
    const pfa_watch_t *watch;
    told_t *told;     /* shared with the child; NULL: not asked yet */
    double wait_most; /* seconds in vain, for all files */
    double waited;
    bool given_up;
    char trouble[128]; /* "": none */
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void unmap(void *object)
{
    const pfa_debuginfod_t *servers = object;
    if (servers->told != NULL) {
        munmap(servers->told, sizeof *servers->told);
    }
}

pfa_debuginfod_t *pfa_debuginfod_new(const char *urls, double seconds, const pfa_watch_t *watch)
{
    pfa_debuginfod_t *servers = pfa_memory_object(sizeof *servers, unmap);
    servers->urls = pfa_memory_text(urls, strlen(urls));
    servers->watch = watch;
    servers->wait_most = seconds > 0 ? seconds : PATIENCE;
    return servers;
}

static told_t *told_to; /* in the child, which has one thread */

static int show_progress(client_t *client, long done, long total)
{
    (void)client;
    told_to->done = done;
    told_to->total = total;
    return 0;
}

static answer_t ask(const pfa_debuginfod_t *servers, const uint8_t *build_id, size_t size)
{
    void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    begin_t *begin = library != NULL ? (begin_t *)dlsym(library, "debuginfod_begin") : NULL;
    find_t *find = library != NULL ? (find_t *)dlsym(library, "debuginfod_find_debuginfo") : NULL;
    set_progress_t *progress = library != NULL ? (set_progress_t *)dlsym(library, "debuginfod_set_progressfn") : NULL;
    if (begin == NULL || find == NULL || progress == NULL || setenv("DEBUGINFOD_URLS", servers->urls, 1) != 0) {
        return UNUSABLE;
    }
    client_t *client = begin();
    if (client == NULL) {
        return UNUSABLE;
    }
    told_t *told = told_to = servers->told;
    progress(client, show_progress);
    char *path = NULL;
    int fd = find(client, build_id, (int)size, &path);
    told->error = fd < 0 ? -fd : path == NULL || strlen(path) >= sizeof told->path ? ENAMETOOLONG : 0;
    if (told->error == 0) {
        strcpy(told->path, path);
    }
    return ANSWERED;
}

/* Until the child has ended, which closes the pipe, or sent nothing for as long as there is patience. */
static void wait_for(pfa_debuginfod_t *servers, int pipe_end)
{
    struct pollfd end = {.fd = pipe_end};
    told_t *told = servers->told;
    pfa_progress_t shown = {.watch = servers->watch, .what = "asking debuginfod"};
    double heard = now();
    long before = 0;
    for (;;) {
        int ready = poll(&end, 1, LOOK_MS);
        long total = told->total;
        long done = total > 0 ? told->done : 0;
        double time = now();
        if (done != before) {
            before = done;
            heard = time;
        }
        if (ready > 0 || time - heard >= servers->wait_most - servers->waited) {
            break;
        }
        shown.total = (uint64_t)(total > 0 ? (double)total : servers->wait_most + 1);
        shown.done = (uint64_t)(total > 0 ? done : (long)(time - heard));
        if (!pfa_progress_show(&shown)) {
            servers->given_up = true;
            break;
        }
    }
    pfa_progress_end(&shown);
    servers->waited += now() - heard;
}

static void note_trouble(pfa_debuginfod_t *servers)
{
    const told_t *told = servers->told;
    char *text = servers->trouble;
    size_t size = sizeof servers->trouble;
    if (told->answer == UNUSABLE) {
        servers->waited = servers->wait_most;
        snprintf(text, size, "libdebuginfod.so.1 cannot be loaded (Debian has it in libdebuginfod1)");
    } else if (told->answer == SILENT) {
        snprintf(text, size, "no answer within %.0f second%s", servers->wait_most, pfa_text_plural(servers->wait_most));
    } else {
        snprintf(text, size, "%s", strerror(told->error));
    }
}

/* Leaves what the child told in `told`. */
static void ask_in_child(pfa_debuginfod_t *servers, const uint8_t *build_id, size_t size)
{
    told_t *told = servers->told;
    int ends[2];
    memset(told, 0, sizeof *told);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        *told = (told_t){.answer = ANSWERED, .error = errno};
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        told->answer = ask(servers, build_id, size);
        _exit(0);
    }
    (void)close(ends[1]);
    if (child > 0) {
        wait_for(servers, ends[0]);
        (void)kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    } else {
        *told = (told_t){.answer = ANSWERED, .error = errno};
    }
    (void)close(ends[0]);
}

int pfa_debuginfod_find(pfa_debuginfod_t *servers, const uint8_t *build_id, size_t size, char **path)
{
    if (servers == NULL || size == 0 || size > 64 || servers->waited >= servers->wait_most) {
        return -1;
    }
    if (servers->told == NULL) {
        void *shared = mmap(NULL, sizeof *servers->told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) {
            return -1;
        }
        servers->told = shared;
    }
    const told_t *told = servers->told;
    double before = servers->waited;
    ask_in_child(servers, build_id, size);
    int fd = told->answer == ANSWERED && told->error == 0 ? open(told->path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        *path = strdup(told->path);
    } else if (told->answer != ANSWERED || told->error != ENOENT) {
        note_trouble(servers);
    }
    if (told->answer == ANSWERED && (fd >= 0 || told->error == ENOENT)) {
        servers->waited = before; /* not in vain */
    }
    return fd;
}

void pfa_debuginfod_trouble(const pfa_debuginfod_t *servers, char text[PFA_DEBUGINFOD_TROUBLE])
{
    text[0] = '\0';
    if (servers != NULL && servers->trouble[0] != '\0') {
        snprintf(text, PFA_DEBUGINFOD_TROUBLE, "debuginfod at %.300s: %s, so names may be missing", servers->urls,
                 servers->trouble);
    }
}

bool pfa_debuginfod_is_given_up(const pfa_debuginfod_t *servers)
{
    return servers != NULL && servers->given_up;
}
