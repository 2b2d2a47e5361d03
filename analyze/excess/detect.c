/* Owns the verdict: which suspects of a method are worth a developer's time.
 *
 * Beyond the paper: some cluster is always the most frequent, and some ratio the largest, however little a program allocates.
 * So suspects are hits only if their calls together take min_share of the run time, and of these only such whose caller and
 * destroyer take a tenth of that, with all sizes. And what lives for more than max_life of a run is no short-lived object, whatever the others are:
 * most of its chunks are there at the same time, so that a pool or a free list would have nothing to hand out again, which is
 * the paper's own reason to ask for short lives. */
#include "analyze/excess/excess.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { TOGETHER = 10 }; /* times what one hit has to take */

double pfa_excess_cost(const pfa_excess_t *excess, double frequency)
{
    return frequency * excess->pair_ns;
}

/* When chunks of a hit were there in one trace, and their lives together. */
typedef struct presence {
    double first;
    double last;
    double life;
} presence_t;

static void add_cells(presence_t *presences, const pfa_objects_t *objects, uint32_t number)
{
    const pfa_object_cell_t *cells = objects->cells.list;
    for (; number != PFA_CELL_NONE; number = cells[number].next) {
        presence_t *presence = &presences[cells[number].key.source];
        presence->first = fmin(presence->first, cells[number].first);
        presence->last = fmax(presence->last, cells[number].last);
        presence->life += cells[number].sum.life;
    }
}

/* Little's law. What was not there yet, or no longer, does not count: a pool is asked while chunks come and go. */
double pfa_excess_alive(const pfa_excess_t *excess, const pfa_hit_t *hit)
{
    presence_t *presences = pfa_memory_get(excess->query->source_count, sizeof *presences);
    double alive = 0;
    for (size_t i = 0; i < excess->query->source_count; i++) {
        presences[i].first = INFINITY;
    }
    for (size_t i = 0; i < hit->count; i++) {
        add_cells(presences, &excess->objects, excess->objects.list[hit->members[i]].cells);
    }
    for (size_t i = 0; i < excess->query->source_count; i++) {
        double time = presences[i].last - presences[i].first;
        alive = time > 0 ? fmax(alive, presences[i].life / time) : alive;
    }
    pfa_memory_free(presences);
    return alive;
}

bool pfa_excess_may_be(const pfa_excess_t *excess, const pfa_object_t *object)
{
    return object->lifetime <= excess->options->max_life * object->sum.run / object->sum.chunks;
}

/* A single cluster has all objects: there is nothing to tell apart. */
size_t pfa_excess_needed(const pfa_excess_options_t *options)
{
    size_t clusters = options->method == PFA_EXCESS_KMEANS ? options->clusters : 0;
    return clusters == 1 || clusters > PFA_EXCESS_LEAST_OBJECTS ? clusters : PFA_EXCESS_LEAST_OBJECTS;
}

static void sum_suspects(pfa_excess_t *excess)
{
    for (size_t i = 0; i < excess->objects.count; i++) {
        if (excess->suspect[i]) {
            excess->suspect_count++;
            excess->suspect_ns += pfa_excess_cost(excess, excess->objects.list[i].sum.chunks);
        }
    }
}

void pfa_excess_detect(pfa_excess_t *excess)
{
    for (size_t k = 0; k <= PFA_KMEANS_MOST; k++) {
        excess->silhouettes[k] = NAN;
    }
    excess->suspect = pfa_memory_get(excess->objects.count + 1, sizeof *excess->suspect);
    excess->reported = pfa_memory_get(excess->objects.count + 1, sizeof *excess->reported);
    if (excess->objects.freed == 0) {
        excess->verdict = excess->objects.count == 0 ? PFA_EXCESS_NOTHING : PFA_EXCESS_NO_FREE;
        return;
    }
    if (excess->objects.freed < pfa_excess_needed(excess->options)) {
        excess->verdict = PFA_EXCESS_FEW;
        return;
    }
    bool by_clusters = excess->options->method == PFA_EXCESS_KMEANS;
    (by_clusters ? pfa_excess_cluster : pfa_excess_outliers)(excess);
    sum_suspects(excess);
    double wanted = excess->options->min_share * excess->run_ns;
    if (excess->suspect_count == 0) {
        excess->verdict = by_clusters ? PFA_EXCESS_NO_CLUSTER : PFA_EXCESS_NO_OUTLIER;
        return;
    }
    if (excess->suspect_ns >= wanted) {
        pfa_excess_list_hits(excess, wanted / TOGETHER);
    }
    excess->verdict = excess->hit_count != 0 ? PFA_EXCESS_FOUND : PFA_EXCESS_LITTLE;
}
