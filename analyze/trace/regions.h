/* The regions of a picture: from the address of a chunk to the slots that it lies among. Filled by REGIONS blocks, which come before
 * the chunks, in the order of the file; those of another picture replace them. */
#ifndef PFA_ANALYZE_TRACE_REGIONS_H
#define PFA_ANALYZE_TRACE_REGIONS_H

#include "export/format/trace.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a chunk lies, as far as it is known. */
typedef struct pfa_live_place {
    uint64_t address;   /* 0: not known */
    uint64_t region;    /* address of the first slot of its region; 0: not known, or it is large */
    uint32_t slot_size; /* 0 likewise */
    uint32_t slots;
} pfa_live_place_t;

typedef struct pfa_region_list {
    uint32_t picture;
    bool sorted;
    pfa_trace_region_t *list;
    size_t count;
    size_t room;
} pfa_region_list_t;

/* The payload of a block. False: it makes no sense. */
bool pfa_region_list_take(pfa_region_list_t *regions, const void *payload, size_t size);
/* The place of a chunk of this picture. */
pfa_live_place_t pfa_region_list_find(pfa_region_list_t *regions, uint32_t picture, uint64_t address);
void pfa_region_list_free(pfa_region_list_t *regions);

#endif
