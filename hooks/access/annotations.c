/* Owns the functions by which programs talk to ThreadSanitizer, whose compiler flag our builds have, but not its library:
 * with clang's flags, programs see the flag by __has_feature(thread_sanitizer). (With gcc they would by __SANITIZE_THREAD__,
 * which profalloc-cc undefines; some are told to call them.) They do nothing, and are weak: a program's own definitions
 * win, such as those of Abseil. Those that answer in memory, or access it, do that.
 *
 * Part of libprofalloc_access.a. Stateless, but for the barrier of ThreadSanitizer's own tests, which has to wait, and for who
 * crashed first. */
#include "base/atomic.h"
#include "hooks/access/access.h"
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

/* Two threads that switch stacks want to be told what they left: a stack that is not known. */
PFA_CALLBACK_WEAK(void, __sanitizer_start_switch_fiber, void **kept, const void *bottom, size_t size)
{
    if (kept != NULL) {
        *kept = NULL;
    }
}

PFA_CALLBACK_WEAK(void, __sanitizer_finish_switch_fiber, void *kept, const void **bottom, size_t *size)
{
    if (bottom != NULL) {
        *bottom = NULL;
    }
    if (size != NULL) {
        *size = 0;
    }
}

/* No texts, one after the other, and an empty one behind them. */
#define PFA_SYMBOLIZE(name)                                                                                            \
    PFA_CALLBACK_WEAK(void, name, void *address, const char *format, char *text, size_t size)                          \
    {                                                                                                                  \
        if (size != 0) {                                                                                               \
            text[0] = '\0';                                                                                            \
        }                                                                                                              \
    }
PFA_SYMBOLIZE(__sanitizer_symbolize_pc)
PFA_SYMBOLIZE(__sanitizer_symbolize_global)

PFA_CALLBACK_WEAK(int, __sanitizer_get_module_and_offset_for_pc, void *address, char *path, size_t size, void **offset)
{
    if (size != 0) {
        path[0] = '\0';
    }
    return 0;
}

/* For the first who asks. */
PFA_CALLBACK_WEAK(int, __sanitizer_acquire_crash_state, void)
{
    static _Atomic uint32_t taken;
    return atomic_exchange(&taken, 1) == 0;
}

/* What programs access by a call, to have it seen. */
#define PFA_UNALIGNED(bits)                                                                                            \
    PFA_CALLBACK_WEAK(uint##bits##_t, __sanitizer_unaligned_load##bits, const void *address)                           \
    {                                                                                                                  \
        uint##bits##_t value;                                                                                          \
        pfa_access((uintptr_t)address, sizeof value, PFA_ACCESS_READ);                                                 \
        __builtin_memcpy(&value, address, sizeof value);                                                               \
        return value;                                                                                                  \
    }                                                                                                                  \
    PFA_CALLBACK_WEAK(void, __sanitizer_unaligned_store##bits, void *address, uint##bits##_t value)                    \
    {                                                                                                                  \
        pfa_access((uintptr_t)address, sizeof value, PFA_ACCESS_WRITE);                                                \
        __builtin_memcpy(address, &value, sizeof value);                                                               \
    }
PFA_UNALIGNED(16)
PFA_UNALIGNED(32)
PFA_UNALIGNED(64)
