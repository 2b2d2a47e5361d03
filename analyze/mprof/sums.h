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
} pfa_sum_t;

static inline unsigned pfa_sum_class(double size)
{
    return size <= 32 ? 0 : size <= 256 ? 1 : size <= 2048 ? 2 : 3;
}

/* Adds so many chunks that are all of one size. */
static inline void pfa_sum_add(pfa_sum_t *sum, double chunks, double size)
{
    sum->chunks += chunks;
    sum->bytes += chunks * size;
    sum->classes[pfa_sum_class(size)] += chunks * size;
}

static inline void pfa_sum_join(pfa_sum_t *sum, const pfa_sum_t *more)
{
    sum->chunks += more->chunks;
    sum->bytes += more->bytes;
    for (size_t i = 0; i < PFA_SIZE_CLASSES; i++) {
        sum->classes[i] += more->classes[i];
    }
}

#endif
