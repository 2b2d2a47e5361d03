/* The interval map under fire: writers insert and remove, a rival removes what is not its own, readers look up and use
 * what they find, a reclaimer frees. Nodes are poisoned when they are released and used again at once, so that a reader that
 * is given one too long sees it. The numbers are those of the guarantees in alloc/intervalmap.h. */
#include "alloc/intervalmap.h"
#include "tests/race/race.h"

#define GRANULE ((uint64_t)1 << PFA_GRANULE_SHIFT)
#define BASE ((uintptr_t)3 << 40)
#define OUTSIDE ((uintptr_t)7 << 40)
#define POISON 0xdeadbeefdeadbeefull

enum {
    WRITERS = 2,
    READERS = 2,
    CELLS = 8, /* of each writer: room for one interval each, half of them outside the span */
    CELL_GRANULES = 96,
    NODES = 1024, /* of each writer */
    ROUNDS = 120000 / RACE_SLOWDOWN,
};

static pfa_intervalmap_t map;
static pfa_large_t nodes[WRITERS][NODES];
static _Atomic(pfa_large_t *) spare[WRITERS]; /* released nodes on their way back to their writer */
static _Atomic bool occupied[WRITERS][CELLS]; /* as memory is: from before the insert until the removal is complete */
static _Atomic bool stop;
static _Atomic uint64_t inserted;
static _Atomic uint64_t removed;
static _Atomic uint64_t found;
static char grace; /* stands for the grace period to ThreadSanitizer */

static uintptr_t cell_address(unsigned writer, unsigned cell)
{
    uintptr_t base = cell % 2 == 0 ? BASE : OUTSIDE;
    return base + ((uintptr_t)writer * CELLS + cell) * CELL_GRANULES * GRANULE;
}

/* What a node's record says of it, so that one that is not whole shows. */
static uint64_t seal(const pfa_large_t *node)
{
    return node->start * 31 + node->size;
}

static void check_whole(const pfa_large_t *node, uintptr_t address)
{
    must(address - node->start < node->size);
    must(node->mapping_size == seal(node));
}

static void release(void *memory)
{
    race_grace_period_over(&grace);
    pfa_large_t *node = memory;
    unsigned owner = node >= nodes[1] ? 1 : 0;
    node->mapping_size = POISON;
    node->start = POISON;
    node->size = POISON;
    node->next_retired = atomic_load_explicit(&spare[owner], memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&spare[owner], &node->next_retired, node, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

static void take(uintptr_t start)
{
    (void)pfa_rcu_enter(&pfa_tls);
    pfa_large_t *node = pfa_intervalmap_remove(&map, start);
    if (node != NULL) {
        check_whole(node, start);
        must(node->start == start);
    }
    race_reader_leaves(&grace);
    pfa_rcu_leave(true);
    if (node != NULL) {
        pfa_intervalmap_retire(node);
        atomic_fetch_add(&removed, 1);
        uintptr_t cell = (start % ((uintptr_t)1 << 40)) / (CELL_GRANULES * GRANULE);
        atomic_store(&occupied[cell / CELLS][cell % CELLS], false); /* who removes gives the memory back */
    }
}

static pfa_large_t *next_node(pfa_large_t **list, unsigned writer)
{
    while (*list == NULL) {
        *list = atomic_exchange_explicit(&spare[writer], NULL, memory_order_acquire);
        if (*list == NULL) {
            sched_yield(); /* until the reclaimer has been round */
        }
    }
    pfa_large_t *node = *list;
    *list = node->next_retired;
    return node;
}

static void *write_cells(void *arg)
{
    unsigned writer = (unsigned)(uintptr_t)arg;
    uint64_t seed = writer + 1;
    pfa_large_t *list = NULL;
    uintptr_t start[CELLS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        unsigned cell = (unsigned)random_below(&seed, CELLS);
        if (atomic_load(&occupied[writer][cell])) {
            take(start[cell]); /* unless a rival was first */
            continue;
        }
        pfa_large_t *node = next_node(&list, writer);
        node->start = cell_address(writer, cell) + random_below(&seed, GRANULE / 16) * 16;
        node->size = 1 + random_below(&seed, (CELL_GRANULES - 1) * GRANULE);
        node->mapping_size = seal(node);
        start[cell] = node->start;
        atomic_store(&occupied[writer][cell], true);
        must(pfa_intervalmap_insert(&map, node) == 0);
        atomic_fetch_add(&inserted, 1);
    }
    for (unsigned cell = 0; cell < CELLS; cell++) {
        if (atomic_load(&occupied[writer][cell])) {
            take(start[cell]);
        }
    }
    return NULL;
}

static void *read_cells(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg + 100;
    uint64_t hits = 0;
    for (unsigned i = 0; !atomic_load_explicit(&stop, memory_order_relaxed); i++) {
        uintptr_t address = cell_address((unsigned)random_below(&seed, WRITERS), (unsigned)random_below(&seed, CELLS)) +
                            random_below(&seed, CELL_GRANULES * GRANULE);
        (void)pfa_rcu_enter(&pfa_tls);
        pfa_large_t *node = pfa_intervalmap_find(&map, address);
        if (node != NULL) {
            check_whole(node, address);
            if (i % 16 == 0) {
                sched_yield(); /* time for it to be removed, retired and, if that were allowed, reused */
            }
            check_whole(node, address);
            hits++;
        }
        race_reader_leaves(&grace);
        pfa_rcu_leave(true);
    }
    atomic_fetch_add(&found, hits);
    return NULL;
}

/* Frees what it does not own as soon as it sees it, perhaps while the owner is still putting it in: as a second free of
 * an old pointer does whose memory was just given out again. */
static void *remove_early(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg + 200;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        uintptr_t cell = cell_address((unsigned)random_below(&seed, WRITERS), (unsigned)random_below(&seed, CELLS));
        uintptr_t start = 0;
        (void)pfa_rcu_enter(&pfa_tls);
        /* Every interval begins in the first granule of its cell, and most cover the last byte of that. */
        pfa_large_t *node = pfa_intervalmap_find(&map, cell + GRANULE - 1);
        if (node != NULL) {
            check_whole(node, cell + GRANULE - 1);
            start = node->start;
        }
        race_reader_leaves(&grace);
        pfa_rcu_leave(true);
        if (start != 0) {
            take(start);
        }
    }
    return NULL;
}

static void *reclaim(void *arg)
{
    while (!atomic_load(&stop)) {
        (void)pfa_intervalmap_reclaim(release);
        usleep(100);
    }
    return arg;
}

/* --- order of an insert ------------------------------------------------------------------------------------------- */

enum { WATCHED_GRANULES = 8192, WATCHED_ROUNDS = 400 };

static pfa_large_t watched;
static _Atomic int begun;        /* the round whose node is on its way in */
static _Atomic int acknowledged; /* the round whose node the watcher has seen */

/* Who finds a node at its start can remove it, and must then find it in all its granules: else what the insert still has
 * to store stays behind in the map. */
static void *watch_insert(void *arg)
{
    for (int round = 1; round <= WATCHED_ROUNDS; round++) {
        while (atomic_load(&begun) != round || pfa_intervalmap_find(&map, watched.start) == NULL) {
        }
        must(pfa_intervalmap_find(&map, watched.start + watched.size - 1) == &watched);
        must(pfa_intervalmap_find(&map, watched.start + watched.size / 2) == &watched);
        atomic_store(&acknowledged, round);
    }
    return arg;
}

static void check_order_of_insert(void)
{
    pthread_t watcher;
    watched.start = BASE;
    watched.size = WATCHED_GRANULES * GRANULE;
    race_start(&watcher, 1, watch_insert);
    for (int round = 1; round <= WATCHED_ROUNDS; round++) {
        atomic_store(&begun, round);
        must(pfa_intervalmap_insert(&map, &watched) == 0);
        while (atomic_load(&acknowledged) != round) {
        }
        must(pfa_intervalmap_remove(&map, watched.start) == &watched);
    }
    race_join(&watcher, 1);
}

int main(void)
{
    pthread_t writers[WRITERS];
    pthread_t readers[READERS];
    pthread_t rival;
    pthread_t reclaimer;
    must(pfa_intervalmap_open(&map, BASE, (uint64_t)1 << 30) == 0);
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        for (unsigned i = 0; i < NODES; i++) {
            nodes[writer][i].next_retired = spare[writer];
            spare[writer] = &nodes[writer][i];
        }
    }
    race_start(&reclaimer, 1, reclaim);
    race_start(readers, READERS, read_cells);
    race_start(&rival, 1, remove_early);
    race_start(writers, WRITERS, write_cells);
    race_join(writers, WRITERS);
    atomic_store(&stop, true);
    race_join(readers, READERS);
    race_join(&rival, 1);
    race_join(&reclaimer, 1);
    while (pfa_intervalmap_retired() != 0) {
        must(pfa_intervalmap_reclaim(release)); /* nobody reads any more */
    }
    must(atomic_load(&inserted) == atomic_load(&removed)); /* guarantee 2: each removed once, by whomever */
    must(atomic_load(&found) > 0);
    must(pfa_intervalmap_retired() == 0);
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        for (unsigned cell = 0; cell < CELLS; cell++) {
            for (uintptr_t at = 0; at < CELL_GRANULES; at++) {
                must(pfa_intervalmap_find(&map, cell_address(writer, cell) + at * GRANULE) == NULL);
            }
        }
    }
    check_order_of_insert();
    pfa_intervalmap_close(&map);
    return 0;
}
