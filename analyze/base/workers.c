/* Owns the threads that work for one. See analyze/base/workers.h. */
#include "analyze/base/workers.h"
#include "analyze/base/memory.h"

#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct member {
    pfa_workers_t *workers;
    pthread_t thread;
    unsigned number;
} member_t;

struct pfa_workers {
    unsigned wanted;  /* threads, with the caller */
    unsigned started; /* likewise */
    member_t members[PFA_WORKERS_MOST];
    pthread_mutex_t lock;
    pthread_cond_t begun; /* there are tasks, or all is over */
    pthread_cond_t ended; /* the last of the others is done */
    uint64_t round;       /* counts lists of tasks; under the lock, as the rest is */
    unsigned busy;        /* others that have not done yet with this list */
    bool over;
    /* Of this list. */
    pfa_task_t *task;
    void *to;
    size_t count;
    pfa_memory_t *arena;
    locale_t locale;
    _Atomic size_t next;
    _Atomic int error; /* of a task that was left */
};

static unsigned usual_count(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < 1 ? 1 : count > PFA_WORKERS_MOST ? PFA_WORKERS_MOST : (unsigned)count;
}

static void close_workers(void *object)
{
    pfa_workers_t *workers = object;
    pthread_mutex_lock(&workers->lock);
    workers->over = true;
    pthread_cond_broadcast(&workers->begun);
    pthread_mutex_unlock(&workers->lock);
    for (unsigned i = 1; i < workers->started; i++) {
        pthread_join(workers->members[i].thread, NULL);
    }
    pthread_cond_destroy(&workers->begun);
    pthread_cond_destroy(&workers->ended);
    pthread_mutex_destroy(&workers->lock);
}

pfa_workers_t *pfa_workers_new(unsigned count)
{
    pfa_workers_t *workers = pfa_memory_object(sizeof *workers, close_workers);
    workers->wanted = count == 0 ? usual_count() : count > PFA_WORKERS_MOST ? PFA_WORKERS_MOST : count;
    workers->started = 1;
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->begun, NULL);
    pthread_cond_init(&workers->ended, NULL);
    return workers;
}

void pfa_workers_free(pfa_workers_t *workers)
{
    pfa_memory_free(workers);
}

unsigned pfa_workers_count(const pfa_workers_t *workers)
{
    return workers->wanted;
}

/* Work, in the arena of who has the tasks. */
static void run_tasks(void *to)
{
    member_t *member = to;
    pfa_workers_t *workers = member->workers;
    for (size_t i = 0; (i = atomic_fetch_add(&workers->next, 1)) < workers->count;) {
        if (atomic_load_explicit(&workers->error, memory_order_relaxed) != 0) {
            return;
        }
        workers->task(workers->to, i, member->number);
    }
}

static void take_part(member_t *member)
{
    pfa_workers_t *workers = member->workers;
    int error = pfa_memory_work(workers->arena, run_tasks, member);
    if (error != 0) {
        atomic_store(&workers->error, error);
    }
}

/* A thread, from its beginning to its end. */
static void *serve(void *to)
{
    member_t *member = to;
    pfa_workers_t *workers = member->workers;
    uint64_t seen = 0;
    pthread_mutex_lock(&workers->lock);
    while (true) {
        while (!workers->over && workers->round == seen) {
            pthread_cond_wait(&workers->begun, &workers->lock);
        }
        if (workers->over) {
            break;
        }
        seen = workers->round;
        pthread_mutex_unlock(&workers->lock);
        (void)uselocale(workers->locale);
        take_part(member);
        pthread_mutex_lock(&workers->lock);
        if (--workers->busy == 0) {
            pthread_cond_signal(&workers->ended);
        }
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* Signals are for the threads that there were before. */
static void start(pfa_workers_t *workers)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (workers->started < workers->wanted) {
        member_t *member = &workers->members[workers->started];
        *member = (member_t){.workers = workers, .number = workers->started};
        if (pthread_create(&member->thread, NULL, serve, member) != 0) {
            workers->wanted = workers->started;
            break;
        }
        workers->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pfa_workers_run(pfa_workers_t *workers, size_t count, pfa_task_t *task, void *to)
{
    if (workers->wanted == 1 || count < 2) {
        for (size_t i = 0; i < count; i++) {
            task(to, i, 0);
        }
        return;
    }
    start(workers);
    member_t caller = {.workers = workers};
    pthread_mutex_lock(&workers->lock);
    workers->task = task;
    workers->to = to;
    workers->count = count;
    workers->arena = pfa_memory_arena();
    workers->locale = uselocale((locale_t)0);
    atomic_store(&workers->next, 0);
    atomic_store(&workers->error, 0);
    workers->busy = workers->started - 1;
    workers->round++;
    pthread_cond_broadcast(&workers->begun);
    pthread_mutex_unlock(&workers->lock);
    take_part(&caller);
    pthread_mutex_lock(&workers->lock);
    while (workers->busy != 0) {
        pthread_cond_wait(&workers->ended, &workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
    int error = atomic_load(&workers->error);
    if (error != 0) {
        pfa_memory_leave(error);
    }
}
