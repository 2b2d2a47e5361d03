/* With vm.overcommit_memory = 2 the kernel counts what is reserved with access against memory: we must not reserve so.
 *
 * run: overcommit=2 */
#include "trap.h"

#include <pthread.h>

static size_t committed_kib(void)
{
    FILE *info = fopen("/proc/meminfo", "r");
    char line[256];
    size_t kib = 0;
    while (fgets(line, sizeof line, info) != NULL) {
        (void)sscanf(line, "Committed_AS: %zu", &kib);
    }
    fclose(info);
    return kib;
}

static void *run(void *arg)
{
    for (size_t size = 1; size < 4 << 20; size = size * 2 + 1) {
        void *chunk = calloc(1, size);
        CHECK(chunk != NULL && is_zero(chunk, size));
        chunk = realloc(chunk, 2 * size);
        CHECK(chunk != NULL && is_zero(chunk, size));
        free(chunk);
    }
    return arg;
}

int main(void)
{
    pthread_t thread;
    size_t before = committed_kib();
    void *chunk = malloc(64 << 20);
    CHECK(chunk != NULL);
    fill(chunk, 64 << 20, 1);
    run(NULL);
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_join(thread, NULL);
    errno = 0;
    CHECK(malloc(opaque_size((size_t)1 << 42)) == NULL && errno == ENOMEM);
    CHECK(verify(chunk, 64 << 20, 1));
    size_t after = committed_kib();
    CHECK(after < before + (1 << 20), "committed memory of the machine went from %zu to %zu KiB", before, after);
    free(chunk);
    return 0;
}
