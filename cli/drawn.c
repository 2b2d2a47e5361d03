/* Owns what commands that draw have in common. See cli/drawn.h. */
#include "cli/drawn.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "cli/commands.h"
#include "cli/outfile.h"
#include "cli/tool.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of reading options. */
typedef struct taking {
    const pfa_drawn_command_t *command;
    pfa_drawn_t *drawn;
    void *to;
} taking_t;

static bool take(void *to, int option, const char *value)
{
    taking_t *taking = to;
    switch (option) {
    case PFA_DRAWN_SVG:
        taking->drawn->svg = value;
        return pfa_outfile_check(taking->command->name, value);
    case PFA_DRAWN_FORM:
        taking->drawn->form = true;
        return true;
    default:
        return taking->command->take(taking->to, option, value);
    }
}

/* A trace may be called anything. */
static bool is_input(const pfa_request_t *request, const char *path)
{
    struct stat out;
    struct stat in;
    bool found = false;
    for (size_t i = 0; stat(path, &out) == 0 && i < request->file_count; i++) {
        found = found || (stat(request->files[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino);
    }
    return found;
}

static bool check(const pfa_drawn_command_t *command, pfa_drawn_t *drawn, void *to)
{
    const pfa_request_t *request = &drawn->request;
    if (request->sort != NULL) {
        drawn->sort = pfa_choice_find(command->name, "--sort", command->sorts, command->sort_count, request->sort);
    }
    if (drawn->sort < 0) {
        return false;
    }
    if (drawn->form + (drawn->svg != NULL) + request->json > 1) {
        pfa_tool_say(command->name, "one of %s, --svg and --json at a time", command->form);
        return false;
    }
    if (drawn->svg != NULL && is_input(request, drawn->svg)) {
        pfa_tool_say(command->name, "'%s' is to be read: it is not written over", drawn->svg);
        return false;
    }
    return command->check(to, drawn);
}

int pfa_drawn_run(const pfa_drawn_command_t *command, int argc, char **argv, void *to)
{
    pfa_drawn_t drawn = {.request = {.command = command->name, .usage = command->usage}};
    taking_t taking = {.command = command, .drawn = &drawn, .to = to};
    int status = pfa_request_read(&drawn.request, argc, argv, command->options, take, &taking);
    if (status < 0 && !check(command, &drawn, to)) {
        status = PFA_EXIT_USAGE;
    }
    status = status < 0 ? pfa_request_open(&drawn.request) : status;
    status = status < 0 ? command->tell(to, &drawn) : status;
    return pfa_request_finish(&drawn.request, status);
}

int pfa_drawn_svg(const pfa_drawn_t *drawn, int (*put)(void *what, FILE *file), void *what, int *error)
{
    const char *command = drawn->request.command;
    FILE *file = pfa_outfile_open(command, drawn->svg);
    if (file == NULL) {
        return PFA_EXIT_FAILED;
    }
    *error = put(what, file);
    return pfa_outfile_close(command, drawn->svg, file) ? 0 : PFA_EXIT_FAILED;
}
