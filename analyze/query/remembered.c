/* Owns what expressions said of kinds. See analyze/query/remembered.h. */
#include "analyze/query/remembered.h"
#include "analyze/base/memory.h"

#include <string.h>

struct pfa_remembered_block {
    pfa_block_t block; /* a file may have others since */
    uint32_t count;    /* of kinds; 0: nothing is known */
    uint64_t *asked;   /* a bit for each: it is asked for */
};

void pfa_remembered_put(pfa_remembered_t *remembered, size_t number, const pfa_block_t *block, const pfa_slab_t *slab)
{
    remembered->list = pfa_memory_grow(remembered->list, &remembered->room, number + 1, sizeof *remembered->list);
    struct pfa_remembered_block *to = &remembered->list[number];
    pfa_memory_free(to->asked);
    *to = (struct pfa_remembered_block){.block = *block};
    to->asked = pfa_memory_get(slab->kind_count / 64 + 1, sizeof *to->asked);
    to->count = slab->kind_count;
    for (uint32_t i = 0; i < slab->kind_count; i++) {
        to->asked[i / 64] |= (uint64_t)(slab->kinds[i].kind.group != PFA_SKIP) << i % 64;
    }
}

static bool is_same(const pfa_block_t *one, const pfa_block_t *other)
{
    return one->offset == other->offset && one->time == other->time && one->raw_size == other->raw_size &&
           one->stored_size == other->stored_size && one->kind == other->kind && one->flags == other->flags;
}

void pfa_remembered_give(const pfa_remembered_t *remembered, size_t number, const pfa_block_t *block, pfa_slab_t *slab)
{
    const struct pfa_remembered_block *from = number < remembered->room ? &remembered->list[number] : NULL;
    bool known = from != NULL && from->count != 0 && is_same(&from->block, block);
    slab->asked = known ? from->asked : NULL;
    slab->asked_count = known ? from->count : 0;
}

void pfa_remembered_free(pfa_remembered_t *remembered)
{
    for (size_t i = 0; i < remembered->room; i++) {
        pfa_memory_free(remembered->list[i].asked);
    }
    pfa_memory_free(remembered->list);
    *remembered = (pfa_remembered_t){.list = NULL};
}
