/* Owns the memory leak table: stacks summed by path. See analyze/mprof/mprof.h.
 *
 * As in the paper, a path is what allocations and frees are counted by, and it is a leak if not all of its chunks were freed;
 * whether the rest was meant to live until the end is not known. */
#include "analyze/mprof/mprof.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const pfa_mprof_leak_t *left, const pfa_mprof_leak_t *right)
{
    return left->count == right->count && left->more == right->more &&
           memcmp(left->functions, right->functions, sizeof left->functions) == 0 &&
           memcmp(left->offsets, right->offsets, sizeof left->offsets) == 0;
}

static uint32_t *find_slot(const pfa_mprof_leak_t *leaks, uint32_t *slots, size_t slot_count,
                           const pfa_mprof_leak_t *path)
{
    uint64_t hash = pfa_checksum(path->count + 8u * path->more, path->functions, sizeof path->functions);
    size_t at = pfa_checksum(hash, path->offsets, sizeof path->offsets) & (slot_count - 1);
    while (slots[at] != 0 && !is_same(&leaks[slots[at] - 1], path)) {
        at = (at + 1) & (slot_count - 1);
    }
    return &slots[at];
}

static void grow_slots(pfa_mprof_t *mprof)
{
    size_t slot_count = 2 * mprof->leak_slot_count;
    uint32_t *slots = pfa_memory_get(slot_count, sizeof *slots);
    for (size_t i = 0; i < mprof->leak_count; i++) {
        *find_slot(mprof->leaks, slots, slot_count, &mprof->leaks[i]) = (uint32_t)i + 1;
    }
    free(mprof->leak_slots);
    mprof->leak_slots = slots;
    mprof->leak_slot_count = slot_count;
}

static pfa_mprof_leak_t *find_leak(pfa_mprof_t *mprof, const pfa_mprof_leak_t *path)
{
    if (2 * (mprof->leak_count + 1) > mprof->leak_slot_count) {
        grow_slots(mprof);
    }
    uint32_t *slot = find_slot(mprof->leaks, mprof->leak_slots, mprof->leak_slot_count, path);
    if (*slot == 0) {
        mprof->leaks = pfa_memory_grow(mprof->leaks, &mprof->leak_room, mprof->leak_count + 1, sizeof *mprof->leaks);
        mprof->leaks[mprof->leak_count] = *path;
        *slot = (uint32_t)++mprof->leak_count;
    }
    return &mprof->leaks[*slot - 1];
}

void pfa_mprof_leaks_add(pfa_mprof_t *mprof, const pfa_callchain_t *chain, const pfa_mprof_point_t *point)
{
    pfa_mprof_leak_t path = {.count = 0};
    size_t known = chain->count - chain->open;
    for (; path.count < known && path.count < PFA_PATH_LONGEST; path.count++) {
        path.functions[path.count] = chain->functions[path.count];
        path.offsets[path.count] = mprof->options.offsets ? chain->offsets[path.count] : 0;
    }
    path.more = chain->count > path.count;
    pfa_mprof_leak_t *leak = find_leak(mprof, &path);
    pfa_sum_join(&leak->all, &point->all);
    pfa_sum_join(&leak->kept, &point->kept);
}

static int compare_paths(const pfa_mprof_t *mprof, const pfa_mprof_leak_t *left, const pfa_mprof_leak_t *right)
{
    uint32_t least = left->count < right->count ? left->count : right->count;
    int result = 0;
    for (uint32_t i = 0; i < least && result == 0; i++) {
        result = pfa_functions_compare(&mprof->functions, left->functions[i], right->functions[i]);
        if (result == 0 && left->offsets[i] != right->offsets[i]) {
            result = left->offsets[i] < right->offsets[i] ? -1 : 1;
        }
    }
    return result != 0 ? result : (int)left->count - (int)right->count;
}

static int compare_leaks(const void *a, const void *b, void *to)
{
    const pfa_mprof_leak_t *left = a;
    const pfa_mprof_leak_t *right = b;
    if (left->kept.bytes != right->kept.bytes) {
        return left->kept.bytes > right->kept.bytes ? -1 : 1;
    }
    if (left->kept.chunks != right->kept.chunks) {
        return left->kept.chunks > right->kept.chunks ? -1 : 1;
    }
    int result = compare_paths(to, left, right);
    return result != 0 ? result : left->more - right->more;
}

void pfa_mprof_leaks_finish(pfa_mprof_t *mprof)
{
    size_t count = 0;
    for (size_t i = 0; i < mprof->leak_count; i++) {
        if (mprof->leaks[i].kept.chunks > 0) {
            mprof->leaks[count++] = mprof->leaks[i];
        }
    }
    mprof->leak_count = count;
    if (count != 0) {
        qsort_r(mprof->leaks, count, sizeof *mprof->leaks, compare_leaks, mprof);
    }
}
