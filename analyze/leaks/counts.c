/* Owns the sums by group, role and value: a hash table while they are made, a sorted list afterwards. */
#include "analyze/leaks/counts.h"
#include "analyze/tool/tool.h"

#include <stdlib.h>

/* 160 MB of them; a program has thousands. */
enum { MOST = 4 << 20, FIRST_SLOTS = 1 << 12 };

static size_t hash_of(const pfa_count_t *what)
{
    uint64_t hash = ((uint64_t)what->group << 2 | what->role) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29 ^ what->value) * 0xbf58476d1ce4e5b9u;
    return (size_t)(hash ^ hash >> 32);
}

static bool is_same(const pfa_count_t *one, const pfa_count_t *other)
{
    return one->group == other->group && one->role == other->role && one->value == other->value;
}

static uint32_t *find_slot(const pfa_counts_t *counts, uint32_t *slots, size_t slot_count, const pfa_count_t *what)
{
    size_t at = hash_of(what) & (slot_count - 1);
    for (; slots[at] != 0; at = (at + 1) & (slot_count - 1)) {
        if (is_same(&counts->list[slots[at] - 1], what)) {
            break;
        }
    }
    return &slots[at];
}

static void make_slots(pfa_counts_t *counts)
{
    size_t slot_count = counts->slot_count != 0 ? 2 * counts->slot_count : FIRST_SLOTS;
    uint32_t *slots = pfa_memory_get(slot_count, sizeof *slots);
    for (size_t i = 0; i < counts->count; i++) {
        *find_slot(counts, slots, slot_count, &counts->list[i]) = (uint32_t)i + 1;
    }
    free(counts->slots);
    counts->slots = slots;
    counts->slot_count = slot_count;
}

static uint32_t find_count(pfa_counts_t *counts, const pfa_count_t *what)
{
    if (2 * (counts->count + 1) > counts->slot_count) {
        make_slots(counts);
    }
    uint32_t *slot = find_slot(counts, counts->slots, counts->slot_count, what);
    if (*slot == 0 && counts->count < MOST) {
        counts->list = pfa_memory_grow(counts->list, &counts->room, counts->count + 1, sizeof *counts->list);
        counts->list[counts->count] =
            (pfa_count_t){.group = what->group, .role = what->role, .value = what->value, .freed = 0, .live = 0};
        *slot = (uint32_t)++counts->count;
    }
    return *slot;
}

void pfa_counts_add(pfa_counts_t *counts, pfa_count_t what, uint32_t *last)
{
    if (*last == 0 || !is_same(&counts->list[*last - 1], &what)) {
        *last = find_count(counts, &what);
    }
    if (*last == 0) {
        counts->lost += what.freed + what.live;
        return;
    }
    counts->list[*last - 1].freed += what.freed;
    counts->list[*last - 1].live += what.live;
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

void pfa_counts_sort(pfa_counts_t *counts)
{
    free(counts->slots);
    counts->slots = NULL;
    counts->slot_count = 0;
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
    free(counts->slots);
    free(counts->list);
    *counts = (pfa_counts_t){.list = NULL};
}
