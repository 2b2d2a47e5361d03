/* Owns the finding of buffers that were copied at the peak. See analyze/points/copying.h. */
#include "analyze/points/report.h"
#include "analyze/base/memory.h"

#include <math.h>

/* More are not kept: then less is promised than there is. */
enum { COPIED_MOST = 4096 };

/* So many nanoseconds, in ticks of the trace. */
static uint64_t ticks_of(const pfa_kind_t *kind, double ns)
{
    double ticks = kind->source->ns_per_tick > 0 ? ns / kind->source->ns_per_tick : 0;
    return ticks < 0x1p62 ? (uint64_t)ticks : (uint64_t)1 << 62;
}

static bool is_near(const pfa_report_t *report, const pfa_kind_t *kind, const pfa_chunk_row_t *row, double gap)
{
    uint32_t number = kind->source->number;
    uint64_t copy = ticks_of(kind, gap + (double)kind->size);
    uint64_t longest = ticks_of(kind, gap + (double)report->memoro.points[kind->group].largest);
    uint64_t end = row->alloc_time < UINT64_MAX - copy ? row->alloc_time + copy : UINT64_MAX;
    uint64_t from = row->free_time > longest ? row->free_time - longest : 0;
    return pfa_at_peak_within(report, number, row->alloc_time, end) ||
           (!kind->live && pfa_at_peak_within(report, number, from, row->free_time));
}

bool pfa_copying_may(const pfa_report_t *report, const pfa_kind_t *kind)
{
    return report->peak.bytes > 0 && kind->group < report->memoro.point_count &&
           report->memoro.points[kind->group].growth.runs >= 1;
}

void pfa_copying_add(pfa_report_t *report, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_copying_t *copying = &report->copying;
    double gap = pfa_growth_gap(kind->source);
    if (copying->count == COPIED_MOST || !is_near(report, kind, chunk->row, gap)) {
        return;
    }
    copying->list = pfa_memory_grow(copying->list, &copying->room, copying->count + 1, sizeof *copying->list);
    copying->list[copying->count++] = (pfa_copied_t){.group = kind->group,
                                                     .thread = kind->source->number << 16 ^ kind->thread,
                                                     .free_thread = kind->source->number << 16 ^ kind->free_thread,
                                                     .born = chunk->born,
                                                     .died = kind->live ? INFINITY : chunk->died,
                                                     .size = (double)kind->size,
                                                     .gap = gap};
}

/* The first that was freed once this one had been allocated and filled. */
static pfa_copied_t *find_old(const pfa_copying_t *copying, const pfa_copied_t *new)
{
    pfa_copied_t *found = NULL;
    for (size_t i = 0; i < copying->count; i++) {
        pfa_copied_t *old = &copying->list[i];
        bool freed = old->died >= new->born && old->died <= new->born + new->gap + new->size;
        if (freed && old->group == new->group && old->free_thread == new->thread &&
            old->size *PFA_GROWTH_LEAST <= new->size && (found == NULL || old->died < found->died)) {
            found = old;
        }
    }
    return found;
}

void pfa_copying_end(pfa_report_t *report)
{
    for (size_t i = 0; i < report->copying.count; i++) {
        const pfa_copied_t *new = &report->copying.list[i];
        pfa_copied_t *old = find_old(&report->copying, new);
        if (old != NULL) {
            report->points[old->group].outgrown += old->size;
            old->died = INFINITY;
        }
    }
}
