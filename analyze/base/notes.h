/* Sentences for people, in the order they came up. */
#ifndef PFA_ANALYZE_BASE_NOTES_H
#define PFA_ANALYZE_BASE_NOTES_H

#include <stddef.h>
#include <stdio.h>

typedef struct pfa_notes {
    char **list;
    size_t count;
    size_t room;
} pfa_notes_t;

__attribute__((format(printf, 2, 3))) void pfa_notes_add(pfa_notes_t *notes, const char *format, ...);
/* Adds copies of all of another list. */
void pfa_notes_join(pfa_notes_t *notes, const pfa_notes_t *more);
void pfa_notes_free(pfa_notes_t *notes);

#endif
