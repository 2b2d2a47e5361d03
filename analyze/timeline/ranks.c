/* Owns the ranking of a timeline's groups. See analyze/timeline/ranks.h. */
#include "analyze/timeline/ranks.h"
#include "analyze/base/memory.h"
#include "analyze/timeline/buckets.h"

#include <stdlib.h>
#include <string.h>

/* 256 places for each of 32 768 groups. */
enum { WIDTH_MOST = 256, CHANGES_MOST = (64 << 20) / sizeof(double) };

struct pfa_ranks_total {
    double bytes;
    double chunks;
};

pfa_ranks_t pfa_ranks_begin(double whole_ns, size_t buckets)
{
    size_t width = buckets < WIDTH_MOST ? buckets : WIDTH_MOST;
    return (pfa_ranks_t){.whole_ns = whole_ns, .buckets = width, .width = width};
}

void pfa_ranks_free(pfa_ranks_t *ranks)
{
    pfa_memory_free(ranks->changes);
    pfa_memory_free(ranks->totals);
}

/* Rows get shorter, and lie closer: none is written over before it was read. */
static void halve(pfa_ranks_t *ranks)
{
    size_t width = (ranks->width + 1) / 2;
    for (size_t group = 0; group < ranks->count; group++) {
        const double *from = ranks->changes + group * ranks->width;
        double *to = ranks->changes + group * width;
        for (size_t i = 0; i < width; i++) {
            to[i] = from[2 * i] + (2 * i + 1 < ranks->width ? from[2 * i + 1] : 0);
        }
    }
    size_t end = ranks->count * width;
    if (end < ranks->room) {
        memset(ranks->changes + end, 0, (ranks->room - end) * sizeof *ranks->changes);
    }
    ranks->width = width;
    ranks->shift++;
}

static void make_room(pfa_ranks_t *ranks, size_t group)
{
    while (ranks->width > 1 && (group + 1) * ranks->width > CHANGES_MOST) {
        halve(ranks);
    }
    ranks->changes = pfa_memory_grow(ranks->changes, &ranks->room, (group + 1) * ranks->width, sizeof *ranks->changes);
    ranks->totals = pfa_memory_grow(ranks->totals, &ranks->total_room, group + 1, sizeof *ranks->totals);
    ranks->count = group + 1;
}

void pfa_ranks_add(pfa_ranks_t *ranks, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    double bytes = kind->weight * (double)kind->size;
    if (kind->group >= ranks->count) {
        make_room(ranks, kind->group);
    }
    double *row = ranks->changes + kind->group * ranks->width;
    size_t died = pfa_bucket_of_death(kind, chunk, ranks->whole_ns, ranks->buckets);
    ranks->totals[kind->group].bytes += bytes;
    ranks->totals[kind->group].chunks += kind->weight;
    row[pfa_bucket_at(chunk->born, ranks->whole_ns, ranks->buckets) >> ranks->shift] += bytes;
    if (died < ranks->buckets) {
        row[died >> ranks->shift] -= bytes;
    }
}

typedef struct rank {
    double value; /* what is asked for */
    double peak;
    double bytes;
    const char *name;
    uint32_t group;
} rank_t;

static rank_t rank_of(const pfa_ranks_t *ranks, size_t group, pfa_strand_sort_t sort)
{
    rank_t rank = {.bytes = ranks->totals[group].bytes, .group = (uint32_t)group};
    double live = 0;
    for (size_t i = 0; i < ranks->width; i++) {
        live += ranks->changes[group * ranks->width + i];
        rank.peak = live > rank.peak ? live : rank.peak;
    }
    rank.value = sort == PFA_STRANDS_BY_END ? live : sort == PFA_STRANDS_BY_TOTAL ? rank.bytes : rank.peak;
    return rank;
}

static int compare_falling(double left, double right)
{
    return left > right ? -1 : left < right;
}

static int compare_ranks(const void *a, const void *b)
{
    const rank_t *left = a;
    const rank_t *right = b;
    int result = compare_falling(left->value, right->value);
    result = result != 0 ? result : compare_falling(left->peak, right->peak);
    result = result != 0 ? result : compare_falling(left->bytes, right->bytes);
    return result != 0 ? result : left->group < right->group ? -1 : left->group > right->group;
}

/* 8 comes before 16. */
static int compare_names(const void *a, const void *b)
{
    const rank_t *left = a;
    const rank_t *right = b;
    int result = strverscmp(left->name, right->name);
    return result != 0 ? result : compare_ranks(a, b);
}

static void sort_by_name(rank_t *list, size_t count, pfa_query_t *query)
{
    for (size_t i = 0; i < count; i++) {
        list[i].name = pfa_query_group_name(query, list[i].group);
    }
    qsort(list, count, sizeof *list, compare_names);
}

uint32_t *pfa_ranks_order(const pfa_ranks_t *ranks, pfa_query_t *query, pfa_strand_sort_t sort, size_t top,
                          size_t *count)
{
    rank_t *list = pfa_memory_get(ranks->count, sizeof *list);
    uint32_t *groups = pfa_memory_get(ranks->count, sizeof *groups);
    *count = 0;
    for (size_t i = 0; i < ranks->count; i++) {
        if (ranks->totals[i].chunks > 0) {
            list[(*count)++] = rank_of(ranks, i, sort);
        }
    }
    qsort(list, *count, sizeof *list, compare_ranks);
    if (sort == PFA_STRANDS_BY_NAME) {
        sort_by_name(list, top < *count ? top : *count, query);
    }
    for (size_t i = 0; i < *count; i++) {
        groups[i] = list[i].group;
    }
    pfa_memory_free(list);
    return groups;
}
