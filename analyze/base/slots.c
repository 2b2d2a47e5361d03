/* Owns the growth of hash tables of numbers. See analyze/base/slots.h. */
#include "analyze/base/slots.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

enum { FIRST_ROOM = 1024 };

static void take_place(pfa_slot_t *list, size_t room, pfa_slot_t slot)
{
    size_t at = slot.hash & (room - 1);
    while (list[at].number != 0) {
        at = (at + 1) & (room - 1);
    }
    list[at] = slot;
}

static void grow(pfa_slots_t *slots)
{
    size_t room = slots->room != 0 ? 2 * slots->room : FIRST_ROOM;
    pfa_slot_t *list = pfa_memory_get(room, sizeof *list);
    for (size_t i = 0; i < slots->room; i++) {
        if (slots->list[i].number != 0) {
            take_place(list, room, slots->list[i]);
        }
    }
    pfa_memory_free(slots->list);
    slots->list = list;
    slots->room = room;
}

void pfa_slots_put(pfa_slots_t *slots, uint64_t hash, uint32_t number)
{
    if (2 * (slots->used + 1) > slots->room) {
        grow(slots);
    }
    take_place(slots->list, slots->room, (pfa_slot_t){.hash = pfa_slots_fold(hash), .number = number + 1});
    slots->used++;
}

void pfa_slots_free(pfa_slots_t *slots)
{
    pfa_memory_free(slots->list);
    *slots = (pfa_slots_t){.list = NULL};
}
