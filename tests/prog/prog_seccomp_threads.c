/* A program that has shut itself in, and that goes on making threads that only free, and children. It allows what the C
 * library needs to do so and what every malloc needs, and is killed for any other call: so recording without a trace asks for
 * nothing of its own around threads and forks either. Off, it shows that the list is long enough for a malloc.
 *
 * run: conf=out:none
 * run: modes=off */
#include "trap.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* THREADS is more than the library has blocks for at first: it then looks which of its threads are gone. */
enum { THREADS = 40, EACH = 40, ROUNDS = 3, CHILDREN = 3 };

static void *chunks[THREADS][EACH];
static pthread_barrier_t all_have_freed;

static void shut_in(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(futex), /* of malloc */
        ALLOW(madvise),
        ALLOW(mmap),
        ALLOW(mprotect),
        ALLOW(munmap),
        ALLOW(clone), /* of threads and fork */
        ALLOW(clone3),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(rseq),
        ALLOW(rt_sigaction),
        ALLOW(rt_sigprocmask),
        ALLOW(set_robust_list),
        ALLOW(wait4),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void *drop(void *arg)
{
    void **own = arg;
    for (int i = 0; i < EACH; i++) {
        free(own[i]);
    }
    pthread_barrier_wait(&all_have_freed);
    return NULL;
}

static void have_threads_free(void)
{
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&all_have_freed, NULL, THREADS) == 0);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < EACH; i++) {
            chunks[t][i] = malloc(i == 0 ? 200000 : 100);
        }
        CHECK(pthread_create(&threads[t], NULL, drop, chunks[t]) == 0);
    }
    for (int t = 0; t < THREADS; t++) {
        CHECK(pthread_join(threads[t], NULL) == 0);
    }
}

static void have_child(void)
{
    void *inherited = malloc(3000);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        free(inherited);
        have_threads_free();
        pid_t grandchild = fork();
        CHECK(grandchild >= 0);
        if (grandchild == 0) {
            free(malloc(100));
            exit(0);
        }
        int status;
        CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0, "status %d", status);
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "status %d", status);
    free(inherited);
}

int main(void)
{
    shut_in();
    for (int round = 0; round < ROUNDS; round++) {
        have_threads_free();
    }
    for (int i = 0; i < CHILDREN; i++) {
        have_child();
    }
    return 0;
}
