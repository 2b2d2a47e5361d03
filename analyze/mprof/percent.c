/* Owns how mprof's tables print percentages and names.
 *
 * The paper gives its rules by example only. This is how its figures are read here:
 *
 *   - Whole percentages are cut, not rounded: 49.8 % of the bytes print as 49 and 50.2 % as 50 (Figure 5).
 *   - Breakdowns, and the (%) of the leak and bin tables, have two places: below 1 % they are blank, and 100 % prints as 99
 *     (Figures 2 to 5).
 *   - The (%) of the call graph has three places and is never blank: (0) for main, (100) for make_widget (Figure 5).
 *   - `% mem` and `self + desc` are rounded to one decimal: 50.2 and 49.8, and 100.0 (Figures 4 and 5). */
#include "analyze/mprof/mprof.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"

#include <math.h>
#include <stdio.h>

double pfa_mprof_percent_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* Sums of weights that were added up in another order differ in their last digits: that must not make 99 of 100. */
static double whole_percent(double part, double whole)
{
    return floor(pfa_mprof_percent_of(part, whole) + 1e-9);
}

const char *pfa_mprof_percent_short(char text[PFA_PERCENT_TEXT], double part, double whole)
{
    double percent = whole_percent(part, whole);
    if (percent < 1) {
        snprintf(text, PFA_PERCENT_TEXT, "%4s", "");
    } else {
        snprintf(text, PFA_PERCENT_TEXT, "(%2.0f)", percent < 99 ? percent : 99);
    }
    return text;
}

const char *pfa_mprof_percent_long(char text[PFA_PERCENT_TEXT], double part, double whole)
{
    double percent = whole_percent(part, whole);
    snprintf(text, PFA_PERCENT_TEXT, "(%.0f)", percent < 100 ? percent : 100);
    return text;
}

const char *pfa_mprof_percent_breakdown(char text[PFA_BREAKDOWN_TEXT], const pfa_sum_t *sum, double whole)
{
    for (size_t i = 0; i < PFA_SIZE_CLASSES; i++) {
        double percent = whole_percent(sum->classes[i], whole);
        char *at = text + 3 * i;
        if (percent < 1) {
            snprintf(at, 4, "%2s ", "");
        } else {
            snprintf(at, 4, "%2.0f ", percent < 99 ? percent : 99);
        }
    }
    text[3 * PFA_SIZE_CLASSES - 1] = '\0';
    return text;
}

const char *pfa_mprof_within_none(const pfa_mprof_t *mprof)
{
    return mprof->query->sampled ? "      " : "";
}

const char *pfa_mprof_within_head(const pfa_mprof_t *mprof)
{
    return mprof->query->sampled ? "    ±%" : "";
}

const char *pfa_mprof_within(const pfa_mprof_t *mprof, char text[PFA_PERCENT_TEXT], const pfa_sum_t *sum)
{
    if (!mprof->query->sampled || !(sum->bytes > 0)) {
        return pfa_mprof_within_none(mprof);
    }
    double percent = 100 * pfa_half_width(sum->bytes_variance) / sum->bytes;
    snprintf(text, PFA_PERCENT_TEXT, percent < 9.95 ? " %5.1f" : " %5.0f", percent);
    return text;
}

void pfa_function_text(FILE *to, const pfa_functions_t *functions, uint32_t function)
{
    const pfa_function_t *known = &functions->list[function];
    pfa_place_function(to, known->name);
    if (known->ambiguous) {
        fprintf(to, " (%s)", known->module[0] != '\0' ? known->module : "no module");
    }
}
