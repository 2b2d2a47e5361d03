/* Owns what can be asked of a report once all is collected: orders, the peak, what is known of accesses. */
#include "analyze/points/report.h"
#include "analyze/base/memory.h"
#include "analyze/names/place.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const pfa_order_names[PFA_ORDERS] = {
#define PFA_ORDER(name, option, title, value) option,
#include "analyze/points/orders.def"
#undef PFA_ORDER
};

const char *const pfa_order_titles[PFA_ORDERS] = {
#define PFA_ORDER(name, option, title, value) title,
#include "analyze/points/orders.def"
#undef PFA_ORDER
};

double pfa_point_value(const pfa_point_t *point, pfa_order_t order)
{
    switch (order) {
#define PFA_ORDER(name, option, title, value)                                                                          \
    case PFA_BY_##name:                                                                                                \
        return value;
#include "analyze/points/orders.def"
#undef PFA_ORDER
    default:
        return 0;
    }
}

typedef struct ordering {
    const pfa_report_t *report;
    pfa_order_t order;
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
    const pfa_point_t *left = &ordering->report->points[*(const uint32_t *)a];
    const pfa_point_t *right = &ordering->report->points[*(const uint32_t *)b];
    double difference = pfa_point_value(right, ordering->order) - pfa_point_value(left, ordering->order);
    if (difference != 0) {
        return difference > 0 ? 1 : -1;
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
    ordering_t ordering = {.report = report, .order = order};
    uint32_t *numbers = pfa_memory_get(report->point_count, sizeof *numbers);
    for (uint32_t i = 0; i < report->point_count; i++) {
        numbers[i] = i;
    }
    qsort_r(numbers, report->point_count, sizeof *numbers, compare_points, &ordering);
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
    return report->query->where != NULL ? "the peak of these chunks" : "the peak";
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
    if (source->sampled || report->query->where != NULL) {
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
