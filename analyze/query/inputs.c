/* Owns which files a command works on. See analyze/query/inputs.h. */
#include "analyze/query/inputs.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

/* A session is a random number; the rest is in case that there was none to be had. */
static pfa_input_t *find_same(const pfa_inputs_t *inputs, const pfa_input_t *input)
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

static void take_one(const char *command, pfa_input_t *same, const char *path)
{
    const char *other = path;
    if (strcmp(path, same->path) != 0 && rank(path) > rank(same->path)) {
        other = same->path;
        same->path = path;
    }
    pfa_tool_say(command, "%s is left out: it is the same recording as %s", other, same->path);
    pfa_notes_add(&same->same, "%s is the same recording and was left out", other);
}

void pfa_inputs_leave_out(pfa_inputs_t *inputs, const char *why, int status)
{
    pfa_tool_say(inputs->command, "%s", why);
    pfa_notes_add(&inputs->unread, "%s", why);
    inputs->status = status > inputs->status ? status : inputs->status;
}

static void take(pfa_inputs_t *inputs, const char *path)
{
    pfa_input_t input = {.path = path, .known = pfa_run_read_start(path, &input.start)};
    if (!input.known) {
        char *why = NULL;
        pfa_trace_t *trace = pfa_trace_open(path, &why);
        bool opened = trace != NULL;
        pfa_trace_close(trace);
        if (!opened) {
            pfa_inputs_leave_out(inputs, why != NULL ? why : path, PFA_EXIT_USAGE);
        }
        free(why);
        if (!opened) {
            return;
        }
    }
    pfa_input_t *same = find_same(inputs, &input);
    if (same != NULL) {
        take_one(inputs->command, same, path);
    } else {
        inputs->list[inputs->count++] = input;
    }
}

void pfa_inputs_open(pfa_inputs_t *inputs, const char *command, char **paths, size_t count)
{
    *inputs = (pfa_inputs_t){.command = command, .list = pfa_memory_get(count, sizeof *inputs->list)};
    for (size_t i = 0; i < count; i++) {
        take(inputs, paths[i]);
    }
}

void pfa_inputs_close(pfa_inputs_t *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        pfa_notes_free(&inputs->list[i].same);
    }
    free(inputs->list);
}
