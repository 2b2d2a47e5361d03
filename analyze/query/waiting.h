/* Rows of a batch that wait to be told group by group, so that what is kept of a group stays in the cache. */
#ifndef PFA_ANALYZE_QUERY_WAITING_H
#define PFA_ANALYZE_QUERY_WAITING_H

#include "analyze/trace/rows.h"

typedef struct pfa_waiting_row {
    pfa_row_t row;
    uint32_t kind;
    uint32_t group;
    bool live;
} pfa_waiting_row_t;

typedef struct pfa_waiting {
    pfa_waiting_row_t *rows; /* PFA_BATCH_ROWS of them; NULL: nothing waits */
    uint32_t count;
    uint32_t *order;
    uint32_t *group_at; /* by group: 1 and its place among those of the batch; 0: not one of them */
    size_t group_room;
    uint32_t *starts; /* by place */
    uint32_t *groups;
    uint32_t group_count;
} pfa_waiting_t;

void pfa_waiting_begin(pfa_waiting_t *waiting);
void pfa_waiting_end(pfa_waiting_t *waiting);
void pfa_waiting_add(pfa_waiting_t *waiting, const pfa_waiting_row_t *row);
/* Fills `order`: rows that realloc made or ended first, then group by group; both as they came. */
void pfa_waiting_sort(pfa_waiting_t *waiting);

#endif
