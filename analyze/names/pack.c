/* Owns `profalloc pack`: a copy of a trace that takes the names of its addresses along. */
#include "cli/commands.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/progress.h"
#include "analyze/names/symbolblock.h"
#include "analyze/trace/tally.h"
#include "cli/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    char *name = NULL;
    return asprintf(&name, "%.*s.packed%s", (int)length, path, PFA_TRACE_SUFFIX) < 0 ? NULL : name;
}

static void add_stacks(pfa_stacks_t *stacks, const pfa_trace_t *trace)
{
    uint32_t *known = pfa_memory_get(trace->node_count, sizeof *known);
    for (uint32_t i = PFA_NODE_FIRST; i < trace->node_count; i++) {
        (void)pfa_stacks_add(stacks, trace, i, known);
    }
    free(known);
}

/* Everything but the end and names from before, then the names, then the end. */
static int write_packed(const pfa_trace_t *trace, pfa_symbols_t *symbols, int fd)
{
    pfa_tracefile_t writer;
    pfa_stacks_t stacks;
    pfa_progress_t progress;
    pfa_tracefile_begin(&writer, fd, NULL);
    pfa_progress_begin(&progress, "copying", trace->blocks.size);
    for (size_t i = 0; i < trace->blocks.count; i++) {
        const pfa_block_t *block = &trace->blocks.list[i];
        if (block->kind != PFA_BLOCK_END && block->kind != PFA_BLOCK_SYMBOLS) {
            pfa_tracefile_copy(&writer, trace->fd, block);
        }
        pfa_progress_step(&progress, block->stored_size);
    }
    pfa_progress_end(&progress);
    pfa_stacks_begin(&stacks, symbols);
    add_stacks(&stacks, trace);
    pfa_symbolblock_write(&writer, trace->last_time, &stacks);
    if (trace->has_end) {
        pfa_tracefile_end(&writer, (pfa_end_t)trace->end.how, trace->last_time);
    }
    pfa_stacks_free(&stacks);
    pfa_tracefile_free(&writer);
    return writer.error;
}

/* Under another name until it is whole. */
static int pack(const pfa_trace_t *trace, const char *to)
{
    char *part = NULL;
    pfa_symbols_t *symbols = pfa_symbols_new();
    pfa_notes_t remarks = {.list = NULL};
    (void)pfa_symbolblock_read(trace, symbols);
    int fd = asprintf(&part, "%s.XXXXXX", to) < 0 ? -1 : mkostemp(part, O_CLOEXEC);
    int error = fd < 0 ? errno : write_packed(trace, symbols, fd);
    if (fd >= 0) {
        mode_t mask = umask(0);
        (void)umask(mask);
        error = error == 0 && fchmod(fd, 0666 & ~mask) != 0 ? errno : error;
        error = close(fd) != 0 && error == 0 ? errno : error;
        error = error == 0 && rename(part, to) != 0 ? errno : error;
    }
    if (fd >= 0 && error != 0) {
        (void)unlink(part);
    }
    pfa_symbols_tell(symbols, &remarks);
    for (size_t i = 0; error == 0 && i < remarks.count; i++) {
        pfa_tool_say("pack", "%s", remarks.list[i]);
    }
    pfa_notes_free(&remarks);
    pfa_symbols_free(symbols);
    free(part);
    return error;
}

/* The copy has whole blocks only, and an end that counts those: what the reader knows of damage would be lost. A trace that
 * was cut has no end, and neither has its copy. */
static bool is_damaged(pfa_trace_t *trace)
{
    const pfa_blocks_t *blocks = &trace->blocks;
    pfa_tally_t tally;
    bool whole = pfa_tally_check(&tally, trace) == 0 && trace->bad_blocks == 0 && trace->has_start;
    bool counted = !trace->has_end || (trace->end.blocks + (size_t)1 == blocks->count && blocks->end == blocks->size);
    pfa_tally_tell_missing(&tally, trace);
    return !whole || !counted || blocks->damages != 0 || blocks->given_up;
}

static int pack_file(const char *path, const char *to)
{
    char *why = NULL;
    pfa_trace_t *trace = pfa_trace_open(path, &why);
    int status = 0;
    if (trace == NULL) {
        pfa_tool_say("pack", "%s", why != NULL ? why : path);
        status = PFA_EXIT_USAGE;
    } else if (trace->live != NULL) {
        pfa_tool_say("pack", "%s has no end yet%s", path,
                     trace->running ? ": its process goes on" : ": first run `profalloc seal` on it");
        status = PFA_EXIT_FAILED;
    } else if (is_damaged(trace)) {
        pfa_tool_say("pack", "%s is damaged, and a copy would not show it; `profalloc report` tells what is left",
                     path);
        for (size_t i = 0; i < trace->missing.count; i++) {
            fprintf(stderr, "  missing: %s\n", trace->missing.list[i]);
        }
        status = PFA_EXIT_FAILED;
    } else {
        int error = pack(trace, to);
        if (error != 0) {
            pfa_tool_say("pack", "cannot write %s: %s", to, strerror(error));
            status = PFA_EXIT_FAILED;
        } else {
            printf("%s\n", to);
        }
    }
    free(why);
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
    char *to = given != NULL ? strdup(given) : name_output(argv[optind]);
    int status = to != NULL ? pack_file(argv[optind], to) : PFA_EXIT_FAILED;
    free(to);
    return pfa_tool_finish("pack", status);
}
