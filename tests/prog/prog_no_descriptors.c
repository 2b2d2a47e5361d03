/* Not one descriptor can be opened.
 *
 * run: limit=NOFILE:3 */
#include "trap.h"

#include <fcntl.h>
#include <pthread.h>

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
    CHECK(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
    run(NULL);
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_join(thread, NULL);
    return 0;
}
