/* Owns numbers by keys. See analyze/diff/index.h. */
#include "analyze/diff/index.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

static struct pfa_index_slot *find_slot(struct pfa_index_slot *slots, size_t slot_count, uint64_t key)
{
    size_t at = (key ^ key >> 32) & (slot_count - 1);
    while (slots[at].number != 0 && slots[at].key != key) {
        at = (at + 1) & (slot_count - 1);
    }
    return &slots[at];
}

static void grow(pfa_index_t *index)
{
    size_t slot_count = index->slot_count != 0 ? 2 * index->slot_count : 64;
    struct pfa_index_slot *slots = pfa_memory_get(slot_count, sizeof *slots);
    for (size_t i = 0; i < index->slot_count; i++) {
        if (index->slots[i].number != 0) {
            *find_slot(slots, slot_count, index->slots[i].key) = index->slots[i];
        }
    }
    pfa_memory_free(index->slots);
    index->slots = slots;
    index->slot_count = slot_count;
}

uint32_t pfa_index_find(const pfa_index_t *index, uint64_t key)
{
    const struct pfa_index_slot *slot = index->slot_count != 0 ? find_slot(index->slots, index->slot_count, key) : NULL;
    return slot != NULL && slot->number != 0 ? slot->number - 1 : PFA_INDEX_NONE;
}

uint32_t pfa_index_put(pfa_index_t *index, uint64_t key, uint32_t number)
{
    if (2 * (index->count + 1) > index->slot_count) {
        grow(index);
    }
    struct pfa_index_slot *slot = find_slot(index->slots, index->slot_count, key);
    if (slot->number == 0) {
        *slot = (struct pfa_index_slot){.key = key, .number = number + 1};
        index->count++;
    }
    return slot->number - 1;
}

void pfa_index_free(pfa_index_t *index)
{
    pfa_memory_free(index->slots);
    *index = (pfa_index_t){.slots = NULL};
}
