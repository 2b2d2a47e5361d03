/* Owns the detection by outliers: objects whose ratio of frequency and lifetime is above the third quartile by more than mu
 * times the distance of the quartiles.
 *
 * The paper takes lifetimes in milliseconds and proposes the value of that distance as mu. A value that has a unit makes the
 * answer depend on it: the distance was 1.7 per ms there, and is millions per ms where chunks live for microseconds, so that
 * nothing would ever be an outlier. So lifetimes are told, unless asked otherwise, in the unit in which the distance is a
 * number from 1 to below 10, as it was in the paper. */
#include "analyze/excess/excess.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const pfa_time_unit_t pfa_time_units[] = {{"ns", 1},      {"10ns", 1e1},  {"100ns", 1e2}, {"us", 1e3},    {"10us", 1e4},
                                          {"100us", 1e5}, {"ms", 1e6},    {"10ms", 1e7},  {"100ms", 1e8}, {"s", 1e9},
                                          {"10s", 1e10},  {"100s", 1e11}, {NULL, 0}};

enum { MILLISECONDS = 6 };

const pfa_time_unit_t *pfa_time_unit_find(const char *name)
{
    for (const pfa_time_unit_t *unit = pfa_time_units; unit->name != NULL; unit++) {
        if (strcmp(unit->name, name) == 0) {
            return unit;
        }
    }
    return NULL;
}

/* From a distance by nanoseconds. The smallest unit in which it is at least 1; the paper's if there is no distance. */
static const pfa_time_unit_t *choose_unit(double distance)
{
    if (distance <= 0) {
        return &pfa_time_units[MILLISECONDS];
    }
    const pfa_time_unit_t *unit = pfa_time_units;
    while (unit[1].name != NULL && distance * unit->ns < 1) {
        unit++;
    }
    return unit;
}

static pfa_quartiles_t quartiles_by_ns(const pfa_objects_t *objects)
{
    double *ratios = pfa_memory_get(objects->freed, sizeof *ratios);
    for (size_t i = 0; i < objects->freed; i++) {
        ratios[i] = objects->list[i].ratio;
    }
    pfa_quartiles_t quartiles = pfa_quartiles_of(ratios, objects->freed);
    free(ratios);
    return quartiles;
}

void pfa_excess_outliers(pfa_excess_t *excess)
{
    const pfa_objects_t *objects = &excess->objects;
    pfa_quartiles_t by_ns = quartiles_by_ns(objects);
    excess->unit = excess->options->unit != NULL ? excess->options->unit : choose_unit(by_ns.range);
    double factor = excess->unit->ns;
    excess->quartiles =
        (pfa_quartiles_t){.first = by_ns.first * factor, .third = by_ns.third * factor, .range = by_ns.range * factor};
    excess->mu = excess->options->mu >= 0 ? excess->options->mu : excess->quartiles.range;
    excess->threshold = excess->quartiles.third + excess->mu * excess->quartiles.range;
    for (size_t i = 0; i < objects->freed; i++) {
        excess->suspect[i] =
            objects->list[i].ratio * factor > excess->threshold && pfa_excess_may_be(excess, &objects->list[i]);
    }
}
