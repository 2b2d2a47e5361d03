/* Owns the words of pfa_range.slices. See alloc/region.h. */
#include "alloc/region.h"
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

pfa_need_t pfa_region_need(uint64_t word, uint64_t slices)
{
    uint64_t slot_size = pfa_word_slot_size(word);
    uint64_t lead = (uint64_t)-pfa_word_reach(word);
    /* One more behind: the rest after the last slot is looked up too. And one more before the lead's: the division is not
     * exact there. */
    return (pfa_need_t){.before = lead != 0 ? (lead + slot_size - 1) / slot_size + 1 : 0,
                        .count = ((slices << PFA_SLICE_SHIFT) - lead) / slot_size + 1};
}

/* A region of many slots that goes leaves records behind, of which the next one there uses those at the beginning, if any:
 * gives the memory of the others back. After the next one was published: see pfa_places_leave. */
static void drop_old_records(uint64_t word, const pfa_record_t *records, uintptr_t used, uintptr_t used_end)
{
    if (word == 0 || pfa_word_back(word) != 0) {
        return;
    }
    uintptr_t old = (uintptr_t)records;
    uintptr_t old_end = old + pfa_region_need(word, 1).count * pfa_range_record_size();
    /* Whole pages only: what is in the others belongs to the neighbours too. */
    uintptr_t mask = pfa_backing_page_size() - 1;
    uintptr_t begin = ((used < old_end && used_end > old ? used_end : old) + mask) & ~mask;
    uintptr_t end = old_end & ~mask;
    if (end >= begin + PFA_RECORDS_DROPPED) {
        pfa_extents_drop((void *)begin, end - begin);
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
    bool lead = (page.start & (((uintptr_t)1 << PFA_SLICE_SHIFT) - 1)) != 0;
    if (is_published(first, &page, lead)) {
        return 0;
    }
    /* Every thread stores the same. Before the words, so that whoever reads one finds its class's size. */
    pfa_store_relaxed(&pfa_region_sizes[pfa_region_class(page.slot_size)], (uint32_t)page.slot_size);
    pfa_need_t need = pfa_region_need(pfa_region_make_word(page.slot_size, lead, 0), page.slices);
    pfa_record_place_t place = pfa_places_of(first);
    pfa_record_t *records = NULL;
    int err = pfa_places_get(first, need, &records);
    if (err != 0) {
        return err;
    }
    pfa_places_describe(first, (pfa_description_t){page.start, page.slot_size, need.count, records});
    uint64_t old_words[PFA_REGION_SLICES_MAX];
    const pfa_record_t *old_records[PFA_REGION_SLICES_MAX];
    for (uint64_t back = 0; back < page.slices; back++) {
        pfa_slice_t *slice = &pfa_range.slices[first + back];
        old_words[back] = pfa_load_relaxed(&slice->word);
        old_records[back] = pfa_load_relaxed(&slice->records);
        pfa_store_relaxed(&slice->records, records);
        pfa_store_release(&slice->word, pfa_region_make_word(page.slot_size, lead, back));
    }
    forget_tail(first, page.slices);
    uintptr_t end = (uintptr_t)records + need.count * pfa_range_record_size();
    for (uint64_t back = 0; back < page.slices; back++) {
        drop_old_records(old_words[back], old_records[back], (uintptr_t)records, end);
    }
    pfa_places_leave(first, place);
    return 0;
}
