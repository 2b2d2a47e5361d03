/* Batches: what is added is read back, whatever it is, and bytes that are no batch are told from one without a crash. */
#include "export/format/batch.h"

#include "tests/unit/unit.h"

static pfa_batch_t *batch;
static uint8_t *bytes;
static pfa_event_t *events;
static pfa_batch_kind_t *kinds;

static int make_memory(void **state)
{
    (void)state;
    batch = calloc(1, sizeof *batch);
    bytes = malloc(PFA_BATCH_SIZE_MAX);
    events = calloc(PFA_BATCH_ROWS, sizeof *events);
    kinds = calloc(PFA_BATCH_ROWS, sizeof *kinds);
    return batch == NULL || bytes == NULL || events == NULL || kinds == NULL;
}

static int free_memory(void **state)
{
    (void)state;
    free(batch);
    free(bytes);
    free(events);
    free(kinds);
    return 0;
}

/* Times go back and forth, as those of several threads do. */
static pfa_event_t random_event(uint64_t *random, uint64_t *now)
{
    *now += random_below(random, 5000);
    uint64_t free_time = *now - random_below(random, 1000);
    pfa_event_t event = {.alloc_time = free_time - random_below(random, 1 + random_below(random, free_time)),
                         .free_time = free_time,
                         .size_flags = random_below(random, 50) << PFA_RECORD_SIZE_SHIFT,
                         .stack = (uint32_t)random_below(random, 40),
                         .free_stack = (uint32_t)random_below(random, 3),
                         .type_link = (uint32_t)random_below(random, 2),
                         .thread = (uint16_t)random_below(random, 3),
                         .tag = (uint16_t)random_below(random, 2),
                         .free_thread = (uint16_t)random_below(random, 2)};
    if (random_below(random, 5) == 0) {
        event.size_flags |= PFA_EVENT_MOVED;
        event.moved_link = (uint32_t)random_below(random, PFA_LINK_MASK + 1);
    }
    if (random_below(random, 5) == 0) {
        event.size_flags |= PFA_RECORD_REALLOC;
        event.type_link |= (uint32_t)random_below(random, PFA_LINK_MASK + 1) << PFA_TYPE_BITS;
    }
    return event;
}

static uint64_t cut(uint64_t time, uint32_t shift)
{
    return time >> shift << shift;
}

static void read_kinds(const pfa_batch_reader_t *reader)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < reader->head.kinds; i++) {
        pfa_batch_kind_at(reader, i, &kinds[i]);
        rows += kinds[i].rows;
    }
    assert_int_equal(rows, reader->head.rows);
}

/* What is read of an event that was put. */
static pfa_event_t expected(const pfa_event_t *put, uint32_t shift, bool live)
{
    bool moved = !live && (put->size_flags & PFA_EVENT_MOVED) != 0;
    pfa_event_t wanted = *put;
    wanted.alloc_time = cut(put->alloc_time, shift);
    wanted.free_time = live ? 0 : cut(put->free_time, shift);
    wanted.moved_link = moved ? put->moved_link : 0;
    if ((put->size_flags & PFA_RECORD_REALLOC) == 0) {
        wanted.type_link &= PFA_TYPE_MASK;
    }
    return wanted;
}

static int compare_events(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(pfa_event_t));
}

static size_t encode(uint32_t rows, uint32_t shift, uint32_t flags, uint64_t *random)
{
    uint64_t now = 1u << 20;
    pfa_batch_begin(batch, shift, flags);
    for (uint32_t i = 0; i < rows; i++) {
        if (random_below(random, 100) == 0 || i == 0) {
            assert_true(pfa_batch_segment(batch, (uint32_t)random_below(random, 9), i));
        }
        events[i] = random_event(random, &now);
        assert_true(pfa_batch_add(batch, &events[i], NULL, 0));
    }
    return pfa_batch_finish(batch, bytes);
}

/* Kinds and deaths that are read at once are those that are read one by one, as many as make sense. */
static void read_at_once(const uint8_t *from, size_t size)
{
    pfa_batch_reader_t reader;
    pfa_batch_reader_t single;
    pfa_batch_row_t row;
    if (!pfa_batch_open(&reader, from, size)) {
        return;
    }
    pfa_batch_kind_t *all = malloc(reader.head.kinds * sizeof *all + 1);
    pfa_batch_brief_t *rows = malloc(reader.head.rows * sizeof *rows + 1);
    assert_true(all != NULL && rows != NULL);
    single = reader;
    read_kinds(&reader);
    pfa_batch_kinds(&reader, all);
    assert_memory_equal(all, kinds, reader.head.kinds * sizeof *all);
    bool brief = (reader.head.flags & (PFA_BATCH_LIVE | PFA_BATCH_SIZES)) == 0;
    uint32_t count = brief ? pfa_batch_deaths(&reader, kinds, rows) : 0;
    uint32_t read = 0;
    for (; pfa_batch_next(&single, kinds, &row, NULL) == 1; read++) {
        if (brief && read < count) {
            assert_true(rows[read].alloc_time == row.event.alloc_time && rows[read].free_time == row.event.free_time);
            assert_true(rows[read].life == row.life && rows[read].kind == row.kind && !rows[read].told);
            assert_int_equal(rows[read].type_link, row.event.type_link);
            assert_int_equal(rows[read].moved_link, row.event.moved_link);
        }
    }
    assert_true(!brief || read == count);
    free(all);
    free(rows);
}

/* Rows come as they were put; live chunks sorted by kind and time. */
static void decode(size_t size, uint32_t rows, uint32_t shift, uint32_t flags)
{
    bool live = (flags & PFA_BATCH_LIVE) != 0;
    pfa_event_t *got = calloc(rows + 1, sizeof *got);
    pfa_batch_reader_t reader;
    pfa_batch_row_t row;
    uint32_t kind_before = 0;
    assert_non_null(got);
    assert_true(pfa_batch_open(&reader, bytes, size));
    assert_int_equal(reader.head.rows, rows);
    assert_int_equal(reader.head.flags, flags | PFA_BATCH_LENGTHS);
    read_kinds(&reader);
    for (uint32_t i = 0; i < rows; i++) {
        events[i] = expected(&events[i], shift, live);
        assert_int_equal(pfa_batch_next(&reader, kinds, &row, NULL), 1);
        got[i] = row.event;
        assert_int_equal(kinds[row.kind].stack, got[i].stack);
        assert_true(!live || row.kind >= kind_before);
        assert_true(!live || i == 0 || row.kind != kind_before || got[i].alloc_time >= got[i - 1].alloc_time);
        kind_before = row.kind;
    }
    assert_int_equal(pfa_batch_next(&reader, kinds, &row, NULL), 0);
    read_at_once(bytes, size);
    if (live) {
        qsort(got, rows, sizeof *got, compare_events);
        qsort(events, rows, sizeof *events, compare_events);
    }
    for (uint32_t i = 0; i < rows; i++) {
        assert_memory_equal(&got[i], &events[i], sizeof *got);
    }
    free(got);
}

static void what_is_added_is_read_back(void **state)
{
    static const uint32_t shifts[] = {0, 1, 7, 17, PFA_BATCH_SHIFT_MAX};
    static const uint32_t flags[] = {0, PFA_BATCH_LIVE, PFA_BATCH_AFTER_LIVE, PFA_BATCH_SIZES};
    static const uint32_t counts[] = {0, 1, 2, 1000, PFA_BATCH_ROWS};
    uint64_t random = 1;
    (void)state;
    for (size_t i = 0; i < 5 * 4 * 5; i++) {
        uint32_t shift = shifts[i % 5];
        uint32_t flag = flags[i / 5 % 4];
        uint32_t rows = counts[i / 20];
        decode(encode(rows, shift, flag, &random), rows, shift, flag);
    }
}

static void try_extremes(uint32_t flags)
{
    static const uint64_t times[] = {0, 1, UINT64_MAX, 1ull << 63, 12345, UINT64_MAX - 1};
    pfa_batch_begin(batch, 0, flags);
    for (uint32_t i = 0; i < 36; i++) {
        uint64_t one = times[i / 6];
        uint64_t other = times[i % 6];
        events[i] = (pfa_event_t){.alloc_time = one < other ? one : other,
                                  .free_time = one < other ? other : one,
                                  .size_flags = UINT64_MAX - i,
                                  .stack = UINT32_MAX,
                                  .free_stack = UINT32_MAX,
                                  .type_link = UINT32_MAX,
                                  .moved_link = PFA_LINK_MASK,
                                  .thread = UINT16_MAX,
                                  .tag = UINT16_MAX,
                                  .free_thread = UINT16_MAX,
                                  .last_thread = UINT16_MAX};
        assert_true(pfa_batch_add(batch, &events[i], NULL, 0));
    }
    decode(pfa_batch_finish(batch, bytes), 36, 0, flags);
}

static void extremes_are_read_back(void **state)
{
    (void)state;
    try_extremes(0);
    try_extremes(PFA_BATCH_SIZES);
}

/* A life that realloc ended and the one that it began have the same number and time, though times are cut; and a chain of
 * them takes next to no room. */
static void reallocs_are_linked(void **state)
{
    uint64_t random = 7;
    pfa_batch_reader_t reader;
    pfa_batch_row_t row;
    pfa_event_t before = {.alloc_time = 0};
    (void)state;
    pfa_batch_begin(batch, 17, 0);
    uint64_t time = 1000000;
    for (uint32_t i = 0; i < 10000; i++) {
        uint64_t next = time + random_below(&random, 1u << 18);
        pfa_event_t life = {.alloc_time = time, .free_time = next, .moved_link = (i + 1) & PFA_LINK_MASK};
        life.type_link = (i & PFA_LINK_MASK) << PFA_TYPE_BITS;
        life.size_flags = (i != 0 ? PFA_RECORD_REALLOC : 0) | PFA_EVENT_MOVED;
        assert_true(pfa_batch_add(batch, &life, NULL, 0));
        time = next;
    }
    size_t size = pfa_batch_finish(batch, bytes);
    assert_true(pfa_batch_open(&reader, bytes, size));
    assert_int_equal(reader.head.links_size, 2 * 10000 - 1);
    read_kinds(&reader);
    for (uint32_t i = 0; i < 10000; i++) {
        assert_int_equal(pfa_batch_next(&reader, kinds, &row, NULL), 1);
        assert_true(i == 0 || row.event.alloc_time == before.free_time);
        assert_true(i == 0 || row.event.type_link >> PFA_TYPE_BITS == before.moved_link);
        before = row.event;
    }
}

/* Some near the last of their kind, some anywhere, some not known. Each row's address is known by its time of birth. */
static uint64_t address_of(uint64_t time)
{
    uint64_t random = time * 0x9e3779b97f4a7c15u;
    return random % 7 == 0 ? 0 : random % 7 == 1 ? random & ~(uint64_t)7 : 0x310000000000u + (time & 0xffff) * 64;
}

static void try_addresses(uint32_t flags)
{
    enum { ROWS = 3000 };
    uint64_t random = 77;
    uint64_t now = 1u << 20;
    pfa_batch_reader_t reader;
    pfa_batch_row_t row;
    pfa_batch_begin(batch, 0, flags | PFA_BATCH_ADDRESSES);
    for (uint32_t i = 0; i < ROWS; i++) {
        pfa_event_t event = random_event(&random, &now);
        assert_true(pfa_batch_add(batch, &event, NULL, address_of(event.alloc_time)));
    }
    size_t size = pfa_batch_finish(batch, bytes);
    for (int wanted = 0; wanted < 2; wanted++) {
        assert_true(pfa_batch_open(&reader, bytes, size));
        reader.wants_addresses = wanted != 0;
        read_kinds(&reader);
        for (uint32_t i = 0; i < ROWS; i++) {
            assert_int_equal(pfa_batch_next(&reader, kinds, &row, NULL), 1);
            assert_int_equal(row.address, wanted != 0 ? address_of(row.event.alloc_time) : 0);
        }
        assert_int_equal(pfa_batch_next(&reader, kinds, &row, NULL), 0);
    }
    for (size_t cut = size - 200; cut < size; cut++) { /* all of them in the column of addresses, at the end */
        assert_false(pfa_batch_open(&reader, bytes, cut));
    }
}

static void addresses_are_read_back(void **state)
{
    (void)state;
    try_addresses(0);
    try_addresses(PFA_BATCH_LIVE);
    try_addresses(PFA_BATCH_SIZES);
}

static void a_full_batch_takes_no_more(void **state)
{
    uint64_t random = 3;
    (void)state;
    encode(PFA_BATCH_ROWS, 0, 0, &random);
    assert_false(pfa_batch_add(batch, &events[0], NULL, 0));
    pfa_batch_begin(batch, 0, 0);
    for (uint32_t i = 0; i < PFA_BATCH_SEGMENTS; i++) {
        assert_true(pfa_batch_segment(batch, i, 0));
    }
    assert_false(pfa_batch_segment(batch, 0, 0));
}

static void segments_are_read_back(void **state)
{
    pfa_batch_reader_t reader;
    pfa_batch_segment_t segment;
    pfa_event_t event = {.alloc_time = 1, .free_time = 2};
    (void)state;
    pfa_batch_begin(batch, 0, 0);
    for (uint32_t i = 0; i < 50; i++) {
        assert_true(pfa_batch_segment(batch, i % 7, 1000 * i));
        for (uint32_t j = 0; j < i; j++) {
            assert_true(pfa_batch_add(batch, &event, NULL, 0));
        }
    }
    assert_true(pfa_batch_open(&reader, bytes, pfa_batch_finish(batch, bytes)));
    for (uint32_t i = 0; i < 50; i++) {
        pfa_batch_segment_at(&reader, i, &segment);
        assert_int_equal(segment.ring, i % 7);
        assert_int_equal(segment.first, 1000 * i);
        assert_int_equal(segment.rows, i);
    }
}

static void try_damage(size_t size, uint64_t *random)
{
    pfa_batch_reader_t reader;
    for (size_t i = 0; i < size; i++) {
        assert_false(pfa_batch_open(&reader, bytes, i));
    }
    /* In memory of just that size, so that a sanitizer sees a step beyond it. */
    for (int i = 0; i < 10000; i++) {
        uint8_t *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, bytes, size);
        for (uint64_t j = 1 + random_below(random, 4); j-- > 0;) {
            bool front = random_below(random, 2) == 0;
            copy[random_below(random, front ? sizeof(pfa_batch_head_t) : size)] = (uint8_t)random_next(random);
        }
        read_at_once(copy, size);
        free(copy);
    }
}

static void no_batch_is_told(void **state)
{
    uint64_t random = 11;
    (void)state;
    try_damage(encode(300, 3, 0, &random), &random);
    try_damage(encode(300, 3, PFA_BATCH_SIZES, &random), &random);
    try_damage(encode(300, 3, PFA_BATCH_LIVE, &random), &random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_read_back), cmocka_unit_test(extremes_are_read_back),
        cmocka_unit_test(reallocs_are_linked),        cmocka_unit_test(a_full_batch_takes_no_more),
        cmocka_unit_test(addresses_are_read_back),    cmocka_unit_test(segments_are_read_back),
        cmocka_unit_test(no_batch_is_told),
    };
    return cmocka_run_group_tests(tests, make_memory, free_memory);
}
