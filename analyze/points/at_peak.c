/* Owns what is told of the moment of the peak. See analyze/points/at_peak.h. */
#include "analyze/points/report.h"

#include <math.h>

const char *const pfa_spare_names[PFA_SPARES] = {[PFA_SPARE_USELESS] = "never_read",
                                                 [PFA_SPARE_UNTOUCHED] = "untouched",
                                                 [PFA_SPARE_AFTER] = "idle_after_last",
                                                 [PFA_SPARE_BEFORE] = "idle_before_first",
                                                 [PFA_SPARE_ABSENT] = "took_no_memory"};

bool pfa_at_peak_within(const pfa_report_t *report, uint32_t number, uint64_t from, uint64_t end)
{
    return pfa_summit_within(report->summit, number, from, end);
}

static void add_estimate(pfa_estimate_t *to, const pfa_kind_t *kind, double amount)
{
    to->value += kind->weight * amount;
    to->variance += kind->weight * (kind->weight - 1) * amount * amount;
}

/* Bytes of the pages that have touched bytes; places are counted from the chunk's start, which is taken for that of a page. */
static double resident_bytes(const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const pfa_event_accesses_t *accesses = chunk->accesses;
    if (kind->size <= PFA_MAPPED || (accesses->length == 0 && chunk->is_touched)) {
        return (double)kind->size; /* or it is not known where it was touched */
    }
    uint64_t low = (uint64_t)accesses->low << pfa_access_unit(kind->size);
    double from = (double)(low / PFA_MAPPED_PAGE * PFA_MAPPED_PAGE);
    double end = ceil(((double)low + chunk->touched) / PFA_MAPPED_PAGE) * PFA_MAPPED_PAGE;
    return accesses->length == 0 ? 0 : fmin(end, (double)kind->size) - from;
}

double pfa_spare_bytes(pfa_spare_t spare, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const pfa_event_accesses_t *accesses = chunk->accesses;
    double resident = resident_bytes(kind, chunk);
    bool placed = accesses->length != 0;
    bool moved = pfa_memoro_is_moved(kind); /* what realloc moved was used when it died */
    switch (spare) {
    case PFA_SPARE_USELESS:
        return accesses->reads == 0 && !moved ? resident : 0;
    case PFA_SPARE_UNTOUCHED:
        return placed ? resident - chunk->touched : 0;
    case PFA_SPARE_AFTER:
        return placed && accesses->last != UINT64_MAX && !moved ? resident : 0;
    case PFA_SPARE_BEFORE:
        return placed && kind->size <= PFA_MAPPED ? resident : 0;
    default:
        return (double)kind->size - resident;
    }
}

/* Whether the peak is at a time at which these bytes of a chunk that was alive then are spare. */
static bool is_spare(const pfa_report_t *report, pfa_spare_t spare, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const pfa_event_accesses_t *accesses = chunk->accesses;
    uint32_t number = kind->source->number;
    return spare == PFA_SPARE_AFTER    ? pfa_at_peak_within(report, number, accesses->last + 1, UINT64_MAX)
           : spare == PFA_SPARE_BEFORE ? !pfa_at_peak_within(report, number, accesses->first, UINT64_MAX)
                                       : true;
}

static void add_spare(const pfa_report_t *report, pfa_point_t *point, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    for (int i = 0; i < PFA_SPARES; i++) {
        double bytes = pfa_spare_bytes((pfa_spare_t)i, kind, chunk);
        if (bytes > 0 && is_spare(report, (pfa_spare_t)i, kind, chunk)) {
            add_estimate(&point->spare[i], kind, bytes);
        }
    }
}

void pfa_at_peak_add(pfa_report_t *report, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    if (!pfa_at_peak_within(report, kind->source->number, chunk->row->alloc_time, chunk->row->free_time)) {
        return;
    }
    pfa_point_t *point = &report->points[kind->group];
    double size = (double)kind->size;
    point->peak_chunks += kind->weight;
    point->peak_bytes += kind->weight * size;
    point->peak_variance += kind->weight * (kind->weight - 1) * size * size;
    point->peak_chunks_variance += kind->weight * (kind->weight - 1);
    if (kind->live) {
        add_estimate(&point->kept, kind, size);
    }
    pfa_report_add_size(report, kind, PFA_SIZED_PEAK, kind->weight);
    if (chunk->accesses != NULL && pfa_sight_of(&report->memoro.sights, kind->stack) != PFA_SIGHT_BLIND) {
        add_spare(report, point, kind, chunk);
    }
}
