/* Owns the choice of callers. See analyze/excess/callers.h. */
#include "analyze/excess/callers.h"
#include "analyze/query/keys.h"

bool pfa_callers_are_routines(const pfa_callers_t *callers)
{
    return callers->query->key == NULL;
}

const char *pfa_callers_kind(const pfa_callers_t *callers)
{
    return pfa_callers_are_routines(callers) ? "caller" : callers->query->key->name;
}

uint32_t pfa_callers_of(pfa_callers_t *callers, const pfa_object_cell_t *cell)
{
    return pfa_callers_are_routines(callers) ? pfa_routines_of_stack(&callers->routines, cell->key.from)
                                             : cell->key.group;
}

const char *pfa_callers_name(const pfa_callers_t *callers, uint32_t caller)
{
    return pfa_callers_are_routines(callers) ? callers->routines.list[caller].name
                                             : pfa_query_group_name(callers->query, caller);
}
