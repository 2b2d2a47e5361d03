/* Texts, each kept once and told by its number: 0 and up, in the order they came. They stay until the end. */
#ifndef PFA_ANALYZE_BASE_TEXTS_H
#define PFA_ANALYZE_BASE_TEXTS_H

#include "analyze/base/slots.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pfa_texts {
    char **list;
    size_t count;
    size_t room;
    pfa_slots_t slots;
} pfa_texts_t;

/* The number of a text, which is new if it is the count there was. */
uint32_t pfa_texts_put(pfa_texts_t *texts, const char *text, size_t size);
/* Its number, or UINT32_MAX. */
uint32_t pfa_texts_find(const pfa_texts_t *texts, const char *text, size_t size);
void pfa_texts_free(pfa_texts_t *texts);

#endif
