/* Owns `profalloc excess`: its command line, and the walk through the chunks. */
#include "analyze/excess/excess.h"
#include "analyze/draw/outfile.h"
#include "analyze/query/request.h"
#include "analyze/tool/commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_EXCESSIVE = 3, USUAL_LINES = 12, COUNTED_CALLS = 32, MOMENT_NS = 2000 };

/* Of a pair in a usual allocator. Recording costs more; that is not the program's fault. */
#define USUAL_PAIR_NS 50.0

static const char usage[] =
    "usage: profalloc excess [OPTION]... FILE...\n\n"
    "Finds chunks that are made so often and live so short that the program would be faster without: for each, who makes\n"
    "and who frees it, the calls that lead there, and what to do. docs/excess.md tells how.\n\n"
    "  --method METHOD    kmeans: the cluster of objects with the highest frequency and the lowest lifetime (default);\n"
    "                     iqr: outliers of the ratio frequency / lifetime\n"
    "  --clusters K       kmeans: so many clusters; else 2, 3 or 4, whichever are best apart\n"
    "  --scale SCALE      kmeans: linear (default) or log\n"
    "  --seed N           kmeans: another seed; the same one gives the same clusters\n"
    "  --mu X             iqr: above Q3 + X * IQR is an outlier; else X is the value of the IQR\n"
    "  --unit UNIT        iqr: of lifetimes: ns, 10ns, ... ms, s; else that in which the IQR is from 1 to 10\n"
    "  --min-share SHARE  nothing is excessive that takes less than this share of the run time, as 0.01 or 1%; 0: anything\n"
    "                     may be. Default 1%\n"
    "  --max-life SHARE   nor what lives longer than this share on average. Default 10%\n"
    "  --pair-cost NS     what an allocation and its free take; 50, as in a usual allocator\n"
    "  --wrapper PATTERN  a function that allocates or frees for its callers, as malloc does: a glob on its name without\n"
    "                     arguments. May be repeated\n"
    "  --wrappers FILE    the same, one in each line\n" PFA_REQUEST_WHERE_USAGE
    "  --top N            so many hits; 10 as text, all of them as JSON\n"
    "  --lines N          so many lines of each call tree; 12\n"
    "  --diagram FILE     the frequency-lifetime diagram as SVG\n"
    "  --chart FILE       the ratio chart as SVG\n"
    "  --plain            no charts in the text\n"
    "  --json             for programs\n"
    "  --objects          all objects in the JSON\n"
    "  --fail             exit with 3 if there is excessive allocation\n\n"
    "Who frees is known as far as it was recorded: the caller of free, or more with --conf free_depth:N of profalloc run.\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 a file is no trace (others are told), 3 see --fail.\n";

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
                                            {"lines", required_argument, NULL, LINES},
                                            {"diagram", required_argument, NULL, DIAGRAM},
                                            {"chart", required_argument, NULL, CHART},
                                            {"plain", no_argument, NULL, PLAIN},
                                            {"objects", no_argument, NULL, OBJECTS},
                                            {"fail", no_argument, NULL, FAIL},
                                            {NULL, 0, NULL, 0}};

typedef struct line {
    pfa_excess_options_t options;
    pfa_wrappers_t wrappers;
} line_t;

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

static bool take_number(pfa_excess_options_t *options, int option, const char *value)
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
        if (!read_whole(value, 1, 1e6, &number)) {
            return refuse("--lines takes a number from 1 on", value);
        }
        options->lines = (size_t)number;
        return true;
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
        return options->unit != NULL || refuse("--unit takes ns, us, ms or s, or 10 or 100 of them as in 10us", value);
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
    line_t *line = to;
    pfa_excess_options_t *options = &line->options;
    switch (option) {
    case METHOD:
    case SCALE:
    case UNIT:
        return take_word(options, option, value);
    case WRAPPER:
        pfa_wrappers_add(&line->wrappers, value, strlen(value));
        return true;
    case WRAPPERS:
        return take_wrappers(&line->wrappers, value);
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

static void begin_source(void *to, const pfa_source_t *source, pfa_trace_t *trace, bool begins)
{
    pfa_excess_t *excess = to;
    if (begins) {
        excess->cut = ((uint64_t)1 << trace->shift) - 1;
        excess->step = trace->shift != 0 ? ldexp(source->ns_per_tick, (int)trace->shift) : 0;
        excess->longest_step = fmax(excess->longest_step, excess->step);
    }
}

/* What a chunk's times can be off by. The first deaths of a trace are written with whole times; and where calls come thick and
 * fast the library counts most of them instead of reading the clock, which tells no less than a moment (meta/clock.h). */
static double step_of(const pfa_excess_t *excess, const pfa_event_t *event)
{
    if (((event->alloc_time | event->free_time) & excess->cut) == 0 && excess->step > MOMENT_NS) {
        return excess->step;
    }
    return event->free_time - event->alloc_time < COUNTED_CALLS ? MOMENT_NS : 0;
}

static void take_chunk(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_excess_t *excess = to;
    pfa_taken_t taken = {.stack = kind->stack,
                         .destroyer = kind->live ? PFA_ROUTINE_NEVER
                                                 : pfa_routines_of_stack(&excess->routines, kind->free_stack),
                         .size = kind->size,
                         .weight = kind->weight,
                         .life = chunk->life,
                         .step = kind->live ? 0 : step_of(excess, chunk->event)};
    pfa_objects_take(&excess->objects, &taken);
}

static void take_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    pfa_excess_t *excess = to;
    (void)source;
    (void)stack;
    (void)group;
    (void)bytes;
    excess->folded += chunks;
}

/* A file that can no longer be read is no longer in the query: then all is collected anew. */
static void collect(pfa_excess_t *excess)
{
    pfa_look_t look = {.to = excess, .chunk = take_chunk, .source = begin_source, .fold = take_fold};
    size_t before;
    do {
        before = excess->query->source_count;
        pfa_objects_free(&excess->objects);
        excess->objects = (pfa_objects_t){.list = NULL};
        excess->folded = 0;
    } while (before != 0 && pfa_query_walk(excess->query, &look, "excess") != 0 &&
             excess->query->source_count < before);
}

static double least_lifetime(const pfa_query_t *query)
{
    double least = 1;
    for (size_t i = 0; i < query->source_count; i++) {
        least = fmax(least, query->sources[i].ns_per_tick);
    }
    return least;
}

/* What is good to know about the figures. */
static void add_remarks(pfa_excess_t *excess)
{
    char texts[3][PFA_NUMBER_TEXT];
    double hidden = 0;
    if (excess->longest_step > 1000) {
        pfa_notes_add(
            &excess->query->remarks,
            "times were written in steps of %s: mean lifetimes are right within what ± says of them, those of "
            "few chunks are rough; record with --conf time_step:1 for exact ones",
            pfa_text_duration(texts[2], excess->longest_step));
    }
    for (size_t i = 0; i < excess->objects.count; i++) {
        const pfa_object_t *object = &excess->objects.list[i];
        hidden += excess->routines.list[object->destroyer].wrapper ? object->sum.chunks : 0;
    }
    if (excess->folded > 0) {
        pfa_notes_add(&excess->query->remarks, "%s death%s left out: known in sums only, without size and lifetime",
                      pfa_text_count(texts[0], round(excess->folded)), excess->folded > 1 ? "s are" : " is");
    }
    if (hidden > 0) {
        pfa_notes_add(&excess->query->remarks,
                      "of %s chunk%s no more is known of who freed them than an allocation wrapper; record with a "
                      "larger --conf free_depth:N to see its callers",
                      pfa_text_count(texts[1], round(hidden)), pfa_text_plural(round(hidden)));
    }
}

static int analyze(const line_t *line, pfa_query_t *query, bool json)
{
    pfa_excess_t excess = {.options = &line->options, .query = query};
    excess.pair_ns = line->options.pair_ns > 0 ? line->options.pair_ns : USUAL_PAIR_NS;
    pfa_routines_begin(&excess.routines, &query->stacks, &line->wrappers);
    collect(&excess);
    for (size_t i = 0; i < query->source_count; i++) {
        excess.run_ns += query->sources[i].end_ns - query->sources[i].start_ns;
    }
    int status = query->status;
    if (query->source_count != 0) {
        pfa_objects_finish(&excess.objects, &excess.routines, least_lifetime(query));
        pfa_excess_detect(&excess);
        add_remarks(&excess);
        (json ? pfa_excess_json : pfa_excess_text)(&excess);
        int error = pfa_excess_draw(&excess);
        status = status != 0 ? status : error != 0 ? PFA_EXIT_FAILED : 0;
        status = status == 0 && excess.hit_count != 0 && line->options.fail ? EXIT_EXCESSIVE : status;
    }
    free(excess.hits);
    free(excess.members);
    free(excess.reported);
    free(excess.suspect);
    pfa_objects_free(&excess.objects);
    pfa_routines_free(&excess.routines);
    return status;
}

int pfa_command_excess(int argc, char **argv)
{
    pfa_request_t request = {.command = "excess", .usage = usage, .no_by = true, .no_sort = true};
    line_t line = {.options = {.seed = 1, .mu = -1, .min_share = 0.01, .max_life = 0.1, .lines = USUAL_LINES}};
    pfa_query_t query;
    int status = pfa_request_read(&request, argc, argv, own_options, take_option, &line);
    if (status < 0) {
        status = pfa_request_open(&request, &query);
    }
    if (status < 0) {
        line.options.top = request.top;
        status = analyze(&line, &query, request.json);
        pfa_query_close(&query);
    }
    pfa_request_free(&request);
    pfa_wrappers_free(&line.wrappers);
    return pfa_tool_finish("excess", status);
}
