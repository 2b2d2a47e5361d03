/* Owns what a stack is as a chain of functions: the allocator's own are not in it, nor is what calls main or the first
 * function of a thread, which the paper's chains do not have either. See analyze/mprof/functions.h. */
#include "analyze/mprof/functions.h"
#include "analyze/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL ? slash + 1 : path != NULL ? path : "";
}

static bool is_main_caller(const pfa_line_t *line)
{
    return line->symbol->function != NULL && strncmp(line->symbol->function, "__libc_start_main", 17) == 0;
}

/* Of the C library and the loader, which are often without names. */
static bool is_start(const pfa_line_t *line)
{
    static const char *const names[] = {
        "_start", "__libc_start_call_main", "start_thread", "thread_start", "clone", "clone3", "__clone", "__clone3"};
    static const char *const modules[] = {"libc.so", "libc-2", "libpthread", "ld-linux"};
    const char *function = line->symbol->function;
    for (size_t i = 0; function != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(function, names[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; function == NULL && i < sizeof modules / sizeof modules[0]; i++) {
        if (strncmp(base_name(line->module), modules[i], strlen(modules[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* How many of the lines are the program's. What calls __libc_start_main is _start, whether it has a name or not. */
static size_t cut_start(const pfa_lines_t *lines)
{
    size_t count = lines->count;
    if (lines->root != PFA_NODE_COMPLETE) {
        return count;
    }
    for (size_t i = count; i-- > 1;) {
        if (is_main_caller(&lines->list[i])) {
            count = i;
            break;
        }
    }
    while (count > 1 && is_start(&lines->list[count - 1])) {
        count--;
    }
    return count;
}

static uint32_t function_of(pfa_functions_t *functions, const pfa_line_t *line)
{
    char address[4096];
    const char *module = base_name(line->module);
    if (line->symbol->function != NULL) {
        return pfa_functions_put(functions, line->symbol->function, module, true);
    }
    snprintf(address, sizeof address, "%.4000s%s0x%" PRIx64, module, module[0] != '\0' ? "+" : "", line->address);
    return pfa_functions_put(functions, address, module, false);
}

static void append(pfa_callchain_t *chain, uint32_t function, uint32_t offset)
{
    chain->functions = pfa_memory_grow(chain->functions, &chain->room, chain->count + 1, sizeof *chain->functions);
    chain->offsets = pfa_memory_grow(chain->offsets, &chain->offset_room, chain->count + 1, sizeof *chain->offsets);
    chain->functions[chain->count] = function;
    chain->offsets[chain->count++] = offset;
}

void pfa_callchain_take(pfa_callchain_t *chain, pfa_functions_t *functions, pfa_stacks_t *stacks, uint32_t stack)
{
    pfa_stacks_lines(stacks, stack, &chain->lines);
    size_t count = cut_start(&chain->lines);
    chain->count = 0;
    for (size_t i = 0; i < count; i++) {
        const pfa_line_t *line = &chain->lines.list[i];
        append(chain, function_of(functions, line), line->symbol->offset);
    }
    chain->open = count == 0 || chain->lines.root != PFA_NODE_COMPLETE;
    if (chain->open) {
        append(chain, PFA_FUNCTION_UNKNOWN, 0);
    }
}

void pfa_callchain_free(pfa_callchain_t *chain)
{
    pfa_memory_free(chain->functions);
    pfa_memory_free(chain->offsets);
    pfa_lines_free(&chain->lines);
    *chain = (pfa_callchain_t){.functions = NULL};
}
