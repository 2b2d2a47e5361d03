/* Regions under fire: writers make pages of ever other geometry over the same slices, publish them, begin and end chunks
 * in them and hand chunks over; readers look up what was handed over, and any address at all.
 *
 * The backing is a stand-in, so that the structure is on its own: a writer owns a block of slices and cuts it up as
 * mimalloc would. Its pages are real to everything else: pfa_region_publish, the words, the records, pfa_lookup. */
#include "meta/extents.h"
#include "alloc/lookup.h"
#include "alloc/places.h"
#include "tests/race/race.h"
#include "tests/records.h"

#include <sys/mman.h>

#define SLICE ((uint64_t)1 << PFA_SLICE_SHIFT)

enum {
    WRITERS = 3,
    READERS = 2,
    BLOCK_SLICES = 20, /* of each writer, so that blocks share units of records */
    SLICES = WRITERS * BLOCK_SLICES + 4,
    PAGES = 40000 / RACE_SLOWDOWN,
    HANDED = 64,
};

/* A chunk that its owner made known, as a program does: the pointer is released after everything is written. The owner
 * takes it back before it frees, and `users` says whether a reader is still at it. */
typedef struct handed {
    _Atomic uintptr_t chunk;
    _Atomic uint32_t users;
    uint64_t size;
} handed_t;

static handed_t handed[WRITERS][HANDED];
static _Atomic bool stop;
static _Atomic uint64_t looked_up;

/* --- the stand-in for alloc/backing.c ----------------------------------------------------------------------------- */

PFA_THREAD_LOCAL pfa_tls_t pfa_tls;
static _Thread_local pfa_page_geometry_t current; /* the page the thread has just made */

void pfa_backing_geometry(const void *chunk, pfa_page_geometry_t *geometry)
{
    (void)chunk;
    *geometry = current;
}

size_t pfa_backing_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int (*pfa_backing_reach)(uintptr_t end);

int pfa_backing_add_space(void *base, size_t size, bool exclusive, bool open)
{
    (void)base;
    (void)size;
    (void)exclusive;
    (void)open;
    return 1;
}

/* --- writers ------------------------------------------------------------------------------------------------------ */

static const uint32_t slot_sizes[] = {16, 32, 48, 112, 512, 1024, 2560, 16384, 20480, 65536, 114688, 131072};
enum { SLOT_SIZES = sizeof slot_sizes / sizeof slot_sizes[0] };

static void make_page(uint64_t *seed, uint64_t first_slice)
{
    uint64_t slot_size = slot_sizes[random_below(seed, SLOT_SIZES)];
    current.slot_size = slot_size;
    current.slices = slot_size > 16384 ? PFA_REGION_SLICES_MAX : 1;
    current.start = pfa_range.base + first_slice * SLICE + (slot_size <= 1024 ? PFA_REGION_LEAD : 0);
}

static uint64_t slots_in_page(void)
{
    uint64_t lead = current.start & (SLICE - 1);
    return (current.slices * SLICE - lead) / current.slot_size;
}

static pfa_record_t *record_of(uintptr_t chunk)
{
    uint64_t offset = chunk - pfa_range.base;
    return pfa_region_place(offset).record;
}

static void begin(uintptr_t chunk, uint64_t size)
{
    if (pfa_range_is_wide()) {
        pfa_record_accesses(record_of(chunk))->first_access = size * 5;
    }
    pfa_record_begin(record_of(chunk), size * 3, pfa_size_flags(size, 0), 0, 0, pfa_record_tail(1, 0));
}

static void end(uintptr_t chunk)
{
    pfa_record_t *record = record_of(chunk);
    uint64_t size_flags = pfa_load_relaxed(&record->size_flags);
    must((size_flags & PFA_FLAG_LIVE) != 0);
    pfa_store_relaxed(&record->size_flags, (size_flags & ~PFA_FLAG_LIVE) | PFA_FLAG_FREED);
}

static void take_back(handed_t *cell)
{
    uintptr_t chunk = atomic_load_explicit(&cell->chunk, memory_order_relaxed);
    if (chunk != 0) {
        atomic_store(&cell->chunk, 0);
        while (atomic_load(&cell->users) != 0) {
            sched_yield();
        }
        end(chunk);
    }
}

static void *write_pages(void *arg)
{
    unsigned writer = (unsigned)(uintptr_t)arg;
    uint64_t seed = writer + 1;
    uint64_t block = (uint64_t)writer * BLOCK_SLICES + 2;
    for (int page = 0; page < PAGES; page++) {
        for (int i = 0; i < HANDED; i++) {
            take_back(&handed[writer][i]); /* a page is made anew only when all its chunks are gone */
        }
        make_page(&seed, block + random_below(&seed, BLOCK_SLICES - PFA_REGION_SLICES_MAX));
        must(pfa_region_publish((void *)current.start) == 0);
        uint64_t slots = slots_in_page();
        uint64_t taken = slots < HANDED ? slots : HANDED;
        uint64_t first = random_below(&seed, slots - taken + 1);
        for (uint64_t i = 0; i < taken; i++) {
            uintptr_t chunk = current.start + (first + i) * current.slot_size;
            handed_t *cell = &handed[writer][i];
            begin(chunk, current.slot_size - random_below(&seed, 8));
            cell->size = current.slot_size;
            atomic_store(&cell->chunk, chunk);
        }
    }
    for (int i = 0; i < HANDED; i++) {
        take_back(&handed[writer][i]);
    }
    return NULL;
}

/* --- readers ------------------------------------------------------------------------------------------------------ */

/* Of a chunk that one was given everything is known, from each of its bytes. */
static void look_up_handed(handed_t *cell, uint64_t *seed)
{
    atomic_fetch_add(&cell->users, 1);
    uintptr_t chunk = atomic_load(&cell->chunk);
    if (chunk != 0) {
        pfa_hit_t hit = {0, NULL};
        must(pfa_lookup(chunk + random_below(seed, cell->size), &hit));
        must(hit.start == chunk);
        uint64_t size = pfa_size_of(pfa_load_relaxed(&hit.record->size_flags));
        must(hit.record->alloc_time == 3 * size);
        must(!pfa_range_is_wide() || pfa_record_accesses(hit.record)->first_access == 5 * size);
        atomic_fetch_add_explicit(&looked_up, 1, memory_order_relaxed);
    }
    atomic_fetch_sub(&cell->users, 1);
}

/* Of any other address nothing is known, also not whether its record is just being written; but it is a record of ours,
 * and nothing faults. */
static void look_up_anywhere(uint64_t *seed)
{
    uintptr_t address = pfa_range.base + random_below(seed, SLICES * SLICE);
    pfa_hit_t hit = {0, NULL};
    if (pfa_lookup(address, &hit)) {
        must(hit.start <= address && address - hit.start <= PFA_REGION_CHUNK_MAX);
        must(is_a_record(hit.record));
    }
}

static void *read_pages(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg + 50;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        look_up_handed(&handed[random_below(&seed, WRITERS)][random_below(&seed, HANDED)], &seed);
        look_up_anywhere(&seed);
    }
    return NULL;
}

static void open_range(void)
{
    static pfa_slice_t slices[SLICES];
    static pfa_record_unit_t units[SLICES / PFA_UNIT_SLICES + 1];
    pfa_range.wide = wide_records();
    pfa_range.wide_mask = wide_records() ? UINT64_MAX : 0;
    pfa_range.home_stride = PFA_RECORDS_PER_SLICE * pfa_range_record_size() + PFA_RECORD_GAP;
    pfa_range.region_span = pfa_range.region_max = pfa_range.total_span = SLICES * SLICE;
    void *space = mmap(NULL, SLICES * SLICE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(space != MAP_FAILED);
    pfa_range.base = ((uintptr_t)space + SLICE - 1) & ~(SLICE - 1);
    pfa_range.slices = slices;
    pfa_range.units = units;
    pfa_range.group_units = 2;
    must(pfa_extents_open(NULL) == 0);
}

int main(void)
{
    pthread_t writers[WRITERS];
    pthread_t readers[READERS];
    open_range();
    race_start(readers, READERS, read_pages);
    race_start(writers, WRITERS, write_pages);
    race_join(writers, WRITERS);
    atomic_store(&stop, true);
    race_join(readers, READERS);
    must(atomic_load(&looked_up) > 0);
    for (uint64_t at = 0; at < SLICES * SLICE; at += 8) {
        pfa_hit_t hit;
        must(!pfa_lookup(pfa_range.base + at, &hit)); /* all chunks are dead, and none is left over */
    }
    return 0;
}
