/* Owns what a change saves of the peak, given that the peak then is at another moment. See analyze/advise/findings.h. */
#include "analyze/advise/findings.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>

/* So many findings at most, 8 KiB each: of the others the bytes at the peak stay. */
enum { MOMENTS = 1024, WEIGHED = 1000 };

/* How much is alive at each moment, as changes from one to the next. The last is behind the end. */
typedef double curve_t[MOMENTS + 1];

typedef struct weighed {
    uint32_t point;
    pfa_spare_t spare;
    curve_t changes; /* of what would be gone */
} weighed_t;

typedef struct weighing {
    pfa_report_t *report;
    weighed_t *list;
    size_t count;
    uint32_t (*places)[PFA_SPARES]; /* by point: 1 and the place in the list; 0: in none */
    size_t point_count;
    curve_t live; /* of all chunks */
} weighing_t;

/* What a change lets go of; false: it saves no bytes. */
static bool spare_of(pfa_advice_t advice, pfa_spare_t *spare)
{
    *spare = advice == PFA_ADVICE_remove         ? PFA_SPARE_USELESS
             : advice == PFA_ADVICE_shrink       ? PFA_SPARE_UNTOUCHED
             : advice == PFA_ADVICE_free_earlier ? PFA_SPARE_AFTER
                                                 : PFA_SPARE_BEFORE;
    return *spare != PFA_SPARE_BEFORE || advice == PFA_ADVICE_allocate_later;
}

/* The first moment at or after a time. */
static size_t moment_at(const weighing_t *weighing, double time)
{
    double end_ns = weighing->report->memoro.end_ns;
    double at = end_ns > 0 ? ceil(time * MOMENTS / end_ns) : 0;
    return at <= 0 ? 0 : at >= MOMENTS ? MOMENTS : (size_t)at;
}

/* The first after it. */
static size_t moment_after(const weighing_t *weighing, double time)
{
    double end_ns = weighing->report->memoro.end_ns;
    double at = end_ns > 0 ? floor(time * MOMENTS / end_ns) + 1 : 0;
    return at <= 0 ? 0 : at >= MOMENTS ? MOMENTS : (size_t)at;
}

static void add_between(curve_t changes, size_t from, size_t end, double bytes)
{
    if (from < end) {
        changes[from] += bytes;
        changes[end] -= bytes;
    }
}

static void add_spare(weighing_t *weighing, weighed_t *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    size_t from = to->spare == PFA_SPARE_AFTER ? moment_after(weighing, chunk->last) : moment_at(weighing, chunk->born);
    size_t end = moment_at(weighing, to->spare == PFA_SPARE_BEFORE ? chunk->first : chunk->died);
    add_between(to->changes, from, end, kind->weight * pfa_spare_bytes(to->spare, kind, chunk));
}

static void add_chunk(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    weighing_t *weighing = to;
    add_between(weighing->live, moment_at(weighing, chunk->born), moment_at(weighing, chunk->died),
                kind->weight * (double)kind->size);
    if (chunk->accesses == NULL || kind->group >= weighing->point_count ||
        pfa_sight_of(&weighing->report->memoro.sights, kind->stack) == PFA_SIGHT_BLIND) {
        return;
    }
    for (int i = 0; i < PFA_SPARES; i++) {
        uint32_t place = weighing->places[kind->group][i];
        if (place != 0) {
            add_spare(weighing, &weighing->list[place - 1], kind, chunk);
        }
    }
}

/* The most that is alive at any of the moments without what would be gone. */
static double highest(const weighing_t *weighing, const weighed_t *without)
{
    double live = 0;
    double most = 0;
    for (size_t i = 0; i < MOMENTS; i++) {
        live += weighing->live[i] - without->changes[i];
        most = fmax(most, live);
    }
    return most;
}

static void pick(weighing_t *weighing)
{
    pfa_findings_t findings;
    pfa_findings_make(&findings, weighing->report);
    weighing->point_count = weighing->report->point_count;
    weighing->list = pfa_memory_get(findings.count < WEIGHED ? findings.count : WEIGHED, sizeof *weighing->list);
    weighing->places = pfa_memory_get(weighing->point_count, sizeof *weighing->places);
    for (size_t i = 0; i < findings.count && weighing->count < WEIGHED; i++) {
        const pfa_finding_t *finding = &findings.list[i];
        pfa_spare_t spare;
        if (spare_of(finding->advice, &spare) && finding->bytes > 0) {
            weighing->list[weighing->count] = (weighed_t){.point = finding->point, .spare = spare};
            weighing->places[finding->point][spare] = (uint32_t)++weighing->count;
        }
    }
    pfa_findings_free(&findings);
}

bool pfa_savings_weigh(pfa_report_t *report)
{
    weighing_t weighing = {.report = report};
    pfa_look_t look = {.to = &weighing, .accesses = true, .chunk = add_chunk};
    double peak = report->peak.bytes;
    pick(&weighing);
    bool done = weighing.count == 0 || pfa_query_walk(report->query, &look, "looking at other moments") == 0;
    for (size_t i = 0; done && i < weighing.count; i++) {
        const weighed_t *one = &weighing.list[i];
        pfa_point_t *point = &report->points[one->point];
        double spare = point->spare[one->spare].value;
        double saved = fmax(peak - highest(&weighing, one), 0);
        point->needed_elsewhere[one->spare] = fmax(spare - saved, 0);
    }
    pfa_memory_free(weighing.places);
    pfa_memory_free(weighing.list);
    return done;
}
