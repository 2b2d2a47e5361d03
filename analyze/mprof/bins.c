/* Owns the allocation bin table: chunks by size, and which types of the program are of that size. See analyze/mprof/mprof.h. */
#include "analyze/mprof/mprof.h"

#include <stdlib.h>
#include <string.h>

void pfa_mprof_bins_add(pfa_mprof_t *mprof, double chunks, uint64_t size, bool live)
{
    double bytes = chunks * (double)size;
    pfa_mprof_bin_t *both[] = {&mprof->bins[size <= PFA_BIN_LARGEST ? size : PFA_BIN_LARGEST + 1], &mprof->bin_total};
    for (size_t i = 0; i < 2; i++) {
        both[i]->allocs += chunks;
        both[i]->bytes += bytes;
        both[i]->frees += live ? 0 : chunks;
        both[i]->kept += live ? bytes : 0;
    }
}

/* The paper leaves open what a reasonable fraction of the total allocation is. Here it is the same as for leaks, of the
 * allocations, of the bytes or of the bytes kept: of many small chunks the bytes alone would not tell. */
bool pfa_mprof_bin_is_listed(const pfa_mprof_t *mprof, const pfa_mprof_bin_t *bin)
{
    const pfa_mprof_bin_t *total = &mprof->bin_total;
    return bin->allocs > 0 &&
           (pfa_mprof_is_listed(mprof, bin->allocs, total->allocs) ||
            pfa_mprof_is_listed(mprof, bin->bytes, total->bytes) || pfa_mprof_is_listed(mprof, bin->kept, total->kept));
}

/* Modules that are on a stack on which something was allocated. */
static bool *find_modules(const pfa_mprof_t *mprof, const pfa_stacks_t *stacks, size_t *count)
{
    bool *used = NULL;
    size_t room = 0;
    bool *seen = pfa_memory_get(stacks->count, sizeof *seen);
    *count = 0;
    for (size_t i = 0; i < mprof->point_count; i++) {
        for (uint32_t at = mprof->points[i].stack; at >= PFA_NODE_FIRST && !seen[at]; at = stacks->frames[at].caller) {
            uint32_t module = stacks->frames[at].module;
            used = pfa_memory_grow(used, &room, (size_t)module + 1, sizeof *used);
            used[module] = seen[at] = true;
            *count = module + 1u > *count ? module + 1u : *count;
        }
    }
    free(seen);
    return used;
}

static bool is_program(const pfa_query_t *query, const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; name != NULL && i < query->source_count; i++) {
        const char *program = query->sources[i].program;
        const char *last = program != NULL ? strrchr(program, '/') : NULL;
        if (program != NULL && strcmp(name, last != NULL ? last + 1 : program) == 0) {
            return true;
        }
    }
    return false;
}

static void find_types(pfa_mprof_t *mprof, pfa_query_t *query)
{
    size_t count;
    pfa_progress_t progress;
    bool *used = find_modules(mprof, &query->stacks, &count);
    pfa_progress_begin(&progress, "types", count);
    for (uint32_t i = 1; i < count; i++) {
        if (used[i]) {
            pfa_types_add(&mprof->types, query->symbols, i, is_program(query, pfa_symbols_path(query->symbols, i)));
        }
        pfa_progress_step(&progress, i);
    }
    pfa_progress_end(&progress);
    free(used);
    pfa_types_finish(&mprof->types);
}

void pfa_mprof_bins_finish(pfa_mprof_t *mprof, pfa_query_t *query)
{
    bool any = false;
    for (size_t i = 0; i <= PFA_BIN_LARGEST; i++) {
        mprof->wanted[i] = mprof->bins[i].allocs > 0;
        any = any || mprof->wanted[i];
    }
    if (any) {
        find_types(mprof, query);
        if (mprof->types.modules == 0) {
            pfa_notes_add(&query->remarks, "no types are named: none of the modules has debug information here");
        }
    }
    if (mprof->types.cut) {
        pfa_notes_add(&query->remarks, "there is more debug information than was looked at: types may be missing");
    }
}
