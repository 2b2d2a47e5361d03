/* Numbers with units, as people write them: the same in expressions, options and limits.
 *
 *   bytes   B, K, M, G, T and KB, KiB, ...: each is 1024 of the one before, in any case
 *   time    ns, us (also with a Greek letter), ms, s, m or min, h
 *   count   K, M, G: thousands, millions and billions, in any case
 *   share   % */
#ifndef PFA_ANALYZE_BASE_UNITS_H
#define PFA_ANALYZE_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum pfa_units { PFA_UNITS_BYTES, PFA_UNITS_TIME, PFA_UNITS_COUNT, PFA_UNITS_SHARE } pfa_units_t;

/* What a unit of this name is worth: bytes, nanoseconds, pieces, parts of 1. False: there is none. */
bool pfa_units_find(pfa_units_t units, const char *name, size_t size, double *factor);
/* "5", "1.5K", "200ms": `plain` is the factor of a number without a unit. False: it is none of these, or not finite, or below 0. */
bool pfa_units_read(pfa_units_t units, const char *text, double plain, double *value);
/* A number without a unit. False: it is none, or not in that range. */
bool pfa_units_number(const char *text, double least, double most, double *value);

#endif
