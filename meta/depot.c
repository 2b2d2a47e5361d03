/* Owns the nodes of the depot and the index over them. See meta/depot.h. */
#include "meta/depot.h"
#include "base/atomic.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/sys.h"
#include "meta/extents.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNKS = 4096, FIRST_INDEX = 1 << 13 };
#define NODES_SIZE (PFA_LIVE_NODES * sizeof(pfa_live_node_t))

/* In the slot of a node that is not to be found any more: a root, which has no pc and so is never what is looked for. */
#define FORGOTTEN PFA_NODE_TRUNCATED

/* Open addressing; a slot is a node's number, 0 if it is free (the roots are not in it). Never unmapped: readers may be
 * in an old one. */
typedef struct index {
    uint32_t mask;
    uint32_t used;
    _Atomic uint32_t slots[];
} index_t;

static _Atomic(pfa_live_node_t *) chunks[CHUNKS];
static _Atomic(index_t *) current;
static _Atomic uint32_t generation;

static pfa_live_node_t *node_at(uint32_t number)
{
    return &pfa_load_acquire(&chunks[number / PFA_LIVE_NODES])[number % PFA_LIVE_NODES];
}

static uint32_t hash(uint32_t parent, uintptr_t pc)
{
    uint64_t mixed = ((uint64_t)pc ^ (uint64_t)parent << 32) * 0x9e3779b97f4a7c15u;
    return (uint32_t)((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u >> 32);
}

/* The node, or 0 and the free slot where it belongs. */
static uint32_t look(index_t *index, uint32_t parent, uintptr_t pc, uint32_t *slot)
{
    for (uint32_t at = hash(parent, pc) & index->mask;; at = (at + 1) & index->mask) {
        /* Partner: the release store in add_locked. */
        uint32_t number = pfa_load_acquire(&index->slots[at]);
        if (number == 0) {
            *slot = at;
            return 0;
        }
        const pfa_live_node_t *node = node_at(number);
        if (node->pc == pc && node->parent == parent) {
            return number;
        }
    }
}

static index_t *make_index(uint32_t size)
{
    void *memory;
    if (pfa_sys_map(NULL, sizeof(index_t) + size * sizeof(uint32_t), PROT_READ | PROT_WRITE, 0, &memory) != 0) {
        return NULL;
    }
    index_t *index = memory;
    index->mask = size - 1;
    return index;
}

/* Twice as many slots as would be half full. */
static index_t *grown(index_t *old)
{
    uint32_t size = old->mask + 1;
    if (old->used < size / 2) {
        return old;
    }
    index_t *index = size < 1u << 30 ? make_index(4 * size) : NULL;
    if (index == NULL) {
        return old->used < size - size / 8 ? old : NULL;
    }
    for (uint32_t i = 0; i < size; i++) {
        uint32_t number = pfa_load_relaxed(&old->slots[i]);
        if (number >= PFA_NODE_FIRST) {
            uint32_t slot = 0;
            (void)look(index, node_at(number)->parent, node_at(number)->pc, &slot);
            pfa_store_relaxed(&index->slots[slot], number);
            index->used++;
        }
    }
    pfa_store_release(&current, index); /* partner: the acquire loads of `current` */
    return index;
}

/* Room for the node with this number; 0 or an errno value. */
static int make_chunk(uint32_t number)
{
    uint32_t chunk = number / PFA_LIVE_NODES;
    void *memory;
    uint32_t extent;
    if (chunk >= CHUNKS) {
        return ENOSPC;
    }
    if (pfa_load_relaxed(&chunks[chunk]) != NULL) {
        return 0;
    }
    int err = pfa_extents_add(PFA_EXTENT_NODES, chunk, NODES_SIZE, NULL, &memory, &extent);
    err = err != 0 ? err : pfa_extents_make_room(extent, 0, NODES_SIZE);
    if (err == 0) {
        pfa_store_release(&chunks[chunk], (pfa_live_node_t *)memory);
    }
    return err;
}

static uint32_t append(uint32_t parent, uintptr_t pc)
{
    uint32_t number = pfa_load_relaxed(&pfa_extents_head->node_count);
    if (make_chunk(number) != 0) {
        return 0;
    }
    pfa_live_node_t *node = node_at(number);
    node->pc = pc;
    node->parent = parent;
    node->ready = 1;
    pfa_store_release(&pfa_extents_head->node_count, number + 1); /* partner: pfa_depot_count */
    return number;
}

static PFA_COLD uint32_t full(void)
{
    static _Atomic bool said;
    if (!pfa_extents_said_no_room()) {
        pfa_say_trouble(&said, "no room for more call stacks: those of some chunks are not recorded");
    }
    return PFA_NODE_UNKNOWN;
}

static uint32_t add_locked(uint32_t parent, uintptr_t pc)
{
    uint32_t slot;
    index_t *index = grown(pfa_load_relaxed(&current));
    if (index == NULL) {
        return full();
    }
    uint32_t number = look(index, parent, pc, &slot);
    if (number != 0) {
        return number;
    }
    number = append(parent, pc);
    if (number == 0) {
        return full();
    }
    index->used++;
    pfa_store_release(&index->slots[slot], number); /* partner: look() */
    return number;
}

uint32_t pfa_depot_add(pfa_tls_t *tls, uint32_t parent, uintptr_t pc)
{
    uint32_t slot;
    index_t *index = pfa_load_acquire(&current);
    uint32_t number = index != NULL ? look(index, parent, pc, &slot) : PFA_NODE_UNKNOWN;
    if (number != 0) {
        return number;
    }
    if (tls->in_depot) {
        return PFA_NODE_UNKNOWN;
    }
    tls->in_depot = 1;
    pfa_fence_compiler();
    pfa_lock(PFA_LOCK_DEPOT);
    number = add_locked(parent, pc);
    pfa_unlock(PFA_LOCK_DEPOT);
    pfa_fence_compiler();
    tls->in_depot = 0;
    return number;
}

int pfa_depot_open(void)
{
    pfa_lock(PFA_LOCK_DEPOT);
    index_t *index = make_index(FIRST_INDEX);
    int err = index != NULL ? make_chunk(0) : ENOMEM;
    for (uint32_t root = 0; root < PFA_NODE_FIRST && err == 0; root++) {
        (void)append(0, 0);
    }
    if (err == 0) {
        pfa_store_release(&current, index);
    }
    pfa_unlock(PFA_LOCK_DEPOT);
    return err;
}

static bool is_gone(uintptr_t pc, const pfa_depot_range_t *gone, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pc - 1 - gone[i].start < gone[i].end - gone[i].start) { /* the call is before pc */
            return true;
        }
    }
    return false;
}

uint32_t pfa_depot_renew(const pfa_depot_range_t *gone, size_t count)
{
    pfa_lock(PFA_LOCK_DEPOT);
    index_t *index = pfa_load_relaxed(&current);
    for (uint32_t i = 0; index != NULL && i <= index->mask; i++) {
        uint32_t number = pfa_load_relaxed(&index->slots[i]);
        if (number >= PFA_NODE_FIRST && is_gone(node_at(number)->pc, gone, count)) {
            pfa_store_relaxed(&index->slots[i], FORGOTTEN);
        }
    }
    pfa_add_release(&generation, 1);
    uint32_t first = pfa_load_relaxed(&pfa_extents_head->node_count);
    pfa_unlock(PFA_LOCK_DEPOT);
    return first;
}

uint32_t pfa_depot_generation(void)
{
    return pfa_load_acquire(&generation);
}

void pfa_depot_know(uint32_t chunk, void *memory)
{
    if (chunk < CHUNKS && pfa_load_relaxed(&chunks[chunk]) == NULL) {
        pfa_store_release(&chunks[chunk], (pfa_live_node_t *)memory);
    }
}

uint32_t pfa_depot_count(void)
{
    return pfa_load_acquire(&pfa_extents_head->node_count);
}

const pfa_live_node_t *pfa_depot_node(uint32_t number)
{
    return node_at(number);
}
