/* A process limits its address space below what it has, and forks. The child can map nothing, so it can make no records of
 * its own; that its chunks are chunks it knows all the same, also when its parent has freed its own of the same address.
 *
 * run: may_say="no memory.*|no address space.*|the profiled range is full.*|too many.*|no room.*" */
#include "trap.h"

#include <sys/resource.h>
#include <sys/wait.h>

enum { CHUNKS = 600 };

static void *chunks[CHUNKS];

static size_t size_of(unsigned i)
{
    return i % 30 == 7 ? 140000 + 100 * i : 16 + 23 * i;
}

static void live_as_child(unsigned number)
{
    for (unsigned i = 0; i < CHUNKS; i++) {
        CHECK(verify(chunks[i], size_of(i), i), "in child %u", number);
        if (i % 3 == number) {
            void *moved = realloc(chunks[i], size_of(i) / 2 + 8);
            CHECK(moved != NULL && verify(moved, size_of(i) / 2, i));
            chunks[i] = moved;
        }
        CHECK(malloc_usable_size(chunks[i]) >= 8);
        free(chunks[i]);
    }
    for (unsigned i = 0; i < 1000; i++) {
        free(malloc(8 + i % 200));
    }
    CHECK(counters().bad_frees == 0);
    exit(0);
}

int main(void)
{
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = malloc(size_of(i));
        fill(chunks[i], size_of(i), i);
    }
    struct rlimit limit = {2000000 * 1024ul, 2000000 * 1024ul};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    for (unsigned number = 0; number < 3; number++) {
        int status;
        int hold[2];
        CHECK(pipe(hold) == 0);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            char go;
            CHECK(read(hold[0], &go, 1) == 1);
            live_as_child(number);
        }
        if (number == 2) { /* the records that it was born with are of dead chunks from here on */
            for (unsigned i = 0; i < CHUNKS; i++) {
                free(chunks[i]);
            }
        }
        CHECK(write(hold[1], "g", 1) == 1);
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child %u ended with %#x", number, status);
        close(hold[0]);
        close(hold[1]);
    }
    CHECK(counters().bad_frees == 0);
    return 0;
}
