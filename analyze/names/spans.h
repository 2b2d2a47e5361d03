/* Ranges of addresses, which may overlap, and which of them an address is in: in logarithmic time, and what is found on top.
 *
 * One that is all zeros is empty. Ranges are added, then sorted once, then asked for. */
#ifndef PFA_ANALYZE_NAMES_SPANS_H
#define PFA_ANALYZE_NAMES_SPANS_H

#include <stddef.h>
#include <stdint.h>

typedef struct pfa_span {
    uint64_t low;
    uint64_t last;   /* in it, so that one can end where addresses do */
    uint64_t reach;  /* the greatest `last` of the part of the list that this one is the middle of */
    uint32_t number; /* the user's */
} pfa_span_t;

typedef struct pfa_spans {
    pfa_span_t *list; /* by low, last and number */
    size_t count;
    size_t room;
} pfa_spans_t;

/* `size` is not 0; a range that goes beyond the last address ends there. */
void pfa_spans_add(pfa_spans_t *spans, uint64_t low, uint64_t size, uint32_t number);
void pfa_spans_sort(pfa_spans_t *spans);
void pfa_spans_free(pfa_spans_t *spans);

/* Visits the ranges that have the address, in the order of the list. */
void pfa_spans_find(const pfa_spans_t *spans, uint64_t address, void (*visit)(void *to, const pfa_span_t *span),
                    void *to);
/* The last one that does not begin behind the address; NULL: there is none. */
const pfa_span_t *pfa_spans_before(const pfa_spans_t *spans, uint64_t address);

#endif
