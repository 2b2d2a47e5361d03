/* Owns the sums by group, role and value: hash tables while they are made, a sorted list afterwards. */
#include "analyze/leaks/counts.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"

#include <stdlib.h>
#include <string.h>

/* 160 MB of them, and what comes with the next few blocks; a program has thousands. */
enum { MOST = 4 << 20 };

void pfa_counts_begin(pfa_counts_t *counts)
{
    *counts = (pfa_counts_t){.lanes = pfa_memory_get(PFA_LANES, sizeof *counts->lanes)};
}

pfa_count_t *pfa_counts_find(pfa_counts_t *counts, uint32_t group, uint32_t role, uint64_t value, uint32_t *last)
{
    pfa_count_lane_t *lane = &counts->lanes[pfa_lane_of(group)];
    uint64_t hash = pfa_hash_mix((uint64_t)group << 2 | role, value);
    pfa_probe_t probe = pfa_slots_probe(&lane->slots, hash);
    while (pfa_slots_next(&lane->slots, &probe)) {
        pfa_count_t *count = &lane->list[probe.number];
        if (count->value == value && count->group == group && count->role == role) {
            *last = probe.number + 1;
            return count;
        }
    }
    *last = 0;
    if (counts->full) {
        return NULL;
    }
    lane->list = pfa_memory_grow(lane->list, &lane->room, lane->count + 1, sizeof *lane->list);
    lane->list[lane->count] = (pfa_count_t){.group = group, .role = role, .value = value};
    pfa_slots_put(&lane->slots, hash, (uint32_t)lane->count);
    *last = (uint32_t)++lane->count;
    return &lane->list[lane->count - 1];
}

static size_t count_all(const pfa_counts_t *counts)
{
    size_t count = 0;
    for (size_t i = 0; i < PFA_LANES; i++) {
        count += counts->lanes[i].count;
    }
    return count;
}

void pfa_counts_settle(pfa_counts_t *counts)
{
    counts->full = counts->full || count_all(counts) >= MOST;
}

static int compare(const void *a, const void *b)
{
    const pfa_count_t *left = a;
    const pfa_count_t *right = b;
    if (left->group != right->group) {
        return left->group < right->group ? -1 : 1;
    }
    return left->role < right->role ? -1 : left->role > right->role;
}

static void free_lane(pfa_count_lane_t *lane)
{
    pfa_slots_free(&lane->slots);
    pfa_memory_free(lane->list);
    *lane = (pfa_count_lane_t){.list = NULL};
}

void pfa_counts_sort(pfa_counts_t *counts)
{
    counts->list = pfa_memory_get(count_all(counts), sizeof *counts->list);
    for (size_t i = 0; i < PFA_LANES; i++) {
        pfa_count_lane_t *lane = &counts->lanes[i];
        if (lane->count != 0) {
            memcpy(&counts->list[counts->count], lane->list, lane->count * sizeof *lane->list);
        }
        counts->count += lane->count;
        counts->lost += lane->lost;
        free_lane(lane);
    }
    if (counts->count != 0) {
        qsort(counts->list, counts->count, sizeof *counts->list, compare);
    }
}

const pfa_count_t *pfa_counts_of(const pfa_counts_t *counts, uint32_t group, pfa_role_t role, size_t *count)
{
    size_t low = 0;
    size_t high = counts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const pfa_count_t *at = &counts->list[middle];
        bool before = at->group < group || (at->group == group && at->role < role);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    size_t end = low;
    while (end < counts->count && counts->list[end].group == group && counts->list[end].role == role) {
        end++;
    }
    *count = end - low;
    return counts->count != 0 ? &counts->list[low] : NULL;
}

void pfa_counts_free(pfa_counts_t *counts)
{
    for (size_t i = 0; counts->lanes != NULL && i < PFA_LANES; i++) {
        free_lane(&counts->lanes[i]);
    }
    pfa_memory_free(counts->lanes);
    pfa_memory_free(counts->list);
    *counts = (pfa_counts_t){.list = NULL};
}
