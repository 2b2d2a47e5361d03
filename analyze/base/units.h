/* Numbers with units, as people write them: the same in expressions, options, limits and formulas.
 *
 *   bytes   B, K, M, G, T and KB, KiB, ...: each is 1024 of the one before, in any case
 *   time    ns, us (also with a Greek letter), ms, s, m or min, h
 *   count   K, M, G: thousands, millions and billions, in any case
 *   share   %
 *
 * A number is digits, with a fraction and an exponent as in 1.5e3. It has no sign, and is neither hexadecimal nor a word such as nan.
 * The point is that of the C locale, which is to be the thread's: the public interface sees to that, the tool has no other. */
#ifndef PFA_ANALYZE_BASE_UNITS_H
#define PFA_ANALYZE_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum pfa_units {
    PFA_UNITS_NONE,
    PFA_UNITS_BYTES,
    PFA_UNITS_TIME,
    PFA_UNITS_COUNT,
    PFA_UNITS_SHARE
} pfa_units_t;

/* In bytes, nanoseconds, pieces, parts of 1. A percent is a division, so that 7% is 0.07, which 7 times 0.01 is not. */
typedef struct pfa_multiple {
    const char *name;
    double factor;
    double divisor;
} pfa_multiple_t;

/* The length of the number that a text begins with; 0: it begins with none. One that is too large is INFINITY. "4..8" begins with 4. */
size_t pfa_units_digits(const char *text, size_t size, double *number);
/* The unit of this name. NULL: there is none. */
const pfa_multiple_t *pfa_units_find(pfa_units_t units, const char *name, size_t size);
/* So many of a unit; NULL is none. */
double pfa_units_value(const pfa_multiple_t *unit, double number);
/* "5", "1.5K", "200ms", the unit right behind the number. `plain` is the unit of a number that has none; NULL: it is what it says.
 * False, and the value is left alone: it is none of these, or not in that range. */
bool pfa_units_read(pfa_units_t units, const char *text, const char *plain, double least, double most, double *value);
/* Likewise, and whole: 1.5K are 1536 bytes. */
bool pfa_units_whole(pfa_units_t units, const char *text, double least, double most, double *value);
/* A number that has no unit. */
bool pfa_units_number(const char *text, double least, double most, double *value);

#endif
