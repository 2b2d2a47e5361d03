/* Owns call trees. See analyze/excess/calltree.h. */
#include "analyze/excess/calltree.h"

#include <stdlib.h>

static uint32_t add(pfa_calltree_t *tree, uint32_t routine)
{
    tree->list = pfa_memory_grow(tree->list, &tree->room, tree->count + 1, sizeof *tree->list);
    tree->list[tree->count] = (pfa_call_t){.routine = routine, .child = PFA_CALL_NONE, .next = PFA_CALL_NONE};
    return (uint32_t)tree->count++;
}

static uint32_t find_caller(pfa_calltree_t *tree, uint32_t callee, uint32_t routine)
{
    uint32_t at = tree->list[callee].child;
    while (at != PFA_CALL_NONE && tree->list[at].routine != routine) {
        at = tree->list[at].next;
    }
    if (at == PFA_CALL_NONE) {
        at = add(tree, routine);
        tree->list[at].next = tree->list[callee].child;
        tree->list[callee].child = at;
    }
    return at;
}

static void add_stack(pfa_calltree_t *tree, pfa_routines_t *routines, const pfa_lines_t *lines, double chunks,
                      size_t depth)
{
    uint32_t at = 0;
    tree->list[0].chunks += chunks;
    if (lines->count == 0) {
        return;
    }
    for (size_t i = pfa_routines_first(routines, lines) + 1; i < lines->count && depth > 1; i++) {
        uint32_t routine = pfa_routines_of_line(routines, &lines->list[i]);
        if (routine != tree->list[at].routine) {
            at = find_caller(tree, at, routine);
            tree->list[at].chunks += chunks;
            depth--;
        }
    }
}

/* Of equally heavy ones, the one that was met first. */
static bool is_before(const pfa_calltree_t *tree, uint32_t a, uint32_t b)
{
    return tree->list[a].chunks > tree->list[b].chunks || (tree->list[a].chunks == tree->list[b].chunks && a < b);
}

/* Insertion into a sorted list: a function seldom has many callers. */
static void sort_callers(pfa_calltree_t *tree, pfa_call_t *call)
{
    uint32_t sorted = PFA_CALL_NONE;
    while (call->child != PFA_CALL_NONE) {
        uint32_t taken = call->child;
        uint32_t *at = &sorted;
        call->child = tree->list[taken].next;
        while (*at != PFA_CALL_NONE && is_before(tree, *at, taken)) {
            at = &tree->list[*at].next;
        }
        tree->list[taken].next = *at;
        *at = taken;
    }
    call->child = sorted;
}

static void add_object(pfa_calltree_t *tree, pfa_excess_t *excess, const pfa_object_t *object, pfa_lines_t *lines)
{
    const pfa_cell_t *cells = excess->objects.cells.list;
    for (uint32_t i = object->cells; i != PFA_CELL_NONE; i = cells[i].next) {
        pfa_stacks_lines(excess->routines.stacks, cells[i].from, lines);
        add_stack(tree, &excess->routines, lines, cells[i].sum.chunks, excess->options->lines);
    }
}

void pfa_calltree_make(pfa_calltree_t *tree, pfa_excess_t *excess, const pfa_hit_t *hit)
{
    pfa_lines_t lines = {.list = NULL};
    *tree = (pfa_calltree_t){.list = NULL};
    add(tree, hit->caller);
    for (size_t i = 0; i < hit->count; i++) {
        add_object(tree, excess, &excess->objects.list[hit->members[i]], &lines);
    }
    for (size_t i = 0; i < tree->count; i++) {
        sort_callers(tree, &tree->list[i]);
    }
    pfa_lines_free(&lines);
}

void pfa_calltree_free(pfa_calltree_t *tree)
{
    free(tree->list);
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
    waiting[count++] = (place_t){.call = 0};
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
    free(waiting);
    return tree->count - told;
}
