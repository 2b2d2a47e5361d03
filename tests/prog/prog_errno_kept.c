/* free leaves errno alone, whatever it does inside: also when it gives memory back to the system, or goes to another
 * thread's chunk. What succeeds leaves it alone too. */
#include "trap.h"

#include <pthread.h>

enum { MARK = 12345 };

static const size_t sizes[] = {0, 1, 16, 100, 1024, 9000, 70000, 131072, 131073, 1 << 20, 17 << 20, 40 << 20};
#define COUNT (sizeof sizes / sizeof sizes[0])

static void *make_all(void *out)
{
    for (size_t i = 0; i < COUNT; i++) {
        ((void **)out)[i] = malloc(sizes[i]);
    }
    return NULL;
}

static void free_all(void **chunks)
{
    for (size_t i = 0; i < COUNT; i++) {
        errno = MARK;
        free(chunks[i]);
        CHECK(errno == MARK, "free of %zu bytes", sizes[i]);
    }
}

int main(void)
{
    void *chunks[COUNT];
    pthread_t thread;
    for (int round = 0; round < 20; round++) {
        errno = MARK;
        make_all(chunks);
        CHECK(errno == MARK, "malloc");
        free_all(chunks);
        for (size_t i = 0; i < COUNT; i++) {
            errno = MARK;
            chunks[i] = realloc(calloc(1, sizes[i]), sizes[i] + 100000);
            CHECK(errno == MARK, "calloc or realloc from %zu bytes", sizes[i]);
        }
        free_all(chunks);
    }
    CHECK(pthread_create(&thread, NULL, make_all, chunks) == 0);
    pthread_join(thread, NULL);
    free_all(chunks);
    errno = MARK;
    malloc_trim(0);
    CHECK(errno == MARK, "malloc_trim");
    return 0;
}
