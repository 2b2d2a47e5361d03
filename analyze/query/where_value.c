/* Owns numbers with units. See analyze/query/where_parse.h. */
#include "analyze/query/where_parse.h"
#include "analyze/base/units.h"

#include <math.h>

/* By form; what fits is told in errors. */
static const struct {
    pfa_units_t units;
    const char *fit;
    const char *example;
} forms[] = {[PFA_FORM_BYTES] = {PFA_UNITS_BYTES, "B, K, M, G and T fit", "4K"},
             [PFA_FORM_DURATION] = {PFA_UNITS_TIME, "ns, us, ms, s, m and h fit", "10ms"},
             [PFA_FORM_TIME] = {PFA_UNITS_TIME, "ns, us, ms, s, m and h fit", "10ms"},
             [PFA_FORM_COUNT] = {PFA_UNITS_COUNT, "K, M and G fit, for thousands, millions and billions", "100"},
             [PFA_FORM_SHARE] = {PFA_UNITS_SHARE, "% fits", "50%"}};

static size_t skip_unit(const pfa_lex_t *lex, size_t at)
{
    while (at < lex->end && (pfa_lex_is_of_word(lex->text[at]) || lex->text[at] == '%')) {
        at++;
    }
    return at;
}

static bool fail_unit(pfa_lex_t *lex, pfa_field_t field, size_t at, size_t end)
{
    char shown[PFA_LEX_SHOWN];
    pfa_lex_t unit = *lex;
    unit.token = PFA_TOKEN_WORD;
    unit.at = at;
    unit.next = end;
    pfa_lex_fail(lex, at, "%s is no unit of '%s': %s", pfa_lex_show(&unit, shown), pfa_field_facts[field].name,
                 forms[pfa_field_facts[field].form].fit);
    return false;
}

/* The unit at *at, right there or behind spaces. */
static bool read_unit(pfa_lex_t *lex, pfa_field_t field, size_t number, bool zero, size_t *at,
                      const pfa_multiple_t **unit)
{
    pfa_form_t form = pfa_field_facts[field].form;
    size_t from = *at;
    size_t end = skip_unit(lex, from);
    bool apart = end == from;
    if (apart) {
        from = pfa_lex_skip(lex, from);
        end = skip_unit(lex, from);
    }
    *unit = pfa_units_find(forms[form].units, lex->text + from, end - from);
    if (*unit != NULL) {
        *at = end;
        return true;
    }
    if (!apart) {
        return fail_unit(lex, field, from, end);
    }
    if ((form == PFA_FORM_DURATION || form == PFA_FORM_TIME) && !zero) {
        pfa_lex_fail(lex, number, "a unit is missing: ns, us, ms, s, m and h fit");
        return false;
    }
    return true;
}

bool pfa_value_read(pfa_lex_t *lex, pfa_field_t field, size_t *at, double *value)
{
    pfa_form_t form = pfa_field_facts[field].form;
    size_t from = pfa_lex_skip(lex, *at);
    size_t length = pfa_units_digits(lex->text + from, lex->end - from, value);
    size_t end = from + length;
    const pfa_multiple_t *unit;
    if (length == 0) {
        pfa_lex_fail(lex, from < lex->end ? from : *at, "a number is missing here, such as %s", forms[form].example);
        return false;
    }
    if (!read_unit(lex, field, from, *value <= 0, &end, &unit)) {
        return false;
    }
    *value = pfa_units_value(unit, *value);
    *at = end;
    if (form == PFA_FORM_SHARE && *value > 1) {
        pfa_lex_fail(lex, from, "a share is from 0 to 1, or from 0%% to 100%%");
        return false;
    }
    if (!isfinite(*value)) {
        pfa_lex_fail(lex, from, "this number is too large");
        return false;
    }
    return true;
}
