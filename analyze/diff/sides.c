/* Owns the files of a comparison: which of them are of which side and of which run, and that they can be compared at all. */
#include "analyze/diff/compare.h"
#include "analyze/base/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct collecting {
    const pfa_comparison_options_t *options;
    const pfa_side_files_t *sides;
    pfa_memory_t *memory;
    pfa_comparison_t *comparison;
    int error;
} collecting_t;

__attribute__((format(printf, 2, 3))) static int refuse(const pfa_comparison_options_t *options, const char *format,
                                                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pfa_memory_vformat(format, arguments);
    va_end(arguments);
    if (options->session.say != NULL) {
        options->session.say(options->session.say_to, text);
    }
    pfa_memory_free(text);
    return EINVAL;
}

/* The traces that one `profalloc run` wrote, from files[0] on, are put to the front; so many. */
static size_t gather_run(char **files, size_t count)
{
    pfa_trace_start_t first;
    pfa_trace_start_t other;
    size_t found = 1;
    if (!pfa_trace_read_start(files[0], &first) || first.run == 0) {
        return 1;
    }
    for (size_t i = 1; i < count; i++) {
        if (!pfa_summary_is_file(files[i]) && pfa_trace_read_start(files[i], &other) && other.run == first.run) {
            char *file = files[i];
            files[i] = files[found];
            files[found++] = file;
        }
    }
    return found;
}

static int read_summary(const collecting_t *collecting, pfa_side_t *side, const char *path)
{
    char *why = NULL;
    if (pfa_summary_read(path, &side->runs, &side->count, &side->room, collecting->comparison->texts, &why)) {
        return 0;
    }
    int error = refuse(collecting->options, "%s", why != NULL ? why : path);
    pfa_memory_free(why);
    return error;
}

static void close_session(void *session)
{
    pfa_session_close(session);
}

static int add_run(const collecting_t *collecting, pfa_side_t *side, pfa_session_t *session)
{
    const pfa_comparison_options_t *options = collecting->options;
    side->runs = pfa_memory_grow(side->runs, &side->room, side->count + 1, sizeof *side->runs);
    int error = pfa_summary_collect(&side->runs[side->count], session, options->question, options->with_leaks,
                                    collecting->comparison->texts);
    side->count += error == 0;
    return error;
}

static int collect_run(const collecting_t *collecting, pfa_side_t *side, char **files, size_t count)
{
    void **held = pfa_memory_hold(close_session);
    pfa_session_t *session;
    int error = pfa_session_open(&session, &collecting->options->session, (const char *const *)files, count);
    if (error != 0) {
        return error;
    }
    *held = session;
    error = add_run(collecting, side, session);
    pfa_memory_free(held);
    return error;
}

static int load(const collecting_t *collecting, unsigned number)
{
    const pfa_side_files_t *files = &collecting->sides[number];
    pfa_side_t *side = &collecting->comparison->sides[number];
    char **list = pfa_memory_copy(files->files, files->count * sizeof *list);
    int error = 0;
    for (size_t done = 0; done < files->count && error == 0;) {
        if (pfa_summary_is_file(list[done])) {
            error = read_summary(collecting, side, list[done++]);
        } else {
            size_t run = gather_run(list + done, files->count - done);
            error = collect_run(collecting, side, list + done, run);
            done += run;
        }
    }
    pfa_memory_free(list);
    for (size_t i = 0; i < files->session_count && error == 0; i++) {
        error = add_run(collecting, side, files->sessions[i]);
    }
    return error;
}

/* Summaries have been made by some --by and --where; others cannot be compared with them. */
static bool is_alike(const collecting_t *collecting)
{
    const pfa_comparison_t *comparison = collecting->comparison;
    const pfa_summary_t *one = &comparison->sides[PFA_BASE].runs[0];
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < comparison->sides[side].count; i++) {
            const pfa_summary_t *other = &comparison->sides[side].runs[i];
            if (strcmp(one->by, other->by) != 0 || one->asked != other->asked) {
                bool alike = strcmp(one->where, other->where) == 0 && one->asked != other->asked;
                (void)refuse(collecting->options,
                             "one side is by %s%s%s, the other by %s%s%s%s: they cannot be compared", one->by,
                             one->where[0] != '\0' ? " where " : "", one->where, other->by,
                             other->where[0] != '\0' ? " where " : "", other->where,
                             alike ? ", which asks something else now" : "");
                return false;
            }
        }
    }
    return true;
}

/* Work in the arena of the comparison. */
static void collect(void *to)
{
    collecting_t *collecting = to;
    pfa_comparison_t *comparison = pfa_memory_get(1, sizeof *comparison);
    collecting->comparison = comparison;
    comparison->memory = collecting->memory;
    comparison->texts = pfa_symbols_new();
    comparison->per_second = collecting->options->per_second;
    for (unsigned side = 0; side < PFA_SIDES && collecting->error == 0; side++) {
        collecting->error = load(collecting, side);
    }
    if (collecting->error == 0 && comparison->sides[PFA_BASE].count != 0) {
        if (is_alike(collecting)) {
            pfa_comparison_make(comparison);
        } else {
            collecting->error = EINVAL;
        }
    }
}

int pfa_comparison_collect(const pfa_comparison_options_t *options, const pfa_side_files_t sides[PFA_SIDES],
                           pfa_comparison_t **comparison)
{
    collecting_t collecting = {.options = options, .sides = sides, .memory = pfa_memory_new()};
    int error = collecting.memory != NULL ? pfa_memory_work(collecting.memory, collect, &collecting) : ENOMEM;
    error = error != 0 ? error : collecting.error;
    *comparison = error == 0 ? collecting.comparison : NULL;
    if (error != 0) {
        pfa_memory_delete(collecting.memory);
    }
    return error;
}

void pfa_comparison_free(pfa_comparison_t *comparison)
{
    if (comparison != NULL) {
        pfa_memory_delete(comparison->memory);
    }
}

int pfa_comparison_work(pfa_comparison_t *comparison, void (*work)(void *to), void *to)
{
    return pfa_memory_work(comparison->memory, work, to);
}
