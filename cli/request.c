/* Owns the command line that all analyses share. See cli/request.h. */
#include "cli/request.h"
#include "analyze/points/score_fields.h"
#include "analyze/base/memory.h"
#include "analyze/base/units.h"
#include "analyze/base/workers.h"
#include "analyze/query/keys.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/tool.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above what commands use for their own. */
enum { PATIENCE_MAX = 1000000 }; /* seconds */
enum { WHERE = 256, BY, SORT, TOP, THREADS, JSON, HELP };

static const struct option shared[] = {{"where", required_argument, NULL, WHERE},
                                       {"by", required_argument, NULL, BY},
                                       {"sort", required_argument, NULL, SORT},
                                       {"top", required_argument, NULL, TOP},
                                       {"threads", required_argument, NULL, THREADS},
                                       {"json", no_argument, NULL, JSON},
                                       {"help", no_argument, NULL, HELP}};
enum { SHARED = sizeof shared / sizeof shared[0] };

static bool take_top(pfa_request_t *request, const char *text)
{
    double value;
    if (!pfa_units_number(text, 1, 1e9, &value) || floor(value) != value) {
        pfa_tool_say(request->command, "--top takes a number from 1 on, not '%s'", text);
        return false;
    }
    request->top = (size_t)value;
    return true;
}

static bool take_threads(pfa_request_t *request, const char *text)
{
    double value;
    if (!pfa_units_whole(PFA_UNITS_NONE, text, 1, PFA_WORKERS_MOST, &value)) {
        pfa_tool_say(request->command, "--threads takes a number from 1 to %d, not '%s'", PFA_WORKERS_MOST, text);
        return false;
    }
    request->threads = (unsigned)value;
    return true;
}

static void print_keys(FILE *to)
{
    for (size_t i = 0; i < pfa_key_count; i++) {
        fprintf(to, "  %-10s %s\n", pfa_keys[i].name, pfa_keys[i].meaning);
    }
}

static bool take_key(pfa_request_t *request, const char *name)
{
    if (request->no_by) {
        pfa_tool_say(request->command,
                     "has no use for --by: it tells of stacks or chunks one by one; --where chooses among them");
        return false;
    }
    request->key = pfa_key_find(name);
    if (request->key != NULL) {
        return true;
    }
    pfa_tool_say(request->command, "--by takes one of these, not '%s':", name);
    print_keys(stderr);
    return false;
}

static void take_where(pfa_request_t *request, const char *text)
{
    request->wheres =
        pfa_memory_grow(request->wheres, &request->where_room, request->where_count + 1, sizeof *request->wheres);
    request->wheres[request->where_count++] = text;
}

static bool take_shared(pfa_request_t *request, int option, const char *value)
{
    switch (option) {
    case WHERE:
        take_where(request, value);
        return true;
    case BY:
        return take_key(request, value);
    case SORT:
        request->sort = value;
        if (request->no_sort) {
            pfa_tool_say(request->command, "has no use for --sort: what it tells has an order of its own");
        }
        return !request->no_sort;
    case TOP:
        return take_top(request, value);
    case THREADS:
        return take_threads(request, value);
    default:
        request->json = true;
        return true;
    }
}

/* The command's own options, then the shared ones. */
static struct option *join_options(const struct option *own)
{
    size_t count = 0;
    while (own != NULL && own[count].name != NULL) {
        count++;
    }
    struct option *all = pfa_memory_get(count + SHARED + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        all[i] = own[i];
    }
    for (size_t i = 0; i < SHARED; i++) {
        all[count++] = shared[i];
    }
    return all;
}

static void print_usage(const pfa_request_t *request, FILE *to)
{
    fputs(request->usage, to);
    if (request->usage_more != NULL) {
        request->usage_more(to);
    }
    if (!request->no_by) {
        fputs("\nKeys of --by:\n", to);
        print_keys(to);
    }
}

static int read_options(pfa_request_t *request, int argc, char **argv, const struct option *options,
                        pfa_request_take_t *take, void *to)
{
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h' || option == HELP) {
            print_usage(request, stdout);
            return pfa_tool_finish(request->command, 0);
        }
        if (option == '?') {
            print_usage(request, stderr);
            return PFA_EXIT_USAGE;
        }
        if (!(option >= WHERE ? take_shared(request, option, optarg) : take(to, option, optarg))) {
            return PFA_EXIT_USAGE;
        }
    }
    return -1;
}

int pfa_request_read(pfa_request_t *request, int argc, char **argv, const struct option *own, pfa_request_take_t *take,
                     void *to)
{
    struct option *options = join_options(own);
    int status = read_options(request, argc, argv, options, take, to);
    pfa_memory_free(options);
    if (status >= 0) {
        return status;
    }
    request->files = argv + optind;
    request->file_count = (size_t)(argc - optind);
    if (request->file_count == 0) {
        print_usage(request, stderr);
        return PFA_EXIT_USAGE;
    }
    return -1;
}

int pfa_request_ask(pfa_request_t *request)
{
    pfa_asking_t asking = {.wheres = request->wheres,
                           .where_count = request->where_count,
                           .by = request->key != NULL ? request->key->name : NULL};
    char *why = NULL;
    request->question = pfa_question_make(&asking, &why);
    if (request->question == NULL) {
        pfa_tool_say(request->command, "--where: %s", why != NULL ? why : "is not understood");
        pfa_memory_free(why);
        return PFA_EXIT_USAGE;
    }
    return -1;
}

static void say(void *to, const char *text)
{
    pfa_tool_say(to, "%s", text);
}

/* libdwfl would ask servers by itself, and wait for each module for minutes. */
static char *take_debuginfod(double *seconds)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    const char *wait = getenv("DEBUGINFOD_TIMEOUT");
    char *taken = urls != NULL && urls[strspn(urls, " ")] != '\0' ? pfa_memory_copy(urls, strlen(urls)) : NULL;
    long chosen = wait != NULL ? strtol(wait, NULL, 10) : 0;
    *seconds = wait == NULL ? 0 : chosen <= 0 || chosen > PATIENCE_MAX ? PATIENCE_MAX : (double)chosen;
    unsetenv("DEBUGINFOD_URLS");
    return taken;
}

pfa_session_options_t pfa_request_session(const char *command, unsigned threads)
{
    static char *servers; /* taken once */
    static double seconds;
    servers = servers != NULL ? servers : take_debuginfod(&seconds);
    return (pfa_session_options_t){.score = pfa_points_score,
                                   .watch = pfa_cli_watch,
                                   .say = say,
                                   .say_to = (void *)(uintptr_t)command,
                                   .threads = threads,
                                   .debuginfod = servers,
                                   .debuginfod_wait = seconds};
}

int pfa_request_open(pfa_request_t *request)
{
    int status = pfa_request_ask(request);
    if (status >= 0) {
        return status;
    }
    pfa_session_options_t options = pfa_request_session(request->command, request->threads);
    options.files = request->files_open;
    int error = pfa_session_open(&request->session, &options, (const char *const *)request->files, request->file_count);
    if (error != 0) {
        return pfa_request_fail(request, error);
    }
    if (pfa_session_traces(request->session) == 0) {
        return PFA_EXIT_USAGE;
    }
    return -1;
}

int pfa_request_fail(const pfa_request_t *request, int error)
{
    switch (error) {
    case PFA_ANSWER_NO_TRACE: /* these were said */
    case EINVAL:
    case ERANGE:
        return PFA_EXIT_USAGE;
    case PFA_ANSWER_READING:
    case ENOTSUP:
        return PFA_EXIT_FAILED;
    default:
        pfa_tool_say(request->command, "%s", error == ENOMEM ? "there is not enough memory" : strerror(error));
        return PFA_EXIT_FAILED;
    }
}

int pfa_request_end(const pfa_request_t *request, const pfa_answer_t *answer, int error)
{
    static const int status[] = {
        [PFA_TROUBLE_NONE] = 0, [PFA_TROUBLE_READING] = PFA_EXIT_FAILED, [PFA_TROUBLE_NO_TRACE] = PFA_EXIT_USAGE};
    return error != 0 ? pfa_request_fail(request, error) : status[answer->query.trouble];
}

int pfa_request_finish(pfa_request_t *request, int status)
{
    pfa_session_close(request->session);
    pfa_question_free(request->question);
    pfa_memory_free(request->wheres);
    return pfa_tool_finish(request->command, status);
}
