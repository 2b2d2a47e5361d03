/* Owns the functions by which programs talk to ThreadSanitizer, whose compiler flag our builds have, but not its library:
 * with clang's flags, programs see the flag by __has_feature(thread_sanitizer). (With gcc they would by __SANITIZE_THREAD__,
 * which profalloc-cc undefines; some are told to call them.) They do nothing, and are weak: a program's own definitions
 * win, such as those of Abseil.
 *
 * Part of libprofalloc_access.a. Stateless, but for the barrier of ThreadSanitizer's own tests, which has to wait. */
#include "base/atomic.h"
#include "hooks/access/interface.h"

#include <sched.h>

/* The parameters have names, as in the declarations that programs have of them, and no use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define PFA_SAYS(name, ...)                                                                                            \
    PFA_CALLBACK_WEAK(void, name, __VA_ARGS__)                                                                         \
    {                                                                                                                  \
    }
#define PFA_ASKS(name, answer, type, ...)                                                                              \
    PFA_CALLBACK_WEAK(type, name, __VA_ARGS__)                                                                         \
    {                                                                                                                  \
        return answer;                                                                                                 \
    }
#include "hooks/access/annotations.def"

/* Who arrived, in the upper half, and how many are waited for, in the lower. */
PFA_CALLBACK_WEAK(void, __tsan_testonly_barrier_init, _Atomic uint64_t *barrier, unsigned count)
{
    pfa_store_relaxed(barrier, count);
}

PFA_CALLBACK_WEAK(void, __tsan_testonly_barrier_wait, _Atomic uint64_t *barrier)
{
    uint64_t mine = atomic_fetch_add(barrier, (uint64_t)1 << 32);
    uint64_t count = (uint32_t)mine;
    uint64_t round = (mine >> 32) / count;
    while ((pfa_load_seq_cst(barrier) >> 32) / count == round) {
        sched_yield();
    }
}
