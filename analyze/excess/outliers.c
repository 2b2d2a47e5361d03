/* Owns the detection by outliers: objects whose ratio of frequency and lifetime is above the third quartile by more than mu
 * times the distance of the quartiles.
 *
 * The paper takes lifetimes in milliseconds and proposes the value of that distance as mu. A value that has a unit makes the
 * answer depend on it: the distance was 1.7 per ms there, and is millions per ms where chunks live for microseconds, so that
 * nothing would ever be an outlier. So lifetimes are told, unless asked otherwise, in the unit in which the distance is a
 * number from 1 to below 10, as it was in the paper, whatever power of ten that takes. */
#include "analyze/excess/excess.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those that have names, by powers of ten. */
static const pfa_time_unit_t units[] = {{"ps", 1e-3},   {"10ps", 1e-2}, {"100ps", 1e-1}, {"ns", 1},
                                        {"10ns", 1e1},  {"100ns", 1e2}, {"us", 1e3},     {"10us", 1e4},
                                        {"100us", 1e5}, {"ms", 1e6},    {"10ms", 1e7},   {"100ms", 1e8},
                                        {"s", 1e9},     {"10s", 1e10},  {"100s", 1e11}};

enum { UNITS = sizeof units / sizeof units[0], NANOSECONDS = 3, MILLISECONDS = 9 };

const pfa_time_unit_t *pfa_time_unit_find(const char *name)
{
    for (size_t i = 0; i < UNITS; i++) {
        if (strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* From a distance by nanoseconds. That in which it is from 1 to below 10; the paper's if there is no distance. */
static pfa_time_unit_t choose_unit(double distance)
{
    if (distance <= 0) {
        return units[MILLISECONDS];
    }
    int power = (int)-floor(log10(distance));
    power += distance * pow(10, power) < 1; /* logarithms are rounded */
    power -= distance * pow(10, power) >= 10;
    int number = power + NANOSECONDS;
    if (number >= 0 && number < UNITS) {
        return units[number];
    }
    pfa_time_unit_t unit = {.ns = pow(10, power)};
    snprintf(unit.name, sizeof unit.name, "10^%d ns", power);
    return unit;
}

static pfa_quartiles_t quartiles_by_ns(const pfa_objects_t *objects)
{
    double *ratios = pfa_memory_get(objects->freed, sizeof *ratios);
    for (size_t i = 0; i < objects->freed; i++) {
        ratios[i] = objects->list[i].ratio;
    }
    pfa_quartiles_t quartiles = pfa_quartiles_of(ratios, objects->freed);
    pfa_memory_free(ratios);
    return quartiles;
}

void pfa_excess_outliers(pfa_excess_t *excess)
{
    const pfa_objects_t *objects = &excess->objects;
    pfa_quartiles_t by_ns = quartiles_by_ns(objects);
    excess->own_unit = choose_unit(by_ns.range);
    excess->unit = excess->options->unit != NULL ? excess->options->unit : &excess->own_unit;
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
