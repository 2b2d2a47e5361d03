/* Owns the sums by stack that all of mprof's tables are made of. See analyze/mprof/mprof.h. Memory grows with stacks and
 * functions, not with chunks. */
#include "analyze/mprof/mprof.h"

#include <stdlib.h>

void pfa_mprof_begin(pfa_mprof_t *mprof, const pfa_mprof_options_t *options)
{
    *mprof = (pfa_mprof_t){.options = *options, .leak_slot_count = 1024};
    mprof->leak_slots = pfa_memory_get(mprof->leak_slot_count, sizeof *mprof->leak_slots);
    pfa_functions_begin(&mprof->functions);
    pfa_callgraph_begin(&mprof->graph);
    pfa_types_begin(&mprof->types, mprof->wanted, PFA_BIN_LARGEST + 1);
}

void pfa_mprof_free(pfa_mprof_t *mprof)
{
    pfa_types_free(&mprof->types);
    pfa_callgraph_free(&mprof->graph);
    pfa_functions_free(&mprof->functions);
    free(mprof->points);
    free(mprof->point_of);
    free(mprof->leaks);
    free(mprof->leak_slots);
    free(mprof->direct_kept);
    free(mprof->direct);
    free(mprof->modules);
}

static pfa_mprof_point_t *find_point(pfa_mprof_t *mprof, uint32_t stack)
{
    mprof->point_of =
        pfa_memory_grow(mprof->point_of, &mprof->point_of_room, (size_t)stack + 1, sizeof *mprof->point_of);
    uint32_t *number = &mprof->point_of[stack];
    if (*number == 0) {
        mprof->points =
            pfa_memory_grow(mprof->points, &mprof->point_room, mprof->point_count + 1, sizeof *mprof->points);
        mprof->points[mprof->point_count] = (pfa_mprof_point_t){.stack = stack};
        *number = (uint32_t)++mprof->point_count;
    }
    return &mprof->points[*number - 1];
}

/* Each chunk was recorded with the probability 1 / weight, independently of others: the estimate of a sum of `value` over all
 * chunks has the variance weight * (weight - 1) * value^2 for each that was recorded (Horvitz and Thompson). */
static void spread(pfa_mprof_spread_t *to, double rows, double weight, double size, bool live)
{
    double each = rows * weight * (weight - 1);
    to->chunks += each;
    to->bytes += each * size * size;
    to->kept += live ? each * size * size : 0;
}

void pfa_mprof_kind(void *to, const pfa_kind_t *kind, double rows)
{
    pfa_mprof_t *mprof = to;
    pfa_mprof_point_t *point = find_point(mprof, kind->stack);
    double chunks = rows * kind->weight;
    pfa_sum_add(&point->all, chunks, (double)kind->size);
    if (kind->live) {
        pfa_sum_add(&point->kept, chunks, (double)kind->size);
    }
    pfa_mprof_bins_add(mprof, chunks, kind->size, kind->live);
    spread(&mprof->spread, rows, kind->weight, (double)kind->size, kind->live);
}

/* Their sizes are not known; in breakdowns they count as if all were of their mean size. */
void pfa_mprof_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    pfa_mprof_t *mprof = to;
    pfa_mprof_point_t *point = find_point(mprof, stack);
    (void)source;
    (void)group;
    point->all.chunks += chunks;
    point->all.bytes += bytes;
    point->all.classes[pfa_sum_class(chunks > 0 ? bytes / chunks : 0)] += bytes;
    mprof->folded += chunks;
    mprof->folded_bytes += bytes;
}

static int compare_functions(void *to, uint32_t left, uint32_t right)
{
    const pfa_mprof_t *mprof = to;
    return pfa_functions_compare(&mprof->functions, left, right);
}

void pfa_mprof_make(pfa_mprof_t *mprof, pfa_query_t *query)
{
    pfa_callchain_t chain = {.functions = NULL};
    pfa_progress_t progress;
    pfa_progress_begin(&progress, "names", mprof->point_count);
    for (size_t i = 0; i < mprof->point_count; i++) {
        const pfa_mprof_point_t *point = &mprof->points[i];
        pfa_callchain_take(&chain, &mprof->functions, &query->stacks, point->stack);
        pfa_callgraph_add(&mprof->graph, chain.functions, chain.count, &point->all);
        pfa_mprof_direct_add(mprof, &chain, point);
        pfa_mprof_leaks_add(mprof, &chain, point);
        pfa_mprof_bins_see(mprof, &chain);
        pfa_sum_join(&mprof->all, &point->all);
        pfa_sum_join(&mprof->kept, &point->kept);
        pfa_progress_step(&progress, i);
    }
    pfa_progress_end(&progress);
    pfa_callchain_free(&chain);
    pfa_functions_finish(&mprof->functions);
    pfa_callgraph_finish(&mprof->graph, compare_functions, mprof);
    pfa_mprof_direct_finish(mprof);
    pfa_mprof_leaks_finish(mprof);
    pfa_mprof_bins_finish(mprof, query);
    if (mprof->folded > 0) {
        char count[PFA_NUMBER_TEXT];
        pfa_notes_add(&query->remarks,
                      "%s of the chunks are known in sums by stack only, without their sizes: they are in no bin, and "
                      "breakdowns by size count them as if all chunks of a stack were of their mean size",
                      pfa_text_count(count, mprof->folded));
    }
}

bool pfa_mprof_is_listed(const pfa_mprof_t *mprof, double part, double whole)
{
    static const double least[] = {[PFA_TERSE] = 0.01, [PFA_NORMAL] = 0.005, [PFA_VERBOSE] = 0};
    return mprof->options.verbosity == PFA_VERBOSE || part > least[mprof->options.verbosity] * whole;
}
