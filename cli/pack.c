/* Owns `profalloc pack`: its command line. */
#include "analyze/names/pack.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/tool.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc pack FILE [-o OUT]\n\n"
    "Copies a trace together with the names (function, file, line) of all addresses in it, so that it can be reported on a\n"
    "machine that has neither the program nor its debug information. OUT is FILE with .packed.pa for .pa unless given.\n\n"
    "A damaged trace is refused: the copy would look whole.\n\n"
    "Exit status: 0 done, 1 it could not be written, or the trace is damaged or has no end yet, 2 the file is no trace.\n";

static char *name_output(const char *path)
{
    size_t length = strlen(path);
    size_t suffix = strlen(PFA_TRACE_SUFFIX);
    length -= length > suffix && strcmp(path + length - suffix, PFA_TRACE_SUFFIX) == 0 ? suffix : 0;
    return pfa_memory_format("%.*s.packed%s", (int)length, path, PFA_TRACE_SUFFIX);
}

static int pack_file(const char *path, const char *to)
{
    char *why = NULL;
    pfa_trace_t *trace = pfa_trace_open(path, &pfa_cli_watch, &why);
    pfa_account_t account = {.bad_blocks = 0};
    int status = 0;
    if (trace == NULL) {
        pfa_tool_say("pack", "%s", why != NULL ? why : path);
        status = PFA_EXIT_USAGE;
    } else if (trace->live != NULL) {
        pfa_tool_say("pack", "%s has no end yet%s", path,
                     trace->running ? ": its process goes on" : ": first run `profalloc seal` on it");
        status = PFA_EXIT_FAILED;
    } else if (pfa_pack_is_damaged(trace, &account)) {
        pfa_tool_say("pack", "%s is damaged, and a copy would not show it; `profalloc report` tells what is left",
                     path);
        for (size_t i = 0; i < account.missing.count; i++) {
            fprintf(stderr, "  missing: %s\n", account.missing.list[i]);
        }
        status = PFA_EXIT_FAILED;
    } else {
        pfa_notes_t remarks = {.list = NULL};
        pfa_session_options_t options = pfa_request_session("pack", 0);
        pfa_pack_servers_t servers = {.urls = options.debuginfod, .seconds = options.debuginfod_wait};
        int error = pfa_pack(trace, to, &servers, &remarks);
        if (error != 0) {
            pfa_tool_say("pack", "cannot write %s: %s", to, strerror(error));
            status = PFA_EXIT_FAILED;
        } else {
            for (size_t i = 0; i < remarks.count; i++) {
                pfa_tool_say("pack", "%s", remarks.list[i]);
            }
            pfa_tool_made(to);
        }
        pfa_notes_free(&remarks);
    }
    pfa_memory_free(why);
    pfa_account_free(&account);
    pfa_trace_close(trace);
    return status;
}

int pfa_command_pack(int argc, char **argv)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'}, {"output", required_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};
    const char *given = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
        if (option == 'h' || option == '?') {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : PFA_EXIT_USAGE;
        }
        given = optarg;
    }
    if (optind + 1 != argc) {
        fputs(usage, stderr);
        return PFA_EXIT_USAGE;
    }
    char *to = given != NULL ? pfa_memory_copy(given, strlen(given)) : name_output(argv[optind]);
    int status = to != NULL ? pack_file(argv[optind], to) : PFA_EXIT_FAILED;
    pfa_memory_free(to);
    return pfa_tool_finish("pack", status);
}
