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

static void print_file(FILE *to, const pfa_source_t *file)
{
    char number[PFA_NUMBER_TEXT];
    fprintf(to, "%s: %s\n", file->path,
            file->command != NULL && file->command[0] != '\0' ? file->command : "unknown program");
    fprintf(to, "  process %" PRIu32 ", %.3f s, %s, ", file->start.pid, (file->end_ns - file->start_ns) * 1e-9,
            ended_as(file, "exit")      ? "ended by itself"
            : ended_as(file, "killed")  ? "gone without an exit (killed, _exit, exec)"
            : ended_as(file, "running") ? "still running"
            : ended_as(file, "stopped") ? "recording was stopped"
            : ended_as(file, "exec")    ? "became another program (exec)"
                                        : "end unknown");
    if (file->start.sample > 1) {
        fprintf(to, "sampled: one in %s on average; all figures are estimates\n",
                pfa_text_bytes(number, (double)file->start.sample));
    } else {
        fprintf(to, "every chunk recorded\n");
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
static void print_half_width(FILE *to, double variance, bool bytes)
{
    char text[PFA_NUMBER_TEXT];
    double half = pfa_half_width(variance);
    if (half > 0) {
        fprintf(to, " ± %s", bytes ? pfa_text_bytes(text, half) : pfa_text_count(text, half));
    }
}

static void print_sum(FILE *to, double chunks, double chunks_variance, double bytes, double bytes_variance)
{
    char text[PFA_NUMBER_TEXT];
    fprintf(to, "%s", pfa_text_count(text, chunks));
    print_half_width(to, chunks_variance, false);
    fprintf(to, " chunk%s, %s", pfa_text_plural(chunks), pfa_text_bytes(text, bytes));
    print_half_width(to, bytes_variance, true);
}

static void print_verdicts(FILE *to, const pfa_leaks_t *leaks)
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
    fprintf(to, "\n  %-22s %8s %14s %14s\n", "", "points", "chunks", "bytes");
    for (unsigned i = 0; i < PFA_LEAK_VERDICTS; i++) {
        char count[PFA_NUMBER_TEXT];
        char bytes[PFA_NUMBER_TEXT];
        if (sums[i].points != 0) {
            fprintf(to, "  %-22s %8zu %14s %14s\n", pfa_leak_verdict_title(i), sums[i].points,
                    pfa_text_count(count, sums[i].chunks), pfa_text_bytes(bytes, sums[i].bytes));
        }
    }
}

static void print_totals(FILE *to, const pfa_leaks_t *leaks)
{
    const char *moment = name_moment(leaks->query);
    if (leaks->finding_count == 0) {
        fprintf(to, "\nNothing is alive %s%s.\n", moment,
                leaks->suppressed_chunks > 0 ? " that is not suppressed" : "");
        return;
    }
    fprintf(to, "\nNot freed %s: ", moment);
    print_sum(to, leaks->chunks, leaks->chunks_variance, leaks->bytes, leaks->bytes_variance);
    bool points = leaks->query->key == NULL || leaks->query->key == &pfa_keys[0];
    fprintf(to, ", of %zu %s%s%s\n", leaks->finding_count, points ? "allocation point" : "",
            points ? "" : leaks->query->key->name,
            leaks->finding_count == 1 ? ""
            : points                  ? "s"
                                      : " groups");
    fprintf(
        to,
        "Whether anything still points to them is not known: verdicts are from when they were born and how others end.\n");
    print_verdicts(to, leaks);
}

static void print_finding(FILE *to, pfa_leaks_t *leaks, const pfa_leak_finding_t *finding, size_t rank)
{
    const pfa_survivors_t *survivors = leaks->families[finding->group].survivors;
    fprintf(to, "\n#%zu  %s", rank, pfa_leak_verdict_title(finding->verdict));
    if (finding->verdict != PFA_LEAK_VERDICT_UNSURE) {
        fprintf(to, " (sure: %s, %.2f)", pfa_sure_word(finding->sure), finding->sure);
    }
    fprintf(to, ": ");
    print_sum(to, survivors->chunks, survivors->chunks_variance, survivors->bytes, survivors->bytes_variance);
    fprintf(to, "\n      %s\n", pfa_leak_reason_sentence(finding->reason));
    pfa_evidence_print(to, leaks, finding);
    uint32_t stack = pfa_query_group_stack(leaks->query, finding->group);
    if (leaks->query->key == NULL || leaks->query->key == &pfa_keys[0]) {
        pfa_place_print_stack(to, &leaks->query->stacks, stack, "        ");
    } else {
        fprintf(to, "        %s\n", pfa_query_group_name(leaks->query, finding->group));
    }
}

static void print_suppressions(FILE *to, const pfa_leaks_t *leaks)
{
    char count[PFA_NUMBER_TEXT];
    char bytes[PFA_NUMBER_TEXT];
    const pfa_suppressions_t *suppressions = &leaks->suppressions;
    if (suppressions->count == 0) {
        return;
    }
    fprintf(to, "\nSuppressed: %s chunk%s, %s\n", pfa_text_count(count, leaks->suppressed_chunks),
            pfa_text_plural(leaks->suppressed_chunks), pfa_text_bytes(bytes, leaks->suppressed_bytes));
    for (size_t i = 0; i < suppressions->count; i++) {
        const pfa_suppression_t *suppression = &suppressions->list[i];
        if (suppression->chunks > 0) {
            fprintf(to, "  %14s %14s  leak:%s\n", pfa_text_count(count, suppression->chunks),
                    pfa_text_bytes(bytes, suppression->bytes), suppression->pattern);
        }
    }
    for (size_t i = 0; i < suppressions->count; i++) {
        if (suppressions->list[i].chunks <= 0) {
            fprintf(to, "  note: leak:%s suppressed nothing\n", suppressions->list[i].pattern);
        }
    }
}

static void print_all(FILE *to, pfa_leaks_t *leaks, size_t top)
{
    for (size_t i = 0; i < leaks->query->source_count; i++) {
        print_file(to, &leaks->query->sources[i]);
    }
    print_totals(to, leaks);
    for (size_t i = 0; i < leaks->finding_count && i < top; i++) {
        print_finding(to, leaks, &leaks->findings[i], i + 1);
    }
    if (leaks->finding_count > top) {
        fprintf(to, "\nand %zu more (--top)\n", leaks->finding_count - top);
    }
    print_suppressions(to, leaks);
    fputc('\n', to);
    pfa_evidence_note(leaks);
    pfa_query_tell(leaks->query, to);
}

typedef struct writing {
    FILE *to;
    size_t top;
} writing_t;

static void write_text(void *answer, void *to)
{
    const writing_t *writing = to;
    print_all(writing->to, answer, writing->top);
}

int pfa_leaks_text(pfa_leaks_t *leaks, size_t top, FILE *to)
{
    writing_t writing = {.to = to, .top = top};
    return pfa_answer_write(leaks, write_text, &writing);
}
