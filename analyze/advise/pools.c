/* Owns what pools several points can have together. See analyze/advise/findings.h. */
#include "analyze/advise/findings.h"
#include "analyze/base/memory.h"
#include "analyze/names/place.h"

#include <stdlib.h>

/* Where a point allocates: points that do so alike can have a pool together. */
typedef struct pool_key {
    const char *text; /* the function, or, if it has no name, the module; NULL: neither is known */
    uint64_t address; /* then: in it */
} pool_key_t;

static pool_key_t key_of(const pfa_report_t *report, uint32_t number)
{
    pfa_stacks_t *stacks = (pfa_stacks_t *)(uintptr_t)&report->query->stacks;
    pfa_line_t line;
    if (!pfa_place_find(stacks, pfa_query_group_stack(report->query, number), &line)) {
        return (pool_key_t){.text = NULL};
    }
    return line.symbol->function != NULL ? (pool_key_t){.text = line.symbol->function}
                                         : (pool_key_t){.text = line.module, .address = line.address};
}

static bool is_same(const pool_key_t *left, const pool_key_t *right)
{
    return left->text == right->text && left->address == right->address;
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
    double all = to->chunks / to->share + from->chunks / from->share;
    to->chunks += from->chunks;
    to->share = to->chunks / all;
    to->rows += from->rows;
}

static bool is_churn(const pfa_finding_t *finding)
{
    return finding->advice == PFA_ADVICE_pool || finding->advice == PFA_ADVICE_hoist;
}

/* A function through which many places allocate what does not live long is an allocator of its own: what each of them could do by
 * itself is better done there, once. */
static void find_funnels(pfa_findings_t *findings, const pool_key_t *keys, size_t count)
{
    enum { PLACES = 5 };
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t j = 0; j < count && keys[i].text != NULL && is_churn(&findings->list[i]); j++) {
            same += is_churn(&findings->list[j]) && is_same(&keys[j], &keys[i]);
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
    pool_key_t *keys = pfa_memory_get(findings->count, sizeof *keys);
    for (size_t i = 0; i < looked_at; i++) {
        if (is_churn(&findings->list[i])) {
            keys[i] = key_of(report, findings->list[i].point);
        }
    }
    find_funnels(findings, keys, looked_at);
    for (size_t i = 0; i < findings->count; i++) {
        pfa_finding_t *one = &findings->list[i];
        size_t same = 0;
        bool pool = one->advice == PFA_ADVICE_pool && keys[i].text != NULL;
        while (same < kept && pool &&
               (findings->list[same].advice != PFA_ADVICE_pool || !is_same(&keys[same], &keys[i]))) {
            same++;
        }
        if (pool && same < kept) {
            join_into(&findings->list[same], one);
            pfa_finding_judge(findings, &findings->list[same]);
        } else {
            keys[kept] = keys[i];
            findings->list[kept++] = *one;
        }
    }
    findings->count = kept;
    pfa_memory_free(keys);
}
