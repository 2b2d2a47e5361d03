/* The interval map against a list that is searched from end to end, over made-up addresses: nothing lies behind them,
 * since the map never touches what it describes. The numbers are those of the guarantees in alloc/intervalmap.h. */
#define _GNU_SOURCE 1
#include "alloc/intervalmap.h"
#include "base/sys.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#define GRANULE ((uint64_t)1 << PFA_GRANULE_SHIFT)
#define LEAF ((uint64_t)1 << PFA_LEAF_SHIFT)
#define BASE ((uintptr_t)5 << 40)
#define SPAN ((uint64_t)1 << 30)
#define ADDRESS_END ((uintptr_t)1 << 48)

enum { NODES = 400 };

static pfa_intervalmap_t map;
static pfa_large_t nodes[NODES];
static bool is_in[NODES];

static void open_map(void)
{
    memset(nodes, 0, sizeof nodes);
    memset(is_in, 0, sizeof is_in);
    assert_int_equal(pfa_intervalmap_open(&map, BASE, SPAN), 0);
}

static pfa_large_t *find(uintptr_t address)
{
    (void)pfa_rcu_enter(&pfa_tls);
    pfa_large_t *node = pfa_intervalmap_find(&map, address);
    pfa_rcu_leave(true);
    return node;
}

static pfa_large_t *take(uintptr_t start)
{
    (void)pfa_rcu_enter(&pfa_tls);
    pfa_large_t *node = pfa_intervalmap_remove(&map, start);
    pfa_rcu_leave(true);
    return node;
}

/* --- the model --------------------------------------------------------------------------------------------------- */

static pfa_large_t *model_find(uintptr_t address)
{
    for (int i = 0; i < NODES; i++) {
        if (is_in[i] && address >= nodes[i].start && address < nodes[i].start + nodes[i].size) {
            return &nodes[i];
        }
    }
    return NULL;
}

static bool shares_granule(uintptr_t start, uint64_t size)
{
    uint64_t first = start / GRANULE;
    uint64_t last = (start + size - 1) / GRANULE;
    for (int i = 0; i < NODES; i++) {
        uint64_t from = nodes[i].start / GRANULE;
        uint64_t to = (nodes[i].start + nodes[i].size - 1) / GRANULE;
        if (is_in[i] && first <= to && from <= last) {
            return true;
        }
    }
    return false;
}

static void check_at(uintptr_t address)
{
    pfa_large_t *got = find(address);
    pfa_large_t *expected = model_find(address);
    if (got != expected) {
        fail_msg("address %lx: got %p, expected %p", address, (void *)got, (void *)expected);
    }
}

static void check_around(const pfa_large_t *node)
{
    uintptr_t last = node->start + node->size - 1;
    const uintptr_t edges[] = {node->start,
                               node->start - 1,
                               node->start + 1,
                               last,
                               last + 1,
                               last & ~(GRANULE - 1),
                               last | (GRANULE - 1),
                               (last | (GRANULE - 1)) + 1,
                               node->start & ~(GRANULE - 1),
                               node->start | (GRANULE - 1),
                               node->start + node->size / 2};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        check_at(edges[i]);
    }
}

/* Some place for an interval: in the span (right to its ends), anywhere outside it, or across the border of two leaves. */
static uintptr_t some_start(uint64_t *seed, uint64_t size)
{
    uint64_t offset = random_below(seed, GRANULE / 8) * 8 * random_below(seed, 2); /* aligned chunks start in between */
    switch (random_below(seed, 4)) {
    case 0:
    case 1:
        return BASE + random_below(seed, SPAN / GRANULE - size / GRANULE - 2) * GRANULE + offset;
    case 2:
        return (1 + random_below(seed, (ADDRESS_END - 2 * LEAF) / GRANULE)) * GRANULE + offset;
    default:
        return (1 + random_below(seed, ADDRESS_END / LEAF - 2)) * LEAF - size / 2 + offset;
    }
}

static bool is_split_by_the_span(uintptr_t start, uint64_t size)
{
    return (start - BASE < SPAN) != (start + size - 1 - BASE < SPAN);
}

/* --- property tests ---------------------------------------------------------------------------------------------- */

static void behaves_as_the_list(void **state)
{
    (void)state;
    enum { STEPS = 30000 };
    uint64_t seed = 101;
    open_map();
    for (int step = 0; step < STEPS; step++) {
        int i = (int)random_below(&seed, NODES);
        if (is_in[i]) {
            pfa_large_t before = nodes[i];
            assert_null(take(nodes[i].start + 1)); /* only the very start counts */
            assert_null(take(nodes[i].start + nodes[i].size - 1));
            assert_ptr_equal(take(nodes[i].start), &nodes[i]);
            is_in[i] = false;
            assert_null(take(before.start)); /* once */
            check_around(&before);
        } else {
            uint64_t size = 1 + random_below(&seed, GRANULE << random_below(&seed, 7));
            uintptr_t start = some_start(&seed, size);
            if (shares_granule(start, size) || is_split_by_the_span(start, size)) {
                continue;
            }
            nodes[i].start = start;
            nodes[i].size = size;
            assert_int_equal(pfa_intervalmap_insert(&map, &nodes[i]), 0);
            is_in[i] = true;
            check_around(&nodes[i]);
        }
        check_at(BASE + random_below(&seed, SPAN));
        check_at(random_next(&seed));
        check_at(random_below(&seed, ADDRESS_END));
        int other = (int)random_below(&seed, NODES);
        if (nodes[other].size > 0) {
            check_at(nodes[other].start + random_below(&seed, nodes[other].size)); /* in, or former */
        }
    }
    for (int i = 0; i < NODES; i++) {
        if (is_in[i]) {
            check_around(&nodes[i]);
            assert_ptr_equal(take(nodes[i].start), &nodes[i]);
            is_in[i] = false;
        }
    }
    for (int i = 0; i < NODES; i++) {
        assert_null(find(nodes[i].start));
    }
    pfa_intervalmap_close(&map);
}

static void every_granule_of_a_big_chunk_finds_it(void **state)
{
    (void)state;
    open_map();
    static const uintptr_t starts[] = {BASE, BASE + 4096, ((uintptr_t)9 << 40) - LEAF / 2, 4096};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        bool inside = starts[i] - BASE < SPAN;
        nodes[0].start = starts[i];
        nodes[0].size = inside ? SPAN - 8192 : LEAF + 12345; /* all of the span; over three leaves */
        assert_int_equal(pfa_intervalmap_insert(&map, &nodes[0]), 0);
        for (uint64_t at = 0; at < nodes[0].size; at += GRANULE / 2) {
            assert_ptr_equal(find(nodes[0].start + at), &nodes[0]);
        }
        assert_ptr_equal(find(nodes[0].start + nodes[0].size - 1), &nodes[0]);
        assert_null(find(nodes[0].start + nodes[0].size));
        assert_null(find(nodes[0].start - 1));
        assert_ptr_equal(take(nodes[0].start), &nodes[0]);
        for (uint64_t at = 0; at < nodes[0].size; at += GRANULE / 2) {
            assert_null(find(nodes[0].start + at));
        }
    }
    pfa_intervalmap_close(&map);
}

static void any_address_may_be_asked_about(void **state)
{
    (void)state;
    static const uint64_t odd[] = {
        0, 1, BASE - 1, BASE + SPAN, ADDRESS_END - 1, ADDRESS_END, 0xffff800000000000, UINT64_MAX, (uint64_t)1 << 63};
    uint64_t seed = 102;
    open_map();
    for (int outside = 0; outside < 2; outside++) {
        for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
            assert_null(find(odd[i]));
            assert_null(take(odd[i]));
        }
        for (int i = 0; i < 100000; i++) {
            assert_null(find(random_next(&seed) | 0x10000));
        }
        /* The same again with a second level in use. */
        nodes[0].start = 0x700000000000;
        nodes[0].size = 8;
        assert_int_equal(pfa_intervalmap_insert(&map, &nodes[0]), 0);
    }
    nodes[1].start = ADDRESS_END;
    nodes[1].size = GRANULE;
    assert_int_equal(pfa_intervalmap_insert(&map, &nodes[1]), ERANGE);
    nodes[1].start = ADDRESS_END - GRANULE;
    nodes[1].size = 2 * GRANULE;
    assert_int_equal(pfa_intervalmap_insert(&map, &nodes[1]), ERANGE);
    assert_null(find(ADDRESS_END - GRANULE));
    pfa_intervalmap_close(&map);
}

/* Guarantee 1: as long as nothing lies outside, nobody looks there. */
static void the_second_level_is_switched_on_by_its_first_chunk(void **state)
{
    (void)state;
    open_map();
    nodes[0].start = BASE;
    nodes[0].size = 100;
    assert_int_equal(pfa_intervalmap_insert(&map, &nodes[0]), 0);
    assert_false(pfa_load_relaxed(&map.has_outside));
    nodes[1].start = BASE + SPAN;
    nodes[1].size = 100;
    assert_int_equal(pfa_intervalmap_insert(&map, &nodes[1]), 0);
    assert_true(pfa_load_relaxed(&map.has_outside));
    assert_ptr_equal(find(BASE + SPAN + 99), &nodes[1]);
    assert_ptr_equal(find(BASE), &nodes[0]);
    pfa_intervalmap_close(&map);
}

/* --- failure: guarantee 4 ---------------------------------------------------------------------------------------- */

static unsigned maps_left;
static unsigned maps_made;
static unsigned unmaps_made;

static int fail_later_maps(pfa_sys_call_t call)
{
    if (call == PFA_SYS_MUNMAP) {
        unmaps_made++;
    }
    if (call != PFA_SYS_MMAP) {
        return 0;
    }
    if (maps_left == 0) {
        return ENOMEM;
    }
    maps_left--;
    maps_made++;
    return 0;
}

static int refuse_all(pfa_sys_call_t call)
{
    (void)call;
    return ENOMEM;
}

static void opening_fails_whole(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 2; n++) {
        maps_left = n;
        maps_made = unmaps_made = 0;
        pfa_sys_fault = fail_later_maps;
        int err = pfa_intervalmap_open(&map, BASE, SPAN);
        pfa_sys_fault = NULL;
        assert_int_equal(err, ENOMEM);
        assert_int_equal(maps_made, unmaps_made);
        pfa_intervalmap_close(&map); /* what could not be opened may be closed, and is an empty map then */
        assert_null(find(BASE));
    }
    maps_left = 2;
    pfa_sys_fault = fail_later_maps;
    int err = pfa_intervalmap_open(&map, BASE, SPAN);
    pfa_sys_fault = NULL;
    assert_int_equal(err, 0); /* two tables and no more */
    pfa_intervalmap_close(&map);
}

static void an_insert_without_memory_inserts_nothing(void **state)
{
    (void)state;
    open_map();
    /* Over three leaves, of which the third cannot be had. */
    nodes[0].start = 0x10ffff0000;
    nodes[0].size = LEAF + 2 * GRANULE;
    maps_left = 2;
    pfa_sys_fault = fail_later_maps;
    int err = pfa_intervalmap_insert(&map, &nodes[0]);
    pfa_sys_fault = NULL;
    assert_int_equal(err, ENOMEM);
    for (uint64_t at = 0; at < nodes[0].size; at += GRANULE) {
        assert_null(find(nodes[0].start + at));
    }
    assert_null(take(nodes[0].start));
    assert_int_equal(pfa_intervalmap_insert(&map, &nodes[0]), 0);
    assert_ptr_equal(find(nodes[0].start + nodes[0].size - 1), &nodes[0]);
    /* Inside the span nothing is allocated, so nothing can fail. */
    nodes[1].start = BASE + GRANULE;
    nodes[1].size = GRANULE;
    pfa_sys_fault = refuse_all;
    err = pfa_intervalmap_insert(&map, &nodes[1]);
    pfa_large_t *taken = take(nodes[1].start);
    pfa_sys_fault = NULL;
    assert_int_equal(err, 0);
    assert_ptr_equal(taken, &nodes[1]);
    pfa_intervalmap_close(&map);
}

/* --- removal at once: guarantee 2 -------------------------------------------------------------------------------- */

enum { RIVALS = 2, CONTESTS = 20000 };

static _Atomic int turn;
static _Atomic int finished;
static _Atomic int winners;

static void *remove_each(void *unused)
{
    for (int round = 1; round <= CONTESTS; round++) {
        for (unsigned spins = 0; atomic_load(&turn) != round; spins++) {
            if (spins % 4096 == 4095) {
                sched_yield(); /* there may be fewer processors than rivals */
            }
        }
        if (take(nodes[0].start) != NULL) {
            atomic_fetch_add(&winners, 1);
        }
        atomic_fetch_add(&finished, 1);
    }
    return unused;
}

static void of_several_removers_one_wins(void **state)
{
    (void)state;
    pthread_t thread[RIVALS];
    open_map();
    for (int i = 0; i < RIVALS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, remove_each, NULL), 0);
    }
    for (int round = 1; round <= CONTESTS; round++) {
        nodes[0].start = round % 2 == 0 ? BASE + 3 * GRANULE : 0x20000;
        nodes[0].size = 5 * GRANULE;
        assert_int_equal(pfa_intervalmap_insert(&map, &nodes[0]), 0);
        atomic_store(&winners, 0);
        atomic_store(&finished, 0);
        atomic_store(&turn, round);
        while (atomic_load(&finished) != RIVALS) {
            sched_yield();
        }
        assert_int_equal(atomic_load(&winners), 1);
        for (uint64_t at = 0; at < nodes[0].size; at += GRANULE) {
            assert_null(find(nodes[0].start + at));
        }
    }
    for (int i = 0; i < RIVALS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    pfa_intervalmap_close(&map);
}

/* --- retiring: guarantee 3 --------------------------------------------------------------------------------------- */

static pfa_large_t *released[NODES];
static _Atomic unsigned released_count;

static void release(void *node)
{
    released[atomic_fetch_add(&released_count, 1)] = node;
}

static void retired_nodes_come_back_once(void **state)
{
    (void)state;
    atomic_store(&released_count, 0);
    for (unsigned i = 0; i < 100; i++) {
        pfa_intervalmap_retire(&nodes[i]);
        assert_int_equal(pfa_intervalmap_retired(), i + 1);
    }
    assert_int_equal(atomic_load(&released_count), 0); /* retiring never frees */
    (void)pfa_intervalmap_reclaim(release);
    assert_int_equal(atomic_load(&released_count), 100);
    assert_int_equal(pfa_intervalmap_retired(), 0);
    bool seen[100] = {false};
    for (int i = 0; i < 100; i++) {
        ptrdiff_t index = released[i] - nodes;
        assert_true(index >= 0 && index < 100 && !seen[index]);
        seen[index] = true;
    }
    (void)pfa_intervalmap_reclaim(release); /* nothing to do, and nothing to wait for */
    assert_int_equal(atomic_load(&released_count), 100);
}

static _Atomic int reader_state; /* 1: inside a read section, 2: told to leave it */

static void *read_for_a_while(void *unused)
{
    (void)pfa_rcu_enter(&pfa_tls);
    atomic_store(&reader_state, 1);
    while (atomic_load(&reader_state) != 2) {
        sched_yield();
    }
    must(atomic_load(&released_count) == 0); /* what this reader may hold is still there */
    pfa_rcu_leave(true);
    return unused;
}

static void nothing_is_freed_that_a_reader_may_hold_and_nobody_waits(void **state)
{
    (void)state;
    pthread_t reader;
    atomic_store(&released_count, 0);
    atomic_store(&reader_state, 0);
    assert_int_equal(pthread_create(&reader, NULL, read_for_a_while, NULL), 0);
    while (atomic_load(&reader_state) != 1) {
        sched_yield();
    }
    open_map();
    nodes[0].start = BASE;
    nodes[0].size = GRANULE;
    assert_int_equal(pfa_intervalmap_insert(&map, &nodes[0]), 0);
    assert_ptr_equal(take(BASE), &nodes[0]); /* returns although there is a reader */
    pfa_intervalmap_retire(&nodes[0]);
    for (int i = 0; i < 100; i++) {
        assert_false(pfa_intervalmap_reclaim(release)); /* returns, too */
    }
    assert_int_equal(atomic_load(&released_count), 0);
    assert_int_equal(pfa_intervalmap_retired(), 1);
    pfa_intervalmap_retire(&nodes[1]); /* is not of the grace period under way */
    atomic_store(&reader_state, 2);
    assert_int_equal(pthread_join(reader, NULL), 0);
    assert_true(pfa_intervalmap_reclaim(release));
    assert_int_equal(atomic_load(&released_count), 1);
    assert_ptr_equal(released[0], &nodes[0]);
    assert_true(pfa_intervalmap_reclaim(release));
    assert_int_equal(atomic_load(&released_count), 2);
    assert_int_equal(pfa_intervalmap_retired(), 0);
    pfa_intervalmap_close(&map);
}

/* In a fork child the background thread is gone, and with it what it had taken off the list to free. */
static void recount_in_child(void)
{
    pfa_intervalmap_after_fork();
    must(pfa_intervalmap_retired() == 0);
    pfa_intervalmap_retire(&nodes[20]);
    must(pfa_intervalmap_retired() == 1);
}

static int status_in_child = -1;

static void release_and_fork(void *node)
{
    (void)node;
    if (status_in_child == -1) {
        must(pfa_intervalmap_retired() == 10); /* taken, and not yet counted off */
        status_in_child = status_of_child(recount_in_child);
    }
}

static void recount_whole_list(void)
{
    pfa_intervalmap_after_fork();
    must(pfa_intervalmap_retired() == 10);
}

static void a_fork_child_counts_anew(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        pfa_intervalmap_retire(&nodes[i]);
    }
    in_child(recount_whole_list);
    (void)pfa_intervalmap_reclaim(release_and_fork);
    assert_int_equal(status_in_child, 0);
    assert_int_equal(pfa_intervalmap_retired(), 0);
}

/* --- the first read section of a thread ---------------------------------------------------------------------------- */

/* Takes every reader that can be had without more memory; they stay taken. */
static void use_up_readers(void)
{
    enum { MORE_THAN_A_CHUNK_HAS = 2000 };
    static pfa_tls_t threads[MORE_THAN_A_CHUNK_HAS];
    int count = 0;
    while (pfa_rcu_register(&threads[count])) {
        must(++count < MORE_THAN_A_CHUNK_HAS);
    }
}

static void *enter_without_memory(void *arg)
{
    pfa_tls = (pfa_tls_t){.heap = pfa_tls.heap};
    errno = 4711;
    pfa_sys_fault = refuse_all;
    use_up_readers();
    bool refused = !pfa_rcu_enter(&pfa_tls);
    pfa_rcu_leave(false);
    pfa_sys_fault = NULL;
    must(refused);
    for (int i = 0; i < 3; i++) {
        must(pfa_rcu_enter(&pfa_tls)); /* as soon as there is memory, and from then on without asking for any */
        must(pfa_rcu_is_inside());
        pfa_rcu_leave(true);
        must(!pfa_rcu_is_inside());
        pfa_sys_fault = refuse_all;
    }
    pfa_sys_fault = NULL;
    must(errno == 4711);
    return arg;
}

static void a_thread_that_cannot_be_registered_goes_without(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, enter_without_memory, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_as_the_list),
        cmocka_unit_test(every_granule_of_a_big_chunk_finds_it),
        cmocka_unit_test(any_address_may_be_asked_about),
        cmocka_unit_test(the_second_level_is_switched_on_by_its_first_chunk),
        cmocka_unit_test(opening_fails_whole),
        cmocka_unit_test(an_insert_without_memory_inserts_nothing),
        cmocka_unit_test(of_several_removers_one_wins),
        cmocka_unit_test(retired_nodes_come_back_once),
        cmocka_unit_test(nothing_is_freed_that_a_reader_may_hold_and_nobody_waits),
        cmocka_unit_test(a_fork_child_counts_anew),
        cmocka_unit_test(a_thread_that_cannot_be_registered_goes_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
