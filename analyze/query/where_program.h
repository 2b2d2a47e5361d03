/* What an expression is while it is asked.
 *
 * It is asked in steps (analyze/query/where_fields.h). Each step replaces what it knows in a node by true or false and gets
 * another node, which is what is still open: `steps` remembers which one, by the node and what the step knew. So a kind costs a
 * few lookups, however long the expression is, and what is open in the end is about chunks alone. That has a slot, in which
 * answers are remembered by classes of numbers. */
#ifndef PFA_ANALYZE_QUERY_WHERE_PROGRAM_H
#define PFA_ANALYZE_QUERY_WHERE_PROGRAM_H

#include "analyze/query/where_answers.h"
#include "analyze/query/where_classes.h"
#include "analyze/query/where_graph.h"
#include "analyze/query/where_map.h"

enum {
    PFA_WHERE_SLOT_PLACES = 4096, /* answers that a slot remembers */
    PFA_WHERE_MOST_SETS = 256,    /* each may be a walk through a trace */
    PFA_WHERE_MOST_STEPS = 1 << 20,
    PFA_WHERE_MOST_NODES = 1 << 18,
    PFA_WHERE_MOST_SLOTS = 1 << 13
};

/* What chunks are asked that are still open. */
typedef struct pfa_where_slot {
    uint32_t node;
    pfa_classes_t classes;
    uint8_t *answers; /* by class: 0 not known, 1 no, 2 yes; NULL: none yet, */
    uint64_t *places; /* or, if there are more classes than places, what class * 2 + answer + 1 is in each */
} pfa_where_slot_t;

typedef struct pfa_seen {
    uint32_t stamp; /* of the reduction that this is of */
    uint32_t node;
    uint32_t slot; /* + 1 */
} pfa_seen_t;

struct pfa_where {
    pfa_graph_t graph;
    uint32_t root;
    size_t node_count; /* of the expression itself; those behind are what is left of it */
    size_t child_count;
    pfa_where_set_t *sets; /* its own, or those of the whole that it belongs to */
    size_t set_count;      /* of its own */
    bool owns_sets;
    uint32_t *bits; /* by node that is a text: its bit in the field's answers */
    pfa_answers_t answers[PFA_FIELDS];
    pfa_classes_t kinds;
    pfa_where_map_t steps; /* by node and what the step knew */
    pfa_where_slot_t *slots;
    size_t slot_count;
    size_t slot_room;
    /* While a node is reduced: */
    const pfa_subject_t *subject;
    const double *numbers;
    unsigned step;
    uint32_t stamp;
    const uint64_t *rows[PFA_FIELDS]; /* answers for the subject, as far as they were looked up */
    pfa_seen_t *seen;                 /* by node */
    size_t seen_room;
    uint32_t *list;
    size_t list_count;
    size_t list_room;
};

/* Begins another pass over the nodes: none of them was seen in it. */
void pfa_where_mark(pfa_where_t *where);
/* What is left of a node when the step is known. Of the chunk's, that is true or false. */
uint32_t pfa_where_reduce(pfa_where_t *where, uint32_t node, unsigned step, const pfa_subject_t *subject,
                          const double *numbers);
/* The slot of a node that is open. */
uint32_t pfa_where_slot_get(pfa_where_t *where, uint32_t node);
void pfa_where_slot_free(pfa_where_slot_t *slot);

#endif
