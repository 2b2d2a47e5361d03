/* Which chunks are asked for: expressions of --where, compiled. docs/queries.md tells the language.
 *
 * A field (analyze/query/fields.def) is of the stack, of the kind or of the single chunk. What depends on the stack alone is
 * asked once per stack and remembered; a kind is asked once per batch; only what is still open then is asked per chunk. */
#ifndef PFA_ANALYZE_QUERY_WHERE_H
#define PFA_ANALYZE_QUERY_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of the fields. */
typedef enum pfa_field {
#define PFA_FIELD(name, form, level, meaning) PFA_FIELD_##name,
#include "analyze/query/fields.def"
#undef PFA_FIELD
    PFA_FIELDS
} pfa_field_t;

typedef enum pfa_truth { PFA_NO, PFA_YES, PFA_OPEN } pfa_truth_t;

typedef struct pfa_where pfa_where_t;

/* Named expressions of files; later ones may use earlier ones. */
typedef struct pfa_where_names pfa_where_names_t;

/* A set that has to be known before chunks can be asked: of points, or of the largest groups. */
typedef struct pfa_where_set {
    const char *file;   /* another trace, whose chunks these are; NULL: the query's own */
    pfa_where_t *where; /* of which chunks; NULL: all. That of another trace has sets of its own, over that trace */
    size_t top;         /* so many of the points with the largest `metric`; 0: all points that have a chunk */
    const char *metric; /* "bytes", "count", "live"; NULL unless `top` */
    /* What the scan found: by number of the stack, as far as there is room. The caller's; pfa_memory_free() is called on it at the end. */
    bool *stacks;
    size_t room;
} pfa_where_set_t;

/* What there is to ask about. Text fields have several texts each (all frames of a stack): `texts` is called with each. */
typedef struct pfa_subject {
    void *to;
    /* Calls match(with, text) for each text of the field until one says true; that is the answer. */
    bool (*any_text)(void *to, pfa_field_t field, bool (*match)(void *with, const char *text), void *with);
    uint32_t stack; /* what stack-level answers are remembered by */
    uint32_t free_stack;
    /* Likewise of the texts of a kind (thread, free_thread, tag, trace): where the number is the same, so are the texts. */
    uint64_t ids[PFA_FIELDS];
    double numbers
        [PFA_FIELDS]; /* of fields that are numbers; NaN: not known, and no comparison with it is true. Flags: 1, 0 */
} pfa_subject_t;

pfa_where_names_t *pfa_where_names_new(void);
void pfa_where_names_free(pfa_where_names_t *names);
/* Reads definitions from a file. False: *why says what is wrong and where, in several lines; the caller frees it. Those
 * before the error are then defined. */
bool pfa_where_names_read(pfa_where_names_t *names, const char *path, char **why);

/* One more expression that is to hold, with all that were asked before. False: *why, as below. */
bool pfa_where_names_ask(pfa_where_names_t *names, const char *text, char **why);

/* `names` may be NULL; what is parsed does not need them any longer. "@FILE" reads definitions from a file and stands for what
 * the file asks for. A text that is NULL stands for all expressions that were asked; if there are none, for the lines `where`
 * of all files, which are all to hold; if there are none, for the last definition of the last file. NULL: *why says what is wrong, with the text and a mark below the character; the caller frees it. */
pfa_where_t *pfa_where_parse(const char *text, pfa_where_names_t *names, char **why);
void pfa_where_free(pfa_where_t *where);
/* Sets in the order in which they have to be known, before anything is asked. Those that a set's own `where` needs are among
 * them, unless it is of another trace: then they are that one's. */
pfa_where_set_t *pfa_where_sets(pfa_where_t *where, size_t *count);
/* What an expression asks, as a number: the same whatever its brackets and the order of what it joins, with whichever names and out
 * of whichever file. Two that ask the same in other words have different ones. NULL is all chunks, which is 0. */
uint64_t pfa_where_identity(const pfa_where_t *where);
/* Whether it asks for accesses of single chunks; its sets are to be asked by themselves. */
bool pfa_where_needs_accesses(const pfa_where_t *where);
/* Whether it, or a set of it that is of the query's own traces, asks for anything that only access data tell. */
bool pfa_where_asks_accesses(const pfa_where_t *where);
/* Whether it, or a set of it that is of the query's own traces, asks for scores of allocation points. */
bool pfa_where_asks_scores(const pfa_where_t *where);
/* Whether single chunks may have to be asked at all. */
bool pfa_where_needs_chunks(const pfa_where_t *where);
/* Whether it asks for nothing but the allocation stack, so that a subject needs no more than that, and is never PFA_OPEN. */
bool pfa_where_is_of_stacks(const pfa_where_t *where);

/* A batch of kinds begins: slots of those before it are no longer to be used. (What was answered is kept while there is not too
 * much of it.) */
void pfa_where_batch(pfa_where_t *where);
/* Asks a kind. PFA_OPEN: its chunks are to be asked, with *slot. */
pfa_truth_t pfa_where_kind(pfa_where_t *where, const pfa_subject_t *subject, uint32_t *slot);
/* Asks a chunk of that kind: `numbers` has its fields too. */
bool pfa_where_chunk(pfa_where_t *where, uint32_t slot, const double *numbers);

#endif
