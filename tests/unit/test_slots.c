/* Hash tables of numbers: pairs that are not equal seldom meet. What is counted are meetings, not time. */
/* sources: analyze/base/slots.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c analyze/mprof/callgraph.c analyze/mprof/cycles.c analyze/excess/cells.c */
#include "analyze/base/slots.h"
#include "analyze/excess/cells.h"
#include "analyze/mprof/callgraph.h"
#include "tests/unit/unit.h"

/* Of so many hashes of 32 bits that are random, less than one is the same as another. In a table that is half full, runs of used
 * slots are then 15 long at most, or some more. */
enum { SIDE = 250, KEYS = SIDE * SIDE, SAME_MOST = 20, RUN_MOST = 60 };

static int compare_hashes(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static size_t count_same(uint32_t *hashes, size_t count)
{
    size_t same = 0;
    qsort(hashes, count, sizeof *hashes, compare_hashes);
    for (size_t i = 1; i < count; i++) {
        same += hashes[i] == hashes[i - 1];
    }
    return same;
}

/* Slots that are used, one behind the other: a search may have to go through the longest run of them. */
typedef struct runs {
    size_t now;
    size_t longest;
} runs_t;

static void add_slot(runs_t *runs, bool used)
{
    runs->now = used ? runs->now + 1 : 0;
    runs->longest = runs->now > runs->longest ? runs->now : runs->longest;
}

static size_t longest_run(const pfa_slots_t *slots)
{
    runs_t runs = {.now = 0};
    for (size_t i = 0; i < slots->room; i++) {
        add_slot(&runs, slots->list[i].number != 0);
    }
    return runs.longest;
}

static void check_pairs(uint64_t first_step, uint64_t second_step)
{
    static uint32_t hashes[KEYS];
    pfa_slots_t slots = {.list = NULL};
    for (uint32_t i = 0; i < KEYS; i++) {
        uint64_t hash = pfa_hash_mix(i / SIDE * first_step, i % SIDE * second_step);
        hashes[i] = pfa_slots_fold(hash);
        pfa_slots_put(&slots, hash, i);
    }
    size_t run = longest_run(&slots);
    pfa_slots_free(&slots);
    assert_in_range(count_same(hashes, KEYS), 0, SAME_MOST);
    assert_in_range(run, 0, RUN_MOST);
}

/* Numbers of functions, stacks and groups; sizes; addresses in modules; pages. */
static void test_pairs(void **unused)
{
    (void)unused;
    check_pairs(1, 1);
    check_pairs(1, 16);
    check_pairs(16, 1);
    check_pairs(16, 16);
    check_pairs(1, 4096);
    check_pairs(4096, 1);
    check_pairs((uint64_t)1 << 32, 1);
    check_pairs(1, (uint64_t)1 << 32);
    check_pairs(1, (uint64_t)1 << 48);
}

/* As bits of floating-point numbers and numbers of sources may be. */
static void test_high_bits(void **unused)
{
    pfa_slots_t slots = {.list = NULL};
    (void)unused;
    for (uint32_t i = 0; i < 4096; i++) {
        pfa_slots_put(&slots, pfa_hash_mix(0, (uint64_t)i << 52), i);
    }
    size_t run = longest_run(&slots);
    pfa_slots_free(&slots);
    assert_in_range(run, 0, RUN_MOST);
}

/* Every function calls every other one. */
static void test_call_graph(void **unused)
{
    pfa_callgraph_t graph;
    (void)unused;
    pfa_callgraph_begin(&graph);
    for (uint32_t i = 0; i < KEYS; i++) {
        (void)pfa_callgraph_arc(&graph, i / SIDE, i % SIDE);
    }
    size_t run = longest_run(&graph.slots);
    pfa_callgraph_free(&graph);
    assert_in_range(run, 0, RUN_MOST);
}

static void check_cells(const pfa_cell_key_t *first, const pfa_cell_key_t *second)
{
    pfa_cells_t cells = {.list = NULL};
    runs_t runs = {.now = 0};
    for (uint32_t i = 0; i < KEYS; i++) {
        uint32_t one = i / SIDE;
        uint32_t other = i % SIDE;
        (void)pfa_cells_get(&cells, &(pfa_cell_key_t){.size = one * first->size + other * second->size,
                                                      .from = one * first->from + other * second->from,
                                                      .group = one * first->group + other * second->group,
                                                      .to = one * first->to + other * second->to,
                                                      .source = one * first->source + other * second->source});
    }
    assert_int_equal(cells.count, KEYS);
    for (size_t i = 0; i < cells.slot_count; i++) {
        add_slot(&runs, cells.slots[i] != 0);
    }
    pfa_cells_free(&cells);
    assert_in_range(runs.longest, 0, RUN_MOST);
}

/* Of any two parts of their keys. */
static void test_cells(void **unused)
{
    static const pfa_cell_key_t parts[] = {{.size = 16}, {.size = 16 << 20}, {.from = 1},
                                           {.group = 1}, {.to = 1},          {.source = 1}};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    (void)unused;
    for (size_t i = 0; i < PARTS; i++) {
        for (size_t j = i + 1; j < PARTS; j++) {
            if (parts[i].size == 0 || parts[j].size == 0) {
                check_cells(&parts[i], &parts[j]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs), cmocka_unit_test(test_high_bits),
                                       cmocka_unit_test(test_call_graph), cmocka_unit_test(test_cells)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
