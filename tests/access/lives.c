/* Chunks that are used for a part of their lives, at points of their own: so many accesses, evenly over that part. Those of two more
 * points are handed to another thread, which is the last to touch them, or gives them back. The program
 * measures itself what part of its life each was used, by its own clock, and tells the mean of each point. It reads the clock before and
 * behind each call and access, and tells the least and the most that is true then: also where the machine is slow or holds it up. What
 * time goes by with touches no chunk. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct way {
    unsigned writes;
    unsigned reads;
    unsigned use_ns;
    unsigned life_ns;
} way_t;

static const way_t ways[] = {
    {1, 1, 1000, 4000},      {2, 0, 1000, 4000},     {1, 2, 2000, 4000},     {3, 4, 3000, 4000},
    {10, 0, 2000, 5000},     {0, 10, 4500, 5000},    {5, 5, 2500, 5000},     {20, 0, 10000, 20000},
    {19, 0, 20000, 20000},   {7, 30, 15000, 30000},  {0, 100, 30000, 50000}, {60, 63, 50000, 50000},
    {0, 300, 60000, 100000}, {31, 31, 9000, 100000}, {0, 1, 0, 3000},        {1, 0, 0, 8000}};
enum { WAYS = sizeof ways / sizeof ways[0] };

static volatile unsigned sink;

#define POINT(n)                                                                                                       \
    __attribute__((noinline)) static unsigned char *make_##n(void)                                                     \
    {                                                                                                                  \
        unsigned char *chunk = malloc(64);                                                                             \
        __asm__ volatile("" : "+r"(chunk));                                                                            \
        return chunk;                                                                                                  \
    }
POINT(0)
POINT(1)
POINT(2)
POINT(3)
POINT(4)
POINT(5)
POINT(6)
POINT(7)
POINT(8)
POINT(9)
POINT(10)
POINT(11)
POINT(12)
POINT(13)
POINT(14)
POINT(15)
POINT(16)
POINT(17)
static unsigned char *(*const makers[WAYS])(void) = {make_0,  make_1,  make_2,  make_3, make_4,  make_5,
                                                     make_6,  make_7,  make_8,  make_9, make_10, make_11,
                                                     make_12, make_13, make_14, make_15};

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wait_until(uint64_t then)
{
    while (nanoseconds() < then) {
    }
}

/* Something happened between these. */
typedef struct moment {
    uint64_t from;
    uint64_t to;
} moment_t;

typedef struct part {
    double least;
    double most;
} part_t;

static double ratio(uint64_t from, uint64_t to, uint64_t born, uint64_t died)
{
    return from < to && born < died ? (double)(to - from) / (double)(died - born) : 0;
}

/* The part of a life between its first and its last access. */
static part_t part_of(moment_t born, moment_t first, moment_t last, moment_t died)
{
    double most = ratio(first.from, last.to, born.to, died.from);
    return (part_t){ratio(first.to, last.from, born.from, died.to), most < 1 ? most : 1};
}

/* The part of its life that a chunk was used. */
static part_t live(const way_t *way, unsigned char *(*make)(void))
{
    unsigned all = way->writes + way->reads;
    unsigned writes = 0;
    unsigned reads = 0;
    moment_t first = {0, 0};
    moment_t last = {0, 0};
    moment_t born = {.from = nanoseconds()};
    unsigned char *chunk = make();
    born.to = nanoseconds();
    for (unsigned i = 0; i < all; i++) {
        wait_until(born.to + (all > 1 ? (uint64_t)way->use_ns * i / (all - 1) : 0));
        last.from = nanoseconds();
        if (writes < way->writes && (uint64_t)writes * (way->reads + 1) <= (uint64_t)reads * (way->writes + 1)) {
            chunk[i % 64] = (unsigned char)i;
            writes++;
        } else if (reads < way->reads) {
            sink = chunk[i % 64];
            reads++;
        } else {
            chunk[i % 64] = (unsigned char)i;
            writes++;
        }
        last.to = nanoseconds();
        first = i == 0 ? last : first;
    }
    wait_until(born.to + way->life_ns);
    moment_t died = {.from = nanoseconds()};
    free(chunk);
    died.to = nanoseconds();
    return all > 1 ? part_of(born, first, last, died) : (part_t){0, 0};
}

/* A chunk on its way to the other thread and back. */
static struct {
    _Atomic bool is_there; /* with the other thread */
    unsigned char *chunk;  /* NULL: no more come */
    bool ends;             /* is the other thread to free it? */
    moment_t born;
    moment_t last;
    moment_t died;
} handed;

/* Reads the chunk for the last time, and ends it about as long again as it was used. */
static void end(unsigned char *chunk)
{
    handed.last.from = nanoseconds();
    sink = chunk[1];
    handed.last.to = nanoseconds();
    uint64_t used = handed.last.to - handed.born.to;
    wait_until(handed.last.to + (used < 100000 ? used : 100000));
    handed.died.from = nanoseconds();
    free(chunk);
    handed.died.to = nanoseconds();
}

/* No semaphore: behind calls that wait the clock is read. */
static void wait_for(bool there)
{
    while (atomic_load(&handed.is_there) != there) {
        sched_yield();
    }
}

static void *be_the_other(void *argument)
{
    for (wait_for(true); handed.chunk != NULL; wait_for(true)) {
        wait_until(nanoseconds() + 5000);
        if (handed.ends) {
            end(handed.chunk);
        } else {
            sink = handed.chunk[1];
        }
        atomic_store(&handed.is_there, false);
    }
    return argument;
}

/* The part of its life that such a chunk was used. Before it is handed over it is read some 100 times, in one round more often than in
 * another: then the schedule does not ask for the time of the accesses that come after that. */
static part_t hand(int round, bool ends, unsigned char *(*make)(void))
{
    handed.born.from = nanoseconds();
    unsigned char *chunk = make();
    handed.born.to = nanoseconds();
    moment_t first = {.from = handed.born.to};
    sink = chunk[0];
    first.to = nanoseconds();
    for (int i = 0; i < 100 + round % 4; i++) {
        sink = chunk[i % 64];
    }
    handed.chunk = chunk;
    handed.ends = ends;
    atomic_store(&handed.is_there, true);
    wait_for(false);
    if (!ends) {
        end(chunk);
    }
    return part_of(handed.born, first, handed.last, handed.died);
}

static void add(part_t *sum, part_t part)
{
    sum->least += part.least;
    sum->most += part.most;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 300;
    part_t sums[WAYS + 2] = {{0, 0}};
    pthread_t other;
    if (pthread_create(&other, NULL, be_the_other, NULL) != 0) {
        return 1;
    }
    for (int i = 0; i < rounds; i++) {
        for (unsigned n = 0; n < WAYS; n++) {
            add(&sums[n], live(&ways[n], makers[n]));
        }
        add(&sums[WAYS], hand(i, true, make_16));
        add(&sums[WAYS + 1], hand(i, false, make_17));
    }
    handed.chunk = NULL;
    atomic_store(&handed.is_there, true);
    pthread_join(other, NULL);
    for (unsigned n = 0; n < WAYS + 2; n++) {
        printf("make_%u %.6f %.6f\n", n, sums[n].least / rounds, sums[n].most / rounds);
    }
    return 0;
}
