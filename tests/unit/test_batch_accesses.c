/* What was done with chunks, in batches: read back as it was added, of deaths and of live chunks, next to nothing where it is
 * always the same, and bytes that make no sense are told without a crash. */
#include "export/format/batch.h"

#include "tests/unit/unit.h"

typedef struct row {
    pfa_event_t event;
    pfa_event_accesses_t accesses;
} row_t;

static pfa_batch_t *batch;
static uint8_t *bytes;
static row_t *rows;
static row_t *got;
static pfa_batch_kind_t *kinds;

static int make_memory(void **state)
{
    (void)state;
    batch = calloc(1, sizeof *batch);
    bytes = malloc(PFA_BATCH_SIZE_MAX);
    rows = calloc(PFA_BATCH_ROWS, sizeof *rows);
    got = calloc(PFA_BATCH_ROWS + 1, sizeof *got);
    kinds = calloc(PFA_BATCH_ROWS, sizeof *kinds);
    return batch == NULL || bytes == NULL || rows == NULL || got == NULL || kinds == NULL;
}

static int free_memory(void **state)
{
    (void)state;
    free(batch);
    free(bytes);
    free(rows);
    free(got);
    free(kinds);
    return 0;
}

/* Counts of all lengths, among them the highest. */
static uint32_t random_count(uint64_t *random)
{
    return (uint32_t)(random_next(random) >> (32 + random_below(random, 32)));
}

static row_t random_row(uint64_t *random, uint64_t *now, bool live)
{
    static const uint64_t sizes[] = {0, 1, 24, 24, 24, 4096, 1u << 31, 3ull << 31, 0xffffffffffffu};
    uint64_t size = sizes[random_below(random, 9)];
    uint64_t life = random_below(random, 1 + random_below(random, 1u << 30));
    *now += random_below(random, 5000);
    row_t row = {.event = {.alloc_time = *now,
                           .free_time = live ? 0 : *now + life,
                           .size_flags = size << PFA_RECORD_SIZE_SHIFT,
                           .stack = (uint32_t)random_below(random, 400)}};
    row.accesses.reads = random_count(random);
    row.accesses.writes = random_count(random);
    uint64_t units = pfa_access_units(size);
    if (units != 0 && random_below(random, 4) != 0) {
        bool whole = random_below(random, 2) == 0;
        row.accesses.low = whole ? 0 : (uint32_t)random_below(random, units);
        row.accesses.length = (uint32_t)(whole ? units : 1 + random_below(random, units - row.accesses.low));
        row.accesses.first = *now + random_below(random, life + 1);
        row.accesses.last = row.accesses.first + random_below(random, *now + life - row.accesses.first + 1);
    }
    return row;
}

static uint64_t cut(uint64_t time, uint32_t shift)
{
    return time >> shift << shift;
}

/* Moments are cut; when in the chunk's life its accesses were is looked at, and then set aside (tests/unit/test_batch_times.c has
 * the whole of it): within 1 in 20 of the life, or of the time to the access for want of one, or a step; a tick is always right. */
static void cut_row(row_t *row, uint32_t shift)
{
    row->event.alloc_time = cut(row->event.alloc_time, shift);
    row->event.free_time = cut(row->event.free_time, shift);
}

static void compare_time(uint64_t got_after, uint64_t put_after, uint64_t life, uint32_t shift)
{
    uint64_t within = life / 20 < (uint64_t)1 << shift ? life / 20 : (uint64_t)1 << shift;
    uint64_t off = got_after > put_after ? got_after - put_after : put_after - got_after;
    assert_true(off <= (shift == 0 ? 0 : within == 0 ? 1 : within));
}

/* Of a row that was read and the one that was put, which is no longer cut. */
static void compare_times(row_t *read, row_t *put, uint32_t shift)
{
    uint64_t put_first = put->accesses.first - put->event.alloc_time;
    uint64_t put_last = put->accesses.last - put->event.alloc_time;
    uint64_t life = put->event.free_time != 0 ? put->event.free_time - put->event.alloc_time : put_last;
    cut_row(put, shift);
    assert_int_equal(read->accesses.length == 0, put->accesses.length == 0);
    if (put->accesses.length != 0) {
        compare_time(read->accesses.first - read->event.alloc_time, put_first, life, shift);
        compare_time(read->accesses.last - read->event.alloc_time, put_last, life, shift);
    }
    read->accesses.first = put->accesses.first = 0;
    read->accesses.last = put->accesses.last = 0;
}

static uint32_t sorted_by; /* the shift */

static int compare_numbers(uint64_t left, uint64_t right)
{
    return left < right ? -1 : left > right;
}

/* By what is read as it was put, then by the first access, of which the codes are in order. */
static int compare_rows(const void *a, const void *b)
{
    const row_t *left = a;
    const row_t *right = b;
    int order = memcmp(&left->event.size_flags, &right->event.size_flags,
                       sizeof(pfa_event_t) - offsetof(pfa_event_t, size_flags));
    order = order != 0 ? order
                       : memcmp(&left->accesses.low, &right->accesses.low,
                                sizeof(pfa_event_accesses_t) - offsetof(pfa_event_accesses_t, low));
    order = order != 0
                ? order
                : compare_numbers(cut(left->event.alloc_time, sorted_by), cut(right->event.alloc_time, sorted_by));
    return order != 0 ? order
                      : compare_numbers(left->accesses.first - left->event.alloc_time,
                                        right->accesses.first - right->event.alloc_time);
}

/* All rows but for what makes no sense; how many, or -1. */
static int64_t read_rows(const uint8_t *from, size_t size, bool accesses)
{
    pfa_batch_reader_t reader;
    int64_t count = 0;
    int more;
    if (!pfa_batch_open(&reader, from, size)) {
        return -1;
    }
    for (uint32_t i = 0; i < reader.head.kinds; i++) {
        pfa_batch_kind_at(&reader, i, &kinds[i]);
    }
    memset(got, 0, reader.head.rows * sizeof *got);
    pfa_batch_row_t row;
    while ((more = pfa_batch_next(&reader, kinds, &row, accesses ? &got[count].accesses : NULL)) == 1) {
        got[count++].event = row.event;
    }
    return more == 0 ? count : -1;
}

static size_t encode(uint32_t count, uint32_t shift, uint32_t flags, uint64_t *random)
{
    uint64_t now = 1ull << 41;
    pfa_batch_begin(batch, shift, flags);
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = random_row(random, &now, (flags & PFA_BATCH_LIVE) != 0);
        bool none = random_below(random, 10) == 0;
        rows[i].accesses = none ? (pfa_event_accesses_t){.first = 0} : rows[i].accesses;
        assert_true(pfa_batch_add(batch, &rows[i].event, none ? NULL : &rows[i].accesses, 0));
    }
    return pfa_batch_finish(batch, bytes);
}

static void compare_all(uint32_t count, uint32_t shift, bool live)
{
    sorted_by = shift;
    if (live) {
        qsort(rows, count, sizeof *rows, compare_rows);
        qsort(got, count, sizeof *got, compare_rows);
    }
    for (uint32_t i = 0; i < count; i++) {
        compare_times(&got[i], &rows[i], shift);
        assert_memory_equal(&got[i], &rows[i], sizeof *rows);
    }
}

static void what_is_added_is_read_back(void **state)
{
    static const uint32_t shifts[] = {0, 1, 7, 17, PFA_BATCH_SHIFT_MAX};
    static const uint32_t flags[] = {0, PFA_BATCH_LIVE, PFA_BATCH_AFTER_LIVE, PFA_BATCH_SIZES};
    static const uint32_t counts[] = {0, 1, 2, 1000, PFA_BATCH_ROWS};
    uint64_t random = 1;
    (void)state;
    for (size_t i = 0; i < 5 * 4 * 5; i++) {
        uint32_t count = counts[i / 20];
        uint32_t flag = flags[i / 5 % 4] | PFA_BATCH_ACCESSES;
        size_t size = encode(count, shifts[i % 5], flag, &random);
        assert_true(size <= PFA_BATCH_SIZE_MAX);
        assert_int_equal(read_rows(bytes, size, true), count);
        compare_all(count, shifts[i % 5], (flag & PFA_BATCH_LIVE) != 0);
    }
}

/* Who does not want accesses reads the same events; a batch without them says that there are none. */
static void accesses_can_be_left_out(void **state)
{
    uint64_t random = 2;
    (void)state;
    for (uint32_t live = 0; live < 2; live++) {
        size_t size = encode(1000, 3, (live != 0 ? PFA_BATCH_LIVE : 0) | PFA_BATCH_ACCESSES, &random);
        for (uint32_t i = 0; i < 1000; i++) {
            rows[i].accesses = (pfa_event_accesses_t){.first = 0};
        }
        assert_int_equal(read_rows(bytes, size, false), 1000);
        compare_all(1000, 3, live != 0);
        size_t without = encode(1000, 3, live != 0 ? PFA_BATCH_LIVE : 0, &random);
        assert_true(without < size);
        for (uint32_t i = 0; i < 1000; i++) {
            rows[i].accesses = (pfa_event_accesses_t){.first = 0};
        }
        assert_int_equal(read_rows(bytes, without, true), 1000);
        compare_all(1000, 3, live != 0);
    }
}

/* Adds one row and reads it back. */
static pfa_event_accesses_t through(const pfa_event_t *event, pfa_event_accesses_t accesses, uint32_t flags)
{
    pfa_batch_begin(batch, 0, flags | PFA_BATCH_ACCESSES);
    assert_true(pfa_batch_add(batch, event, &accesses, 0));
    assert_int_equal(read_rows(bytes, pfa_batch_finish(batch, bytes), true), 1);
    return got[0].accesses;
}

/* A record is read while others write it: what cannot be is brought to what can, and the rest stays as it is. */
static void races_are_put_right(void **state)
{
    pfa_event_t event = {.alloc_time = 1000, .free_time = 2000, .size_flags = 100 << PFA_RECORD_SIZE_SHIFT};
    pfa_event_accesses_t told = {.first = 900, .last = 800, .low = 90, .length = 50, .reads = UINT32_MAX, .writes = 3};
    (void)state;
    pfa_event_accesses_t read = through(&event, told, 0);
    pfa_event_accesses_t wanted = {
        .first = 1000, .last = 1000, .low = 90, .length = 10, .reads = UINT32_MAX, .writes = 3};
    assert_memory_equal(&read, &wanted, sizeof wanted);
    told.first = told.last = UINT64_MAX;
    read = through(&event, told, 0);
    wanted.first = wanted.last = 2000;
    assert_memory_equal(&read, &wanted, sizeof wanted);
    read = through(&event, told, PFA_BATCH_LIVE);
    wanted.first = wanted.last = UINT64_MAX;
    assert_memory_equal(&read, &wanted, sizeof wanted);
    told.low = 100;
    read = through(&event, told, 0);
    wanted = (pfa_event_accesses_t){.reads = UINT32_MAX, .writes = 3};
    assert_memory_equal(&read, &wanted, sizeof wanted);
}

/* Chunks of a kind that are used alike: one byte in each column, 0 or 1 but for the first of the kind. */
static void what_is_alike_is_small(void **state)
{
    uint64_t random = 5;
    uint32_t others[4] = {0};
    (void)state;
    pfa_batch_begin(batch, 17, PFA_BATCH_ACCESSES);
    for (uint32_t i = 0; i < PFA_BATCH_ROWS; i++) {
        uint32_t which = (uint32_t)random_below(&random, 50);
        uint32_t size = 100 + 1000 * which;
        pfa_event_t event = {.alloc_time = i, .free_time = i + 100, .stack = which};
        event.size_flags = (uint64_t)size << PFA_RECORD_SIZE_SHIFT;
        pfa_event_accesses_t accesses = {.first = i, .last = i + 100, .low = which, .length = size / 2};
        accesses.reads = 1000000 + which;
        accesses.writes = 2000 + 17 * which;
        assert_true(pfa_batch_add(batch, &event, &accesses, 0));
    }
    for (uint32_t i = 0; i < PFA_BATCH_ROWS; i++) {
        for (uint32_t j = 0; j < 4; j++) {
            others[j] += batch->columns[j][batch->access_head.sizes[j] - 1 - i] != (j == PFA_COLUMN_RESTS);
        }
    }
    for (uint32_t j = 0; j < 4; j++) {
        assert_true(others[j] <= 50 * 4);
        assert_true(batch->access_head.sizes[j] <= PFA_BATCH_ROWS + 50 * 4);
    }
}

static void try_damage(size_t size, uint64_t *random)
{
    pfa_batch_reader_t reader;
    size_t tail = batch->head.accesses_size;
    for (size_t i = 0; i < size; i++) {
        assert_false(pfa_batch_open(&reader, bytes, i));
    }
    for (int i = 0; i < 10000; i++) {
        uint8_t *copy = malloc(size); /* of just that size, so that a sanitizer sees a step beyond it */
        assert_non_null(copy);
        memcpy(copy, bytes, size);
        for (uint64_t j = 1 + random_below(random, 4); j-- > 0;) {
            bool head = random_below(random, 3) == 0;
            copy[size - tail + random_below(random, head ? sizeof(pfa_batch_access_head_t) : tail)] =
                (uint8_t)random_next(random);
        }
        int64_t count = read_rows(copy, size, true);
        for (int64_t row = 0; row < count; row++) {
            const pfa_event_accesses_t *told = &got[row].accesses;
            uint64_t units = pfa_access_units(got[row].event.size_flags >> PFA_RECORD_SIZE_SHIFT);
            assert_true((uint64_t)told->low + told->length <= units);
            assert_true(told->first <= told->last);
            assert_true(told->length == 0 || told->first >= got[row].event.alloc_time);
        }
        free(copy);
    }
}

static void no_accesses_are_told(void **state)
{
    uint64_t random = 11;
    (void)state;
    try_damage(encode(300, 3, PFA_BATCH_ACCESSES, &random), &random);
    try_damage(encode(300, 3, PFA_BATCH_ACCESSES | PFA_BATCH_SIZES, &random), &random);
    try_damage(encode(300, 3, PFA_BATCH_ACCESSES | PFA_BATCH_LIVE, &random), &random);
}

/* One number more or less in a column, as its head says: the rows make no sense. */
static void torn_columns_are_told(void **state)
{
    uint64_t random = 12;
    (void)state;
    for (uint32_t i = 0; i + 1 < PFA_BATCH_COLUMNS; i++) {
        for (int step = -1; step <= 1; step += 2) {
            size_t size = encode(300, 3, PFA_BATCH_ACCESSES, &random);
            pfa_batch_access_head_t head = batch->access_head;
            head.sizes[i] += (uint32_t)step;
            head.sizes[i + 1] -= (uint32_t)step;
            memcpy(bytes + size - batch->head.accesses_size, &head, sizeof head);
            assert_int_equal(read_rows(bytes, size, true), -1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_read_back), cmocka_unit_test(accesses_can_be_left_out),
        cmocka_unit_test(races_are_put_right),        cmocka_unit_test(what_is_alike_is_small),
        cmocka_unit_test(no_accesses_are_told),       cmocka_unit_test(torn_columns_are_told),
    };
    return cmocka_run_group_tests(tests, make_memory, free_memory);
}
