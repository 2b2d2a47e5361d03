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
    to->first = from->first < to->first ? from->first : to->first;
    to->last = from->last > to->last ? from->last : to->last;
    to->end = from->end > to->end ? from->end : to->end;
    to->began = from->began < to->began ? from->began : to->began;
    to->over = from->over > to->over ? from->over : to->over;
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

/* Without a call, which fmax is on x86-64: a NaN is of no concern here. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

/* How long after the beginning of its step a chunk was born. Its life and the step of its death leave some of it open: the middle of
 * that. */
static double phase_of(const pfa_chunk_t *chunk, double step_ns)
{
    double steps = chunk->died - chunk->born;
    double least = larger(steps - chunk->life, 0);
    double rest = steps + step_ns - chunk->life;
    double most = rest < step_ns ? rest : step_ns;
    return (least + larger(most, least)) / 2;
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
    bursts->list = NULL;
    bursts->count = 0;
    bursts->room = 0;
}

/* Took it no longer than a step? */
static bool is_short(const pfa_burst_t *burst, double step_ns)
{
    return burst->end - burst->first < 1.5 * step_ns;
}

/* Mean lifetime of its chunks over that of the group, from the first birth to the last death: the paper's S_g. NaN: it has
 * several chunks and took no time that could be measured. */
static double score_of(const pfa_burst_t *burst, double step_ns)
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

static void add_share(pfa_burst_share_t *share, const pfa_burst_t *burst)
{
    share->chunks += burst->chunks;
    share->chunks_variance += burst->chunks_variance;
    share->bytes += burst->bytes;
}

static void close_one(pfa_burst_sums_t *sums, const pfa_burst_t *burst, const pfa_burst_terms_t *terms)
{
    double score = score_of(burst, terms->step_ns);
    double time = burst->end - burst->first;
    bool large = burst->chunks >= terms->chunks;
    sums->first = sums->groups == 0 ? burst->first : fmin(sums->first, burst->first);
    sums->last = sums->groups == 0 ? burst->last : fmax(sums->last, burst->last);
    sums->groups++;
    sums->scored += isnan(score) ? 0 : 1;
    sums->scores += isnan(score) ? 0 : score;
    sums->busy += fmin(burst->end, burst->last + terms->cap_ns) - burst->first;
    if (large && burst->rows > 1 && is_short(burst, terms->step_ns)) {
        sums->short_lives += burst->lives;
        sums->short_times += burst->chunks * time;
    }
    if (large && (isnan(score) || score <= terms->score)) {
        add_share(isnan(score) ? &sums->unscored : &sums->short_lived, burst);
    }
}

void pfa_bursts_close(pfa_bursts_t *bursts, const pfa_burst_terms_t *terms, pfa_burst_is_over_t *is_over,
                      const void *to)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < bursts->count; i++) {
        const pfa_burst_t *burst = &bursts->list[i];
        if (is_over == NULL || is_over(to, burst->first, burst->last)) {
            close_one(&bursts->closed, burst, terms);
        } else {
            bursts->list[left++] = *burst;
        }
    }
    bursts->count = bursts->left = left;
    bursts->recent = 0;
}

double pfa_bursts_score(const pfa_bursts_t *bursts)
{
    return bursts->closed.scored != 0 ? bursts->closed.scores / (double)bursts->closed.scored : (double)NAN;
}

pfa_burst_share_t pfa_bursts_short_lived(const pfa_bursts_t *bursts, const pfa_burst_terms_t *terms)
{
    const pfa_burst_sums_t *closed = &bursts->closed;
    pfa_burst_share_t share = closed->short_lived;
    double score = closed->short_times > 0 ? fmin(closed->short_lives / closed->short_times, 1) : (double)NAN;
    if (score <= terms->score) {
        share.chunks += closed->unscored.chunks;
        share.chunks_variance += closed->unscored.chunks_variance;
        share.bytes += closed->unscored.bytes;
    }
    return share;
}
