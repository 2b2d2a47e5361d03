/* Owns the sums by group, role and value: a hash table while they are made, a sorted list afterwards. */
#include "analyze/leaks/counts.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"

#include <stdlib.h>

/* 160 MB of them; a program has thousands. */
enum { MOST = 4 << 20 };

static uint64_t hash_of(const pfa_count_t *what)
{
    return pfa_hash_mix((uint64_t)what->group << 2 | what->role, what->value);
}

static bool is_same(const pfa_count_t *one, const pfa_count_t *other)
{
    return one->group == other->group && one->role == other->role && one->value == other->value;
}

/* One and its number; 0: it is not there, and there is no more room. */
static uint32_t find_count(pfa_counts_t *counts, const pfa_count_t *what)
{
    uint64_t hash = hash_of(what);
    pfa_probe_t probe = pfa_slots_probe(&counts->slots, hash);
    while (pfa_slots_next(&counts->slots, &probe)) {
        if (is_same(&counts->list[probe.number], what)) {
            return probe.number + 1;
        }
    }
    if (counts->count == MOST) {
        return 0;
    }
    counts->list = pfa_memory_grow(counts->list, &counts->room, counts->count + 1, sizeof *counts->list);
    counts->list[counts->count] =
        (pfa_count_t){.group = what->group, .role = what->role, .value = what->value, .freed = 0, .live = 0};
    pfa_slots_put(&counts->slots, hash, (uint32_t)counts->count);
    return (uint32_t)++counts->count;
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
    pfa_slots_free(&counts->slots);
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
    pfa_slots_free(&counts->slots);
    pfa_memory_free(counts->list);
    *counts = (pfa_counts_t){.list = NULL};
}
