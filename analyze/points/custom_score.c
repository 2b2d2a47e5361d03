/* Owns the formulas of custom scores. See analyze/points/custom_score.h. A formula is kept as the steps of a machine with a stack, which is never
 * deeper than the formula is long. */
#include "analyze/points/custom_score.h"
#include "analyze/base/memory.h"
#include "analyze/base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, LONGEST = 4096 };

typedef enum op { NUMBER, NAME, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, LEAST, MOST, LOGARITHM } op_t;

typedef struct step {
    op_t op;
    double number;
    size_t name;
} step_t;

struct pfa_formula {
    char *name;
    step_t *steps;
    size_t count;
    size_t room;
};

typedef struct parsing {
    pfa_formula_t *formula;
    const char *const *names;
    size_t name_count;
    const char *text;
    const char *at;
    unsigned depth;
    char *why;
} parsing_t;

static bool parse_sum(parsing_t *parsing);

static bool fail(parsing_t *parsing, const char *what)
{
    if (parsing->why == NULL) {
        parsing->why = pfa_memory_format("%s at character %zu of '%s'", what, (size_t)(parsing->at - parsing->text) + 1,
                                         parsing->text);
    }
    return false;
}

static void skip(parsing_t *parsing)
{
    while (isspace((unsigned char)*parsing->at)) {
        parsing->at++;
    }
}

static bool take(parsing_t *parsing, char character)
{
    skip(parsing);
    bool is = *parsing->at == character;
    parsing->at += is;
    return is;
}

static bool put(parsing_t *parsing, step_t step)
{
    pfa_formula_t *formula = parsing->formula;
    formula->steps = pfa_memory_grow(formula->steps, &formula->room, formula->count + 1, sizeof *formula->steps);
    formula->steps[formula->count++] = step;
    return true;
}

static size_t word_at(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_') {
        length++;
    }
    return isdigit((unsigned char)at[0]) ? 0 : length;
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(at, word, length) == 0;
}

/* min(a, b), max(a, b), log(a), behind the name. */
static bool parse_call(parsing_t *parsing, op_t op)
{
    if (!take(parsing, '(')) {
        return fail(parsing, "a bracket is missing");
    }
    if (!parse_sum(parsing)) {
        return false;
    }
    if (op != LOGARITHM && (!take(parsing, ',') || !parse_sum(parsing))) {
        return fail(parsing, "a comma and a second value are missing");
    }
    return (take(parsing, ')') || fail(parsing, "a bracket is missing")) && put(parsing, (step_t){.op = op});
}

static const struct {
    const char *name;
    op_t op;
} calls[] = {{"min", LEAST}, {"max", MOST}, {"log", LOGARITHM}};

static bool parse_name(parsing_t *parsing, size_t length)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (is_word(parsing->at, length, calls[i].name)) {
            parsing->at += length;
            return parse_call(parsing, calls[i].op);
        }
    }
    for (size_t i = 0; i < parsing->name_count; i++) {
        if (is_word(parsing->at, length, parsing->names[i])) {
            parsing->at += length;
            return put(parsing, (step_t){.op = NAME, .name = i});
        }
    }
    return fail(parsing, "nothing of a point has this name:");
}

/* What a number is of is not known here. So K, which is 1024 of bytes and 1000 of chunks, is no unit of it, but KB is. */
static bool parse_unit(parsing_t *parsing, double *number)
{
    size_t length = *parsing->at == '%' ? 1 : word_at(parsing->at);
    if (length == 0) {
        return true;
    }
    const pfa_multiple_t *unit = pfa_units_find(PFA_UNITS_SHARE, parsing->at, length);
    unit = unit != NULL ? unit : pfa_units_find(PFA_UNITS_BYTES, parsing->at, length);
    if (unit == NULL) {
        return fail(parsing, "there is no such unit: B, KB, MB, GB, TB and % fit,");
    }
    if (*unit->name != 'B' && length == 1 && *parsing->at != '%') {
        return fail(parsing, "this unit may mean two things: 1KB is 1024 and 1e3 is 1000, likewise MB, GB and TB,");
    }
    parsing->at += length;
    *number = pfa_units_value(unit, *number);
    return true;
}

static bool parse_number(parsing_t *parsing)
{
    double number;
    size_t length = pfa_units_digits(parsing->at, strlen(parsing->at), &number);
    if (length == 0) {
        return fail(parsing, "a number, a name or a bracket is missing");
    }
    parsing->at += length;
    if (!parse_unit(parsing, &number)) {
        return false;
    }
    return isfinite(number) ? put(parsing, (step_t){.op = NUMBER, .number = number})
                            : fail(parsing, "this is no number");
}

static bool parse_value(parsing_t *parsing)
{
    skip(parsing);
    size_t length = word_at(parsing->at);
    if (length != 0) {
        return parse_name(parsing, length);
    }
    if (take(parsing, '-')) {
        if (++parsing->depth > DEEPEST) {
            return fail(parsing, "there are too many signs");
        }
        bool fine = parse_value(parsing) && put(parsing, (step_t){.op = NEGATE});
        parsing->depth--;
        return fine;
    }
    if (take(parsing, '(')) {
        return parse_sum(parsing) && (take(parsing, ')') || fail(parsing, "a bracket is missing"));
    }
    return parse_number(parsing);
}

static bool parse_product(parsing_t *parsing)
{
    bool fine = parse_value(parsing);
    while (fine) {
        bool times = take(parsing, '*');
        if (!times && !take(parsing, '/')) {
            break;
        }
        fine = parse_value(parsing) && put(parsing, (step_t){.op = times ? MULTIPLY : DIVIDE});
    }
    return fine;
}

static bool parse_sum(parsing_t *parsing)
{
    if (++parsing->depth > DEEPEST) {
        return fail(parsing, "there are too many brackets");
    }
    bool fine = parse_product(parsing);
    while (fine) {
        bool plus = take(parsing, '+');
        if (!plus && !take(parsing, '-')) {
            break;
        }
        fine = parse_product(parsing) && put(parsing, (step_t){.op = plus ? ADD : SUBTRACT});
    }
    parsing->depth--;
    return fine;
}

static bool parse_all(parsing_t *parsing)
{
    skip(parsing);
    size_t length = word_at(parsing->at);
    if (strlen(parsing->text) > LONGEST) {
        return fail(parsing, "this formula is too long");
    }
    if (length == 0) {
        return fail(parsing, "a name is missing, as in NAME = FORMULA");
    }
    for (size_t i = 0; i < parsing->name_count; i++) {
        if (is_word(parsing->at, length, parsing->names[i])) {
            return fail(parsing, "this name is taken");
        }
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (is_word(parsing->at, length, calls[i].name)) {
            return fail(parsing, "this name is taken");
        }
    }
    parsing->formula->name = pfa_memory_copy(parsing->at, length);
    parsing->at += length;
    if (!take(parsing, '=')) {
        return fail(parsing, "a = is missing, as in NAME = FORMULA");
    }
    if (!parse_sum(parsing)) {
        return fail(parsing, "this formula is wrong");
    }
    skip(parsing);
    return *parsing->at == '\0' || fail(parsing, "there is more than a formula");
}

pfa_formula_t *pfa_formula_parse(const char *text, const char *const *names, size_t count, char **why)
{
    pfa_formula_t *formula = pfa_memory_get(1, sizeof *formula);
    parsing_t parsing = {.formula = formula, .names = names, .name_count = count, .text = text, .at = text};
    if (!parse_all(&parsing)) {
        *why = parsing.why;
        pfa_formula_free(formula);
        return NULL;
    }
    return formula;
}

void pfa_formula_free(pfa_formula_t *formula)
{
    if (formula != NULL) {
        pfa_memory_free(formula->name);
        pfa_memory_free(formula->steps);
        pfa_memory_free(formula);
    }
}

const char *pfa_formula_name(const pfa_formula_t *formula)
{
    return formula->name;
}

static double join(op_t op, double left, double right)
{
    switch (op) {
    case ADD:
        return left + right;
    case SUBTRACT:
        return left - right;
    case MULTIPLY:
        return left * right;
    case DIVIDE:
        return right != 0 ? left / right : (double)NAN;
    case LEAST:
        return isnan(left) || isnan(right) ? (double)NAN : fmin(left, right);
    default:
        return isnan(left) || isnan(right) ? (double)NAN : fmax(left, right);
    }
}

static double log_of(double value)
{
    return value > 0 ? log(value) : (double)NAN;
}

double pfa_formula_value(const pfa_formula_t *formula, const double *values)
{
    double stack[3 * DEEPEST + 3]; /* a level of brackets has a sum, a product and a value at once */
    size_t depth = 0;
    for (size_t i = 0; i < formula->count; i++) {
        const step_t *step = &formula->steps[i];
        if (step->op == NUMBER || step->op == NAME) {
            stack[depth++] = step->op == NUMBER ? step->number : values[step->name];
        } else if (step->op == NEGATE || step->op == LOGARITHM) {
            stack[depth - 1] = step->op == NEGATE ? -stack[depth - 1] : log_of(stack[depth - 1]);
        } else {
            depth--;
            stack[depth - 1] = join(step->op, stack[depth - 1], stack[depth]);
        }
    }
    return isfinite(stack[0]) ? stack[0] : (double)NAN;
}
