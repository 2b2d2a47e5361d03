/* Owns what a fork child does with its parent's live table. The child is alone; its parent's other threads may have been in the
 * middle of adding extents, and go on adding to the same head until the child has left it. See meta/extents.h. */
#include "base/sys.h"
#include "meta/extents_table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define table pfa_extents_table

/* In a fork child: rings and folds are not, they tell of the parent. */
static bool is_kept(const pfa_live_extent_t *extent)
{
    return extent->kind != PFA_EXTENT_RING && extent->kind != PFA_EXTENT_RINGS && extent->kind != PFA_EXTENT_FOLDS &&
           extent->kind != PFA_EXTENT_NONE;
}

/* These only grow, so what the child sees of the parent's is what it knew at the fork, and more. */
static bool keeps_content(const pfa_live_extent_t *extent)
{
    return extent->kind == PFA_EXTENT_NODES || extent->kind == PFA_EXTENT_TAGS || extent->kind == PFA_EXTENT_TYPES;
}

/* How much of it is in use, of the nodes that there are. */
static size_t content_size(const pfa_live_extent_t *extent, uint32_t nodes)
{
    uint64_t first = (uint64_t)extent->index * PFA_LIVE_NODES;
    if (extent->kind != PFA_EXTENT_NODES || nodes >= first + PFA_LIVE_NODES) {
        return extent->size;
    }
    return nodes > first ? (nodes - first) * sizeof(pfa_live_node_t) : 0;
}

enum { CONTENT_LOST = -1 };

/* If it fails, what was there is there still, in memory that is the child's alone. */
static int remake_with_content(const pfa_live_extent_t *old, void *at, size_t size)
{
    void *copy;
    void *got;
    uint32_t number;
    int err = -pfa_sys_map(NULL, size + 1, PROT_READ | PROT_WRITE, 0, &copy);
    if (err != 0) {
        return err;
    }
    memcpy(copy, at, size);
    err = pfa_extents_place((pfa_extent_kind_t)old->kind, old->index, old->size, &at, &number);
    err = err != 0 ? err : pfa_extents_make_room(number, 0, old->size);
    if (err != 0 && pfa_sys_map(at, old->size, PROT_READ | PROT_WRITE, MAP_FIXED, &got) != 0) {
        err = CONTENT_LOST;
    }
    if (err != CONTENT_LOST) {
        memcpy(at, copy, size);
    }
    (void)pfa_sys_unmap(copy, size + 1);
    return err;
}

/* Not unmapped: the handler that forked may return to where its thread stores to a ring. */
static void leave_to_nobody(void *at, size_t size)
{
    void *got;
    if (pfa_sys_map(at, size, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_NORESERVE, &got) != 0) {
        (void)pfa_sys_unmap(at, size);
    }
}

/* Rings and folds become nobody's memory, private to the child; the others get their place in the new file. */
static int remake_extents(const pfa_live_extent_t *old, uint32_t count, uint32_t nodes)
{
    int err = 0;
    for (uint32_t i = 0; i < count && err == 0; i++) {
        void *at = table.at[i];
        uint32_t number;
        if (at != NULL && keeps_content(&old[i])) {
            err = remake_with_content(&old[i], at, content_size(&old[i], nodes));
        } else if (at != NULL && is_kept(&old[i]) && !table.is_twin[i]) {
            err = pfa_extents_place((pfa_extent_kind_t)old[i].kind, old[i].index, old[i].size, &at, &number);
        } else {
            /* Its number stays taken: others know theirs. */
            pfa_store_relaxed(&pfa_extents_head->extent_count, i + 1);
            table.at[i] = NULL;
            if (at != NULL && !table.is_twin[i]) { /* twins were mapped over by what they are twins of */
                leave_to_nobody(at, old[i].size);
            }
            table.is_twin[i] = false;
        }
    }
    return err;
}

/* The parent may have added some since the fork, where the child has no memory. */
static uint32_t known_nodes(uint32_t nodes, const pfa_live_extent_t *extents, uint32_t count)
{
    uint32_t room = 0;
    for (uint32_t i = 0; i < count; i++) {
        room += extents[i].kind == PFA_EXTENT_NODES && table.at[i] != NULL ? PFA_LIVE_NODES : 0;
    }
    return nodes < room ? nodes : room;
}

int pfa_extents_reopen(const char *path)
{
    uint32_t count = pfa_load_relaxed(&pfa_extents_head->extent_count);
    size_t size = count * sizeof(pfa_live_extent_t);
    void *copy = NULL;
    if (pfa_sys_map(NULL, size + 1, PROT_READ | PROT_WRITE, 0, &copy) != 0) {
        return ENOMEM;
    }
    memcpy(copy, pfa_extents_head->extents, size);
    uint64_t weights[PFA_LIVE_WEIGHTS];
    memcpy(weights, pfa_extents_head->weights, sizeof weights);
    uint32_t nodes = known_nodes(pfa_load_acquire(&pfa_extents_head->node_count), copy, count);
    if (table.shared) {
        pfa_extents_leave_files();
    }
    int err = pfa_extents_open(path);
    int failed = err != 0 ? pfa_extents_open(NULL) : 0;
    failed = failed != 0 ? failed : remake_extents(copy, count, nodes);
    if (failed != 0 && failed != CONTENT_LOST && table.shared) { /* the disk: then in memory */
        pfa_extents_unlink();
        pfa_extents_leave_files();
        err = failed;
        failed = pfa_extents_open(NULL);
        failed = failed != 0 ? failed : remake_extents(copy, count, nodes);
    }
    (void)pfa_sys_unmap(copy, size + 1);
    if (failed != 0) { /* the head may be the parent's still */
        pfa_extents_unlink();
        return ENOMEM;
    }
    memcpy(pfa_extents_head->weights, weights, sizeof weights);
    pfa_store_relaxed(&pfa_extents_head->node_count, nodes);
    return err;
}

/* Of a twin only the pieces that are in use are mapped: those with data. */
static void make_twin_private(uint32_t number, uint64_t offset)
{
    uint64_t start = 0;
    uint64_t end;
    while (pfa_extents_next_data(number, &start, &end)) {
        (void)pfa_tablefile_map_copy(&table.more, (char *)table.at[number] + start, end - start, offset + start);
        start = end;
    }
}

void pfa_extents_make_private(void)
{
    if (!table.shared) {
        return;
    }
    uint32_t count = pfa_load_relaxed(&pfa_extents_head->extent_count);
    for (uint32_t i = 0; i < count; i++) {
        const pfa_live_extent_t *extent = &pfa_extents_head->extents[i];
        bool in_more = (extent->offset & PFA_LIVE_MORE) != 0;
        uint64_t offset = extent->offset & ~PFA_LIVE_MORE;
        if (table.at[i] == NULL || extent->kind == PFA_EXTENT_NONE) {
            continue;
        }
        if (table.is_twin[i]) { /* its number is above that of what it is a twin of */
            make_twin_private(i, offset);
        } else {
            (void)pfa_tablefile_map_copy(in_more ? &table.more : &table.first, table.at[i], extent->size, offset);
        }
    }
    (void)pfa_tablefile_map_copy(&table.first, pfa_extents_head, PFA_EXTENTS_HEAD_SIZE, 0);
}

void pfa_extents_forget(void)
{
    if (table.shared) {
        pfa_extents_leave_files();
    }
    pfa_extents_head = NULL;
    table.lost = true;
}
