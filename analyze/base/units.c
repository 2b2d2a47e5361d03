/* Owns units. See analyze/base/units.h. */
#include "analyze/base/units.h"
#include "analyze/base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KIB 1024.0
static const pfa_multiple_t none[] = {{NULL, 0, 1}};
static const pfa_multiple_t bytes[] = {{"B", 1, 1},
                                       {"K", KIB, 1},
                                       {"KB", KIB, 1},
                                       {"KiB", KIB, 1},
                                       {"M", KIB *KIB, 1},
                                       {"MB", KIB *KIB, 1},
                                       {"MiB", KIB *KIB, 1},
                                       {"G", KIB *KIB *KIB, 1},
                                       {"GB", KIB *KIB *KIB, 1},
                                       {"GiB", KIB *KIB *KIB, 1},
                                       {"T", KIB *KIB *KIB *KIB, 1},
                                       {"TB", KIB *KIB *KIB *KIB, 1},
                                       {"TiB", KIB *KIB *KIB *KIB, 1},
                                       {NULL, 0, 1}};
static const pfa_multiple_t times[] = {{"ns", 1, 1},     {"us", 1e3, 1}, {"\u00b5s", 1e3, 1}, {"\u03bcs", 1e3, 1},
                                       {"ms", 1e6, 1},   {"s", 1e9, 1},  {"m", 60e9, 1},      {"min", 60e9, 1},
                                       {"h", 3600e9, 1}, {NULL, 0, 1}};
static const pfa_multiple_t counts[] = {{"K", 1e3, 1}, {"M", 1e6, 1}, {"G", 1e9, 1}, {NULL, 0, 1}};
static const pfa_multiple_t shares[] = {{"%", 1, 100}, {NULL, 0, 1}};

static const struct {
    const pfa_multiple_t *list;
    bool any_case;
} tables[] = {[PFA_UNITS_NONE] = {none, false},
              [PFA_UNITS_BYTES] = {bytes, true},
              [PFA_UNITS_TIME] = {times, false},
              [PFA_UNITS_COUNT] = {counts, true},
              [PFA_UNITS_SHARE] = {shares, false}};

static size_t skip_digits(const char *text, size_t size, size_t at)
{
    while (at < size && isdigit((unsigned char)text[at])) {
        at++;
    }
    return at;
}

/* What follows the whole digits, of which there may be none. A point needs digits on one side. */
static size_t skip_fraction(const char *text, size_t size, size_t at)
{
    size_t whole = at;
    if (at == size || text[at] != '.') {
        return at;
    }
    at = skip_digits(text, size, at + 1);
    bool range = at < size && text[at] == '.';
    return at > whole + 1 || (whole != 0 && !range) ? at : whole;
}

static size_t skip_exponent(const char *text, size_t size, size_t at)
{
    size_t digits = at + 1;
    if (at == size || (text[at] != 'e' && text[at] != 'E')) {
        return at;
    }
    digits += digits < size && (text[digits] == '+' || text[digits] == '-');
    size_t end = skip_digits(text, size, digits);
    return end > digits ? end : at;
}

size_t pfa_units_digits(const char *text, size_t size, double *number)
{
    size_t end = skip_fraction(text, size, skip_digits(text, size, 0));
    if (end != 0) {
        end = skip_exponent(text, size, end);
        char *digits = pfa_memory_copy(text, end);
        *number = strtod(digits, NULL);
        pfa_memory_free(digits);
    }
    return end;
}

const pfa_multiple_t *pfa_units_find(pfa_units_t units, const char *name, size_t size)
{
    for (const pfa_multiple_t *unit = tables[units].list; unit->name != NULL; unit++) {
        bool same =
            tables[units].any_case ? strncasecmp(unit->name, name, size) == 0 : strncmp(unit->name, name, size) == 0;
        if (strlen(unit->name) == size && same) {
            return unit;
        }
    }
    return NULL;
}

double pfa_units_value(const pfa_multiple_t *unit, double number)
{
    return unit != NULL ? number * unit->factor / unit->divisor : number;
}

bool pfa_units_read(pfa_units_t units, const char *text, const char *plain, double least, double most, double *value)
{
    double number;
    size_t length = pfa_units_digits(text, strlen(text), &number);
    const char *name = text[length] != '\0' ? text + length : plain;
    const pfa_multiple_t *unit = name != NULL ? pfa_units_find(units, name, strlen(name)) : NULL;
    if (length == 0 || (name != NULL && unit == NULL)) {
        return false;
    }
    number = pfa_units_value(unit, number);
    bool right = isfinite(number) && number >= least && number <= most;
    *value = right ? number : *value;
    return right;
}

bool pfa_units_whole(pfa_units_t units, const char *text, double least, double most, double *value)
{
    double number;
    bool right = pfa_units_read(units, text, NULL, least, most, &number) && floor(number) == number;
    *value = right ? number : *value;
    return right;
}

bool pfa_units_number(const char *text, double least, double most, double *value)
{
    return pfa_units_read(PFA_UNITS_NONE, text, NULL, least, most, value);
}
