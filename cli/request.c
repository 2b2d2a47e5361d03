/* Owns the command line that all analyses share. See cli/request.h. */
#include "cli/request.h"
#include "analyze/base/memory.h"
#include "analyze/query/keys.h"
#include "cli/commands.h"
#include "cli/tool.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above what commands use for their own. */
enum { WHERE = 256, BY, SORT, TOP, JSON, HELP };

static const struct option shared[] = {{"where", required_argument, NULL, WHERE}, {"by", required_argument, NULL, BY},
                                       {"sort", required_argument, NULL, SORT},   {"top", required_argument, NULL, TOP},
                                       {"json", no_argument, NULL, JSON},         {"help", no_argument, NULL, HELP}};
enum { SHARED = sizeof shared / sizeof shared[0] };

bool pfa_request_number(const char *text, double least, double most, double *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && isfinite(*value) && *value >= least && *value <= most;
}

static bool take_top(pfa_request_t *request, const char *text)
{
    double value;
    if (!pfa_request_number(text, 1, 1e9, &value) || floor(value) != value) {
        pfa_tool_say(request->command, "--top takes a number from 1 on, not '%s'", text);
        return false;
    }
    request->top = (size_t)value;
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

static bool take_names(pfa_request_t *request, const char *path)
{
    char *why = NULL;
    if (pfa_where_names_read(request->names, path, &why)) {
        return true;
    }
    pfa_tool_say(request->command, "--where: %s", why != NULL ? why : path);
    free(why);
    return false;
}

/* Expressions are parsed when all files are read: they may use their names. */
static bool take_where(pfa_request_t *request, const char *text)
{
    request->wheres =
        pfa_memory_grow(request->wheres, &request->where_room, request->where_count + 1, sizeof *request->wheres);
    request->wheres[request->where_count++] = pfa_memory_copy(text, strlen(text));
    return text[0] != '@' || take_names(request, text + 1);
}

static bool take_shared(pfa_request_t *request, int option, const char *value)
{
    switch (option) {
    case WHERE:
        return take_where(request, value);
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
    request->names = pfa_where_names_new();
    struct option *options = join_options(own);
    int status = read_options(request, argc, argv, options, take, to);
    free(options);
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

void pfa_request_free(pfa_request_t *request)
{
    pfa_where_names_free(request->names);
    for (size_t i = 0; i < request->where_count; i++) {
        free(request->wheres[i]);
    }
    free(request->wheres);
    request->names = NULL;
    request->wheres = NULL;
    request->where_count = 0;
}

/* NULL: it is wrong, which was said. */
static pfa_where_t *parse_where(const pfa_request_t *request)
{
    char *why = NULL;
    pfa_where_t *where = NULL;
    bool right = true;
    for (size_t i = 0; i < request->where_count && right; i++) {
        right = request->wheres[i][0] == '@' || pfa_where_names_ask(request->names, request->wheres[i], &why);
    }
    where = right ? pfa_where_parse(NULL, request->names, &why) : NULL;
    if (where == NULL) {
        pfa_tool_say(request->command, "--where: %s", why != NULL ? why : "is not understood");
    }
    free(why);
    return where;
}

int pfa_request_open(pfa_request_t *request, pfa_query_t *query)
{
    pfa_where_t *where = request->where_count != 0 ? parse_where(request) : NULL;
    if (request->where_count != 0 && where == NULL) {
        return PFA_EXIT_USAGE;
    }
    pfa_query_open(query, request->command, request->files, request->file_count);
    query->where = where;
    query->key = request->key;
    if (query->source_count == 0) {
        int status = query->status != 0 ? query->status : PFA_EXIT_USAGE;
        pfa_query_close(query);
        return status;
    }
    return -1;
}
