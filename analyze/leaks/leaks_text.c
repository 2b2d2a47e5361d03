/* Owns what `profalloc leaks` prints for people: totals, and the findings with their evidence. What is said of one finding's
 * evidence is in analyze/leaks/evidence_text.c. */
#include "analyze/leaks/evidence.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool ended_as(const pfa_source_t *source, const char *ending)
{
    return strcmp(source->ending, ending) == 0;
}

static void print_file(const pfa_source_t *file)
{
    char number[PFA_NUMBER_TEXT];
    printf("%s: %s\n", file->path,
           file->command != NULL && file->command[0] != '\0' ? file->command : "unknown program");
    printf("  process %" PRIu32 ", %.3f s, %s, ", file->start.pid, (file->end_ns - file->start_ns) * 1e-9,
           ended_as(file, "exit")      ? "ended by itself"
           : ended_as(file, "killed")  ? "gone without an exit (killed, _exit, exec)"
           : ended_as(file, "running") ? "still running"
           : ended_as(file, "stopped") ? "recording was stopped"
           : ended_as(file, "exec")    ? "became another program (exec)"
                                       : "end unknown");
    if (file->start.sample > 1) {
        printf("sampled: one in %s on average; all figures are estimates\n",
               pfa_text_bytes(number, (double)file->start.sample));
    } else {
        printf("every chunk recorded\n");
    }
}

/* When survivors were seen alive. */
static const char *name_moment(const pfa_query_t *query)
{
    for (size_t i = 1; i < query->source_count; i++) {
        if (strcmp(query->sources[i].ending, query->sources[0].ending) != 0) {
            return "at the end of each recording";
        }
    }
    const pfa_source_t *source = &query->sources[0];
    return ended_as(source, "exit")      ? "at exit"
           : ended_as(source, "killed")  ? "when the process was killed or left without an exit"
           : ended_as(source, "running") ? "so far"
           : ended_as(source, "stopped") ? "when recording was stopped"
           : ended_as(source, "exec")    ? "when it became another program"
                                         : "at the last that is known";
}

/* " ± N" behind a sum of a sampled trace. */
static void print_half_width(double variance, bool bytes)
{
    char text[PFA_NUMBER_TEXT];
    double half = pfa_half_width(variance);
    if (half > 0) {
        printf(" ± %s", bytes ? pfa_text_bytes(text, half) : pfa_text_count(text, half));
    }
}

static void print_sum(double chunks, double chunks_variance, double bytes, double bytes_variance)
{
    char text[PFA_NUMBER_TEXT];
    printf("%s", pfa_text_count(text, chunks));
    print_half_width(chunks_variance, false);
    printf(" chunk%s, %s", pfa_text_plural(chunks), pfa_text_bytes(text, bytes));
    print_half_width(bytes_variance, true);
}

static void print_verdicts(const pfa_leaks_t *leaks)
{
    struct {
        size_t points;
        double chunks;
        double bytes;
    } sums[PFA_LEAK_VERDICTS] = {{.points = 0}};
    for (size_t i = 0; i < leaks->finding_count; i++) {
        const pfa_leak_finding_t *finding = &leaks->findings[i];
        const pfa_survivors_t *survivors = leaks->families[finding->group].survivors;
        sums[finding->verdict].points++;
        sums[finding->verdict].chunks += survivors->chunks;
        sums[finding->verdict].bytes += survivors->bytes;
    }
    printf("\n  %-22s %8s %14s %14s\n", "", "points", "chunks", "bytes");
    for (unsigned i = 0; i < PFA_LEAK_VERDICTS; i++) {
        char count[PFA_NUMBER_TEXT];
        char bytes[PFA_NUMBER_TEXT];
        if (sums[i].points != 0) {
            printf("  %-22s %8zu %14s %14s\n", pfa_leak_verdict_title(i), sums[i].points,
                   pfa_text_count(count, sums[i].chunks), pfa_text_bytes(bytes, sums[i].bytes));
        }
    }
}

static void print_totals(const pfa_leaks_t *leaks)
{
    const char *moment = name_moment(&leaks->query);
    if (leaks->finding_count == 0) {
        printf("\nNothing is alive %s%s.\n", moment, leaks->suppressed_chunks > 0 ? " that is not suppressed" : "");
        return;
    }
    printf("\nNot freed %s: ", moment);
    print_sum(leaks->chunks, leaks->chunks_variance, leaks->bytes, leaks->bytes_variance);
    bool points = leaks->query.key == NULL || leaks->query.key == &pfa_keys[0];
    printf(", of %zu %s%s%s\n", leaks->finding_count, points ? "allocation point" : "",
           points ? "" : leaks->query.key->name,
           leaks->finding_count == 1 ? ""
           : points                  ? "s"
                                     : " groups");
    printf(
        "Whether anything still points to them is not known: verdicts are from when they were born and how others end.\n");
    print_verdicts(leaks);
}

static void print_finding(pfa_leaks_t *leaks, const pfa_leak_finding_t *finding, size_t rank)
{
    const pfa_survivors_t *survivors = leaks->families[finding->group].survivors;
    printf("\n#%zu  %s", rank, pfa_leak_verdict_title(finding->verdict));
    if (finding->verdict != PFA_LEAK_VERDICT_UNSURE) {
        printf(" (sure: %s, %.2f)", pfa_sure_word(finding->sure), finding->sure);
    }
    printf(": ");
    print_sum(survivors->chunks, survivors->chunks_variance, survivors->bytes, survivors->bytes_variance);
    printf("\n      %s\n", pfa_leak_reason_sentence(finding->reason));
    pfa_evidence_print(leaks, finding);
    uint32_t stack = pfa_query_group_stack(&leaks->query, finding->group);
    if (leaks->query.key == NULL || leaks->query.key == &pfa_keys[0]) {
        pfa_place_print_stack(stdout, &leaks->query.stacks, stack, "        ");
    } else {
        printf("        %s\n", pfa_query_group_name(&leaks->query, finding->group));
    }
}

static void print_suppressions(const pfa_leaks_t *leaks)
{
    char count[PFA_NUMBER_TEXT];
    char bytes[PFA_NUMBER_TEXT];
    const pfa_suppressions_t *suppressions = &leaks->suppressions;
    if (suppressions->count == 0) {
        return;
    }
    printf("\nSuppressed: %s chunk%s, %s\n", pfa_text_count(count, leaks->suppressed_chunks),
           pfa_text_plural(leaks->suppressed_chunks), pfa_text_bytes(bytes, leaks->suppressed_bytes));
    for (size_t i = 0; i < suppressions->count; i++) {
        const pfa_suppression_t *suppression = &suppressions->list[i];
        if (suppression->chunks > 0) {
            printf("  %14s %14s  leak:%s\n", pfa_text_count(count, suppression->chunks),
                   pfa_text_bytes(bytes, suppression->bytes), suppression->pattern);
        }
    }
    for (size_t i = 0; i < suppressions->count; i++) {
        if (suppressions->list[i].chunks <= 0) {
            printf("  note: leak:%s suppressed nothing\n", suppressions->list[i].pattern);
        }
    }
}

void pfa_leaks_text(pfa_leaks_t *leaks, size_t top)
{
    for (size_t i = 0; i < leaks->query.source_count; i++) {
        print_file(&leaks->query.sources[i]);
    }
    print_totals(leaks);
    for (size_t i = 0; i < leaks->finding_count && i < top; i++) {
        print_finding(leaks, &leaks->findings[i], i + 1);
    }
    if (leaks->finding_count > top) {
        printf("\nand %zu more (--top)\n", leaks->finding_count - top);
    }
    print_suppressions(leaks);
    putchar('\n');
    pfa_evidence_note(leaks);
    pfa_query_tell(&leaks->query, stdout);
}
