/* Owns which files a report is made of: each recording once, and those that can be read. One call at a time. */
#include "analyze/tool/commands.h"
#include "analyze/report/report.h"
#include "analyze/files/run.h"

#include <stdlib.h>
#include <string.h>

typedef struct input {
    const char *path;
    bool known; /* how it starts */
    pfa_trace_start_t start;
    pfa_notes_t same; /* of files that were left out for this one */
} input_t;

typedef struct inputs {
    input_t *list;
    size_t count;
    pfa_notes_t unread;
    int status;
} inputs_t;

typedef int walk_t(pfa_report_t *report, pfa_trace_t *trace, size_t number);

/* A session is a random number; the rest is in case that there was none to be had. */
static input_t *find_same(const inputs_t *inputs, const input_t *input)
{
    for (size_t i = 0; input->known && i < inputs->count; i++) {
        const pfa_trace_start_t *start = &inputs->list[i].start;
        if (inputs->list[i].known && start->session == input->start.session && start->pid == input->start.pid &&
            start->counter == input->start.counter) {
            return &inputs->list[i];
        }
    }
    return NULL;
}

/* Of files of the same recording: one with an end tells more, then one with names. */
static int rank(const char *path)
{
    char *why = NULL;
    pfa_trace_t *trace = pfa_trace_open(path, &why);
    int value = trace == NULL ? -1 : 2 * trace->has_end;
    for (size_t i = 0; trace != NULL && i < trace->blocks.count; i++) {
        value |= trace->blocks.list[i].kind == PFA_BLOCK_SYMBOLS;
    }
    pfa_trace_close(trace);
    free(why);
    return value;
}

static void take_one(input_t *same, const char *path)
{
    const char *other = path;
    if (strcmp(path, same->path) != 0 && rank(path) > rank(same->path)) {
        other = same->path;
        same->path = path;
    }
    pfa_tool_say("report", "%s is left out: it is the same recording as %s", other, same->path);
    pfa_notes_add(&same->same, "%s is the same recording and was left out", other);
}

static void leave_out(inputs_t *inputs, const char *why, int status)
{
    pfa_tool_say("report", "%s", why);
    pfa_notes_add(&inputs->unread, "%s", why);
    inputs->status = status > inputs->status ? status : inputs->status;
}

static void take(inputs_t *inputs, const char *path)
{
    input_t input = {.path = path, .known = pfa_run_read_start(path, &input.start)};
    if (!input.known) {
        char *why = NULL;
        pfa_trace_t *trace = pfa_trace_open(path, &why);
        bool opened = trace != NULL;
        pfa_trace_close(trace);
        if (!opened) {
            leave_out(inputs, why != NULL ? why : path, PFA_EXIT_USAGE);
        }
        free(why);
        if (!opened) {
            return;
        }
    }
    input_t *same = find_same(inputs, &input);
    if (same != NULL) {
        take_one(same, path);
    } else {
        inputs->list[inputs->count++] = input;
    }
}

static int add_first(pfa_report_t *report, pfa_trace_t *trace, size_t number)
{
    (void)number;
    return pfa_report_add(report, trace);
}

/* False: it cannot be read and is no longer among the inputs. */
static bool walk_file(pfa_report_t *report, inputs_t *inputs, size_t number, walk_t *walk)
{
    const char *path = inputs->list[number].path;
    char *why = NULL;
    int status = PFA_EXIT_USAGE;
    pfa_trace_t *trace = pfa_trace_open(path, &why);
    int error = trace != NULL ? walk(report, trace, number) : 0;
    bool done = trace != NULL && error == 0;
    pfa_trace_close(trace);
    if (error != 0) {
        status = PFA_EXIT_FAILED;
        why = asprintf(&why, "cannot read all of %s: %s", path, strerror(error)) < 0 ? NULL : why;
    }
    if (!done) {
        leave_out(inputs, why != NULL ? why : path, status);
        pfa_notes_free(&inputs->list[number].same);
        inputs->count--;
        memmove(&inputs->list[number], &inputs->list[number + 1], (inputs->count - number) * sizeof *inputs->list);
    }
    free(why);
    return done;
}

static bool walk_files(pfa_report_t *report, inputs_t *inputs, walk_t *walk)
{
    for (size_t i = 0; i < inputs->count; i++) {
        if (!walk_file(report, inputs, i, walk)) {
            return false;
        }
    }
    return true;
}

static pfa_together_t *begin_together(const inputs_t *inputs)
{
    pfa_trace_start_t *starts = pfa_memory_get(inputs->count, sizeof *starts);
    size_t known = 0;
    while (known < inputs->count && inputs->list[known].known) {
        starts[known] = inputs->list[known].start;
        known++;
    }
    pfa_together_t *together = known == inputs->count ? pfa_together_new(starts, known) : NULL;
    free(starts);
    return together;
}

/* Several traces are opened again and again rather than all kept open: there may be thousands. */
static bool add_files(pfa_report_t *report, inputs_t *inputs)
{
    report->together = inputs->count > 1 ? begin_together(inputs) : NULL;
    if (!walk_files(report, inputs, add_first)) {
        return false;
    }
    if (report->together == NULL) {
        return true;
    }
    if (pfa_together_again(report->together) && !walk_files(report, inputs, pfa_report_add_again)) {
        return false;
    }
    report->all_peak = pfa_together_finish(report->together);
    return walk_files(report, inputs, pfa_report_add_at_peak);
}

int pfa_report_files(pfa_report_t *report, char **paths, size_t count)
{
    inputs_t inputs = {.list = pfa_memory_get(count, sizeof *inputs.list)};
    for (size_t i = 0; i < count; i++) {
        take(&inputs, paths[i]);
    }
    pfa_report_begin(report);
    while (!add_files(report, &inputs)) { /* what is added cannot be taken away again */
        pfa_report_free(report);
        pfa_report_begin(report);
    }
    for (size_t i = 0; i < inputs.count; i++) {
        for (size_t j = 0; j < inputs.list[i].same.count; j++) {
            pfa_notes_add(&report->files[i].remarks, "%s", inputs.list[i].same.list[j]);
        }
        pfa_notes_free(&inputs.list[i].same);
    }
    report->unread = inputs.unread;
    free(inputs.list);
    return inputs.status;
}
