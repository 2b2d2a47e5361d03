/* Owns the reservations of alloc/range.h. */
#define _GNU_SOURCE 1 /* MAP_FIXED_NOREPLACE */
#include "alloc/range.h"
#include "alloc/places.h"
#include "base/atomic.h"
#include "base/lock.h"
#include "base/sys.h"
#include "export/format/live.h"
#include "meta/accesses.h"

#include <errno.h>
#include <sys/mman.h>

_Alignas(PFA_CACHE_LINE) pfa_range_t pfa_range;

#define GIB ((uint64_t)1 << 30)
#define PLAIN_SPAN_MAX (1024 * GIB)
#define PLAIN_ZONE_SIZE ((uint64_t)1 << PFA_PLAIN_ZONE_SHIFT)
/* Where D is put, somewhere, if it cannot be in its zone. */
#define PLAIN_ZONE_LOW ((uintptr_t)34 << 40)
_Static_assert(PFA_PLAIN_ZONE % PLAIN_ZONE_SIZE == 0, "known by its high bits");
#define REGION_SPAN_MIN (64 * GIB)
#define REGION_SPAN_MAX (1024 * GIB)
#define HEAPS_SPAN_MAX (336 * GIB) /* 10,752 segments; each costs 10 KiB of tables, if only in address space */
#define IN_WINDOW (PFA_WINDOW_BASE + 1024 * GIB) /* not at its start: who wants a place there takes that */

_Static_assert(IN_WINDOW + 5 * REGION_SPAN_MAX <= PFA_WINDOW_BASE + PFA_CELL_SIZE,
               "R and L fit in as they are by default");

/* The table of all of the cell. */
#define CELL_SLICES (PFA_CELL_SIZE >> PFA_SLICE_SHIFT)
#define CELL_SLICES_BEFORE ((IN_WINDOW - PFA_WINDOW_BASE) >> PFA_SLICE_SHIFT)
#define CELL_TABLE_SIZE (CELL_SLICES * sizeof(pfa_slice_t))

/* Reserves size bytes without access, aligned to a segment. */
static int reserve(uint64_t size, uintptr_t *base)
{
    void *memory;
    int err = pfa_sys_map(NULL, size + PFA_SEGMENT_SIZE, PROT_NONE, MAP_NORESERVE, &memory);
    if (err != 0) {
        return -err;
    }
    uintptr_t got = (uintptr_t)memory;
    *base = (got + PFA_SEGMENT_SIZE - 1) & ~(uintptr_t)(PFA_SEGMENT_SIZE - 1);
    if (*base != got) {
        (void)pfa_sys_unmap(memory, *base - got);
    }
    uintptr_t end = got + size + PFA_SEGMENT_SIZE;
    if (end != *base + size) {
        (void)pfa_sys_unmap((void *)(*base + size), end - (*base + size));
    }
    return 0;
}

static bool can_map(uintptr_t at)
{
    void *memory;
    if (pfa_sys_map((void *)at, PFA_SEGMENT_SIZE, PROT_NONE, MAP_NORESERVE | MAP_FIXED_NOREPLACE, &memory) != 0) {
        return false;
    }
    (void)pfa_sys_unmap(memory, PFA_SEGMENT_SIZE);
    return (uintptr_t)memory == at; /* not so: a kernel that does not know the flag */
}

/* Can we have addresses from base on? Nothing is reserved: by itself the kernel puts nothing there, and who comes to be there
 * nevertheless is noticed when a segment is mapped. */
static bool is_open(uintptr_t base, uint64_t size)
{
    return can_map(base) && can_map(base + size - PFA_SEGMENT_SIZE);
}

/* In the window, if nobody is there and the kernel lets us. */
static bool take_window(pfa_range_t *range)
{
    range->open =
        IN_WINDOW + range->total_span <= PFA_WINDOW_BASE + PFA_CELL_SIZE && is_open(IN_WINDOW, range->total_span);
    range->base = range->open ? IN_WINDOW : 0;
    return range->open;
}

static int map_table(uint64_t size, void **table)
{
    return -pfa_sys_map(NULL, size, PROT_READ | PROT_WRITE, MAP_NORESERVE, table);
}

/* What of the profiled range has slices: L only where accesses are recorded. */
static uint64_t table_size(const pfa_range_t *range)
{
    uint64_t span = range->wide ? range->total_span : range->region_span;
    return (span >> PFA_SLICE_SHIFT) * sizeof *range->slices;
}

/* With slices for the rest of the cell, which stay zeros, where address space is for the asking. */
static int map_whole_cell(pfa_range_t *range)
{
    void *table;
    if (range->base != IN_WINDOW || !range->wide || pfa_sys_address_limit() != UINT64_MAX ||
        pfa_sys_map(NULL, CELL_TABLE_SIZE, PROT_READ, MAP_NORESERVE, &table) != 0) {
        return ENOMEM;
    }
    pfa_slice_t *slices = (pfa_slice_t *)table + CELL_SLICES_BEFORE;
    int err = pfa_sys_protect(slices, table_size(range), PROT_READ | PROT_WRITE);
    if (err != 0) {
        (void)pfa_sys_unmap(table, CELL_TABLE_SIZE);
        return -err;
    }
    range->whole_cell = true;
    range->slices = slices;
    return 0;
}

static int map_slices(pfa_range_t *range)
{
    if (map_whole_cell(range) == 0) {
        return 0;
    }
    void *table = NULL;
    int err = map_table(table_size(range), &table);
    range->slices = table;
    return err;
}

/* --- tables that grow -------------------------------------------------------------------------------------------- */

/* They lie where nothing else does, as R itself: in the window, before R, with room for all of it. */
#define GROWING_SLICES (PFA_WINDOW_BASE + 256 * GIB)
#define GROWING_UNITS (PFA_WINDOW_BASE + 512 * GIB)
#define STEP_SPAN REGION_SPAN_MIN
enum { STEPS_MAX = REGION_SPAN_MAX / REGION_SPAN_MIN, YIELDS_MAX = 10000 };

/* The steps of a table, a bit for each. */
typedef struct steps {
    _Atomic uint32_t claimed; /* a thread is mapping it, or has */
    _Atomic uint32_t mapped;
} steps_t;
static steps_t slices_steps;
static steps_t units_steps;
_Static_assert(STEPS_MAX <= 32, "a bit for each step");

/* By the thread that has claimed it. */
static int map_claimed(void *at, uint64_t step_size)
{
    void *memory;
    int err = -pfa_sys_map(at, step_size, PROT_READ | PROT_WRITE, MAP_NORESERVE | MAP_FIXED_NOREPLACE, &memory);
    if (err == 0 && memory != at) { /* a kernel that does not know the flag */
        (void)pfa_sys_unmap(memory, step_size);
        return ENOMEM;
    }
    return err;
}

static int map_step(steps_t *steps, uintptr_t table, uint64_t step_size, uint32_t step)
{
    uint32_t bit = (uint32_t)1 << step;
    for (int i = 0; i < YIELDS_MAX; i++) {
        if ((pfa_load_acquire(&steps->mapped) & bit) != 0) {
            return 0;
        }
        if ((atomic_fetch_or_explicit(&steps->claimed, bit, memory_order_acq_rel) & bit) == 0) {
            int err = map_claimed((void *)(table + step * step_size), step_size);
            if (err == 0) {
                (void)atomic_fetch_or_explicit(&steps->mapped, bit, memory_order_release);
            } else {
                (void)atomic_fetch_and_explicit(&steps->claimed, ~bit, memory_order_release);
            }
            return err;
        }
        pfa_sys_yield(); /* another thread is about to say that it is there */
    }
    return ENOMEM;
}

/* What a thread of before was mapping may be there or not: if it is, R stays as long as it is, since it could be anybody's. */
static void forget_claims(steps_t *steps)
{
    pfa_store_relaxed(&steps->claimed, pfa_load_relaxed(&steps->mapped));
}

void pfa_range_after_fork(void)
{
    forget_claims(&slices_steps);
    forget_claims(&units_steps);
}

static uint64_t slices_step(void)
{
    return (STEP_SPAN >> PFA_SLICE_SHIFT) * sizeof(pfa_slice_t);
}

static uint64_t units_step(void)
{
    return pfa_places_units_size(STEP_SPAN);
}

/* The tables of the first steps, up to this one. */
static int map_steps(uint32_t last)
{
    int err = 0;
    for (uint32_t step = 0; step <= last && err == 0; step++) {
        err = map_step(&slices_steps, GROWING_SLICES, slices_step(), step);
        err = err != 0 ? err : map_step(&units_steps, GROWING_UNITS, units_step(), step);
    }
    return err;
}

/* Called by alloc/backing.c before it maps segments: those of R must have slices and units. */
static int reach(uintptr_t end)
{
    uint64_t wanted = end - pfa_range.base;
    uint64_t span = __atomic_load_n(&pfa_range.region_span, __ATOMIC_RELAXED);
    if (wanted <= span || wanted > pfa_range.region_max) { /* it is there, or this is no address of R */
        return 0;
    }
    uint64_t fresh = (wanted + STEP_SPAN - 1) / STEP_SPAN * STEP_SPAN;
    fresh = fresh < pfa_range.region_max ? fresh : pfa_range.region_max;
    int err = map_steps((uint32_t)((fresh - 1) / STEP_SPAN));
    /* Whoever has an address of what is added got it after this. */
    while (
        err == 0 && fresh > span &&
        !__atomic_compare_exchange_n(&pfa_range.region_span, &span, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    return err;
}

/* Can R begin with a part of its tables? Where accesses are recorded, modules know the whole of it from the start. */
static bool begin_growing(pfa_range_t *range)
{
    if (!range->open || range->wide || range->region_max <= STEP_SPAN || range->region_max > REGION_SPAN_MAX ||
        pfa_places_units_size(STEP_SPAN) % PFA_LIVE_PAGE != 0 || map_steps(0) != 0) {
        return false;
    }
    range->region_span = STEP_SPAN;
    range->slices = (pfa_slice_t *)GROWING_SLICES;
    range->units = (pfa_record_unit_t *)GROWING_UNITS;
    return true;
}

static int map_tables(pfa_range_t *range)
{
    if (begin_growing(range)) {
        return 0;
    }
    void *units = NULL;
    int err = map_slices(range);
    err = err != 0 ? err : map_table(pfa_places_units_size(range->region_span), &units);
    range->units = units;
    return err;
}

static void release(uintptr_t base, uint64_t size)
{
    if (base != 0) {
        (void)pfa_sys_unmap((void *)base, size);
    }
}

static uint64_t power_of_two_below(uint64_t value)
{
    return value == 0 ? 0 : (uint64_t)1 << (63 - __builtin_clzll(value));
}

static bool have_plain(uintptr_t base, uint64_t span, bool open)
{
    if (pfa_backing_add_space((void *)base, span, false, open) == 0) {
        return false;
    }
    pfa_range.plain_base = base;
    pfa_range.plain_span = span;
    return true;
}

/* As much as the machine can ever need, or what can be had. */
static void reserve_plain(void)
{
    uint64_t span = 4 * power_of_two_below(2 * pfa_sys_ram());
    span = span < REGION_SPAN_MIN ? REGION_SPAN_MIN : span > PLAIN_SPAN_MAX ? PLAIN_SPAN_MAX : span;
    for (; span >= 4 * GIB; span /= 4) {
        uintptr_t base;
        if (reserve(span, &base) != 0) {
            continue;
        }
        if (!have_plain(base, span, false)) {
            release(base, span);
        }
        return;
    }
}

/* Somewhere in a zone of PLAIN_ZONE_SIZE. */
static bool open_plain_in(uintptr_t zone)
{
    enum { TRIES = 4 };
    uint64_t places = (PLAIN_ZONE_SIZE - PLAIN_SPAN_MAX) / PFA_SEGMENT_SIZE;
    for (int i = 0; i < TRIES; i++) {
        uintptr_t base = zone + pfa_sys_random() % places * PFA_SEGMENT_SIZE;
        if (is_open(base, PLAIN_SPAN_MAX)) {
            return have_plain(base, PLAIN_SPAN_MAX, true);
        }
    }
    return false;
}

void pfa_range_open_plain(void)
{
    if (open_plain_in(PFA_PLAIN_ZONE) || open_plain_in(PLAIN_ZONE_LOW)) {
        return;
    }
    if (pfa_sys_address_limit() == UINT64_MAX) {
        /* Under a limit on address space the program needs what there is: then it is left to mimalloc's small steps. */
        reserve_plain();
    }
}

static uint64_t between(uint64_t least, uint64_t value, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Twice the memory there is. */
static uint64_t span_for_memory(void)
{
    return between(REGION_SPAN_MIN, 2 * power_of_two_below(2 * pfa_sys_ram()), REGION_SPAN_MAX);
}

/* Each thread that allocates has a segment of its own, of which it may use a few pages: one for each half MiB of memory, which
 * is what thread and records take at least, is 10,000 threads in 8 GiB. The tables are as long as R is big, and so is the file of
 * the records, though nearly all of them holes: under a limit on either R is left at what memory needs. */
static uint64_t span_for_heaps(void)
{
    bool limited = pfa_sys_file_limit() != UINT64_MAX || pfa_sys_data_limit() != UINT64_MAX;
    return between(REGION_SPAN_MIN, limited ? 0 : 64 * power_of_two_below(2 * pfa_sys_ram()), HEAPS_SPAN_MAX);
}

/* The size of R to try first: what memory or threads can need, or under a limit on address space so little that all of the
 * profiled range takes at most a third of what is allowed (R, 2.8 or 5.4 times R for records, and twice R for large chunks),
 * if it is all used. */
static uint64_t wanted_region_span(bool wide)
{
    uint64_t limit = pfa_sys_address_limit();
    if (limit != UINT64_MAX) {
        return power_of_two_below(limit / (wide ? 28 : 20));
    }
    uint64_t memory = span_for_memory();
    uint64_t heaps = span_for_heaps();
    return memory > heaps ? memory : heaps;
}

/* The size of L that goes with it. */
static uint64_t wanted_large_span(uint64_t region)
{
    if (pfa_sys_address_limit() != UINT64_MAX) {
        return 2 * region;
    }
    uint64_t memory = span_for_memory();
    return 4 * (region < memory ? region : memory);
}

static void close_profiled(pfa_range_t *range)
{
    if (!range->open) {
        release(range->base, range->total_span);
    }
    if (range->whole_cell) {
        release((uintptr_t)(range->slices - CELL_SLICES_BEFORE), CELL_TABLE_SIZE);
    } else if (range->slices != (pfa_slice_t *)GROWING_SLICES) { /* else the next attempt has them */
        release((uintptr_t)range->slices, table_size(range));
    }
    pfa_intervalmap_close(&range->large);
    if (range->units != (pfa_record_unit_t *)GROWING_UNITS) {
        release((uintptr_t)range->units, pfa_places_units_size(range->region_span));
    }
}

/* `full` is how much of R is expected to be full of chunks; of the rest each segment has a few. */
static int try_profiled(uint64_t region_span, uint64_t full, uint64_t large_span, bool wide)
{
    pfa_range_t fresh = {.region_span = region_span,
                         .region_max = region_span,
                         .total_span = region_span + large_span,
                         .wide_mask = wide ? UINT64_MAX : 0,
                         .wide = wide,
                         .home_stride = PFA_RECORDS_PER_SLICE * pfa_record_size(wide) + PFA_RECORD_GAP};
    fresh.group_units = pfa_places_group(full);
    int err = take_window(&fresh) ? 0 : reserve(fresh.total_span, &fresh.base);
    err = err != 0 ? err : map_tables(&fresh);
    err = err != 0 ? err : pfa_intervalmap_open(&fresh.large, fresh.base + region_span, large_span);
    if (err != 0) {
        close_profiled(&fresh);
        return err;
    }
    /* An arena cannot be taken back, so these come last; a failure of the second leaves large chunks to the second
     * level of the interval map. */
    fresh.region_arena = pfa_backing_add_space((void *)fresh.base, region_span, true, fresh.open);
    if (fresh.region_arena == 0) {
        close_profiled(&fresh);
        return ENOMEM;
    }
    fresh.large_arena = pfa_backing_add_space((void *)(fresh.base + region_span), large_span, true, fresh.open);
    fresh.plain_base = pfa_range.plain_base;
    fresh.plain_span = pfa_range.plain_span;
    pfa_range = fresh;
    pfa_backing_reach = reach;
    pfa_accesses_kept = wide;
    return 0;
}

static uint64_t whole_segments(uint64_t size)
{
    return (size + PFA_SEGMENT_SIZE - 1) & ~(uint64_t)(PFA_SEGMENT_SIZE - 1);
}

int pfa_range_open_profiled(uint64_t region_size, uint64_t large_size, bool wide)
{
    pfa_lock(PFA_LOCK_RANGE);
    int err = 0;
    if (pfa_range.total_span == 0) {
        uint64_t region = region_size != 0 ? whole_segments(region_size) : wanted_region_span(wide);
        err = ENOMEM;
        for (; err != 0 && region >= PFA_SEGMENT_SIZE; region /= 2) {
            uint64_t large = large_size != 0 ? large_size : wanted_large_span(region);
            uint64_t full = region_size != 0 || region < span_for_memory() ? region : span_for_memory();
            err = try_profiled(whole_segments(region), full, whole_segments(large), wide);
        }
    }
    pfa_unlock(PFA_LOCK_RANGE);
    return err;
}
