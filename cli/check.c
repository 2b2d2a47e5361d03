/* Owns `profalloc check`: whether a trace is whole and agrees with what the runtime counted. */
#include "cli/commands.h"
#include "cli/progress.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/names/symbolblock.h"
#include "analyze/trace/tally.h"
#include "cli/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc check FILE...\n\n"
    "Reads all of each trace, and of the live table beside it if the trace was not ended: checksums, that all blocks can\n"
    "be decoded, that no recorded death is missing or there twice, that all stacks are known, and that allocations,\n"
    "frees and bytes are what the library counted. Says what is missing.\n\n"
    "Exit status: 0 nothing is missing, 1 something is, 2 a file is no trace.\n";

static bool check_trace(const pfa_trace_t *trace)
{
    char chunks[PFA_NUMBER_TEXT];
    char live[PFA_NUMBER_TEXT];
    pfa_tally_t tally;
    pfa_account_t account = {.bad_blocks = 0};
    pfa_symbols_t *symbols = pfa_symbols_new();
    int error = pfa_tally_check(&tally, trace, &account);
    account.bad_blocks += !pfa_symbolblock_read(trace, symbols);
    pfa_symbols_free(symbols);
    pfa_tally_tell_missing(&tally, trace, &account);
    if (error != 0) {
        pfa_notes_add(&account.missing, "what could not be read: %s", strerror(error));
    }
    char *path = pfa_memory_text(trace->path, strlen(trace->path));
    printf("%s: %s, %s allocations, %s of them alive at the end, %zu blocks\n", path,
           account.missing.count == 0 ? "complete" : "NOT complete",
           pfa_text_count(chunks, tally.frees + tally.live_chunks), pfa_text_count(live, tally.live_chunks),
           trace->blocks.count);
    for (size_t i = 0; i < account.missing.count; i++) {
        printf("  missing: %s\n", account.missing.list[i]);
    }
    for (size_t i = 0; i < account.remarks.count; i++) {
        printf("  note: %s\n", account.remarks.list[i]);
    }
    bool complete = account.missing.count == 0;
    pfa_memory_free(path);
    pfa_account_free(&account);
    return complete;
}

int pfa_command_check(int argc, char **argv)
{
    int status = 0;
    int first = pfa_tool_files(argc, argv, usage, &status);
    for (int i = first; first != 0 && i < argc; i++) {
        char *why = NULL;
        pfa_trace_t *trace = pfa_trace_open(argv[i], &pfa_cli_watch, &why);
        if (trace == NULL) {
            pfa_tool_say("check", "%s", why != NULL ? why : argv[i]);
            status = PFA_EXIT_USAGE;
        } else if (!check_trace(trace) && status == 0) {
            status = PFA_EXIT_FAILED;
        }
        pfa_memory_free(why);
        pfa_trace_close(trace);
    }
    return pfa_tool_finish("check", status);
}
