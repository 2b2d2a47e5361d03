/* A program that has shut itself in allows the calls that malloc is known to make and is killed for any other. The
 * list is the one that login servers use for their unprivileged half. While recording, a thread may be asked for and
 * refused; writing a trace takes some calls more, which a program that is to be recorded has to allow.
 *
 * run: modes=off
 * run: modes=sampled,often,full arg=refuse-threads conf=out:none
 * run: modes=sampled,often,full arg=allow-files
 *
 * Without a trace nothing is asked for but memory, advice and futexes, and no thread. With one, a program that is refused all
 * else, and not killed, goes on without being recorded.
 *
 * run: modes=off,sampled,often,full arg=memory-only conf=out:none
 *
 * That holds too when there is no more room for records: nothing is said then.
 *
 * run: modes=full arg=memory-only arg=much conf=out:none,region_range:64M
 *
 * A thread that writes the trace already, and is shut in with the others, makes only calls that the manual lists.
 *
 * run: modes=off,often,full arg=thread-first
 *
 * run: modes=off,sampled,often,full arg=refuse-rest */
#include "trap.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(name)                                                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void install(const struct sock_fprog *program, unsigned flags)
{
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program) == 0);
}

static void shut_in(bool refuse_threads, bool allow_files)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(brk),
        ALLOW(clock_gettime),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(futex),
        ALLOW(getpid),
        ALLOW(getrandom),
        ALLOW(gettid),
        ALLOW(madvise),
        ALLOW(mmap),
        ALLOW(mprotect),
        ALLOW(mremap),
        ALLOW(munmap),
        ALLOW(rt_sigprocmask),
        ALLOW(write),
        ALLOW(close), /* from here on what writing a trace takes */
        ALLOW(fallocate),
        ALLOW(fcntl),
        ALLOW(fstat),
        ALLOW(fstatfs),
        ALLOW(ftruncate),
        ALLOW(lseek),
        ALLOW(openat),
        ALLOW(prctl),
        ALLOW(pwrite64),
        ALLOW(read),
        ALLOW(readlinkat),
        ALLOW(unlinkat),
        ALLOW(rt_sigaction), /* from here on what making a thread takes */
        REFUSE(clone3),
        REFUSE(clone),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    enum { COUNT = sizeof code / sizeof code[0], FOR_THREADS = 6, FOR_FILES = 26 };
    struct sock_fprog program = {COUNT, code};
    for (int i = 0; !refuse_threads && i < FOR_THREADS; i++) {
        code[COUNT - 2 - i] = code[COUNT - 1];
    }
    for (int i = 0; !allow_files && i < FOR_FILES; i += 2) { /* compares with a number that no call has */
        code[COUNT - 2 - FOR_THREADS - i - 1].k = UINT32_MAX;
    }
    install(&program, 0);
}

/* What every malloc needs, and nothing else. */
static void shut_in_with_memory(uint32_t otherwise)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(exit_group),
        ALLOW(futex),
        ALLOW(madvise),
        ALLOW(mmap),
        ALLOW(mprotect),
        ALLOW(munmap),
        BPF_STMT(BPF_RET | BPF_K, otherwise),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    install(&program, 0);
}

static int not_ours; /* the id of a thread of the program */

/* The id of the thread that is neither this one nor that; 0: there is none. */
static int find_other_thread(void)
{
    int found = 0;
    DIR *folder = opendir("/proc/self/task");
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int id = atoi(entry->d_name);
        found = id != 0 && id != getpid() && id != not_ours ? id : found;
    }
    closedir(folder);
    return found;
}

/* Does it sleep until there is work? While it begins it makes calls of the C library's. */
static bool is_idle(int thread)
{
    char path[64];
    long call = -1;
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    bool known = fscanf(file, "%ld", &call) == 1; /* "running" is no number */
    fclose(file);
    return known && call == SYS_futex;
}

/* All threads, allowed what libprofalloc(3) says that writing a trace takes, and what malloc and exit do. */
static void shut_all_in(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(futex),
        ALLOW(madvise),
        ALLOW(mmap),
        ALLOW(mprotect),
        ALLOW(munmap),
        ALLOW(clock_gettime),
        ALLOW(close),
        ALLOW(fallocate),
        ALLOW(fcntl),
        ALLOW(fstat),
        ALLOW(fstatfs),
        ALLOW(ftruncate),
        ALLOW(flock),
        ALLOW(getdents64),
        ALLOW(geteuid),
        ALLOW(getpid),
        ALLOW(gettid),
        ALLOW(lseek),
        ALLOW(membarrier),
        ALLOW(newfstatat),
        ALLOW(openat),
        ALLOW(prctl),
        ALLOW(pwrite64),
        ALLOW(read),
        ALLOW(readlinkat),
        ALLOW(rt_sigprocmask),
        ALLOW(sched_yield),
        ALLOW(unlinkat),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    install(&program, SECCOMP_FILTER_FLAG_TSYNC);
}

static _Atomic int freed;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* It only frees, and stays. */
static void *free_some(void *chunks)
{
    for (int i = 0; i < 100; i++) {
        free(((void **)chunks)[i]);
    }
    not_ours = gettid();
    freed = 1;
    pthread_mutex_lock(&gate); /* a futex, which is allowed */
    return NULL;
}

static void begin_freeing(void)
{
    static void *chunks[100];
    pthread_t thread;
    for (int i = 0; i < 100; i++) {
        chunks[i] = malloc(500);
    }
    pthread_mutex_lock(&gate);
    CHECK(pthread_create(&thread, NULL, free_some, chunks) == 0);
    while (!freed) {
        sched_yield();
    }
}

/* The background thread is there, if anything is recorded. */
static void make_thread(void)
{
    const char *conf = getenv("PROFALLOC_CONF");
    bool records = conf != NULL && strstr(conf, "prof:true") != NULL;
    int thread = 0;
    while (records && thread == 0) {
        for (int i = 0; i < 10000; i++) {
            free(malloc(1000));
        }
        thread = find_other_thread();
    }
    while (records && !is_idle(thread)) {
        sched_yield();
    }
}

static void fill_range(void)
{
    enum { CHUNKS = 100000 };
    static void *chunks[CHUNKS];
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = malloc(1000);
        fill(chunks[i], 1000, i);
    }
    for (unsigned i = 0; i < CHUNKS; i++) {
        CHECK(verify(chunks[i], 1000, i));
        free(chunks[i]);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "memory-only") == 0) {
        shut_in_with_memory(SECCOMP_RET_KILL_PROCESS);
        if (argc > 2) {
            fill_range();
        }
    } else if (strcmp(how, "thread-first") == 0) {
        begin_freeing();
        make_thread();
        shut_all_in();
    } else if (strcmp(how, "refuse-rest") == 0) {
        shut_in_with_memory(SECCOMP_RET_ERRNO | EPERM);
    } else {
        shut_in(argc > 1, strcmp(how, "allow-files") == 0);
    }
    for (unsigned round = 0; round < 5; round++) {
        void *chunks[400];
        for (unsigned i = 0; i < 400; i++) {
            size_t size = i % 40 == 0 ? (size_t)i << 14 : 20 * i;
            chunks[i] = i % 2 == 0 ? malloc(size) : calloc(1, size);
            fill(chunks[i], size, i);
        }
        for (unsigned i = 0; i < 400; i++) {
            size_t size = i % 40 == 0 ? (size_t)i << 14 : 20 * i;
            chunks[i] = realloc(chunks[i], 2 * size + 1);
            CHECK(verify(chunks[i], size, i));
            free(chunks[i]);
        }
    }
    for (int i = 0; i < 3000; i++) {
        free(malloc(150000));
    }
    malloc_trim(0);
    return 0;
}
