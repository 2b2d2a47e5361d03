/* Owns the numbers of functions. See analyze/excess/routines.h. */
#include "analyze/excess/routines.h"
#include "analyze/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const char *name, const char *module)
{
    uint64_t hash = pfa_checksum(0, name, strlen(name));
    return module != NULL ? pfa_checksum(hash, module, strlen(module)) : hash;
}

static uint32_t add(pfa_routines_t *routines, const pfa_routine_t *routine)
{
    routines->list = pfa_memory_grow(routines->list, &routines->room, routines->count + 1, sizeof *routines->list);
    routines->list[routines->count] = *routine;
    return (uint32_t)routines->count++;
}

void pfa_routines_begin(pfa_routines_t *routines, pfa_stacks_t *stacks, const pfa_wrappers_t *wrappers)
{
    *routines = (pfa_routines_t){.stacks = stacks, .wrappers = wrappers};
    add(routines, &(pfa_routine_t){.name = pfa_memory_copy("never freed", 11)});
    add(routines, &(pfa_routine_t){.name = pfa_memory_copy("not recorded", 12)});
}

static bool is_same(const pfa_routine_t *routine, const char *name, const char *module)
{
    bool modules = routine->module == module ||
                   (module != NULL && routine->module != NULL && strcmp(module, routine->module) == 0);
    return modules && strcmp(routine->name, name) == 0;
}

static uint32_t find_routine(pfa_routines_t *routines, const char *name, const pfa_line_t *line)
{
    uint64_t hash = hash_of(name, line->module);
    pfa_probe_t probe = pfa_slots_probe(&routines->slots, hash);
    while (pfa_slots_next(&routines->slots, &probe)) {
        if (is_same(&routines->list[probe.number], name, line->module)) {
            return probe.number;
        }
    }
    pfa_slots_put(&routines->slots, hash, (uint32_t)routines->count);
    return add(routines, &(pfa_routine_t){.name = pfa_memory_copy(name, strlen(name)),
                                          .module = line->module,
                                          .file = line->symbol->file,
                                          .wrapper = pfa_wrappers_has(routines->wrappers, line)});
}

uint32_t pfa_routines_of_line(pfa_routines_t *routines, const pfa_line_t *line)
{
    const char *name = line->symbol->function;
    char *made = NULL;
    if (name == NULL) {
        const char *slash = line->module != NULL ? strrchr(line->module, '/') : NULL;
        const char *base = slash != NULL ? slash + 1 : line->module != NULL ? line->module : "?";
        name = made = pfa_memory_format("%s+0x%" PRIx64, base, line->address);
    }
    uint32_t number = find_routine(routines, name, line);
    pfa_memory_free(made);
    return number;
}

static bool is_wrapper(pfa_routines_t *routines, const pfa_line_t *line)
{
    uint32_t number = pfa_routines_of_line(routines, line); /* which may move the list */
    return routines->list[number].wrapper;
}

size_t pfa_routines_first(pfa_routines_t *routines, const pfa_lines_t *lines)
{
    size_t i = 0;
    while (i + 1 < lines->count && is_wrapper(routines, &lines->list[i])) {
        i++;
    }
    return i;
}

static uint32_t ask_stack(pfa_routines_t *routines, uint32_t stack)
{
    pfa_stacks_lines(routines->stacks, stack, &routines->lines);
    if (routines->lines.count == 0) {
        return PFA_ROUTINE_UNKNOWN;
    }
    size_t first = pfa_routines_first(routines, &routines->lines);
    return pfa_routines_of_line(routines, &routines->lines.list[first]);
}

uint32_t pfa_routines_of_stack(pfa_routines_t *routines, uint32_t stack)
{
    if (stack >= routines->stack_room) {
        routines->of_stack =
            pfa_memory_grow(routines->of_stack, &routines->stack_room, (size_t)stack + 1, sizeof *routines->of_stack);
    }
    if (routines->of_stack[stack] == 0) {
        routines->of_stack[stack] = ask_stack(routines, stack) + 1;
    }
    return routines->of_stack[stack] - 1;
}
