/* Where the chunks of records lie, for whoever walks an extent of records from its start: the picture in the process, the tool in
 * a live table. Descriptions of regions (PFA_RECORD_REGION of live.h) come in runs, each before the records of its regions: those of
 * the last run are kept.
 *
 * A process that goes on may describe another region meanwhile, when all chunks of the old one are dead. So whoever reads the memory
 * of a running process reads the description again after the record, and tells no address if it has changed (is_current of
 * export/picture.c). */
#ifndef PFA_EXPORT_FORMAT_REGIONS_H
#define PFA_EXPORT_FORMAT_REGIONS_H

#include "live.h"

#define PFA_REGIONS_RUN 64u /* more than any run has */

typedef struct pfa_place_region {
    uint64_t first; /* number of the first slot's record in the extent */
    uint64_t start; /* address of the first slot */
    uint64_t slots;
    uint64_t slot_size;
    uint64_t described; /* number of the record that says so */
    uint64_t told;      /* the caller's; 0 at first */
} pfa_place_region_t;

typedef struct pfa_regions {
    uint64_t next; /* the number of the record that another description of the run would have */
    uint32_t count;
    uint32_t last; /* the one that answered last */
    pfa_place_region_t list[PFA_REGIONS_RUN];
} pfa_regions_t;

/* Another extent begins. */
static inline void pfa_regions_begin(pfa_regions_t *regions)
{
    regions->next = UINT64_MAX;
    regions->count = 0;
    regions->last = 0;
}

/* The record of this number is a description. Regions that no address can have are left out. */
static inline void pfa_regions_take(pfa_regions_t *regions, uint64_t number, const pfa_live_record_t *record)
{
    uint64_t slot_size = record->size_flags >> PFA_RECORD_SIZE_SHIFT;
    uint64_t slots = record->stack;
    /* The slices of a run that have no region have no description: a run may have gaps. */
    if (regions->count == PFA_REGIONS_RUN || number >= regions->next + PFA_REGIONS_RUN || number < regions->next) {
        regions->count = 0;
        regions->last = 0;
    }
    regions->next = number + 1;
    if (slot_size == 0 || slot_size > UINT32_MAX || slots > UINT64_MAX / 2 / slot_size ||
        record->alloc_time > UINT64_MAX / 2) {
        return;
    }
    regions->list[regions->count++] = (pfa_place_region_t){.first = number + record->type_link,
                                                           .start = record->alloc_time,
                                                           .slots = slots,
                                                           .slot_size = slot_size,
                                                           .described = number};
}

/* The region of the record of this number; NULL: it is not known. */
static inline pfa_place_region_t *pfa_regions_find(pfa_regions_t *regions, uint64_t number)
{
    for (uint32_t i = 0; i < regions->count; i++) {
        uint32_t at = (regions->last + i) % regions->count;
        pfa_place_region_t *region = &regions->list[at];
        if (number - region->first < region->slots) {
            regions->last = at;
            return region;
        }
    }
    return 0;
}

/* Where the chunk of that record starts. */
static inline uint64_t pfa_regions_address(const pfa_place_region_t *region, uint64_t number, uint16_t lead)
{
    return region->start + (number - region->first) * region->slot_size + (uint64_t)lead * PFA_ADDRESS_UNIT;
}

#endif
