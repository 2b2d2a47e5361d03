/* Owns the change from the parent's records to the child's own. See alloc/inherit.h. */
#include "alloc/inherit.h"
#include "alloc/places.h"
#include "meta/depot.h"
#include "meta/extents.h"

#include <errno.h>

/* Of a table in memory as well: what is in use of records that no file holds can only be read before. */
static int make_room(void)
{
    uint32_t count = pfa_load_relaxed(&pfa_extents_head->extent_count);
    int err = 0;
    for (uint32_t i = 0; i < count && err == 0; i++) {
        const pfa_live_extent_t *extent = &pfa_extents_head->extents[i];
        if (extent->kind == PFA_EXTENT_NODES) {
            pfa_depot_know(extent->index, pfa_extents_at(i));
        }
        if (extent->kind != PFA_EXTENT_RECORDS) {
            err = extent->kind == PFA_EXTENT_NONE ? 0 : pfa_extents_make_room(i, 0, extent->size);
            continue;
        }
        err = pfa_places_make_room(i, extent->index);
    }
    return err;
}

int pfa_inherit(const char *path)
{
    int err = pfa_extents_reopen(path);
    pfa_range.inherited = true;
    if (err == ENOMEM) {
        return err;
    }
    bool has_room = make_room() == 0;
    if (!has_room && pfa_extents_shared()) { /* the disk: then in memory */
        pfa_extents_unlink();
        err = ENOSPC;
        has_room = pfa_extents_reopen(NULL) == 0 && make_room() == 0;
    }
    return has_room ? err : ENOMEM;
}
