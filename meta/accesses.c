/* Owns what is known of accesses beside the records: the threads' clocks, hints of what is usual, the last readings of the clock by
 * chunk, and the maps of words. See meta/accesses.h.
 *
 * A map is found by its stack and its length (a power of two of words), in a hash table of pointers that is only ever
 * added to, by compare-and-swap; of two threads that make the same map one gives its own up, which stays empty. */
#include "meta/accesses.h"
#include "base/atomic.h"
#include "base/options.h"
#include "meta/accessthread.h"
#include "meta/extents.h"
#include "meta/reading.h"
#include "meta/usual.h"

#include <string.h>

enum { SLOTS = 65536, TRIES = 64, EXTENTS = 1024, EXTENT_SIZE = 1024 * 1024 };
_Static_assert(EXTENT_SIZE % PFA_LIVE_PAGE == 0, "extents are whole pages");

bool pfa_accesses_kept;
_Atomic uint64_t pfa_accesses_modules;
_Atomic uint64_t pfa_accesses_merged;

PFA_THREAD_LOCAL pfa_access_thread_t pfa_access_thread = {.number = PFA_ACCESS_NOBODY};
pfa_reading_t pfa_readings[PFA_READINGS];
uint64_t pfa_usual[1u << PFA_USUAL_BITS];
uint64_t pfa_usual_died[1u << PFA_USUAL_BITS];

static _Atomic(pfa_access_map_t *) slots[SLOTS];
static _Atomic(char *) extents[EXTENTS];
/* Which extent is being filled, and in the lower half how far. */
static _Atomic uint64_t filled;
static _Atomic uint64_t dropped;

static bool make_extent(uint32_t index)
{
    void *memory;
    uint32_t extent;
    char *none = NULL;
    if (index >= EXTENTS || pfa_extents_add(PFA_EXTENT_MAPS, index, EXTENT_SIZE, NULL, &memory, &extent) != 0) {
        return false;
    }
    if (pfa_extents_make_room(extent, 0, EXTENT_SIZE) != 0) {
        return false;
    }
    return pfa_cas_acq_rel(&extents[index], &none, (char *)memory) || none != NULL; /* else another thread's is used */
}

static pfa_access_map_t *make_map(uint32_t words)
{
    uint64_t size = pfa_access_map_size(words);
    uint64_t at = pfa_load_acquire(&filled);
    for (;;) {
        uint32_t index = (uint32_t)(at >> 32);
        uint32_t used = (uint32_t)at;
        if (index >= EXTENTS) {
            return NULL;
        }
        char *memory = pfa_load_acquire(&extents[index]);
        if (memory == NULL) {
            if (!make_extent(index)) {
                return NULL;
            }
            continue;
        }
        bool fits = used + size <= EXTENT_SIZE;
        uint64_t next = fits ? at + size : (uint64_t)(index + 1) << 32;
        if (pfa_cas_weak_acq_rel(&filled, &at, next)) {
            if (fits) {
                return (pfa_access_map_t *)(void *)(memory + used);
            }
            at = next;
        }
    }
}

static uint32_t words_of(uint64_t chunk_size)
{
    uint64_t words = (chunk_size + 7) / 8;
    return words <= 1 ? 1 : 1u << (64 - __builtin_clzll(words - 1));
}

static bool is(const pfa_access_map_t *map, uint32_t stack, uint32_t words)
{
    return __atomic_load_n(&map->stack, __ATOMIC_RELAXED) == stack &&
           __atomic_load_n(&map->words, __ATOMIC_RELAXED) == words;
}

static pfa_access_map_t *find_map(uint32_t stack, uint32_t words)
{
    uint32_t hash = (stack * 0x9e3779b1u) ^ (words * 0x85ebca6bu);
    for (uint32_t i = 0; i < TRIES; i++) {
        _Atomic(pfa_access_map_t *) *slot = &slots[((hash >> 16 ^ hash) + i) % SLOTS];
        pfa_access_map_t *map = pfa_load_acquire(slot); /* partner: the compare-and-swap below */
        if (map == NULL) {
            pfa_access_map_t *fresh = make_map(words);
            if (fresh == NULL) {
                return NULL;
            }
            /* At once: whoever walks the maps stops at one without words. */
            __atomic_store_n(&fresh->words, words, __ATOMIC_RELAXED);
            __atomic_store_n(&fresh->stack, stack, __ATOMIC_RELEASE); /* partner: readers of the live table */
            if (pfa_cas_acq_rel(slot, &map, fresh)) {
                return fresh;
            }
        }
        if (is(map, stack, words)) {
            return map;
        }
    }
    return NULL;
}

static void add(uint64_t *counters, uint64_t first, uint64_t last, uint64_t amount)
{
    for (uint64_t i = first; amount != 0 && i <= last; i++) {
        __atomic_fetch_add(&counters[i], amount, __ATOMIC_RELAXED);
    }
}

void pfa_access_map_add(uint32_t stack, uint64_t chunk_size, uint64_t offset, uint64_t size, uint64_t counts)
{
    if (chunk_size > pfa_options.access_map_size || offset >= chunk_size || size == 0) {
        return;
    }
    uint32_t words = words_of(chunk_size);
    pfa_access_map_t *map = find_map(stack, words);
    if (map == NULL) {
        pfa_add_relaxed(&dropped, 1);
        return;
    }
    uint64_t last = (offset + size - 1) / 8;
    last = last < words ? last : words - 1;
    uint64_t *reads = (uint64_t *)(void *)(map + 1);
    /* Of a run of n equal pieces, as the Clang pass tells of a loop, each word has its share. */
    uint64_t touched = last - offset / 8 + 1;
    uint64_t n = (uint32_t)counts;
    uint64_t m = counts >> 32;
    add(reads, offset / 8, last, n > touched ? n / touched : n != 0);
    add(reads + words, offset / 8, last, m > touched ? m / touched : m != 0);
}

void pfa_access_maps(void (*take)(const pfa_access_map_t *map, void *context), void *context)
{
    uint64_t end = pfa_load_acquire(&filled);
    for (uint32_t index = 0; index <= (uint32_t)(end >> 32) && index < EXTENTS; index++) {
        const char *memory = pfa_load_acquire(&extents[index]);
        uint64_t used = 0;
        while (memory != NULL && used + sizeof(pfa_access_map_t) <= EXTENT_SIZE) {
            const pfa_access_map_t *map = (const pfa_access_map_t *)(const void *)(memory + used);
            uint32_t words = __atomic_load_n(&map->words, __ATOMIC_ACQUIRE);
            if (words == 0 || used + pfa_access_map_size(words) > EXTENT_SIZE) {
                break; /* or one that is just being made */
            }
            take(map, context);
            used += pfa_access_map_size(words);
        }
    }
}

uint64_t pfa_access_maps_dropped(void)
{
    return pfa_load_relaxed(&dropped);
}

static void clear(const pfa_access_map_t *map, void *context)
{
    (void)context;
    memset((void *)(uintptr_t)(map + 1), 0, pfa_access_map_size(map->words) - sizeof *map);
}

void pfa_access_maps_begin_again(void)
{
    pfa_access_maps(clear, NULL);
}

void pfa_access_maps_after_fork(void)
{
    if (pfa_load_relaxed(&filled) == 0) {
        return; /* most have none, and this is much memory */
    }
    memset(slots, 0, sizeof slots);
    pfa_store_relaxed(&filled, 0); /* the extents are there, and empty */
}
