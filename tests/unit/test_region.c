/* Region arithmetic against a model that divides: for every slot size mimalloc makes, every byte of a region; for every
 * slot size there could be, every place where the division can go wrong; for every alignment, every byte of the chunk.
 * Then the same over time: pages that come, go and come back with slots of another size. */
#define _GNU_SOURCE 1
#include "alloc/places.h"
#include "tests/records.h"
#include "tests/unit/allocator.h"

enum { SLOT_SIZES_MAX = 256 };
#define SLICE ((uint64_t)1 << PFA_SLICE_SHIFT)

static uint64_t slot_sizes[SLOT_SIZES_MAX];
static unsigned slot_size_count;

static void note_slot_size(uint64_t size)
{
    for (unsigned i = 0; i < slot_size_count; i++) {
        if (slot_sizes[i] == size) {
            return;
        }
    }
    assert_true(slot_size_count < SLOT_SIZES_MAX);
    slot_sizes[slot_size_count++] = size;
}

static int start(void **state)
{
    (void)state;
    allocator_start(4 * GIB, 4 * GIB);
    return 0;
}

/* --- the word ---------------------------------------------------------------------------------------------------- */

static uint64_t index_of(uint64_t distance, uint64_t size)
{
    return (distance * pfa_word_reciprocal(pfa_region_make_word(size, false, 0))) >> PFA_RECIPROCAL_BITS;
}

/* The quotient never falls as the distance grows, so if it is right at both sides of every step it is right at every
 * distance in between: this tries them all. */
static void division_is_exact_for_every_slot_size(void **state)
{
    (void)state;
    const uint64_t end = PFA_REGION_SLICES_MAX * SLICE;
    for (uint64_t size = PFA_REGION_SLOT_MIN; size <= PFA_REGION_CHUNK_MAX; size += 8) {
        for (uint64_t slot = 0; slot * size < end; slot++) {
            uint64_t last = slot * size + size - 1 < end ? slot * size + size - 1 : end - 1;
            if (index_of(slot * size, size) != slot || index_of(last, size) != slot) {
                fail_msg("slot size %lu, slot %lu: got %lu and %lu", size, slot, index_of(slot * size, size),
                         index_of(last, size));
            }
        }
    }
}

/* The place within a slot, scaled, grows with the distance until the next slot: again both sides of the only step, from
 * the first byte to the second, stand for all. */
static pfa_record_t any_records[1]; /* any: what matters here is not which record it is */

static void the_first_byte_of_a_slot_is_told_from_all_others(void **state)
{
    (void)state;
    const uint64_t end = PFA_REGION_SLICES_MAX * SLICE;
    for (uint64_t size = PFA_REGION_SLOT_MIN; size <= PFA_REGION_CHUNK_MAX; size += 8) {
        for (uint64_t slot = 0; (slot + 1) * size <= end; slot++) {
            const uint64_t bytes[] = {0, 1, size - 1};
            for (size_t i = 0; i < 3; i++) {
                uint64_t distance = slot * size + bytes[i];
                uint64_t word = pfa_region_make_word(size, false, distance >> PFA_SLICE_SHIFT);
                pfa_place_t place = pfa_place_by(distance, word, any_records);
                if (pfa_place_is_start(&place) != (i == 0) || place.distance != (int64_t)distance) {
                    fail_msg("slot size %lu, slot %lu, byte %lu", size, slot, bytes[i]);
                }
            }
        }
    }
}

static void a_word_gives_back_what_it_was_made_of(void **state)
{
    (void)state;
    for (uint64_t size = PFA_REGION_SLOT_MIN; size <= PFA_REGION_CHUNK_MAX; size += 8) {
        for (uint64_t back = 0; back < PFA_REGION_SLICES_MAX; back++) {
            for (uint64_t lead = 0; lead < 2; lead++) {
                uint64_t word = pfa_region_make_word(size, lead != 0, back);
                assert_true(word != 0);
                assert_int_equal(pfa_word_class(word), pfa_region_class(size));
                assert_true(pfa_word_back(word) == back);
                pfa_place_t place = pfa_place_by((100 + back) * SLICE, word, any_records);
                assert_true(place.distance == (int64_t)(back * SLICE) - (int64_t)(lead * PFA_REGION_LEAD));
            }
        }
    }
}

/* --- the classes of mimalloc -------------------------------------------------------------------------------------- */

static void every_size_has_a_slot_that_fits(void **state)
{
    (void)state;
    void *heap = pfa_backing_heap(pfa_range.region_arena);
    assert_non_null(heap);
    for (size_t size = 1; size <= PFA_REGION_CHUNK_MAX; size++) {
        void *chunk = pfa_backing_heap_malloc(heap, pfa_life_slot_size(size), false);
        assert_non_null(chunk);
        pfa_page_geometry_t page;
        pfa_backing_geometry(chunk, &page);
        uint64_t offset = (uintptr_t)chunk - page.start;
        uint64_t place = page.start & (SLICE - 1);
        /* All that the word has room for, and all that the arithmetic takes for granted. */
        assert_true(page.slot_size >= size && page.slot_size >= PFA_REGION_SLOT_MIN);
        assert_true(page.slot_size <= PFA_REGION_CHUNK_MAX && page.slot_size % 8 == 0);
        assert_true(offset % page.slot_size == 0);
        assert_true(page.slices >= 1 && page.slices <= PFA_REGION_SLICES_MAX);
        assert_true(offset + page.slot_size <= page.slices * SLICE - place);
        assert_true(place == 0 || place == PFA_REGION_LEAD);
        assert_true(in_regions((uintptr_t)chunk));
        note_slot_size(page.slot_size);
        pfa_backing_free(chunk);
    }
    assert_true(slot_size_count > 40 && slot_size_count < PFA_CLASS_REGIONS);
}

static void every_slot_size_has_a_class_of_its_own(void **state)
{
    (void)state;
    bool seen[PFA_CLASS_REGIONS] = {false};
    for (unsigned i = 0; i < slot_size_count; i++) {
        unsigned class = pfa_region_class(slot_sizes[i]);
        assert_true(class < PFA_CLASS_REGIONS && !seen[class]);
        seen[class] = true;
    }
    for (uint64_t size = 17; size <= PFA_REGION_CHUNK_MAX; size++) {
        assert_true(pfa_region_class(size) >= pfa_region_class(size - 1));
    }
}

/* --- every byte of a region --------------------------------------------------------------------------------------- */

static void check_every_offset(uintptr_t chunk)
{
    pfa_page_geometry_t page;
    pfa_backing_geometry((void *)chunk, &page);
    uint64_t begin = (page.start - pfa_range.base) & ~(SLICE - 1);
    uint64_t lead = page.start - pfa_range.base - begin;
    const pfa_record_t *first_record = slot_of(page.start).record;
    const pfa_record_t *last_record = NULL;
    uint64_t last_index = UINT64_MAX;
    assert_true(pfa_word_slot_size(pfa_region_place(begin).word) == page.slot_size);
    for (uint64_t at = 0; at < page.slices * SLICE; at++) {
        slot_t slot = slot_of(pfa_range.base + begin + at);
        if (slot.covered != (at >= lead)) {
            fail_msg("slot size %zu, byte %lu: covered %d", page.slot_size, at, slot.covered);
        }
        if (!slot.covered) { /* its record is no chunk's */
            assert_false(pfa_is_live(pfa_load_relaxed(&slot.record->size_flags)));
            continue;
        }
        uint64_t index = (at - lead) / page.slot_size;
        if (slot.start != page.start + index * page.slot_size) {
            fail_msg("slot size %zu, byte %lu: slot starts at %lu", page.slot_size, at, slot.start - page.start);
        }
        /* One record for all bytes of a slot, and one behind the other. */
        assert_true((index == last_index) == (slot.record == last_record));
        assert_true(at % 997 != 0 || is_a_record(slot.record));
        assert_true((uintptr_t)slot.record == (uintptr_t)first_record + index * pfa_range_record_size());
        last_index = index;
        last_record = slot.record;
    }
}

/* Fills two regions of each class, so that whole ones are seen, and tries every byte of those. */
static void every_byte_of_a_region_finds_its_slot(void **state)
{
    (void)state;
    assert_true(slot_size_count > 0);
    for (unsigned i = 0; i < slot_size_count; i++) {
        size_t per_region = PFA_REGION_SLICES_MAX * SLICE / slot_sizes[i] + 2;
        void **chunks = calloc(per_region, sizeof *chunks);
        assert_non_null(chunks);
        for (size_t c = 0; c < per_region; c++) {
            chunks[c] = chunk_of(slot_sizes[i]);
            assert_non_null(chunks[c]);
        }
        check_every_offset((uintptr_t)chunks[0]);
        check_every_offset((uintptr_t)chunks[per_region - 1]);
        for (size_t c = 0; c < per_region; c++) {
            assert_int_equal(free_chunk(chunks[c]), PFA_CHUNK_LIVE);
        }
        free(chunks);
    }
}

static void no_two_slots_share_a_record(void **state)
{
    (void)state;
    enum { CHUNKS = 150000 };
    uintptr_t *chunks = calloc(CHUNKS, sizeof *chunks);
    uintptr_t *records = calloc(CHUNKS, sizeof *records);
    uint64_t seed = 91;
    assert_true(chunks != NULL && records != NULL);
    for (size_t i = 0; i < CHUNKS; i++) {
        uint64_t largest = (uint64_t)16 << random_below(&seed, i % 64 == 0 ? 14 : 8);
        chunks[i] = (uintptr_t)chunk_of(random_below(&seed, largest) + 1);
        pfa_hit_t hit = {0, NULL};
        assert_true(chunks[i] != 0 && pfa_lookup(chunks[i], &hit));
        assert_true(hit.start == chunks[i]);
        records[i] = (uintptr_t)hit.record;
    }
    qsort(records, CHUNKS, sizeof *records, by_address);
    for (size_t i = 1; i < CHUNKS; i++) {
        assert_true(records[i] - records[i - 1] >= pfa_range_record_size());
    }
    for (size_t i = 0; i < CHUNKS; i++) {
        assert_int_equal(free_chunk((void *)chunks[i]), PFA_CHUNK_LIVE);
    }
    free(chunks);
    free(records);
}

/* --- alignments --------------------------------------------------------------------------------------------------- */

static void check_aligned(size_t size, size_t align)
{
    enum { TOGETHER = 5 }; /* neighbours, whose chunks begin at different places of their slots */
    uintptr_t chunk[TOGETHER];
    for (int i = 0; i < TOGETHER; i++) {
        chunk[i] = (uintptr_t)aligned_chunk_of(size, align);
        assert_true(chunk[i] != 0 && chunk[i] % align == 0);
    }
    for (int i = 0; i < TOGETHER; i++) {
        size_t usable = usable_of((void *)chunk[i]);
        pfa_hit_t hit = {0, NULL};
        slot_t slot = slot_of(chunk[i]);
        assert_true(usable >= size);
        for (size_t at = 0; at < usable; at++) {
            if (!pfa_lookup(chunk[i] + at, &hit) || hit.start != chunk[i] || hit.record != slot.record) {
                fail_msg("%zu bytes aligned to %zu: byte %zu not found", size, align, at);
            }
        }
        /* What the alignment left unused in front belongs to nobody. */
        for (uintptr_t at = slot.start; at < chunk[i]; at++) {
            assert_false(pfa_lookup(at, &hit));
        }
        assert_true(pfa_size_of(pfa_load_relaxed(&slot.record->size_flags)) == size);
    }
    for (int i = 0; i < TOGETHER; i++) {
        assert_int_equal(free_chunk((void *)chunk[i]), PFA_CHUNK_LIVE);
    }
}

static void every_alignment_is_found_from_every_byte(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 8, 16, 17, 100, 512, 1000, 1024, 1025, 4096, 5000, 16384, 40000, 65536};
    for (size_t align = 8; align <= 64 * KIB; align *= 2) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            check_aligned(sizes[i], align);
        }
    }
    check_aligned(0, 128 * KIB); /* the one request of this alignment that is not large */
}

/* --- over time ---------------------------------------------------------------------------------------------------- */

typedef struct live {
    uintptr_t start;
    size_t usable;
    pfa_record_t *record;
} live_t;

enum { LIVE_MAX = 4000 };
static live_t model[LIVE_MAX];
static size_t model_count;

static const live_t *model_find(uintptr_t address)
{
    for (size_t i = 0; i < model_count; i++) {
        if (address - model[i].start < model[i].usable) {
            return &model[i];
        }
    }
    return NULL;
}

static void check_address(uintptr_t address)
{
    pfa_hit_t hit = {0, NULL};
    const live_t *expected = model_find(address);
    bool found = pfa_lookup(address, &hit);
    if (found != (expected != NULL) || (found && (hit.start != expected->start || hit.record != expected->record))) {
        fail_msg("address %lx: found %d at %lx, expected %lx", address, found, found ? hit.start : 0,
                 expected != NULL ? expected->start : 0);
    }
}

static void model_add(size_t size, size_t align)
{
    void *chunk = align == 0 ? chunk_of(size) : aligned_chunk_of(size, align);
    pfa_hit_t hit = {0, NULL};
    assert_non_null(chunk);
    assert_true(pfa_lookup((uintptr_t)chunk, &hit));
    live_t fresh = {(uintptr_t)chunk, usable_of(chunk), hit.record};
    for (size_t i = 0; i < model_count; i++) {
        assert_true(model[i].record != fresh.record);
        assert_true(fresh.start + fresh.usable <= model[i].start || model[i].start + model[i].usable <= fresh.start);
    }
    model[model_count++] = fresh;
}

static uintptr_t model_remove(size_t index)
{
    uintptr_t start_of_it = model[index].start;
    assert_int_equal(free_chunk((void *)start_of_it), PFA_CHUNK_LIVE);
    model[index] = model[--model_count];
    return start_of_it;
}

/* The classes in use change from phase to phase, and memory goes back in between, so that slices are cut up anew: a word
 * or record left from before would be taken for a chunk. */
static void reused_pages_show_nothing_of_their_past(void **state)
{
    (void)state;
    enum { PHASES = 24, STEPS = 1500, FORMER = 2048 };
    static uintptr_t former[FORMER];
    uint64_t seed = 92;
    for (int phase = 0; phase < PHASES; phase++) {
        uint64_t largest = (uint64_t)32 << random_below(&seed, 13);
        for (int step = 0; step < STEPS; step++) {
            if (model_count < LIVE_MAX && random_below(&seed, 100) < 60) {
                size_t align = random_below(&seed, 4) == 0 ? (size_t)8 << random_below(&seed, 11) : 0;
                size_t size = random_below(&seed, largest);
                model_add(size + align <= PFA_REGION_CHUNK_MAX ? size : 16, align);
            } else if (model_count > 0) {
                former[random_below(&seed, FORMER)] = model_remove(random_below(&seed, model_count));
            }
            uintptr_t old = former[random_below(&seed, FORMER)];
            if (old != 0) {
                check_address(old + random_below(&seed, largest));
            }
            if (model_count > 0) {
                const live_t *one = &model[random_below(&seed, model_count)];
                check_address(one->start + random_below(&seed, one->usable));
                check_address(one->start - 1);
                check_address(one->start + one->usable);
            }
        }
        for (size_t i = 0; i < FORMER; i++) {
            if (former[i] != 0) {
                check_address(former[i]);
            }
        }
        while (model_count > (phase % 3 == 2 ? 0u : 100u)) {
            former[random_below(&seed, FORMER)] = model_remove(random_below(&seed, model_count));
        }
        (void)pfa_backing_trim();
    }
    while (model_count > 0) {
        (void)model_remove(model_count - 1);
    }
}

/* A slice whose small slots' records were given back starts again from records that are of no chunk. */
static void slices_go_from_small_slots_to_big_ones_and_back(void **state)
{
    (void)state;
    enum { CHUNKS = 20000 };
    static void *chunks[CHUNKS];
    static const size_t sizes[] = {16, 128 * KIB, 16, 20000, 32, 1024, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t count = 8 * MIB / sizes[i] < CHUNKS ? 8 * MIB / sizes[i] : CHUNKS;
        for (size_t c = 0; c < count; c++) {
            chunks[c] = chunk_of(sizes[i]);
            assert_non_null(chunks[c]);
        }
        for (size_t c = 0; c < count; c++) {
            assert_int_equal(verdict_on(chunks[c]), PFA_CHUNK_LIVE);
            assert_int_equal(free_chunk(chunks[c]), PFA_CHUNK_LIVE);
            assert_int_equal(verdict_on(chunks[c]), PFA_CHUNK_FREED);
        }
        (void)pfa_backing_trim();
    }
}

/* Every address of the first segments: never a hit while nothing lives, never a fault. */
static void an_empty_range_has_no_hits(void **state)
{
    (void)state;
    pfa_hit_t hit = {0, NULL};
    for (uint64_t offset = 0; offset < 64 * MIB; offset += 8) {
        if (pfa_lookup(pfa_range.base + offset, &hit)) {
            fail_msg("offset %lx: hit at %lx", offset, hit.start);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(division_is_exact_for_every_slot_size),
        cmocka_unit_test(the_first_byte_of_a_slot_is_told_from_all_others),
        cmocka_unit_test(a_word_gives_back_what_it_was_made_of),
        cmocka_unit_test(every_size_has_a_slot_that_fits),
        cmocka_unit_test(every_slot_size_has_a_class_of_its_own),
        cmocka_unit_test(every_byte_of_a_region_finds_its_slot),
        cmocka_unit_test(no_two_slots_share_a_record),
        cmocka_unit_test(every_alignment_is_found_from_every_byte),
        cmocka_unit_test(reused_pages_show_nothing_of_their_past),
        cmocka_unit_test(slices_go_from_small_slots_to_big_ones_and_back),
        cmocka_unit_test(an_empty_range_has_no_hits),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
