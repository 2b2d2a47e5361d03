/* Owns the words of pfa_range.slices. See alloc/region.h. */
#include "alloc/region.h"
#include "base/sys.h"
#include "meta/thread.h"

#include <sys/mman.h>

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

uint64_t pfa_region_class_size(unsigned class)
{
    for (uint64_t size = PFA_REGION_SLOT_MIN; size <= PFA_REGION_CHUNK_MAX;) {
        if (pfa_region_class(size) == class && pfa_region_class(size + 8) != class) {
            return size;
        }
        size += size < 64 ? 8 : (uint64_t)1 << (61 - __builtin_clzll(size));
    }
    return 0;
}

uint64_t pfa_region_make_word(uint64_t slot_size, bool lead, uint64_t back)
{
    uint64_t reciprocal = (((uint64_t)1 << PFA_RECIPROCAL_BITS) + slot_size - 1) / slot_size;
    return PFA_WORD_VALID | reciprocal | (slot_size / 8) << PFA_WORD_SIZE_SHIFT | back << PFA_WORD_BACK_SHIFT |
           (uint64_t)lead << PFA_WORD_LEAD_SHIFT | (uint64_t)pfa_region_class(slot_size) << PFA_WORD_CLASS_SHIFT;
}

static uint64_t record_bytes(uint64_t word)
{
    return ((uint64_t)1 << PFA_SLICE_SHIFT) / pfa_word_slot_size(word) * sizeof(pfa_record_t);
}

/* A slice of small slots that now gets big ones leaves records behind that nobody will use: gives their memory back. */
static void drop_old_records(uint64_t slice, uint64_t old_word, uint64_t new_word)
{
    enum { KEEP = 16 * 1024 };
    if (old_word == 0 || record_bytes(old_word) <= record_bytes(new_word) + KEEP) {
        return;
    }
    uint64_t from = (record_bytes(new_word) + KEEP - 1) & ~(uint64_t)(KEEP - 1);
    uintptr_t records = pfa_range.records + (slice << PFA_RECORD_STRIDE_SHIFT);
    (void)pfa_sys_advise((void *)(records + from), record_bytes(old_word) - from, MADV_DONTNEED);
}

/* All words of the page, not the first alone: smaller pages may have come and gone in its later slices. */
static bool is_published(uint64_t first, const pfa_page_geometry_t *page, bool lead)
{
    for (uint64_t back = 0; back < page->slices; back++) {
        if (pfa_load_relaxed(&pfa_range.slices[first + back]) != pfa_region_make_word(page->slot_size, lead, back)) {
            return false;
        }
    }
    return true;
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
    for (uint64_t back = 0; back < page.slices; back++) {
        int err = pfa_range_commit_records(first + back);
        if (err != 0) {
            return err;
        }
    }
    for (uint64_t back = 0; back < page.slices; back++) {
        uint64_t word = pfa_region_make_word(page.slot_size, lead, back);
        drop_old_records(first + back, pfa_load_relaxed(&pfa_range.slices[first + back]), word);
        pfa_store_release(&pfa_range.slices[first + back], word);
    }
    return 0;
}
