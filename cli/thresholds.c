/* Owns the thresholds of scores and inferences on the command line. See analyze/points/thresholds.def. */
#include "cli/thresholds.h"
#include "analyze/base/units.h"
#include "cli/request.h"
#include "cli/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct threshold {
    const char *option;
    double standard;
    double least;
    double most;
    const char *meaning;
} threshold_t;

static const threshold_t table[] = {
#define PFA_THRESHOLD(name, option, standard, least, most, meaning) {option, standard, least, most, meaning},
#include "analyze/points/thresholds.def"
#undef PFA_THRESHOLD
};
enum { COUNT = sizeof table / sizeof table[0] };

enum {
#define PFA_THRESHOLD(name, option, standard, least, most, meaning) AT_##name,
#include "analyze/points/thresholds.def"
#undef PFA_THRESHOLD
};

const struct option pfa_threshold_options[COUNT + 1] = {
#define PFA_THRESHOLD(name, option, standard, least, most, meaning)                                                    \
    {option, required_argument, NULL, PFA_THRESHOLD_FIRST + AT_##name},
#include "analyze/points/thresholds.def"
#undef PFA_THRESHOLD
    {NULL, 0, NULL, 0}};

static double *field_of(pfa_thresholds_t *thresholds, int number)
{
    switch (number) {
#define PFA_THRESHOLD(name, option, standard, least, most, meaning)                                                    \
    case AT_##name:                                                                                                    \
        return &thresholds->name;
#include "analyze/points/thresholds.def"
#undef PFA_THRESHOLD
    default:
        return NULL;
    }
}

/* All others are counts. */
static bool is_share(const threshold_t *threshold)
{
    return threshold->most <= 1;
}

bool pfa_thresholds_take(pfa_thresholds_t *thresholds, const char *command, int option, const char *value)
{
    int number = option - PFA_THRESHOLD_FIRST;
    double *field = field_of(thresholds, number);
    if (field == NULL) {
        return false;
    }
    const threshold_t *threshold = &table[number];
    pfa_units_t units = is_share(threshold) ? PFA_UNITS_SHARE : PFA_UNITS_COUNT;
    if (pfa_units_read(units, value, NULL, threshold->least, threshold->most, field)) {
        return true;
    }
    pfa_tool_say(command, "--%s takes a number from %g to %g%s, not '%s'", threshold->option, threshold->least,
                 threshold->most, is_share(threshold) ? ", or a percentage" : ", such as 5000 or 5K", value);
    return false;
}

void pfa_thresholds_usage(FILE *to)
{
    for (size_t i = 0; i < COUNT; i++) {
        fprintf(to, "  --%-17s %s (%.10g)\n", table[i].option, table[i].meaning, table[i].standard);
    }
}
