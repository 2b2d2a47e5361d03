/* Sizes that cannot be, or whose product or rounding up does not fit: NULL and ENOMEM, and what was there stays. */
#include "trap.h"

#define REFUSED(call)                                                                                                  \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        CHECK(opaque(call) == NULL);                                                                                   \
        CHECK(errno == ENOMEM, #call);                                                                                 \
    } while (0)

static const size_t impossible[] = {
    SIZE_MAX,        SIZE_MAX - 1,           SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1,
    (size_t)1 << 63, ((size_t)1 << 63) + 16, PTRDIFF_MAX,     (size_t)PTRDIFF_MAX - 8,
    (size_t)1 << 56, ((size_t)1 << 48) + 1,  (size_t)1 << 55, SIZE_MAX - ((size_t)64 << 20)};

static void check_size(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *untouched = &page;
    REFUSED(malloc(size));
    REFUSED(calloc(1, size));
    REFUSED(calloc(size, 1));
    REFUSED(realloc(NULL, size));
    REFUSED(valloc(size));
    REFUSED(pvalloc(size));
    for (size_t align = 8; align <= (size_t)1 << 40; align *= 4) {
        REFUSED(aligned_alloc(align, size));
        REFUSED(memalign(align, size));
        errno = 0;
        CHECK(posix_memalign(&untouched, align, size) == ENOMEM);
        CHECK(errno == 0 && untouched == &page);
    }
}

/* realloc that fails leaves the chunk as it was. */
static void check_realloc(size_t old, size_t size)
{
    void *chunk = malloc(old);
    fill(chunk, old, 3);
    REFUSED(realloc(chunk, size));
    REFUSED(reallocarray(chunk, size, 1));
    CHECK(verify(chunk, old, 3) && malloc_usable_size(chunk) >= old);
    free(chunk);
}

int main(void)
{
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        size_t size = opaque_size(impossible[i]);
        check_size(size);
        check_realloc(10, size);
        check_realloc(300000, size);
    }
    size_t half = opaque_size((size_t)1 << 32);
    void *chunk = malloc(64);
    fill(chunk, 64, 4);
    REFUSED(calloc(half, half));
    REFUSED(calloc(half + 1, half));
    REFUSED(calloc(opaque_size(SIZE_MAX / 2 + 2), 2));
    REFUSED(reallocarray(chunk, half, half));
    REFUSED(reallocarray(chunk, opaque_size(SIZE_MAX / 2 + 2), 2));
    CHECK(verify(chunk, 64, 4));
    free(chunk);
    CHECK(counters().bad_frees == 0);
    return 0;
}
