/* Owns what the tables of leaks, sizes and direct allocation have in common: rows of sums, and the order they are told in. See
 * analyze/mprof/mprof.h. */
#include "analyze/mprof/mprof.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

pfa_mprof_row_t *pfa_mprof_row(pfa_mprof_table_t *table, uint32_t what)
{
    table->rows = pfa_memory_grow(table->rows, &table->room, (size_t)what + 1, sizeof *table->rows);
    for (; table->count <= what; table->count++) {
        table->rows[table->count].what = (uint32_t)table->count;
    }
    return &table->rows[what];
}

void pfa_mprof_row_join(pfa_mprof_row_t *row, const pfa_mprof_row_t *more)
{
    pfa_sum_join(&row->all, &more->all);
    pfa_sum_join(&row->kept, &more->kept);
}

/* What sorting is told. */
typedef struct sorting {
    const pfa_mprof_t *mprof;
    pfa_naming_t naming;
    pfa_sort_t sort;
} sorting_t;

/* Groups have numbers in their names: 8 comes before 16. */
static int compare_names(const sorting_t *sorting, uint32_t left, uint32_t right)
{
    pfa_query_t *query = sorting->mprof->query;
    switch (sorting->naming) {
    case PFA_NAMED_PATH:
        return pfa_mprof_paths_compare(sorting->mprof, left, right);
    case PFA_NAMED_FUNCTION:
        return pfa_functions_compare(&sorting->mprof->functions, left, right);
    case PFA_NAMED_GROUP:
        return strverscmp(pfa_query_group_name(query, left), pfa_query_group_name(query, right));
    default:
        return 0;
    }
}

static int compare_rows(const void *a, const void *b, void *to)
{
    const sorting_t *sorting = to;
    const pfa_mprof_row_t *left = a;
    const pfa_mprof_row_t *right = b;
    int result = 0;
    if (sorting->sort == PFA_SORT_KEPT) {
        result = pfa_sum_compare(&left->kept, &right->kept, sorting->sort);
    }
    if (result == 0 && sorting->sort != PFA_SORT_NAME) {
        result = pfa_sum_compare(&left->all, &right->all, sorting->sort);
    }
    result = result != 0 ? result : compare_names(sorting, left->what, right->what);
    return result != 0 ? result : left->what < right->what ? -1 : left->what > right->what;
}

static void sort_rows(const pfa_mprof_t *mprof, pfa_mprof_table_t *table, pfa_sort_t paper)
{
    pfa_sort_t asked = mprof->options.sort;
    sorting_t sorting = {.mprof = mprof, .naming = table->naming, .sort = asked != PFA_SORT_PAPER ? asked : paper};
    if (table->count != 0) {
        qsort_r(table->rows, table->count, sizeof *table->rows, compare_rows, &sorting);
    }
}

/* A table of those rows that have chunks; `kept`: chunks that were kept. */
static pfa_mprof_table_t choose_rows(const pfa_mprof_table_t *all, bool kept)
{
    pfa_mprof_table_t chosen = {.naming = all->naming};
    chosen.rows = pfa_memory_get(all->count, sizeof *chosen.rows);
    chosen.room = all->count;
    for (size_t i = 0; i < all->count; i++) {
        const pfa_mprof_row_t *row = &all->rows[i];
        if ((kept ? &row->kept : &row->all)->chunks > 0) {
            chosen.rows[chosen.count++] = *row;
        }
    }
    return chosen;
}

void pfa_mprof_tables_finish(pfa_mprof_t *mprof)
{
    pfa_mprof_table_t *paths = mprof->query->key != NULL ? &mprof->by_caller : &mprof->by_path;
    mprof->leaks = choose_rows(paths, true);
    mprof->direct = choose_rows(&mprof->by_caller, false);
    mprof->bins = choose_rows(&mprof->by_size, false);
    sort_rows(mprof, &mprof->leaks, PFA_SORT_KEPT);
    sort_rows(mprof, &mprof->direct, PFA_SORT_BYTES);
    sort_rows(mprof, &mprof->bins, PFA_SORT_NAME);
}
