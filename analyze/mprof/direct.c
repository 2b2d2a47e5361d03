/* Owns the direct allocation table: what each function allocated itself. See analyze/mprof/mprof.h. The call graph has all of it
 * but what was kept. */
#include "analyze/mprof/mprof.h"

#include <stdlib.h>

void pfa_mprof_direct_add(pfa_mprof_t *mprof, const pfa_callchain_t *chain, const pfa_mprof_point_t *point)
{
    uint32_t function = chain->functions[0];
    mprof->direct_kept =
        pfa_memory_grow(mprof->direct_kept, &mprof->direct_kept_room, (size_t)function + 1, sizeof *mprof->direct_kept);
    pfa_sum_join(&mprof->direct_kept[function], &point->kept);
}

static int compare_direct(const void *a, const void *b, void *to)
{
    const pfa_mprof_t *mprof = to;
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    const pfa_sum_t *one = &mprof->graph.nodes[left].self;
    const pfa_sum_t *other = &mprof->graph.nodes[right].self;
    if (one->bytes != other->bytes) {
        return one->bytes > other->bytes ? -1 : 1;
    }
    if (one->chunks != other->chunks) {
        return one->chunks > other->chunks ? -1 : 1;
    }
    return pfa_functions_compare(&mprof->functions, left, right);
}

void pfa_mprof_direct_finish(pfa_mprof_t *mprof)
{
    mprof->direct = pfa_memory_get(mprof->graph.function_count, sizeof *mprof->direct);
    for (uint32_t i = 0; i < mprof->graph.function_count; i++) {
        if (mprof->graph.nodes[i].self.chunks > 0) {
            mprof->direct[mprof->direct_count++] = i;
        }
    }
    qsort_r(mprof->direct, mprof->direct_count, sizeof *mprof->direct, compare_direct, mprof);
}
