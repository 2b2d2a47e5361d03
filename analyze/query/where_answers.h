/* Which patterns of a field match, remembered: each pattern is held against each text once, however many stacks it is on,
 * and the texts of a stack (or thread, or tag) are looked through once for all patterns. */
#ifndef PFA_ANALYZE_QUERY_WHERE_ANSWERS_H
#define PFA_ANALYZE_QUERY_WHERE_ANSWERS_H

#include "analyze/base/texts.h"
#include "analyze/query/where_map.h"
#include "analyze/query/where_match.h"

typedef struct pfa_answers {
    pfa_field_t field;
    pfa_pattern_t *patterns;
    size_t count;
    size_t room;
    size_t words; /* a bit for each pattern */
    pfa_texts_t texts;
    uint64_t *of_texts;
    size_t text_room;
    pfa_where_map_t ids;
    uint64_t *of_ids;
    size_t id_room;
} pfa_answers_t;

/* Returns the number of the pattern's bit. None can be added once there was an answer. */
uint32_t pfa_answers_add(pfa_answers_t *answers, pfa_field_t field, bool somewhere, const char *pattern);
/* The row of what `id` stands for: 0 and up. */
uint32_t pfa_answers_find(pfa_answers_t *answers, const pfa_subject_t *subject, uint64_t id);
/* Its bits. They stay until another row is found. */
static inline const uint64_t *pfa_answers_bits(const pfa_answers_t *answers, uint32_t row)
{
    return answers->of_ids + row * answers->words;
}
void pfa_answers_free(pfa_answers_t *answers);

#endif
