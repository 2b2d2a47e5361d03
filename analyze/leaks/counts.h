/* Which places free the chunks of a group, and which threads allocate and free them: sums by (group, role, value), in memory that
 * grows with the number of those that are different. */
#ifndef PFA_ANALYZE_LEAKS_COUNTS_H
#define PFA_ANALYZE_LEAKS_COUNTS_H

#include "analyze/base/slots.h"
#include "analyze/query/query.h"

#include <stddef.h>
#include <stdint.h>

typedef enum pfa_role {
    PFA_ROLE_SITE,  /* the stack that frees: its number */
    PFA_ROLE_FREER, /* the thread that frees: the address of its name, which is kept once */
    PFA_ROLE_OWNER, /* the thread that allocates, likewise */
    PFA_ROLES
} pfa_role_t;

typedef struct pfa_count {
    uint32_t group;
    uint32_t role;
    uint64_t value;
    double freed; /* chunks */
    double live;
} pfa_count_t;

/* Those of the groups of a lane. */
typedef struct pfa_count_lane {
    pfa_count_t *list;
    size_t count;
    size_t room;
    pfa_slots_t slots; /* of numbers in the list */
    double lost;       /* chunks that there was no more room for: a trace made to have endless pairs has these */
} pfa_count_lane_t;

typedef struct pfa_counts {
    pfa_count_lane_t *lanes; /* PFA_LANES of them, until all is sorted */
    bool full;               /* there is room for no new ones */
    pfa_count_t *list;       /* then, of all */
    size_t count;
    double lost;
} pfa_counts_t;

void pfa_counts_begin(pfa_counts_t *counts);
/* The one of a group, role and value, and its number plus 1, which *last gets; NULL: it is not there, and there is no more room. */
pfa_count_t *pfa_counts_find(pfa_counts_t *counts, uint32_t group, uint32_t role, uint64_t value, uint32_t *last);
/* By lanes. `last` is of this group and role: it has the number of the one that was added to before, which is often the same; 0 at first. */
static inline void pfa_counts_add(pfa_counts_t *counts, uint32_t group, uint32_t role, uint64_t value, double freed,
                                  double live, uint32_t *last)
{
    pfa_count_lane_t *lane = &counts->lanes[pfa_lane_of(group)];
    pfa_count_t *count = *last != 0 ? &lane->list[*last - 1] : NULL;
    if (count == NULL || count->value != value) {
        count = pfa_counts_find(counts, group, role, value, last);
    }
    if (count != NULL) {
        count->freed += freed;
        count->live += live;
    } else {
        lane->lost += freed + live;
    }
}
/* After the lanes. */
void pfa_counts_settle(pfa_counts_t *counts);
/* By group and role; nothing is added from then on. */
void pfa_counts_sort(pfa_counts_t *counts);
/* Those of a group and role, once sorted. */
const pfa_count_t *pfa_counts_of(const pfa_counts_t *counts, uint32_t group, pfa_role_t role, size_t *count);
void pfa_counts_free(pfa_counts_t *counts);

#endif
