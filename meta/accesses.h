/* Accesses as far as everyone must know of them, and the maps of words.
 *
 * A map counts, for an allocation point, the accesses to each 8-byte word of its chunks: only with the option access_map.
 * Maps lie in the live table (PFA_EXTENT_MAPS of export/format/live.h) and are only ever added to. Any thread, at any time,
 * also in a signal handler, may call pfa_access_map_add: it takes no lock and allocates no memory of the program's; where
 * there is no room for another map the counts are dropped, and pfa_access_maps_dropped says so. */
#ifndef PFA_META_ACCESSES_H
#define PFA_META_ACCESSES_H

#include "export/format/live.h"

#include <stdbool.h>
#include <stdint.h>

/* Do records have room for accesses? Set when the profiled range is made, and never changed. */
extern bool pfa_accesses_kept;
/* Modules with callbacks that there were so far. */
extern _Atomic uint64_t pfa_accesses_modules;
/* Of these, the ones whose accesses come joined to ranges (`merged` of hooks/access/view.h). */
extern _Atomic uint64_t pfa_accesses_merged;

/* n reads and m writes (as the record counts them: n + (m << 32)) of `size` bytes at `offset` of a chunk of `chunk_size`
 * bytes of that stack. */
void pfa_access_map_add(uint32_t stack, uint64_t chunk_size, uint64_t offset, uint64_t size, uint64_t counts);
/* Hands all maps to `take`, in the order in which they were made. */
void pfa_access_maps(void (*take)(const pfa_access_map_t *map, void *context), void *context);
/* How long a map is, with its counters. */
static inline uint64_t pfa_access_map_size(uint32_t words)
{
    return sizeof(pfa_access_map_t) + 2 * sizeof(uint64_t) * (uint64_t)words;
}
/* Accesses that found no room for a map. */
uint64_t pfa_access_maps_dropped(void);
/* For another trace: all counters begin at 0 again. In a fork child there are no maps yet. */
void pfa_access_maps_begin_again(void);
void pfa_access_maps_after_fork(void);

#endif
