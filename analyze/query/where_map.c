/* Owns the growing of maps. See analyze/query/where_map.h. */
#include "analyze/query/where_map.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

static void put(pfa_where_map_t *map, uint64_t key, uint32_t value)
{
    size_t slot = pfa_where_map_slot(map, key);
    while (map->entries[slot].key != 0) {
        slot = (slot + 1) & (map->entry_count - 1);
    }
    map->entries[slot] = (pfa_where_map_entry_t){.key = key + 1, .value = value};
}

static void grow(pfa_where_map_t *map)
{
    pfa_where_map_entry_t *old = map->entries;
    size_t old_count = map->entry_count;
    map->entry_count = old_count != 0 ? old_count * 2 : 64;
    map->entries = pfa_memory_get(map->entry_count, sizeof *map->entries);
    for (size_t i = 0; i < old_count; i++) {
        if (old[i].key != 0) {
            put(map, old[i].key - 1, old[i].value);
        }
    }
    pfa_memory_free(old);
}

void pfa_where_map_put(pfa_where_map_t *map, uint64_t key, uint32_t value)
{
    if (map->count * 2 >= map->entry_count) {
        grow(map);
    }
    put(map, key, value);
    map->count++;
}

void pfa_where_map_free(pfa_where_map_t *map)
{
    pfa_memory_free(map->entries);
    *map = (pfa_where_map_t){.entries = NULL};
}
