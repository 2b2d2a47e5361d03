/* The record's layout, which traces and access callbacks rely on, and its first and last store. */
#include "meta/record.h"
#include "tests/unit/unit.h"

#define AT(member, offset, bytes)                                                                                      \
    do {                                                                                                               \
        assert_int_equal(offsetof(pfa_wide_record_t, member), offset);                                                 \
        assert_int_equal(sizeof(((pfa_wide_record_t *)0)->member), bytes);                                             \
    } while (0)

static void layout_is_as_pictured(void **state)
{
    (void)state;
    AT(record.alloc_time, 0, 8);
    AT(record.size_flags, 8, 8);
    AT(record.stack, 16, 4);
    AT(record.type_link, 20, 4);
    AT(record.thread, 24, 2);
    AT(record.tag, 26, 2);
    AT(record.last_thread, 28, 2);
    AT(record.lead, 30, 2);
    AT(accesses.first_access, 32, 8);
    AT(accesses.last_access, 40, 8);
    AT(accesses.low, 48, 4);
    AT(accesses.high, 52, 4);
    AT(accesses.reads, 56, 4);
    AT(accesses.writes, 60, 4);
    assert_int_equal(sizeof(pfa_record_t), 32);
    assert_int_equal(sizeof(pfa_wide_record_t), 64);
}

static const uint64_t flags[] = {PFA_FLAG_LIVE, PFA_FLAG_FREED, PFA_FLAG_ALIGNED, PFA_FLAG_REALLOC, PFA_FLAG_ZEROED,
                                 PFA_FLAG_NEW,  PFA_FLAG_ARRAY, PFA_FLAG_LARGE,   PFA_FLAG_SHARED,  PFA_FLAG_LEAD};

static void flags_sizes_and_weights_share_no_bit(void **state)
{
    (void)state;
    uint64_t seen = PFA_SIZE_MAX << PFA_SIZE_SHIFT;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        assert_true(flags[i] != 0 && (flags[i] & (flags[i] - 1)) == 0);
        assert_true((seen & flags[i]) == 0);
        assert_true((flags[i] & PFA_FLAG_MASK) == flags[i]);
        seen |= flags[i];
    }
    assert_true((seen & PFA_WEIGHT_MASK) == 0);
    assert_true((PFA_WEIGHT_MASK & PFA_FLAG_MASK) == PFA_WEIGHT_MASK);
    assert_true((PFA_SIZE_MAX << PFA_SIZE_SHIFT ^ PFA_FLAG_MASK) == UINT64_MAX);
}

static void the_word_gives_back_what_was_put_in(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 128 * 1024, (1ull << 47) - 1, PFA_SIZE_MAX};
    for (uint64_t class = 0; class < PFA_WEIGHT_CLASSES; class ++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            for (size_t f = 0; f < sizeof flags / sizeof flags[0]; f++) {
                uint64_t word = pfa_size_flags(sizes[i], flags[f] | class << PFA_WEIGHT_SHIFT);
                assert_true(pfa_size_of(word) == sizes[i]);
                assert_int_equal(pfa_weight_class_of(word), class);
                assert_true((word & flags[f]) != 0);
            }
        }
    }
}

/* A record is used again and again: nothing of the chunk before may shine through. */
static void begin_leaves_nothing_of_the_past(void **state)
{
    (void)state;
    pfa_wide_record_t wide;
    memset(&wide, 0x5a, sizeof wide);
    pfa_accesses_begin(pfa_record_accesses(&wide.record));
    pfa_record_begin(&wide.record, 123456789, pfa_size_flags(77, PFA_FLAG_ZEROED | 5ull << PFA_WEIGHT_SHIFT), 77, 5,
                     pfa_record_tail(42, 9));
    assert_true(wide.record.alloc_time == 123456789);
    assert_true(wide.record.stack == 77 && wide.record.type_link == 5 && wide.record.tag == 0);
    assert_true(wide.record.thread == 42 && wide.record.last_thread == 0 && wide.record.lead == 9);
    assert_true(wide.accesses.first_access == 0 && wide.accesses.last_access == 0);
    assert_true(wide.accesses.low == UINT32_MAX && wide.accesses.high == 0); /* the empty interval */
    assert_int_equal(pfa_access_count(wide.accesses.reads), 0);
    assert_int_equal(pfa_access_count(wide.accesses.writes), 0);
    assert_true(pfa_load_relaxed(&wide.record.size_flags) ==
                pfa_size_flags(77, PFA_FLAG_ZEROED | PFA_FLAG_LIVE | 5ull << PFA_WEIGHT_SHIFT));
}

static void a_record_of_zeros_is_of_no_chunk(void **state)
{
    (void)state;
    pfa_record_t record;
    memset(&record, 0, sizeof record);
    assert_true((pfa_load_relaxed(&record.size_flags) & (PFA_FLAG_LIVE | PFA_FLAG_FREED)) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_is_as_pictured),
        cmocka_unit_test(flags_sizes_and_weights_share_no_bit),
        cmocka_unit_test(the_word_gives_back_what_was_put_in),
        cmocka_unit_test(begin_leaves_nothing_of_the_past),
        cmocka_unit_test(a_record_of_zeros_is_of_no_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
