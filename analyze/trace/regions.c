/* Owns the look-up of regions. See analyze/trace/regions.h. */
#include "analyze/trace/regions.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

bool pfa_region_list_take(pfa_region_list_t *regions, const void *payload, size_t size)
{
    pfa_trace_regions_t head;
    if (size < sizeof head) {
        return false;
    }
    memcpy(&head, payload, sizeof head);
    if (head.count > (size - sizeof head) / sizeof *regions->list) {
        return false;
    }
    if (head.picture != regions->picture) {
        regions->count = 0;
        regions->picture = head.picture;
    }
    regions->list = pfa_memory_grow(regions->list, &regions->room, regions->count + head.count, sizeof *regions->list);
    memcpy(regions->list + regions->count, (const char *)payload + sizeof head, head.count * sizeof *regions->list);
    regions->count += head.count;
    regions->sorted = false;
    return true;
}

static int compare_starts(const void *a, const void *b)
{
    uint64_t left = ((const pfa_trace_region_t *)a)->start;
    uint64_t right = ((const pfa_trace_region_t *)b)->start;
    return left < right ? -1 : left > right;
}

pfa_live_place_t pfa_region_list_find(pfa_region_list_t *regions, uint32_t picture, uint64_t address)
{
    pfa_live_place_t place = {.address = address};
    size_t low = 0;
    size_t high = regions->picture == picture ? regions->count : 0;
    if (!regions->sorted && high != 0) {
        qsort(regions->list, regions->count, sizeof *regions->list, compare_starts);
        regions->sorted = true;
    }
    while (low < high) { /* the last that begins there or before */
        size_t middle = (low + high) / 2;
        if (regions->list[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return place;
    }
    const pfa_trace_region_t *region = &regions->list[low - 1];
    if (region->slot_size != 0 && (address - region->start) / region->slot_size < region->slots) {
        place.region = region->start;
        place.slot_size = region->slot_size;
        place.slots = region->slots;
    }
    return place;
}

void pfa_region_list_free(pfa_region_list_t *regions)
{
    pfa_memory_free(regions->list);
    *regions = (pfa_region_list_t){.count = 0};
}
