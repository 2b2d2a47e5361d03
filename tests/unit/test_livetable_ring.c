/* Rings of a live table, read while their owner goes on: what is told was never written over, not even in part, and what was is
 * counted. The process is played here: it takes its steps between two reads of the tool. */
/* sources: analyze/trace/livetable_ring.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c */
#include "analyze/base/memory.h"
#include "analyze/trace/livetable.h"
#include "tests/unit/unit.h"

int pfa_file_read(int fd, void *to, size_t size, uint64_t offset);

enum { CAPACITY = 8 };

/* An extent of kind PFA_EXTENT_RINGS with one ring. */
typedef struct memory {
    pfa_live_ring_t ring;
    pfa_event_t events[CAPACITY];
    pfa_event_accesses_t accesses[CAPACITY];
    uint64_t addresses[CAPACITY];
} memory_t;

static memory_t memory;
static pfa_live_head_t head_of_table = {.version = 3, .record_size = 64};
static void (*process)(void); /* what it does between the tool's first read of the ring's head and its entries */
static unsigned reads;

/* As an owner would fill it, no two alike in any part. */
static pfa_event_t event_of(uint64_t number)
{
    uint64_t time = 1000 * (number + 1);
    return (pfa_event_t){.alloc_time = time,
                         .free_time = time + 500,
                         .size_flags = (64 + number) << PFA_RECORD_SIZE_SHIFT,
                         .stack = (uint32_t)number + 10,
                         .free_stack = (uint32_t)number + 20};
}

static pfa_event_accesses_t accesses_of(uint64_t number)
{
    uint64_t time = event_of(number).alloc_time;
    return (pfa_event_accesses_t){
        .first = time + 1, .last = time + 2, .length = 8, .reads = (uint32_t)number + 30, .writes = 1};
}

/* --- the process --------------------------------------------------------------------------------------------------- */

/* The owner has filled half of the next entry. */
static void begin_entry(void)
{
    uint64_t slot = memory.ring.head % CAPACITY;
    assert_true(memory.ring.head < memory.ring.tail + CAPACITY);
    memory.events[slot].alloc_time = event_of(memory.ring.head).alloc_time;
    memory.accesses[slot].reads = accesses_of(memory.ring.head).reads;
    memory.addresses[slot] = memory.ring.head;
}

static void push(void)
{
    uint64_t slot = memory.ring.head % CAPACITY;
    begin_entry();
    memory.events[slot] = event_of(memory.ring.head);
    memory.accesses[slot] = accesses_of(memory.ring.head);
    memory.ring.head++;
}

/* The writer: entries before this one are in the trace. */
static void drain(uint64_t to)
{
    memory.ring.tail = to;
}

static void push_up_to(uint64_t head)
{
    while (memory.ring.head < head) {
        drain(memory.ring.head >= CAPACITY ? memory.ring.head - CAPACITY + 1 : 0);
        push();
    }
}

/* A ring that has so many entries, of which none before `tail` is wanted. */
static void begin(uint64_t head, uint64_t tail)
{
    memset(&memory, 0, sizeof memory);
    memory.ring.entry_size = sizeof(pfa_event_t);
    memory.ring.capacity = CAPACITY;
    memory.ring.stride = sizeof memory;
    memory.ring.has_addresses = 1;
    push_up_to(head);
    drain(tail);
    process = NULL;
    reads = 0;
}

/* --- the tool ------------------------------------------------------------------------------------------------------ */

int pfa_file_read(int fd, void *to, size_t size, uint64_t offset)
{
    (void)fd;
    if (reads++ == 1 && process != NULL) {
        process();
    }
    assert_true(offset + size <= sizeof memory);
    memcpy(to, (const char *)&memory + offset, size);
    return 0;
}

bool pfa_livetable_has_accesses(const pfa_livetable_t *table)
{
    return table->head->record_size == 64;
}

/* Reads from `first` on. All that is told must be whole; it is from entry `from` on to before `to`, which is behind the newest. */
static void check(uint64_t first, uint64_t from, uint64_t to, bool has_last)
{
    const pfa_livetable_t table = {.fd = -1, .more_fd = -1, .head = &head_of_table, .data = UINT64_MAX};
    const pfa_live_extent_t extent = {.kind = PFA_EXTENT_RINGS, .size = sizeof memory};
    pfa_live_span_t span;
    assert_int_equal(pfa_livetable_ring(&table, &extent, first, &span), 0);
    assert_int_equal(span.first, from);
    assert_int_equal(span.count, to - from);
    assert_int_equal(span.missing, from - first);
    for (size_t i = 0; i < span.count; i++) {
        pfa_event_t event = event_of(from + i);
        pfa_event_accesses_t accesses = accesses_of(from + i);
        assert_memory_equal(&span.events[i], &event, sizeof event);
        assert_memory_equal(&span.accesses[i], &accesses, sizeof accesses);
        assert_int_equal(span.addresses[i], from + i);
    }
    assert_int_equal(span.has_last, has_last);
    if (has_last) {
        pfa_event_t event = event_of(to - 1);
        assert_memory_equal(&span.last, &event, sizeof event);
    }
    pfa_live_span_free(&span);
}

/* Of a process that is gone nothing is left out: neither of a full ring, nor where it was killed while it filled an entry. */
static void test_gone(void **unused)
{
    (void)unused;
    begin(5, 0);
    check(0, 0, 5, true);
    begin(CAPACITY, 0);
    check(0, 0, CAPACITY, true);
    begin(20, 12);
    check(12, 12, 20, true);
    begin(20, 13);
    begin_entry();
    check(13, 13, 20, true);
    begin(20, 20);
    begin_entry();
    check(20, 20, 20, true);
}

static void fill_oldest(void)
{
    drain(13);
    begin_entry();
}

static void fill_in_oldest_of_trace(void)
{
    drain(1);
    begin_entry();
}

/* The writer gave the oldest entry's place free, and the owner is about to fill it. */
static void test_oldest(void **unused)
{
    (void)unused;
    begin(20, 12);
    process = fill_oldest;
    check(12, 13, 20, true);
    begin(CAPACITY, 0);
    process = fill_in_oldest_of_trace;
    check(0, 1, CAPACITY, true);
}

static void go_on(void)
{
    drain(16);
    push();
    push();
    push();
    begin_entry();
}

static void go_on_until_full(void)
{
    drain(15);
    push();
    push();
    push();
}

/* A full ring's owner waits: it fills nothing. */
static void test_several(void **unused)
{
    (void)unused;
    begin(20, 12);
    process = go_on;
    check(12, 16, 20, true);
    begin(20, 12);
    process = go_on_until_full;
    check(12, 15, 20, true);
}

static void go_round(void)
{
    push_up_to(40);
    drain(33);
    begin_entry();
}

static void fill_newest(void)
{
    push_up_to(27);
    drain(20);
    begin_entry();
}

static void reach_newest(void)
{
    push_up_to(27);
    drain(19);
}

static void test_all(void **unused)
{
    (void)unused;
    begin(20, 12);
    process = go_round;
    check(12, 20, 20, false);
    begin(20, 12);
    process = fill_newest;
    check(12, 20, 20, false);
    begin(20, 12);
    process = reach_newest;
    check(12, 19, 20, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gone), cmocka_unit_test(test_oldest),
                                       cmocka_unit_test(test_several), cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
