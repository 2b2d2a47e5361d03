/* Owns what the report says of accesses as text: a table of the points, those whose memory was not needed, and which words
 * of chunks were touched how often. Lines stay within 100 columns, but for long names of functions. */
#include "analyze/report/report.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAP_LINES = 16, LIST_LINES = 5 };

/* "45.6 %", or "-" of nothing. */
static const char *percent(char text[PFA_NUMBER_TEXT], double part, double all)
{
    if (all > 0) {
        snprintf(text, PFA_NUMBER_TEXT, "%.1f %%", 100 * part / all);
    } else {
        snprintf(text, PFA_NUMBER_TEXT, "-");
    }
    return text;
}

/* Likewise, of a point none of whose chunks is known. */
static const char *count_of(char text[PFA_NUMBER_TEXT], const pfa_access_total_t *total, double count)
{
    return total->chunks > 0 ? pfa_text_count(text, count) : "-";
}

static void print_all(FILE *to, const pfa_report_t *report)
{
    char texts[4][PFA_NUMBER_TEXT];
    pfa_access_total_t all = pfa_report_all_accesses(report);
    double unknown = pfa_access_unknown(&all, report->tally.frees + report->tally.live_chunks);
    fprintf(to, "\nAccesses of %s chunk%s: %s reads, %s writes; used %s of the bytes asked for\n",
            pfa_text_count(texts[0], all.chunks), pfa_text_plural(all.chunks), pfa_text_count(texts[1], all.reads),
            pfa_text_count(texts[2], all.writes), percent(texts[3], all.bytes_touched, all.bytes));
    fprintf(to, "  never read %s, never written %s, never touched %s, shared between threads %s\n",
            pfa_text_count(texts[0], all.never_read), pfa_text_count(texts[1], all.never_written),
            pfa_text_count(texts[2], all.never_touched), pfa_text_count(texts[3], all.shared));
    if (all.blind > 0) {
        fprintf(to, "  note: %s other chunk%s not in this: code that is not instrumented allocated %s\n",
                pfa_text_count(texts[0], all.blind), all.blind < 1.5 ? " is" : "s are",
                all.blind < 1.5 ? "it" : "them");
    }
    if (unknown > 0) {
        fprintf(to, "  note: the accesses of %s other chunk%s are not known (folded deaths, or recorded without)\n",
                pfa_text_count(texts[0], unknown), pfa_text_plural(unknown));
    }
    if (all.saturated > 0) {
        fprintf(to, "  note: %s chunk%s counters that are full: there were more reads or writes than counted\n",
                pfa_text_count(texts[0], all.saturated), all.saturated < 1.5 ? " has" : "s have");
    }
}

/* Ranks are those of the list of points in the same order. */
static void print_point(FILE *to, pfa_report_t *report, size_t rank, uint32_t number)
{
    const pfa_access_total_t *total = pfa_report_access(report, number);
    char texts[6][PFA_NUMBER_TEXT];
    fprintf(to, "  #%-4zu %7s %12s %12s %7s %7s %7s  ", rank, percent(texts[0], total->bytes_touched, total->bytes),
            count_of(texts[1], total, total->reads), count_of(texts[2], total, total->writes),
            percent(texts[3], total->idle_before, total->lifetime),
            percent(texts[4], total->idle_after, total->lifetime), percent(texts[5], total->shared, total->chunks));
    pfa_report_place(to, report, number);
    fputc('\n', to);
}

static void print_points(FILE *to, pfa_report_t *report, size_t top, const uint32_t *numbers, pfa_order_t order)
{
    fprintf(to, "\n  %-5s %7s %12s %12s %7s %7s %7s  %s\n", "", "used", "reads", "writes", "before", "after", "shared",
            "place");
    for (size_t i = 0; i < top && i < report->point_count && pfa_report_is_told(report, numbers[i], order); i++) {
        print_point(to, report, i + 1, numbers[i]);
    }
    fprintf(to, "  used: bytes from the first touched to the last; before, after: idle until the first access and\n"
                "  since the last, of the time that chunks lived; shared: chunks touched by several threads.\n"
                "  All by instrumented code: what other libraries do with a chunk, libc for one, is not seen\n");
}

/* Chunks that were of no use, by point. */
typedef struct useless {
    uint32_t number;
    uint32_t rank;
    double chunks;
    double bytes;
} useless_t;

static int compare_useless(const void *a, const void *b)
{
    const useless_t *left = a;
    const useless_t *right = b;
    if (left->bytes != right->bytes) {
        return left->bytes > right->bytes ? -1 : 1;
    }
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

static void print_useless_point(FILE *to, pfa_report_t *report, const useless_t *useless, size_t top)
{
    const pfa_access_total_t *total = pfa_report_access(report, useless->number);
    char texts[3][PFA_NUMBER_TEXT];
    char rank[24] = "";
    if (useless->rank <= top) {
        snprintf(rank, sizeof rank, "#%" PRIu32, useless->rank);
    }
    fprintf(to, "  %-5s %10s in %s of %s chunk%s: ", rank, pfa_text_bytes(texts[0], useless->bytes),
            pfa_text_count(texts[1], useless->chunks), pfa_text_count(texts[2], total->chunks),
            pfa_text_plural(total->chunks));
    pfa_report_place(to, report, useless->number);
    fputc('\n', to);
}

/* Points that the list of points has are told with their rank there. */
static void print_useless(FILE *to, pfa_report_t *report, size_t top, const uint32_t *numbers, bool untouched)
{
    const char *title = untouched ? "Never touched" : "Written and never read";
    useless_t *list = pfa_memory_get(report->point_count, sizeof *list);
    char texts[2][PFA_NUMBER_TEXT];
    size_t count = 0;
    useless_t all = {.number = 0};
    for (uint32_t i = 0; i < report->point_count; i++) {
        const pfa_access_total_t *total = pfa_report_access(report, numbers[i]);
        useless_t one = {.number = numbers[i],
                         .rank = i + 1,
                         .chunks = untouched ? total->never_touched : total->unread_chunks,
                         .bytes = untouched ? total->untouched_bytes : total->unread_bytes};
        if (one.chunks > 0) {
            list[count++] = one;
            all.chunks += one.chunks;
            all.bytes += one.bytes;
        }
    }
    qsort(list, count, sizeof *list, compare_useless);
    fprintf(to, "\n%s: %s in %s chunk%s%s\n", title, pfa_text_bytes(texts[0], all.bytes),
            pfa_text_count(texts[1], all.chunks), pfa_text_plural(all.chunks),
            count > LIST_LINES ? ", most of all from"
            : count != 0       ? ", from"
                               : "");
    for (size_t i = 0; i < count && i < LIST_LINES; i++) {
        print_useless_point(to, report, &list[i], top);
    }
    pfa_memory_free(list);
}

typedef enum heat { NEVER, COLD, WARM, HOT } heat_t;

/* Words one behind the other that are alike, and between which counts they are. */
typedef struct run {
    uint32_t from;
    uint32_t to; /* not included */
    heat_t heat;
    uint64_t reads[2];
    uint64_t writes[2];
} run_t;

static double sum_at(const pfa_map_t *map, uint32_t word)
{
    return (double)map->counters[word] + (double)map->counters[map->words + word];
}

static heat_t heat_of(double sum, double hottest)
{
    if (sum <= 0) {
        return NEVER;
    }
    return sum >= 0.5 * hottest ? HOT : sum < 0.05 * hottest ? COLD : WARM;
}

static bool widen(run_t *run, const run_t *next, bool same_counts)
{
    bool same = run->reads[0] == next->reads[0] && run->writes[0] == next->writes[0];
    if (run->heat != next->heat || (same_counts && !same)) {
        return false;
    }
    run->to = next->to;
    run->reads[0] = next->reads[0] < run->reads[0] ? next->reads[0] : run->reads[0];
    run->reads[1] = next->reads[1] > run->reads[1] ? next->reads[1] : run->reads[1];
    run->writes[0] = next->writes[0] < run->writes[0] ? next->writes[0] : run->writes[0];
    run->writes[1] = next->writes[1] > run->writes[1] ? next->writes[1] : run->writes[1];
    return true;
}

/* Of words with the same counts, or of the same heat. */
static size_t find_runs(const pfa_map_t *map, uint32_t words, bool same_counts, run_t *runs)
{
    double hottest = 0;
    size_t count = 0;
    for (uint32_t i = 0; i < words; i++) {
        hottest = sum_at(map, i) > hottest ? sum_at(map, i) : hottest;
    }
    for (uint32_t i = 0; i < words; i++) {
        uint64_t reads = map->counters[i];
        uint64_t writes = map->counters[map->words + i];
        run_t one = {i, i + 1, heat_of(sum_at(map, i), hottest), {reads, reads}, {writes, writes}};
        if (count == 0 || !widen(&runs[count - 1], &one, same_counts)) {
            runs[count++] = one;
        }
    }
    return count;
}

static void print_counts(FILE *to, const char *what, const uint64_t counts[2])
{
    char texts[2][PFA_NUMBER_TEXT];
    fprintf(to, " %s %s", what, pfa_text_count(texts[0], (double)counts[0]));
    if (counts[0] != counts[1]) {
        fprintf(to, "-%s", pfa_text_count(texts[1], (double)counts[1]));
    }
}

static void print_run(FILE *to, const run_t *run, uint64_t largest)
{
    static const char *const marks[] = {[NEVER] = "", [COLD] = "  cold", [WARM] = "", [HOT] = "  hot"};
    uint64_t end = 8 * (uint64_t)run->to;
    end = largest != 0 && largest < end ? largest : end;
    fprintf(to, "      bytes %" PRIu64 "-%" PRIu64, 8 * (uint64_t)run->from, end - 1);
    if (run->heat == NEVER) {
        fprintf(to, " never touched\n");
        return;
    }
    print_counts(to, "reads", run->reads);
    print_counts(to, "writes", run->writes);
    fprintf(to, "%s\n", marks[run->heat]);
}

static void print_map(FILE *to, pfa_report_t *report, size_t rank, uint32_t number)
{
    const pfa_map_t *map = pfa_report_map(report, number);
    uint32_t words = pfa_report_map_words(report, number);
    run_t *runs = pfa_memory_get(words, sizeof *runs);
    size_t count = find_runs(map, words, true, runs);
    count = count > MAP_LINES ? find_runs(map, words, false, runs) : count;
    fprintf(to, "  #%-4zu ", rank);
    pfa_report_place(to, report, number);
    fputc('\n', to);
    for (size_t i = 0; i < count && i < MAP_LINES; i++) {
        print_run(to, &runs[i], report->points[number].largest);
    }
    if (count > MAP_LINES) {
        fprintf(to, "      and %zu more; --json has all words\n", count - MAP_LINES);
    }
    pfa_memory_free(runs);
}

static void say_merged(FILE *to, const pfa_report_t *report)
{
    if (report->maps_are_merged) {
        fprintf(to, "  note: " PFA_MERGED_WHAT ":\n  " PFA_MERGED_WORDS "; " PFA_MERGED_HELP "\n");
    }
}

static void print_maps(FILE *to, pfa_report_t *report, size_t top, const uint32_t *numbers)
{
    bool first = true;
    for (size_t i = 0; i < top && i < report->point_count; i++) {
        if (pfa_report_map(report, numbers[i]) != NULL) {
            if (first) {
                fprintf(
                    to,
                    "\nAccesses by place in the chunk (hot: half of what the busiest word has, or more; cold: below 5 %%)\n");
                say_merged(to, report);
            }
            first = false;
            print_map(to, report, i + 1, numbers[i]);
        }
    }
}

static void say_none(FILE *to, const pfa_report_t *report)
{
    for (size_t i = 0; i < report->query->source_count; i++) {
        if (report->query->sources[i].counters.instrumented != 0) {
            fprintf(to, "\nno access data: it was recorded without, by accesses:false or as the library said then\n");
            return;
        }
    }
    fprintf(to, "\nno access data: build with profalloc-cc to see what was done with the chunks\n");
}

void pfa_access_text(FILE *to, pfa_report_t *report, size_t top, pfa_order_t order)
{
    if (report->tally.frees + report->tally.live_chunks <= 0) {
        fprintf(to, "\nno access data: no chunk was recorded%s\n",
                pfa_query_is_filtered(report->query) ? " for which --where holds" : "");
        return;
    }
    if (!report->has_accesses) {
        say_none(to, report);
        return;
    }
    uint32_t *numbers = pfa_report_order(report, order);
    print_all(to, report);
    print_points(to, report, top, numbers, order);
    print_useless(to, report, top, numbers, false);
    print_useless(to, report, top, numbers, true);
    print_maps(to, report, top, numbers);
    pfa_memory_free(numbers);
}
