/* What mprof's tables are made of: sums of chunks, with the four categories of sizes that the paper breaks bytes down by.
 * Chunks and bytes are weighted, so they need not be whole in a sampled trace. */
#ifndef PFA_ANALYZE_MPROF_SUMS_H
#define PFA_ANALYZE_MPROF_SUMS_H

#include <stddef.h>
#include <stdint.h>

/* s, m, l, x: up to 32, 256 and 2048 bytes, and larger. */
enum { PFA_SIZE_CLASSES = 4 };
static const char pfa_size_letters[PFA_SIZE_CLASSES + 1] = "smlx";

typedef struct pfa_sum {
    double chunks;
    double bytes;
    double classes[PFA_SIZE_CLASSES]; /* of the bytes */
    /* Of estimates from samples; 0 of what is exact. */
    double chunks_variance;
    double bytes_variance;
} pfa_sum_t;

/* What rows of tables are put in order by. */
typedef enum pfa_sort {
#define PFA_MPROF_ORDER(id, name, meaning) PFA_SORT_##id,
#include "analyze/mprof/orders.def"
#undef PFA_MPROF_ORDER
    PFA_SORT_PAPER
} pfa_sort_t;

static inline unsigned pfa_sum_class(double size)
{
    return size <= 32 ? 0 : size <= 256 ? 1 : size <= 2048 ? 2 : 3;
}

/* Adds so many chunks that are all of one size, of which each stands for `weight`. Each was recorded with the probability 1 /
 * weight, independently of others: the estimate of a sum of `value` over all chunks has the variance
 * weight * (weight - 1) * value^2 for each that was recorded (Horvitz and Thompson). */
static inline void pfa_sum_add(pfa_sum_t *sum, double rows, double weight, double size)
{
    double chunks = rows * weight;
    double variance = chunks * (weight - 1);
    sum->chunks += chunks;
    sum->bytes += chunks * size;
    sum->classes[pfa_sum_class(size)] += chunks * size;
    sum->chunks_variance += variance;
    sum->bytes_variance += variance * size * size;
}

static inline void pfa_sum_join(pfa_sum_t *sum, const pfa_sum_t *more)
{
    sum->chunks += more->chunks;
    sum->bytes += more->bytes;
    for (size_t i = 0; i < PFA_SIZE_CLASSES; i++) {
        sum->classes[i] += more->classes[i];
    }
    sum->chunks_variance += more->chunks_variance;
    sum->bytes_variance += more->bytes_variance;
}

static inline int pfa_sum_falling(double left, double right)
{
    return left > right ? -1 : left < right;
}

/* The one with more bytes first, or with more chunks. */
static inline int pfa_sum_compare(const pfa_sum_t *left, const pfa_sum_t *right, pfa_sort_t sort)
{
    int bytes = pfa_sum_falling(left->bytes, right->bytes);
    int chunks = pfa_sum_falling(left->chunks, right->chunks);
    return sort == PFA_SORT_COUNT ? (chunks != 0 ? chunks : bytes) : (bytes != 0 ? bytes : chunks);
}

#endif
