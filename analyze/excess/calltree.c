/* Owns call trees. See analyze/excess/calltree.h.
 *
 * Calls are summed in a table of cells by callee and caller, and put in order afterwards: a function may have thousands of callers. */
#include "analyze/excess/calltree.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

static uint32_t add_call(pfa_cells_t *calls, uint32_t callee, uint32_t routine, double chunks)
{
    pfa_object_cell_t *call = pfa_cells_get(calls, &(pfa_cell_key_t){.from = callee, .to = routine});
    call->sum.chunks += chunks;
    return (uint32_t)(call - calls->list);
}

static void add_stack(pfa_cells_t *calls, pfa_routines_t *routines, const pfa_lines_t *lines, double chunks,
                      size_t depth)
{
    uint32_t at = 0;
    if (lines->count == 0) {
        add_call(calls, at, PFA_ROUTINE_UNKNOWN, chunks);
        return;
    }
    for (size_t i = pfa_routines_first(routines, lines); i < lines->count && depth > 0; i++) {
        uint32_t routine = pfa_routines_of_line(routines, &lines->list[i]);
        if (routine != calls->list[at].key.to) {
            at = add_call(calls, at, routine, chunks);
            depth--;
        }
    }
}

static void add_object(pfa_cells_t *calls, pfa_excess_t *excess, const pfa_object_t *object, pfa_lines_t *lines)
{
    const pfa_object_cell_t *cells = excess->objects.cells.list;
    for (uint32_t i = object->cells; i != PFA_CELL_NONE; i = cells[i].next) {
        pfa_stacks_lines(excess->callers.routines.stacks, cells[i].key.from, lines);
        add_stack(calls, &excess->callers.routines, lines, cells[i].sum.chunks, excess->options->lines);
    }
}

/* Callers of the same together, the heaviest first; of equally heavy ones, that which was met first. */
static int compare_calls(const void *left, const void *right, void *context)
{
    const pfa_object_cell_t *calls = context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    if (calls[a].key.from != calls[b].key.from) {
        return calls[a].key.from < calls[b].key.from ? -1 : 1;
    }
    if (calls[a].sum.chunks != calls[b].sum.chunks) {
        return calls[a].sum.chunks > calls[b].sum.chunks ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static void link_calls(pfa_calltree_t *tree, pfa_cells_t *calls)
{
    uint32_t *order = pfa_memory_get(calls->count, sizeof *order);
    tree->count = calls->count;
    tree->list = pfa_memory_get(tree->count, sizeof *tree->list);
    for (size_t i = 0; i < tree->count; i++) {
        order[i] = (uint32_t)i;
        tree->list[i] = (pfa_call_t){.chunks = calls->list[i].sum.chunks,
                                     .routine = calls->list[i].key.to,
                                     .child = PFA_CALL_NONE,
                                     .next = PFA_CALL_NONE};
    }
    qsort_r(order, tree->count, sizeof *order, compare_calls, calls->list);
    for (size_t i = tree->count; i-- > 0;) {
        uint32_t callee = calls->list[order[i]].key.from;
        if (callee != PFA_CALL_NONE) {
            tree->list[order[i]].next = tree->list[callee].child;
            tree->list[callee].child = order[i];
        }
    }
    pfa_memory_free(order);
}

void pfa_calltree_make(pfa_calltree_t *tree, pfa_excess_t *excess, const pfa_hit_t *hit)
{
    pfa_lines_t lines = {.list = NULL};
    pfa_cells_t calls = {.list = NULL};
    add_call(&calls, PFA_CALL_NONE, PFA_CALL_NONE, 0); /* which all those that allocate lie below */
    for (size_t i = 0; i < hit->count; i++) {
        add_object(&calls, excess, &excess->objects.list[hit->members[i]], &lines);
    }
    link_calls(tree, &calls);
    pfa_cells_free(&calls);
    pfa_lines_free(&lines);
}

void pfa_calltree_free(pfa_calltree_t *tree)
{
    pfa_memory_free(tree->list);
    *tree = (pfa_calltree_t){.list = NULL};
}

typedef struct place {
    uint32_t call;
    size_t level;
} place_t;

/* Depth first. What is still to be told waits on a list, which a sibling never leaves before all below the one that it
 * follows. */
size_t pfa_calltree_walk(const pfa_calltree_t *tree, size_t lines, pfa_calltree_tell_t *tell, void *to)
{
    place_t *waiting = pfa_memory_get(tree->count + 1, sizeof *waiting);
    size_t count = 0;
    size_t told = 0;
    waiting[count++] = (place_t){.call = tree->list[0].child};
    while (count != 0 && told < lines) {
        place_t now = waiting[--count];
        const pfa_call_t *call = &tree->list[now.call];
        tell(to, call, now.level);
        told++;
        if (call->next != PFA_CALL_NONE) {
            waiting[count++] = (place_t){.call = call->next, .level = now.level};
        }
        if (call->child != PFA_CALL_NONE) {
            bool several = tree->list[call->child].next != PFA_CALL_NONE;
            waiting[count++] = (place_t){.call = call->child, .level = now.level + several};
        }
    }
    pfa_memory_free(waiting);
    return tree->count - 1 - told;
}
