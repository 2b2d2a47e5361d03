/* Owns `profalloc gate`: its command line, and what it ends with. */
#include "analyze/diff/gate.h"
#include "analyze/base/units.h"
#include "cli/commands.h"
#include "cli/outfile.h"
#include "cli/sides.h"
#include "cli/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc gate [OPTION]... --max-...=LIMIT... BASE NEW\n"
    "       profalloc gate [OPTION]... --max-...=LIMIT... BASE... -- NEW...\n"
    "       profalloc gate --save FILE TRACE...\n\n"
    "Tells whether a program needs more memory than it did, for continuous integration: compares as `profalloc diff` does, and\n"
    "ends with status 3 if a limit is exceeded. A limit is how much more than the base there may be: in percent (5%), in bytes\n"
    "(4096, 64K, 10M, 1G) or in chunks (1000); 0 is nothing at all. With samples, or several runs, it is exceeded only if that is\n"
    "beyond what is unsure.\n\n"
    "  --max-peak LIMIT          bytes at the peak\n"
    "  --max-bytes LIMIT         bytes allocated\n"
    "  --max-count LIMIT         chunks allocated\n"
    "  --max-live LIMIT          bytes live at the end\n"
    "  --max-live-growth LIMIT   bytes live at the end that are more than in the base, at points where they are more; what is\n"
    "                            less at others does not make good for it\n"
    "  --max-leak LIMIT          of these, bytes that `profalloc leaks` calls a leak\n"
    "  --max-point-peak LIMIT, --max-point-bytes LIMIT, --max-point-count LIMIT, --max-point-live LIMIT\n"
    "                            the same for each allocation point by itself; a new one was 0 before\n"
    "  --min-bytes N             points that grew by less do not exceed a limit in percent; 64K unless given\n"
    "  --min-count N             the same for chunks; 100 unless given\n"
    "  --save FILE               compare nothing; save what a later gate needs of these traces, to be its BASE; - is standard\n"
    "                            output\n"
    "  --sarif FILE              write what is exceeded as SARIF 2.1.0; with -, to standard output in place of the table\n"
    "  --source-root DIR         name source files relative to this folder; default the working directory\n"
    "  --allow-incomplete        compare traces that are not complete, too\n"
    "  --per-second              bytes and chunks allocated per second, of runs of different length\n" PFA_REQUEST_WHERE_USAGE
        PFA_REQUEST_BY_USAGE
    "  --sort METRIC             order these points by the growth of METRIC: bytes, count, peak, peak_count, live or live_count;\n"
    "                            default what the limit is of\n"
    "  --top N                   show N of the points behind each limit; default 5\n"
    "  --json                    for programs: docs/gate.md tells what it means\n\n"
    "Exit status: 0 all limits hold, 1 the work failed, or a trace is not complete, 2 the command line was wrong or a file is no\n"
    "trace, 3 a limit is exceeded.\n";

enum { EXIT_LIMIT = 3 };

/* What the command line says. */
typedef struct asked {
    pfa_gate_t gate;
    const char *save;
    const char *sarif;
    bool allow_incomplete;
    bool per_second;
} asked_t;

enum { LIMIT = 'A', MIN_BYTES = 1, MIN_COUNT, SAVE, SARIF, SOURCE_ROOT, ALLOW_INCOMPLETE, PER_SECOND };

static const struct option own[] = {
#define PFA_LIMIT(id, option, metric, scope, meaning) {option, required_argument, NULL, LIMIT + PFA_LIMIT_##id},
#include "analyze/diff/limits.def"
#undef PFA_LIMIT
    {"min-bytes", required_argument, NULL, MIN_BYTES},
    {"min-count", required_argument, NULL, MIN_COUNT},
    {"save", required_argument, NULL, SAVE},
    {"sarif", required_argument, NULL, SARIF},
    {"source-root", required_argument, NULL, SOURCE_ROOT},
    {"allow-incomplete", no_argument, NULL, ALLOW_INCOMPLETE},
    {"per-second", no_argument, NULL, PER_SECOND},
    {NULL, 0, NULL, 0}};

static bool take_limit(pfa_gate_t *gate, unsigned number, const char *value)
{
    bool is_bytes = pfa_diff_metrics[pfa_limits[number].metric].is_bytes;
    if (pfa_limit_parse(&gate->limits[number], value, is_bytes)) {
        return true;
    }
    pfa_tool_say("gate", "--%s takes %s, not '%s'", pfa_limits[number].option,
                 is_bytes ? "a percentage or bytes, such as 5% or 10M" : "a percentage or a number, such as 5% or 1000",
                 value);
    return false;
}

static bool take_least(const char *name, const char *value, pfa_units_t units, double *least)
{
    if (pfa_units_read(units, value, NULL, 0, HUGE_VAL, least)) {
        return true;
    }
    pfa_tool_say("gate", "--%s takes a number from 0 on, such as 4096 or 64K, not '%s'", name, value);
    return false;
}

static bool take(void *to, int option, const char *value)
{
    asked_t *asked = to;
    pfa_gate_t *gate = &asked->gate;
    switch (option) {
    case MIN_BYTES:
        return take_least("min-bytes", value, PFA_UNITS_BYTES, &gate->min_bytes);
    case MIN_COUNT:
        return take_least("min-count", value, PFA_UNITS_COUNT, &gate->min_count);
    case SAVE:
        asked->save = value;
        return pfa_outfile_check("gate", value);
    case SARIF:
        asked->sarif = value;
        return pfa_outfile_check("gate", value);
    case SOURCE_ROOT:
        gate->source_root = value;
        return true;
    case ALLOW_INCOMPLETE:
        asked->allow_incomplete = true;
        return true;
    case PER_SECOND:
        asked->per_second = true;
        return true;
    default:
        return take_limit(gate, (unsigned)(option - LIMIT), value);
    }
}

static bool has_limit(const pfa_gate_t *gate)
{
    for (size_t i = 0; i < PFA_LIMITS; i++) {
        if (gate->limits[i].text != NULL) {
            return true;
        }
    }
    return false;
}

/* What is missing could be what exceeds a limit, or, in the base, what makes it look as if. */
static bool is_complete(const asked_t *asked, const pfa_comparison_t *comparison)
{
    bool complete = true;
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < comparison->sides[side].count; i++) {
            complete = complete && comparison->sides[side].runs[i].complete;
        }
    }
    if (!complete && !asked->allow_incomplete) {
        pfa_tool_say("gate", "a trace is not complete, so that limits mean nothing; --allow-incomplete compares it");
        pfa_tell_notes(stderr, comparison);
    }
    return complete || asked->allow_incomplete;
}

/* With --where: limits on nothing hold whatever happens. */
static bool has_chunks(const asked_t *asked, const pfa_comparison_t *comparison)
{
    bool wheres = false;
    double chunks = 0;
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < comparison->sides[side].count; i++) {
            const pfa_summary_t *run = &comparison->sides[side].runs[i];
            wheres = wheres || run->asked != 0;
            chunks += run->totals.values[PFA_DIFF_METRIC_count];
        }
    }
    if (!wheres || chunks > 0 || asked->allow_incomplete) {
        return true;
    }
    pfa_tool_say(
        "gate",
        "there is no chunk for which --where holds, so that limits mean nothing; --allow-incomplete compares all the same");
    return false;
}

/* "-" as the name of a file. */
static bool is_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static int save(pfa_request_t *request, const asked_t *asked)
{
    pfa_side_files_t sides[PFA_SIDES] = {[PFA_NEW] = {.files = request->files, .count = request->file_count}};
    pfa_comparison_t *comparison;
    if (has_limit(&asked->gate) || asked->sarif != NULL || request->json) {
        pfa_tool_say("gate", "--save compares nothing: limits, --sarif and --json have no place beside it");
        return PFA_EXIT_USAGE;
    }
    int status = pfa_request_ask(request);
    if (status >= 0) {
        return status;
    }
    pfa_comparison_options_t options = {.session = pfa_request_session("gate", request->threads),
                                        .question = request->question,
                                        .with_leaks = true, /* a later gate may ask for them */
                                        .per_second = asked->per_second};
    int error = pfa_comparison_collect(&options, sides, &comparison);
    status = error != 0 ? pfa_request_fail(request, error) : is_complete(asked, comparison) ? 0 : PFA_EXIT_FAILED;
    if (status == 0) {
        const pfa_side_t *side = &comparison->sides[PFA_NEW];
        error = is_output(asked->save) ? pfa_summary_save(stdout, side->runs, side->count)
                                       : pfa_summary_write(asked->save, side->runs, side->count);
        if (error != 0) {
            pfa_tool_say("gate", "cannot write %s: %s", asked->save, strerror(error));
            status = PFA_EXIT_FAILED;
        } else if (!is_output(asked->save)) {
            pfa_tool_made(asked->save);
        }
    }
    pfa_comparison_free(comparison);
    return status;
}

static int write_sarif(const asked_t *asked, int *error)
{
    FILE *file = pfa_outfile_open("gate", asked->sarif);
    if (file == NULL) {
        return PFA_EXIT_FAILED;
    }
    *error = pfa_gate_sarif(&asked->gate, EXIT_LIMIT, file);
    return pfa_outfile_close("gate", asked->sarif, file) ? 0 : PFA_EXIT_FAILED;
}

static int judge(const pfa_request_t *request, asked_t *asked)
{
    pfa_gate_t *gate = &asked->gate;
    int status = 0;
    int error = pfa_gate_judge(gate);
    if (error == 0 && !is_output(asked->sarif)) {
        error = (request->json ? pfa_gate_json : pfa_gate_text)(gate, stdout);
    }
    if (error == 0 && asked->sarif != NULL) {
        status = write_sarif(asked, &error);
    }
    return error != 0 ? pfa_request_fail(request, error) : status != 0 ? status : gate->exceeded ? EXIT_LIMIT : 0;
}

static int compare(pfa_request_t *request, asked_t *asked, size_t behind)
{
    pfa_gate_t *gate = &asked->gate;
    pfa_side_files_t sides[PFA_SIDES];
    if (!has_limit(gate)) {
        pfa_tool_say("gate", "there is no limit to hold; --max-peak 5%% is one");
        return PFA_EXIT_USAGE;
    }
    if (request->json && is_output(asked->sarif)) {
        pfa_tool_say("gate", "--json and --sarif - would both write to standard output");
        return PFA_EXIT_USAGE;
    }
    int status = pfa_sides_split(request, behind, sides) ? pfa_request_ask(request) : PFA_EXIT_USAGE;
    if (status >= 0) {
        return status;
    }
    pfa_comparison_options_t options = {.session = pfa_request_session("gate", request->threads),
                                        .question = request->question,
                                        .with_leaks = gate->limits[PFA_LIMIT_leak].text != NULL,
                                        .per_second = asked->per_second};
    int error = pfa_comparison_collect(&options, sides, &gate->comparison);
    if (error != 0) {
        return pfa_request_fail(request, error);
    }
    bool sane = is_complete(asked, gate->comparison) && has_chunks(asked, gate->comparison);
    status = sane ? judge(request, asked) : PFA_EXIT_FAILED;
    pfa_comparison_free(gate->comparison);
    return status;
}

int pfa_command_gate(int argc, char **argv)
{
    size_t behind = pfa_sides_behind(argc, argv);
    asked_t asked = {.gate = {.min_bytes = 64 << 10, .min_count = 100}};
    pfa_request_t request = {.command = "gate", .usage = usage};
    int status = pfa_request_read(&request, argc, argv, own, take, &asked);
    pfa_diff_metric_t metric;
    if (status < 0 && request.sort != NULL) {
        asked.gate.sort = &metric;
        status = pfa_sides_metric(&request, &metric) ? -1 : PFA_EXIT_USAGE;
    }
    if (status < 0) {
        asked.gate.top = request.top != 0 ? request.top : 5;
        status = asked.save != NULL ? save(&request, &asked) : compare(&request, &asked, behind);
    }
    return pfa_request_finish(&request, status);
}
