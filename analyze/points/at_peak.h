/* What was alive at the peak, and how much of it need not have been: told chunk by chunk, in the second walk, once the time
 * of the peak is known. */
#ifndef PFA_ANALYZE_POINTS_AT_PEAK_H
#define PFA_ANALYZE_POINTS_AT_PEAK_H

#include "analyze/query/query.h"

/* Bytes that were alive at the peak for nothing. Each is of what is seen (analyze/names/sight.h); a chunk can be in several.
 *
 * Only bytes that likely took memory count. A chunk of more than PFA_MAPPED bytes is taken for a mapping of its own, of which the
 * kernel gives pages as they are touched: those that were not took none, and before the first access it had none at all. */
typedef enum pfa_spare {
    PFA_SPARE_USELESS,   /* of chunks that nobody ever read */
    PFA_SPARE_UNTOUCHED, /* of touched chunks, those before the first byte touched of each and behind its last */
    PFA_SPARE_AFTER,     /* of chunks whose last access was before the peak: they could have been freed */
    PFA_SPARE_BEFORE,    /* of chunks whose first access was after it: they need not have been allocated yet */
    PFA_SPARE_ABSENT,    /* that took no memory: not saved by any change */
    PFA_SPARES
} pfa_spare_t;
enum { PFA_MAPPED = 128 << 10, PFA_MAPPED_PAGE = 4096 };
extern const char *const pfa_spare_names[PFA_SPARES];

/* A sum, and its variance if it is an estimate. */
typedef struct pfa_estimate {
    double value;
    double variance;
} pfa_estimate_t;

/* Of a chunk whose accesses are known: its bytes that count as this, at the times at which they do. */
double pfa_spare_bytes(pfa_spare_t spare, const pfa_kind_t *kind, const pfa_chunk_t *chunk);

struct pfa_report;
/* Whether the peak lies in this stretch of a trace's time. */
bool pfa_at_peak_within(const struct pfa_report *report, uint32_t number, uint64_t from, uint64_t end);
/* One chunk; it counts if it was alive then. */
void pfa_at_peak_add(struct pfa_report *report, const pfa_kind_t *kind, const pfa_chunk_t *chunk);

#endif
