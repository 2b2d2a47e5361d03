/* Owns the memory of the tool. See analyze/base/memory.h. */
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pfa_memory_end(size_t count, size_t size)
{
    fprintf(stderr, "profalloc: no memory for %zu times %zu bytes\n", count, size);
    exit(1);
}

void *pfa_memory_get(size_t count, size_t size)
{
    void *memory = calloc(count != 0 ? count : 1, size);
    if (memory == NULL) {
        pfa_memory_end(count, size);
    }
    return memory;
}

void *pfa_memory_grow(void *list, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room) {
        return list;
    }
    size_t wanted = *room < 16 ? 16 : *room + *room / 2;
    wanted = wanted < needed ? needed : wanted;
    void *grown = wanted > SIZE_MAX / size ? NULL : realloc(list, wanted * size);
    if (grown == NULL) {
        pfa_memory_end(wanted, size);
    }
    memset((char *)grown + *room * size, 0, (wanted - *room) * size);
    *room = wanted;
    return grown;
}

void *pfa_memory_copy(const void *bytes, size_t size)
{
    char *copy = pfa_memory_get(size + 1, 1);
    memcpy(copy, bytes, size);
    return copy;
}

char *pfa_memory_text(const char *text, size_t size)
{
    char *copy = pfa_memory_copy(text, size);
    pfa_text_clean(copy, size);
    return copy;
}
