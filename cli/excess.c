/* Owns `profalloc excess`: its command line. */
#include "analyze/draw/excess_draw.h"
#include "analyze/base/units.h"
#include "cli/commands.h"
#include "cli/outfile.h"
#include "cli/request.h"
#include "cli/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_EXCESSIVE = 3 };

/* What the command line says. */
typedef struct asked {
    pfa_excess_options_t options;
    uint32_t given;      /* by bits: those of one method are not of the other */
    bool plain;          /* no charts on the terminal */
    bool fail;           /* an exit status of its own if there are hits */
    const char *diagram; /* files for pictures; NULL: none */
    const char *chart;
} asked_t;

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
    "  --pair-cost TIME   the cost of an allocation and its free; default what was measured in the run, or 50ns if nothing was\n"
    "  --wrapper PATTERN  a function that allocates or frees for its callers, as malloc does: a glob on its name without\n"
    "                     arguments. May be repeated\n"
    "  --wrappers FILE    the same, one in each line\n" PFA_REQUEST_WHERE_USAGE PFA_REQUEST_BY_USAGE
    "                     instead of by the first function outside wrappers\n"
    "  --sort ORDER       of hits: by frequency (default of kmeans), lifetime (the shortest first), ratio (default of iqr) or\n"
    "                     bytes\n"
    "  --max-objects N    put sizes into classes beyond so many combinations of stack, size and freeing function, as 2M\n"
    "                     (millions); default 1048576\n"
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

static bool read_share(const char *text, double *share)
{
    return pfa_units_read(PFA_UNITS_SHARE, text, NULL, 0, 1, share);
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
        if (!pfa_units_whole(PFA_UNITS_NONE, value, 1, PFA_KMEANS_MOST, &number)) {
            return refuse("--clusters takes a number from 1 to 64", value);
        }
        options->clusters = (unsigned)number;
        return true;
    case SEED:
        if (!pfa_units_whole(PFA_UNITS_NONE, value, 0, 1e15, &number)) {
            return refuse("--seed takes a whole number", value);
        }
        options->seed = (uint64_t)number;
        return true;
    case MAX_OBJECTS:
        if (!pfa_units_whole(PFA_UNITS_COUNT, value, 1, 1e9, &number)) {
            return refuse("--max-objects takes a number from 1 on, such as 500000 or 2M", value);
        }
        options->most_objects = (size_t)number;
        return true;
    default:
        if (!pfa_units_whole(PFA_UNITS_NONE, value, 1, 1e6, &number)) {
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
        return pfa_units_number(value, 0, 1e30, &options->mu) || refuse("--mu takes a number from 0 on", value);
    case MIN_SHARE:
        return read_share(value, &options->min_share) || refuse("--min-share takes a share such as 0.01 or 1%", value);
    case MAX_LIFE:
        return read_share(value, &options->max_life) || refuse("--max-life takes a share such as 0.1 or 10%", value);
    case PAIR_COST:
        return pfa_units_read(PFA_UNITS_TIME, value, "ns", 1e-3, 1e9, &options->pair_ns) ||
               refuse("--pair-cost takes a time such as 50ns or 50 (nanoseconds)", value);
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
    asked_t *asked = to;
    pfa_excess_options_t *options = &asked->options;
    asked->given |= 1u << option;
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
        asked->diagram = value;
        return pfa_outfile_check("excess", value);
    case CHART:
        asked->chart = value;
        return pfa_outfile_check("excess", value);
    case PLAIN:
        return asked->plain = true;
    case OBJECTS:
        return options->all_objects = true;
    case FAIL:
        return asked->fail = true;
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

/* Whether a picture goes to standard output, where there is no place for anything else: "-". */
static bool is_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Two answers in one stream are none. */
static bool share_output(const asked_t *asked, bool json)
{
    bool diagram = is_output(asked->diagram);
    bool chart = is_output(asked->chart);
    if (diagram + chart + json > 1) {
        pfa_tool_say("excess", "%s and %s would both write to standard output", json ? "--json" : "--diagram -",
                     chart ? "--chart -" : "--diagram -");
        return true;
    }
    return false;
}

/* Options of one method have no meaning to the other; nor that of the JSON to the text. */
static bool fit_together(const asked_t *asked, bool json)
{
    const pfa_excess_options_t *options = &asked->options;
    static const int of_method[][4] = {[PFA_EXCESS_KMEANS] = {CLUSTERS, SCALE, SEED}, [PFA_EXCESS_IQR] = {MU, UNIT}};
    static const char *const methods[] = {[PFA_EXCESS_KMEANS] = "kmeans", [PFA_EXCESS_IQR] = "iqr"};
    pfa_excess_method_t other = options->method == PFA_EXCESS_IQR ? PFA_EXCESS_KMEANS : PFA_EXCESS_IQR;
    for (const int *option = of_method[other]; *option != 0; option++) {
        if (asked->given & 1u << *option) {
            pfa_tool_say("excess", "--%s is of --method %s, and the method is %s", own_options[*option - 1].name,
                         methods[other], methods[options->method]);
            return false;
        }
    }
    if (options->all_objects && !json) {
        pfa_tool_say("excess", "--objects is of --json: the text has hits alone");
        return false;
    }
    return !share_output(asked, json);
}

static int read_options(asked_t *asked, pfa_request_t *request, int argc, char **argv)
{
    int status = pfa_request_read(request, argc, argv, own_options, take_option, asked);
    asked->options.top = request->top;
    bool good = status >= 0 || (fit_together(asked, request->json) && take_order(&asked->options, request->sort));
    return good ? status : PFA_EXIT_USAGE;
}

static bool draw(pfa_excess_t *excess, const char *path, int (*put)(pfa_excess_t *excess, FILE *to), int *error)
{
    FILE *file = path != NULL ? pfa_outfile_open("excess", path) : NULL;
    *error = file != NULL ? put(excess, file) : *error;
    return path == NULL || (file != NULL && pfa_outfile_close("excess", path, file));
}

static int tell(const asked_t *asked, const pfa_request_t *request, pfa_excess_t *excess)
{
    int error;
    if (is_output(asked->diagram) || is_output(asked->chart)) {
        error = pfa_excess_notes(excess, stderr);
    } else if (request->json) {
        error = pfa_excess_json(excess, stdout);
    } else {
        error = pfa_excess_text(excess, asked->plain ? NULL : pfa_excess_charts, stdout);
    }
    bool drawn = draw(excess, asked->diagram, pfa_excess_diagram, &error);
    drawn = draw(excess, asked->chart, pfa_excess_chart, &error) && drawn;
    int status = pfa_request_end(request, &excess->answer, error);
    status = status == 0 && !drawn ? PFA_EXIT_FAILED : status;
    return status == 0 && excess->hit_count != 0 && asked->fail ? EXIT_EXCESSIVE : status;
}

int pfa_command_excess(int argc, char **argv)
{
    asked_t asked = {.options = pfa_excess_options_standard()};
    pfa_request_t request = {.command = "excess", .usage = usage};
    int status = read_options(&asked, &request, argc, argv);
    status = status < 0 ? pfa_request_open(&request) : status;
    if (status < 0) {
        pfa_excess_t *excess;
        int error = pfa_excess_collect(request.session, request.question, &asked.options, &excess);
        status = error == 0 ? tell(&asked, &request, excess) : pfa_request_fail(&request, error);
        pfa_answer_free(excess);
    }
    pfa_wrappers_free(&asked.options.wrappers);
    return pfa_request_finish(&request, status);
}
