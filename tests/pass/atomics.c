/* flags: -Wno-atomic-alignment */
/* Atomics of all widths: each is told by itself, once, and nothing is merged across one. */
#include "fake.h"

#include <stdatomic.h>
#include <stdbool.h>

#define NOINLINE __attribute__((noinline))

#define WIDTH(type, bytes)                                                                                             \
    NOINLINE static void atomics_##bytes(_Atomic type *p, type *plain)                                                 \
    {                                                                                                                  \
        type old = 0;                                                                                                  \
        plain[0] = 1;                                                                                                  \
        atomic_store(p, 3);                                                                                            \
        plain[1] = 1;                                                                                                  \
        result((uint64_t)atomic_load_explicit(p, memory_order_relaxed));                                               \
        plain[0] = 2;                                                                                                  \
        atomic_fetch_add(p, 1);                                                                                        \
        atomic_exchange(p, 9);                                                                                         \
        plain[0] = 3;                                                                                                  \
        atomic_compare_exchange_strong(p, &old, 5);                                                                    \
        old = 9;                                                                                                       \
        atomic_compare_exchange_strong(p, &old, 5);                                                                    \
        atomic_fetch_or_explicit(p, 2, memory_order_relaxed);                                                          \
        result((uint64_t)atomic_load(p));                                                                              \
    }                                                                                                                  \
    static void all_##bytes(void)                                                                                      \
    {                                                                                                                  \
        _Atomic type *p = chunk(4 * bytes);                                                                            \
        type *plain = chunk(4 * bytes);                                                                                \
        atomics_##bytes(p + 2, plain);                                                                                 \
        expect((void *)p, 7, 5, 2 * bytes, 3 * bytes - 1);                                                             \
        touched(plain, 0, 2 * bytes - 1);                                                                              \
    }
WIDTH(uint8_t, 1)
WIDTH(uint16_t, 2)
WIDTH(uint32_t, 4)
WIDTH(uint64_t, 8)

typedef unsigned __int128 wide_t;

#ifdef __x86_64__
__attribute__((target("cx16")))
#endif
NOINLINE static bool
exchange_wide(wide_t *p, wide_t old, wide_t value)
{
    return __sync_bool_compare_and_swap(p, old, value);
}

NOINLINE static void spin(_Atomic int *lock, int *inside, int n)
{
    for (int i = 0; i < n; i++) {
        while (atomic_exchange_explicit(lock, 1, memory_order_acquire)) {
        }
        inside[0]++;
        inside[1] = i;
        atomic_store_explicit(lock, 0, memory_order_release);
    }
}

NOINLINE static void fenced(int *p)
{
    p[0] = 1;
    atomic_thread_fence(memory_order_seq_cst);
    p[0] = 2;
    atomic_signal_fence(memory_order_seq_cst);
    p[1] = 3;
}

int main(void)
{
    all_1(), all_2(), all_4(), all_8();
    wide_t *wide = chunk(64);
    result(exchange_wide(wide + 1, 0, 7));
    result(exchange_wide(wide + 1, 6, 8));
    expect(wide, 2, 1, 16, 31);
    _Atomic int *lock = chunk(4);
    int *inside = chunk(8);
    spin(lock, inside, number(20));
    expect((void *)lock, 20, 40, 0, 3);
    expect(inside, 20, 40, 0, 7);
    int *f = chunk(8);
    fenced(f);
    expect(f, 0, 3, 0, 7);
    return 0;
}
