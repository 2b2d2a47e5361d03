/* The depot: call stacks as a tree of nodes, each a return address and the node of its caller, down to a root
 * (export/format/trace.h). A node's number, 32 bits, is a stack's name. Nodes are stored in the live table.
 *
 *   1. pfa_depot_add may run in any thread at any time. It takes PFA_LOCK_DEPOT, and only when the node is new.
 *   2. A node never changes once its number was given out; equal stacks have equal numbers, but for those through
 *      code that pfa_depot_renew was told to be gone: the same addresses may mean other code then.
 *   3. A thread that is interrupted inside pfa_depot_add by a handler that allocates gets PFA_NODE_UNKNOWN there. */
#ifndef PFA_META_DEPOT_H
#define PFA_META_DEPOT_H

#include "base/compiler.h"
#include "base/tls.h"
#include "export/format/live.h"
#include "export/format/trace.h"

#include <stddef.h>
#include <stdint.h>

/* Makes the roots. 0 or an errno value. */
int pfa_depot_open(void);
/* The node of `pc` called from `parent`; PFA_NODE_UNKNOWN if there is no room for another. */
uint32_t pfa_depot_add(pfa_tls_t *tls, uint32_t parent, uintptr_t pc);
typedef struct pfa_depot_range {
    uint64_t start;
    uint64_t end;
} pfa_depot_range_t;

/* Code is gone from these ranges: nodes in it are not found again. Those from the number on that this returns may be of
 * other code than earlier ones with the same addresses. */
uint32_t pfa_depot_renew(const pfa_depot_range_t *gone, size_t count);
/* Changes with each pfa_depot_renew: whoever keeps numbers of nodes compares. */
uint32_t pfa_depot_generation(void);
uint32_t pfa_depot_count(void);
/* In a fork child, for each extent of nodes: whoever made it in the parent may not have come to tell the depot. */
void pfa_depot_know(uint32_t chunk, void *memory);
/* Below pfa_depot_count. */
const pfa_live_node_t *pfa_depot_node(uint32_t number);

#endif
