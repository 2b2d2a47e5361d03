/* The look-up is total: any value may be asked about, at any time, and only live recorded chunks are found. */
#define _GNU_SOURCE 1
#include "tests/unit/allocator.h"

#include <sys/mman.h>

static int global;

static int start(void **state)
{
    (void)state;
    allocator_start(2 * GIB, 2 * GIB);
    return 0;
}

static bool is_hit(uintptr_t address)
{
    uintptr_t begin;
    pfa_wide_record_t copy;
    pfa_hit_t hit = {0, NULL};
    (void)pfa_rcu_enter(&pfa_tls);
    bool found = pfa_lookup(address, &hit);
    pfa_rcu_leave(true);
    bool copied = pfa_lookup_copy(address, &begin, &copy);
    must(found == copied);
    must(!found || begin == hit.start);
    return found;
}

static void check_nothing_is_hit_elsewhere(void)
{
    int local = 0;
    uint64_t seed = 111;
    void *plain = pfa_backing_malloc(1000);
    void *big_plain = pfa_backing_malloc(10 * MIB);
    void *mapped = mmap(NULL, 1 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(plain != NULL && big_plain != NULL && mapped != MAP_FAILED);
    uintptr_t range_end = pfa_range.base + pfa_range.total_span;
    const uintptr_t places[] = {0,
                                1,
                                8,
                                4096,
                                (uintptr_t)&local,
                                (uintptr_t)&global,
                                (uintptr_t)&check_nothing_is_hit_elsewhere,
                                (uintptr_t)plain,
                                (uintptr_t)big_plain + 5 * MIB,
                                (uintptr_t)mapped,
                                0x7fffffffffff,
                                0x800000000000,
                                0xffff800000000000,
                                0xffffffffff600000,
                                UINTPTR_MAX,
                                UINTPTR_MAX - 7,
                                (uintptr_t)1 << 63,
                                pfa_range.base - 1,
                                range_end,
                                range_end - 1,
                                pfa_range.base + pfa_range.region_span - 1,
                                (uintptr_t)pfa_range.units,
                                (uintptr_t)pfa_range.units + 12345,
                                (uintptr_t)pfa_range.slices,
                                (uintptr_t)pfa_range.large.granules,
                                pfa_range.plain_base,
                                pfa_range.plain_base + pfa_range.plain_span - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (is_hit(places[i])) {
            fail_msg("hit at %lx", places[i]);
        }
    }
    for (int i = 0; i < 500000; i++) {
        uintptr_t wild = random_next(&seed);
        uintptr_t address = i % 2 == 0 ? wild : wild & 0x7fffffffffff;
        if (!pfa_range_profiled(address)) {
            assert_false(is_hit(address));
        }
    }
    munmap(mapped, 1 * MIB);
    pfa_backing_free(plain);
    pfa_backing_free(big_plain);
}

static void nothing_is_hit_before_there_is_a_range(void **state)
{
    (void)state;
    uint64_t seed = 112;
    assert_true(pfa_range.total_span == 0);
    assert_false(is_hit(0));
    assert_false(is_hit((uintptr_t)&seed));
    for (int i = 0; i < 100000; i++) {
        assert_false(is_hit(random_next(&seed)));
    }
}

static void addresses_outside_never_hit(void **state)
{
    (void)state;
    check_nothing_is_hit_elsewhere();
}

/* All over the range while it is empty: slices without a region, granules without a chunk. */
static void an_unused_range_never_hits(void **state)
{
    (void)state;
    uint64_t seed = 113;
    for (int i = 0; i < 300000; i++) {
        assert_false(is_hit(pfa_range.base + random_below(&seed, pfa_range.total_span)));
    }
}

static void check_chunk(size_t size, size_t align)
{
    uintptr_t chunk = (uintptr_t)(align == 0 ? chunk_of(size) : aligned_chunk_of(size, align));
    assert_true(chunk != 0);
    size_t usable = usable_of((void *)chunk);
    size_t step = usable > 64 * KIB ? 509 : 1;
    for (size_t at = 0; at < usable; at += step) {
        uintptr_t begin = 0;
        pfa_wide_record_t copy;
        memset(&copy, 0, sizeof copy);
        if (!pfa_lookup_copy(chunk + at, &begin, &copy) || begin != chunk ||
            pfa_size_of(copy.record.size_flags) != size) {
            fail_msg("chunk of %zu bytes aligned to %zu: byte %zu", size, align, at);
        }
        assert_true((copy.record.size_flags & PFA_FLAG_LIVE) != 0);
        assert_int_equal(copy.record.thread, pfa_tls.thread->number);
    }
    assert_true(is_hit(chunk + usable - 1));
    assert_int_equal(free_chunk((void *)chunk), PFA_CHUNK_LIVE);
    for (size_t at = 0; at < usable; at += step) {
        assert_false(is_hit(chunk + at));
    }
}

static void live_chunks_are_found_and_freed_ones_are_not(void **state)
{
    (void)state;
    for (size_t size = 0; size <= 16 * MIB; size = size * 3 / 2 + 1) {
        check_chunk(size, 0);
    }
    for (size_t align = 16; align <= 16 * MIB; align *= 2) {
        check_chunk(1, align);
        check_chunk(100000, align);
    }
    check_chunk(PFA_REGION_CHUNK_MAX, 0);
    check_chunk(PFA_REGION_CHUNK_MAX + 1, 0);
    check_chunk(100 * MIB, 0);
}

/* Once large chunks lie outside the range, every address is looked up in the second level. */
static void still_total_with_chunks_outside(void **state)
{
    (void)state;
    enum { CHUNKS = 40 };
    void *chunks[CHUNKS];
    int outside = 0;
    for (int i = 0; i < CHUNKS; i++) { /* more than L has room for */
        chunks[i] = chunk_of(96 * MIB);
        assert_non_null(chunks[i]);
        outside += !pfa_range_profiled((uintptr_t)chunks[i]);
    }
    assert_true(outside > 0 && pfa_load_relaxed(&pfa_range.large.has_outside));
    for (int i = 0; i < CHUNKS; i++) {
        assert_true(is_hit((uintptr_t)chunks[i]) && is_hit((uintptr_t)chunks[i] + 96 * MIB - 1));
        assert_false(is_hit((uintptr_t)chunks[i] - 1));
    }
    for (int i = 0; i < CHUNKS; i++) {
        assert_int_equal(free_chunk(chunks[i]), PFA_CHUNK_LIVE);
        assert_false(is_hit((uintptr_t)chunks[i]) || is_hit((uintptr_t)chunks[i] + 50 * MIB));
    }
    check_nothing_is_hit_elsewhere();
    check_chunk(100, 0);
    check_chunk(1 * MIB, 0);
    (void)pfa_chunk_reclaim();
}

int main(void)
{
    const struct CMUnitTest before[] = {
        cmocka_unit_test(nothing_is_hit_before_there_is_a_range),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_outside_never_hit),
        cmocka_unit_test(an_unused_range_never_hits),
        cmocka_unit_test(live_chunks_are_found_and_freed_ones_are_not),
        cmocka_unit_test(still_total_with_chunks_outside),
    };
    int failed = cmocka_run_group_tests(before, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, start, NULL);
}
