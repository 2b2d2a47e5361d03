/* Owns the question whether the program's malloc is ours. It is not where the library came with a shared object that the
 * program is linked with, behind libc in the order of symbols, or by dlopen. Asked is malloc itself, and not where its symbol
 * is: that may be the program's own stub for it, or a wrapper that passes on to us.
 *
 * Compiled without link-time optimisation, which would make a call of our own malloc of it. Not for callers that malloc has
 * called, since it may be another's, and hold a lock. Any thread. */
#include "hooks/hooks.h"

#include <errno.h>
#include <stdlib.h>

/* Ours takes what is asked for off the countdown. The chunk is plain: it is not the program's. */
bool pfa_reach_is_ours(void)
{
    pfa_tls_t *tls = &pfa_tls;
    int kept = errno;
    uint8_t before = pfa_tls_pause(tls);
    __atomic_store_n(&tls->countdown, PFA_COUNTDOWN_OFF, __ATOMIC_RELAXED);
    void *chunk = malloc(1);
    bool ours = __atomic_load_n(&tls->countdown, __ATOMIC_RELAXED) != PFA_COUNTDOWN_OFF;
    free(chunk);
    pfa_tls_resume(tls, before);
    if (before != PFA_THREAD_GONE) {
        pfa_tls_disarm(tls);
    }
    errno = kept;
    return ours;
}
