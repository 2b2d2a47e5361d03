/* Threads that work for one: who has a list of tasks runs them on all processors, and goes on when all are done. Tasks are taken in the order
 * of their numbers, by whoever is free, so that what they give must not depend on who runs them. */
#ifndef PFA_ANALYZE_BASE_WORKERS_H
#define PFA_ANALYZE_BASE_WORKERS_H

#include <stddef.h>

enum { PFA_WORKERS_MOST = 64 };

typedef struct pfa_workers pfa_workers_t;

/* So many, and the caller is one of them; 0: as many as the machine lets this process have at a time. Threads begin with the first tasks, and
 * end with the block or its arena. If no more threads can be had, there are fewer. */
pfa_workers_t *pfa_workers_new(unsigned count);
void pfa_workers_free(pfa_workers_t *workers);
unsigned pfa_workers_count(const pfa_workers_t *workers);

/* Runs tasks 0 to `count` - 1, each in the arena of the caller; `worker`, from 0 on, is the same for no two that run at a time. If one of
 * them is left, no more are begun, and the caller's work is left with its error once all have ended. */
typedef void pfa_task_t(void *to, size_t number, unsigned worker);
void pfa_workers_run(pfa_workers_t *workers, size_t count, pfa_task_t *task, void *to);

#endif
