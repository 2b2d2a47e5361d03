/* What chunks can be told apart by (--by): one line in analyze/query/keys.def each. Groups are numbered as they are met. */
#ifndef PFA_ANALYZE_QUERY_KEYS_H
#define PFA_ANALYZE_QUERY_KEYS_H

#include "analyze/query/query.h"

struct pfa_key {
    const char *name;
    const char *meaning;
    bool of_stack; /* the same for all chunks of a stack: asked once for each */
    /* Chunks are of the same group if this is the same. */
    uint64_t (*value)(pfa_query_t *query, const pfa_kind_t *kind);
    /* What people call it; the caller frees it. */
    char *(*name_of)(pfa_query_t *query, uint64_t value);
};

/* The group of chunks of which it is not known. */
#define PFA_KEY_UNKNOWN UINT64_MAX

extern const pfa_key_t pfa_keys[];
extern const size_t pfa_key_count;

/* NULL: there is none of this name. */
const pfa_key_t *pfa_key_find(const char *name);

pfa_groups_t *pfa_groups_new(void);
void pfa_groups_free(pfa_groups_t *groups);
/* The group of chunks of this kind, by the query's key; of which the stack and source alone are known, with `of_stack`. */
uint32_t pfa_groups_find(pfa_query_t *query, const pfa_kind_t *kind, bool of_stack);

/* Whether the group of a chunk, and that it is asked for, depend on its stack alone. */
bool pfa_groups_are_of_stacks(const pfa_query_t *query);
/* Whether chunks of a group are asked for: all are, unless the question names groups. */
bool pfa_groups_is_asked(pfa_query_t *query, uint32_t group);

#endif
