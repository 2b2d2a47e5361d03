/* Owns the words of pfa_range.slices. See alloc/region.h. */
#include "alloc/region.h"
#include "alloc/places.h"
#include "meta/extents.h"
#include "meta/thread.h"

_Atomic uint32_t pfa_region_sizes[PFA_WORD_CLASS_MASK + 1];

unsigned pfa_region_class(uint64_t slot_size)
{
    /* As mimalloc bins: every multiple of 8 up to 64, then four steps to each power of two. */
    uint64_t words = (slot_size + 7) / 8;
    if (words <= 8) {
        return (unsigned)words;
    }
    words--;
    unsigned top = 63u - (unsigned)__builtin_clzll(words);
    unsigned class = ((top << 2) | (unsigned)((words >> (top - 2)) & 3)) - 3;
    return class < PFA_CLASS_REGIONS ? class : PFA_CLASS_REGIONS - 1;
}

uint64_t pfa_region_make_word(uint64_t slot_size, bool lead, uint64_t back)
{
    uint64_t reciprocal = (((uint64_t)1 << PFA_RECIPROCAL_BITS) + slot_size - 1) / slot_size;
    uint64_t reach = (back << PFA_SLICE_SHIFT) - (lead ? PFA_REGION_LEAD : 0);
    reach &= ((uint64_t)1 << PFA_WORD_REACH_BITS) - 1;
    return reciprocal << PFA_WORD_RECIPROCAL_SHIFT | reach << PFA_WORD_REACH_SHIFT | pfa_region_class(slot_size);
}

typedef struct span {
    uintptr_t begin;
    uintptr_t end;
} span_t;

/* A region of many slots that goes leaves records behind, of which the next one there uses those at the beginning, if any:
 * gives the memory of the others back. */
static void drop_old_records(const pfa_slice_t *slice, span_t used)
{
    enum { WORTH_IT = 32 * 1024 };
    uint64_t word = pfa_load_relaxed(&slice->word);
    if (word == 0 || pfa_word_back(word) != 0) {
        return;
    }
    /* Of its first slice, without the lead. */
    uint64_t slots = (uint64_t)((1 << PFA_SLICE_SHIFT) + pfa_word_reach(word)) / pfa_word_slot_size(word);
    uintptr_t old = (uintptr_t)pfa_load_relaxed(&slice->records);
    uintptr_t end = old + slots * pfa_range_record_size();
    uintptr_t begin = used.begin < end && used.end > old ? used.end : old;
    /* Whole pages only: what is in the others belongs to the neighbours too. */
    uintptr_t mask = pfa_backing_page_size() - 1;
    begin = (begin + mask) & ~mask;
    end &= ~mask;
    if (end >= begin + WORTH_IT) {
        pfa_extents_drop((void *)begin, end - begin);
    }
}

/* The lead's records are ones of the place: another region may have left dead chunks there. */
static void clear_lead(pfa_record_t *records, uint64_t before)
{
    uint64_t record_size = pfa_range_record_size();
    for (uint64_t i = 1; i <= before; i++) {
        pfa_record_t *record = (pfa_record_t *)((uintptr_t)records - i * record_size);
        if (pfa_load_relaxed(&record->size_flags) != 0) {
            pfa_store_relaxed(&record->size_flags, 0);
        }
    }
}

/* Looks at all words of the page, not the first alone: smaller pages may have come and gone in its later slices. */
static bool is_published(uint64_t first, const pfa_page_geometry_t *page, bool lead)
{
    for (uint64_t back = 0; back < page->slices; back++) {
        uint64_t word = pfa_region_make_word(page->slot_size, lead, back);
        if (pfa_load_relaxed(&pfa_range.slices[first + back].word) != word) {
            return false;
        }
    }
    return true;
}

/* The slices behind a new page may still say that they belong to a longer page that began where this one does: their
 * addresses would find its records. */
static void forget_tail(uint64_t first, uint64_t slices)
{
    uint64_t count = pfa_range.region_span >> PFA_SLICE_SHIFT;
    for (uint64_t back = slices; back < PFA_REGION_SLICES_MAX && first + back < count; back++) {
        uint64_t word = pfa_load_relaxed(&pfa_range.slices[first + back].word);
        if (word != 0 && pfa_word_back(word) == back) {
            pfa_store_relaxed(&pfa_range.slices[first + back].word, 0);
        }
    }
}

int pfa_region_publish(const void *chunk)
{
    pfa_page_geometry_t page;
    pfa_backing_geometry(chunk, &page);
    uint64_t first = (page.start - pfa_range.base) >> PFA_SLICE_SHIFT;
    uint64_t lead = page.start & (((uintptr_t)1 << PFA_SLICE_SHIFT) - 1);
    if (is_published(first, &page, lead != 0)) {
        return 0;
    }
    /* One more: the rest behind the last slot is looked up too. And one more than the lead has: before the first slot the
     * division is not exact. */
    uint64_t count = (((uint64_t)page.slices << PFA_SLICE_SHIFT) - lead) / page.slot_size + 1;
    uint64_t before = lead != 0 ? (lead + page.slot_size - 1) / page.slot_size + 1 : 0;
    pfa_record_t *records = NULL;
    int err = pfa_places_get(first, before, count, &records);
    if (err != 0) {
        return err;
    }
    /* Every thread stores the same. Before the words, so that whoever reads one finds its class's size. */
    pfa_store_relaxed(&pfa_region_sizes[pfa_region_class(page.slot_size)], (uint32_t)page.slot_size);
    span_t used = {(uintptr_t)records, (uintptr_t)records + count * pfa_range_record_size()};
    clear_lead(records, before);
    for (uint64_t back = 0; back < page.slices; back++) {
        pfa_slice_t *slice = &pfa_range.slices[first + back];
        uint64_t word = pfa_region_make_word(page.slot_size, lead != 0, back);
        drop_old_records(slice, used);
        pfa_store_relaxed(&slice->records, records);
        pfa_store_release(&slice->word, word);
    }
    forget_tail(first, page.slices);
    return 0;
}
