/* Owns groups of chunks by time. See analyze/points/bursts.h. */
#include "analyze/points/bursts.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first that ends at this time or later. */
static uint32_t find_at(const pfa_bursts_t *bursts, double time)
{
    uint32_t low = 0;
    uint32_t high = bursts->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (bursts->list[middle].last < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void widen(pfa_burst_t *to, const pfa_burst_t *from)
{
    to->first = fmin(to->first, from->first);
    to->last = fmax(to->last, from->last);
    to->end = fmax(to->end, from->end);
    to->began = fmin(to->began, from->began);
    to->over = fmax(to->over, from->over);
    to->lives += from->lives;
    to->chunks += from->chunks;
    to->chunks_variance += from->chunks_variance;
    to->bytes += from->bytes;
    to->rows += from->rows;
}

static void insert(pfa_bursts_t *bursts, uint32_t at, const pfa_burst_t *one)
{
    bursts->list = pfa_memory_grow(bursts->list, &bursts->room, (size_t)bursts->count + 1, sizeof *bursts->list);
    memmove(&bursts->list[at + 1], &bursts->list[at], (bursts->count - at) * sizeof *bursts->list);
    bursts->list[at] = *one;
    bursts->count++;
}

/* Whether the group has this one in its reach. */
static int reaches(const pfa_burst_t *burst, double born, double threshold)
{
    return born >= burst->first - threshold && born <= burst->last + threshold;
}

/* How long after the beginning of its step a chunk was born. Its life and the step of its death leave some of it open: the middle of
 * that. */
static double phase_of(const pfa_chunk_t *chunk, double step_ns)
{
    double steps = chunk->died - chunk->born;
    double least = fmax(steps - chunk->life, 0);
    double most = fmin(steps + step_ns - chunk->life, step_ns);
    return (least + fmax(most, least)) / 2;
}

void pfa_bursts_add(pfa_bursts_t *bursts, double threshold, double step_ns, const pfa_chunk_t *chunk, double weight,
                    double bytes)
{
    double born = chunk->born;
    double began = born + phase_of(chunk, step_ns);
    pfa_burst_t one = {.first = born,
                       .last = born,
                       .end = chunk->died,
                       .began = began,
                       .over = began + chunk->life,
                       .lives = weight * chunk->life,
                       .chunks = weight,
                       .chunks_variance = weight * (weight - 1),
                       .bytes = bytes,
                       .rows = 1};
    uint32_t at = bursts->recent;
    /* Most chunks are of the group of the chunk before, inside of it, where nothing can be joined. */
    if (at < bursts->count && born >= bursts->list[at].first && born <= bursts->list[at].last) {
        widen(&bursts->list[at], &one);
        return;
    }
    at = find_at(bursts, born - threshold);
    if (at == bursts->count || !reaches(&bursts->list[at], born, threshold)) {
        insert(bursts, at, &one);
    } else {
        widen(&bursts->list[at], &one);
        if (at + 1 < bursts->count && bursts->list[at + 1].first - bursts->list[at].last <= threshold) {
            widen(&bursts->list[at], &bursts->list[at + 1]);
            bursts->count--;
            memmove(&bursts->list[at + 1], &bursts->list[at + 2], (bursts->count - at - 1) * sizeof *bursts->list);
        }
    }
    bursts->recent = at;
}

void pfa_bursts_widen(pfa_bursts_t *bursts, double threshold)
{
    uint32_t kept = 0;
    for (uint32_t i = 1; i < bursts->count; i++) {
        if (bursts->list[i].first - bursts->list[kept].last <= threshold) {
            widen(&bursts->list[kept], &bursts->list[i]);
        } else {
            bursts->list[++kept] = bursts->list[i];
        }
    }
    bursts->recent = 0;
    if (bursts->count > kept + 1) {
        bursts->count = kept + 1;
        pfa_burst_t *list = pfa_memory_copy(bursts->list, bursts->count * sizeof *list);
        pfa_memory_free(bursts->list);
        bursts->room = bursts->count;
        bursts->list = list;
    }
}

void pfa_bursts_free(pfa_bursts_t *bursts)
{
    pfa_memory_free(bursts->list);
}

/* Took it no longer than a step? */
static bool is_short(const pfa_burst_t *burst, double step_ns)
{
    return burst->end - burst->first < 1.5 * step_ns;
}

double pfa_burst_score(const pfa_burst_t *burst, double step_ns)
{
    double life = burst->over - burst->began;
    if (burst->rows == 1) {
        return 1;
    }
    if (is_short(burst, step_ns)) { /* chunks may have come one after the other in what cannot be told */
        life = burst->end > burst->first ? fmax(life, burst->end - burst->first) : 0;
    }
    return life > 0 ? fmin(burst->lives / (burst->chunks * life), 1) : (double)NAN;
}

double pfa_bursts_short_score(const pfa_bursts_t *bursts, double least_chunks, double step_ns)
{
    double lives = 0;
    double times = 0;
    for (uint32_t i = 0; i < bursts->count; i++) {
        const pfa_burst_t *burst = &bursts->list[i];
        double time = burst->end - burst->first;
        if (burst->chunks >= least_chunks && burst->rows > 1 && is_short(burst, step_ns)) {
            lives += burst->lives;
            times += burst->chunks * time;
        }
    }
    return times > 0 ? fmin(lives / times, 1) : (double)NAN;
}

double pfa_bursts_score(const pfa_bursts_t *bursts, double step_ns)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < bursts->count; i++) {
        double score = pfa_burst_score(&bursts->list[i], step_ns);
        sum += isnan(score) ? 0 : score;
        count += isnan(score) ? 0 : 1;
    }
    return count != 0 ? sum / count : (double)NAN;
}
