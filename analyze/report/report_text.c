/* Owns the report as text, for people. */
#include "analyze/report/report.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_file(FILE *to, const pfa_source_t *file)
{
    char number[PFA_NUMBER_TEXT];
    fprintf(to, "%s: %s\n", file->path,
            file->command != NULL && file->command[0] != '\0' ? file->command : "unknown program");
    fprintf(to, "  process %" PRIu32 "%s, %.3f s, %s, ", file->start.pid,
            file->start.origin == PFA_ORIGIN_FORK ? " (a fork child)" : "", (file->end_ns - file->start_ns) * 1e-9,
            strcmp(file->ending, "exit") == 0      ? "ended by itself"
            : strcmp(file->ending, "killed") == 0  ? "gone without an exit (killed, _exit, exec)"
            : strcmp(file->ending, "running") == 0 ? "still running"
            : strcmp(file->ending, "stopped") == 0 ? "recording was stopped"
            : strcmp(file->ending, "exec") == 0    ? "became another program (exec)"
                                                   : "end unknown");
    if (file->start.sample > 1) {
        fprintf(to, "sampled: one in %s on average; all figures are estimates\n",
                pfa_text_bytes(number, (double)file->start.sample));
    } else {
        fprintf(to, "every chunk recorded\n");
    }
    if (file->missing.count == 0) {
        fprintf(to, "  complete: nothing is missing\n");
    }
    for (size_t i = 0; i < file->missing.count; i++) {
        fprintf(to, "  MISSING: %s\n", file->missing.list[i]);
    }
    for (size_t i = 0; i < file->remarks.count; i++) {
        fprintf(to, "  note: %s\n", file->remarks.list[i]);
    }
}

static void print_total(FILE *to, const char *what, const pfa_estimate_t *chunks, const pfa_estimate_t *bytes)
{
    char count[PFA_NUMBER_TEXT];
    char size[PFA_NUMBER_TEXT];
    char whole[PFA_NUMBER_TEXT];
    char within[2][PFA_NUMBER_TEXT];
    pfa_text_within(within[1], chunks->value, chunks->variance);
    fprintf(to, "  %-10s %20s %14s  (%s bytes)%s%s%s", what, pfa_text_count(count, chunks->value),
            pfa_text_bytes(size, bytes->value), pfa_text_count(whole, bytes->value),
            pfa_text_within(within[0], bytes->value, bytes->variance), within[1][0] != '\0' ? ", chunks" : "",
            within[1]);
    fputc('\n', to);
}

static void print_peak(FILE *to, const pfa_report_t *report, const pfa_point_t *sum)
{
    char size[PFA_NUMBER_TEXT];
    char other[PFA_NUMBER_TEXT];
    char within[PFA_NUMBER_TEXT];
    const pfa_summit_result_t peak = report->peak;
    fprintf(to, "  %-10s %20s %14s  (%s bytes)%s", "peak", "", pfa_text_bytes(size, peak.bytes),
            pfa_text_count(other, peak.bytes), pfa_text_within(within, peak.bytes, sum->peak_variance));
    if (!report->peak.one) {
        fprintf(to, ", the sum of each file's own: their times cannot be compared");
    } else if (peak.bytes > 0) {
        fprintf(to, report->query->source_count == 1 ? " at %.3f s" : ", all together, %.3f s after the first began",
                report->peak.seconds);
        if (peak.at_most > peak.bytes) {
            fprintf(to, ", at most %s", pfa_text_bytes(size, peak.at_most));
        }
        if (report->query->source_count == 1 && !pfa_query_is_filtered(report->query) &&
            (double)report->query->sources[0].counters.peak_bytes > peak.bytes) {
            fprintf(to, "; counted by the library: %s",
                    pfa_text_count(size, (double)report->query->sources[0].counters.peak_bytes));
        }
    }
    fputc('\n', to);
}

static const char *text_seconds(char *text, double seconds)
{
    snprintf(text, PFA_NUMBER_TEXT, seconds < 0.1 ? "%.5f s" : "%.3f s", seconds);
    return text;
}

/* Of the time of all files that tell it. */
static void print_spent(FILE *to, const pfa_report_t *report)
{
    pfa_spent_t spent = {.files = 0};
    char texts[3][PFA_NUMBER_TEXT];
    if (!pfa_report_spent(report, &spent)) {
        if (report->query->sampled && !pfa_query_is_filtered(report->query)) {
            fprintf(to, "  %-10s in allocation routines: not known of a sampled recording\n", "time");
        }
        return;
    }
    double error = spent.seconds > 0 ? PFA_SPENT_SURE * pfa_spent_error(&spent) / spent.seconds : 0;
    fprintf(to, "  %-10s in allocation routines %s ±%.*f %% of %s (%.1f %%), of which the allocator itself %s", "time",
            text_seconds(texts[0], spent.seconds), error < 0.01 ? 1 : 0, 100 * error,
            text_seconds(texts[1], spent.recorded), spent.recorded > 0 ? 100 * spent.seconds / spent.recorded : 0,
            text_seconds(texts[2], spent.own));
    if (spent.waited > 0.01 * spent.seconds) {
        fprintf(to, ", and %s waiting for the trace to be written", text_seconds(texts[0], spent.waited));
    }
    if (spent.files < report->query->source_count) {
        fprintf(to, "; of %zu of %zu traces", spent.files, report->query->source_count);
    } else if (report->thread_count > spent.files) {
        fprintf(to, "; all threads together");
    }
    fputc('\n', to);
}

static void print_totals(FILE *to, const pfa_report_t *report)
{
    const pfa_tally_t *tally = &report->tally;
    fprintf(to, "\n  %-10s %20s %14s\n", "", "chunks", "bytes");
    pfa_point_t sum = pfa_report_sum(report);
    print_total(to, "allocated", &(pfa_estimate_t){tally->frees + tally->live_chunks, sum.chunks_variance},
                &(pfa_estimate_t){tally->bytes_freed + tally->live_bytes, sum.bytes_variance});
    print_total(to, "freed", &(pfa_estimate_t){tally->frees, sum.chunks_variance - sum.live_chunks_variance},
                &(pfa_estimate_t){tally->bytes_freed, sum.bytes_variance - sum.live_variance});
    print_total(to, "live", &(pfa_estimate_t){tally->live_chunks, sum.live_chunks_variance},
                &(pfa_estimate_t){tally->live_bytes, sum.live_variance});
    print_peak(to, report, &sum);
    print_spent(to, report);
    if (pfa_report_is_running(report)) {
        fprintf(
            to,
            "  note: while a process runs, each look at it is of another moment: bytes at the peak by place are of a later\n"
            "        one than the peak above and need not add up to it\n");
    }
}

/* `head` is what it is sorted by. */
static void print_point(FILE *to, const pfa_point_t *point, size_t rank, const char *head)
{
    char texts[6][PFA_NUMBER_TEXT];
    char within[6][PFA_NUMBER_TEXT];
    double chunks = point->frees + point->live_chunks;
    double bytes = point->bytes_freed + point->live_bytes;
    fprintf(to, "\n  #%zu  %s  %s%s in %s%s chunk%s", rank, head, pfa_text_bytes(texts[0], bytes),
            pfa_text_within(within[0], bytes, point->bytes_variance), pfa_text_count(texts[1], chunks),
            pfa_text_within(within[1], chunks, point->chunks_variance), pfa_text_plural(chunks));
    fprintf(to, "; live %s%s in %s%s; at the peak %s%s in %s%s\n", pfa_text_bytes(texts[2], point->live_bytes),
            pfa_text_within(within[2], point->live_bytes, point->live_variance),
            pfa_text_count(texts[3], point->live_chunks),
            pfa_text_within(within[3], point->live_chunks, point->live_chunks_variance),
            pfa_text_bytes(texts[4], point->peak_bytes),
            pfa_text_within(within[4], point->peak_bytes, point->peak_variance),
            pfa_text_count(texts[5], point->peak_chunks),
            pfa_text_within(within[5], point->peak_chunks, point->peak_chunks_variance));
}

/* The stack of a point, or what else it is told apart by. */
static void print_what(FILE *to, pfa_report_t *report, uint32_t number)
{
    uint32_t stack = pfa_query_group_stack(report->query, number);
    if (report->query->key == NULL || strcmp(report->query->key->name, "stack") == 0) {
        pfa_place_print_stack(to, &report->query->stacks, stack, "      ");
    } else {
        fprintf(to, "      %s\n", pfa_query_group_name(report->query, number));
    }
}

/* The rank of each point in the lists printed so far, to name it instead of printing its stack again. */
typedef struct printed {
    uint32_t *rank;
    const char **list;
} printed_t;

/* A share of all, or a score. */
static const char *head_of(char text[PFA_NUMBER_TEXT], pfa_order_kind_t kind, double value, double all)
{
    if (kind == PFA_ORDER_AMOUNT) {
        snprintf(text, PFA_NUMBER_TEXT, "%5.1f %%", 100 * (value / all));
    } else {
        snprintf(text, PFA_NUMBER_TEXT, kind == PFA_ORDER_STEP ? "%.0f of 12" : "%.2f", value);
    }
    return text;
}

static void print_points(FILE *to, pfa_report_t *report, size_t top, pfa_order_t order, printed_t *printed)
{
    uint32_t *numbers = pfa_report_order(report, order);
    const char *title = pfa_report_order_title(report, order);
    pfa_order_kind_t kind = pfa_report_order_kind(order);
    double all = 0;
    size_t count = 0;
    size_t points = 0; /* with a chunk that is asked for */
    for (uint32_t i = 0; i < report->point_count; i++) {
        points += report->points[i].frees + report->points[i].live_chunks > 0 ? 1 : 0;
    }
    for (uint32_t i = 0; i < report->point_count && kind == PFA_ORDER_AMOUNT; i++) {
        all += pfa_report_is_told(report, i, order) ? pfa_report_value(report, i, order) : 0;
    }
    while (count < top && count < report->point_count && pfa_report_is_told(report, numbers[count], order)) {
        count++;
    }
    fprintf(to, "\nAllocation points by %s: %zu of %zu%s\n", title, count, points,
            kind == PFA_ORDER_SCORE ? ", the lowest first" : "");
    for (size_t i = 0; i < count; i++) {
        uint32_t number = numbers[i];
        char head[PFA_NUMBER_TEXT];
        print_point(to, &report->points[number], i + 1,
                    head_of(head, kind, pfa_report_value(report, number, order), all));
        if (printed->rank[number] != 0) {
            fprintf(to, "      as #%" PRIu32 " by %s\n", printed->rank[number], printed->list[number]);
            continue;
        }
        printed->rank[number] = (uint32_t)i + 1;
        printed->list[number] = title;
        print_what(to, report, number);
    }
    pfa_memory_free(numbers);
}

static void print_sizes(FILE *to, const pfa_report_t *report)
{
    enum { WIDTH = 40 };
    double most = 0;
    for (size_t i = 0; i < PFA_SIZES; i++) {
        most = report->sizes[i].chunks > most ? report->sizes[i].chunks : most;
    }
    fprintf(to, "\nSizes%30s %14s\n", "chunks", "bytes");
    for (unsigned i = 0; i < PFA_SIZES; i++) {
        char range[64];
        char count[PFA_NUMBER_TEXT];
        char bytes[PFA_NUMBER_TEXT];
        const pfa_size_class_t *class = &report->sizes[i];
        if (class->chunks <= 0) {
            continue;
        }
        if (i < 2) {
            snprintf(range, sizeof range, "%u", i);
        } else {
            snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, (uint64_t)1 << (i - 1), ((uint64_t)1 << i) - 1);
        }
        fprintf(to, "  %-18s %14s %14s  %.*s\n", range, pfa_text_count(count, class->chunks),
                pfa_text_bytes(bytes, class->bytes), (int)(WIDTH * class->chunks / most),
                "########################################");
    }
}

static void print_threads(FILE *to, const pfa_report_t *report, size_t top)
{
    fprintf(to, "\nThreads%28s %14s %14s\n", "allocations", "frees", "bytes");
    for (size_t i = 0; i < report->thread_count; i++) {
        const pfa_thread_total_t *thread = &report->threads[i];
        char label[64];
        char texts[3][PFA_NUMBER_TEXT];
        if (i == 5 * top && i + 1 < report->thread_count) {
            fprintf(to, "  and %zu more\n", report->thread_count - i);
            break;
        }
        snprintf(label, sizeof label, "%s (%" PRIu32 ")", thread->name[0] != '\0' ? thread->name : "?", thread->tid);
        fprintf(to, "  %-18s %14s %14s %14s%s%s\n", label, pfa_text_count(texts[0], thread->allocations),
                pfa_text_count(texts[1], thread->frees), pfa_text_bytes(texts[2], thread->bytes),
                report->query->source_count > 1 ? "  " : "",
                report->query->source_count > 1 ? report->query->sources[thread->file].path : "");
    }
}

static void print_all(FILE *to, pfa_report_t *report, size_t top, const pfa_order_t *orders, size_t order_count)
{
    printed_t printed = {.rank = pfa_memory_get(report->point_count, sizeof *printed.rank),
                         .list = pfa_memory_get(report->point_count, sizeof *printed.list)};
    for (size_t i = 0; i < report->query->source_count; i++) {
        print_file(to, &report->query->sources[i]);
    }
    for (size_t i = 0; i < report->query->unread.count; i++) {
        fprintf(to, "MISSING: %s\n", report->query->unread.list[i]);
    }
    print_totals(to, report);
    pfa_score_text(to, report, top);
    for (size_t i = 0; i < order_count; i++) {
        print_points(to, report, top, orders[i], &printed);
    }
    pfa_access_text(to, report, top, orders[0]);
    print_sizes(to, report);
    print_threads(to, report, top);
    pfa_query_gather(report->query);
    for (size_t i = 0; i < report->query->remarks.count; i++) {
        fprintf(to, "%snote: %s\n", i == 0 ? "\n" : "", report->query->remarks.list[i]);
    }
    pfa_memory_free(printed.rank);
    pfa_memory_free(printed.list);
}

static void print_summary(void *answer, void *file)
{
    pfa_report_t *report = answer;
    FILE *to = file;
    char texts[2][PFA_NUMBER_TEXT];
    const pfa_tally_t *tally = &report->tally;
    fprintf(to, "  allocated  %s chunks, %s\n", pfa_text_count(texts[0], tally->frees + tally->live_chunks),
            pfa_text_bytes(texts[1], tally->bytes_freed + tally->live_bytes));
    fprintf(to, "  freed      %s chunks, %s\n", pfa_text_count(texts[0], tally->frees),
            pfa_text_bytes(texts[1], tally->bytes_freed));
    fprintf(to, "  live       %s chunk%s, %s at the end\n", pfa_text_count(texts[0], tally->live_chunks),
            pfa_text_plural(tally->live_chunks), pfa_text_bytes(texts[1], tally->live_bytes));
    fprintf(to, "  peak       %s", pfa_text_bytes(texts[0], report->peak.bytes));
    if (report->peak.one) {
        fprintf(to, " at %.3f s", report->peak.seconds);
    }
    fputc('\n', to);
    if (report->point_count != 0) {
        uint32_t *numbers = pfa_report_order(report, PFA_BY_BYTES);
        const pfa_point_t *point = &report->points[numbers[0]];
        fprintf(to, "  worst      %s in %s chunk%s from ",
                pfa_text_bytes(texts[0], point->bytes_freed + point->live_bytes),
                pfa_text_count(texts[1], point->frees + point->live_chunks),
                pfa_text_plural(point->frees + point->live_chunks));
        pfa_report_place(to, report, numbers[0]);
        fputc('\n', to);
        pfa_memory_free(numbers);
    }
}

int pfa_report_summary(pfa_report_t *report, FILE *to)
{
    return pfa_answer_write(report, print_summary, to);
}

typedef struct writing {
    FILE *to;
    size_t top;
    const pfa_order_t *orders;
    size_t order_count;
} writing_t;

static void write_text(void *answer, void *to)
{
    const writing_t *writing = to;
    print_all(writing->to, answer, writing->top, writing->orders, writing->order_count);
}

int pfa_report_text(pfa_report_t *report, size_t top, const pfa_order_t *orders, size_t order_count, FILE *to)
{
    writing_t writing = {.to = to, .top = top, .orders = orders, .order_count = order_count};
    return pfa_answer_write(report, write_text, &writing);
}
