/* Owns the command line of `profalloc excess`. */
#include "cli/outfile.h"
#include "analyze/base/memory.h"
#include "analyze/excess/excess.h"
#include "cli/commands.h"
#include "cli/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_LINES = 12, USUAL_OBJECTS = 1 << 20 };

static const char usage[] =
    "usage: profalloc excess [OPTION]... FILE...\n\n"
    "Finds chunks that are made so often and live so short that the program would be faster without: for each, who makes\n"
    "and who frees it, the calls that lead there, and what to do. docs/excess.md tells how.\n\n"
    "  --method METHOD    kmeans: the cluster of objects with the highest frequency and the lowest lifetime (default);\n"
    "                     iqr: outliers of the ratio frequency / lifetime\n"
    "  --clusters K       kmeans: the number of clusters; default 2, 3 or 4, whichever separates best\n"
    "  --scale SCALE      kmeans: linear (default) or log\n"
    "  --seed N           kmeans: another seed; the same one gives the same clusters\n"
    "  --mu X             iqr: above Q3 + X * IQR is an outlier; else X is the value of the IQR\n"
    "  --unit UNIT        iqr: of lifetimes: ps, 10ps, ... ms, s; else that in which the IQR is from 1 to 10\n"
    "  --min-share SHARE  nothing is excessive that takes less than this share of the run time, as 0.01 or 1%; 0: anything\n"
    "                     may be. Default 3%\n"
    "  --max-life SHARE   nor what lives longer than this share on average. Default 10%\n"
    "  --pair-cost NS     what an allocation and its free take; else what was measured in the run, or 50 if nothing was\n"
    "  --wrapper PATTERN  a function that allocates or frees for its callers, as malloc does: a glob on its name without\n"
    "                     arguments. May be repeated\n"
    "  --wrappers FILE    the same, one in each line\n" PFA_REQUEST_WHERE_USAGE PFA_REQUEST_BY_USAGE
    "                     instead of by the first function outside wrappers\n"
    "  --sort ORDER       of hits: by frequency (default of kmeans), lifetime (the shortest first), ratio (default of iqr) or\n"
    "                     bytes\n"
    "  --max-objects N    of more ways of stack, size and destroyer, sizes are put into classes; 1048576\n"
    "  --top N            show N hits; default 10 as text, all as JSON\n"
    "  --lines N          show N lines of each call tree; default 12\n"
    "  --diagram FILE     the frequency-lifetime diagram as SVG; with -, to standard output in place of the text\n"
    "  --chart FILE       the ratio chart as SVG, likewise\n"
    "  --plain            no charts in the text\n"
    "  --json             for programs\n"
    "  --objects          all objects in the JSON; only with --json\n"
    "  --fail             exit with 3 if there is excessive allocation\n\n"
    "Who frees is known as far as it was recorded: the caller of free, or more with --conf free_depth:N of profalloc run.\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 a file is no trace (the others are read), 3 see --fail.\n";

/* In the order of the table below. */
enum {
    METHOD = 1,
    CLUSTERS,
    SCALE,
    SEED,
    MU,
    UNIT,
    MIN_SHARE,
    MAX_LIFE,
    PAIR_COST,
    WRAPPER,
    WRAPPERS,
    MAX_OBJECTS,
    LINES,
    DIAGRAM,
    CHART,
    PLAIN,
    OBJECTS,
    FAIL
};

static const struct option own_options[] = {{"method", required_argument, NULL, METHOD},
                                            {"clusters", required_argument, NULL, CLUSTERS},
                                            {"scale", required_argument, NULL, SCALE},
                                            {"seed", required_argument, NULL, SEED},
                                            {"mu", required_argument, NULL, MU},
                                            {"unit", required_argument, NULL, UNIT},
                                            {"min-share", required_argument, NULL, MIN_SHARE},
                                            {"max-life", required_argument, NULL, MAX_LIFE},
                                            {"pair-cost", required_argument, NULL, PAIR_COST},
                                            {"wrapper", required_argument, NULL, WRAPPER},
                                            {"wrappers", required_argument, NULL, WRAPPERS},
                                            {"max-objects", required_argument, NULL, MAX_OBJECTS},
                                            {"lines", required_argument, NULL, LINES},
                                            {"diagram", required_argument, NULL, DIAGRAM},
                                            {"chart", required_argument, NULL, CHART},
                                            {"plain", no_argument, NULL, PLAIN},
                                            {"objects", no_argument, NULL, OBJECTS},
                                            {"fail", no_argument, NULL, FAIL},
                                            {NULL, 0, NULL, 0}};

static bool refuse(const char *takes, const char *value)
{
    pfa_tool_say("excess", "%s, not '%s'", takes, value);
    return false;
}

/* A share of 1, or with % of 100. */
static bool read_share(const char *text, double *share)
{
    size_t length = strlen(text);
    char *number = pfa_memory_copy(text, length);
    bool percent = length != 0 && text[length - 1] == '%';
    if (percent) {
        number[length - 1] = '\0';
    }
    bool good = pfa_request_number(number, 0, percent ? 100 : 1, share);
    *share = percent ? *share / 100 : *share;
    free(number);
    return good;
}

static bool read_whole(const char *text, double least, double most, double *value)
{
    return pfa_request_number(text, least, most, value) && floor(*value) == *value;
}

/* One of two words. */
static bool read_choice(const char *text, const char *first, const char *second, bool *is_second)
{
    *is_second = strcmp(text, second) == 0;
    return *is_second || strcmp(text, first) == 0;
}

static bool take_whole(pfa_excess_options_t *options, int option, const char *value)
{
    double number;
    switch (option) {
    case CLUSTERS:
        if (!read_whole(value, 1, PFA_KMEANS_MOST, &number)) {
            return refuse("--clusters takes a number from 1 to 64", value);
        }
        options->clusters = (unsigned)number;
        return true;
    case SEED:
        if (!read_whole(value, 0, 1e15, &number)) {
            return refuse("--seed takes a whole number", value);
        }
        options->seed = (uint64_t)number;
        return true;
    case MAX_OBJECTS:
        if (!read_whole(value, 1, 1e9, &number)) {
            return refuse("--max-objects takes a number from 1 on", value);
        }
        options->most_objects = (size_t)number;
        return true;
    default:
        if (!read_whole(value, 1, 1e6, &number)) {
            return refuse("--lines takes a number from 1 on", value);
        }
        options->lines = (size_t)number;
        return true;
    }
}

static bool take_number(pfa_excess_options_t *options, int option, const char *value)
{
    switch (option) {
    case MU:
        return pfa_request_number(value, 0, 1e30, &options->mu) || refuse("--mu takes a number from 0 on", value);
    case MIN_SHARE:
        return read_share(value, &options->min_share) || refuse("--min-share takes a share such as 0.01 or 1%", value);
    case MAX_LIFE:
        return read_share(value, &options->max_life) || refuse("--max-life takes a share such as 0.1 or 10%", value);
    case PAIR_COST:
        return pfa_request_number(value, 1e-3, 1e9, &options->pair_ns) ||
               refuse("--pair-cost takes a number of nanoseconds", value);
    default:
        return take_whole(options, option, value);
    }
}

static bool take_word(pfa_excess_options_t *options, int option, const char *value)
{
    bool second;
    switch (option) {
    case METHOD:
        if (!read_choice(value, "kmeans", "iqr", &second)) {
            return refuse("--method takes kmeans or iqr", value);
        }
        options->method = second ? PFA_EXCESS_IQR : PFA_EXCESS_KMEANS;
        return true;
    case SCALE:
        if (!read_choice(value, "linear", "log", &second)) {
            return refuse("--scale takes linear or log", value);
        }
        options->scale = second ? PFA_SCALE_LOG : PFA_SCALE_LINEAR;
        return true;
    default:
        options->unit = pfa_time_unit_find(value);
        return options->unit != NULL ||
               refuse("--unit takes ps, ns, us, ms or s, or 10 or 100 of them as in 10us", value);
    }
}

static bool take_wrappers(pfa_wrappers_t *wrappers, const char *path)
{
    int error = pfa_wrappers_read(wrappers, path);
    if (error != 0) {
        pfa_tool_say("excess", "cannot read %s: %s", path, strerror(error));
    }
    return error == 0;
}

static bool take_option(void *to, int option, const char *value)
{
    pfa_excess_options_t *options = to;
    options->given |= 1u << option;
    switch (option) {
    case METHOD:
    case SCALE:
    case UNIT:
        return take_word(options, option, value);
    case WRAPPER:
        pfa_wrappers_add(&options->wrappers, value, strlen(value));
        return true;
    case WRAPPERS:
        return take_wrappers(&options->wrappers, value);
    case DIAGRAM:
        options->diagram = value;
        return pfa_outfile_check("excess", value);
    case CHART:
        options->chart = value;
        return pfa_outfile_check("excess", value);
    case PLAIN:
        return options->plain = true;
    case OBJECTS:
        return options->all_objects = true;
    case FAIL:
        return options->fail = true;
    default:
        return take_number(options, option, value);
    }
}

static bool take_order(pfa_excess_options_t *options, const char *name)
{
    if (name == NULL) {
        options->order = options->method == PFA_EXCESS_IQR ? PFA_EXCESS_BY_ratio : PFA_EXCESS_BY_frequency;
        return true;
    }
    options->order = pfa_excess_order_find(name);
    if (options->order == PFA_EXCESS_ORDERS) {
        pfa_tool_say("excess", "--sort takes %s, not '%s'", pfa_excess_orders, name);
        return false;
    }
    return true;
}

/* Two answers in one stream are none. */
static bool share_output(const pfa_excess_options_t *options, bool json)
{
    bool diagram = pfa_excess_is_output(options->diagram);
    bool chart = pfa_excess_is_output(options->chart);
    if (diagram + chart + json > 1) {
        pfa_tool_say("excess", "%s and %s would both write to standard output", json ? "--json" : "--diagram -",
                     chart ? "--chart -" : "--diagram -");
        return true;
    }
    return false;
}

/* Options of one method have no meaning to the other; nor that of the JSON to the text. */
static bool fit_together(const pfa_excess_options_t *options, bool json)
{
    static const int of_method[][4] = {[PFA_EXCESS_KMEANS] = {CLUSTERS, SCALE, SEED}, [PFA_EXCESS_IQR] = {MU, UNIT}};
    static const char *const methods[] = {[PFA_EXCESS_KMEANS] = "kmeans", [PFA_EXCESS_IQR] = "iqr"};
    pfa_excess_method_t other = options->method == PFA_EXCESS_IQR ? PFA_EXCESS_KMEANS : PFA_EXCESS_IQR;
    for (const int *option = of_method[other]; *option != 0; option++) {
        if (options->given & 1u << *option) {
            pfa_tool_say("excess", "--%s is of --method %s, and the method is %s", own_options[*option - 1].name,
                         methods[other], methods[options->method]);
            return false;
        }
    }
    if (options->all_objects && !json) {
        pfa_tool_say("excess", "--objects is of --json: the text has hits alone");
        return false;
    }
    return !share_output(options, json);
}

int pfa_excess_read(pfa_excess_options_t *options, pfa_request_t *request, int argc, char **argv)
{
    *request = (pfa_request_t){.command = "excess", .usage = usage};
    *options = (pfa_excess_options_t){
        .seed = 1, .mu = -1, .min_share = 0.03, .max_life = 0.1, .lines = USUAL_LINES, .most_objects = USUAL_OBJECTS};
    int status = pfa_request_read(request, argc, argv, own_options, take_option, options);
    options->top = request->top;
    bool good = status >= 0 || (fit_together(options, request->json) && take_order(options, request->sort));
    return good ? status : PFA_EXIT_USAGE;
}
