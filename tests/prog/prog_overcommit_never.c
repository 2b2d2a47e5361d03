/* With vm.overcommit_memory = 2 the kernel counts what is reserved with access against memory: we must not reserve so.
 *
 * run: overcommit=2 */
#include "trap.h"

#include <pthread.h>

/* Of this process, in KiB: the mappings that the kernel says are accountable. */
static size_t committed_kib(void)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[4096];
    size_t size = 0;
    size_t sum = 0;
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        (void)sscanf(line, "Size: %zu", &size);
        sum += strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " ac") != NULL ? size : 0;
    }
    fclose(maps);
    return sum;
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
    void *chunk = malloc(64 << 20);
    CHECK(chunk != NULL);
    fill(chunk, 64 << 20, 1);
    run(NULL);
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_join(thread, NULL);
    errno = 0;
    CHECK(malloc(opaque_size((size_t)1 << 48)) == NULL && errno == ENOMEM);
    CHECK(verify(chunk, 64 << 20, 1));
    size_t committed = committed_kib();
    CHECK(committed > 64 << 10 && committed < 1 << 20, "%zu KiB are committed", committed);
    free(chunk);
    return 0;
}
