/* Owns the titles of charts. See analyze/draw/chart.h. */
#include "analyze/draw/chart.h"
#include "analyze/base/memory.h"
#include "analyze/query/query.h"

char *pfa_chart_title(const pfa_query_t *query, const char *what)
{
    const pfa_source_t *first = &query->sources[0];
    return query->source_count > 1
               ? pfa_memory_format("%s: %zu traces", what, query->source_count)
               : pfa_memory_format("%s: %s", what, first->command != NULL ? first->command : first->path);
}
