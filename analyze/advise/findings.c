/* Owns what is advised, and what it is estimated to bring. See analyze/advise/findings.h. */
#include "analyze/advise/findings.h"
#include "analyze/names/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the trace does not tell. */
static const double pair_ns_assumed = 50;
/* Copying of buffers that are not in the first cache. */
static const double bytes_per_ns = 4;

/* Of a program that has less at its peak, no memory is worth saving. */
static const double peak_least = 1 << 20;

enum { CACHE_LINE = 64, HOIST_LARGEST = 1 << 20 };

const char *const pfa_advice_names[PFA_ADVICES] = {
#define PFA_FINDING(name, title) #name,
#include "analyze/advise/findings.def"
#undef PFA_FINDING
};

const char *const pfa_advice_titles[PFA_ADVICES] = {
#define PFA_FINDING(name, title) title,
#include "analyze/advise/findings.def"
#undef PFA_FINDING
};

const char *const pfa_sure_names[] = {[PFA_SURE_LOW] = "low", [PFA_SURE_MEDIUM] = "medium", [PFA_SURE_HIGH] = "high"};

typedef struct finder {
    pfa_findings_t *findings;
    const pfa_report_t *report;
    const pfa_memoro_t *memoro;
    uint32_t number;
    const pfa_memoro_point_t *point;
    const pfa_point_t *sums;
    bool blind; /* what was done with its chunks is not seen */
} finder_t;

/* The more chunks and the clearer, the surer; of one chunk nothing is sure. */
static pfa_sure_t judge(double seen, double share)
{
    if (seen >= 100 && share >= 0.95) {
        return PFA_SURE_HIGH;
    }
    return seen >= 10 && share >= 0.75 ? PFA_SURE_MEDIUM : PFA_SURE_LOW;
}

static void add(finder_t *finder, pfa_advice_t advice, double share, double bytes, double calls, double more_ns)
{
    pfa_findings_t *findings = finder->findings;
    pfa_finding_t one = {.advice = advice, .point = finder->number, .bytes = bytes, .calls = calls, .share = share};
    one.ns = fmin(calls * findings->pair_ns + more_ns, findings->ns_most);
    one.chunks = share * finder->point->chunks;
    one.sure = judge(share * finder->point->rows, share);
    one.rank =
        (findings->run_ns > 0 ? fmin(one.ns / findings->run_ns, 1) : 0) + one.bytes / fmax(findings->peak, peak_least);
    findings->list = pfa_memory_grow(findings->list, &findings->room, findings->count + 1, sizeof *findings->list);
    findings->list[findings->count++] = one;
}

static bool holds(const finder_t *finder, pfa_inference_t inference, pfa_share_t *share)
{
    *share = pfa_memoro_share(finder->point, inference);
    bool single = finder->point->rows == 1 && share->chunks > 0; /* worth a word if it is large */
    return single || pfa_memoro_is_flagged(finder->memoro, finder->point, inference);
}

/* Bytes of the point that were there at the peak for nothing. */
static double spare(const finder_t *finder, pfa_spare_t spare)
{
    return finder->sums->spare[spare].value;
}

/* Memory that nobody reads. */
static bool find_useless(finder_t *finder)
{
    pfa_share_t untouched;
    pfa_share_t unread;
    (void)holds(finder, PFA_INFER_never_touched, &untouched);
    (void)holds(finder, PFA_INFER_write_only, &unread);
    double chunks = untouched.chunks + unread.chunks;
    double bytes = untouched.bytes + unread.bytes; /* of all, whenever they lived */
    double flag = finder->memoro->thresholds.flag;
    bool several = chunks * finder->point->rows > 1.5 || finder->point->rows == 1;
    if (isnan(chunks) || !several || (chunks < flag && bytes < flag)) {
        return false;
    }
    add(finder, PFA_ADVICE_remove, chunks, spare(finder, PFA_SPARE_USELESS), chunks * finder->point->chunks, 0);
    return chunks > 0.95; /* else there is more to say of the others */
}

static bool find_growth(finder_t *finder)
{
    const pfa_growth_t *growth = &finder->point->growth;
    pfa_share_t share;
    if (!holds(finder, PFA_INFER_growing, &share) || growth->runs < 1) {
        return false;
    }
    /* Of a buffer that grew to its end by doubling, the one before is the only one alive beside it, for a moment: memory is
     * not what is saved. */
    /* What realloc copied is in the time of its calls, where that was measured. */
    double copied = growth->copied - (finder->findings->measured ? growth->copied_by_realloc : 0);
    add(finder, PFA_ADVICE_reserve, share.chunks, 0, growth->chunks - growth->runs, fmax(copied, 0) / bytes_per_ns);
    return true;
}

/* How many chunks were alive at once while bursts went on. */
static double mean_alive(const pfa_bursts_t *bursts)
{
    double lives = 0;
    double time = 0;
    for (uint32_t i = 0; i < bursts->count; i++) {
        lives += bursts->list[i].lives;
        time += bursts->list[i].end - bursts->list[i].first;
    }
    return time > 0 ? lives / time : 0;
}

static void find_bursts(finder_t *finder)
{
    const pfa_memoro_point_t *point = finder->point;
    pfa_share_t share;
    if (!holds(finder, PFA_INFER_short_lived, &share)) {
        return;
    }
    double chunks = share.chunks * point->chunks;
    bool one = mean_alive(&point->bursts) < 1.5 && point->largest <= HOIST_LARGEST &&
               (point->largest <= 4 * point->smallest || point->largest <= 4096);
    /* One of each burst stays. */
    double left = one ? fmin(point->bursts.count, chunks) : 0.01 * chunks;
    add(finder, one ? PFA_ADVICE_hoist : PFA_ADVICE_pool, share.chunks, 0, chunks - left, 0);
}

static void find_shrink(finder_t *finder)
{
    pfa_share_t share;
    double bytes = spare(finder, PFA_SPARE_UNTOUCHED);
    if (holds(finder, PFA_INFER_low_coverage, &share) && bytes > 0) {
        add(finder, PFA_ADVICE_shrink, share.chunks, bytes, 0, 0);
    }
}

/* What is idle at other times, but not at the peak, costs nothing. */
static void find_idle(finder_t *finder, pfa_inference_t inference, pfa_advice_t advice, pfa_spare_t idle)
{
    pfa_share_t share;
    double bytes = spare(finder, idle);
    if (holds(finder, inference, &share) && bytes > 0) {
        add(finder, advice, share.chunks, bytes, 0, 0);
    }
}

static void find_sharing(finder_t *finder)
{
    const pfa_memoro_point_t *point = finder->point;
    pfa_share_t share;
    /* Chunks that share lines with neighbours: smaller than a line, or not a whole number of them. */
    if (holds(finder, PFA_INFER_shared, &share) && point->smallest < CACHE_LINE) {
        add(finder, PFA_ADVICE_unshare, share.chunks, 0, 0, 0);
    }
}

static void find_all(finder_t *finder)
{
    if (!finder->blind && find_useless(finder)) {
        return; /* what is of no use need not be improved */
    }
    if (!find_growth(finder)) {
        find_bursts(finder);
    }
    if (finder->blind) {
        return;
    }
    find_shrink(finder);
    find_idle(finder, PFA_INFER_late_free, PFA_ADVICE_free_earlier, PFA_SPARE_AFTER);
    find_idle(finder, PFA_INFER_early_allocation, PFA_ADVICE_allocate_later, PFA_SPARE_BEFORE);
    find_sharing(finder);
}

static int compare_findings(const void *a, const void *b)
{
    const pfa_finding_t *left = a;
    const pfa_finding_t *right = b;
    if (left->rank != right->rank) {
        return left->rank > right->rank ? -1 : 1;
    }
    if (left->point != right->point) {
        return left->point < right->point ? -1 : 1;
    }
    return left->advice < right->advice ? -1 : left->advice > right->advice;
}

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
    to->ns += from->ns;
    to->rank += from->rank;
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

/* Pools of the same function are one, if the best of them are looked at. */
static void join_pools(pfa_findings_t *findings, const pfa_report_t *report)
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
        } else {
            functions[kept] = functions[i];
            findings->list[kept++] = *one;
        }
    }
    findings->count = kept;
    free(functions);
}

/* The modules whose code touches what it allocates, as far as that is seen. */
typedef struct seen {
    const char **modules;
    size_t count;
    size_t room;
} seen_t;

static const char *module_of(const pfa_report_t *report, uint32_t number)
{
    pfa_stacks_t *stacks = (pfa_stacks_t *)(uintptr_t)&report->query.stacks;
    pfa_line_t line;
    bool known = pfa_place_find(stacks, pfa_query_group_stack(&report->query, number), &line);
    return known ? line.module : NULL;
}

static bool is_seen(const seen_t *seen, const char *module)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->modules[i] == module) {
            return true;
        }
    }
    return false;
}

static void see_modules(seen_t *seen, const pfa_report_t *report)
{
    for (uint32_t i = 0; i < report->memoro.point_count; i++) {
        const pfa_memoro_point_t *point = &report->memoro.points[i];
        const char *module = point->reads + point->writes > 0 ? module_of(report, i) : NULL;
        if (module != NULL && !is_seen(seen, module)) {
            seen->modules = pfa_memory_grow(seen->modules, &seen->room, seen->count + 1, sizeof *seen->modules);
            seen->modules[seen->count++] = module;
        }
    }
}

/* Code that is not instrumented is not seen to touch anything: of its chunks, not to be touched says nothing. Where the trace does not
 * tell which code that is, a module of which no chunk at all was touched is taken for it; and all are if nothing was touched. */
static bool is_blind(const seen_t *seen, const pfa_report_t *report, uint32_t number)
{
    const pfa_memoro_point_t *point = &report->memoro.points[number];
    if (!point->maybe_blind && seen->count != 0) {
        return false;
    }
    return point->reads + point->writes <= 0 && !is_seen(seen, module_of(report, number));
}

void pfa_findings_make(pfa_findings_t *findings, const pfa_report_t *report)
{
    seen_t seen = {.modules = NULL};
    const pfa_memoro_t *memoro = &report->memoro;
    *findings =
        (pfa_findings_t){.pair_ns = pair_ns_assumed, .run_ns = memoro->run_ns - pfa_spent_recording_ns(&report->query)};
    double pair_ns = pfa_spent_pair_ns(&report->query, &findings->ns_most);
    findings->ns_most = pair_ns > 0 ? findings->ns_most : findings->run_ns;
    if (pair_ns > 0) {
        findings->pair_ns = pair_ns;
        findings->measured = true;
    }
    findings->peak = pfa_report_peak(report).bytes;
    if (memoro->has_accesses) {
        see_modules(&seen, report);
    }
    for (uint32_t i = 0; i < memoro->point_count; i++) {
        finder_t finder = {.findings = findings,
                           .report = report,
                           .memoro = memoro,
                           .number = i,
                           .point = &memoro->points[i],
                           .sums = &report->points[i]};
        if (finder.point->rows > 0) {
            finder.blind = memoro->has_accesses && is_blind(&seen, report, i);
            find_all(&finder);
        }
    }
    free(seen.modules);
    if (findings->count != 0) {
        qsort(findings->list, findings->count, sizeof *findings->list, compare_findings);
        join_pools(findings, report);
        qsort(findings->list, findings->count, sizeof *findings->list, compare_findings);
    }
}

void pfa_findings_free(pfa_findings_t *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->list[i].points);
    }
    free(findings->list);
}
