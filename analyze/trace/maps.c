/* Owns maps of accesses in memory. See analyze/trace/maps.h. */
#include "analyze/trace/maps.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const pfa_maps_t *maps, uint32_t stack, uint32_t words)
{
    uint64_t hash = ((uint64_t)words << 32 | stack) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32) & (maps->slot_count - 1);
}

/* Where it is, or where it is to be put. There is always a free slot. */
static uint32_t *find_slot(const pfa_maps_t *maps, uint32_t stack, uint32_t words)
{
    size_t slot = slot_of(maps, stack, words);
    for (;; slot = (slot + 1) & (maps->slot_count - 1)) {
        uint32_t entry = maps->slots[slot];
        if (entry == 0 || (maps->list[entry - 1].stack == stack && maps->list[entry - 1].words == words)) {
            return &maps->slots[slot];
        }
    }
}

static void make_slots(pfa_maps_t *maps)
{
    if (2 * (maps->count + 1) <= maps->slot_count) {
        return;
    }
    pfa_memory_free(maps->slots);
    maps->slot_count = maps->slot_count != 0 ? 4 * maps->slot_count : 64;
    maps->slots = pfa_memory_get(maps->slot_count, sizeof *maps->slots);
    for (size_t i = 0; i < maps->count; i++) {
        *find_slot(maps, maps->list[i].stack, maps->list[i].words) = (uint32_t)i + 1;
    }
}

bool pfa_maps_put(pfa_maps_t *maps, uint32_t stack, uint32_t words, const void *counters, uint64_t most)
{
    size_t size = pfa_map_size(words);
    if (words == 0 || words > PFA_MAP_WORDS_MAX) {
        return false;
    }
    make_slots(maps);
    uint32_t *slot = find_slot(maps, stack, words);
    if (*slot == 0) {
        if (most < maps->kept || size > most - maps->kept) {
            return false;
        }
        maps->list = pfa_memory_grow(maps->list, &maps->room, maps->count + 1, sizeof *maps->list);
        maps->list[maps->count] = (pfa_map_t){.stack = stack, .words = words, .counters = pfa_memory_get(size, 1)};
        *slot = (uint32_t)++maps->count;
        maps->kept += size;
    }
    memcpy(maps->list[*slot - 1].counters, counters, size);
    return true;
}

bool pfa_maps_take(pfa_maps_t *maps, pfa_cursor_t cursor, uint64_t most)
{
    pfa_access_map_t head;
    while (pfa_cursor_copy(&cursor, &head, sizeof head)) {
        const void *counters =
            head.words <= PFA_MAP_WORDS_MAX ? pfa_cursor_take(&cursor, pfa_map_size(head.words)) : NULL;
        if (counters == NULL || !pfa_maps_put(maps, head.stack, head.words, counters, most)) {
            return false;
        }
    }
    return cursor.left == 0;
}

void pfa_maps_free(pfa_maps_t *maps)
{
    for (size_t i = 0; i < maps->count; i++) {
        pfa_memory_free(maps->list[i].counters);
    }
    pfa_memory_free(maps->list);
    pfa_memory_free(maps->slots);
    *maps = (pfa_maps_t){.list = NULL};
}

static void add_counters(uint64_t *to, const uint64_t *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[i] > UINT64_MAX - to[i] ? UINT64_MAX : to[i] + from[i];
    }
}

void pfa_map_add(pfa_map_t *sum, const pfa_map_t *map)
{
    if (map->words > sum->words) {
        uint64_t *longer = pfa_memory_get(pfa_map_size(map->words), 1);
        for (uint32_t i = 0; sum->words != 0 && i < 2; i++) {
            memcpy(longer + (size_t)i * map->words, sum->counters + (size_t)i * sum->words,
                   sum->words * sizeof *longer);
        }
        pfa_memory_free(sum->counters);
        sum->counters = longer;
        sum->words = map->words;
    }
    add_counters(sum->counters, map->counters, map->words);
    add_counters(sum->counters + sum->words, map->counters + map->words, map->words);
}
