/* Owns hits: suspects by who makes and who frees them. A loop that asks for other sizes each time is one thing to mend, however
 * many objects it makes and however little each of them takes. */
#include "analyze/excess/excess.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const pfa_object_t *a, const pfa_object_t *b)
{
    return a->caller == b->caller && a->destroyer == b->destroyer;
}

static int compare_members(const void *left, const void *right, void *context)
{
    const pfa_object_t *objects = context;
    const pfa_object_t *a = &objects[*(const uint32_t *)left];
    const pfa_object_t *b = &objects[*(const uint32_t *)right];
    int order = (a->caller > b->caller) - (a->caller < b->caller);
    order = order != 0 ? order : (a->destroyer > b->destroyer) - (a->destroyer < b->destroyer);
    return order != 0 ? order : (a->low > b->low) - (a->low < b->low);
}

/* Some objects that were freed, those of one caller and destroyer together, by size. */
typedef struct members {
    uint32_t *list;
    size_t count;
} members_t;

static bool is_suspect(const pfa_excess_t *excess, size_t number)
{
    return excess->suspect[number];
}

static bool is_short(const pfa_excess_t *excess, size_t number)
{
    return pfa_excess_may_be(excess, &excess->objects.list[number]);
}

static members_t list_members(const pfa_excess_t *excess, bool (*is_member)(const pfa_excess_t *excess, size_t number))
{
    members_t members = {.list = pfa_memory_get(excess->objects.freed + 1, sizeof *members.list)};
    for (size_t i = 0; i < excess->objects.freed; i++) {
        if (is_member(excess, i)) {
            members.list[members.count++] = (uint32_t)i;
        }
    }
    qsort_r(members.list, members.count, sizeof *members.list, compare_members, excess->objects.list);
    return members;
}

pfa_hit_t pfa_excess_hit_of(const pfa_excess_t *excess, size_t number)
{
    const pfa_object_t *object = &excess->objects.list[number];
    return (pfa_hit_t){.caller = object->caller,
                       .destroyer = object->destroyer,
                       .count = 1,
                       .leader = (uint32_t)number,
                       .low = object->low,
                       .high = object->high,
                       .sum = object->sum,
                       .lifetime = object->lifetime,
                       .ratio = object->ratio};
}

/* The lifetime is that of all chunks as they were written: means of objects of which each lifetime was cut to 0 are too long. */
static void join(pfa_hit_t *hit, const pfa_excess_t *excess, uint32_t number)
{
    const pfa_object_t *object = &excess->objects.list[number];
    pfa_object_sum_add(&hit->sum, &object->sum);
    hit->lifetime = pfa_object_sum_lifetime(&hit->sum, excess->objects.least);
    hit->ratio = hit->sum.chunks / hit->lifetime;
    hit->leader = number < hit->leader ? number : hit->leader;
    hit->high = object->high; /* they come by size */
    hit->count++;
}

static pfa_hit_t make_hit(const pfa_excess_t *excess, const members_t *members, size_t first)
{
    const pfa_object_t *objects = excess->objects.list;
    const uint32_t *list = members->list;
    pfa_hit_t hit = pfa_excess_hit_of(excess, list[first]);
    hit.members = &list[first];
    for (size_t i = first + 1; i < members->count && is_same(&objects[list[first]], &objects[list[i]]); i++) {
        join(&hit, excess, list[i]);
    }
    return hit;
}

bool pfa_excess_busiest(const pfa_excess_t *excess, pfa_hit_t *busiest)
{
    members_t members = list_members(excess, is_short);
    *busiest = (pfa_hit_t){.routine = PFA_ROUTINE_UNKNOWN};
    for (size_t i = 0; i < members.count;) {
        pfa_hit_t hit = make_hit(excess, &members, i);
        i += hit.count;
        *busiest = hit.sum.chunks > busiest->sum.chunks ? hit : *busiest;
    }
    busiest->members = NULL;
    pfa_memory_free(members.list);
    return busiest->count != 0;
}

/* The function that allocates all chunks of a hit. */
static uint32_t routine_of(pfa_excess_t *excess, const pfa_hit_t *hit)
{
    const pfa_object_cell_t *cells = excess->objects.cells.list;
    uint32_t routine =
        pfa_routines_of_stack(&excess->callers.routines, cells[excess->objects.list[hit->members[0]].cells].key.from);
    for (size_t i = 0; i < hit->count; i++) {
        uint32_t cell = excess->objects.list[hit->members[i]].cells;
        for (; cell != PFA_CELL_NONE; cell = cells[cell].next) {
            if (pfa_routines_of_stack(&excess->callers.routines, cells[cell].key.from) != routine) {
                return PFA_ROUTINE_UNKNOWN;
            }
        }
    }
    return routine;
}

static double by_frequency(const pfa_hit_t *hit)
{
    return hit->sum.chunks;
}

static double by_lifetime(const pfa_hit_t *hit)
{
    return -hit->lifetime;
}

static double by_ratio(const pfa_hit_t *hit)
{
    return hit->ratio;
}

static double by_bytes(const pfa_hit_t *hit)
{
    return hit->sum.bytes;
}

typedef double value_of_t(const pfa_hit_t *hit);

static value_of_t *const values[] = {
#define PFA_EXCESS_ORDER(name) by_##name,
#include "analyze/excess/orders.def"
#undef PFA_EXCESS_ORDER
};

const char *const pfa_excess_order_names[PFA_EXCESS_ORDERS] = {
#define PFA_EXCESS_ORDER(name) #name,
#include "analyze/excess/orders.def"
#undef PFA_EXCESS_ORDER
};
const char pfa_excess_orders[] = "frequency, lifetime, ratio or bytes";

pfa_excess_order_t pfa_excess_order_find(const char *name)
{
    pfa_excess_order_t order = 0;
    while (order < PFA_EXCESS_ORDERS && strcmp(pfa_excess_order_names[order], name) != 0) {
        order++;
    }
    return order;
}

static int compare_hits(const void *left, const void *right, void *context)
{
    const pfa_excess_options_t *options = context;
    const pfa_hit_t *a = left;
    const pfa_hit_t *b = right;
    double difference = values[options->order](b) - values[options->order](a);
    return difference != 0 ? (difference > 0) - (difference < 0) : (a->leader > b->leader) - (a->leader < b->leader);
}

void pfa_excess_list_hits(pfa_excess_t *excess, double least_ns)
{
    members_t members = list_members(excess, is_suspect);
    excess->members = members.list;
    excess->hits = pfa_memory_get(excess->suspect_count + 1, sizeof *excess->hits);
    for (size_t i = 0; i < excess->suspect_count;) {
        pfa_hit_t hit = make_hit(excess, &members, i);
        i += hit.count;
        if (pfa_excess_cost(excess, hit.sum.chunks) < least_ns) {
            continue;
        }
        hit.routine = routine_of(excess, &hit);
        excess->hits[excess->hit_count++] = hit;
        for (size_t j = 0; j < hit.count; j++) {
            excess->reported[hit.members[j]] = true;
        }
    }
    qsort_r(excess->hits, excess->hit_count, sizeof *excess->hits, compare_hits, (void *)(uintptr_t)excess->options);
}
