/* Maps of accesses (pfa_access_map_t of export/format/live.h): how often each 8-byte word of the chunks of an allocation point
 * was read and written. A trace has them by stack and length, told again and again, of which the last counts; a report adds
 * up all of a point. */
#ifndef PFA_ANALYZE_TRACE_MAPS_H
#define PFA_ANALYZE_TRACE_MAPS_H

#include "analyze/trace/blocks.h"
#include "export/format/live.h"

/* The largest that the option access_map_size allows. */
enum { PFA_MAP_WORDS_MAX = (64 << 10) / 8 };

typedef struct pfa_map {
    uint32_t stack;
    uint32_t words;
    uint64_t *counters; /* reads of all words, then writes of all */
} pfa_map_t;

typedef struct pfa_maps {
    pfa_map_t *list;
    size_t count;
    size_t room;
    uint32_t *slots; /* the number in the list and one, by stack and length */
    size_t slot_count;
    uint64_t kept; /* bytes of counters */
} pfa_maps_t;

static inline size_t pfa_map_size(uint32_t words)
{
    return (size_t)words * 2 * sizeof(uint64_t);
}

/* Stores one in place of the one of the same stack and length. False: it makes no sense, or would be more than `most` bytes
 * of all together. */
bool pfa_maps_put(pfa_maps_t *maps, uint32_t stack, uint32_t words, const void *counters, uint64_t most);
/* All of a MAPS block. False: it makes no sense, from some place on. */
bool pfa_maps_take(pfa_maps_t *maps, pfa_cursor_t cursor, uint64_t most);
/* Forgets all. */
void pfa_maps_free(pfa_maps_t *maps);

/* Adds one of any length to a sum, which is zeros at first. What is over 64 bits stays at their end. */
void pfa_map_add(pfa_map_t *sum, const pfa_map_t *map);

#endif
