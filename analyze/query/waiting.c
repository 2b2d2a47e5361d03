/* Owns the order of rows by group. See analyze/query/waiting.h. */
#include "analyze/query/waiting.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

void pfa_waiting_begin(pfa_waiting_t *waiting)
{
    waiting->rows = pfa_memory_get(PFA_BATCH_ROWS, sizeof *waiting->rows);
    waiting->order = pfa_memory_get(PFA_BATCH_ROWS, sizeof *waiting->order);
    waiting->starts = pfa_memory_get(PFA_BATCH_ROWS, sizeof *waiting->starts);
    waiting->groups = pfa_memory_get(PFA_BATCH_ROWS, sizeof *waiting->groups);
}

void pfa_waiting_end(pfa_waiting_t *waiting)
{
    pfa_memory_free(waiting->rows);
    pfa_memory_free(waiting->order);
    pfa_memory_free(waiting->starts);
    pfa_memory_free(waiting->groups);
    pfa_memory_free(waiting->group_at);
}

void pfa_waiting_add(pfa_waiting_t *waiting, const pfa_waiting_row_t *row)
{
    waiting->rows[waiting->count++] = *row;
}

static uint32_t place_of(pfa_waiting_t *waiting, uint32_t group)
{
    waiting->group_at =
        pfa_memory_grow(waiting->group_at, &waiting->group_room, (size_t)group + 1, sizeof *waiting->group_at);
    if (waiting->group_at[group] == 0) {
        waiting->groups[waiting->group_count] = group;
        waiting->starts[waiting->group_count] = 0;
        waiting->group_at[group] = ++waiting->group_count;
    }
    return waiting->group_at[group] - 1;
}

/* Whether realloc made or ended it: its order among others means something, whatever group they are of. */
static bool is_linked(const pfa_waiting_row_t *row)
{
    uint64_t ended = row->live ? 0 : PFA_EVENT_MOVED;
    return (row->row.event.size_flags & (PFA_RECORD_REALLOC | ended)) != 0;
}

/* Makes of the counts of groups where each begins. */
static void place_groups(pfa_waiting_t *waiting, uint32_t start)
{
    for (uint32_t i = 0; i < waiting->group_count; i++) {
        uint32_t count = waiting->starts[i];
        waiting->starts[i] = start;
        start += count;
    }
}

void pfa_waiting_sort(pfa_waiting_t *waiting)
{
    uint32_t linked = 0;
    for (uint32_t i = 0; i < waiting->count; i++) {
        if (is_linked(&waiting->rows[i])) {
            waiting->order[linked++] = i;
        } else {
            waiting->starts[place_of(waiting, waiting->rows[i].group)]++;
        }
    }
    place_groups(waiting, linked);
    for (uint32_t i = 0; i < waiting->count; i++) {
        if (!is_linked(&waiting->rows[i])) {
            uint32_t place = waiting->group_at[waiting->rows[i].group] - 1;
            waiting->order[waiting->starts[place]++] = i;
        }
    }
    for (uint32_t i = 0; i < waiting->group_count; i++) {
        waiting->group_at[waiting->groups[i]] = 0;
    }
    waiting->group_count = 0;
}
