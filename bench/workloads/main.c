/*
 * Runs one workload and prints one line about it.
 *
 * Owns the threads, the clock and the command line. Uses nothing of any allocator but the standard calls, so the
 * allocator under test is whatever is preloaded; the line names the library that malloc resolved to, so that a preload
 * that silently failed cannot pass for a measurement.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../pin.h"
#include "workloads.h"

static const pfa_workload_t *const workloads[] = {
    &pfa_workload_churn, &pfa_workload_churn2,  &pfa_workload_server,    &pfa_workload_prodcons, &pfa_workload_regrow,
    &pfa_workload_mixed, &pfa_workload_aligned, &pfa_workload_live10m,   &pfa_workload_relay,    &pfa_workload_pipe64,
    &pfa_workload_tight, &pfa_workload_strewn,  &pfa_workload_bigblocks, &pfa_workload_orphans,  &pfa_workload_bignum,
    &pfa_workload_forks, &pfa_workload_deep,    &pfa_workload_deep2,     &pfa_workload_burst2,
};
static const size_t workload_count = sizeof workloads / sizeof workloads[0];

/* How often threads had to wait, by what the system counts. */
typedef struct {
    long major_faults; /* for a page that is read from a disk */
    long voluntary;    /* for anything: a lock, a semaphore, a disk */
    long involuntary;  /* for a processor */
} waits_t;

typedef struct {
    const pfa_workload_t *workload;
    pfa_worker_t worker[PFA_WORKERS_MAX];
    pthread_barrier_t ready;
    pthread_barrier_t finished;
    double began; /* by the monotonic clock, which the driver reads too: it knows when it paused this process */
    double ended;
    bool unpinned;      /* threads go where the scheduler wants them */
    double cpu_seconds; /* of all threads: steadier than the clock on a machine that others use too */
    waits_t before;     /* of the process when work began */
} run_t;

typedef struct {
    run_t *run;
    pfa_worker_t *worker;
} thread_arg_t;

void pfa_bench_die(const char *what)
{
    fprintf(stderr, "workloads: %s\n", what);
    _exit(3);
}

uint64_t pfa_bench_status_kib(const char *key)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        pfa_bench_die("cannot open /proc/self/status");
    }
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0) {
        pfa_bench_die("cannot read /proc/self/status");
    }
    text[got] = '\0';
    const char *line = strstr(text, key);
    if (line == NULL) {
        pfa_bench_die("a line is missing in /proc/self/status");
    }
    return strtoull(line + strlen(key), NULL, 10);
}

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* With its children that have ended. */
static waits_t waits_of_process(void)
{
    struct rusage self;
    struct rusage children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return (waits_t){self.ru_majflt + children.ru_majflt, self.ru_nvcsw + children.ru_nvcsw,
                     self.ru_nivcsw + children.ru_nivcsw};
}

/* A file of /proc/self/task/TID as text. A thread that has just ended has none. */
static bool read_of_task(const char *task, const char *file, char *text, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", task, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static long number_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at != NULL ? strtol(at + strlen(key), NULL, 10) : 0;
}

/* Of the threads that are there besides the caller: once those of the workload have ended, the allocator's own. */
static waits_t waits_of_others(void)
{
    enum { MAJOR_FAULTS = 10 }; /* fields behind the name in stat that come before it */
    waits_t sum = {0, 0, 0};
    char text[8192];
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) {
            continue;
        }
        if (read_of_task(entry->d_name, "status", text, sizeof text)) {
            sum.voluntary += number_behind(text, "\nvoluntary_ctxt_switches:");
            sum.involuntary += number_behind(text, "\nnonvoluntary_ctxt_switches:");
        }
        const char *at = read_of_task(entry->d_name, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
        for (int i = 0; at != NULL && i < MAJOR_FAULTS; i++) {
            at = strchr(at + 1, ' ');
        }
        sum.major_faults += at != NULL ? strtol(at, NULL, 10) : 0;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return sum;
}

static void start_clocks(run_t *run)
{
    run->before = waits_of_process();
    run->cpu_seconds = -read_clock(CLOCK_PROCESS_CPUTIME_ID);
    run->began = read_clock(CLOCK_MONOTONIC);
}

static void stop_clocks(run_t *run)
{
    run->ended = read_clock(CLOCK_MONOTONIC);
    run->cpu_seconds += read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* What the worker itself needs of a processor, without the allocator's other threads. */
static void work_timed(run_t *run, pfa_worker_t *w)
{
    w->cpu_seconds = -read_clock(CLOCK_THREAD_CPUTIME_ID);
    run->workload->work(w);
    w->cpu_seconds += read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void *zeroed_pages(size_t bytes)
{
    if (bytes == 0) {
        return NULL;
    }
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        pfa_bench_die("no memory for the workload's own state");
    }
    return at;
}

static void *thread_main(void *opaque)
{
    thread_arg_t *arg = opaque;
    run_t *run = arg->run;
    if (!run->unpinned) {
        pfa_bench_pin(arg->worker->index);
    }
    run->workload->setup(arg->worker);
    pthread_barrier_wait(&run->ready);
    work_timed(run, arg->worker);
    pthread_barrier_wait(&run->finished);
    run->workload->teardown(arg->worker);
    return NULL;
}

/* No second thread at all: libcs and allocators behave differently once one has existed. */
static void run_alone(run_t *run)
{
    if (!run->unpinned) {
        pfa_bench_pin(0);
    }
    run->workload->setup(&run->worker[0]);
    start_clocks(run);
    work_timed(run, &run->worker[0]);
    stop_clocks(run);
    run->workload->teardown(&run->worker[0]);
}

static void run_threads(run_t *run)
{
    unsigned count = run->workload->workers;
    pthread_t thread[PFA_WORKERS_MAX];
    thread_arg_t arg[PFA_WORKERS_MAX];
    pthread_barrier_init(&run->ready, NULL, count + 1);
    pthread_barrier_init(&run->finished, NULL, count + 1);
    for (unsigned i = 0; i < count; i++) {
        arg[i] = (thread_arg_t){run, &run->worker[i]};
        if (pthread_create(&thread[i], NULL, thread_main, &arg[i]) != 0) {
            pfa_bench_die("cannot create a thread");
        }
    }
    pthread_barrier_wait(&run->ready);
    start_clocks(run);
    pthread_barrier_wait(&run->finished);
    stop_clocks(run);
    for (unsigned i = 0; i < count; i++) {
        pthread_join(thread[i], NULL);
    }
}

static void prepare(run_t *run, const pfa_workload_t *workload, double scale, double rate)
{
    uint64_t rounds = (uint64_t)((double)workload->rounds * scale);
    void *shared = zeroed_pages(workload->shared_bytes);
    run->workload = workload;
    for (unsigned i = 0; i < workload->workers; i++) {
        run->worker[i] = (pfa_worker_t){
            .index = i,
            .workers = workload->workers,
            .rounds = rounds > 0 ? rounds : 1,
            .rate = rate / workload->workers,
            .rng = UINT64_C(0x9E3779B97F4A7C15) * (i + 1),
            .state = zeroed_pages(workload->state_bytes),
            .shared = shared,
        };
    }
}

static const char *malloc_library(void)
{
    Dl_info info;
    void *entry = dlsym(RTLD_DEFAULT, "malloc");
    if (entry == NULL || dladdr(entry, &info) == 0 || info.dli_fname == NULL) {
        return "unknown";
    }
    const char *slash = strrchr(info.dli_fname, '/');
    return slash != NULL ? slash + 1 : info.dli_fname;
}

static void print_result(const run_t *run)
{
    uint64_t peak = pfa_bench_status_kib("VmHWM:");
    uint64_t ops = 0;
    uint64_t checksum = 0;
    double own = 0;
    for (unsigned i = 0; i < run->workload->workers; i++) {
        ops += run->worker[i].ops;
        checksum += run->worker[i].checksum;
        own += run->worker[i].cpu_seconds;
    }
    waits_t now = waits_of_process();
    waits_t others = waits_of_others();
    printf("workload=%s ops=%" PRIu64
           " began=%.6f ended=%.6f cpu_seconds=%.6f own_cpu_seconds=%.6f peak_rss_kib=%" PRIu64 " checksum=%016" PRIx64
           " malloc=%s",
           run->workload->name, ops, run->began, run->ended, run->cpu_seconds, own, peak, checksum, malloc_library());
    /* Of the workload's threads, to their very end. */
    printf(" major_faults=%ld voluntary=%ld involuntary=%ld",
           now.major_faults - others.major_faults - run->before.major_faults,
           now.voluntary - others.voluntary - run->before.voluntary,
           now.involuntary - others.involuntary - run->before.involuntary);
    const pfa_worker_t *w = &run->worker[0];
    if (w->live_chunks > 0) {
        double beyond = ((double)w->live_rss_kib * 1024 - (double)w->live_requested) / (double)w->live_chunks;
        printf(" live_chunks=%" PRIu64 " live_requested=%" PRIu64 " live_rss_kib=%" PRIu64
               " beyond_request_per_chunk=%.2f",
               w->live_chunks, w->live_requested, w->live_rss_kib, beyond);
    }
    printf("\n");
}

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: workloads [--scale FACTOR] [--unpinned] [--rate PAIRS-PER-SECOND] WORKLOAD | --list\n");
    for (size_t i = 0; i < workload_count; i++) {
        fprintf(to, "  %-9s %s\n", workloads[i]->name, workloads[i]->what);
    }
    return code;
}

/* What the driver reads: name, threads, description, bench, group, separated by tabs. */
static int list(void)
{
    for (size_t i = 0; i < workload_count; i++) {
        const char *bench = workloads[i]->bench != NULL ? workloads[i]->bench : "alloc";
        const char *group = workloads[i]->group != NULL ? workloads[i]->group : "-";
        printf("%s\t%u\t%s\t%s\t%s\n", workloads[i]->name, workloads[i]->workers, workloads[i]->what, bench, group);
    }
    return 0;
}

static double parse_number(const char *option, const char *text, double most)
{
    char *end;
    double number = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(number > 0 && number <= most)) {
        fprintf(stderr, "workloads: %s wants a number above 0 and at most %g, not '%s'\n", option, most, text);
        exit(2);
    }
    return number;
}

int main(int argc, char **argv)
{
    static run_t run;
    double scale = 1;
    double rate = 0;
    const char *wanted = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            return list();
        }
        if (strcmp(argv[i], "--help") == 0) {
            return usage(stdout, 0);
        }
        if (strcmp(argv[i], "--scale") == 0 && i + 1 < argc) {
            scale = parse_number("--scale", argv[++i], 1000);
        } else if (strcmp(argv[i], "--rate") == 0 && i + 1 < argc) {
            rate = parse_number("--rate", argv[++i], 1e9);
        } else if (strcmp(argv[i], "--unpinned") == 0) {
            run.unpinned = true;
        } else if (wanted == NULL && argv[i][0] != '-') {
            wanted = argv[i];
        } else {
            return usage(stderr, 2);
        }
    }
    for (size_t i = 0; wanted != NULL && i < workload_count; i++) {
        if (strcmp(workloads[i]->name, wanted) == 0) {
            prepare(&run, workloads[i], scale, rate);
            (workloads[i]->workers == 1 ? run_alone : run_threads)(&run);
            print_result(&run);
            return fflush(stdout) == 0 ? 0 : 1;
        }
    }
    return usage(stderr, 2);
}
