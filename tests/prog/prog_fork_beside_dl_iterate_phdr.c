/* Another thread is inside dl_iterate_phdr when the process forks. The lock that it holds is the loader's, and in the child
 * nobody ever lets go of it: the child allocates, frees and ends without asking the loader. */
#include "trap.h"

#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>

static sem_t inside, go_on;

static int stay(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info;
    (void)size;
    (void)context;
    sem_post(&inside);
    sem_wait(&go_on);
    return 1;
}

static void *iterate(void *arg)
{
    dl_iterate_phdr(stay, NULL);
    return arg;
}

static void churn(void)
{
    for (int i = 0; i < 20000; i++) {
        free(malloc(i % 100 == 0 ? 200000 : 100 + (size_t)i % 1000));
    }
}

static void live_as_child(int number, void *inherited)
{
    free(inherited);
    churn();
    if (number % 2 == 1) { /* a grandchild, too */
        int status;
        pid_t child = fork();
        if (child == 0) {
            churn();
            exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "ended with %#x", status);
    }
    exit(0);
}

int main(void)
{
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        int status;
        void *inherited = malloc(300);
        CHECK(pthread_create(&thread, NULL, iterate, NULL) == 0);
        sem_wait(&inside);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            live_as_child(i, inherited);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "ended with %#x", status);
        sem_post(&go_on);
        pthread_join(thread, NULL);
        free(inherited);
        churn();
    }
    return 0;
}
