/*
 * Times the interval map of large chunks: lookups with few and with many chunks live, while another thread inserts and
 * removes.
 *
 * Owns a map over made-up addresses: nothing lies behind them, since the map never touches what it describes. Address
 * space is cut into cells of 1 MiB, each with room for one chunk, one chunk that was freed, and a gap:
 *
 *   | chunk, 3..8 granules, not filling its last | freed chunk, 3 granules | gap up to 16 granules |
 *
 * Prints rows of key=value; bench/run largemap makes the table. Main thread: reader and owner of all cells but the
 * writer's.
 */
#define _GNU_SOURCE 1
#include "alloc/intervalmap.h"
#include "bench/pin.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    WORKING = 64,
    OTHERS = 100000,
    CELLS = WORKING + OTHERS,
    WRITER_CELLS = 256,
    WRITER_NODES = 1 << 16,
    PROBES = 1024, /* addresses looked up in turn: few enough to stay in the first-level cache beside the map's lines */
    CELL_SHIFT = 20,
    FREED_AT = 8, /* granule of a cell at which the freed chunk stood */
    GAP_AT = 11,
    SLICE_PASSES = 4,
    SLICES_MAX = 100000,
    PAIRS_LEAST = 1000,
    EDIT_COUNT = 20000,
    HELD_REMOVALS = 5000,
    HOLD_MS = 50,
};

#define PATIENCE_NS UINT64_C(20000000000)
#define GRANULE ((size_t)1 << PFA_GRANULE_SHIFT)
#define MAP_BASE ((uintptr_t)1 << 40)
#define MAP_SPAN ((uint64_t)256 << 30)
_Static_assert(((uint64_t)(CELLS + WRITER_CELLS) << CELL_SHIFT) <= MAP_SPAN, "every cell lies in the map");

/* Alone, the working set lies side by side, as an allocator would put it; crowded, it is strewn among the others. */
typedef enum { ALONE, CROWDED, CONDITIONS } condition_t;
static const char *const condition_name[CONDITIONS] = {"alone", "crowded"};

typedef enum { HIT, MISS_GAP, MISS_FREED, KINDS } kind_t;
static const char *const kind_name[KINDS] = {"hit", "miss-gap", "miss-freed"};

static pfa_intervalmap_t map;
static pfa_large_t node[CELLS]; /* one per cell, in order: the working set's nodes are as scattered as its chunks */
static pfa_large_t freed_node[WORKING];
static unsigned working_cell[WORKING];
static bool is_working[CELLS];
static uintptr_t probe[PROBES];
static uint64_t rng = UINT64_C(0x9E3779B97F4A7C15);

static pfa_large_t writer_node[WRITER_NODES];
static _Atomic(pfa_large_t *) recycled; /* nodes whose grace period is over, on their way back to the writer */
static _Atomic bool stop_writer;
static _Atomic bool stop_reclaimer;
static _Atomic uint64_t writer_pairs;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "largemap: %s\n", what);
    exit(3);
}

static uint32_t below(uint32_t bound)
{
    rng ^= rng >> 12;
    rng ^= rng << 25;
    rng ^= rng >> 27;
    return (uint32_t)((((rng * UINT64_C(0x2545F4914F6CDD1D)) >> 32) * bound) >> 32);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uintptr_t cell_start(unsigned cell)
{
    return MAP_BASE + ((uintptr_t)cell << CELL_SHIFT);
}

static void insert(pfa_large_t *n, uintptr_t start, size_t size)
{
    n->start = start;
    n->size = size;
    if (pfa_intervalmap_insert(&map, n) != 0) {
        die("insert failed");
    }
}

static pfa_large_t *take_out(uintptr_t start)
{
    (void)pfa_rcu_enter(&pfa_tls);
    pfa_large_t *n = pfa_intervalmap_remove(&map, start);
    pfa_rcu_leave(true);
    if (n == NULL) {
        die("remove found nothing");
    }
    return n;
}

static void fill_cell(unsigned cell)
{
    size_t size = (3 + cell % 6) * GRANULE - GRANULE / 3;
    insert(&node[cell], cell_start(cell), size);
}

/* Brings the map from empty to a condition. Nodes go back in only after take_down has waited for readers. */
static void set_up(condition_t condition)
{
    for (unsigned i = 0; i < WORKING; i++) {
        working_cell[i] = condition == ALONE ? i : i * (CELLS / WORKING) + below(CELLS / WORKING);
        is_working[working_cell[i]] = true;
        fill_cell(working_cell[i]);
        insert(&freed_node[i], cell_start(working_cell[i]) + FREED_AT * GRANULE, 3 * GRANULE);
    }
    for (unsigned cell = 0; condition == CROWDED && cell < CELLS; cell++) {
        if (!is_working[cell]) {
            fill_cell(cell);
        }
    }
    for (unsigned i = 0; i < WORKING; i++) {
        take_out(cell_start(working_cell[i]) + FREED_AT * GRANULE);
    }
}

static void take_down(condition_t condition)
{
    for (unsigned cell = 0; condition == CROWDED && cell < CELLS; cell++) {
        if (!is_working[cell]) {
            take_out(cell_start(cell));
        }
    }
    for (unsigned i = 0; i < WORKING; i++) {
        take_out(cell_start(working_cell[i]));
        is_working[working_cell[i]] = false;
    }
    pfa_rcu_wait();
}

static void choose_probes(kind_t kind)
{
    for (unsigned i = 0; i < PROBES; i++) {
        const pfa_large_t *n = &node[working_cell[below(WORKING)]];
        if (kind == HIT) {
            probe[i] = n->start + below((uint32_t)n->size);
        } else if (kind == MISS_FREED) {
            probe[i] = n->start + FREED_AT * GRANULE + below(3 * (uint32_t)GRANULE);
        } else if (i % 2 == 0) { /* behind the chunk's end, in its last granule */
            probe[i] = n->start + n->size + below((uint32_t)GRANULE / 3);
        } else { /* where nothing was */
            probe[i] = n->start + GAP_AT * GRANULE + below(5 * (uint32_t)GRANULE);
        }
    }
}

/* The map's own cost: one read section for all lookups of a pass. */
__attribute__((noinline)) static uint64_t look_up_all(void)
{
    uint64_t found = 0;
    (void)pfa_rcu_enter(&pfa_tls);
    for (unsigned i = 0; i < PROBES; i++) {
        const pfa_large_t *n = pfa_intervalmap_find(&map, probe[i]);
        found += n != NULL && n->start <= probe[i];
    }
    pfa_rcu_leave(true);
    return found;
}

/* What a caller pays: a read section around each lookup. */
__attribute__((noinline)) static uint64_t look_up_each(void)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < PROBES; i++) {
        (void)pfa_rcu_enter(&pfa_tls);
        const pfa_large_t *n = pfa_intervalmap_find(&map, probe[i]);
        found += n != NULL && n->start <= probe[i];
        pfa_rcu_leave(true);
    }
    return found;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * The median over short slices, so that a slice in which the thread lost its processor does not count. Goes on until
 * the writer has worked too: a lookup beside an idle writer is not what is asked for.
 */
static double time_lookups(kind_t kind, uint64_t (*look_up)(void), unsigned slices)
{
    static double slice_ns[SLICES_MAX];
    uint64_t pairs = atomic_load_explicit(&writer_pairs, memory_order_relaxed);
    uint64_t found = 0;
    uint64_t begun = now_ns();
    for (unsigned i = 0; i < slices || atomic_load_explicit(&writer_pairs, memory_order_relaxed) - pairs < PAIRS_LEAST;
         i++) {
        uint64_t start = now_ns();
        for (unsigned pass = 0; pass < SLICE_PASSES; pass++) {
            found += look_up();
        }
        slice_ns[i % slices] = (double)(now_ns() - start) / (SLICE_PASSES * PROBES);
        if (kind == HIT ? found != (uint64_t)(i + 1) * SLICE_PASSES * PROBES : found != 0) {
            die(kind == HIT ? "a lookup missed a live chunk" : "a lookup found a chunk where none is");
        }
        if (start - begun > PATIENCE_NS) {
            die("the writing thread does not get on");
        }
    }
    qsort(slice_ns, slices, sizeof slice_ns[0], compare);
    return slice_ns[slices / 2];
}

static void recycle(void *opaque)
{
    pfa_large_t *n = opaque;
    n->next_retired = atomic_load_explicit(&recycled, memory_order_relaxed);
    /* Pairs with the exchange in the writer. */
    while (!atomic_compare_exchange_weak_explicit(&recycled, &n->next_retired, n, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

/* Keeps half of its cells live, replacing one after another as fast as nodes come back. */
static void *writer_main(void *unused)
{
    (void)unused;
    pfa_bench_pin(1);
    pfa_large_t *spare = NULL;
    for (unsigned i = 0; i < WRITER_NODES; i++) {
        writer_node[i].next_retired = spare;
        spare = &writer_node[i];
    }
    uint64_t pairs = 0;
    while (!atomic_load_explicit(&stop_writer, memory_order_relaxed)) {
        if (spare == NULL) {
            spare = atomic_exchange_explicit(&recycled, NULL, memory_order_acquire);
            if (spare == NULL) {
                sched_yield();
                continue;
            }
        }
        pfa_large_t *n = spare;
        spare = n->next_retired;
        insert(n, cell_start(CELLS + (unsigned)(pairs % WRITER_CELLS)), (3 + pairs % 6) * GRANULE);
        if (pairs >= WRITER_CELLS / 2) {
            unsigned cell = (unsigned)((pairs - WRITER_CELLS / 2) % WRITER_CELLS);
            pfa_intervalmap_retire(take_out(cell_start(CELLS + cell)));
        }
        atomic_store_explicit(&writer_pairs, ++pairs, memory_order_relaxed);
    }
    return NULL;
}

static void *reclaimer_main(void *unused)
{
    (void)unused;
    while (!atomic_load_explicit(&stop_reclaimer, memory_order_relaxed)) {
        (void)pfa_intervalmap_reclaim(recycle);
        usleep(1000);
    }
    return NULL;
}

static void time_edits(condition_t condition, unsigned run)
{
    enum { CELL = CELLS + WRITER_CELLS };
    static pfa_large_t n;
    uint64_t insert_ns = 0;
    uint64_t remove_ns = 0;
    for (unsigned i = 0; i < EDIT_COUNT; i++) {
        uintptr_t start = cell_start(CELL + i % 4096);
        uint64_t a = now_ns();
        insert(&n, start, 4 * GRANULE);
        uint64_t b = now_ns();
        take_out(start);
        insert_ns += b - a;
        remove_ns += now_ns() - b;
    }
    printf("row=edit run=%u condition=%s insert_ns=%.2f remove_ns=%.2f\n", run, condition_name[condition],
           (double)insert_ns / EDIT_COUNT, (double)remove_ns / EDIT_COUNT);
}

static void measure(condition_t condition, unsigned run, unsigned slices)
{
    set_up(condition);
    for (kind_t kind = HIT; kind < KINDS; kind++) {
        choose_probes(kind);
        uint64_t pairs = atomic_load(&writer_pairs);
        double find = time_lookups(kind, look_up_all, slices);
        double section = time_lookups(kind, look_up_each, slices);
        printf("row=lookup run=%u condition=%s kind=%s find_ns=%.3f with_section_ns=%.3f writer_pairs=%" PRIu64 "\n",
               run, condition_name[condition], kind_name[kind], find, section, atomic_load(&writer_pairs) - pairs);
    }
    time_edits(condition, run);
    take_down(condition);
}

static _Atomic int holder_state; /* 0 not yet, 1 inside its read section, 2 out of it */

static void *holder_main(void *unused)
{
    (void)unused;
    (void)pfa_rcu_enter(&pfa_tls);
    atomic_store(&holder_state, 1);
    usleep(HOLD_MS * 1000);
    atomic_store(&holder_state, 2);
    pfa_rcu_leave(true);
    return NULL;
}

static void await_reclaimer(void)
{
    while (pfa_intervalmap_retired() > 0) {
        usleep(100);
    }
}

/*
 * Removes and retires thousands of chunks while a reader sits in its section and the reclaimer waits for that reader.
 * The writer has ended, so the nodes recycled here go to nobody.
 */
static void measure_held(unsigned run)
{
    static double took[HELD_REMOVALS];
    await_reclaimer();
    for (unsigned i = 0; i < HELD_REMOVALS; i++) {
        fill_cell(i);
    }
    pthread_t holder;
    atomic_store(&holder_state, 0);
    if (pthread_create(&holder, NULL, holder_main, NULL) != 0) {
        die("cannot create a thread");
    }
    while (atomic_load(&holder_state) == 0) {
        sched_yield();
    }
    unsigned inside = 0;
    for (unsigned i = 0; i < HELD_REMOVALS; i++) {
        uint64_t start = now_ns();
        pfa_intervalmap_retire(take_out(cell_start(i)));
        took[i] = (double)(now_ns() - start);
        inside += atomic_load(&holder_state) == 1;
    }
    size_t waiting = pfa_intervalmap_retired();
    pthread_join(holder, NULL);
    await_reclaimer();
    qsort(took, HELD_REMOVALS, sizeof took[0], compare);
    printf(
        "row=held run=%u removals=%u while_reader_inside=%u still_retired=%zu hold_ms=%u median_ns=%.0f p999_ns=%.0f "
        "max_ns=%.0f\n",
        run, HELD_REMOVALS, inside, waiting, HOLD_MS, took[HELD_REMOVALS / 2], took[HELD_REMOVALS / 1000 * 999],
        took[HELD_REMOVALS - 1]);
}

int main(int argc, char **argv)
{
    unsigned runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 7;
    unsigned slices = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 3000;
    if (runs == 0 || slices == 0 || slices > SLICES_MAX) {
        fprintf(stderr, "usage: largemap [RUNS [SLICES]]\n");
        return 2;
    }
    pthread_t writer;
    pthread_t reclaimer;
    pfa_rcu_open(true);
    if (pfa_intervalmap_open(&map, MAP_BASE, MAP_SPAN) != 0) {
        die("cannot make the map");
    }
    if (pthread_create(&reclaimer, NULL, reclaimer_main, NULL) != 0 ||
        pthread_create(&writer, NULL, writer_main, NULL) != 0) {
        die("cannot create a thread");
    }
    pfa_bench_pin(0);
    for (unsigned run = 0; run < runs; run++) {
        for (unsigned turn = 0; turn < CONDITIONS; turn++) {
            measure((condition_t)((turn + run) % CONDITIONS), run, slices);
        }
    }
    atomic_store(&stop_writer, true);
    pthread_join(writer, NULL);
    for (unsigned run = 0; run < runs; run++) {
        measure_held(run);
    }
    atomic_store(&stop_reclaimer, true);
    pthread_join(reclaimer, NULL);
    return fflush(stdout) == 0 ? 0 : 1;
}
