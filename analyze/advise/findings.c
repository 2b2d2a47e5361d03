/* Owns what is advised, and what it is estimated to bring. See analyze/advise/findings.h. */
#include "analyze/advise/findings.h"
#include "analyze/base/memory.h"
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

enum { HOIST_LARGEST = 1 << 20 };

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

/* What a change saves. */
typedef struct gain {
    pfa_estimate_t bytes;
    pfa_estimate_t calls;
    double ns; /* besides that of the calls */
} gain_t;

/* Returns the part of the rank that is time. */
static double rank(const pfa_findings_t *findings, pfa_finding_t *one)
{
    one->ns = fmin(one->ns, findings->ns_most);
    double time_share = findings->run_ns > 0 ? fmin(one->ns / findings->run_ns, 1) : 0;
    one->rank = time_share + one->bytes / fmax(findings->peak, peak_least);
    return time_share;
}

/* Of what is sampled or assumed, nothing is sure to a high degree. */
static void cap_sure(const pfa_findings_t *findings, pfa_finding_t *one, double time_share)
{
    bool assumed = !findings->measured && 2 * time_share > one->rank;
    if (one->sure == PFA_SURE_HIGH && (findings->sampled || assumed)) {
        one->sure = PFA_SURE_MEDIUM;
        one->unsure = findings->sampled ? "chunks were sampled" : "what a call costs is assumed";
    }
}

void pfa_finding_judge(const pfa_findings_t *findings, pfa_finding_t *one)
{
    double time_share = rank(findings, one);
    one->sure = judge(one->share * one->rows, one->share);
    one->unsure = NULL;
    cap_sure(findings, one, time_share);
}

/* What a chunk was not used for, other code may have used it for: what is not instrumented, and of reading, libc, since not all of its
 * functions are wrapped. */
static void cap_unseen(const finder_t *finder, pfa_finding_t *one)
{
    bool written = one->advice == PFA_ADVICE_remove && finder->point->inferred[PFA_INFER_write_only].chunks > 0;
    bool used = one->advice == PFA_ADVICE_remove || one->advice == PFA_ADVICE_shrink ||
                one->advice == PFA_ADVICE_free_earlier || one->advice == PFA_ADVICE_allocate_later;
    if (written || (used && finder->report->unseen_code)) {
        one->sure = one->sure == PFA_SURE_HIGH ? PFA_SURE_MEDIUM : one->sure;
        one->unsure = written ? "code that is not instrumented may have read it"
                              : "code that is not instrumented may have touched it";
    }
}

static void add(finder_t *finder, pfa_advice_t advice, double share, const gain_t *gain)
{
    pfa_findings_t *findings = finder->findings;
    pfa_finding_t one = {.advice = advice,
                         .point = finder->number,
                         .bytes = gain->bytes.value,
                         .calls = gain->calls.value,
                         .bytes_variance = gain->bytes.variance,
                         .calls_variance = gain->calls.variance,
                         .ns_variance = gain->calls.variance * findings->pair_ns * findings->pair_ns,
                         .share = share};
    one.ns = one.calls * findings->pair_ns + gain->ns;
    one.chunks = share * finder->point->chunks;
    one.rows = finder->point->rows;
    pfa_finding_judge(findings, &one);
    cap_unseen(finder, &one);
    findings->list = pfa_memory_grow(findings->list, &findings->room, findings->count + 1, sizeof *findings->list);
    findings->list[findings->count++] = one;
}

static bool holds(const finder_t *finder, pfa_inference_t inference, pfa_share_t *share)
{
    *share = pfa_memoro_share(finder->point, inference);
    bool single = finder->point->rows == 1 && share->chunks > 0; /* worth a word if it is large */
    return single || pfa_memoro_is_flagged(finder->memoro, finder->point, inference);
}

/* Bytes of the point that were there at the peak for nothing, as far as the peak is lower without them. */
static pfa_estimate_t spare(const finder_t *finder, pfa_spare_t spare)
{
    pfa_estimate_t saved = finder->sums->spare[spare];
    saved.value -= finder->sums->needed_elsewhere[spare];
    return saved;
}

/* The point's chunks that an inference holds for, if it is told of `told` of them; this part of these. */
static pfa_estimate_t chunks_of(const finder_t *finder, pfa_inference_t inference, double told, double part)
{
    const pfa_memoro_point_t *point = finder->point;
    double factor = told > 0 ? part * point->chunks / told : 0;
    return (pfa_estimate_t){factor * point->inferred[inference].chunks,
                            factor * factor * point->inferred_variance[inference]};
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
    double told = finder->point->told_chunks;
    pfa_estimate_t calls = chunks_of(finder, PFA_INFER_never_touched, told, 1);
    pfa_estimate_t more = chunks_of(finder, PFA_INFER_write_only, told, 1);
    calls = (pfa_estimate_t){calls.value + more.value, calls.variance + more.variance};
    add(finder, PFA_ADVICE_remove, chunks, &(gain_t){.bytes = spare(finder, PFA_SPARE_USELESS), .calls = calls});
    return chunks > 0.95; /* else there is more to say of the others */
}

/* Leaks is as sure as it says of what it takes for a leak; what grows may well be meant to. */
static void judge_kept(pfa_finding_t *one, const pfa_kept_t *kept)
{
    const char *word = pfa_sure_word(kept->sure);
    one->sure = PFA_SURE_LOW;
    while (strcmp(pfa_sure_names[one->sure], word) != 0) {
        one->sure++;
    }
    one->unsure = NULL;
    if (kept->verdict == PFA_LEAK_VERDICT_GROWS && one->sure == PFA_SURE_HIGH) {
        one->sure = PFA_SURE_MEDIUM;
        one->unsure = "it may be meant to grow";
    }
}

/* What is born all along and never freed. */
static void find_kept(finder_t *finder)
{
    const pfa_report_t *report = finder->report;
    const pfa_kept_t *kept = finder->number < report->kept_room ? &report->kept[finder->number] : NULL;
    pfa_estimate_t at_peak = finder->sums->kept;
    bool grows = kept != NULL && kept->chunks > 0 &&
                 (kept->verdict == PFA_LEAK_VERDICT_LEAK || kept->verdict == PFA_LEAK_VERDICT_GROWS);
    if (!grows || at_peak.value <= 0) {
        return;
    }
    at_peak.value = fmin(at_peak.value, kept->bytes);
    add(finder, PFA_ADVICE_free, fmin(kept->chunks / finder->point->chunks, 1), &(gain_t){.bytes = at_peak});
    pfa_finding_t *one = &finder->findings->list[finder->findings->count - 1];
    judge_kept(one, kept);
    cap_sure(finder->findings, one, 0);
}

static bool find_growth(finder_t *finder)
{
    const pfa_growth_t *growth = &finder->point->growth;
    pfa_share_t share;
    if (!holds(finder, PFA_INFER_growing, &share) || growth->runs < 1) {
        return false;
    }
    /* What realloc copied is in the time of its calls, where that was measured. */
    double copied = growth->copied - (finder->findings->measured ? growth->copied_by_realloc : 0);
    add(finder, PFA_ADVICE_reserve, share.chunks,
        &(gain_t){.bytes = {.value = finder->sums->outgrown},
                  .calls = {.value = growth->chunks - growth->runs},
                  .ns = fmax(copied, 0) / bytes_per_ns});
    return true;
}

static void find_bursts(finder_t *finder)
{
    const pfa_memoro_point_t *point = finder->point;
    pfa_share_t share;
    if (!holds(finder, PFA_INFER_short_lived, &share)) {
        return;
    }
    double chunks = share.chunks * point->chunks;
    bool one = pfa_memoro_churn(finder->memoro, point).alive < 1.5 && point->largest <= HOIST_LARGEST &&
               (point->largest <= 4 * point->smallest || point->largest <= 4096);
    /* One of each burst stays. */
    double left = one ? fmin((double)point->bursts.closed.groups, chunks) / chunks : 0.01;
    add(finder, one ? PFA_ADVICE_hoist : PFA_ADVICE_pool, share.chunks,
        &(gain_t){.calls = chunks_of(finder, PFA_INFER_short_lived, point->chunks, 1 - left)});
}

static void find_shrink(finder_t *finder)
{
    pfa_share_t share;
    gain_t gain = {.bytes = spare(finder, PFA_SPARE_UNTOUCHED)};
    if (holds(finder, PFA_INFER_low_coverage, &share) && gain.bytes.value > 0) {
        add(finder, PFA_ADVICE_shrink, share.chunks, &gain);
    }
}

/* What is idle at other times, but not at the peak, costs nothing. */
static void find_idle(finder_t *finder, pfa_inference_t inference, pfa_advice_t advice, pfa_spare_t idle)
{
    pfa_share_t share;
    gain_t gain = {.bytes = spare(finder, idle)};
    if (holds(finder, inference, &share) && gain.bytes.value > 0) {
        add(finder, advice, share.chunks, &gain);
    }
}

static void find_sharing(finder_t *finder)
{
    pfa_share_t share;
    if (!holds(finder, PFA_INFER_contended, &share)) {
        return;
    }
    add(finder, PFA_ADVICE_unshare, share.chunks, &(gain_t){.ns = 0});
    pfa_finding_t *one = &finder->findings->list[finder->findings->count - 1];
    one->sure = PFA_SURE_LOW;
    one->unsure = "how often a chunk went from thread to thread is not recorded";
}

static void find_all(finder_t *finder)
{
    if (!finder->blind && find_useless(finder)) {
        return; /* what is of no use need not be improved */
    }
    find_kept(finder);
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

/* The modules whose code touches what it allocates, as far as that is seen. */
typedef struct seen {
    const char **modules;
    size_t count;
    size_t room;
} seen_t;

static const char *module_of(const pfa_report_t *report, uint32_t number)
{
    pfa_stacks_t *stacks = (pfa_stacks_t *)(uintptr_t)&report->query->stacks;
    pfa_line_t line;
    bool known = pfa_place_find(stacks, pfa_query_group_stack(report->query, number), &line);
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
    bool all =
        !pfa_query_is_filtered(report->query); /* of what is asked for alone, nothing may be touched, and rightly so */
    if (!point->maybe_blind && (seen->count != 0 || !all)) {
        return false;
    }
    return point->reads + point->writes <= 0 && !is_seen(seen, module_of(report, number));
}

void pfa_findings_make(pfa_findings_t *findings, const pfa_report_t *report)
{
    seen_t seen = {.modules = NULL};
    const pfa_memoro_t *memoro = &report->memoro;
    *findings =
        (pfa_findings_t){.pair_ns = pair_ns_assumed, .run_ns = memoro->run_ns - pfa_spent_recording_ns(report->query)};
    double pair_ns = pfa_spent_pair_ns(report->query, &findings->ns_most);
    bool one_thread = findings->run_ns < memoro->run_ns; /* only of that it is known what recording took */
    findings->ns_most = pair_ns <= 0 ? findings->run_ns
                        : one_thread ? fmin(findings->ns_most, findings->run_ns)
                                     : findings->ns_most;
    if (pair_ns > 0) {
        findings->pair_ns = pair_ns;
        findings->measured = true;
    }
    findings->peak = report->peak.bytes;
    findings->peak_words = pfa_report_peak_words(report);
    findings->sampled = memoro->sampled;
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
    pfa_memory_free(seen.modules);
    pfa_findings_sort(findings, report);
}

void pfa_findings_free(pfa_findings_t *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        pfa_memory_free(findings->list[i].points);
    }
    pfa_memory_free(findings->list);
}
