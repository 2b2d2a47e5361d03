/* Time cut into buckets of equal length, up to a whole that is above 0. */
#ifndef PFA_ANALYZE_TIMELINE_BUCKETS_H
#define PFA_ANALYZE_TIMELINE_BUCKETS_H

#include "analyze/query/query.h"

/* When one of so many buckets of a whole ends. */
static inline double pfa_bucket_end(double whole, size_t count, size_t bucket)
{
    return bucket + 1 == count ? whole : whole * (double)(bucket + 1) / (double)count;
}

/* The first at whose end a time has come, the last if there is none. The division may be off by a rounding at the very end of
 * a bucket, so that this is looked at. */
static inline size_t pfa_bucket_at(double time, double whole, size_t count)
{
    double guess = time / whole * (double)count;
    size_t bucket = !(guess > 0) ? 0 : guess < (double)count ? (size_t)guess : count - 1;
    while (bucket > 0 && pfa_bucket_end(whole, count, bucket - 1) >= time) {
        bucket--;
    }
    while (bucket + 1 < count && pfa_bucket_end(whole, count, bucket) < time) {
        bucket++;
    }
    return bucket;
}

/* The first at whose end a chunk is gone: count if it never is. What lives to the end of its recording is there then. */
static inline size_t pfa_bucket_of_death(const pfa_kind_t *kind, const pfa_chunk_t *chunk, double whole, size_t count)
{
    size_t bucket = pfa_bucket_at(chunk->died, whole, count);
    return bucket + (kind->live && pfa_bucket_end(whole, count, bucket) <= chunk->died);
}

#endif
