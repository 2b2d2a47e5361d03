/* Owns the callbacks that -fsanitize=thread makes compilers put before plain accesses: GCC's and Clang's. Atomic ones are
 * in atomics.c, what Clang makes of memcpy and its kin in wraps_memory.c.
 *
 * Part of libprofalloc_access.a. Callable at any time, by any thread, in signal handlers: see access.h, which does the work.
 * Nothing here may call a function that the program's own code could mean: no libc. */
#include "hooks/access/access.h"
#include "hooks/access/interface.h"
#include "hooks/access/wraps.h"

/* Or of nothing. */
static PFA_NOINLINE void note_big(const void *address, uint64_t size, uint64_t counts)
{
    pfa_access_range(address, size, counts);
    note_told(address, size);
}

#define DEFINE(name, size, counts)                                                                                     \
    PFA_CALLBACK(void, __tsan_##name##size, void *address)                                                             \
    {                                                                                                                  \
        pfa_access((uintptr_t)address, size, counts);                                                                  \
    }
#define PFA_CALLBACKS(name, counts)                                                                                    \
    DEFINE(name, 1, counts)                                                                                            \
    DEFINE(name, 2, counts)                                                                                            \
    DEFINE(name, 4, counts)                                                                                            \
    DEFINE(name, 8, counts)                                                                                            \
    DEFINE(name, 16, counts)

#define DEFINE_LIKE(name, other, size)                                                                                 \
    void __tsan_##name##size(void *address) __attribute__((alias("__tsan_" #other #size)));
#define PFA_CALLBACKS_LIKE(name, other)                                                                                \
    DEFINE_LIKE(name, other, 1)                                                                                        \
    DEFINE_LIKE(name, other, 2)                                                                                        \
    DEFINE_LIKE(name, other, 4)                                                                                        \
    DEFINE_LIKE(name, other, 8)                                                                                        \
    DEFINE_LIKE(name, other, 16)
#include "hooks/access/callbacks.def"

/* gcc has these for whatever is not aligned, too: they are as hot as the others. */
PFA_INLINE void access_range(void *address, uint64_t size, uint64_t counts)
{
    if (pfa_access_concerns((uintptr_t)address)) {
        __asm__("" : "+r"(address), "+r"(size)); /* as in pfa_access */
        if (PFA_LIKELY(size - 1 < PFA_TOLD_ABOVE)) {
            pfa_access_at((uintptr_t)address, size - 1, counts);
        } else {
            note_big(address, size, counts);
        }
    }
}

PFA_CALLBACK(void, __tsan_read_range, void *address, uint64_t size)
{
    access_range(address, size, PFA_ACCESS_READ);
}

PFA_CALLBACK(void, __tsan_write_range, void *address, uint64_t size)
{
    access_range(address, size, PFA_ACCESS_WRITE);
}

/* The forms that are told whose access it is, which only hand-written callers use. */
#define DEFINE_PC(name, size)                                                                                          \
    PFA_CALLBACK(void, __tsan_##name##size##_pc, void *address, void *pc)                                              \
    {                                                                                                                  \
        (void)pc;                                                                                                      \
        __tsan_##name##size(address);                                                                                  \
    }
DEFINE_PC(read, 1)
DEFINE_PC(read, 2)
DEFINE_PC(read, 4)
DEFINE_PC(read, 8)
DEFINE_PC(read, 16)
DEFINE_PC(write, 1)
DEFINE_PC(write, 2)
DEFINE_PC(write, 4)
DEFINE_PC(write, 8)
DEFINE_PC(write, 16)

PFA_CALLBACK(void, __tsan_read_range_pc, void *address, uint64_t size, void *pc)
{
    (void)pc;
    __tsan_read_range(address, size);
}

PFA_CALLBACK(void, __tsan_write_range_pc, void *address, uint64_t size, void *pc)
{
    (void)pc;
    __tsan_write_range(address, size);
}

PFA_CALLBACK(void, __tsan_vptr_read, void **address)
{
    pfa_access((uintptr_t)address, sizeof *address, PFA_ACCESS_READ);
}

/* A store, whether or not the value was there before. */
PFA_CALLBACK(void, __tsan_vptr_update, void **address, void *value)
{
    (void)value;
    pfa_access((uintptr_t)address, sizeof *address, PFA_ACCESS_WRITE);
}

/* GCC cannot be told to leave these out; a call and a return is all they cost. */
PFA_CALLBACK(void, __tsan_func_entry, void *pc)
{
    (void)pc;
}

PFA_CALLBACK(void, __tsan_func_exit, void)
{
}

/* Called by a constructor in every object file; module.c has one that comes before them. */
PFA_CALLBACK(void, __tsan_init, void)
{
}

/* Around functions with no_sanitize_thread, which does not mean that their accesses do not count. */
PFA_CALLBACK(void, __tsan_ignore_thread_begin, void)
{
}

PFA_CALLBACK(void, __tsan_ignore_thread_end, void)
{
}
