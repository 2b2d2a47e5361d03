/* Owns the order of findings, and which of them are about the same point. See analyze/advise/findings.h. */
#include "analyze/advise/findings.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

/* What is worth a change comes first, then that of which nobody can say what it would bring, then what is worth none. */
static int tier_of(const pfa_finding_t *finding)
{
    bool worth = finding->rank >= PFA_FINDING_WORTH || finding->ns >= PFA_FINDING_WORTH_NS;
    return worth ? 0 : finding->advice == PFA_ADVICE_unshare ? 1 : 2;
}

int pfa_findings_compare(const void *a, const void *b)
{
    const pfa_finding_t *left = a;
    const pfa_finding_t *right = b;
    if (tier_of(left) != tier_of(right)) {
        return tier_of(left) - tier_of(right);
    }
    if (left->rank != right->rank) {
        return left->rank > right->rank ? -1 : 1;
    }
    if (left->point != right->point) {
        return left->point < right->point ? -1 : 1;
    }
    return left->advice < right->advice ? -1 : left->advice > right->advice;
}

void pfa_findings_link(pfa_findings_t *findings)
{
    size_t *last = NULL; /* by point: the place of its last finding so far, and one */
    size_t room = 0;
    for (size_t i = 0; i < findings->count; i++) {
        pfa_finding_t *one = &findings->list[i];
        last = pfa_memory_grow(last, &room, (size_t)one->point + 1, sizeof *last);
        one->next = 0;
        one->other = last[one->point] != 0;
        if (one->other) {
            findings->list[last[one->point] - 1].next = i;
        }
        last[one->point] = i + 1;
    }
    pfa_memory_free(last);
}

size_t pfa_findings_points(const pfa_findings_t *findings, size_t among)
{
    size_t count = 0;
    for (size_t i = 0; i < among; i++) {
        count += !findings->list[i].other;
    }
    return count;
}

static void find_alternatives(pfa_findings_t *findings)
{
    pfa_findings_link(findings);
    for (size_t i = 0; i < findings->count; i++) {
        pfa_finding_t *one = &findings->list[i];
        one->instead_of = one->other ? one->instead_of : PFA_ADVICES;
        if (one->next != 0) {
            findings->list[one->next].instead_of = one->other ? one->instead_of : one->advice;
        }
    }
}

void pfa_findings_sort(pfa_findings_t *findings, const pfa_report_t *report)
{
    if (findings->count != 0) {
        qsort(findings->list, findings->count, sizeof *findings->list, pfa_findings_compare);
        pfa_findings_join(findings, report);
        qsort(findings->list, findings->count, sizeof *findings->list, pfa_findings_compare);
    }
    find_alternatives(findings);
    while (findings->worth < findings->count && tier_of(&findings->list[findings->worth]) < 2) {
        findings->worth++;
    }
}

size_t pfa_findings_pick(const pfa_findings_t *findings, size_t most, size_t picked[PFA_FINDINGS_PICKED])
{
    size_t count = 0;
    size_t points = 0;
    most = most < PFA_FINDINGS_SHOWN ? most : PFA_FINDINGS_SHOWN;
    for (size_t i = 0; i < findings->count && points < most; i++) {
        if (findings->list[i].other) {
            continue;
        }
        points++;
        picked[count++] = i;
        for (size_t j = i; (j = findings->list[j].next) != 0 && count < PFA_FINDINGS_PICKED;) {
            picked[count++] = j;
        }
    }
    return count;
}
