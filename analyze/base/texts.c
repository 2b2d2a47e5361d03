/* Owns texts that are kept once. See analyze/base/texts.h. */
#include "analyze/base/texts.h"
#include "analyze/base/memory.h"

#include <string.h>

static uint32_t find(const pfa_texts_t *texts, const char *text, size_t size, uint64_t hash)
{
    pfa_probe_t probe = pfa_slots_probe(&texts->slots, hash);
    while (pfa_slots_next(&texts->slots, &probe)) {
        const char *other = texts->list[probe.number];
        if (strncmp(other, text, size) == 0 && other[size] == '\0') {
            return probe.number;
        }
    }
    return UINT32_MAX;
}

uint32_t pfa_texts_put(pfa_texts_t *texts, const char *text, size_t size)
{
    uint64_t hash = pfa_hash_text(text, size);
    uint32_t number = find(texts, text, size, hash);
    if (number != UINT32_MAX) {
        return number;
    }
    texts->list = pfa_memory_grow(texts->list, &texts->room, texts->count + 1, sizeof *texts->list);
    texts->list[texts->count] = pfa_memory_copy(text, size);
    pfa_slots_put(&texts->slots, hash, (uint32_t)texts->count);
    return (uint32_t)texts->count++;
}

uint32_t pfa_texts_find(const pfa_texts_t *texts, const char *text, size_t size)
{
    return find(texts, text, size, pfa_hash_text(text, size));
}

void pfa_texts_free(pfa_texts_t *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        pfa_memory_free(texts->list[i]);
    }
    pfa_memory_free(texts->list);
    pfa_slots_free(&texts->slots);
    *texts = (pfa_texts_t){.list = NULL};
}
