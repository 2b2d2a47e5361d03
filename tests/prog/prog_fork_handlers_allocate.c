/* Handlers of pthread_atfork allocate, some registered before ours, which run before and after ours; and the thread
 * that forks has not allocated before, so that it is set up there and then. */
#include "trap.h"

#include <pthread.h>
#include <sys/wait.h>

static __thread void *held[2];
static __thread unsigned depth; /* the handlers are registered twice in the end */

static void allocate(void)
{
    held[depth] = malloc(100);
    free(malloc(300000));
    fill(held[depth++], 100, 1);
}

static void release(void)
{
    CHECK(verify(held[--depth], 100, 1));
    free(held[depth]);
    free(calloc(1, 300000));
}

static void register_handlers(void)
{
    (void)pthread_atfork(allocate, release, release);
}

/* Before every constructor, so before ours. */
__attribute__((section(".preinit_array"), used)) static void (*early)(void) = register_handlers;

static void *fork_first(void *arg)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "ended with %#x", status);
    return arg;
}

int main(void)
{
    for (int i = 0; i < 40; i++) {
        pthread_t threads[2];
        CHECK(pthread_create(&threads[0], NULL, fork_first, NULL) == 0);
        CHECK(pthread_create(&threads[1], NULL, fork_first, NULL) == 0);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        if (i == 20) {
            register_handlers(); /* now also after ours */
        }
    }
    return 0;
}
