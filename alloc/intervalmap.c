/* Owns the interval map's tables and the list of retired nodes. See alloc/intervalmap.h. */
#include "alloc/intervalmap.h"
#include "base/sys.h"

#include <errno.h>
#include <sys/mman.h>

static _Atomic(pfa_large_t *) retired;
static _Atomic size_t retired_count;
static pfa_large_t *waiting;  /* for the end of the grace period; of whoever is reclaiming */
static pfa_rcu_grace_t grace; /* likewise */
static _Atomic bool is_reclaiming;

int pfa_intervalmap_open(pfa_intervalmap_t *map, uintptr_t base, uint64_t span)
{
    void *table;
    *map = (pfa_intervalmap_t){.base = base, .span = span};
    int err = pfa_sys_map(NULL, (span >> PFA_GRANULE_SHIFT) * sizeof(pfa_granule_t), PROT_READ | PROT_WRITE,
                          MAP_NORESERVE, &table);
    if (err != 0) {
        return -err;
    }
    map->granules = table;
    err = pfa_sys_map(NULL, PFA_ROOT_ENTRIES * sizeof *map->root, PROT_READ | PROT_WRITE, MAP_NORESERVE, &table);
    if (err != 0) {
        pfa_intervalmap_close(map);
        return -err;
    }
    map->root = table;
    return 0;
}

void pfa_intervalmap_close(pfa_intervalmap_t *map)
{
    if (map->granules != NULL) {
        (void)pfa_sys_unmap(map->granules, (map->span >> PFA_GRANULE_SHIFT) * sizeof(pfa_granule_t));
    }
    if (map->root != NULL) {
        for (size_t i = 0; i < PFA_ROOT_ENTRIES; i++) {
            pfa_granule_t *leaf = pfa_load_relaxed(&map->root[i]);
            if (leaf != NULL) {
                (void)pfa_sys_unmap(leaf, PFA_LEAF_ENTRIES * sizeof *leaf);
            }
        }
        (void)pfa_sys_unmap((void *)map->root, PFA_ROOT_ENTRIES * sizeof *map->root);
    }
    *map = (pfa_intervalmap_t){.base = 0};
}

static _Atomic(pfa_granule_t *) *root_entry(const pfa_intervalmap_t *map, uintptr_t address)
{
    uint64_t index = (uint64_t)address >> PFA_LEAF_SHIFT;
    return index < PFA_ROOT_ENTRIES ? &map->root[index] : NULL;
}

static pfa_granule_t *leaf_entry(pfa_granule_t *leaf, uintptr_t address)
{
    return &leaf[(address >> PFA_GRANULE_SHIFT) & (PFA_LEAF_ENTRIES - 1)];
}

pfa_granule_t *pfa_intervalmap_outside(const pfa_intervalmap_t *map, uintptr_t address)
{
    _Atomic(pfa_granule_t *) *entry = root_entry(map, address);
    pfa_granule_t *leaf = entry != NULL ? pfa_load_acquire(entry) : NULL; /* partner: the exchange in make_leaf */
    return leaf != NULL ? leaf_entry(leaf, address) : NULL;
}

static int make_leaf(pfa_intervalmap_t *map, uintptr_t address)
{
    _Atomic(pfa_granule_t *) *entry = root_entry(map, address);
    if (entry == NULL) {
        return ERANGE;
    }
    if (pfa_load_acquire(entry) != NULL) {
        return 0;
    }
    void *memory;
    size_t size = PFA_LEAF_ENTRIES * sizeof(pfa_granule_t);
    int err = pfa_sys_map(NULL, size, PROT_READ | PROT_WRITE, MAP_NORESERVE, &memory);
    if (err != 0) {
        return -err;
    }
    pfa_granule_t *none = NULL;
    if (!pfa_cas_acq_rel(entry, &none, (pfa_granule_t *)memory)) {
        (void)pfa_sys_unmap(memory, size); /* another thread was first */
    }
    return 0;
}

/* The place of an address in the first or, if its leaf exists, the second level. */
static pfa_granule_t *granule_of(const pfa_intervalmap_t *map, uintptr_t address)
{
    uint64_t offset = address - map->base;
    return offset < map->span ? &map->granules[offset >> PFA_GRANULE_SHIFT] : pfa_intervalmap_outside(map, address);
}

static uintptr_t first_granule(uintptr_t address)
{
    return address >> PFA_GRANULE_SHIFT;
}

static uintptr_t last_granule(const pfa_large_t *node)
{
    return (node->start + node->size - 1) >> PFA_GRANULE_SHIFT;
}

static int make_leaves(pfa_intervalmap_t *map, const pfa_large_t *node)
{
    for (uintptr_t at = node->start >> PFA_LEAF_SHIFT; at <= (node->start + node->size - 1) >> PFA_LEAF_SHIFT; at++) {
        int err = make_leaf(map, at << PFA_LEAF_SHIFT);
        if (err != 0) {
            return err;
        }
    }
    pfa_store_release(&map->has_outside, true);
    return 0;
}

static uintptr_t entry_for(const pfa_large_t *node, uintptr_t granule)
{
    bool whole = granule >= node->start && granule + ((uintptr_t)1 << PFA_GRANULE_SHIFT) <= node->start + node->size;
    return (uintptr_t)node | (whole ? PFA_GRANULE_WHOLE : 0);
}

int pfa_intervalmap_insert(pfa_intervalmap_t *map, pfa_large_t *node)
{
    if (node->start - map->base >= map->span) {
        int err = make_leaves(map, node);
        if (err != 0) {
            return err;
        }
    }
    /* The first granule last: whoever can remove the node finds it in all of them. After that the node may be gone, so
     * nothing is read of it. */
    uintptr_t first = first_granule(node->start);
    for (uintptr_t at = last_granule(node) + 1; at-- > first;) {
        /* Partner: the acquire in find. */
        pfa_store_release(granule_of(map, at << PFA_GRANULE_SHIFT), entry_for(node, at << PFA_GRANULE_SHIFT));
    }
    return 0;
}

pfa_large_t *pfa_intervalmap_remove(pfa_intervalmap_t *map, uintptr_t start)
{
    pfa_large_t *node = pfa_intervalmap_find(map, start);
    if (node == NULL || node->start != start) {
        return NULL;
    }
    /* Whoever takes the node out of its first granule has it; the others come too late. */
    uintptr_t expected = entry_for(node, first_granule(start) << PFA_GRANULE_SHIFT);
    if (!pfa_cas_acq_rel(granule_of(map, start), &expected, (uintptr_t)0)) {
        return NULL;
    }
    for (uintptr_t at = first_granule(start) + 1; at <= last_granule(node); at++) {
        pfa_store_release(granule_of(map, at << PFA_GRANULE_SHIFT), (uintptr_t)0);
    }
    return node;
}

void pfa_intervalmap_retire(pfa_large_t *node)
{
    pfa_add_relaxed(&retired_count, 1);
    node->next_retired = pfa_load_relaxed(&retired);
    while (!pfa_cas_weak_acq_rel(&retired, &node->next_retired, node)) {
    }
}

size_t pfa_intervalmap_retired(void)
{
    return pfa_load_relaxed(&retired_count);
}

static size_t length(const pfa_large_t *node)
{
    size_t count = 0;
    for (; node != NULL; node = node->next_retired) {
        count++;
    }
    return count;
}

void pfa_intervalmap_after_fork(void)
{
    if (pfa_load_relaxed(&is_reclaiming)) { /* by a thread that is no more, and may have freed any number of them */
        waiting = NULL;
        pfa_store_relaxed(&is_reclaiming, false);
    }
    grace = (pfa_rcu_grace_t){0};
    pfa_store_relaxed(&retired_count, length(pfa_load_relaxed(&retired)) + length(waiting));
}

static void release_all(pfa_large_t *node, void (*release)(void *node))
{
    while (node != NULL) {
        pfa_large_t *next = node->next_retired;
        release(node);
        pfa_sub_relaxed(&retired_count, 1);
        node = next;
    }
}

bool pfa_intervalmap_reclaim(void (*release)(void *node))
{
    if (pfa_load_relaxed(&is_reclaiming) || pfa_swap_acq_rel(&is_reclaiming, true)) {
        return true;
    }
    if (waiting == NULL) {
        waiting = pfa_swap_acq_rel(&retired, (pfa_large_t *)NULL);
    }
    bool over = waiting == NULL || pfa_rcu_poll(&grace);
    if (over) {
        pfa_large_t *nodes = waiting;
        waiting = NULL;
        release_all(nodes, release);
    }
    pfa_store_release(&is_reclaiming, false); /* partner: the exchange above */
    return over;
}
