/* Owns the copy of the records that a fork child gets. See alloc/inherit.h. */
#include "alloc/inherit.h"
#include "alloc/cells.h"
#include "alloc/region.h"
#include "base/sys.h"
#include "meta/depot.h"
#include "meta/extents.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/* A run of bytes that belongs at an address; the bytes follow. */
typedef struct piece {
    void *at;
    uint64_t size;
    uint64_t step; /* from record to record; 0: they are none */
} piece_t;

static struct {
    char *memory;
    size_t size;
    size_t used;
} copy;

enum { SLICES_PER_EXTENT = 16 };

static size_t rounded(uint64_t size)
{
    return (size_t)((size + 15) & ~(uint64_t)15);
}

/* The first pass adds up, the second copies. */
static void save(void *at, uint64_t size, uint64_t step)
{
    size_t needed = sizeof(piece_t) + rounded(size);
    if (copy.memory != NULL && copy.used + needed <= copy.size) {
        piece_t *piece = (piece_t *)(void *)(copy.memory + copy.used);
        *piece = (piece_t){at, size, step};
        memcpy(piece + 1, at, size);
    }
    copy.used += needed;
}

static unsigned back_of(uint64_t word)
{
    return (unsigned)(word >> PFA_WORD_BACK_SHIFT) & 7;
}

/* The records of the region that begins in this slice, if one does. */
static void save_region(uint64_t slice)
{
    uint64_t word = pfa_load_acquire(&pfa_range.slices[slice].word);
    if (word == 0 || back_of(word) != 0) {
        return;
    }
    uint64_t slices = 1;
    while (slices < PFA_REGION_SLICES_MAX && (slice + slices) << PFA_SLICE_SHIFT < pfa_range.region_span &&
           back_of(pfa_load_relaxed(&pfa_range.slices[slice + slices].word)) == slices) {
        slices++;
    }
    uint64_t slots = (slices << PFA_SLICE_SHIFT) / pfa_word_slot_size(word);
    save(pfa_load_relaxed(&pfa_range.slices[slice].records), slots * pfa_range_record_size(), pfa_range_record_size());
}

static void save_larges(const pfa_live_extent_t *extent, void *at)
{
    save(at, extent->size, PFA_LIVE_LARGE_CELL);
}

static void save_nodes(uint32_t index, void *at)
{
    uint64_t count = pfa_depot_count();
    uint64_t first = (uint64_t)index * PFA_LIVE_NODES;
    if (count > first) {
        uint64_t here = count - first < PFA_LIVE_NODES ? count - first : PFA_LIVE_NODES;
        save(at, here * sizeof(pfa_live_node_t), 0);
    }
}

static void save_all(void)
{
    copy.used = 0;
    uint32_t count = pfa_load_acquire(&pfa_extents_head->extent_count);
    save(pfa_extents_head->weights, sizeof pfa_extents_head->weights, 0);
    for (uint32_t i = 0; i < count; i++) {
        const pfa_live_extent_t *extent = &pfa_extents_head->extents[i];
        if (pfa_extents_kind(i) == PFA_EXTENT_RECORDS) {
            for (uint64_t slice = 0; slice < SLICES_PER_EXTENT; slice++) {
                save_region((uint64_t)extent->index * SLICES_PER_EXTENT + slice);
            }
        } else if (pfa_extents_kind(i) == PFA_EXTENT_LARGES) {
            save_larges(extent, pfa_extents_at(i));
        } else if (pfa_extents_kind(i) == PFA_EXTENT_NODES) {
            save_nodes(extent->index, pfa_extents_at(i));
        } else if (pfa_extents_kind(i) == PFA_EXTENT_TAGS) {
            save(pfa_extents_at(i), extent->size, 0);
        }
    }
}

bool pfa_inherit_save(void)
{
    enum { MORE = 1 << 20 }; /* other threads may add while we copy */
    void *memory;
    copy.memory = NULL;
    save_all();
    copy.size = copy.used + MORE;
    if (pfa_sys_map(NULL, copy.size, PROT_READ | PROT_WRITE, MAP_NORESERVE, &memory) != 0) {
        return false;
    }
    copy.memory = memory;
    save_all();
    copy.used = copy.used < copy.size ? copy.used : copy.size;
    return true;
}

void pfa_inherit_drop(void)
{
    if (copy.memory != NULL) {
        (void)pfa_sys_unmap(copy.memory, copy.size);
        copy.memory = NULL;
    }
}

static void silence(pfa_record_t *record)
{
    uint64_t size_flags = pfa_load_relaxed(&record->size_flags);
    if (pfa_is_live(size_flags)) {
        pfa_store_relaxed(&record->size_flags, size_flags | PFA_FLAGS_SILENT);
    }
}

static void put_back(const piece_t *piece)
{
    memcpy(piece->at, piece + 1, piece->size);
    for (uint64_t offset = 0; piece->step != 0 && offset < piece->size; offset += piece->step) {
        silence((pfa_record_t *)(void *)((char *)piece->at + offset));
    }
}

/* Room for what is about to be put there. */
static int make_room(void)
{
    uint32_t count = pfa_load_relaxed(&pfa_extents_head->extent_count);
    int err = 0;
    for (uint32_t i = 0; i < count && err == 0; i++) {
        const pfa_live_extent_t *extent = &pfa_extents_head->extents[i];
        if (pfa_extents_kind(i) != PFA_EXTENT_RECORDS) {
            err = extent->size == 0 ? 0 : pfa_extents_make_room(i, 0, extent->size);
            continue;
        }
        for (uint64_t slice = 0; slice < SLICES_PER_EXTENT && err == 0; slice++) {
            uint64_t word =
                pfa_load_relaxed(&pfa_range.slices[extent->index * (uint64_t)SLICES_PER_EXTENT + slice].word);
            uint64_t slots = word != 0 && back_of(word) == 0
                                 ? ((uint64_t)PFA_REGION_SLICES_MAX << PFA_SLICE_SHIFT) / pfa_word_slot_size(word)
                                 : 0;
            slots = slots < PFA_RECORDS_PER_SLICE ? slots : PFA_RECORDS_PER_SLICE;
            err = word == 0 ? 0
                            : pfa_extents_make_room(i, slice * pfa_range.record_stride,
                                                    PFA_RECORD_GAP + slots * pfa_range_record_size());
        }
    }
    return err;
}

int pfa_inherit_restore(const char *path)
{
    uint32_t nodes = pfa_depot_count();
    int err = pfa_extents_reopen(path);
    if (err == 0 && make_room() != 0) {
        pfa_extents_unlink();
        (void)pfa_extents_reopen(NULL);
        err = ENOSPC;
    }
    for (size_t at = 0; at + sizeof(piece_t) <= copy.used && copy.memory != NULL;) {
        const piece_t *piece = (const piece_t *)(void *)(copy.memory + at);
        if (piece->at == NULL) {
            break;
        }
        put_back(piece);
        at += sizeof(piece_t) + rounded(piece->size);
    }
    pfa_store_relaxed(&pfa_extents_head->node_count, nodes);
    pfa_cells_after_fork();
    pfa_inherit_drop();
    return err;
}
