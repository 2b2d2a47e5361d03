/* Libraries that come and go: constructors that allocate, destructors that free, chunks that outlive the library that
 * made them. */
#include "trap.h"

#include <limits.h>
#include <pthread.h>

static void *run(void *path)
{
    for (int i = 0; i < 30; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL, "%s", dlerror());
        char *(*hand_out)(size_t) = (char *(*)(size_t))dlsym(library, "hand_out");
        char *chunk = hand_out(300);
        char *large = hand_out(300000);
        dlclose(library);
        CHECK(chunk[0] == 0x42 && chunk[299] == 0x42 && large[299999] == 0x42);
        free(chunk);
        free(large);
    }
    return NULL;
}

int main(void)
{
    char path[PATH_MAX];
    pthread_t threads[2];
    snprintf(path, sizeof path, "%s/lib_constructor.so", getenv("TRAP_DIR"));
    run(path);
    profalloc_counters_t before = counters();
    run(path);
    profalloc_counters_t after = counters();
    CHECK(!mode_is("full") || after.allocations >= before.allocations + 30 * 202);
    CHECK(!mode_is("full") || after.live_chunks <= before.live_chunks + 1, "%lu more live",
          (unsigned long)(after.live_chunks - before.live_chunks));
    CHECK(pthread_create(&threads[0], NULL, run, path) == 0 && pthread_create(&threads[1], NULL, run, path) == 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    CHECK(counters().bad_frees == 0);
    return 0;
}
