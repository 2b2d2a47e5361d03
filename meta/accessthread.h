/* A thread as the callbacks of instrumented modules know it. It is the library's, which lends it by a name that modules import:
 * static TLS of their own would run out when some forty of them were loaded by dlopen, and any other TLS is a call at each access.
 *
 * Only the thread itself touches it. The layout is part of the interface that PFA_ACCESS_VERSION counts (hooks/access/view.h). */
#ifndef PFA_META_ACCESSTHREAD_H
#define PFA_META_ACCESSTHREAD_H

#include <stdint.h>

typedef struct pfa_access_thread {
    uint64_t clock;  /* the time stamped on records: the thread's last reading of the counter, for whatever */
    uint64_t number; /* the thread's, of 16 bits; above that: its next access is for `rare` */
    int64_t ticks;   /* accesses until the clock is refreshed, of those that come to `rare` */
    uint64_t told;   /* the modules': the last two big ranges of callbacks (wraps.h) */
} pfa_access_thread_t;
_Static_assert(sizeof(pfa_access_thread_t) == 32, "static TLS is scarce: keep the block small");

/* In a thread's number: not known yet. */
#define PFA_ACCESS_NOBODY ((uint64_t)1 << 16)

#define pfa_access_thread profalloc_access_thread
extern PFA_EXPORT PFA_THREAD_LOCAL pfa_access_thread_t pfa_access_thread;

#endif
