/* Whether it is seen what was done with a chunk, as far as that can be told from where it was allocated.
 *
 * Accesses are those of instrumented modules (profalloc-cc), and what libc does for these where its function is wrapped. Who
 * allocates a chunk is taken for who fills it, so a chunk is seen if the code that called the allocator is instrumented. One that
 * a library which is not allocates is not, even if it gives it to instrumented code: of what that does, a part is seen. Chunks
 * that libc allocates in a wrapped function which gives them to its caller are seen: the wrapper tells what libc wrote. */
#ifndef PFA_ANALYZE_NAMES_SIGHT_H
#define PFA_ANALYZE_NAMES_SIGHT_H

#include "analyze/names/stacks.h"

typedef enum pfa_sight {
    PFA_SIGHT_UNASKED,
    PFA_SIGHT_UNKNOWN, /* the trace does not say which modules are instrumented */
    PFA_SIGHT_SEEN,
    PFA_SIGHT_BLIND
} pfa_sight_t;

/* Of stacks, each looked at once. */
typedef struct pfa_sights {
    pfa_stacks_t *stacks;
    uint8_t *known; /* by stack: pfa_sight_t */
    size_t room;
} pfa_sights_t;

pfa_sight_t pfa_sight_of(pfa_sights_t *sights, uint32_t stack);
/* Whether all code that may have used a trace's chunks is instrumented, but for libc: none of its modules is not, or not known to be,
 * except libc's own and what recording brings along. */
bool pfa_sight_is_whole(const pfa_trace_t *trace);
void pfa_sights_free(pfa_sights_t *sights);

#endif
