/* A limit on address space that the program sets while it runs is kept: malloc returns NULL before it is reached, a good part
 * of it is had, and the program's own mappings and threads still work meanwhile.
 *
 * run: modes=off arg=48 arg=250
 * run: modes=off arg=10000 arg=250
 * run: modes=off arg=1000000 arg=250
 * run: modes=off arg=20000000 arg=150
 * run: modes=sampled,often,full arg=48 arg=80
 *      may_say="the profiled range .*" may_say="no memory .*"
 * run: modes=sampled,often,full arg=10000 arg=70
 *      may_say="the profiled range .*" may_say="no memory .*"
 * run: modes=sampled,often,full arg=1000000 arg=180
 *      may_say="the profiled range .*" may_say="no memory .*"
 * run: modes=sampled,often,full arg=20000000 arg=80
 *      may_say="the profiled range .*" may_say="no memory .*" */
#include "trap.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MIB ((size_t)1 << 20)

enum { LIMIT = 400 };

static void *nothing(void *arg)
{
    return arg;
}

static void set_limit(rlim_t bytes)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* Takes chunks of this size until there are no more, and gives them back; returns their bytes. */
static size_t take(size_t size)
{
    void **last = NULL;
    size_t bytes = 0;
    for (void **chunk; bytes < 4 * LIMIT * MIB && (chunk = malloc(size)) != NULL; bytes += size) {
        *chunk = last;
        last = chunk;
    }
    while (last != NULL) {
        void **next = *last;
        free(last);
        last = next;
    }
    return bytes;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    size_t size = strtoul(argv[1], NULL, 10);
    size_t least = strtoul(argv[2], NULL, 10) * MIB;
    pthread_t thread;
    void *volatile before = malloc(size); /* recording has begun */
    free(before);
    set_limit(LIMIT * MIB);
    void *own = mmap(NULL, 16 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(own != MAP_FAILED, "no room for a mapping of the program");
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    size_t bytes = take(size);
    CHECK(bytes <= LIMIT * MIB, "%zu bytes of size %zu with a limit of %d MiB", bytes, size, LIMIT);
    CHECK(bytes >= least, "only %zu bytes of size %zu", bytes, size);
    return 0;
}
