/* Owns paths: the last functions of call chains, each once. See analyze/mprof/mprof.h.
 *
 * As in the paper, a path is what allocations and frees are counted by, and it is a leak if not all of its chunks were freed;
 * whether the rest was meant to live until the end is not known. */
#include "analyze/mprof/mprof.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"

#include <string.h>

static bool is_same(const pfa_mprof_path_t *left, const pfa_mprof_path_t *right)
{
    return left->count == right->count && left->more == right->more &&
           memcmp(left->functions, right->functions, sizeof left->functions) == 0 &&
           memcmp(left->offsets, right->offsets, sizeof left->offsets) == 0;
}

static uint64_t hash_path(const pfa_mprof_path_t *path)
{
    uint64_t hash = path->count + 8u * path->more;
    for (uint32_t i = 0; i < path->count; i++) {
        hash = pfa_hash_mix(hash, (uint64_t)path->functions[i] << 32 | path->offsets[i]);
    }
    return hash;
}

static uint32_t find_path(pfa_mprof_t *mprof, const pfa_mprof_path_t *path)
{
    uint64_t hash = hash_path(path);
    pfa_probe_t probe = pfa_slots_probe(&mprof->path_slots, hash);
    while (pfa_slots_next(&mprof->path_slots, &probe)) {
        if (is_same(&mprof->paths[probe.number], path)) {
            return probe.number;
        }
    }
    mprof->paths = pfa_memory_grow(mprof->paths, &mprof->path_room, mprof->path_count + 1, sizeof *mprof->paths);
    mprof->paths[mprof->path_count] = *path;
    pfa_slots_put(&mprof->path_slots, hash, (uint32_t)mprof->path_count);
    return (uint32_t)mprof->path_count++;
}

uint32_t pfa_mprof_path_of(pfa_mprof_t *mprof, const pfa_callchain_t *chain)
{
    pfa_mprof_path_t path = {.count = 0};
    size_t known = chain->count - chain->open;
    for (; path.count < known && path.count < PFA_PATH_LONGEST; path.count++) {
        path.functions[path.count] = chain->functions[path.count];
        path.offsets[path.count] = mprof->options.offsets ? chain->offsets[path.count] : 0;
    }
    path.more = chain->count > path.count;
    return find_path(mprof, &path);
}

int pfa_mprof_paths_compare(const pfa_mprof_t *mprof, uint32_t one, uint32_t other)
{
    const pfa_mprof_path_t *left = &mprof->paths[one];
    const pfa_mprof_path_t *right = &mprof->paths[other];
    uint32_t least = left->count < right->count ? left->count : right->count;
    int result = 0;
    for (uint32_t i = 0; i < least && result == 0; i++) {
        result = pfa_functions_compare(&mprof->functions, left->functions[i], right->functions[i]);
        if (result == 0 && left->offsets[i] != right->offsets[i]) {
            result = left->offsets[i] < right->offsets[i] ? -1 : 1;
        }
    }
    result = result != 0 ? result : (int)left->count - (int)right->count;
    return result != 0 ? result : left->more - right->more;
}
