/* Owns the stacks of a report. See analyze/names/stacks.h. */
#include "analyze/names/stacks.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return pfa_checksum_mix(hash, word);
}

void pfa_stacks_begin(pfa_stacks_t *stacks, pfa_symbols_t *symbols)
{
    *stacks = (pfa_stacks_t){.symbols = symbols};
    stacks->frames = pfa_memory_grow(NULL, &stacks->room, PFA_NODE_FIRST, sizeof *stacks->frames);
    for (uint32_t i = 0; i < PFA_NODE_FIRST; i++) {
        stacks->frames[i] = (pfa_frame_t){.hash = mix(1, i), .caller = i};
    }
    stacks->count = PFA_NODE_FIRST;
}

void pfa_stacks_free(pfa_stacks_t *stacks)
{
    pfa_slots_free(&stacks->slots);
    pfa_memory_free(stacks->frames);
    pfa_memory_free(stacks->missed);
}

static uint32_t add_frame(pfa_stacks_t *stacks, const pfa_frame_t *frame)
{
    pfa_probe_t probe = pfa_slots_probe(&stacks->slots, frame->hash);
    while (pfa_slots_next(&stacks->slots, &probe)) {
        const pfa_frame_t *known = &stacks->frames[probe.number];
        if (known->hash == frame->hash && known->address == frame->address && known->module == frame->module &&
            known->caller == frame->caller) {
            return probe.number;
        }
    }
    stacks->frames = pfa_memory_grow(stacks->frames, &stacks->room, stacks->count + 1, sizeof *stacks->frames);
    stacks->frames[stacks->count] = *frame;
    pfa_slots_put(&stacks->slots, frame->hash, (uint32_t)stacks->count);
    return (uint32_t)stacks->count++;
}

static uint64_t hash_text(const char *text)
{
    return pfa_checksum(0, text, strlen(text));
}

static uint32_t add_node(pfa_stacks_t *stacks, const pfa_trace_t *trace, uint32_t node, uint32_t caller)
{
    const pfa_module_t *module = pfa_trace_module(trace, node);
    pfa_frame_t frame = {.address = trace->pcs[node], .caller = caller};
    if (module != NULL) {
        frame.module = module->number != 0 ? module->number : pfa_symbols_module(stacks->symbols, module);
        frame.address -= module->bias;
    }
    uint64_t hash = mix(stacks->frames[caller].hash, hash_text(pfa_symbols_identity(stacks->symbols, frame.module)));
    frame.hash = mix(hash, frame.address);
    return add_frame(stacks, &frame);
}

uint32_t pfa_stacks_add(pfa_stacks_t *stacks, const pfa_trace_t *trace, uint32_t node, uint32_t *known)
{
    if (node >= trace->node_count) {
        return PFA_NODE_UNKNOWN;
    }
    /* Up to a node that is known, then down again: callers have lower numbers, so this ends. */
    uint32_t *path = NULL;
    size_t room = 0;
    size_t count = 0;
    for (uint32_t at = node; at >= PFA_NODE_FIRST && known[at] == 0; at = trace->parents[at]) {
        path = pfa_memory_grow(path, &room, count + 1, sizeof *path);
        path[count++] = at;
    }
    while (count-- > 0) {
        uint32_t parent = trace->parents[path[count]];
        known[path[count]] = add_node(stacks, trace, path[count], parent < PFA_NODE_FIRST ? parent : known[parent]);
    }
    pfa_memory_free(path);
    return node < PFA_NODE_FIRST ? node : known[node];
}

bool pfa_line_is_allocator(const pfa_line_t *line)
{
    static const char *const entries[] = {"malloc",         "calloc",        "realloc",       "free",    "memalign",
                                          "posix_memalign", "aligned_alloc", "valloc",        "pvalloc", "reallocarray",
                                          "__libc_malloc",  "__libc_calloc", "__libc_realloc"};
    const char *slash = line->module != NULL ? strrchr(line->module, '/') : NULL;
    if (slash != NULL && strncmp(slash + 1, "libprofalloc.so", 15) == 0) {
        return true;
    }
    const char *function = line->symbol->function;
    if (function == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcmp(function, entries[i]) == 0) {
            return true;
        }
    }
    return strncmp(function, "pfa_", 4) == 0 || strncmp(function, "operator new", 12) == 0;
}

const pfa_symbol_t *pfa_stacks_find(pfa_stacks_t *stacks, const pfa_frame_t *frame, size_t *count)
{
    bool missed;
    const pfa_symbol_t *symbols = pfa_symbols_find(stacks->symbols, frame->module, frame->address, count, &missed);
    if (missed) {
        stacks->missed = pfa_memory_grow(stacks->missed, &stacks->missed_room, (size_t)frame->module + 1, sizeof(bool));
        stacks->missed[frame->module] = true;
    }
    return symbols;
}

void pfa_stacks_tell(const pfa_stacks_t *stacks, pfa_notes_t *remarks)
{
    pfa_symbols_tell(stacks->symbols, stacks->missed, stacks->missed_room, remarks);
}

void pfa_stacks_lines(pfa_stacks_t *stacks, uint32_t stack, pfa_lines_t *lines)
{
    bool top = true;
    lines->count = 0;
    for (; stack >= PFA_NODE_FIRST; stack = stacks->frames[stack].caller) {
        const pfa_frame_t *frame = &stacks->frames[stack];
        size_t count;
        const pfa_symbol_t *symbols = pfa_stacks_find(stacks, frame, &count);
        for (size_t i = 0; i < count; i++) {
            pfa_line_t line = {.symbol = &symbols[i],
                               .module = pfa_symbols_path(stacks->symbols, frame->module),
                               .build = pfa_symbols_identity(stacks->symbols, frame->module),
                               .address = frame->address};
            top = top && pfa_line_is_allocator(&line);
            if (!top) {
                lines->list = pfa_memory_grow(lines->list, &lines->room, lines->count + 1, sizeof *lines->list);
                lines->list[lines->count++] = line;
            }
        }
    }
    lines->root = stack;
}

void pfa_lines_free(pfa_lines_t *lines)
{
    pfa_memory_free(lines->list);
    *lines = (pfa_lines_t){.list = NULL};
}
