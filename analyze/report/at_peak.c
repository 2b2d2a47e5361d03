/* Owns what is told of the moment of the peak. See analyze/report/at_peak.h. */
#include "analyze/report/report.h"

const char *const pfa_spare_names[PFA_SPARES] = {[PFA_SPARE_USELESS] = "never_read",
                                                 [PFA_SPARE_UNTOUCHED] = "untouched",
                                                 [PFA_SPARE_AFTER] = "idle_after_last",
                                                 [PFA_SPARE_BEFORE] = "idle_before_first"};

bool pfa_at_peak_within(const pfa_report_t *report, uint32_t number, uint64_t from, uint64_t end)
{
    uint64_t time = report->files[number].peak.time;
    return report->together != NULL ? pfa_together_alive(report->together, number, from, end)
                                    : from <= time && time < end;
}

static void add_estimate(pfa_estimate_t *to, const pfa_kind_t *kind, double amount)
{
    to->value += kind->weight * amount;
    to->variance += kind->weight * (kind->weight - 1) * amount * amount;
}

static void add_spare(const pfa_report_t *report, pfa_point_t *point, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const pfa_event_accesses_t *accesses = chunk->accesses;
    uint32_t number = kind->source->number;
    double size = (double)kind->size;
    if (accesses->reads == 0 && !pfa_memoro_is_moved(kind)) {
        add_estimate(&point->spare[PFA_SPARE_USELESS], kind, size);
    }
    if (accesses->length == 0) {
        return;
    }
    add_estimate(&point->spare[PFA_SPARE_UNTOUCHED], kind, size - chunk->touched);
    /* What realloc moved was used when it died. */
    if (accesses->last != UINT64_MAX && !pfa_memoro_is_moved(kind) &&
        pfa_at_peak_within(report, number, accesses->last + 1, UINT64_MAX)) {
        add_estimate(&point->spare[PFA_SPARE_AFTER], kind, size);
    }
    if (!pfa_at_peak_within(report, number, accesses->first, UINT64_MAX)) {
        add_estimate(&point->spare[PFA_SPARE_BEFORE], kind, size);
    }
}

void pfa_at_peak_add(pfa_report_t *report, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const pfa_event_t *event = chunk->event;
    if (!pfa_at_peak_within(report, kind->source->number, event->alloc_time, event->free_time)) {
        return;
    }
    pfa_point_t *point = pfa_report_point(report, kind->group);
    double size = (double)kind->size;
    point->peak_chunks += kind->weight;
    point->peak_bytes += kind->weight * size;
    point->peak_variance += kind->weight * (kind->weight - 1) * size * size;
    point->peak_chunks_variance += kind->weight * (kind->weight - 1);
    if (kind->live) {
        add_estimate(&point->kept, kind, size);
    }
    pfa_copying_add(report, kind, chunk);
    pfa_report_add_size(report, kind, PFA_SIZED_PEAK, kind->weight);
    if (chunk->accesses != NULL && pfa_sight_of(&report->memoro.sights, kind->stack) != PFA_SIGHT_BLIND) {
        add_spare(report, point, kind, chunk);
    }
}
