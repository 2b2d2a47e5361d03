/* Chunks that are used for a part of their lives, at points of their own: so many accesses, evenly over that part. The program
 * measures itself what part of its life each was used, by its own clock, and tells the mean of each point. What time goes by with
 * touches no chunk. */
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

/* The part of its life that a chunk was used. */
static double live(const way_t *way, unsigned char *(*make)(void))
{
    unsigned all = way->writes + way->reads;
    unsigned writes = 0;
    unsigned reads = 0;
    uint64_t first = 0;
    uint64_t last = 0;
    unsigned char *chunk = make();
    uint64_t born = nanoseconds();
    for (unsigned i = 0; i < all; i++) {
        wait_until(born + (all > 1 ? (uint64_t)way->use_ns * i / (all - 1) : 0));
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
        last = nanoseconds();
        first = i == 0 ? last : first;
    }
    wait_until(born + way->life_ns);
    uint64_t died = nanoseconds();
    free(chunk);
    return (double)(last - first) / (double)(died - born);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 300;
    double sums[WAYS] = {0};
    for (int i = 0; i < rounds; i++) {
        for (unsigned n = 0; n < WAYS; n++) {
            sums[n] += live(&ways[n], makers[n]);
        }
    }
    for (unsigned n = 0; n < WAYS; n++) {
        printf("make_%u %.6f\n", n, sums[n] / rounds);
    }
    return 0;
}
