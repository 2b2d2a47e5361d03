/* Owns where the frames of a flame graph lie, and which of them are drawn: a file of a few megabytes at most, whatever the
 * tree is like. */
#include "analyze/draw/flame_tree.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Narrower ones are no dot on any screen; a picture of more levels is not read by anybody. */
enum { FRAMES_MOST = 20000, LEVELS_MOST = 256 };
static const double narrowest = 0.1;

/* Levels above the last one with a frame of this width, or with this share of all in frames that are narrower, are a few hairs
 * in a picture that is empty otherwise. */
static const double level_widest = 5;
static const double level_share = 0.05;

typedef struct rank {
    const char *name;
    double total;
    uint32_t group; /* the parent, or the level */
    uint32_t node;
    bool folded;
} rank_t;

static int compare_doubles(double left, double right)
{
    return left > right ? -1 : left < right;
}

static int compare_names(const rank_t *left, const rank_t *right)
{
    int order = strverscmp(left->name, right->name); /* 8 comes before 16 */
    return order != 0 ? order : (int)left->folded - (int)right->folded;
}

static int compare_siblings(const void *a, const void *b, void *to)
{
    const pfa_flame_t *flame = to;
    const rank_t *left = a;
    const rank_t *right = b;
    if (left->group != right->group) {
        return left->group < right->group ? -1 : 1;
    }
    int order = flame->by_name ? 0 : compare_doubles(left->total, right->total);
    return order != 0 ? order : compare_names(left, right);
}

/* The largest first, and of equal ones those that others stand on. */
static int compare_sizes(const void *a, const void *b)
{
    const rank_t *left = a;
    const rank_t *right = b;
    int order = compare_doubles(left->total, right->total);
    if (order != 0) {
        return order;
    }
    if (left->group != right->group) {
        return left->group < right->group ? -1 : 1;
    }
    return left->node < right->node ? -1 : left->node > right->node;
}

static void sum_up(const pfa_flame_t *flame, pfa_flame_layout_t *layout)
{
    for (size_t i = 0; i < flame->count; i++) {
        layout->totals[i] = flame->nodes[i].self;
        layout->variances[i] = flame->nodes[i].variance;
        layout->levels[i] = i == PFA_FLAME_ROOT ? 0 : layout->levels[flame->nodes[i].parent] + 1;
    }
    for (size_t i = flame->count; i-- > 1;) {
        layout->totals[flame->nodes[i].parent] += layout->totals[i];
        layout->variances[flame->nodes[i].parent] += layout->variances[i];
    }
}

static void put_in_order(const pfa_flame_t *flame, pfa_flame_layout_t *layout)
{
    rank_t *ranks = pfa_memory_get(flame->count, sizeof *ranks);
    double *used = pfa_memory_get(flame->count, sizeof *used);
    for (size_t i = 1; i < flame->count; i++) {
        const pfa_flame_node_t *node = &flame->nodes[i];
        ranks[i] = (rank_t){.group = node->parent,
                            .total = layout->totals[i],
                            .name = flame->texts[node->name],
                            .folded = node->most != 0,
                            .node = (uint32_t)i};
    }
    qsort_r(ranks + 1, flame->count - 1, sizeof *ranks, compare_siblings, (void *)flame);
    for (size_t i = 1; i < flame->count; i++) { /* groups by number of the parent: it has its place already */
        uint32_t node = ranks[i].node;
        uint32_t parent = ranks[i].group;
        layout->order[i] = node;
        layout->starts[node] = layout->starts[parent] + used[parent];
        used[parent] += layout->totals[node];
    }
    pfa_memory_free(used);
    pfa_memory_free(ranks);
}

/* The last level in which there is something to see. */
static uint32_t find_last_level(const pfa_flame_t *flame, double width, const pfa_flame_layout_t *layout)
{
    double widest[LEVELS_MOST] = {0};
    double sums[LEVELS_MOST] = {0};
    double total = layout->totals[PFA_FLAME_ROOT];
    uint32_t last = LEVELS_MOST - 1;
    for (size_t i = 0; i < flame->count; i++) {
        uint32_t level = layout->levels[i];
        if (level < LEVELS_MOST) {
            widest[level] = layout->totals[i] > widest[level] ? layout->totals[i] : widest[level];
            sums[level] += layout->totals[i];
        }
    }
    while (last > 0 && widest[last] < total * level_widest / width && sums[last] < total * level_share) {
        last--;
    }
    return last;
}

static void choose(const pfa_flame_t *flame, double width, pfa_flame_layout_t *layout)
{
    rank_t *ranks = pfa_memory_get(flame->count, sizeof *ranks);
    size_t count = 0;
    double least = layout->totals[PFA_FLAME_ROOT] * narrowest / width;
    uint32_t last = find_last_level(flame, width, layout);
    for (size_t i = 0; i < flame->count; i++) {
        if (layout->levels[i] >= LEVELS_MOST) {
            layout->deep++;
        } else if (layout->levels[i] > last ||
                   (i != PFA_FLAME_ROOT && !(layout->totals[i] > 0 && layout->totals[i] >= least))) {
            layout->narrow++;
        } else {
            ranks[count++] = (rank_t){.group = layout->levels[i], .total = layout->totals[i], .node = (uint32_t)i};
        }
    }
    qsort(ranks, count, sizeof *ranks, compare_sizes);
    layout->drawn = count < FRAMES_MOST ? count : FRAMES_MOST;
    layout->narrow += count - layout->drawn;
    for (size_t i = 0; i < layout->drawn; i++) {
        layout->is_drawn[ranks[i].node] = true;
        layout->deepest = ranks[i].group > layout->deepest ? ranks[i].group : layout->deepest;
    }
    pfa_memory_free(ranks);
}

void pfa_flame_lay(const pfa_flame_t *flame, double width, pfa_flame_layout_t *layout)
{
    *layout = (pfa_flame_layout_t){.totals = pfa_memory_get(flame->count, sizeof *layout->totals),
                                   .variances = pfa_memory_get(flame->count, sizeof *layout->variances),
                                   .starts = pfa_memory_get(flame->count, sizeof *layout->starts),
                                   .levels = pfa_memory_get(flame->count, sizeof *layout->levels),
                                   .order = pfa_memory_get(flame->count, sizeof *layout->order),
                                   .is_drawn = pfa_memory_get(flame->count, sizeof *layout->is_drawn)};
    sum_up(flame, layout);
    put_in_order(flame, layout);
    choose(flame, width, layout);
}

void pfa_flame_layout_free(pfa_flame_layout_t *layout)
{
    pfa_memory_free(layout->totals);
    pfa_memory_free(layout->variances);
    pfa_memory_free(layout->starts);
    pfa_memory_free(layout->levels);
    pfa_memory_free(layout->order);
    pfa_memory_free(layout->is_drawn);
}
