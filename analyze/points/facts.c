/* Owns what can be asked of a report once all is collected: orders, the peak, what is known of accesses. */
#include "analyze/points/report.h"
#include "analyze/base/memory.h"
#include "analyze/names/place.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const pfa_order_names[PFA_ORDERS] = {
#define PFA_ORDER(name, option, title, kind, value) option,
#include "analyze/points/orders.def"
#undef PFA_ORDER
};

static const struct {
    const char *title;
    pfa_order_kind_t kind;
} orders[PFA_ORDERS] = {
#define PFA_ORDER(name, option, title, kind, value) {title, PFA_ORDER_##kind},
#include "analyze/points/orders.def"
#undef PFA_ORDER
};

const char *pfa_report_order_title(const pfa_report_t *report, pfa_order_t order)
{
    return order < PFA_ORDERS ? orders[order].title : pfa_formula_name(report->formulas[order - PFA_ORDERS]);
}

pfa_order_kind_t pfa_report_order_kind(pfa_order_t order)
{
    return order < PFA_ORDERS ? orders[order].kind : PFA_ORDER_SCORE;
}

pfa_order_t pfa_report_order_find(const pfa_report_t *report, const char *name)
{
    unsigned order = 0;
    while (order < PFA_ORDERS && strcmp(pfa_order_names[order], name) != 0) {
        order++;
    }
    while (order >= PFA_ORDERS && order - PFA_ORDERS < report->formula_count &&
           strcmp(pfa_formula_name(report->formulas[order - PFA_ORDERS]), name) != 0) {
        order++;
    }
    return (pfa_order_t)order;
}

/* All that orders.def has, of one point. */
static void fill_values(const pfa_report_t *report, uint32_t number, double values[PFA_ORDERS])
{
    static const pfa_memoro_point_t unscored = {.scores = {NAN, NAN, NAN}};
    const pfa_point_t *point = &report->points[number];
    const pfa_access_total_t *accesses = pfa_report_access(report, number);
    const pfa_memoro_point_t *scored = number < report->memoro.point_count && report->memoro.points[number].rows > 0
                                           ? &report->memoro.points[number]
                                           : &unscored;
    double unknown = accesses->chunks > 0 ? 0 : (double)NAN;
#define PFA_ORDER(name, option, title, kind, value) values[PFA_BY_##name] = value;
#include "analyze/points/orders.def"
#undef PFA_ORDER
}

double pfa_report_value(const pfa_report_t *report, uint32_t number, pfa_order_t order)
{
    double values[PFA_ORDERS];
    fill_values(report, number, values);
    return order < PFA_ORDERS ? values[order] : pfa_formula_value(report->formulas[order - PFA_ORDERS], values);
}

bool pfa_report_is_told(const pfa_report_t *report, uint32_t number, pfa_order_t order)
{
    double value = pfa_report_value(report, number, order);
    return pfa_report_order_kind(order) == PFA_ORDER_AMOUNT ? value > 0 : !isnan(value);
}

typedef struct ordering {
    const pfa_report_t *report;
    const double *values; /* by point, the greatest first */
} ordering_t;

uint64_t pfa_report_point_hash(const pfa_report_t *report, uint32_t number)
{
    uint32_t stack = pfa_query_group_stack(report->query, number);
    return report->query->stacks.frames[stack].hash;
}

/* Equal ones by their stack, so that two runs print the same. */
static int compare_points(const void *a, const void *b, void *to)
{
    const ordering_t *ordering = to;
    double left = ordering->values[*(const uint32_t *)a];
    double right = ordering->values[*(const uint32_t *)b];
    if (left != right) {
        return left < right ? 1 : -1;
    }
    uint64_t one = pfa_report_point_hash(ordering->report, *(const uint32_t *)a);
    uint64_t other = pfa_report_point_hash(ordering->report, *(const uint32_t *)b);
    if (one != other) {
        return one < other ? -1 : 1;
    }
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

uint32_t *pfa_report_order(const pfa_report_t *report, pfa_order_t order)
{
    double *values = pfa_memory_get(report->point_count, sizeof *values);
    uint32_t *numbers = pfa_memory_get(report->point_count, sizeof *numbers);
    ordering_t ordering = {.report = report, .values = values};
    for (uint32_t i = 0; i < report->point_count; i++) {
        double value = pfa_report_value(report, i, order);
        values[i] = isnan(value) ? -INFINITY : pfa_report_order_kind(order) == PFA_ORDER_SCORE ? -value : value;
        numbers[i] = i;
    }
    qsort_r(numbers, report->point_count, sizeof *numbers, compare_points, &ordering);
    pfa_memory_free(values);
    return numbers;
}

bool pfa_report_is_running(const pfa_report_t *report)
{
    for (size_t i = 0; i < report->query->source_count; i++) {
        if (report->query->sources[i].running) {
            return true;
        }
    }
    return false;
}

void pfa_report_place(FILE *to, pfa_report_t *report, uint32_t number)
{
    pfa_place_function(to, pfa_query_group_name(report->query, number));
}

const pfa_access_total_t *pfa_report_access(const pfa_report_t *report, uint32_t number)
{
    static const pfa_access_total_t none;
    return number < report->access_room ? &report->accesses[number] : &none;
}

const pfa_map_t *pfa_report_map(const pfa_report_t *report, uint32_t number)
{
    return number < report->map_room && report->maps[number].words != 0 ? &report->maps[number] : NULL;
}

uint32_t pfa_report_map_words(const pfa_report_t *report, uint32_t number)
{
    const pfa_map_t *map = pfa_report_map(report, number);
    uint64_t largest = (report->points[number].largest + 7) / 8;
    if (map == NULL) {
        return 0;
    }
    return largest != 0 && largest < map->words ? (uint32_t)largest : map->words;
}

const char *pfa_report_peak_words(const pfa_report_t *report)
{
    return pfa_query_is_filtered(report->query) ? "the peak of these chunks" : "the peak";
}

pfa_point_t pfa_report_sum(const pfa_report_t *report)
{
    pfa_point_t sum = {.frees = 0};
    for (size_t i = 0; i < report->point_count; i++) {
        const pfa_point_t *point = &report->points[i];
        sum.frees += point->frees;
        sum.bytes_freed += point->bytes_freed;
        sum.live_chunks += point->live_chunks;
        sum.live_bytes += point->live_bytes;
        sum.peak_chunks += point->peak_chunks;
        sum.peak_bytes += point->peak_bytes;
        sum.chunks_variance += point->chunks_variance;
        sum.bytes_variance += point->bytes_variance;
        sum.live_variance += point->live_variance;
        sum.peak_variance += point->peak_variance;
        sum.live_chunks_variance += point->live_chunks_variance;
        sum.peak_chunks_variance += point->peak_chunks_variance;
        sum.kept.value += point->kept.value;
        sum.kept.variance += point->kept.variance;
    }
    return sum;
}

pfa_access_total_t pfa_report_all_accesses(const pfa_report_t *report)
{
    pfa_access_total_t all = {.chunks = 0};
    for (size_t i = 0; i < report->point_count; i++) {
        pfa_access_sum(&all, pfa_report_access(report, (uint32_t)i));
    }
    return all;
}

double pfa_access_unknown(const pfa_access_total_t *total, double chunks)
{
    double rest = chunks - total->chunks - total->blind;
    return rest > 1e-9 * chunks ? rest : 0; /* sums of weights in another order differ by less */
}

bool pfa_report_file_spent(const pfa_report_t *report, size_t number, pfa_spent_t *spent)
{
    const pfa_source_t *source = &report->query->sources[number];
    if (source->sampled || pfa_query_is_filtered(report->query)) {
        return false;
    }
    return pfa_spent_add(spent, &source->counters.times, source->ns_per_tick,
                         (source->end_ns - source->start_ns) * 1e-9);
}

bool pfa_report_spent(const pfa_report_t *report, pfa_spent_t *spent)
{
    bool known = false;
    for (size_t i = 0; i < report->query->source_count; i++) {
        known = pfa_report_file_spent(report, i, spent) || known;
    }
    return known;
}
