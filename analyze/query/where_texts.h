/* Texts, each kept once and told by its number: 0 and up, in the order they came. They stay until the end. */
#ifndef PFA_ANALYZE_QUERY_WHERE_TEXTS_H
#define PFA_ANALYZE_QUERY_WHERE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct pfa_texts {
    char **list;
    size_t count;
    size_t room;
    uint64_t *hashes; /* of each */
    size_t hash_room;
    uint32_t *slots; /* number + 1; a power of two of them */
    size_t slot_count;
} pfa_texts_t;

/* The number of a text, which is new if it is the count there was. */
uint32_t pfa_texts_put(pfa_texts_t *texts, const char *text, size_t size);
/* Its number, or UINT32_MAX. */
uint32_t pfa_texts_find(const pfa_texts_t *texts, const char *text, size_t size);
void pfa_texts_free(pfa_texts_t *texts);

#endif
