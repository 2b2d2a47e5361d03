/* A program whose threads end after a while and hand what they allocated to their successors:
 *     replacer ROUNDS
 * Prints the page faults of all its threads that were read from a disk, and how many threads there were. Code and data of programs
 * and libraries do not count: they are locked into memory first, or the kernel may drop and read them again at any time. */
#define _GNU_SOURCE 1
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { SIDE_BY_SIDE = 4, LIVE = 1000, STEPS = 10000 };

static _Atomic long faults;

static void *work(void *arg)
{
    void **live = arg;
    struct rusage usage;
    unsigned seed = 1;
    for (int i = 0; i < STEPS; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned at = (seed >> 8) % LIVE;
        free(live[at]);
        live[at] = malloc(8 + (seed >> 16) % 992);
        *(char *)live[at] = 1;
    }
    (void)getrusage(RUSAGE_THREAD, &usage);
    faults += usage.ru_majflt;
    return NULL;
}

/* Private mappings of files; a live table is a shared one. How many; 0: it is not allowed. */
static int lock_code(void)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "re");
    int locked = 0;
    if (maps == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t start;
        uintptr_t end;
        char mode[5];
        int path = 0;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %n", &start, &end, mode, &path) == 3 &&
            mode[0] == 'r' && mode[3] == 'p' && line[path] == '/') {
            if (mlock((void *)start, end - start) != 0) {
                perror("mlock");
                locked = 0;
                break;
            }
            locked++;
        }
    }
    (void)fclose(maps);
    return locked;
}

int main(int argc, char **argv)
{
    static void *live[SIDE_BY_SIDE][LIVE];
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    struct rusage before;
    struct rusage after;
    if (lock_code() == 0) {
        return 1;
    }
    (void)getrusage(RUSAGE_THREAD, &before); /* programs and libraries are read from a disk at the start */
    for (int i = 0; i < rounds; i++) {
        pthread_t threads[SIDE_BY_SIDE];
        for (int j = 0; j < SIDE_BY_SIDE; j++) {
            if (pthread_create(&threads[j], NULL, work, live[j]) != 0) {
                return 1;
            }
        }
        for (int j = 0; j < SIDE_BY_SIDE; j++) {
            (void)pthread_join(threads[j], NULL);
        }
    }
    (void)getrusage(RUSAGE_THREAD, &after);
    printf("%ld faults, %d threads\n", faults + after.ru_majflt - before.ru_majflt, rounds * SIDE_BY_SIDE);
    return 0;
}
