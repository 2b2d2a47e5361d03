/* Owns which chunks are seen. See analyze/names/sight.h. */
#include "analyze/names/sight.h"
#include "analyze/base/memory.h"
#include "analyze/names/place.h"

#include <stdlib.h>
#include <string.h>

/* Wrapped functions that give new chunks to their callers, and tell what libc wrote there (hooks/access). */
static bool gives_chunks(const pfa_symbol_t *symbol)
{
    static const char *const names[] = {"strdup", "__strdup", "strndup", "__strndup", "__getdelim"};
    static const char prefix[] = "__wrap_";
    bool wrapper = symbol->function != NULL && strncmp(symbol->function, prefix, strlen(prefix)) == 0;
    for (size_t i = 0; wrapper && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(symbol->function + strlen(prefix), names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What is at a frame, but for what is inlined there. */
static pfa_line_t outer_line(pfa_stacks_t *stacks, const pfa_frame_t *frame)
{
    size_t count;
    const pfa_symbol_t *symbols = pfa_stacks_find(stacks, frame, &count);
    return (pfa_line_t){.symbol = &symbols[count - 1],
                        .module = pfa_symbols_path(stacks->symbols, frame->module),
                        .address = frame->address};
}

static pfa_sight_t look(pfa_stacks_t *stacks, uint32_t stack)
{
    bool others = false; /* code that is not instrumented is nearer to the allocator */
    bool told = false;
    for (; stack >= PFA_NODE_FIRST; stack = stacks->frames[stack].caller) {
        const pfa_frame_t *frame = &stacks->frames[stack];
        uint32_t flags = pfa_symbols_flags(stacks->symbols, frame->module);
        if (frame->module != 0 && (flags & PFA_MODULE_TOLD) == 0) {
            return PFA_SIGHT_UNKNOWN;
        }
        told = told || frame->module != 0;
        bool instrumented = (flags & PFA_MODULE_INSTRUMENTED) != 0;
        if (instrumented && !others) {
            return PFA_SIGHT_SEEN;
        }
        pfa_line_t line = outer_line(stacks, frame);
        if (instrumented) {
            return gives_chunks(line.symbol) ? PFA_SIGHT_SEEN : PFA_SIGHT_BLIND;
        }
        others = others || !pfa_line_is_allocator(&line);
    }
    return told && others ? PFA_SIGHT_BLIND : PFA_SIGHT_UNKNOWN;
}

pfa_sight_t pfa_sight_of(pfa_sights_t *sights, uint32_t stack)
{
    if (stack < sights->room && sights->known[stack] != PFA_SIGHT_UNASKED) {
        return (pfa_sight_t)sights->known[stack];
    }
    sights->known = pfa_memory_grow(sights->known, &sights->room, (size_t)stack + 1, sizeof *sights->known);
    sights->known[stack] = (uint8_t)look(sights->stacks, stack);
    return (pfa_sight_t)sights->known[stack];
}

/* Of libc, which is wrapped as far as it can be, or there because of libprofalloc. A program that uses zstd or liburcu by itself is
 * not told from one that does not. */
static bool is_known_module(const char *path)
{
    static const char *const names[] = {"libc.so",  "libm.so",      "libpthread.so", "libdl.so",
                                        "librt.so", "ld-linux",     "ld.so",         "linux-vdso",
                                        "[vdso]",   "libprofalloc", "libzstd.so",    "liburcu"};
    const char *name = pfa_place_base_name(path);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool pfa_sight_is_whole(const pfa_trace_t *trace)
{
    for (size_t i = 0; i < trace->module_list_count; i++) {
        const pfa_module_list_t *list = &trace->module_lists[i];
        for (size_t j = 0; j < list->count; j++) {
            const pfa_module_t *module = &list->modules[j];
            if ((module->flags & PFA_MODULE_INSTRUMENTED) == 0 && !is_known_module(module->path)) {
                return false;
            }
        }
    }
    return trace->module_list_count != 0;
}

void pfa_sights_free(pfa_sights_t *sights)
{
    pfa_memory_free(sights->known);
}
