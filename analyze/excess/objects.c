/* Owns allocation objects and the table they are summed in. See analyze/excess/objects.h. */
#include "analyze/excess/objects.h"
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

/* Until there is room for as many again: else the next chunks would ask for it anew. */
static void coarsen(pfa_objects_t *objects, pfa_query_t *query)
{
    while (objects->classes < PFA_SIZE_POWERS && 2 * objects->cells.count > objects->most) {
        objects->classes++;
        pfa_cells_coarsen(&objects->cells, class_of[objects->classes], query);
    }
}

void pfa_objects_take(pfa_objects_t *objects, pfa_query_t *query, const pfa_taken_t *taken)
{
    uint64_t size = objects->classes == PFA_SIZE_EXACT ? taken->size : class_of[objects->classes](query, taken->size);
    pfa_cell_t *cell = pfa_cells_get(&objects->cells, taken->stack, size, taken->destroyer);
    pfa_cell_join(cell, &(pfa_cell_t){.low = taken->size,
                                      .high = taken->size,
                                      .sum = {.chunks = taken->weight,
                                              .variance = taken->weight * (taken->weight - 1),
                                              .life = taken->weight * taken->life,
                                              .step = taken->step,
                                              .bytes = taken->weight * (double)taken->size}});
    if (objects->cells.count > objects->most && objects->classes < PFA_SIZE_POWERS) {
        coarsen(objects, query);
    }
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
    const pfa_routines_t *routines = context;
    if (is_freed(a) != is_freed(b)) {
        return is_freed(a) ? -1 : 1;
    }
    if (a->sum.chunks != b->sum.chunks) {
        return a->sum.chunks > b->sum.chunks ? -1 : 1;
    }
    int order = strcmp(routines->list[a->caller].name, routines->list[b->caller].name);
    order = order != 0 ? order : (a->low > b->low) - (a->low < b->low);
    order = order != 0 ? order : strcmp(routines->list[a->destroyer].name, routines->list[b->destroyer].name);
    order = order != 0 ? order : (a->lifetime > b->lifetime) - (a->lifetime < b->lifetime);
    order = order != 0 ? order : (a->caller > b->caller) - (a->caller < b->caller);
    return order != 0 ? order : (a->destroyer > b->destroyer) - (a->destroyer < b->destroyer);
}

/* Puts the cells of each object into one, with a list of them. */
static void join_cells(pfa_cells_t *cells, pfa_routines_t *routines, pfa_cells_t *joined)
{
    for (size_t i = 0; i < cells->count; i++) {
        pfa_cell_t *cell = &cells->list[i];
        pfa_cell_t *joint = pfa_cells_get(joined, pfa_routines_of_stack(routines, cell->from), cell->size, cell->to);
        pfa_cell_join(joint, cell);
        cell->next = joint->next;
        joint->next = (uint32_t)i;
    }
}

static pfa_object_t make_object(const pfa_cell_t *joint, double least)
{
    double lifetime = pfa_sum_lifetime(&joint->sum, least);
    return (pfa_object_t){.low = joint->low,
                          .high = joint->high,
                          .caller = joint->from,
                          .destroyer = joint->to,
                          .cells = joint->next,
                          .sum = joint->sum,
                          .lifetime = lifetime,
                          .ratio = joint->sum.chunks / lifetime};
}

void pfa_objects_finish(pfa_objects_t *objects, pfa_routines_t *routines, double least)
{
    pfa_cells_t joined = {.list = NULL};
    objects->least = least;
    free(objects->cells.slots);
    objects->cells.slots = NULL;
    objects->cells.slot_count = 0;
    join_cells(&objects->cells, routines, &joined);
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
    qsort_r(objects->list, objects->count, sizeof *objects->list, compare_objects, routines);
}

void pfa_objects_free(pfa_objects_t *objects)
{
    pfa_cells_free(&objects->cells);
    free(objects->list);
}
