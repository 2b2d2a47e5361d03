/* Which chunks are recorded, and what each then stands for.
 *
 * Sample points lie on the line of all bytes a thread allocates, at exponentially distributed distances of mean `period`
 * (a Poisson process); a chunk is recorded if a point falls into it. So a chunk of s bytes is recorded with probability
 * p = 1 - exp(-s / period), and standing for 1/p chunks of its size makes every estimate unbiased. A record keeps the
 * class of the period it was sampled with, since the period can change while the process runs. */
#ifndef PFA_ALLOC_SAMPLER_H
#define PFA_ALLOC_SAMPLER_H

#include "base/atomic.h"
#include "base/tls.h"

#include <stdint.h>

#define PFA_SAMPLE_MAX ((uint64_t)1 << 40)

typedef enum pfa_mode { PFA_MODE_OFF, PFA_MODE_SAMPLED, PFA_MODE_FULL } pfa_mode_t;

typedef struct pfa_sampling {
    _Atomic uint32_t mode;         /* pfa_mode_t */
    _Atomic uint32_t weight_class; /* of chunks recorded from now on; 0 stands for itself alone */
    _Atomic uint32_t epoch;        /* counts the changes */
} pfa_sampling_t;

extern pfa_sampling_t pfa_sampling;

/* Sets the mode for chunks allocated from now on: period 0 is off, 1 full. Under PFA_LOCK_PROCESS. Returns 0, or ENOSPC
 * when more different periods were used than records can tell apart; the nearest earlier one is then taken. */
int pfa_sampler_set(uint64_t period);

/* The periods above 1 used so far, in order; their number is returned. */
unsigned pfa_sampler_periods(const _Atomic uint64_t **periods);

/* The period of a weight class; 1 for class 0. */
uint64_t pfa_sampler_period(unsigned weight_class);

/* The whole bytes before the next sample point. Advances the generator. */
uint64_t pfa_sampler_distance(uint64_t *random, uint64_t period);

/* How many chunks a recorded one stands for. */
double pfa_sampler_weight(unsigned weight_class, uint64_t size);

#endif
