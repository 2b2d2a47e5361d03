/* The callbacks of an instrumented build, doing nothing: what the instrumentation itself costs, Memoro's second row.
 *
 * Atomic operations are the program's own and are carried out, with the strongest order whatever was asked for. Linked
 * straight into a program in place of libprofalloc_access.a, with glibc's malloc and none of its functions wrapped. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NOTHING(name, ...)                                                                                             \
    void name(__VA_ARGS__);                                                                                            \
    void name(__VA_ARGS__)                                                                                             \
    {                                                                                                                  \
    }

#define PLAIN(size)                                                                                                    \
    NOTHING(__tsan_read##size, const void *p __attribute__((unused)))                                                  \
    NOTHING(__tsan_write##size, const void *p __attribute__((unused)))                                                 \
    NOTHING(__tsan_read_write##size, const void *p __attribute__((unused)))                                            \
    NOTHING(__tsan_unaligned_read##size, const void *p __attribute__((unused)))                                        \
    NOTHING(__tsan_unaligned_write##size, const void *p __attribute__((unused)))                                       \
    NOTHING(__tsan_unaligned_read_write##size, const void *p __attribute__((unused)))                                  \
    NOTHING(__tsan_volatile_read##size, const void *p __attribute__((unused)))                                         \
    NOTHING(__tsan_volatile_write##size, const void *p __attribute__((unused)))                                        \
    NOTHING(__tsan_unaligned_volatile_read##size, const void *p __attribute__((unused)))                               \
    NOTHING(__tsan_unaligned_volatile_write##size, const void *p __attribute__((unused)))
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

NOTHING(__tsan_init, void)
NOTHING(__tsan_func_entry, const void *caller __attribute__((unused)))
NOTHING(__tsan_func_exit, void)
NOTHING(__tsan_read_range, const void *p __attribute__((unused)), size_t size __attribute__((unused)))
NOTHING(__tsan_write_range, const void *p __attribute__((unused)), size_t size __attribute__((unused)))
NOTHING(__tsan_vptr_update, const void *p __attribute__((unused)), const void *vptr __attribute__((unused)))
NOTHING(__tsan_vptr_read, const void *p __attribute__((unused)))

#define FETCH(bits, operation)                                                                                         \
    uint##bits##_t __tsan_atomic##bits##_fetch_##operation(volatile void *p, uint##bits##_t value, int order);         \
    uint##bits##_t __tsan_atomic##bits##_fetch_##operation(volatile void *p, uint##bits##_t value, int order)          \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        return __atomic_fetch_##operation((volatile uint##bits##_t *)p, value, __ATOMIC_SEQ_CST);                      \
    }

#define COMPARE_EXCHANGE(bits, strength)                                                                               \
    int __tsan_atomic##bits##_compare_exchange_##strength(volatile void *p, void *expected, uint##bits##_t value,      \
                                                          int order, int otherwise);                                   \
    int __tsan_atomic##bits##_compare_exchange_##strength(volatile void *p, void *expected, uint##bits##_t value,      \
                                                          int order, int otherwise)                                    \
    {                                                                                                                  \
        (void)order, (void)otherwise;                                                                                  \
        return __atomic_compare_exchange_n((volatile uint##bits##_t *)p, (uint##bits##_t *)expected, value, false,     \
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                        \
    }

#define ATOMIC(bits)                                                                                                   \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile void *p, int order);                                      \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile void *p, int order)                                       \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        return __atomic_load_n((const volatile uint##bits##_t *)p, __ATOMIC_SEQ_CST);                                  \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile void *p, uint##bits##_t value, int order);                               \
    void __tsan_atomic##bits##_store(volatile void *p, uint##bits##_t value, int order)                                \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        __atomic_store_n((volatile uint##bits##_t *)p, value, __ATOMIC_SEQ_CST);                                       \
    }                                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_exchange(volatile void *p, uint##bits##_t value, int order);                  \
    uint##bits##_t __tsan_atomic##bits##_exchange(volatile void *p, uint##bits##_t value, int order)                   \
    {                                                                                                                  \
        (void)order;                                                                                                   \
        return __atomic_exchange_n((volatile uint##bits##_t *)p, value, __ATOMIC_SEQ_CST);                             \
    }                                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile void *p, uint##bits##_t expected,               \
                                                              uint##bits##_t value, int order, int otherwise);         \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile void *p, uint##bits##_t expected,               \
                                                              uint##bits##_t value, int order, int otherwise)          \
    {                                                                                                                  \
        (void)order, (void)otherwise;                                                                                  \
        __atomic_compare_exchange_n((volatile uint##bits##_t *)p, &expected, value, false, __ATOMIC_SEQ_CST,           \
                                    __ATOMIC_SEQ_CST);                                                                 \
        return expected;                                                                                               \
    }                                                                                                                  \
    COMPARE_EXCHANGE(bits, strong)                                                                                     \
    COMPARE_EXCHANGE(bits, weak)                                                                                       \
    FETCH(bits, add)                                                                                                   \
    FETCH(bits, sub)                                                                                                   \
    FETCH(bits, and)                                                                                                   \
    FETCH(bits, or)                                                                                                    \
    FETCH(bits, xor)                                                                                                   \
    FETCH(bits, nand)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Newer Clangs call these for what the program copies and fills. */
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memcpy(void *to, const void *from, size_t size)
{
    return memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size)
{
    return memmove(to, from, size);
}

void *__tsan_memset(void *to, int value, size_t size);
void *__tsan_memset(void *to, int value, size_t size)
{
    return memset(to, value, size);
}
