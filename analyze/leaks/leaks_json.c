/* Owns what `profalloc leaks` tells programs. docs/leaks.md describes it; a change of meaning is a new version. Times are in
 * seconds, shares from 0 to 1. */
#include "analyze/names/place.h"
#include "analyze/base/json.h"
#include "analyze/base/progress.h"
#include "analyze/base/text.h"
#include "analyze/leaks/evidence.h"
#include "analyze/query/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERSION = 1 };

static void put_limits(pfa_json_t *json, const pfa_leak_limits_t *limits)
{
    pfa_json_begin(json, "limits", '{');
    pfa_json_number(json, "least", limits->least);
    pfa_json_number(json, "least_bytes", limits->least_bytes);
    pfa_json_number(json, "least_time", limits->least_seconds);
    pfa_json_number(json, "late", limits->late);
    pfa_json_number(json, "warm_up", limits->warm_up);
    pfa_json_number(json, "stale", limits->stale);
    pfa_json_number(json, "recent", limits->recent);
    pfa_json_number(json, "fail_sure", limits->fail_sure);
    pfa_json_number(json, "fail_bytes", limits->fail_bytes);
    pfa_json_end(json, '}');
}

static void put_suppressions(pfa_json_t *json, const pfa_suppressions_t *suppressions)
{
    pfa_json_begin(json, "suppressions", '[');
    for (size_t i = 0; i < suppressions->count; i++) {
        pfa_json_begin(json, NULL, '{');
        pfa_json_text(json, "pattern", suppressions->list[i].pattern);
        pfa_json_number(json, "chunks", suppressions->list[i].chunks);
        pfa_json_number(json, "bytes", suppressions->list[i].bytes);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

static void put_list(pfa_json_t *json, const char *key, const double *list, size_t count)
{
    pfa_json_begin(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        pfa_json_number(json, NULL, list[i]);
    }
    pfa_json_end(json, ']');
}

static void put_survivors(pfa_json_t *json, const pfa_leaks_t *leaks, const pfa_survivors_t *survivors)
{
    pfa_json_number(json, "chunks", survivors->chunks);
    pfa_json_number(json, "bytes", survivors->bytes);
    pfa_json_number(json, "recorded", survivors->rows);
    pfa_json_number(json, "chunks_half_width", pfa_half_width(survivors->chunks_variance));
    pfa_json_number(json, "bytes_half_width", pfa_half_width(survivors->bytes_variance));
    pfa_json_whole(json, "least_size", survivors->least_size);
    pfa_json_whole(json, "most_size", survivors->most_size);
    pfa_json_number(json, "bytes_per_second", survivors->rate * 1e9);
    pfa_json_number(json, "bytes_per_second_half_width", 1e9 * pfa_half_width(survivors->rate_variance));
    pfa_json_number(json, "bytes_per_hour", pfa_leaks_per_hour(leaks, survivors));
    pfa_json_number(json, "first_birth", survivors->first);
    pfa_json_number(json, "last_birth", survivors->last);
    pfa_json_number(json, "at_start", survivors->at_start);
    pfa_json_number(json, "oldest", survivors->oldest * 1e-9);
    put_list(json, "births", survivors->births, PFA_BIRTHS);
    put_list(json, "birth_bytes", survivors->birth_bytes, PFA_BIRTHS);
}

static void put_accesses(pfa_json_t *json, const pfa_survivors_t *survivors)
{
    if (survivors->known <= 0) {
        pfa_json_text(json, "accesses", NULL);
        return;
    }
    pfa_json_begin(json, "accesses", '{');
    pfa_json_number(json, "known", survivors->known);
    pfa_json_number(json, "stale", survivors->stale);
    pfa_json_number(json, "never_touched", survivors->never);
    pfa_json_number(json, "old", survivors->old);
    pfa_json_number(json, "used", survivors->used);
    pfa_json_end(json, '}');
}

static void put_overdue(pfa_json_t *json, const pfa_leak_finding_t *finding)
{
    if (!finding->siblings) {
        pfa_json_text(json, "overdue", NULL);
        return;
    }
    pfa_json_begin(json, "overdue", '{');
    pfa_json_number(json, "age", finding->due * 1e-9);
    pfa_json_number(json, "chunks", finding->overdue);
    pfa_json_number(json, "bytes", finding->overdue_bytes);
    pfa_json_number(json, "expected", finding->expected);
    pfa_json_end(json, '}');
}

static void put_enders(pfa_json_t *json, const char *key, const pfa_ender_t *list, size_t count, bool live)
{
    pfa_json_begin(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        pfa_json_begin(json, NULL, '{');
        pfa_json_text(json, "name", list[i].name);
        pfa_json_number(json, "freed", list[i].freed);
        if (live) {
            pfa_json_number(json, "live", list[i].live);
        }
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

static void put_quantiles(pfa_json_t *json, const pfa_siblings_t *siblings)
{
    static const struct {
        const char *key;
        double share;
    } quantiles[] = {{"10", 0.1}, {"50", 0.5}, {"90", 0.9}, {"95", 0.95}, {"99", 0.99}};
    pfa_json_begin(json, "lifetime", '{');
    pfa_json_number(json, "least", siblings->shortest * 1e-9);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        pfa_json_number(json, quantiles[i].key, pfa_siblings_quantile(siblings, quantiles[i].share) * 1e-9);
    }
    pfa_json_number(json, "most", siblings->longest * 1e-9);
    pfa_json_end(json, '}');
}

static void put_siblings(pfa_json_t *json, const pfa_siblings_t *siblings)
{
    pfa_json_begin(json, "siblings", '{');
    pfa_json_bool(json, "of_the_same_function", siblings->cousins);
    pfa_json_number(json, "freed", siblings->freed);
    pfa_json_number(json, "same_thread", siblings->same_thread);
    if (siblings->freed > 0) {
        put_quantiles(json, siblings);
    } else {
        pfa_json_text(json, "lifetime", NULL);
    }
    /* Those of a function that many allocate in are the same for each of its points. */
    enum { LENT_MOST = 32 };
    size_t most = siblings->lent ? LENT_MOST : SIZE_MAX;
    size_t sites = siblings->site_count < most ? siblings->site_count : most;
    size_t freers = siblings->freer_count < most ? siblings->freer_count : most;
    put_enders(json, "sites", siblings->sites, sites, false);
    pfa_json_whole(json, "more_sites", siblings->site_count - sites);
    put_enders(json, "freeing_threads", siblings->freers, freers, false);
    pfa_json_whole(json, "more_freeing_threads", siblings->freer_count - freers);
    pfa_json_end(json, '}');
    put_enders(json, "allocating_threads", siblings->owners, siblings->owner_count, true);
}

/* Only where it falls. */
static void put_survival(pfa_json_t *json, const pfa_family_t *family)
{
    double survival[PFA_LIVES_BINS];
    pfa_lives_survival(family->lives, family->survivors->ages, survival);
    pfa_json_begin(json, "survival", '[');
    for (unsigned i = 0; i < PFA_LIVES_BINS; i++) {
        if (family->lives[i] > 0) {
            pfa_json_begin(json, NULL, '{');
            pfa_json_number(json, "age", pfa_lives_edge(i + 1) * 1e-9);
            pfa_json_number(json, "share", survival[i]);
            pfa_json_end(json, '}');
        }
    }
    pfa_json_end(json, ']');
}

static void put_stack(pfa_json_t *json, pfa_leaks_t *leaks, uint32_t stack, pfa_lines_t *lines)
{
    pfa_stacks_lines(&leaks->query->stacks, stack, lines);
    pfa_place_json(json, lines);
}

static void put_finding(pfa_json_t *json, pfa_leaks_t *leaks, const pfa_leak_finding_t *finding, pfa_lines_t *lines)
{
    const pfa_family_t *family = &leaks->families[finding->group];
    uint32_t stack = pfa_query_group_stack(leaks->query, finding->group);
    bool by_stack = leaks->query->key == NULL || leaks->query->key == &pfa_keys[0];
    pfa_siblings_t siblings;
    char id[24];
    snprintf(id, sizeof id, "%016" PRIx64, leaks->query->stacks.frames[stack].hash);
    pfa_siblings_find(&siblings, leaks, finding->group);
    pfa_json_begin(json, NULL, '{');
    pfa_json_text(json, "id", by_stack ? id : NULL);
    pfa_json_text(json, "name", pfa_query_group_name(leaks->query, finding->group));
    pfa_json_text(json, "verdict", pfa_leak_verdict_key(finding->verdict));
    pfa_json_text(json, "reason", pfa_leak_reason_key(finding->reason));
    pfa_json_text(json, "sentence", pfa_leak_reason_sentence(finding->reason));
    pfa_json_number(json, "sure", finding->sure);
    pfa_json_number(json, "leaked_bytes", finding->leaked);
    pfa_json_bool(json, "fails", finding->fails);
    put_survivors(json, leaks, family->survivors);
    pfa_json_whole(json, "parts", finding->parts);
    pfa_json_whole(json, "parts_with_births", finding->busy);
    pfa_json_number(json, "late_half", finding->late_half);
    put_overdue(json, finding);
    put_accesses(json, family->survivors);
    pfa_json_number(json, "blind", family->survivors->blind);
    pfa_json_number(json, "freed", family->freed);
    pfa_json_number(json, "freed_bytes", family->freed_bytes);
    pfa_json_number(json, "folded", family->folded);
    pfa_json_number(json, "moved", family->moved);
    put_siblings(json, &siblings);
    put_survival(json, family);
    if (by_stack) {
        put_stack(json, leaks, stack, lines);
    }
    pfa_json_end(json, '}');
    pfa_siblings_free(&siblings);
}

static void put_totals(pfa_json_t *json, const pfa_leaks_t *leaks)
{
    double leaked = 0;
    for (size_t i = 0; i < leaks->finding_count; i++) {
        leaked += leaks->findings[i].leaked;
    }
    pfa_json_begin(json, "live", '{');
    pfa_json_number(json, "points", (double)leaks->finding_count);
    pfa_json_number(json, "chunks", leaks->chunks);
    pfa_json_number(json, "bytes", leaks->bytes);
    pfa_json_number(json, "chunks_half_width", pfa_half_width(leaks->chunks_variance));
    pfa_json_number(json, "bytes_half_width", pfa_half_width(leaks->bytes_variance));
    pfa_json_number(json, "leaked_bytes", leaked);
    pfa_json_number(json, "suppressed_chunks", leaks->suppressed_chunks);
    pfa_json_number(json, "suppressed_bytes", leaks->suppressed_bytes);
    pfa_json_number(json, "blind", leaks->blind);
    pfa_json_end(json, '}');
}

static void put_all(FILE *to, pfa_leaks_t *leaks, size_t top)
{
    pfa_json_t json = {.to = to};
    pfa_lines_t lines = {.list = NULL};
    pfa_progress_t progress;
    pfa_progress_begin(&progress, pfa_session_watch(leaks->query->session), "finding names", leaks->finding_count);
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-leaks");
    pfa_json_whole(&json, "version", VERSION);
    put_totals(&json, leaks);
    put_limits(&json, &leaks->limits);
    put_suppressions(&json, &leaks->suppressions);
    pfa_json_begin(&json, "points", '[');
    for (size_t i = 0; i < leaks->finding_count && i < top; i++) {
        put_finding(&json, leaks, &leaks->findings[i], &lines);
        pfa_progress_step(&progress, 1);
    }
    pfa_json_end(&json, ']');
    pfa_progress_end(&progress);
    pfa_evidence_note(leaks);
    pfa_query_tell_json(leaks->query, &json);
    pfa_json_end(&json, '}');
    pfa_lines_free(&lines);
}

typedef struct writing {
    FILE *to;
    size_t top;
} writing_t;

static void write_json(void *answer, void *to)
{
    const writing_t *writing = to;
    put_all(writing->to, answer, writing->top);
}

int pfa_leaks_json(pfa_leaks_t *leaks, size_t top, FILE *to)
{
    writing_t writing = {.to = to, .top = top};
    return pfa_answer_write(leaks, write_json, &writing);
}
