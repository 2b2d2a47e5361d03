/* Owns what patterns said of texts. See analyze/query/where_answers.h. */
#include "analyze/query/where_answers.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

uint32_t pfa_answers_add(pfa_answers_t *answers, pfa_field_t field, bool somewhere, const char *pattern)
{
    answers->field = field;
    answers->patterns =
        pfa_memory_grow(answers->patterns, &answers->room, answers->count + 1, sizeof *answers->patterns);
    pfa_pattern_make(&answers->patterns[answers->count], pfa_field_text_form(field), somewhere, pattern);
    answers->words = answers->count / 64 + 1;
    return (uint32_t)answers->count++;
}

static void ask_patterns(pfa_answers_t *answers, const char *text, uint64_t *bits)
{
    pfa_forms_t forms;
    pfa_forms_make(&forms, pfa_field_text_form(answers->field), text);
    for (size_t i = 0; i < answers->count; i++) {
        bits[i / 64] |= (uint64_t)pfa_pattern_matches(&answers->patterns[i], &forms) << i % 64;
    }
    pfa_forms_free(&forms);
}

/* What is gathered of one id: its bits are the last. */
typedef struct pfa_gathering {
    pfa_answers_t *answers;
    uint64_t *bits;
} pfa_gathering_t;

/* Never says true: all texts are wanted. */
static bool add_text(void *with, const char *text)
{
    pfa_gathering_t *gathering = with;
    pfa_answers_t *answers = gathering->answers;
    size_t known = answers->texts.count;
    size_t number = pfa_texts_put(&answers->texts, text, strlen(text));
    answers->of_texts = pfa_memory_grow(answers->of_texts, &answers->text_room, (number + 1) * answers->words,
                                        sizeof *answers->of_texts);
    uint64_t *bits = answers->of_texts + number * answers->words;
    if (number == known) {
        ask_patterns(answers, answers->texts.list[number], bits);
    }
    for (size_t i = 0; i < answers->words; i++) {
        gathering->bits[i] |= bits[i];
    }
    return false;
}

uint32_t pfa_answers_find(pfa_answers_t *answers, const pfa_subject_t *subject, uint64_t id)
{
    int64_t known = pfa_where_map_find(&answers->ids, id);
    size_t row = known != PFA_WHERE_MAP_NONE ? (size_t)known : answers->ids.count;
    if (known == PFA_WHERE_MAP_NONE) {
        answers->of_ids =
            pfa_memory_grow(answers->of_ids, &answers->id_room, (row + 1) * answers->words, sizeof *answers->of_ids);
        pfa_gathering_t gathering = {.answers = answers, .bits = answers->of_ids + row * answers->words};
        (void)subject->any_text(subject->to, answers->field, add_text, &gathering);
        pfa_where_map_put(&answers->ids, id, (uint32_t)row);
    }
    return (uint32_t)row;
}

void pfa_answers_free(pfa_answers_t *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        pfa_pattern_free(&answers->patterns[i]);
    }
    pfa_memory_free(answers->patterns);
    pfa_memory_free(answers->of_texts);
    pfa_memory_free(answers->of_ids);
    pfa_texts_free(&answers->texts);
    pfa_where_map_free(&answers->ids);
}
