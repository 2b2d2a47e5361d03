/* Owns the functions of mprof's tables. See analyze/mprof/functions.h. */
#include "analyze/mprof/functions.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_texts(const char *name, const char *module)
{
    return pfa_checksum(pfa_checksum(0, name, strlen(name)), module, strlen(module));
}

void pfa_functions_begin(pfa_functions_t *functions)
{
    *functions = (pfa_functions_t){.count = 0};
    (void)pfa_functions_put(functions, "<not recorded>", "", false);
}

void pfa_functions_free(pfa_functions_t *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        pfa_memory_free(functions->list[i].name);
        pfa_memory_free(functions->list[i].module);
    }
    pfa_memory_free(functions->list);
    pfa_slots_free(&functions->slots);
}

uint32_t pfa_functions_put(pfa_functions_t *functions, const char *name, const char *module, bool has_name)
{
    uint64_t hash = hash_texts(name, module);
    pfa_probe_t probe = pfa_slots_probe(&functions->slots, hash);
    while (pfa_slots_next(&functions->slots, &probe)) {
        const pfa_function_t *known = &functions->list[probe.number];
        if (strcmp(known->name, name) == 0 && strcmp(known->module, module) == 0) {
            return probe.number;
        }
    }
    functions->list = pfa_memory_grow(functions->list, &functions->room, functions->count + 1, sizeof *functions->list);
    functions->list[functions->count] = (pfa_function_t){.name = pfa_memory_copy(name, strlen(name)),
                                                         .module = pfa_memory_copy(module, strlen(module)),
                                                         .has_name = has_name};
    pfa_slots_put(&functions->slots, hash, (uint32_t)functions->count);
    return (uint32_t)functions->count++;
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
    pfa_memory_free(order);
}
