/* Owns `profalloc leaks`: its command line. */
#include "analyze/leaks/leaks.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/base/units.h"
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/tool.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_FOUND = 3 };

static const char usage[] =
    "usage: profalloc leaks [OPTION]... FILE...\n\n"
    "Tells which chunks nobody freed, by allocation point, and what speaks for and against a leak: whether they are born all along\n"
    "or only at the start, how long, where and by which thread other chunks of the same point are freed, and, of programs built\n"
    "with profalloc-cc, whether they are still used. Whether anything still points to them is not known, and not claimed.\n"
    "docs/leaks.md tells how each verdict is reached:\n\n"
    "  leak likely          born all along, and far older than their siblings get, or none is ever freed\n"
    "  grows                born all along, but still in use, or too few are freed to compare with\n"
    "  stale                not touched for long\n"
    "  cannot tell          one chunk, too few or too small, too young, in bursts, or within too short a time\n"
    "  levels off           born less and less often: a warm-up\n"
    "  kept, does not grow  born at the start, or in one burst\n"
    "  in use               touched until the end\n"
    "  in flight            no older than their siblings get before they are freed\n\n" PFA_REQUEST_WHERE_USAGE
        PFA_REQUEST_BY_USAGE
    "  --suppressions FILE  leave out what LeakSanitizer would: lines leak:PATTERN; may be given several times\n"
    "  --fail               exit with 3 if a leak is likely that is sure and large enough:\n"
    "  --fail-sure PERCENT  at least so sure; default 50%, which is medium; 80% is high\n"
    "  --fail-bytes N       and of at least N bytes at one point; default 1K\n"
    "  --least N            the fewest chunks that are called a leak; default 5\n"
    "  --least-bytes N      and the fewest bytes; default 512\n"
    "  --least-time TIME    and so long from the birth of the first to that of the last; default 30ms\n"
    "  --late N             overdue is what is N times older than 95 % of the freed chunks of its point got; default 2\n"
    "  --warm-up PERCENT    the start is this much of the run; default 10%\n"
    "  --stale PERCENT      stale is what was not touched for this much of the run; default 50%\n"
    "  --recent PERCENT     in use is what was touched in the last of it; default 10%\n"
    "  --sort WHAT          by leak (likely leaked bytes, then verdicts), bytes, count, rate, sure or age\n"
    "  --top N              show N points; default 10 as text, all as JSON\n"
    "  --json               for programs: docs/leaks.md tells what it means\n\n"
    "Bytes are numbers as 4096 or 4K, times as 200ms, 5m or 0.03, which is in seconds, percentages as 50% or 50.\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 a file is no trace (the others are read) or the command line\n"
    "is wrong, 3 --fail was given and there is a leak that it counts.\n";

/* The command's own options. */
typedef struct asked {
    pfa_leaks_options_t options;
    const char **suppressions;
    size_t suppression_room;
    bool fail;
} asked_t;

static const struct option options[] = {
    {"suppressions", required_argument, NULL, 's'}, {"fail", no_argument, NULL, 'f'},
    {"least", required_argument, NULL, 'n'},        {"late", required_argument, NULL, 'l'},
    {"warm-up", required_argument, NULL, 'w'},      {"stale", required_argument, NULL, 'u'},
    {"recent", required_argument, NULL, 'r'},       {"least-bytes", required_argument, NULL, 'b'},
    {"least-time", required_argument, NULL, 't'},   {"fail-sure", required_argument, NULL, 'S'},
    {"fail-bytes", required_argument, NULL, 'B'},   {NULL, 0, NULL, 0}};

static bool refuse(const char *name, const char *takes, const char *value)
{
    pfa_tool_say("leaks", "--%s takes %s, not '%s'", name, takes, value);
    return false;
}

/* A number alone is in percent, too. */
static bool take_percent(double *to, const char *name, const char *value)
{
    return pfa_units_read(PFA_UNITS_SHARE, value, "%", 0, 1, to) || refuse(name, "a percentage from 0 to 100", value);
}

static bool take_bytes(double *to, const char *name, const char *value)
{
    return pfa_units_whole(PFA_UNITS_BYTES, value, 0, 1e15, to) ||
           refuse(name, "a whole number of bytes from 0 on, such as 4096 or 4K", value);
}

static bool take_seconds(double *to, const char *name, const char *value)
{
    if (!pfa_units_read(PFA_UNITS_TIME, value, "s", 0, 1e24, to)) {
        return refuse(name, "a time such as 200ms, 5m or 0.03 (seconds)", value);
    }
    *to /= 1e9;
    return true;
}

static void take_suppressions(asked_t *asked, const char *path)
{
    size_t count = asked->options.suppression_count++;
    asked->suppressions =
        pfa_memory_grow(asked->suppressions, &asked->suppression_room, count + 1, sizeof *asked->suppressions);
    asked->suppressions[count] = path;
    asked->options.suppressions = asked->suppressions;
}

static bool take_option(void *to, int option, const char *value)
{
    asked_t *asked = to;
    switch (option) {
    case 's':
        take_suppressions(asked, value);
        return true;
    case 'w':
        return take_percent(&asked->options.limits.warm_up, "warm-up", value);
    case 'u':
        return take_percent(&asked->options.limits.stale, "stale", value);
    case 'r':
        return take_percent(&asked->options.limits.recent, "recent", value);
    case 'S':
        return take_percent(&asked->options.limits.fail_sure, "fail-sure", value);
    case 'B':
        return take_bytes(&asked->options.limits.fail_bytes, "fail-bytes", value);
    case 'b':
        return take_bytes(&asked->options.limits.least_bytes, "least-bytes", value);
    case 't':
        return take_seconds(&asked->options.limits.least_seconds, "least-time", value);
    case 'n':
        return pfa_units_whole(PFA_UNITS_COUNT, value, 2, 1e15, &asked->options.limits.least) ||
               refuse("least", "a whole number from 2 on", value);
    case 'l':
        return pfa_units_number(value, 1, 1e15, &asked->options.limits.late) ||
               refuse("late", "a number from 1 on", value);
    default:
        asked->fail = true;
        return true;
    }
}

/* Leaks that a check fails for; of the others it is said that they do not count. */
static size_t count_failing(pfa_leaks_t *leaks)
{
    size_t failing = 0;
    size_t others = 0;
    for (size_t i = 0; i < leaks->finding_count; i++) {
        failing += leaks->findings[i].fails;
        others += leaks->findings[i].verdict == PFA_LEAK_VERDICT_LEAK && !leaks->findings[i].fails;
    }
    if (others != 0) {
        pfa_notes_add(
            &leaks->query->remarks,
            "--fail does not count %zu likely leak%s: not sure (--fail-sure) or not large (--fail-bytes) enough",
            others, pfa_text_plural((double)others));
    }
    return failing;
}

static int tell(const pfa_request_t *request, const asked_t *asked, pfa_leaks_t *leaks)
{
    size_t failing = asked->fail ? count_failing(leaks) : 0;
    int error = request->json ? pfa_leaks_json(leaks, request->top != 0 ? request->top : SIZE_MAX, stdout)
                              : pfa_leaks_text(leaks, request->top != 0 ? request->top : 10, stdout);
    int status = pfa_request_end(request, &leaks->answer, error);
    return status == 0 && failing != 0 ? EXIT_FOUND : status;
}

int pfa_command_leaks(int argc, char **argv)
{
    asked_t asked = {.options = {.limits = pfa_leak_limits_standard()}};
    pfa_request_t request = {.command = "leaks", .usage = usage};
    int status = pfa_request_read(&request, argc, argv, options, take_option, &asked);
    if (status < 0 && request.sort != NULL && !pfa_leaks_is_order(request.sort)) {
        pfa_tool_say("leaks", "--sort takes %s, not '%s'", pfa_leaks_orders, request.sort);
        status = PFA_EXIT_USAGE;
    }
    asked.options.order = request.sort;
    status = status < 0 ? pfa_request_open(&request) : status;
    if (status < 0) {
        pfa_leaks_t *leaks;
        int error = pfa_leaks_collect(request.session, request.question, &asked.options, &leaks);
        status = error == 0 ? tell(&request, &asked, leaks) : pfa_request_fail(&request, error);
        pfa_answer_free(leaks);
    }
    pfa_memory_free(asked.suppressions);
    return pfa_request_finish(&request, status);
}
