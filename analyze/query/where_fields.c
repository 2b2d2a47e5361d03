/* Owns the table of fields. See analyze/query/where_fields.h. */
#include "analyze/query/where_fields.h"

#include <assert.h>
#include <string.h>

static_assert(PFA_STEPS <= 64, "steps are bits of a word");

const pfa_field_facts_t pfa_field_facts[PFA_FIELDS] = {
#define PFA_FIELD(name, form, level, meaning) {#name, PFA_FORM_##form, PFA_LEVEL_##level},
#include "analyze/query/fields.def"
#undef PFA_FIELD
};

pfa_field_t pfa_field_find(const char *name, size_t size)
{
    size_t field = 0;
    while (field < PFA_FIELDS &&
           (strlen(pfa_field_facts[field].name) != size || memcmp(pfa_field_facts[field].name, name, size) != 0)) {
        field++;
    }
    return (pfa_field_t)field;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);
    return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

pfa_text_form_t pfa_field_text_form(pfa_field_t field)
{
    const char *name = pfa_field_facts[field].name;
    if (ends_with(name, "function")) {
        return PFA_TEXT_FUNCTION;
    }
    return ends_with(name, "file") || ends_with(name, "module") || ends_with(name, "trace") ? PFA_TEXT_PATH
                                                                                            : PFA_TEXT_PLAIN;
}

unsigned pfa_field_step(pfa_field_t field)
{
    const pfa_field_facts_t *facts = &pfa_field_facts[field];
    switch (facts->level) {
    case PFA_LEVEL_STACK:
        return PFA_STEP_STACK;
    case PFA_LEVEL_FREED:
        return PFA_STEP_FREED;
    case PFA_LEVEL_CHUNK:
        return PFA_STEP_CHUNK;
    case PFA_LEVEL_KIND:
        break;
    }
    return facts->form == PFA_FORM_TEXT ? PFA_STEP_TEXTS + (unsigned)field : PFA_STEP_NUMBERS;
}

bool pfa_field_is_of_accesses(pfa_field_t field)
{
    return field == PFA_FIELD_reads || field == PFA_FIELD_writes || field == PFA_FIELD_coverage ||
           field == PFA_FIELD_idle || field == PFA_FIELD_wait;
}

bool pfa_field_is_score(pfa_field_t field)
{
    return field == PFA_FIELD_lifetime_score || field == PFA_FIELD_usage || field == PFA_FIELD_useful_lifetime ||
           field == PFA_FIELD_score || field == PFA_FIELD_severity;
}
