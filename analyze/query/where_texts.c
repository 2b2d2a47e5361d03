/* Owns texts that are kept once. See analyze/query/where_texts.h. */
#include "analyze/query/where_texts.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static uint64_t hash_text(const char *text, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
    }
    return hash ^ hash >> 29;
}

/* The slot that has the text, or the free one where it belongs. */
static size_t find_slot(const pfa_texts_t *texts, const char *text, size_t size, uint64_t hash)
{
    size_t mask = texts->slot_count - 1;
    size_t slot = hash & mask;
    for (; texts->slots[slot] != 0; slot = (slot + 1) & mask) {
        size_t number = texts->slots[slot] - 1;
        const char *other = texts->list[number];
        if (texts->hashes[number] == hash && strncmp(other, text, size) == 0 && other[size] == '\0') {
            break;
        }
    }
    return slot;
}

static void grow_slots(pfa_texts_t *texts)
{
    size_t count = texts->slot_count != 0 ? texts->slot_count * 2 : 64;
    pfa_memory_free(texts->slots);
    texts->slots = pfa_memory_get(count, sizeof *texts->slots);
    texts->slot_count = count;
    for (size_t i = 0; i < texts->count; i++) {
        size_t slot = texts->hashes[i] & (count - 1);
        while (texts->slots[slot] != 0) {
            slot = (slot + 1) & (count - 1);
        }
        texts->slots[slot] = (uint32_t)i + 1;
    }
}

uint32_t pfa_texts_put(pfa_texts_t *texts, const char *text, size_t size)
{
    if (texts->count * 2 >= texts->slot_count) {
        grow_slots(texts);
    }
    uint64_t hash = hash_text(text, size);
    size_t slot = find_slot(texts, text, size, hash);
    if (texts->slots[slot] != 0) {
        return texts->slots[slot] - 1;
    }
    texts->list = pfa_memory_grow(texts->list, &texts->room, texts->count + 1, sizeof *texts->list);
    texts->hashes = pfa_memory_grow(texts->hashes, &texts->hash_room, texts->count + 1, sizeof *texts->hashes);
    texts->list[texts->count] = pfa_memory_copy(text, size);
    texts->hashes[texts->count] = hash;
    texts->slots[slot] = (uint32_t)texts->count + 1;
    return (uint32_t)texts->count++;
}

uint32_t pfa_texts_find(const pfa_texts_t *texts, const char *text, size_t size)
{
    if (texts->slot_count == 0) {
        return UINT32_MAX;
    }
    return texts->slots[find_slot(texts, text, size, hash_text(text, size))] - 1; /* 0 - 1 if there is none */
}

void pfa_texts_free(pfa_texts_t *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        pfa_memory_free(texts->list[i]);
    }
    pfa_memory_free(texts->list);
    pfa_memory_free(texts->hashes);
    pfa_memory_free(texts->slots);
    *texts = (pfa_texts_t){.list = NULL};
}
