/* Owns mprof's tables as text: leaks, bins, direct allocation; the call graph is in graph_text.c. Columns are the paper's; of
 * estimates one more, behind bytes, tells how good they are. */
#include "analyze/mprof/mprof.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What the rows of a table are called. */
static const char *noun_of(const pfa_mprof_t *mprof, const pfa_mprof_table_t *table)
{
    static const char *const nouns[] = {[PFA_NAMED_STACK] = "stack",
                                        [PFA_NAMED_SIZE] = "size",
                                        [PFA_NAMED_PATH] = "path",
                                        [PFA_NAMED_FUNCTION] = "function"};
    return table->naming == PFA_NAMED_GROUP ? mprof->query->key->name : nouns[table->naming];
}

static void print_path(FILE *to, const pfa_mprof_t *mprof, const pfa_mprof_path_t *path)
{
    if (path->more) {
        fprintf(to, path->count != 0 ? "... > " : "...");
    }
    for (uint32_t i = path->count; i-- > 0;) {
        pfa_function_text(to, &mprof->functions, path->functions[i]);
        if (path->offsets[i] != 0) {
            fprintf(to, "+%" PRIu32, path->offsets[i]);
        }
        fprintf(to, "%s", i != 0 ? " > " : "");
    }
}

/* Ends the line. Many stacks have the same place: where paths are told, they are told whole, below. */
static void print_name(FILE *to, const pfa_mprof_t *mprof, const pfa_mprof_table_t *table, uint32_t what)
{
    pfa_query_t *query = mprof->query;
    if (table->naming == PFA_NAMED_PATH) {
        print_path(to, mprof, &mprof->paths[what]);
    } else if (table->naming == PFA_NAMED_FUNCTION) {
        pfa_function_text(to, &mprof->functions, what);
    } else {
        fputs(pfa_query_group_name(query, what), to);
    }
    fputc('\n', to);
    if (table == &mprof->leaks && query->key == &pfa_keys[0]) {
        pfa_place_print_stack(to, &query->stacks, pfa_query_group_stack(query, what), "                 ");
    }
}

/* Rows that are not listed, and their sums. */
typedef struct left_out {
    size_t count;
    pfa_mprof_row_t sum;
    bool little; /* not for --top */
} left_out_t;

static void leave_out(left_out_t *left, const pfa_mprof_row_t *row, bool little)
{
    left->count++;
    left->little = little;
    pfa_mprof_row_join(&left->sum, row);
}

static void print_left_out(FILE *to, const pfa_mprof_t *mprof, const pfa_mprof_table_t *table, const left_out_t *left)
{
    char texts[4][PFA_NUMBER_TEXT];
    if (left->count == 0) {
        return;
    }
    fprintf(to, "  and %s more %s%s%s: %s allocs, %s bytes, %s kept%s\n", pfa_text_count(texts[0], (double)left->count),
            noun_of(mprof, table), pfa_text_plural((double)left->count), left->little ? " with little" : "",
            pfa_text_count(texts[1], left->sum.all.chunks), pfa_text_count(texts[2], left->sum.all.bytes),
            pfa_text_count(texts[3], left->sum.kept.bytes), left->little ? "; -verbose lists all" : "");
}

/* The percentage of bytes is of all that was kept, as the manual page says; that of freed ones is of the path's own bytes. Paths
 * of which nothing was freed leave both fields out. */
static void print_leak(FILE *to, const pfa_mprof_t *mprof, const pfa_mprof_row_t *leak, bool frees)
{
    char percent[PFA_PERCENT_TEXT];
    char within[PFA_PERCENT_TEXT];
    double freed = leak->all.chunks - leak->kept.chunks;
    double freed_bytes = leak->all.bytes - leak->kept.bytes;
    fprintf(to, "%10.0f %14.0f%s %s", leak->all.chunks, leak->all.bytes, pfa_mprof_within(mprof, within, &leak->all),
            pfa_mprof_percent_short(percent, leak->kept.bytes, mprof->total.kept.bytes));
    if (round(freed) >= 1) {
        fprintf(to, " %10.0f %14.0f %s", freed, freed_bytes,
                pfa_mprof_percent_short(percent, freed_bytes, leak->all.bytes));
    } else if (frees) {
        fprintf(to, " %30s", "");
    }
    fprintf(to, "  ");
    print_name(to, mprof, &mprof->leaks, leak->what);
}

/* Where all that was kept is of no size, chunks count. */
static bool list_leak(const pfa_mprof_t *mprof, const pfa_mprof_row_t *leak, size_t listed)
{
    const pfa_sum_t *all = &mprof->total.kept;
    bool much = all->bytes > 0 ? pfa_mprof_is_listed(mprof, leak->kept.bytes, all->bytes)
                               : pfa_mprof_is_listed(mprof, leak->kept.chunks, all->chunks);
    return listed < mprof->options.top && much;
}

static void print_leaks(FILE *to, const pfa_mprof_t *mprof)
{
    const pfa_mprof_table_t *table = &mprof->leaks;
    left_out_t left = {.count = 0};
    bool frees = false;
    for (size_t i = 0, listed = 0; i < table->count; i++) {
        bool is_listed = list_leak(mprof, &table->rows[i], listed);
        listed += is_listed;
        frees = frees || (is_listed && round(table->rows[i].all.chunks - table->rows[i].kept.chunks) >= 1);
    }
    fprintf(to, "\nMEMORY LEAKS\n\n%10s %14s%s %4s", "allocs", "bytes", pfa_mprof_within_head(mprof), "(%)");
    if (frees) {
        fprintf(to, " %10s %14s %4s", "frees", "bytes", "(%)");
    }
    fprintf(to, "  %s\n", noun_of(mprof, table));
    for (size_t i = 0, listed = 0; i < table->count; i++) {
        if (list_leak(mprof, &table->rows[i], listed)) {
            print_leak(to, mprof, &table->rows[i], frees);
            listed++;
        } else {
            leave_out(&left, &table->rows[i], listed < mprof->options.top);
        }
    }
    fprintf(to, "%s", table->count == 0 ? "  nothing was kept\n" : "");
    print_left_out(to, mprof, table, &left);
}

static void print_types(FILE *to, const pfa_type_t *types, size_t count)
{
    enum { MOST = 8 };
    for (size_t i = 0; i < count && i < MOST; i++) {
        fprintf(to, "%s%s", i == 0 ? "  " : ", ", types[i].name);
    }
    if (count > MOST) {
        fprintf(to, " and %zu more", count - MOST);
    }
}

static void print_bin(FILE *to, const pfa_mprof_t *mprof, const char *label, const pfa_mprof_row_t *bin,
                      const pfa_mprof_row_t *total)
{
    char percents[2][PFA_PERCENT_TEXT];
    char withins[2][PFA_PERCENT_TEXT];
    size_t count = 0;
    const pfa_type_t *types = bin->what <= PFA_BIN_LARGEST ? pfa_types_find(&mprof->types, bin->what, &count) : NULL;
    fprintf(to, "%10s %10.0f %14.0f%s %s %10.0f %14.0f%s", label, bin->all.chunks, bin->all.bytes,
            pfa_mprof_within(mprof, withins[0], &bin->all),
            pfa_mprof_percent_short(percents[0], bin->all.bytes, total->all.bytes), bin->all.chunks - bin->kept.chunks,
            bin->kept.bytes, pfa_mprof_within(mprof, withins[1], &bin->kept));
    if (count != 0 || pfa_mprof_percent_of(bin->kept.bytes, total->kept.bytes) >= 1) {
        fprintf(to, " %s", pfa_mprof_percent_short(percents[1], bin->kept.bytes, total->kept.bytes));
    }
    print_types(to, types, count);
    fputc('\n', to);
}

/* The paper's table has a line for what is larger than the bins even where there is nothing. */
static void print_bins(FILE *to, const pfa_mprof_t *mprof)
{
    const pfa_mprof_row_t *large = &mprof->by_size.rows[PFA_BIN_LARGEST + 1];
    const pfa_mprof_row_t nothing = {.what = UINT32_MAX};
    pfa_mprof_row_t total = mprof->bin_total;
    left_out_t left = {.count = 0};
    const char *within = pfa_mprof_within_head(mprof);
    fprintf(to, "\nALLOCATION BINS\n\n%10s %10s %14s%s %4s %10s %14s%s %4s  %s\n", "size:", "allocs", "bytes", within,
            "(%)", "frees", "kept", within, "(%)", "types");
    for (size_t i = 0; i < mprof->bins.count; i++) {
        const pfa_mprof_row_t *bin = &mprof->bins.rows[i];
        char label[PFA_NUMBER_TEXT] = "> 1024";
        if (bin->what <= PFA_BIN_LARGEST) {
            snprintf(label, sizeof label, "%" PRIu32, bin->what);
        }
        if (bin->what == large->what || pfa_mprof_bin_is_listed(mprof, bin)) {
            print_bin(to, mprof, label, bin, &mprof->bin_total);
        } else {
            leave_out(&left, bin, true);
        }
    }
    if (large->all.chunks <= 0) {
        print_bin(to, mprof, "> 1024", large, &nothing);
    }
    total.what = UINT32_MAX;
    print_bin(to, mprof, "<TOTAL>", &total, &nothing);
    print_left_out(to, mprof, &mprof->bins, &left);
}

static void print_direct_row(FILE *to, const pfa_mprof_t *mprof, const char *part, const pfa_mprof_row_t *row)
{
    char breakdowns[2][PFA_BREAKDOWN_TEXT];
    char withins[2][PFA_PERCENT_TEXT];
    fprintf(to, "%7s %14.0f%s  %s | %14.0f%s  %s | %10.0f  ", part, row->all.bytes,
            pfa_mprof_within(mprof, withins[0], &row->all),
            pfa_mprof_percent_breakdown(breakdowns[0], &row->all, mprof->total.all.bytes), row->kept.bytes,
            pfa_mprof_within(mprof, withins[1], &row->kept),
            pfa_mprof_percent_breakdown(breakdowns[1], &row->kept, mprof->total.kept.bytes), row->all.chunks);
}

static void print_direct(FILE *to, const pfa_mprof_t *mprof)
{
    const pfa_mprof_table_t *table = &mprof->direct;
    const char *within = pfa_mprof_within_head(mprof);
    const char *none = pfa_mprof_within_none(mprof);
    left_out_t left = {.count = 0};
    fprintf(to, "\nDIRECT ALLOCATION\n\n%7s %14s%s  %-11s | %14s%s  %-11s | %10s  %s\n", "% mem", "bytes", within,
            "% mem(size)", "bytes kept", within, "% all kept", "calls",
            table->naming == PFA_NAMED_GROUP ? noun_of(mprof, table) : "name");
    fprintf(to, "%7s %14s%s  %s | %14s%s  %s |\n", "", "", none, " s--m--l--x", "", none, " s--m--l--x");
    print_direct_row(to, mprof, "", &mprof->total);
    fprintf(to, "<TOTAL>\n");
    for (size_t i = 0; i < table->count; i++) {
        const pfa_mprof_row_t *row = &table->rows[i];
        char part[PFA_NUMBER_TEXT];
        if (i >= mprof->options.top) {
            leave_out(&left, row, false);
            continue;
        }
        snprintf(part, sizeof part, "%.1f", pfa_mprof_percent_of(row->all.bytes, mprof->total.all.bytes));
        print_direct_row(to, mprof, part, row);
        print_name(to, mprof, table, row->what);
    }
    print_left_out(to, mprof, table, &left);
}

static void print_heading(FILE *to, const pfa_mprof_t *mprof)
{
    char numbers[3][PFA_NUMBER_TEXT];
    char widths[3][PFA_NUMBER_TEXT];
    const pfa_query_t *query = mprof->query;
    const pfa_sum_t *all = &mprof->total.all;
    const pfa_sum_t *kept = &mprof->total.kept;
    for (size_t i = 0; i < query->source_count; i++) {
        const pfa_source_t *source = &query->sources[i];
        fprintf(to, "%s: %s\n", source->path, source->command != NULL ? source->command : "unknown program");
    }
    if (query->sampled) {
        fprintf(to, "estimates from samples, with 95 %% confidence: %s allocations%s, %s%s, kept %s%s\n",
                pfa_text_count(numbers[0], all->chunks), pfa_text_within(widths[0], all->chunks, all->chunks_variance),
                pfa_text_bytes(numbers[1], all->bytes), pfa_text_within(widths[1], all->bytes, all->bytes_variance),
                pfa_text_bytes(numbers[2], kept->bytes), pfa_text_within(widths[2], kept->bytes, kept->bytes_variance));
    }
}

static void print_all(FILE *to, const pfa_mprof_t *mprof)
{
    print_heading(to, mprof);
    if (mprof->options.leak_table) {
        print_leaks(to, mprof);
    }
    print_bins(to, mprof);
    print_direct(to, mprof);
    pfa_callgraph_text(to, mprof);
    fputc('\n', to);
    pfa_query_tell(mprof->query, to);
}

static void write_text(void *answer, void *to)
{
    print_all(to, answer);
}

int pfa_mprof_text(pfa_mprof_t *mprof, FILE *to)
{
    return pfa_answer_write(mprof, write_text, to);
}
