/* Owns the packing of traces. See analyze/names/pack.h. */
#include "analyze/names/pack.h"
#include "analyze/base/memory.h"
#include "analyze/base/newfile.h"
#include "analyze/base/notes.h"
#include "analyze/base/progress.h"
#include "analyze/names/symbolblock.h"
#include "analyze/trace/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_stacks(pfa_stacks_t *stacks, const pfa_trace_t *trace)
{
    uint32_t *known = pfa_memory_get(trace->node_count, sizeof *known);
    for (uint32_t i = PFA_NODE_FIRST; i < trace->node_count; i++) {
        (void)pfa_stacks_add(stacks, trace, i, known);
    }
    pfa_memory_free(known);
}

/* Everything but the end and names from before, then the names, then the end. */
static int write_packed(const pfa_trace_t *trace, pfa_symbols_t *symbols, int fd, pfa_notes_t *remarks)
{
    pfa_tracefile_t writer;
    pfa_stacks_t stacks;
    pfa_progress_t progress;
    pfa_tracefile_begin(&writer, fd, NULL);
    pfa_progress_begin(&progress, trace->watch, "copying", trace->blocks.size);
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
    pfa_stacks_tell(&stacks, remarks);
    pfa_stacks_free(&stacks);
    pfa_tracefile_free(&writer);
    return writer.error;
}

typedef struct packing {
    const pfa_trace_t *trace;
    pfa_symbols_t *symbols;
    int fd;
    pfa_notes_t *remarks;
    int error;
} packing_t;

static void write_all(void *to)
{
    packing_t *packing = to;
    packing->error = write_packed(packing->trace, packing->symbols, packing->fd, packing->remarks);
}

/* Under another name until it is whole; as work of its own, so that without memory, too, that is removed. */
int pfa_pack(const pfa_trace_t *trace, const char *to, const pfa_pack_servers_t *servers, pfa_notes_t *remarks)
{
    char *part;
    packing_t packing = {.trace = trace, .symbols = pfa_symbols_new(), .remarks = remarks};
    if (servers->urls != NULL) {
        pfa_symbols_serve(packing.symbols, servers->urls, servers->seconds, trace->watch);
    }
    (void)pfa_symbolblock_read(trace, packing.symbols);
    packing.fd = pfa_newfile_open(to, &part);
    if (packing.fd < 0) {
        return errno;
    }
    int error = pfa_memory_work(pfa_memory_arena(), write_all, &packing);
    error = error != 0 ? error : packing.error;
    error = close(packing.fd) != 0 && error == 0 ? errno : error;
    error = error == 0 && rename(part, to) != 0 ? errno : error;
    if (error != 0) {
        (void)unlink(part);
    }
    pfa_symbols_free(packing.symbols);
    pfa_memory_free(part);
    return error;
}

/* The copy has whole blocks only, and an end that counts those: what the reader knows of damage would be lost. A trace that
 * was cut has no end, and neither has its copy. */
bool pfa_pack_is_damaged(const pfa_trace_t *trace, pfa_account_t *account)
{
    const pfa_blocks_t *blocks = &trace->blocks;
    pfa_tally_t tally;
    bool whole = pfa_tally_check(&tally, trace, account) == 0 && trace->bad_blocks + account->bad_blocks == 0 &&
                 trace->has_start;
    bool counted = !trace->has_end || (trace->end.blocks + (size_t)1 == blocks->count && blocks->end == blocks->size);
    pfa_tally_tell_missing(&tally, trace, account);
    return !whole || !counted || blocks->damages != 0 || blocks->given_up;
}
