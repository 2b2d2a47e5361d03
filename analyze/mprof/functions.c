/* Owns the functions of mprof's tables. See analyze/mprof/functions.h. */
#include "analyze/mprof/functions.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_texts(const char *name, const char *module)
{
    return pfa_checksum(pfa_checksum(0, name, strlen(name)), module, strlen(module));
}

static uint32_t *find_slot(const pfa_functions_t *functions, uint32_t *slots, size_t slot_count, const char *name,
                           const char *module)
{
    size_t at = hash_texts(name, module) & (slot_count - 1);
    for (; slots[at] != 0; at = (at + 1) & (slot_count - 1)) {
        const pfa_function_t *known = &functions->list[slots[at] - 1];
        if (strcmp(known->name, name) == 0 && strcmp(known->module, module) == 0) {
            break;
        }
    }
    return &slots[at];
}

static void grow_slots(pfa_functions_t *functions)
{
    size_t slot_count = 2 * functions->slot_count;
    uint32_t *slots = pfa_memory_get(slot_count, sizeof *slots);
    for (size_t i = 0; i < functions->count; i++) {
        const pfa_function_t *known = &functions->list[i];
        *find_slot(functions, slots, slot_count, known->name, known->module) = (uint32_t)i + 1;
    }
    free(functions->slots);
    functions->slots = slots;
    functions->slot_count = slot_count;
}

void pfa_functions_begin(pfa_functions_t *functions)
{
    *functions = (pfa_functions_t){.slot_count = 1024};
    functions->slots = pfa_memory_get(functions->slot_count, sizeof *functions->slots);
    (void)pfa_functions_put(functions, "<not recorded>", "", false);
}

void pfa_functions_free(pfa_functions_t *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        free(functions->list[i].name);
        free(functions->list[i].module);
    }
    free(functions->list);
    free(functions->slots);
}

uint32_t pfa_functions_put(pfa_functions_t *functions, const char *name, const char *module, bool has_name)
{
    if (2 * (functions->count + 1) > functions->slot_count) {
        grow_slots(functions);
    }
    uint32_t *slot = find_slot(functions, functions->slots, functions->slot_count, name, module);
    if (*slot == 0) {
        functions->list =
            pfa_memory_grow(functions->list, &functions->room, functions->count + 1, sizeof *functions->list);
        functions->list[functions->count] = (pfa_function_t){.name = pfa_memory_copy(name, strlen(name)),
                                                             .module = pfa_memory_copy(module, strlen(module)),
                                                             .has_name = has_name};
        *slot = (uint32_t)++functions->count;
    }
    return *slot - 1;
}

int pfa_functions_compare(const pfa_functions_t *functions, uint32_t left, uint32_t right)
{
    int result = strcmp(functions->list[left].name, functions->list[right].name);
    return result != 0 ? result : strcmp(functions->list[left].module, functions->list[right].module);
}

static int compare_listed(const void *a, const void *b, void *to)
{
    return pfa_functions_compare(to, *(const uint32_t *)a, *(const uint32_t *)b);
}

void pfa_functions_finish(pfa_functions_t *functions)
{
    uint32_t *order = pfa_memory_get(functions->count, sizeof *order);
    for (uint32_t i = 0; i < functions->count; i++) {
        order[i] = i;
    }
    qsort_r(order, functions->count, sizeof *order, compare_listed, functions);
    for (size_t i = 1; i < functions->count; i++) {
        pfa_function_t *one = &functions->list[order[i - 1]];
        pfa_function_t *other = &functions->list[order[i]];
        if (strcmp(one->name, other->name) == 0) {
            one->ambiguous = other->ambiguous = true;
        }
    }
    free(order);
}
