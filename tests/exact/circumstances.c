/* A program in circumstances that are hard on a trace:
 *     circumstances NOTES WHAT [ARGUMENT...]
 * All of them do a known amount of work before and after what happens; files that the program needs are in its folder. */
#define _GNU_SOURCE 1
#include "noted.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void work(unsigned long steps)
{
    static noted_churn_t churn = {.random = 4711};
    for (unsigned long i = 0; i < steps; i++) {
        noted_step(&churn);
    }
}

static void *work_in_thread(void *unused)
{
    (void)unused;
    work(100000);
    return NULL;
}

/* What needs several rounds of the writer. */
static void work_long(void)
{
    pthread_t thread;
    for (int i = 0; i < 8; i++) {
        if (pthread_create(&thread, NULL, work_in_thread, NULL) != 0) {
            _exit(98);
        }
        pthread_join(thread, NULL);
    }
}

static void check_child(pid_t pid)
{
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        _exit(97);
    }
}

/* With fork handlers or past them. */
static pid_t make_child(const char *how)
{
    if (strcmp(how, "_Fork") == 0) {
        return _Fork();
    }
    return strcmp(how, "clone") == 0 ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
}

/* Children inherit chunks, free some of those, allocate and free their own, and end in different ways. */
static void fork_some(const char *notes, const char *how)
{
    void *shared[64];
    for (int i = 0; i < 64; i++) {
        shared[i] = noted_small(1000);
    }
    for (int child = 0; child < 4; child++) {
        pid_t pid = make_child(how);
        if (pid == 0) {
            char name[256];
            snprintf(name, sizeof name, "%s.%d", notes, (int)getpid());
            for (int i = 0; i < 64; i += 2) {
                free(shared[i]);
            }
            void *moved = realloc(shared[1], 100000);
            free(moved);
            noted_mine = NULL;
            noted_open(name);
            noted_churn_t own = {.random = (uint64_t)child + 1};
            for (unsigned long i = 0; i < 20000; i++) {
                noted_step(&own);
            }
            if (child % 2 == 0) {
                _exit(0);
            }
            exit(0);
        }
        check_child(pid);
        work(1000);
    }
}

static void spawn(char **command)
{
    pid_t pid = fork();
    if (pid == 0) {
        execvp(command[0], command);
        _exit(96);
    }
    check_child(pid);
}

/* The same function in libraries that come and go, likely at the same address. */
static void load(char **libraries)
{
    for (; *libraries != NULL; libraries++) {
        void *library = dlopen(*libraries, RTLD_NOW);
        void *(*get)(size_t) = library != NULL ? (void *(*)(size_t))dlsym(library, "lib_get") : NULL;
        if (get == NULL) {
            _exit(95);
        }
        printf("%p\n", (void *)get);
        for (int i = 0; i < 1000; i++) {
            free(get(64));
        }
        (void)get(32); /* stays */
        dlclose(library);
        usleep(1000);
    }
}

/* As daemons begin: every descriptor is closed, and the numbers are taken by files of its own. */
static void become_daemon(const char *folder)
{
    int limit = 4096;
    for (int fd = 3; fd < limit; fd++) {
        close(fd);
    }
    for (int i = 0; i < 1100; i++) { /* as far as where the library likes to be */
        char name[4096];
        snprintf(name, sizeof name, "%s/%d", folder, i);
        if (open(name, O_RDWR | O_CREAT, 0600) < 0) {
            _exit(94);
        }
    }
}

__attribute__((weak)) void mprof_restart(const char *filename); /* of the library that is preloaded */

enum { CHURNERS = 3, WINDOW = 64, RESTARTS = 30 };
static atomic_bool churning = true;
static atomic_ulong churned;

static void *churn(void *unused)
{
    void *window[WINDOW] = {NULL};
    unsigned long count = 0;
    for (; atomic_load_explicit(&churning, memory_order_relaxed); count++) {
        free(window[count % WINDOW]);
        window[count % WINDOW] = malloc(777);
    }
    for (int i = 0; i < WINDOW; i++) {
        free(window[i]);
    }
    atomic_fetch_add(&churned, count);
    return unused;
}

/* One trace after another, while threads go on. */
static void restart_often(void)
{
    pthread_t threads[CHURNERS];
    for (int i = 0; i < CHURNERS; i++) {
        if (pthread_create(&threads[i], NULL, churn, NULL) != 0) {
            _exit(89);
        }
    }
    for (int i = 0; i < RESTARTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "restarted.%d.pa", i);
        usleep(1000);
        mprof_restart(name);
    }
    atomic_store(&churning, false);
    for (int i = 0; i < CHURNERS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%lu\n", atomic_load(&churned));
    exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 99;
    }
    const char *what = argv[2];
    if (strcmp(what, "restart") == 0) {
        mprof_restart(argv[3]);
    }
    if (strcmp(what, "restarts") == 0) {
        restart_often();
    }
    noted_open(argv[1]);
    work(10000);
    if (strcmp(what, "fork") == 0) {
        fork_some(argv[1], argc > 3 ? argv[3] : "fork");
    } else if (strcmp(what, "spawn") == 0) {
        spawn(argv + 3);
    } else if (strcmp(what, "load") == 0) {
        load(argv + 3);
    } else if (strcmp(what, "daemon") == 0) {
        become_daemon(argv[3]);
    } else if (strcmp(what, "chdir") == 0) {
        if (chdir(argv[3]) != 0) {
            return 93;
        }
    } else if (strcmp(what, "unlink") == 0) {
        work_long();
        spawn(argv + 3);
    } else if (strcmp(what, "setuid") == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0) {
            return 92;
        }
    } else if (strcmp(what, "unshare") == 0) {
        if (unshare(CLONE_NEWNS | CLONE_FS | CLONE_FILES) != 0) {
            return 91;
        }
    } else if (strcmp(what, "long") != 0 && strcmp(what, "restart") != 0) {
        return 90;
    }
    work_long();
    return 0;
}
