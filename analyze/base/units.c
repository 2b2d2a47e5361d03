/* Owns units. See analyze/base/units.h. */
#include "analyze/base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct unit {
    const char *name;
    double factor;
} unit_t;

#define KIB 1024.0
static const unit_t bytes[] = {{"B", 1},
                               {"K", KIB},
                               {"KB", KIB},
                               {"KiB", KIB},
                               {"M", KIB *KIB},
                               {"MB", KIB *KIB},
                               {"MiB", KIB *KIB},
                               {"G", KIB *KIB *KIB},
                               {"GB", KIB *KIB *KIB},
                               {"GiB", KIB *KIB *KIB},
                               {"T", KIB *KIB *KIB *KIB},
                               {"TB", KIB *KIB *KIB *KIB},
                               {"TiB", KIB *KIB *KIB *KIB},
                               {NULL, 0}};
static const unit_t times[] = {{"ns", 1},  {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3}, {"ms", 1e6},
                               {"s", 1e9}, {"m", 60e9}, {"min", 60e9},    {"h", 3600e9},    {NULL, 0}};
static const unit_t counts[] = {{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0}};
static const unit_t shares[] = {{"%", 0.01}, {NULL, 0}};

static const struct {
    const unit_t *list;
    bool any_case;
} tables[] = {[PFA_UNITS_BYTES] = {bytes, true},
              [PFA_UNITS_TIME] = {times, false},
              [PFA_UNITS_COUNT] = {counts, true},
              [PFA_UNITS_SHARE] = {shares, false}};

bool pfa_units_find(pfa_units_t units, const char *name, size_t size, double *factor)
{
    for (const unit_t *unit = tables[units].list; unit->name != NULL; unit++) {
        bool same =
            tables[units].any_case ? strncasecmp(unit->name, name, size) == 0 : strncmp(unit->name, name, size) == 0;
        if (strlen(unit->name) == size && same) {
            *factor = unit->factor;
            return true;
        }
    }
    return false;
}

bool pfa_units_read(pfa_units_t units, const char *text, double plain, double *value)
{
    char *end = NULL;
    double factor = plain;
    if (!isdigit((unsigned char)text[0]) && text[0] != '.') {
        return false; /* strtod takes spaces, signs and words, too */
    }
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        return false;
    }
    *value = strtod(text, &end);
    if (*end != '\0' && !pfa_units_find(units, end, strlen(end), &factor)) {
        return false;
    }
    *value *= factor;
    return end != text && isfinite(*value);
}

bool pfa_units_number(const char *text, double least, double most, double *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && isfinite(*value) && *value >= least && *value <= most;
}
