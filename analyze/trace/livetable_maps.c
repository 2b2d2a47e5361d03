/* Owns the reading of maps of accesses out of a live table. See analyze/trace/livetable.h. */
#include "analyze/trace/blocks.h"
#include "analyze/trace/livetable.h"
#include "analyze/trace/maps.h"
#include "analyze/base/memory.h"

#include <errno.h>
#include <stdlib.h>

bool pfa_livetable_has_maps(const pfa_livetable_t *table)
{
    for (size_t i = 0; i < table->extent_count; i++) {
        if (table->extents[i].kind == PFA_EXTENT_MAPS) {
            return true;
        }
    }
    return false;
}

/* One behind the other, to the first that has no words yet. */
static int read_extent(const pfa_livetable_t *table, const pfa_live_extent_t *extent, void *counters,
                       pfa_live_map_visit_t *visit, void *to)
{
    pfa_access_map_t head;
    for (uint64_t at = 0; extent->size - at >= sizeof head;) {
        int error =
            pfa_file_read(pfa_livetable_fd(table, extent), &head, sizeof head, pfa_livetable_offset(extent) + at);
        if (error != 0 || head.words == 0) {
            return error;
        }
        at += sizeof head;
        if (head.words > PFA_MAP_WORDS_MAX || extent->size - at < pfa_map_size(head.words)) {
            return EBADMSG;
        }
        error = pfa_file_read(pfa_livetable_fd(table, extent), counters, pfa_map_size(head.words),
                              pfa_livetable_offset(extent) + at);
        at += pfa_map_size(head.words);
        if (error != 0) {
            return error;
        }
        if (!visit(to, &head, counters)) {
            return EBADMSG;
        }
    }
    return 0;
}

int pfa_livetable_maps(const pfa_livetable_t *table, pfa_live_map_visit_t *visit, void *to)
{
    void *counters = pfa_memory_get(pfa_map_size(PFA_MAP_WORDS_MAX), 1);
    int error = 0;
    for (size_t i = 0; i < table->extent_count; i++) {
        if (table->extents[i].kind == PFA_EXTENT_MAPS) {
            int failed = read_extent(table, &table->extents[i], counters, visit, to);
            error = error != 0 ? error : failed;
        }
    }
    pfa_memory_free(counters);
    return error;
}
