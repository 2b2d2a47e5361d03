/* Owns `profalloc gate`: its command line, and what it ends with. */
#include "analyze/diff/gate.h"
#include "cli/commands.h"
#include "cli/outfile.h"
#include "cli/tool.h"

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
    "  --sort METRIC             these in the order of how much this grew: bytes, count, peak, peak_count, live or live_count;\n"
    "                            unless given, what the limit is of\n"
    "  --top N                   show N of the points behind each limit; default 5\n"
    "  --json                    for programs: docs/gate.md tells what it means\n\n"
    "Exit status: 0 all limits hold, 1 the work failed, or a trace is not complete, 2 the command line was wrong or a file is no\n"
    "trace, 3 a limit is exceeded.\n";

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

static bool take_least(const char *name, const char *value, double *least)
{
    if (pfa_limit_parse_bytes(value, least)) {
        return true;
    }
    pfa_tool_say("gate", "--%s takes a number from 0 on, such as 4096 or 64K, not '%s'", name, value);
    return false;
}

static bool take(void *to, int option, const char *value)
{
    pfa_gate_t *gate = to;
    switch (option) {
    case MIN_BYTES:
        return take_least("min-bytes", value, &gate->min_bytes);
    case MIN_COUNT:
        return take_least("min-count", value, &gate->min_count);
    case SAVE:
        gate->save = value;
        return pfa_outfile_check("gate", value);
    case SARIF:
        gate->sarif = value;
        return pfa_outfile_check("gate", value);
    case SOURCE_ROOT:
        gate->source_root = value;
        return true;
    case ALLOW_INCOMPLETE:
        gate->allow_incomplete = true;
        return true;
    case PER_SECOND:
        gate->per_second = true;
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
static bool is_complete(const pfa_gate_t *gate)
{
    bool complete = true;
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < gate->comparison.sides[side].count; i++) {
            complete = complete && gate->comparison.sides[side].runs[i].complete;
        }
    }
    if (!complete && !gate->allow_incomplete) {
        pfa_tool_say("gate", "a trace is not complete, so that limits mean nothing; --allow-incomplete compares it");
        pfa_tell_notes(stderr, &gate->comparison);
    }
    return complete || gate->allow_incomplete;
}

/* With --where: limits on nothing hold whatever happens. */
static bool has_chunks(const pfa_gate_t *gate)
{
    bool asked = false;
    double chunks = 0;
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < gate->comparison.sides[side].count; i++) {
            const pfa_summary_t *run = &gate->comparison.sides[side].runs[i];
            asked = asked || run->asked != 0;
            chunks += run->totals.values[PFA_DIFF_METRIC_count];
        }
    }
    if (!asked || chunks > 0 || gate->allow_incomplete) {
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

static int save(pfa_gate_t *gate, const pfa_request_t *request)
{
    if (has_limit(gate) || gate->sarif != NULL || request->json) {
        pfa_tool_say("gate", "--save compares nothing: limits, --sarif and --json have no place beside it");
        return PFA_EXIT_USAGE;
    }
    pfa_side_t *side = &gate->comparison.sides[PFA_NEW];
    gate->comparison.with_leaks = true; /* a later gate may ask for them */
    int status = pfa_comparison_load(&gate->comparison, PFA_NEW, request, request->files, request->file_count);
    if (status >= 0 || !is_complete(gate)) {
        return status >= 0 ? status : PFA_EXIT_FAILED;
    }
    int error = pfa_summary_write(gate->save, side->runs, side->count);
    if (error != 0) {
        pfa_tool_say("gate", "cannot write %s: %s", gate->save, strerror(error));
        return PFA_EXIT_FAILED;
    }
    if (!is_output(gate->save)) {
        printf("%s\n", gate->save);
    }
    return 0;
}

static int compare(pfa_gate_t *gate, const pfa_request_t *request, size_t behind)
{
    if (!has_limit(gate)) {
        pfa_tool_say("gate", "there is no limit to hold; --max-peak 5%% is one");
        return PFA_EXIT_USAGE;
    }
    if (request->json && is_output(gate->sarif)) {
        pfa_tool_say("gate", "--json and --sarif - would both write to standard output");
        return PFA_EXIT_USAGE;
    }
    gate->comparison.with_leaks = gate->limits[PFA_LIMIT_leak].text != NULL;
    int status = pfa_comparison_load_all(&gate->comparison, request, behind);
    if (status >= 0 || !is_complete(gate) || !has_chunks(gate)) {
        return status >= 0 ? status : PFA_EXIT_FAILED;
    }
    pfa_comparison_make(&gate->comparison);
    pfa_gate_judge(gate);
    if (!is_output(gate->sarif)) {
        (request->json ? pfa_gate_json : pfa_gate_text)(gate);
    }
    if (gate->sarif != NULL && !pfa_gate_sarif(gate)) {
        return PFA_EXIT_FAILED;
    }
    return gate->exceeded ? PFA_EXIT_LIMIT : 0;
}

int pfa_command_gate(int argc, char **argv)
{
    size_t behind = pfa_comparison_behind(argc, argv);
    pfa_gate_t gate = {.min_bytes = 64 << 10, .min_count = 100};
    pfa_request_t request = {.command = "gate", .usage = usage};
    int status = pfa_request_read(&request, argc, argv, own, take, &gate);
    pfa_diff_metric_t metric;
    if (status < 0 && request.sort != NULL) {
        gate.sort = &metric;
        status = pfa_comparison_metric(&request, &metric) ? -1 : PFA_EXIT_USAGE;
    }
    if (status < 0) {
        pfa_comparison_begin(&gate.comparison);
        gate.comparison.per_second = gate.per_second;
        gate.top = request.top != 0 ? request.top : 5;
        status = gate.save != NULL ? save(&gate, &request) : compare(&gate, &request, behind);
        pfa_gate_free(&gate);
    }
    pfa_request_free(&request);
    return pfa_tool_finish("gate", status);
}
