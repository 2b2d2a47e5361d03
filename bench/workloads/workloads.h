/*
 * The vocabulary of the allocation workloads.
 *
 * A workload is three phases run by each of its threads: setup, work, teardown. Only work is timed, between two
 * barriers. A worker is one such thread: its random generator, its counts, and zeroed memory of its own that does not
 * come from malloc.
 *
 * Nothing here may depend on the allocator beneath: same seed, same calls, same checksum under all of them.
 */
#ifndef PFA_BENCH_WORKLOADS_H
#define PFA_BENCH_WORKLOADS_H

#include <stddef.h>
#include <stdint.h>

enum { PFA_WORKERS_MAX = 8 };

typedef struct {
    unsigned index; /* 0 .. workers-1 */
    unsigned workers;
    uint64_t rounds; /* how often work repeats its step, already scaled */
    double rate;     /* rounds per second, for a workload that keeps to it; 0: as fast as they go */
    uint64_t rng;
    uint64_t ops;       /* allocation calls made by work, each with its free */
    uint64_t checksum;  /* sums only, so that the order of threads does not show */
    double cpu_seconds; /* of the worker's thread in work */
    void *state;        /* private to the worker */
    void *shared;       /* common to all workers of the run */
    /* Only the memory workload fills these. */
    uint64_t live_chunks;
    uint64_t live_requested;
    uint64_t live_rss_kib;
} pfa_worker_t;

typedef struct {
    const char *name;
    const char *what;
    const char *bench; /* the sub-command of bench/run that it is for; NULL: alloc */
    const char *group; /* of that bench's workloads, which --group and the verdicts go by; NULL: none */
    unsigned workers;
    uint64_t rounds; /* per worker at scale 1 */
    size_t state_bytes;
    size_t shared_bytes;
    void (*setup)(pfa_worker_t *w);
    void (*work)(pfa_worker_t *w);
    void (*teardown)(pfa_worker_t *w);
} pfa_workload_t;

extern const pfa_workload_t pfa_workload_churn;
extern const pfa_workload_t pfa_workload_churn2;
extern const pfa_workload_t pfa_workload_server;
extern const pfa_workload_t pfa_workload_prodcons;
extern const pfa_workload_t pfa_workload_regrow;
extern const pfa_workload_t pfa_workload_mixed;
extern const pfa_workload_t pfa_workload_aligned;
extern const pfa_workload_t pfa_workload_live10m;
extern const pfa_workload_t pfa_workload_relay;
extern const pfa_workload_t pfa_workload_pipe64;
extern const pfa_workload_t pfa_workload_tight;
extern const pfa_workload_t pfa_workload_strewn;
extern const pfa_workload_t pfa_workload_bigblocks;
extern const pfa_workload_t pfa_workload_orphans;
extern const pfa_workload_t pfa_workload_bignum;
extern const pfa_workload_t pfa_workload_forks;
extern const pfa_workload_t pfa_workload_deep;
extern const pfa_workload_t pfa_workload_deep2;
extern const pfa_workload_t pfa_workload_burst2;

/* Ends the process with a message: a run that lost contents or memory has no time worth printing. */
_Noreturn void pfa_bench_die(const char *what);

/* A line of /proc/self/status in KiB, such as "VmHWM:", read without allocating. */
uint64_t pfa_bench_status_kib(const char *key);

/* xorshift64*: three shifts and a multiply, so that the generator does not hide the allocator. */
static inline uint64_t pfa_bench_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* Uniform in 0 .. bound-1, without a division. */
static inline uint32_t pfa_bench_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(((pfa_bench_random(state) >> 32) * bound) >> 32);
}

static inline void *pfa_bench_need(void *chunk)
{
    if (chunk == NULL) {
        pfa_bench_die("out of memory");
    }
    return chunk;
}

/* The first and the last byte are the ones an allocator's mistakes reach first. */
static inline void pfa_bench_mark(unsigned char *chunk, size_t size, unsigned char tag)
{
    chunk[0] = tag;
    chunk[size - 1] = tag;
}

static inline void pfa_bench_check(const unsigned char *chunk, size_t size, unsigned char tag)
{
    if (chunk[0] != tag || chunk[size - 1] != tag) {
        pfa_bench_die("a chunk lost its contents");
    }
}

#endif
