/* Owns what pools several points can have together. See analyze/advise/findings.h. */
#include "analyze/advise/findings.h"
#include "analyze/names/place.h"

#include <math.h>
#include <stdlib.h>

/* The function that allocates at a point: where there are many of one, they can have a pool together. NULL: it has no name. */
static const char *function_of(const pfa_report_t *report, uint32_t number)
{
    pfa_stacks_t *stacks = (pfa_stacks_t *)(uintptr_t)&report->query.stacks;
    pfa_line_t line;
    bool known = pfa_place_find(stacks, pfa_query_group_stack(&report->query, number), &line);
    return known ? line.symbol->function : NULL;
}

static void join_into(pfa_finding_t *to, pfa_finding_t *from)
{
    size_t room = to->point_count;
    if (to->points == NULL) {
        to->points = pfa_memory_grow(NULL, &room, 1, sizeof *to->points);
        to->points[to->point_count++] = to->point;
    }
    to->points = pfa_memory_grow(to->points, &room, to->point_count + 1, sizeof *to->points);
    to->points[to->point_count++] = from->point;
    to->calls += from->calls;
    to->calls_variance += from->calls_variance;
    to->ns += from->ns;
    to->ns_variance += from->ns_variance;
    to->chunks += from->chunks;
    to->share = fmin(to->share, from->share);
}

static bool is_churn(const pfa_finding_t *finding)
{
    return finding->advice == PFA_ADVICE_pool || finding->advice == PFA_ADVICE_hoist;
}

/* A function through which many places allocate what does not live long is an allocator of its own: what each of them could do by
 * itself is better done there, once. */
static void find_funnels(pfa_findings_t *findings, const char *const *functions, size_t count)
{
    enum { PLACES = 5 };
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t j = 0; j < count && functions[i] != NULL && is_churn(&findings->list[i]); j++) {
            same += is_churn(&findings->list[j]) && functions[j] == functions[i];
        }
        if (same >= PLACES) {
            findings->list[i].advice = PFA_ADVICE_pool;
        }
    }
}

void pfa_findings_join(pfa_findings_t *findings, const pfa_report_t *report)
{
    enum { LOOKED_AT = 1000 };
    size_t kept = 0;
    size_t looked_at = findings->count < LOOKED_AT ? findings->count : LOOKED_AT;
    const char **functions = pfa_memory_get(findings->count, sizeof *functions);
    for (size_t i = 0; i < looked_at; i++) {
        functions[i] = is_churn(&findings->list[i]) ? function_of(report, findings->list[i].point) : NULL;
    }
    find_funnels(findings, functions, looked_at);
    for (size_t i = 0; i < findings->count; i++) {
        pfa_finding_t *one = &findings->list[i];
        size_t same = 0;
        bool pool = one->advice == PFA_ADVICE_pool && functions[i] != NULL;
        while (same < kept && pool &&
               (findings->list[same].advice != PFA_ADVICE_pool || functions[same] != functions[i])) {
            same++;
        }
        if (pool && same < kept) {
            join_into(&findings->list[same], one);
            (void)pfa_finding_rank(findings, &findings->list[same]);
        } else {
            functions[kept] = functions[i];
            findings->list[kept++] = *one;
        }
    }
    findings->count = kept;
    free(functions);
}
