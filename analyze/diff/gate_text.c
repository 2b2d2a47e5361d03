/* Owns the answer of a gate as people read it: a row for each limit, then the points behind those that do not hold. */
#include "analyze/diff/gate.h"

#include <math.h>
#include <stdlib.h>

static const char *name_verdict(const pfa_finding_t *finding)
{
    static const char *const names[] = {[PFA_JUDGED_WITHIN] = "within",
                                        [PFA_JUDGED_UNSURE] = "within, as far as is sure",
                                        [PFA_JUDGED_EXCEEDED] = "EXCEEDED"};
    return names[finding->verdict];
}

static const char *tell_share(char text[PFA_NUMBER_TEXT], const pfa_finding_t *finding)
{
    if (finding->difference == 0) {
        snprintf(text, PFA_NUMBER_TEXT, "+0.0 %%");
    } else if (finding->base <= 0) {
        snprintf(text, PFA_NUMBER_TEXT, "new");
    } else {
        snprintf(text, PFA_NUMBER_TEXT, "%+.1f %%", 100 * finding->difference / finding->base);
    }
    return text;
}

static void print_finding(const pfa_gate_t *gate, const pfa_finding_t *finding)
{
    const pfa_limit_facts_t *facts = &pfa_limits[finding->number];
    const char *limit = gate->limits[finding->number].text;
    char texts[5][PFA_NUMBER_TEXT];
    if (facts->scope == PFA_SCOPE_POINT) {
        char count[64];
        snprintf(count, sizeof count, "%zu of %zu points", finding->point_count, gate->comparison.count);
        printf("  %-18s %12s %12s %23s %10s  %s\n", facts->option, "", "", count, limit, name_verdict(finding));
        return;
    }
    printf("  %-18s %12s %12s %12s %10s %10s  %s", facts->option,
           pfa_tell_value(texts[0], facts->metric, finding->base),
           pfa_tell_value(texts[1], facts->metric, finding->now),
           pfa_tell_difference(texts[2], facts->metric, finding->difference), tell_share(texts[3], finding), limit,
           name_verdict(finding));
    if (finding->margin > 0) {
        printf(" (+- %s)", pfa_tell_value(texts[4], facts->metric, finding->margin));
    }
    putchar('\n');
}

void pfa_gate_sentence(FILE *to, const pfa_finding_t *finding, const pfa_gate_t *gate)
{
    const pfa_limit_facts_t *facts = &pfa_limits[finding->number];
    char texts[4][PFA_NUMBER_TEXT];
    if (facts->scope == PFA_SCOPE_LEAK) {
        fprintf(to, "%s more live at the end, at points where that grew",
                pfa_text_bytes(texts[0], finding->difference));
    } else {
        fprintf(to, "%s %s, %s before: %s (%s)", pfa_tell_value(texts[0], facts->metric, finding->now),
                pfa_metrics[facts->metric].label, pfa_tell_value(texts[1], facts->metric, finding->base),
                pfa_tell_difference(texts[2], facts->metric, finding->difference), tell_share(texts[3], finding));
    }
    fprintf(to, "; the limit is %s", gate->limits[finding->number].text);
}

void pfa_gate_point_sentence(FILE *to, const pfa_finding_t *finding, const pfa_gate_t *gate, const pfa_pair_t *pair)
{
    const pfa_limit_facts_t *facts = &pfa_limits[finding->number];
    const pfa_change_t *change = &pair->changes[facts->metric];
    char texts[4][PFA_NUMBER_TEXT];
    fprintf(to, "%s: %s %s, %s before: %s (%s)", pair->shown->name,
            pfa_tell_value(texts[0], facts->metric, change->of[PFA_NEW].mean), pfa_metrics[facts->metric].label,
            pfa_tell_value(texts[1], facts->metric, change->of[PFA_BASE].mean),
            pfa_tell_difference(texts[2], facts->metric, change->difference), pfa_tell_percent(texts[3], change));
    if (facts->scope == PFA_SCOPE_POINT) {
        fprintf(to, "; the limit is %s for each point", gate->limits[finding->number].text);
    }
}

static void print_points(const pfa_gate_t *gate, const pfa_finding_t *finding)
{
    const pfa_limit_facts_t *facts = &pfa_limits[finding->number];
    printf("\n%s: %s (%s)\n", facts->option,
           facts->scope == PFA_SCOPE_POINT ? "points beyond it" : "the points that grew most",
           pfa_metrics[facts->metric].label);
    for (size_t i = 0; i < finding->point_count && i < gate->top; i++) {
        const pfa_pair_t *pair = &gate->comparison.pairs[finding->points[i]];
        printf("\n  #%zu  ", i + 1);
        pfa_gate_point_sentence(stdout, finding, gate, pair);
        putchar('\n');
        pfa_tell_stack(stdout, pair, "      ");
    }
    if (finding->point_count > gate->top) {
        printf("\n  and %zu more\n", finding->point_count - gate->top);
    } else if (finding->point_count == 0) {
        printf("\n  none: what is more was not at one point\n");
    }
}

void pfa_gate_text(const pfa_gate_t *gate)
{
    pfa_tell_side(stdout, &gate->comparison, PFA_BASE);
    pfa_tell_side(stdout, &gate->comparison, PFA_NEW);
    printf("\n  %-18s %12s %12s %23s %10s  %s\n", "limit", "base", "new", "change", "allowed", "verdict");
    for (size_t i = 0; i < gate->finding_count; i++) {
        print_finding(gate, &gate->findings[i]);
    }
    for (size_t i = 0; i < gate->finding_count; i++) {
        if (gate->findings[i].verdict == PFA_JUDGED_EXCEEDED) {
            print_points(gate, &gate->findings[i]);
        }
    }
    pfa_tell_notes(stdout, &gate->comparison);
    printf("\n%s\n", gate->exceeded ? "A limit is exceeded." : "All limits hold.");
}
