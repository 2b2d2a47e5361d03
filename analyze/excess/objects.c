/* Owns allocation objects and the table they are summed in. See analyze/excess/objects.h. */
#include "analyze/excess/objects.h"
#include "analyze/base/memory.h"
#include "analyze/query/keys.h"

#include <stdlib.h>
#include <string.h>

/* What a class is called by: the largest size that may be in it. */
static uint64_t eighths_of(void *query, uint64_t size)
{
    return pfa_key_find("size")->value(query, &(pfa_kind_t){.size = size});
}

static uint64_t power_of(void *query, uint64_t size)
{
    (void)query;
    return size < 2 ? size : (uint64_t)1 << (64 - __builtin_clzll(size - 1));
}

static uint64_t (*const class_of[])(void *query,
                                    uint64_t size) = {[PFA_SIZE_EIGHTHS] = eighths_of, [PFA_SIZE_POWERS] = power_of};

void pfa_objects_begin(pfa_objects_t *objects, pfa_query_t *query, size_t most)
{
    *objects = (pfa_objects_t){.query = query, .most = most};
    objects->lanes = pfa_memory_get(PFA_LANES, sizeof *objects->lanes);
}

static size_t count_cells(const pfa_objects_t *objects)
{
    size_t count = 0;
    for (size_t i = 0; i < PFA_LANES; i++) {
        count += objects->lanes[i].count;
    }
    return count;
}

void pfa_objects_settle(pfa_objects_t *objects)
{
    if (count_cells(objects) <= objects->most) {
        return;
    }
    /* Until there is room for as many again: else the next chunks would ask for it anew. */
    while (objects->classes < PFA_SIZE_POWERS && 2 * count_cells(objects) > objects->most) {
        objects->classes++;
        for (size_t i = 0; i < PFA_LANES; i++) {
            pfa_cells_coarsen(&objects->lanes[i], class_of[objects->classes], objects->query);
        }
    }
}

uint32_t pfa_objects_kind(pfa_objects_t *objects, const pfa_kind_t *kind, const pfa_cell_key_t *given, double rows)
{
    uint64_t size = given->size;
    pfa_cells_t *cells = &objects->lanes[pfa_lane_of(kind->group)];
    pfa_cell_key_t key = *given;
    key.size = objects->classes == PFA_SIZE_EXACT ? size : class_of[objects->classes](objects->query, size);
    pfa_object_cell_t *cell = pfa_cells_get(cells, &key);
    double chunks = kind->weight * rows;
    cell->low = size < cell->low ? size : cell->low;
    cell->high = size > cell->high ? size : cell->high;
    cell->sum.chunks += chunks;
    cell->sum.variance += chunks * (kind->weight - 1);
    cell->sum.run += chunks * (kind->source->end_ns - kind->source->start_ns);
    cell->sum.bytes += chunks * (double)size;
    cell->sum.moved += !kind->live && (kind->flags & PFA_EVENT_MOVED) != 0 ? chunks : 0;
    return (uint32_t)(cell - cells->list);
}

static bool is_freed(const pfa_object_t *object)
{
    return object->destroyer != PFA_ROUTINE_NEVER;
}

/* Of equal frequency: by what does not change from run to run. */
static int compare_objects(const void *left, const void *right, void *context)
{
    const pfa_object_t *a = left;
    const pfa_object_t *b = right;
    const pfa_callers_t *callers = context;
    const pfa_routine_t *routines = callers->routines.list;
    if (is_freed(a) != is_freed(b)) {
        return is_freed(a) ? -1 : 1;
    }
    if (a->sum.chunks != b->sum.chunks) {
        return a->sum.chunks > b->sum.chunks ? -1 : 1;
    }
    int order = strcmp(pfa_callers_name(callers, a->caller), pfa_callers_name(callers, b->caller));
    order = order != 0 ? order : (a->low > b->low) - (a->low < b->low);
    order = order != 0 ? order : strcmp(routines[a->destroyer].name, routines[b->destroyer].name);
    order = order != 0 ? order : (a->lifetime > b->lifetime) - (a->lifetime < b->lifetime);
    order = order != 0 ? order : (a->caller > b->caller) - (a->caller < b->caller);
    return order != 0 ? order : (a->destroyer > b->destroyer) - (a->destroyer < b->destroyer);
}

/* Puts the cells of each object into one, with a list of them. */
static void join_cells(pfa_cells_t *cells, pfa_callers_t *callers, pfa_cells_t *joined)
{
    for (size_t i = 0; i < cells->count; i++) {
        pfa_object_cell_t *cell = &cells->list[i];
        pfa_cell_key_t key = {.size = cell->key.size, .from = pfa_callers_of(callers, cell), .to = cell->key.to};
        pfa_object_cell_t *joint = pfa_cells_get(joined, &key);
        pfa_cell_join(joint, cell);
        cell->next = joint->next;
        joint->next = (uint32_t)i;
    }
}

/* One list of what lanes have, without slots. */
static void join_lanes(pfa_objects_t *objects)
{
    pfa_cells_t *all = &objects->cells;
    all->list = pfa_memory_grow(NULL, &all->room, count_cells(objects), sizeof *all->list);
    for (size_t i = 0; i < PFA_LANES; i++) {
        pfa_cells_t *lane = &objects->lanes[i];
        if (lane->count != 0) {
            memcpy(&all->list[all->count], lane->list, lane->count * sizeof *all->list);
        }
        all->count += lane->count;
        pfa_cells_free(lane);
    }
}

static pfa_object_t make_object(const pfa_object_cell_t *joint, double least)
{
    double lifetime = pfa_object_sum_lifetime(&joint->sum, least);
    return (pfa_object_t){.low = joint->low,
                          .high = joint->high,
                          .caller = joint->key.from,
                          .destroyer = joint->key.to,
                          .cells = joint->next,
                          .sum = joint->sum,
                          .lifetime = lifetime,
                          .ratio = joint->sum.chunks / lifetime};
}

void pfa_objects_finish(pfa_objects_t *objects, pfa_callers_t *callers, double least)
{
    pfa_cells_t joined = {.list = NULL};
    objects->least = least;
    join_lanes(objects);
    join_cells(&objects->cells, callers, &joined);
    objects->list = pfa_memory_get(joined.count + 1, sizeof *objects->list);
    objects->count = joined.count;
    for (size_t i = 0; i < joined.count; i++) {
        pfa_object_t object = make_object(&joined.list[i], least);
        objects->list[i] = object;
        objects->chunks += object.sum.chunks;
        objects->freed += is_freed(&object);
        objects->live += is_freed(&object) ? 0 : object.sum.chunks;
    }
    pfa_cells_free(&joined);
    qsort_r(objects->list, objects->count, sizeof *objects->list, compare_objects, callers);
}

void pfa_objects_free(pfa_objects_t *objects)
{
    for (size_t i = 0; objects->lanes != NULL && i < PFA_LANES; i++) {
        pfa_cells_free(&objects->lanes[i]);
    }
    pfa_memory_free(objects->lanes);
    pfa_cells_free(&objects->cells);
    pfa_memory_free(objects->list);
}
