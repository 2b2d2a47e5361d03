/* Not one descriptor can be opened, neither by a thread that starts nor when recording starts: then there is no trace.
 *
 * run: modes=off says="no trace can be written to .*too many open files.*"
 * run: modes=sampled,often,full */
#include "trap.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

static void *run(void *arg)
{
    void *chunks[100];
    for (unsigned i = 0; i < 100; i++) {
        chunks[i] = malloc(4000 * i);
        fill(chunks[i], 4000 * i, i);
    }
    for (unsigned i = 0; i < 100; i++) {
        CHECK(verify(chunks[i], 4000 * i, i));
        free(chunks[i]);
    }
    return arg;
}

int main(void)
{
    pthread_t thread;
    struct rlimit none = {3, 3};
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0 && open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
    run(NULL);
    CHECK(LIBRARY_CALL(profalloc_start)(1) == 0);
    run(NULL);
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_join(thread, NULL);
    return 0;
}
