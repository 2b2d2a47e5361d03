/* Owns the answer of a gate as people read it: a row for each limit, then the points behind those that do not hold. */
#include "analyze/diff/gate.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *name_verdict(const pfa_outcome_t *outcome)
{
    static const char *const names[] = {[PFA_JUDGED_WITHIN] = "within",
                                        [PFA_JUDGED_UNSURE] = "within, as far as is sure",
                                        [PFA_JUDGED_EXCEEDED] = "EXCEEDED"};
    return names[outcome->verdict];
}

static const char *tell_share(char text[PFA_NUMBER_TEXT], const pfa_outcome_t *outcome)
{
    if (outcome->difference == 0) {
        snprintf(text, PFA_NUMBER_TEXT, "+0.0 %%");
    } else if (outcome->base <= 0) {
        snprintf(text, PFA_NUMBER_TEXT, "new");
    } else {
        snprintf(text, PFA_NUMBER_TEXT, "%+.1f %%", 100 * outcome->difference / outcome->base);
    }
    return text;
}

static void print_outcome(FILE *to, const pfa_gate_t *gate, const pfa_outcome_t *outcome)
{
    const pfa_limit_facts_t *facts = &pfa_limits[outcome->number];
    const char *limit = gate->limits[outcome->number].text;
    char texts[5][PFA_NUMBER_TEXT];
    if (facts->scope == PFA_SCOPE_POINT) {
        char count[64];
        snprintf(count, sizeof count, "%zu of %zu points", outcome->point_count, gate->comparison->count);
        fprintf(to, "  %-18s %12s %12s %23s %10s  %s\n", facts->option, "", "", count, limit, name_verdict(outcome));
        return;
    }
    fprintf(to, "  %-18s %12s %12s %12s %10s %10s  %s", facts->option,
            pfa_tell_value(texts[0], facts->metric, outcome->base),
            pfa_tell_value(texts[1], facts->metric, outcome->now),
            pfa_tell_difference(texts[2], facts->metric, outcome->difference), tell_share(texts[3], outcome), limit,
            name_verdict(outcome));
    if (outcome->margin > 0) {
        fprintf(to, " (+- %s)", pfa_tell_value(texts[4], facts->metric, outcome->margin));
    }
    fputc('\n', to);
}

void pfa_gate_sentence(FILE *to, const pfa_outcome_t *outcome, const pfa_gate_t *gate)
{
    const pfa_limit_facts_t *facts = &pfa_limits[outcome->number];
    char texts[4][PFA_NUMBER_TEXT];
    if (facts->scope == PFA_SCOPE_GROWTH) {
        fprintf(to, "%s more live at the end, at points where that grew",
                pfa_text_bytes(texts[0], outcome->difference));
    } else if (facts->scope == PFA_SCOPE_LEAK) {
        fprintf(to, "%s more that is likely a leak", pfa_text_bytes(texts[0], outcome->difference));
    } else {
        fprintf(to, "%s %s, %s before: %s (%s)", pfa_tell_value(texts[0], facts->metric, outcome->now),
                pfa_diff_metrics[facts->metric].label, pfa_tell_value(texts[1], facts->metric, outcome->base),
                pfa_tell_difference(texts[2], facts->metric, outcome->difference), tell_share(texts[3], outcome));
    }
    fprintf(to, "; the limit is %s", gate->limits[outcome->number].text);
}

void pfa_gate_point_sentence(FILE *to, const pfa_outcome_t *outcome, const pfa_gate_t *gate, const pfa_pair_t *pair)
{
    const pfa_limit_facts_t *facts = &pfa_limits[outcome->number];
    const pfa_change_t *change = &pair->changes[facts->metric];
    char texts[4][PFA_NUMBER_TEXT];
    fprintf(to, "%s: %s %s, %s before: %s (%s)", pair->shown->name,
            pfa_tell_value(texts[0], facts->metric, change->of[PFA_NEW].mean), pfa_diff_metrics[facts->metric].label,
            pfa_tell_value(texts[1], facts->metric, change->of[PFA_BASE].mean),
            pfa_tell_difference(texts[2], facts->metric, change->difference), pfa_tell_percent(texts[3], change));
    if (facts->scope == PFA_SCOPE_LEAK) {
        fprintf(to, "; %s more likely leaked", pfa_text_bytes(texts[0], pair->leak_growth));
    } else if (facts->scope == PFA_SCOPE_POINT) {
        fprintf(to, "; the limit is %s for each point", gate->limits[outcome->number].text);
    }
}

/* Where a point was told with its stack. */
typedef struct seen {
    const char *limit; /* NULL: nowhere yet */
    size_t rank;
} seen_t;

static void print_point(FILE *to, const pfa_gate_t *gate, const pfa_outcome_t *outcome, size_t number, seen_t *seen)
{
    const pfa_pair_t *pair = &gate->comparison->pairs[outcome->points[number]];
    seen_t *place = &seen[outcome->points[number]];
    fprintf(to, "\n  #%zu  ", number + 1);
    pfa_gate_point_sentence(to, outcome, gate, pair);
    fputc('\n', to);
    if (place->limit != NULL) {
        fprintf(to, "      as #%zu of %s\n", place->rank, place->limit);
        return;
    }
    pfa_tell_stack(to, pair, "      ");
    *place = (seen_t){.limit = pfa_limits[outcome->number].option, .rank = number + 1};
}

static void print_points(FILE *to, const pfa_gate_t *gate, const pfa_outcome_t *outcome, seen_t *seen)
{
    const pfa_limit_facts_t *facts = &pfa_limits[outcome->number];
    fprintf(to, "\n%s: %s (%s)\n", facts->option,
            facts->scope == PFA_SCOPE_POINT  ? "points beyond it"
            : facts->scope == PFA_SCOPE_LEAK ? "where more leaks"
                                             : "the points that grew most",
            pfa_diff_metrics[facts->metric].label);
    for (size_t i = 0; i < outcome->point_count && i < gate->top; i++) {
        print_point(to, gate, outcome, i, seen);
    }
    if (outcome->point_count > gate->top) {
        fprintf(to, "\n  and %zu more\n", outcome->point_count - gate->top);
    } else if (outcome->point_count == 0) {
        fprintf(to, "\n  none: what is more was not at one point\n");
    }
}

static void print_all(FILE *to, const pfa_gate_t *gate)
{
    seen_t *seen = pfa_memory_get(gate->comparison->count, sizeof *seen);
    pfa_tell_side(to, gate->comparison, PFA_BASE);
    pfa_tell_side(to, gate->comparison, PFA_NEW);
    fprintf(to, "\n  %-18s %12s %12s %23s %10s  %s\n", "limit", "base", "new", "change", "allowed", "verdict");
    for (size_t i = 0; i < gate->outcome_count; i++) {
        print_outcome(to, gate, &gate->outcomes[i]);
    }
    for (size_t i = 0; i < gate->outcome_count; i++) {
        if (gate->outcomes[i].verdict == PFA_JUDGED_EXCEEDED) {
            print_points(to, gate, &gate->outcomes[i], seen);
        }
    }
    pfa_memory_free(seen);
    pfa_tell_notes(to, gate->comparison);
    fprintf(to, "\n%s\n", gate->exceeded ? "A limit is exceeded." : "All limits hold.");
}

typedef struct writing {
    const pfa_gate_t *gate;
    FILE *to;
} writing_t;

static void write_text(void *to)
{
    const writing_t *writing = to;
    print_all(writing->to, writing->gate);
}

int pfa_gate_text(const pfa_gate_t *gate, FILE *to)
{
    writing_t writing = {.gate = gate, .to = to};
    return pfa_comparison_work(gate->comparison, write_text, &writing);
}
