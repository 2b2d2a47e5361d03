/* Owns the sums by stack that all of mprof's tables are made of. See analyze/mprof/mprof.h. Memory grows with stacks and
 * functions, not with chunks. */
#include "analyze/mprof/mprof.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/progress.h"
#include "analyze/base/slots.h"
#include "analyze/base/text.h"

#include <stdlib.h>

static void begin(pfa_mprof_t *mprof, const pfa_mprof_options_t *options)
{
    pfa_query_t *query = &mprof->answer.query;
    *mprof = (pfa_mprof_t){.answer = mprof->answer,
                           .options = *options,
                           .query = query,
                           .by_stack = {.naming = PFA_NAMED_STACK},
                           .by_size = {.naming = PFA_NAMED_SIZE},
                           .by_path = {.naming = PFA_NAMED_PATH},
                           .by_caller = {.naming = query->key != NULL ? PFA_NAMED_GROUP : PFA_NAMED_FUNCTION}};
    (void)pfa_mprof_row(&mprof->by_size, PFA_BINS - 1);
    pfa_functions_begin(&mprof->functions);
    pfa_callgraph_begin(&mprof->graph);
    pfa_types_begin(&mprof->types, mprof->wanted, PFA_BIN_LARGEST + 1);
}

static void forget(pfa_mprof_t *mprof)
{
    pfa_mprof_table_t *tables[] = {&mprof->by_stack, &mprof->by_size, &mprof->by_path, &mprof->by_caller,
                                   &mprof->leaks,    &mprof->bins,    &mprof->direct};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        pfa_memory_free(tables[i]->rows);
    }
    pfa_types_free(&mprof->types);
    pfa_callgraph_free(&mprof->graph);
    pfa_functions_free(&mprof->functions);
    pfa_slots_free(&mprof->path_slots);
    pfa_memory_free(mprof->point_of);
    pfa_memory_free(mprof->paths);
    pfa_memory_free(mprof->modules);
}

static pfa_mprof_row_t *find_point(pfa_mprof_t *mprof, uint32_t stack)
{
    mprof->point_of =
        pfa_memory_grow(mprof->point_of, &mprof->point_of_room, (size_t)stack + 1, sizeof *mprof->point_of);
    uint32_t *number = &mprof->point_of[stack];
    if (*number == 0) {
        pfa_mprof_row(&mprof->by_stack, (uint32_t)mprof->by_stack.count)->what = stack;
        *number = (uint32_t)mprof->by_stack.count;
    }
    return &mprof->by_stack.rows[*number - 1];
}

/* While rows are collected, `all` is without those that are kept. */
static void add(pfa_mprof_row_t *row, const pfa_kind_t *kind, double rows)
{
    pfa_sum_add(kind->live ? &row->kept : &row->all, rows, kind->weight, (double)kind->size);
}

static void add_kept(pfa_mprof_table_t *table)
{
    for (size_t i = 0; i < table->count; i++) {
        pfa_sum_join(&table->rows[i].all, &table->rows[i].kept);
    }
}

static void take_kind(void *to, const pfa_kind_t *kind, double rows)
{
    pfa_mprof_t *mprof = to;
    add(find_point(mprof, kind->stack), kind, rows);
    if (mprof->query->key != NULL) {
        add(pfa_mprof_row(&mprof->by_caller, kind->group), kind, rows);
    }
}

/* At the same time as take_kind. */
static void take_size(void *to, const pfa_kind_t *kind, double rows)
{
    pfa_mprof_t *mprof = to;
    add(&mprof->by_size.rows[pfa_mprof_bin_of(kind->size)], kind, rows);
}

/* Their sizes are not known; in breakdowns they count as if all were of their mean size. */
static void add_fold(pfa_mprof_row_t *row, double chunks, double bytes)
{
    row->all.chunks += chunks;
    row->all.bytes += bytes;
    row->all.classes[pfa_sum_class(chunks > 0 ? bytes / chunks : 0)] += bytes;
}

static void take_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    pfa_mprof_t *mprof = to;
    (void)source;
    add_fold(find_point(mprof, stack), chunks, bytes);
    if (mprof->query->key != NULL) {
        add_fold(pfa_mprof_row(&mprof->by_caller, group), chunks, bytes);
    }
    mprof->folded += chunks;
    mprof->folded_bytes += bytes;
}

static int compare_functions(void *to, uint32_t left, uint32_t right)
{
    const pfa_mprof_t *mprof = to;
    return pfa_functions_compare(&mprof->functions, left, right);
}

/* With a key, the rows of groups are there already. */
static void add_point(pfa_mprof_t *mprof, const pfa_callchain_t *chain, const pfa_mprof_row_t *point)
{
    pfa_callgraph_add(&mprof->graph, chain->functions, chain->count, &point->all);
    pfa_mprof_bins_see(mprof, chain);
    pfa_mprof_row_join(&mprof->total, point);
    if (mprof->query->key == NULL) {
        pfa_mprof_row_join(pfa_mprof_row(&mprof->by_caller, chain->functions[0]), point);
        pfa_mprof_row_join(pfa_mprof_row(&mprof->by_path, pfa_mprof_path_of(mprof, chain)), point);
    }
}

static void make(pfa_mprof_t *mprof)
{
    pfa_callchain_t chain = {.functions = NULL};
    pfa_progress_t progress;
    add_kept(&mprof->by_stack);
    add_kept(&mprof->by_size);
    add_kept(&mprof->by_caller); /* empty unless there is a key */
    pfa_progress_begin(&progress, pfa_session_watch(mprof->query->session), "names", mprof->by_stack.count);
    for (size_t i = 0; i < mprof->by_stack.count; i++) {
        const pfa_mprof_row_t *point = &mprof->by_stack.rows[i];
        pfa_callchain_take(&chain, &mprof->functions, &mprof->query->stacks, point->what);
        add_point(mprof, &chain, point);
        pfa_progress_step(&progress, 1);
    }
    pfa_progress_end(&progress);
    for (size_t i = 0; i < mprof->by_size.count; i++) {
        pfa_mprof_row_join(&mprof->bin_total, &mprof->by_size.rows[i]);
    }
    pfa_callchain_free(&chain);
    pfa_functions_finish(&mprof->functions);
    pfa_callgraph_finish(&mprof->graph, mprof->options.sort, compare_functions, mprof);
    pfa_mprof_tables_finish(mprof);
    pfa_mprof_bins_finish(mprof);
    if (mprof->folded > 0) {
        char count[PFA_NUMBER_TEXT];
        pfa_notes_add(&mprof->query->remarks,
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

/* What was added of a file that can no longer be read cannot be taken away again: all is read anew without it. */
static int fill(void *answer, const void *options)
{
    pfa_mprof_t *mprof = answer;
    pfa_look_t look = {.to = mprof, .kind = take_kind, .beside_kind = take_size, .fold = take_fold};
    for (;;) {
        size_t sources = mprof->answer.query.source_count;
        begin(mprof, options);
        if (pfa_query_walk(mprof->query, &look, "reading") == 0) {
            make(mprof);
            return 0;
        }
        forget(mprof);
        int error = pfa_answer_again(mprof->query, sources);
        if (error != 0) {
            return error;
        }
    }
}

int pfa_mprof_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_mprof_options_t *options,
                      pfa_mprof_t **mprof)
{
    void *answer;
    int error = pfa_answer_make(&answer, sizeof **mprof, session, question, fill, options);
    *mprof = answer;
    return error;
}
