/* Owns the atomic operations of instrumented code: -fsanitize=thread turns each into a call, which must do it, in the order
 * that was asked for, as well as note it.
 *
 * A load counts as one read, a store as one write, a read-modify-write as one of each. A compare-exchange that fails has
 * only read. What `expected` points to is memory of the program, too: GCC's form reads it, and writes it on failure, where
 * Clang has accesses of its own. Accesses are noted before the operation, which may be what lets another thread free
 * the chunk; only of a compare-exchange is it known afterwards what it was.
 *
 * Part of libprofalloc_access.a. Callable like callbacks.c. No libatomic: see wide.h. */
#include "hooks/access/access.h"
#include "hooks/access/interface.h"
#include "hooks/access/wide.h"

/* Weak compare-exchanges are strong ones here, and consume is acquire, as in every compiler. */

#define READ_WRITE (PFA_ACCESS_READ + PFA_ACCESS_WRITE)

/* Above these bits GCC has flags: hardware lock elision, which is a hint. */
PFA_INLINE int plain_order(int order)
{
    return order & 0x7fff;
}

/* Runs a statement with an order that is a constant, which is what the builtins need to be more than seq_cst. Loads that
 * acquire are the same instruction as the strongest, or nearly so; on arm64 stores that release, too. An order with a hint is
 * none of the weaker ones here. */
#define WITH_LOAD_ORDER(order, DO)                                                                                     \
    if ((order) == __ATOMIC_RELAXED) {                                                                                 \
        DO(__ATOMIC_RELAXED);                                                                                          \
    }                                                                                                                  \
    DO(__ATOMIC_SEQ_CST);

#ifdef __aarch64__
#define WITH_STORE_ORDER WITH_LOAD_ORDER
#else
#define WITH_STORE_ORDER(order, DO)                                                                                    \
    switch (order) {                                                                                                   \
    case __ATOMIC_RELAXED:                                                                                             \
        DO(__ATOMIC_RELAXED);                                                                                          \
    case __ATOMIC_RELEASE:                                                                                             \
        DO(__ATOMIC_RELEASE);                                                                                          \
    default:                                                                                                           \
        DO(__ATOMIC_SEQ_CST);                                                                                          \
    }
#endif

#define WITH_ORDER(order, DO)                                                                                          \
    switch (plain_order(order)) {                                                                                      \
    case __ATOMIC_RELAXED:                                                                                             \
        DO(__ATOMIC_RELAXED);                                                                                          \
    case __ATOMIC_CONSUME:                                                                                             \
    case __ATOMIC_ACQUIRE:                                                                                             \
        DO(__ATOMIC_ACQUIRE);                                                                                          \
    case __ATOMIC_RELEASE:                                                                                             \
        DO(__ATOMIC_RELEASE);                                                                                          \
    case __ATOMIC_ACQ_REL:                                                                                             \
        DO(__ATOMIC_ACQ_REL);                                                                                          \
    default:                                                                                                           \
        DO(__ATOMIC_SEQ_CST);                                                                                          \
    }

/* The order of a compare-exchange that is at least what both its orders ask for, when the failure's follows from it. */
PFA_INLINE int joint_order(int success, int failure)
{
    success = plain_order(success);
    failure = plain_order(failure);
    if (failure == __ATOMIC_SEQ_CST) {
        return __ATOMIC_SEQ_CST;
    }
    if (failure == __ATOMIC_RELAXED) {
        return success;
    }
    return success == __ATOMIC_RELAXED ? __ATOMIC_ACQUIRE : success == __ATOMIC_RELEASE ? __ATOMIC_ACQ_REL : success;
}

#define FAILURE_ORDER(order)                                                                                           \
    ((order) == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE : (order) == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : (order))

/* A result that is only right once a sequentially consistent operation is settled. */
#define SETTLED(order, value)                                                                                          \
    {                                                                                                                  \
        __typeof__(value) settled = (value);                                                                           \
        if ((order) == __ATOMIC_SEQ_CST) {                                                                             \
            pfa_wide_settle();                                                                                         \
        }                                                                                                              \
        return settled;                                                                                                \
    }

#define DEFINE_FETCH(bits, type, name)                                                                                 \
    PFA_CALLBACK(type, __tsan_atomic##bits##_fetch_##name, volatile type *address, type value, int order)              \
    {                                                                                                                  \
        pfa_access((uintptr_t)address, sizeof(type), READ_WRITE);                                                      \
        WITH_ORDER(order, DO_FETCH_##name)                                                                             \
    }
#define DO_FETCH_add(order) SETTLED(order, __atomic_fetch_add(address, value, order))
#define DO_FETCH_sub(order) SETTLED(order, __atomic_fetch_sub(address, value, order))
#define DO_FETCH_and(order) SETTLED(order, __atomic_fetch_and(address, value, order))
#define DO_FETCH_or(order) SETTLED(order, __atomic_fetch_or(address, value, order))
#define DO_FETCH_xor(order) SETTLED(order, __atomic_fetch_xor(address, value, order))
#define DO_FETCH_nand(order) SETTLED(order, __atomic_fetch_nand(address, value, order))
#define DO_EXCHANGE(order) SETTLED(order, __atomic_exchange_n(address, value, order))
#define DO_LOAD(order) return __atomic_load_n(address, order)
#define DO_STORE(order)                                                                                                \
    __atomic_store_n(address, value, order);                                                                           \
    return
#define DO_CAS(order) SETTLED(order, __atomic_compare_exchange_n(address, seen, value, 0, order, FAILURE_ORDER(order)))

/* Loads and stores are as hot as plain ones: what concerns nobody has no frame. */
#define DEFINE(bits, type)                                                                                             \
    PFA_INLINE type load##bits(const volatile type *address, int order)                                                \
    {                                                                                                                  \
        WITH_LOAD_ORDER(order, DO_LOAD)                                                                                \
    }                                                                                                                  \
    static PFA_NOINLINE type seen_load##bits(const volatile type *address, int order)                                  \
    {                                                                                                                  \
        pfa_access_at((uintptr_t)address, sizeof(type) - 1, PFA_ACCESS_READ);                                          \
        return load##bits(address, order);                                                                             \
    }                                                                                                                  \
    PFA_CALLBACK(type, __tsan_atomic##bits##_load, const volatile type *address, int order)                            \
    {                                                                                                                  \
        return pfa_access_concerns((uintptr_t)address) ? seen_load##bits(address, order) : load##bits(address, order); \
    }                                                                                                                  \
    PFA_INLINE void store##bits(volatile type *address, type value, int order)                                         \
    {                                                                                                                  \
        WITH_STORE_ORDER(order, DO_STORE)                                                                              \
    }                                                                                                                  \
    static PFA_NOINLINE void seen_store##bits(volatile type *address, type value, int order)                           \
    {                                                                                                                  \
        pfa_access_at((uintptr_t)address, sizeof(type) - 1, PFA_ACCESS_WRITE);                                         \
        store##bits(address, value, order);                                                                            \
    }                                                                                                                  \
    PFA_CALLBACK(void, __tsan_atomic##bits##_store, volatile type *address, type value, int order)                     \
    {                                                                                                                  \
        if (pfa_access_concerns((uintptr_t)address)) {                                                                 \
            seen_store##bits(address, value, order);                                                                   \
        } else {                                                                                                       \
            store##bits(address, value, order);                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    PFA_CALLBACK(type, __tsan_atomic##bits##_exchange, volatile type *address, type value, int order)                  \
    {                                                                                                                  \
        pfa_access((uintptr_t)address, sizeof(type), READ_WRITE);                                                      \
        WITH_ORDER(order, DO_EXCHANGE)                                                                                 \
    }                                                                                                                  \
    DEFINE_FETCH(bits, type, add)                                                                                      \
    DEFINE_FETCH(bits, type, sub)                                                                                      \
    DEFINE_FETCH(bits, type, and)                                                                                      \
    DEFINE_FETCH(bits, type, or)                                                                                       \
    DEFINE_FETCH(bits, type, xor)                                                                                      \
    DEFINE_FETCH(bits, type, nand)                                                                                     \
    static inline int cas##bits(volatile type *address, type *seen, type value,                                        \
                                int order){WITH_ORDER(order, DO_CAS)} DEFINE_CAS(bits, type)

/* The three forms of compare-exchange, over a static function cas<bits>, which leaves what it saw where it was told what to
 * expect. */
#define DEFINE_CAS(bits, type)                                                                                         \
    PFA_CALLBACK(type, __tsan_atomic##bits##_compare_exchange_val, volatile type *address, type expected, type value,  \
                 int order, int failure)                                                                               \
    {                                                                                                                  \
        int done = cas##bits(address, &expected, value, joint_order(order, failure));                                  \
        pfa_access((uintptr_t)address, sizeof(type), done ? READ_WRITE : PFA_ACCESS_READ);                             \
        return expected;                                                                                               \
    }                                                                                                                  \
    PFA_CALLBACK(int, __tsan_atomic##bits##_compare_exchange_strong, volatile type *address, type *expected,           \
                 type value, int order, int failure)                                                                   \
    {                                                                                                                  \
        type seen = *expected;                                                                                         \
        int done = cas##bits(address, &seen, value, joint_order(order, failure));                                      \
        pfa_access((uintptr_t)address, sizeof(type), done ? READ_WRITE : PFA_ACCESS_READ);                             \
        pfa_access((uintptr_t)expected, sizeof(type), done ? PFA_ACCESS_READ : READ_WRITE);                            \
        if (!done) {                                                                                                   \
            *expected = seen;                                                                                          \
        }                                                                                                              \
        return done;                                                                                                   \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *address, type *expected, type value, int order,     \
                                                    int failure)                                                       \
        __attribute__((alias("__tsan_atomic" #bits "_compare_exchange_strong")));

DEFINE(8, uint8_t)
DEFINE(16, uint16_t)
DEFINE(32, uint32_t)
DEFINE(64, uint64_t)

/* 16 bytes: every operation is a compare-exchange in a loop, in the strongest order. */

static inline int cas128(volatile pfa_wide_t *address, pfa_wide_t *seen, pfa_wide_t value, int order)
{
    (void)order;
    pfa_wide_t expected = *seen;
    *seen = pfa_wide_cas(address, expected, value);
    pfa_wide_settle();
    return *seen == expected;
}
DEFINE_CAS(128, pfa_wide_t)

PFA_CALLBACK(pfa_wide_t, __tsan_atomic128_load, const volatile pfa_wide_t *address, int order)
{
    (void)order;
    pfa_access((uintptr_t)address, sizeof *address, PFA_ACCESS_READ);
    pfa_wide_t value = pfa_wide_cas((volatile pfa_wide_t *)(uintptr_t)address, 0, 0);
    pfa_wide_settle();
    return value;
}

#define DEFINE_WIDE(name, result, counts, next)                                                                        \
    PFA_CALLBACK(result, __tsan_atomic128_##name, volatile pfa_wide_t *address, pfa_wide_t value, int order)           \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        pfa_access((uintptr_t)address, sizeof value, counts);                                                          \
        pfa_wide_t old = 0;                                                                                            \
        for (pfa_wide_t seen; (seen = pfa_wide_cas(address, old, next)) != old; old = seen) {                          \
        }                                                                                                              \
        pfa_wide_settle();                                                                                             \
        return (result)old;                                                                                            \
    }
DEFINE_WIDE(store, void, PFA_ACCESS_WRITE, value)
DEFINE_WIDE(exchange, pfa_wide_t, READ_WRITE, value)
DEFINE_WIDE(fetch_add, pfa_wide_t, READ_WRITE, old + value)
DEFINE_WIDE(fetch_sub, pfa_wide_t, READ_WRITE, old - value)
DEFINE_WIDE(fetch_and, pfa_wide_t, READ_WRITE, old &value)
DEFINE_WIDE(fetch_or, pfa_wide_t, READ_WRITE, old | value)
DEFINE_WIDE(fetch_xor, pfa_wide_t, READ_WRITE, old ^ value)
DEFINE_WIDE(fetch_nand, pfa_wide_t, READ_WRITE, ~(old &value))

#define DO_THREAD_FENCE(order)                                                                                         \
    __atomic_thread_fence(order);                                                                                      \
    return
#define DO_SIGNAL_FENCE(order)                                                                                         \
    __atomic_signal_fence(order);                                                                                      \
    return

PFA_CALLBACK(void, __tsan_atomic_thread_fence, int order){WITH_ORDER(order, DO_THREAD_FENCE)}

PFA_CALLBACK(void, __tsan_atomic_signal_fence, int order)
{
    WITH_ORDER(order, DO_SIGNAL_FENCE)
}
