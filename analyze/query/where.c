/* Owns expressions of --where. See analyze/query/where.h. */
#include "analyze/query/where.h"
#include "analyze/tool/tool.h"

#include <string.h>

pfa_where_names_t *pfa_where_names_new(void)
{
    return NULL;
}

void pfa_where_names_free(pfa_where_names_t *names)
{
    (void)names;
}

bool pfa_where_names_read(pfa_where_names_t *names, const char *path, char **why)
{
    (void)names;
    (void)path;
    *why = pfa_memory_copy("not there yet", 13);
    return false;
}

pfa_where_t *pfa_where_parse(const char *text, pfa_where_names_t *names, char **why)
{
    (void)text;
    (void)names;
    *why = pfa_memory_copy("not there yet", 13);
    return NULL;
}

void pfa_where_free(pfa_where_t *where)
{
    (void)where;
}

pfa_where_set_t *pfa_where_sets(pfa_where_t *where, size_t *count)
{
    (void)where;
    *count = 0;
    return NULL;
}

bool pfa_where_needs_accesses(const pfa_where_t *where)
{
    return where != NULL;
}

bool pfa_where_needs_chunks(const pfa_where_t *where)
{
    return where != NULL;
}

bool pfa_where_is_of_stacks(const pfa_where_t *where)
{
    return where == NULL;
}

void pfa_where_batch(pfa_where_t *where)
{
    (void)where;
}

pfa_truth_t pfa_where_kind(pfa_where_t *where, const pfa_subject_t *subject, uint32_t *slot)
{
    (void)where;
    (void)subject;
    *slot = 0;
    return PFA_YES;
}

bool pfa_where_chunk(pfa_where_t *where, uint32_t slot, const double *numbers)
{
    (void)where;
    (void)slot;
    (void)numbers;
    return true;
}
