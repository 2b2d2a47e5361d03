/* Owns what is collected of allocation points for Memoro's scores. See analyze/points/memoro.h; the scores themselves are in
 * analyze/points/scores.c. */
#include "analyze/points/memoro.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pfa_memoro_begin(pfa_memoro_t *memoro, pfa_query_t *query, const pfa_thresholds_t *thresholds)
{
    *memoro = (pfa_memoro_t){.thresholds = *thresholds,
                             .run_ns = query->run_ns,
                             .end_ns = query->end_ns,
                             .sampled = query->sampled,
                             .sights = {.stacks = &query->stacks}};
    for (size_t i = 0; i < query->source_count; i++) {
        memoro->step_ns = fmax(memoro->step_ns, query->sources[i].step_ns);
        memoro->life_step_ns = fmax(memoro->life_step_ns, query->sources[i].life_step_ns);
        memoro->grows = memoro->grows || query->sources[i].running;
    }
    /* What lies one step apart may have been together. */
    memoro->group_ns = fmax(thresholds->group * memoro->run_ns, 1.001 * memoro->step_ns);
    memoro->group_ns_asked = memoro->group_ns;
}

void pfa_memoro_free(pfa_memoro_t *memoro)
{
    for (size_t i = 0; i < memoro->point_count; i++) {
        pfa_memoro_point_t *point = &memoro->points[i];
        pfa_bursts_free(&point->bursts);
        pfa_growth_free(&point->growth);
        pfa_idle_free(&point->early);
        pfa_idle_free(&point->late);
        pfa_own_peak_free(&point->own_peak);
    }
    if (memoro->growths != NULL) {
        pfa_growths_free(memoro->growths);
    }
    pfa_memory_free(memoro->linked);
    pfa_memory_free(memoro->lanes);
    pfa_sights_free(&memoro->sights);
    pfa_memory_free(memoro->points);
}

static pfa_growth_t *find_growth(void *to, uint32_t group)
{
    const pfa_memoro_t *memoro = to;
    return &memoro->points[group].growth;
}

void pfa_memoro_ready(pfa_memoro_t *memoro, size_t groups)
{
    memoro->points = pfa_memory_grow(memoro->points, &memoro->point_room, groups, sizeof *memoro->points);
    memoro->linked = pfa_memory_grow(memoro->linked, &memoro->linked_room, groups, sizeof *memoro->linked);
    memoro->point_count = groups > memoro->point_count ? groups : memoro->point_count;
    if (memoro->lanes == NULL) {
        memoro->lanes = pfa_memory_get(PFA_LANES, sizeof *memoro->lanes);
        memoro->growths = pfa_growths_new((uint32_t)memoro->thresholds.run_chunks, find_growth, memoro);
    }
}

/* Whether realloc made or ended it: runs go on from group to group then. */
static bool is_linked(const pfa_kind_t *kind)
{
    return (kind->flags & PFA_RECORD_REALLOC) != 0 || pfa_memoro_is_moved(kind);
}

void pfa_memoro_mark(pfa_memoro_t *memoro, const pfa_kind_t *kind)
{
    if (is_linked(kind) && !atomic_load_explicit(&memoro->linked[kind->group], memory_order_relaxed)) {
        atomic_store_explicit(&memoro->linked[kind->group], true, memory_order_relaxed);
    }
}

void pfa_memoro_next(pfa_memoro_t *memoro)
{
    memoro->batch++;
}

static size_t count_groups(const pfa_memoro_t *memoro)
{
    size_t count = 0;
    for (size_t i = 0; i < PFA_LANES; i++) {
        count += memoro->lanes[i].groups;
    }
    return count;
}

static void recount_groups(pfa_memoro_t *memoro)
{
    memset(memoro->lanes, 0, PFA_LANES * sizeof *memoro->lanes);
    for (uint32_t i = 0; i < memoro->point_count; i++) {
        memoro->lanes[pfa_lane_of(i)].groups += memoro->points[i].bursts.count;
    }
}

static void widen_groups(pfa_memoro_t *memoro)
{
    memoro->group_ns *= 2;
    for (uint32_t i = 0; i < memoro->point_count; i++) {
        pfa_bursts_widen(&memoro->points[i].bursts, memoro->group_ns);
    }
    recount_groups(memoro);
}

/* A point, and what is known of how far the second walk is. */
typedef struct closing {
    const pfa_memoro_t *memoro;
    const pfa_memoro_point_t *point;
} closing_t;

static bool is_over(const void *to, double from, double until)
{
    const closing_t *closing = to;
    const pfa_memoro_t *memoro = closing->memoro;
    return pfa_own_peak_is_over(&closing->point->own_peak, memoro->end_ns, from - memoro->group_ns,
                                until + memoro->group_ns, memoro->batch);
}

pfa_burst_terms_t pfa_memoro_burst_terms(const pfa_memoro_t *memoro, const pfa_memoro_point_t *point)
{
    return (pfa_burst_terms_t){.step_ns = memoro->step_ns,
                               .chunks = memoro->thresholds.burst_chunks,
                               .score = memoro->thresholds.burst_score,
                               .cap_ns = pfa_memoro_life_cap(memoro, point)};
}

/* Closes groups that no later chunk can join, of points that have many more than when that was last tried. What the first walk knows of later
 * chunks holds for the second one if both have the same batches: they do unless a file changed. */
static void close_groups(pfa_memoro_t *memoro)
{
    enum { FEW = 16 };
    for (uint32_t i = 0; i < memoro->point_count; i++) {
        pfa_memoro_point_t *point = &memoro->points[i];
        if (point->bursts.count >= FEW && point->bursts.count / 2 >= point->bursts.left) {
            closing_t closing = {.memoro = memoro, .point = point};
            pfa_burst_terms_t terms = pfa_memoro_burst_terms(memoro, point);
            pfa_bursts_close(&point->bursts, &terms, is_over, &closing);
        }
    }
    recount_groups(memoro);
}

void pfa_memoro_next_again(pfa_memoro_t *memoro)
{
    /* Each point has one in the end. Before any are closed, so that all groups of a small trace are made by the same threshold. */
    while ((double)count_groups(memoro) > memoro->thresholds.groups_most && memoro->group_ns < memoro->run_ns) {
        widen_groups(memoro);
    }
    if (!memoro->grows) {
        close_groups(memoro);
    }
    memoro->batch++;
}

static void add_burst(pfa_memoro_t *memoro, pfa_memoro_point_t *point, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    size_t *groups = &memoro->lanes[pfa_lane_of(kind->group)].groups;
    *groups -= point->bursts.count;
    pfa_bursts_add(&point->bursts, memoro->group_ns, memoro->step_ns, chunk, kind->weight,
                   kind->weight * (double)kind->size);
    *groups += point->bursts.count;
}

static bool is_in_burst(const pfa_memoro_t *memoro, const pfa_chunk_t *chunk)
{
    return chunk->life <= memoro->thresholds.short_life * memoro->run_ns;
}

static void add_inferred(pfa_memoro_point_t *point, pfa_inference_t inference, double weight, double bytes)
{
    point->inferred[inference].chunks += weight;
    point->inferred[inference].bytes += bytes;
    point->inferred_variance[inference] += weight * (weight - 1);
}

bool pfa_memoro_is_moved(const pfa_kind_t *kind)
{
    return !kind->live && (kind->flags & PFA_EVENT_MOVED) != 0;
}

/* A chunk that went from the thread which allocated it to another, which kept it, was handed over: nobody waited for anybody. It was
 * not if the one that allocated it touched it last, or if another than the last to touch it freed it. */
static bool is_handed_over(const pfa_kind_t *kind)
{
    return kind->last_thread != kind->thread && (kind->live || kind->free_thread == kind->last_thread);
}

static bool is_contended(const pfa_kind_t *kind, const pfa_event_accesses_t *accesses,
                         const pfa_thresholds_t *thresholds)
{
    return (kind->flags & PFA_RECORD_SHARED) != 0 && kind->size < PFA_CACHE_LINE && kind->last_thread != 0 &&
           accesses->writes >= thresholds->turn_writes && !is_handed_over(kind);
}

static void infer(pfa_memoro_t *memoro, pfa_memoro_point_t *point, const pfa_kind_t *kind, const pfa_chunk_t *chunk,
                  double bytes)
{
    const pfa_thresholds_t *thresholds = &memoro->thresholds;
    const pfa_event_accesses_t *accesses = chunk->accesses;
    double weight = kind->weight;
    double least = fmax(thresholds->idle * chunk->life, thresholds->idle_least * memoro->run_ns);
    if (!chunk->is_touched) {
        if (!pfa_memoro_is_moved(kind)) {
            add_inferred(point, PFA_INFER_never_touched, weight, bytes);
        }
        return;
    }
    if (accesses->reads == 0 && pfa_memoro_is_moved(kind)) {
        /* written, and read by realloc */
    } else if (accesses->reads == 0) {
        add_inferred(point, PFA_INFER_write_only, weight, bytes);
    } else if (accesses->writes == 0) {
        add_inferred(point, PFA_INFER_read_only, weight, bytes);
    }
    if (chunk->idle >= least && chunk->life > 0) {
        add_inferred(point, PFA_INFER_late_free, weight, bytes);
        pfa_idle_add(&point->late, kind, chunk->idle, chunk->life);
    }
    if (chunk->first - chunk->born >= least && chunk->life > 0) {
        add_inferred(point, PFA_INFER_early_allocation, weight, bytes);
        pfa_idle_add(&point->early, kind, chunk->first - chunk->born, chunk->life);
    }
    if (chunk->touched < thresholds->coverage * (double)kind->size) {
        add_inferred(point, PFA_INFER_low_coverage, weight, bytes);
    }
    if ((kind->flags & PFA_RECORD_SHARED) != 0) {
        add_inferred(point, PFA_INFER_shared, weight, bytes);
    }
    if (is_contended(kind, accesses, thresholds)) {
        add_inferred(point, PFA_INFER_contended, weight, bytes);
    }
}

static void add_accesses(pfa_memoro_t *memoro, pfa_memoro_point_t *point, const pfa_kind_t *kind,
                         const pfa_chunk_t *chunk, double bytes)
{
    const pfa_event_accesses_t *accesses = chunk->accesses;
    double weight = kind->weight;
    uint64_t unit = pfa_access_unit(kind->size);
    uint64_t reach = ((uint64_t)accesses->low + accesses->length) << unit;
    /* What realloc copies to the next chunk was read, though not by instrumented code. */
    bool read = accesses->reads != 0 || pfa_memoro_is_moved(kind);
    bool used = read && accesses->writes != 0;
    point->told_chunks += weight;
    point->told_bytes += bytes;
    point->touched_bytes += weight * chunk->touched;
    point->used_bytes += used ? weight * chunk->touched : 0;
    point->reads += weight * accesses->reads;
    point->writes += weight * accesses->writes;
    point->reach = accesses->length != 0 && reach > point->reach ? reach : point->reach;
    point->useful += weight * (chunk->life > 0 ? (chunk->last - chunk->first) / chunk->life : chunk->is_touched);
    infer(memoro, point, kind, chunk, bytes);
}

static void see(pfa_memoro_t *memoro, pfa_memoro_point_t *point, const pfa_kind_t *kind, const pfa_chunk_t *chunk,
                double bytes)
{
    pfa_sight_t sight = pfa_sight_of(&memoro->sights, kind->stack);
    if (sight == PFA_SIGHT_BLIND) {
        point->blind += kind->weight;
        return;
    }
    point->maybe_blind = point->maybe_blind || sight == PFA_SIGHT_UNKNOWN;
    add_accesses(memoro, point, kind, chunk, bytes);
}

void pfa_memoro_add(pfa_memoro_t *memoro, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_memoro_point_t *point = &memoro->points[kind->group];
    double weight = kind->weight;
    double size = (double)kind->size;
    double bytes = weight * size;
    if (point->rows == 0) {
        point->first_birth = chunk->born;
        point->smallest = kind->size;
    }
    point->rows++;
    point->chunks += weight;
    point->bytes += bytes;
    point->chunks_variance += weight * (weight - 1);
    point->bytes_variance += weight * (weight - 1) * size * size;
    point->lives += weight * chunk->life;
    point->byte_lives += bytes * chunk->life;
    point->first_birth = chunk->born < point->first_birth ? chunk->born : point->first_birth;
    point->last_death = chunk->died > point->last_death ? chunk->died : point->last_death;
    point->smallest = kind->size < point->smallest ? kind->size : point->smallest;
    point->largest = kind->size > point->largest ? kind->size : point->largest;
    if (is_in_burst(memoro, chunk)) {
        pfa_lives_add(&point->burst_lives, chunk->life, weight);
    }
    pfa_own_peak_add(&point->own_peak, memoro->end_ns, chunk, kind->live, bytes, memoro->batch);
    if (chunk->accesses != NULL) {
        see(memoro, point, kind, chunk, bytes);
    }
    if (!kind->source->sampled && !memoro->linked[kind->group]) {
        pfa_growths_add(memoro->growths, &point->growth, kind, chunk);
    }
}

bool pfa_memoro_is_linked(const pfa_memoro_t *memoro, const pfa_kind_t *kind)
{
    return !kind->source->sampled && memoro->linked[kind->group];
}

void pfa_memoro_add_linked(pfa_memoro_t *memoro, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_growths_add(memoro->growths, &memoro->points[kind->group].growth, kind, chunk);
}

void pfa_memoro_add_again(pfa_memoro_t *memoro, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_memoro_point_t *point = &memoro->points[kind->group];
    pfa_own_peak_t *own = &point->own_peak;
    if (is_in_burst(memoro, chunk)) {
        add_burst(memoro, point, kind, chunk);
    }
    if (own->events != NULL) {
        pfa_own_peak_add_again(own, memoro->end_ns, chunk, kind->live, kind->weight * (double)kind->size);
    }
}
