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
    pfa_files_t *files; /* of both sides */
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

/* What a file is, as far as its beginning tells. */
typedef struct sniffed {
    char *path;
    bool summary;
    uint64_t run; /* that it is of; 0: none */
} sniffed_t;

static sniffed_t sniff(const collecting_t *collecting, char *path)
{
    sniffed_t sniffed = {.path = path};
    pfa_trace_start_t start;
    pfa_file_t *file = pfa_files_take(collecting->files, path); /* if there is none, whoever opens it will say so */
    if (file != NULL) {
        sniffed.summary = pfa_summary_is_file(pfa_file_descriptor(file));
        sniffed.run = !sniffed.summary && pfa_trace_read_start_of(pfa_file_descriptor(file), &start) ? start.run : 0;
        pfa_files_give_back(file);
    }
    return sniffed;
}

/* The traces that one `profalloc run` wrote, from files[0] on, are put to the front; so many. */
static size_t gather_run(sniffed_t *files, size_t count)
{
    size_t found = 1;
    for (size_t i = 1; i < count && files[0].run != 0; i++) {
        if (files[i].run == files[0].run) {
            sniffed_t file = files[i];
            files[i] = files[found];
            files[found++] = file;
        }
    }
    return found;
}

static void give_back_file(void *file)
{
    pfa_files_give_back(file);
}

static int read_summary(const collecting_t *collecting, pfa_side_t *side, const char *path)
{
    char *why = NULL;
    void **held = pfa_memory_hold(give_back_file);
    pfa_file_t *file = pfa_files_take(collecting->files, path);
    *held = file;
    int fd = file != NULL ? pfa_file_descriptor(file) : -1;
    bool read = pfa_summary_read(path, fd, &side->runs, &side->count, &side->room, collecting->comparison->texts, &why);
    int error = read ? 0 : refuse(collecting->options, "%s", why != NULL ? why : path);
    pfa_memory_free(why);
    pfa_memory_free(held);
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

static int collect_run(const collecting_t *collecting, pfa_side_t *side, const sniffed_t *files, size_t count)
{
    pfa_session_options_t of_session = collecting->options->session;
    void **held = pfa_memory_hold(close_session);
    const char **paths = pfa_memory_get(count, sizeof *paths);
    pfa_session_t *session;
    for (size_t i = 0; i < count; i++) {
        paths[i] = files[i].path;
    }
    of_session.files = collecting->files;
    int error = pfa_session_open(&session, &of_session, paths, count);
    pfa_memory_free(paths);
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
    sniffed_t *list = pfa_memory_get(files->count, sizeof *list);
    int error = 0;
    for (size_t i = 0; i < files->count; i++) {
        list[i] = sniff(collecting, files->files[i]);
    }
    for (size_t done = 0; done < files->count && error == 0;) {
        if (list[done].summary) {
            error = read_summary(collecting, side, list[done++].path);
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

static void free_files(void *files)
{
    pfa_files_free(files);
}

/* Work in the arena of the comparison. */
static void collect(void *to)
{
    collecting_t *collecting = to;
    pfa_comparison_t *comparison = pfa_memory_get(1, sizeof *comparison);
    collecting->comparison = comparison;
    comparison->memory = collecting->memory;
    void **held = pfa_memory_hold(free_files);
    *held = collecting->files = pfa_files_new();
    if (collecting->files == NULL) {
        pfa_memory_leave(ENOMEM);
    }
    comparison->texts = pfa_symbols_new();
    comparison->per_second = collecting->options->per_second;
    for (unsigned side = 0; side < PFA_SIDES && collecting->error == 0; side++) {
        collecting->error = load(collecting, side);
    }
    pfa_memory_free(held);
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
