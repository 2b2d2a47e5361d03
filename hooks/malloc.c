/* Owns the entry points of C: malloc, free and their kin. The fast paths are here and nothing else.
 *
 * Budget over bare mimalloc: malloc one subtraction in memory and one branch; free one rotation, one shift, one compare and
 * branch, less mimalloc's own test for NULL, and no load. No call, no atomic. tests/checks/golden counts the instructions. */
#include "hooks/hooks.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

/* The C library's header gives some of these attributes that our prototypes repeat without harm. */
PFA_EXPORT void free_sized(void *chunk, size_t size);
PFA_EXPORT void free_aligned_sized(void *chunk, size_t align, size_t size);

#define CALLER __builtin_return_address(0)

PFA_EXPORT PFA_FLATTEN void *malloc(size_t size)
{
    return PFA_LIKELY(pfa_fast_allowed(size)) ? pfa_backing_malloc(size) : pfa_slow_malloc(size);
}

PFA_EXPORT PFA_FLATTEN void free(void *chunk)
{
    pfa_fast_free(chunk);
}

static PFA_COLD void *fail(int err)
{
    pfa_tls_disarm(&pfa_tls); /* a size that nothing can have may have been taken off the countdown */
    errno = err;
    return NULL;
}

PFA_EXPORT void *calloc(size_t count, size_t size)
{
    size_t total;
    if (PFA_UNLIKELY(__builtin_mul_overflow(count, size, &total))) {
        return fail(ENOMEM);
    }
    if (PFA_LIKELY(pfa_fast_allowed(total))) {
        return pfa_backing_calloc(total);
    }
    return pfa_slow_alloc(total, 0, PFA_FLAG_ZEROED);
}

PFA_EXPORT PFA_FLATTEN void *realloc(void *chunk, size_t size)
{
    bool fast = pfa_fast_allowed(size);
    if (PFA_UNLIKELY(!fast) || PFA_UNLIKELY(!pfa_is_plain(chunk)) || PFA_UNLIKELY(size == 0)) {
        return pfa_slow_realloc(chunk, size, CALLER);
    }
    size_t usable = pfa_backing_usable_here(chunk);
    return PFA_LIKELY(pfa_backing_keeps(usable, size)) ? chunk : pfa_backing_move(chunk, usable, size);
}

static bool is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static PFA_NOINLINE void *slow_aligned(size_t align, size_t size)
{
    return pfa_backing_aligns(size, align) ? pfa_slow_alloc(size, 0, 0) : pfa_slow_alloc(size, align, PFA_FLAG_ALIGNED);
}

PFA_INLINE void *aligned(size_t align, size_t size)
{
    if (PFA_UNLIKELY(pfa_too_big(size, align))) {
        return fail(ENOMEM);
    }
    if (PFA_UNLIKELY(!pfa_fast_allowed(size))) {
        return slow_aligned(align, size);
    }
    void *chunk = pfa_backing_aligned_here(size, align);
    return PFA_LIKELY(chunk != NULL) ? chunk : fail(ENOMEM);
}

PFA_EXPORT PFA_FLATTEN void *memalign(size_t align, size_t size)
{
    return PFA_LIKELY(is_power_of_two(align)) ? aligned(align, size) : fail(EINVAL);
}

PFA_EXPORT PFA_FLATTEN void *aligned_alloc(size_t align, size_t size)
{
    return PFA_LIKELY(is_power_of_two(align)) ? aligned(align, size) : fail(EINVAL);
}

static PFA_NOINLINE int slow_posix_memalign(void **out, size_t align, size_t size)
{
    int kept = errno;
    void *chunk = slow_aligned(align, size);
    errno = kept;
    if (chunk == NULL) {
        return ENOMEM;
    }
    *out = chunk;
    return 0;
}

/* Leaves errno alone. */
PFA_EXPORT PFA_FLATTEN int posix_memalign(void **out, size_t align, size_t size)
{
    if (PFA_UNLIKELY(!is_power_of_two(align)) || PFA_UNLIKELY(align < sizeof(void *))) {
        return EINVAL;
    }
    if (PFA_UNLIKELY(pfa_too_big(size, align))) {
        return ENOMEM;
    }
    if (PFA_UNLIKELY(!pfa_fast_allowed(size))) {
        return slow_posix_memalign(out, align, size);
    }
    void *chunk = pfa_backing_aligned_here(size, align);
    if (PFA_UNLIKELY(chunk == NULL)) {
        return ENOMEM;
    }
    *out = chunk;
    return 0;
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

PFA_EXPORT void *valloc(size_t size)
{
    return aligned(page_size(), size);
}

PFA_EXPORT void *pvalloc(size_t size)
{
    size_t page = page_size();
    if (size > PTRDIFF_MAX - page) {
        return fail(ENOMEM);
    }
    return aligned(page, (size + page - 1) & ~(page - 1));
}

PFA_EXPORT size_t malloc_usable_size(void *chunk)
{
    return pfa_usable_size(chunk, CALLER);
}

/* The size is the program's claim; the chunk's own is known better. */
PFA_EXPORT PFA_FLATTEN void free_sized(void *chunk, size_t size)
{
    (void)size;
    pfa_fast_free(chunk);
}

PFA_EXPORT PFA_FLATTEN void free_aligned_sized(void *chunk, size_t align, size_t size)
{
    (void)align;
    (void)size;
    pfa_fast_free(chunk);
}

/* The other names of the same functions. GCC would have them repeat the header's attributes; callers never see these. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#endif
#define ALIAS(name, target, type, parameters)                                                                          \
    PFA_EXPORT type name parameters;                                                                                   \
    PFA_EXPORT type name parameters __attribute__((alias(#target)))
ALIAS(cfree, free, void, (void *));
ALIAS(__libc_malloc, malloc, void *, (size_t));
ALIAS(__libc_calloc, calloc, void *, (size_t, size_t));
ALIAS(__libc_realloc, realloc, void *, (void *, size_t));
ALIAS(__libc_free, free, void, (void *));
ALIAS(__libc_cfree, free, void, (void *));
ALIAS(__libc_memalign, memalign, void *, (size_t, size_t));
ALIAS(__libc_valloc, valloc, void *, (size_t));
ALIAS(__libc_pvalloc, pvalloc, void *, (size_t));
ALIAS(__posix_memalign, posix_memalign, int, (void **, size_t, size_t));
