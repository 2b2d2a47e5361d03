/* An alignment that is no power of two, or for posix_memalign no multiple of a pointer's size: EINVAL, and the place
 * for the result stays as it was. */
#include "trap.h"

#define REFUSED(call)                                                                                                  \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        CHECK(opaque(call) == NULL);                                                                                   \
        CHECK(errno == EINVAL, #call);                                                                                 \
    } while (0)

int main(void)
{
    static const size_t bad[] = {
        0, 3, 5, 6, 7, 12, 24, 48, 100, 1000, 4095, 4097, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX - 4095};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size_t align = opaque_size(bad[i]);
        for (size_t size = 0; size < 400000; size = size * 3 + 1) {
            void *untouched = &align;
            REFUSED(aligned_alloc(align, size));
            REFUSED(memalign(align, size));
            errno = 0;
            CHECK(posix_memalign(&untouched, align, size) == EINVAL);
            CHECK(errno == 0 && untouched == &align);
        }
    }
    for (size_t align = 1; align < sizeof(void *); align *= 2) {
        void *untouched = &align;
        CHECK(posix_memalign(&untouched, align, 100) == EINVAL && untouched == &align);
        void *chunk = memalign(align, 100); /* good enough for these */
        CHECK(chunk != NULL);
        free(chunk);
    }
    /* A power of two, but no memory can have it. */
    for (size_t align = (size_t)1 << 63; align >= (size_t)1 << 47; align /= 2) {
        for (size_t size = 0; size < 400000; size = size * 3 + 1) {
            void *untouched = &align;
            errno = 0;
            CHECK(opaque(memalign(opaque_size(align), size)) == NULL && errno == ENOMEM);
            errno = 0;
            CHECK(posix_memalign(&untouched, opaque_size(align), size) == ENOMEM && errno == 0 && untouched == &align);
        }
    }
    return 0;
}
