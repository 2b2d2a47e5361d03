/* What is known of each field of --where, from analyze/query/fields.def. */
#ifndef PFA_ANALYZE_QUERY_WHERE_FIELDS_H
#define PFA_ANALYZE_QUERY_WHERE_FIELDS_H

#include "analyze/query/where.h"

typedef enum pfa_form {
    PFA_FORM_TEXT,
    PFA_FORM_BYTES,
    PFA_FORM_DURATION,
    PFA_FORM_TIME,
    PFA_FORM_COUNT,
    PFA_FORM_SHARE,
    PFA_FORM_FLAG
} pfa_form_t;

typedef enum pfa_level { PFA_LEVEL_STACK, PFA_LEVEL_FREED, PFA_LEVEL_KIND, PFA_LEVEL_CHUNK } pfa_level_t;

/* How patterns are held against its texts. */
typedef enum pfa_text_form { PFA_TEXT_PLAIN, PFA_TEXT_PATH, PFA_TEXT_FUNCTION } pfa_text_form_t;

/* The steps in which a kind and then its chunk are asked, in this order: what is cheap to know comes first, and names of
 * addresses are looked up only for stacks that matter. Texts of a kind have a step for each field. */
enum {
    PFA_STEP_NUMBERS,
    PFA_STEP_TEXTS,
    PFA_STEP_STACK = PFA_STEP_TEXTS + PFA_FIELDS,
    PFA_STEP_FREED,
    PFA_STEP_CHUNK,
    PFA_STEPS
};

typedef struct pfa_field_facts {
    const char *name;
    pfa_form_t form;
    pfa_level_t level;
} pfa_field_facts_t;

extern const pfa_field_facts_t pfa_field_facts[PFA_FIELDS];

/* PFA_FIELDS: there is no such field. */
pfa_field_t pfa_field_find(const char *name, size_t size);
pfa_text_form_t pfa_field_text_form(pfa_field_t field);
unsigned pfa_field_step(pfa_field_t field);
/* Whether it is a score of the allocation point. */
bool pfa_field_is_score(pfa_field_t field);
/* Whether it is known only of chunks that are told with their accesses. */
bool pfa_field_is_of_accesses(pfa_field_t field);

#endif
