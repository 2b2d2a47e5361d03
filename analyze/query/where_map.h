/* Numbers by numbers. What is looked up per kind is inline. */
#ifndef PFA_ANALYZE_QUERY_WHERE_MAP_H
#define PFA_ANALYZE_QUERY_WHERE_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct pfa_where_map_entry {
    uint64_t key; /* + 1; 0: free */
    uint32_t value;
} pfa_where_map_entry_t;

typedef struct pfa_where_map {
    pfa_where_map_entry_t *entries; /* a power of two of them, or none */
    size_t entry_count;
    size_t count;
} pfa_where_map_t;

enum { PFA_WHERE_MAP_NONE = -1 };

/* Keys below UINT64_MAX that are not there yet. */
void pfa_where_map_put(pfa_where_map_t *map, uint64_t key, uint32_t value);
void pfa_where_map_free(pfa_where_map_t *map);

static inline size_t pfa_where_map_slot(const pfa_where_map_t *map, uint64_t key)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15;
    return (hash ^ hash >> 32) & (map->entry_count - 1);
}

/* The value of a key, or PFA_WHERE_MAP_NONE. */
static inline int64_t pfa_where_map_find(const pfa_where_map_t *map, uint64_t key)
{
    if (map->entry_count == 0) {
        return PFA_WHERE_MAP_NONE;
    }
    for (size_t slot = pfa_where_map_slot(map, key);; slot = (slot + 1) & (map->entry_count - 1)) {
        const pfa_where_map_entry_t *entry = &map->entries[slot];
        if (entry->key == key + 1) {
            return entry->value;
        }
        if (entry->key == 0) {
            return PFA_WHERE_MAP_NONE;
        }
    }
}

#endif
