/* Owns mprof's tables as text: leaks, bins, direct allocation; the call graph is in graph_text.c. Columns are the paper's. */
#include "analyze/mprof/mprof.h"

#include <math.h>

static void print_sites(const pfa_mprof_t *mprof, const pfa_mprof_leak_t *leak)
{
    if (leak->more) {
        printf(leak->count != 0 ? "... > " : "...");
    }
    for (uint32_t i = leak->count; i-- > 0;) {
        pfa_function_text(stdout, &mprof->functions, leak->functions[i]);
        if (leak->offsets[i] != 0) {
            printf("+%u", leak->offsets[i]);
        }
        printf("%s", i != 0 ? " > " : "");
    }
    putchar('\n');
}

/* The percentage of bytes is of all that was kept, as the manual page says; that of freed ones is of the path's own bytes. Paths
 * of which nothing was freed leave both fields out. */
static void print_leak(const pfa_mprof_t *mprof, const pfa_mprof_leak_t *leak, bool frees)
{
    char percent[PFA_PERCENT_TEXT];
    double freed = leak->all.chunks - leak->kept.chunks;
    double freed_bytes = leak->all.bytes - leak->kept.bytes;
    printf("%10.0f %14.0f %s", leak->all.chunks, leak->all.bytes,
           pfa_mprof_percent_short(percent, leak->kept.bytes, mprof->kept.bytes));
    if (round(freed) >= 1) {
        printf(" %10.0f %14.0f %s", freed, freed_bytes, pfa_mprof_percent_short(percent, freed_bytes, leak->all.bytes));
    } else if (frees) {
        printf(" %30s", "");
    }
    printf("  ");
    print_sites(mprof, leak);
}

void pfa_mprof_leaks_text(const pfa_mprof_t *mprof)
{
    size_t count = 0;
    bool frees = false;
    for (; count < mprof->leak_count && count < mprof->options.top; count++) {
        const pfa_mprof_leak_t *leak = &mprof->leaks[count];
        if (!pfa_mprof_is_listed(mprof, leak->kept.bytes, mprof->kept.bytes)) {
            break; /* they are in order */
        }
        frees = frees || round(leak->all.chunks - leak->kept.chunks) >= 1;
    }
    printf("\nMEMORY LEAKS\n\n%10s %14s %4s", "allocs", "bytes", "(%)");
    if (frees) {
        printf(" %10s %14s %4s", "frees", "bytes", "(%)");
    }
    printf("  path\n");
    for (size_t i = 0; i < count; i++) {
        print_leak(mprof, &mprof->leaks[i], frees);
    }
    if (mprof->leak_count == 0) {
        printf("  nothing was kept\n");
    } else if (count < mprof->leak_count) {
        printf("  and %zu more path%s%s\n", mprof->leak_count - count,
               pfa_text_plural((double)(mprof->leak_count - count)),
               count < mprof->options.top ? " with little; -verbose lists all" : "");
    }
}

static void print_types(const pfa_mprof_t *mprof, uint32_t size)
{
    enum { MOST = 8 };
    size_t count;
    const pfa_type_t *types = pfa_types_find(&mprof->types, size, &count);
    for (size_t i = 0; i < count && i < MOST; i++) {
        printf("%s%s", i == 0 ? "  " : ", ", types[i].name);
    }
    if (count > MOST) {
        printf(" and %zu more", count - MOST);
    }
}

static void print_bin(const pfa_mprof_t *mprof, const char *label, const pfa_mprof_bin_t *bin,
                      const pfa_mprof_bin_t *total)
{
    char percents[2][PFA_PERCENT_TEXT];
    size_t types = 0;
    if (bin >= mprof->bins && bin <= &mprof->bins[PFA_BIN_LARGEST]) {
        (void)pfa_types_find(&mprof->types, (uint32_t)(bin - mprof->bins), &types);
    }
    printf("%10s %10.0f %14.0f %s %10.0f %14.0f", label, bin->allocs, bin->bytes,
           pfa_mprof_percent_short(percents[0], bin->bytes, total->bytes), bin->frees, bin->kept);
    if (types != 0 || pfa_mprof_percent_of(bin->kept, total->kept) >= 1) {
        printf(" %s", pfa_mprof_percent_short(percents[1], bin->kept, total->kept));
    }
    if (types != 0) {
        print_types(mprof, (uint32_t)(bin - mprof->bins));
    }
    putchar('\n');
}

void pfa_mprof_bins_text(const pfa_mprof_t *mprof)
{
    static const pfa_mprof_bin_t nothing;
    size_t left_out = 0;
    printf("\nALLOCATION BINS\n\n%10s %10s %14s %4s %10s %14s %4s  %s\n", "size:", "allocs", "bytes", "(%)", "frees",
           "kept", "(%)", "types");
    for (size_t i = 0; i <= PFA_BIN_LARGEST; i++) {
        const pfa_mprof_bin_t *bin = &mprof->bins[i];
        char label[PFA_NUMBER_TEXT];
        if (pfa_mprof_bin_is_listed(mprof, bin)) {
            snprintf(label, sizeof label, "%zu", i);
            print_bin(mprof, label, bin, &mprof->bin_total);
        } else {
            left_out += bin->allocs > 0;
        }
    }
    print_bin(mprof, "> 1024", &mprof->bins[PFA_BIN_LARGEST + 1], &mprof->bin_total);
    print_bin(mprof, "<TOTAL>", &mprof->bin_total, &nothing);
    if (left_out != 0) {
        printf("  and %zu more size%s with little; -verbose lists all\n", left_out, pfa_text_plural((double)left_out));
    }
}

static void print_direct(const pfa_mprof_t *mprof, const char *part, const pfa_sum_t *all, const pfa_sum_t *kept)
{
    char breakdowns[2][PFA_BREAKDOWN_TEXT];
    printf("%7s %14.0f  %s | %14.0f  %s | %10.0f  ", part, all->bytes,
           pfa_mprof_percent_breakdown(breakdowns[0], all, mprof->all.bytes), kept->bytes,
           pfa_mprof_percent_breakdown(breakdowns[1], kept, mprof->kept.bytes), all->chunks);
}

void pfa_mprof_direct_text(const pfa_mprof_t *mprof)
{
    printf("\nDIRECT ALLOCATION\n\n%7s %14s  %-11s | %14s  %-11s | %10s  name\n", "% mem", "bytes", "% mem(size)",
           "bytes kept", "% all kept", "calls");
    printf("%7s %14s  %s | %14s  %s |\n", "", "", " s--m--l--x", "", " s--m--l--x");
    print_direct(mprof, "", &mprof->all, &mprof->kept);
    printf("<TOTAL>\n");
    for (size_t i = 0; i < mprof->direct_count && i < mprof->options.top; i++) {
        char part[PFA_NUMBER_TEXT];
        const pfa_sum_t *self = &mprof->graph.nodes[mprof->direct[i]].self;
        snprintf(part, sizeof part, "%.1f", pfa_mprof_percent_of(self->bytes, mprof->all.bytes));
        print_direct(mprof, part, self, &mprof->direct_kept[mprof->direct[i]]);
        pfa_function_text(stdout, &mprof->functions, mprof->direct[i]);
        putchar('\n');
    }
    if (mprof->direct_count > mprof->options.top) {
        printf("  and %zu more function%s\n", mprof->direct_count - mprof->options.top,
               pfa_text_plural((double)(mprof->direct_count - mprof->options.top)));
    }
}

static void print_heading(const pfa_mprof_t *mprof, const pfa_query_t *query)
{
    char numbers[3][PFA_NUMBER_TEXT];
    char widths[3][PFA_NUMBER_TEXT];
    for (size_t i = 0; i < query->source_count; i++) {
        const pfa_source_t *source = &query->sources[i];
        printf("%s: %s\n", source->path, source->command != NULL ? source->command : "unknown program");
    }
    if (query->sampled) {
        printf("estimates from samples, with 95 %% confidence: %s allocations%s, %s%s, kept %s%s\n",
               pfa_text_count(numbers[0], mprof->all.chunks),
               pfa_text_within(widths[0], mprof->all.chunks, mprof->spread.chunks),
               pfa_text_bytes(numbers[1], mprof->all.bytes),
               pfa_text_within(widths[1], mprof->all.bytes, mprof->spread.bytes),
               pfa_text_bytes(numbers[2], mprof->kept.bytes),
               pfa_text_within(widths[2], mprof->kept.bytes, mprof->spread.kept));
    }
}

void pfa_mprof_text(const pfa_mprof_t *mprof, pfa_query_t *query)
{
    print_heading(mprof, query);
    if (mprof->options.leak_table) {
        pfa_mprof_leaks_text(mprof);
    }
    pfa_mprof_bins_text(mprof);
    pfa_mprof_direct_text(mprof);
    pfa_callgraph_text(mprof);
    putchar('\n');
    pfa_query_tell(query, stdout);
}
