/* --where against a second opinion: random expressions, as text for the tool and as a tree that is walked here node by
 * node, over made-up chunks of two traces. Sets are found by asking all chunks one by one. */
/* sources: analyze/query/where_answers.c analyze/query/where_classes.c analyze/query/where_compile.c analyze/query/where_error.c analyze/query/where_eval.c analyze/query/where_fields.c analyze/query/where_forms.c analyze/query/where_graph.c analyze/query/where_leaf.c analyze/query/where_lex.c analyze/query/where_map.c analyze/query/where_match.c analyze/query/where_names.c analyze/query/where_near.c analyze/query/where_parse.c analyze/query/where_slots.c analyze/base/texts.c analyze/base/slots.c analyze/query/where_value.c analyze/base/units.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c */
#include "analyze/base/memory.h"
#include "analyze/query/where.h"
#include "tests/unit/unit.h"

#include <fnmatch.h>
#include <locale.h>
#include <math.h>

enum { TRACES = 2, KINDS = 40, CHUNKS = 3, STACKS = 12, PARTS = 400, NAMES = 4, EXPRESSIONS = 3000, TEXT = 1 << 16 };

typedef struct kind {
    pfa_subject_t subject;
    unsigned trace;
    double chunks[CHUNKS][PFA_FIELDS];
} kind_t;

static kind_t kinds[TRACES][KINDS];

typedef enum part_op { NUMBER, MATCH, FLAG, ALL, NONE, NOT, AND, OR, MINUS, POINT, PIPE, TOP, NAME } part_op_t;

/* An expression as a tree. */
typedef struct part {
    part_op_t op;
    pfa_field_t field;
    unsigned sign;
    double value;
    double other;
    const char *pattern;
    bool elsewhere; /* of a set: of the other trace */
    unsigned top;
    unsigned metric;
    struct part *left;
    struct part *right;
    bool found[TRACES]; /* of a set: it is known for chunks of that trace */
    bool stacks[TRACES][STACKS];
} part_t;

static part_t parts[PARTS * 8];
static size_t part_count;
static char text[TEXT];
static size_t length;
static part_t *names[NAMES];
static size_t name_count;
static unsigned traps; /* sets that were written */
static size_t sets_met;

/* --- chance ------------------------------------------------------------------------------------------------------- */

static uint64_t chance_state = 88172645463325252;

static unsigned chance(unsigned below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (unsigned)(chance_state >> 11) % below;
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

static const char *const words[] = {"alpha", "beta", "gamma", "alphabet", "be", "", "a.c", "x\xc3\xa4y"};
enum { WORDS = sizeof words / sizeof words[0] };

/* The texts of a field depend on its id alone: one to three of the words. */
static unsigned texts_of(pfa_field_t field, uint32_t id, const char *list[3])
{
    unsigned seed = (unsigned)field * 7 + id * 13;
    unsigned count = seed % 4;
    for (unsigned i = 0; i < count; i++) {
        list[i] = words[(seed / 3 + i * 5) % WORDS];
    }
    return count;
}

static uint32_t id_of(const pfa_subject_t *subject, pfa_field_t field)
{
    if (field <= PFA_FIELD_at_module) {
        return subject->stack;
    }
    return field <= PFA_FIELD_free_module ? subject->free_stack : (uint32_t)subject->ids[field];
}

static bool any_text(void *to, pfa_field_t field, bool (*match)(void *with, const char *text), void *with)
{
    const char *list[3];
    unsigned count = texts_of(field, id_of(&((const kind_t *)to)->subject, field), list);
    for (unsigned i = 0; i < count; i++) {
        if (match(with, list[i])) {
            return true;
        }
    }
    return false;
}

static bool is_number(pfa_field_t field)
{
    return field == PFA_FIELD_size || field >= PFA_FIELD_lifetime;
}

static bool is_of_chunk(unsigned field)
{
    return field >= PFA_FIELD_lifetime && field <= PFA_FIELD_wait;
}

static bool is_share(pfa_field_t field)
{
    return field == PFA_FIELD_coverage || (field >= PFA_FIELD_lifetime_score && field <= PFA_FIELD_score);
}

static double some_number(pfa_field_t field)
{
    double number = chance(8) == 0 ? NAN : (double)chance(6);
    return is_share(field) ? number / 5 : number;
}

static void make_kind(kind_t *kind, unsigned trace)
{
    *kind = (kind_t){.trace = trace};
    kind->subject = (pfa_subject_t){.to = kind, .any_text = any_text, .stack = chance(STACKS), .free_stack = chance(5)};
    for (unsigned field = 0; field < PFA_FIELDS; field++) {
        kind->subject.ids[field] = chance(5);
        kind->subject.numbers[field] = is_of_chunk(field) ? (double)NAN : some_number(field);
    }
    for (unsigned field = PFA_FIELD_live; field <= PFA_FIELD_shared; field++) {
        kind->subject.numbers[field] = chance(5) == 0 ? NAN : (double)chance(2);
    }
    for (unsigned i = 0; i < CHUNKS; i++) {
        memcpy(kind->chunks[i], kind->subject.numbers, sizeof kind->chunks[i]);
        for (unsigned field = PFA_FIELD_lifetime; is_of_chunk(field); field++) {
            kind->chunks[i][field] = some_number(field);
        }
    }
}

static void make_kinds(void)
{
    for (unsigned trace = 0; trace < TRACES; trace++) {
        for (unsigned i = 0; i < KINDS; i++) {
            make_kind(&kinds[trace][i], trace);
        }
    }
}

/* --- what is in the points with most, and what is true, the slow way ---------------------------------------------- */

static double metric_of(const kind_t *kind, unsigned metric)
{
    double size = isnan(kind->subject.numbers[PFA_FIELD_size]) ? 0 : kind->subject.numbers[PFA_FIELD_size];
    return metric == 0 ? size : metric == 1 ? 1 : kind->subject.numbers[PFA_FIELD_live] > 0 ? size : 0;
}

/* Marks the `top` stacks with the largest sums; the first of equal ones; those without a chunk never. */
static void mark_top(const double sums[STACKS], const bool has[STACKS], size_t top, bool marked[STACKS])
{
    for (size_t n = 0; n < top; n++) {
        int best = -1;
        for (int i = 0; i < STACKS; i++) {
            if (has[i] && !marked[i] && (best < 0 || sums[i] > sums[best])) {
                best = i;
            }
        }
        if (best < 0) {
            return;
        }
        marked[best] = true;
    }
}

static bool is_true(part_t *part, const kind_t *kind, const double *numbers);

/* Found once for each trace: sets of sets would take too long otherwise. */
static void find_set(part_t *part, unsigned trace)
{
    double sums[STACKS] = {0};
    bool has[STACKS] = {false};
    for (unsigned i = 0; i < KINDS; i++) {
        const kind_t *kind = &kinds[trace][i];
        for (unsigned j = 0; j < CHUNKS; j++) {
            if (part->left == NULL || is_true(part->left, kind, kind->chunks[j])) {
                has[kind->subject.stack] = true;
                sums[kind->subject.stack] += metric_of(kind, part->metric);
            }
        }
    }
    mark_top(sums, has, part->top != 0 ? part->top : STACKS, part->stacks[trace]);
    part->found[trace] = true;
}

static bool is_in_set(part_t *part, unsigned trace, uint32_t stack)
{
    if (!part->found[trace]) {
        find_set(part, trace);
    }
    return part->stacks[trace][stack];
}

static bool matches(const part_t *part, const kind_t *kind)
{
    const char *list[3];
    unsigned count = texts_of(part->field, id_of(&kind->subject, part->field), list);
    char pattern[32];
    snprintf(pattern, sizeof pattern, part->sign >= 2 ? "*%s*" : "%s", part->pattern);
    bool any = false;
    for (unsigned i = 0; i < count; i++) {
        any = any || fnmatch(pattern, list[i], 0) == 0;
    }
    return any != (part->sign % 2 != 0);
}

static bool compares(const part_t *part, double number)
{
    if (isnan(number)) {
        return false;
    }
    const bool by_sign[] = {number == part->value, number != part->value,
                            number<part->value, number <= part->value, number> part->value, number >= part->value,
                            number >= part->value && number <= part->other};
    return by_sign[part->sign];
}

static bool is_true(part_t *part, const kind_t *kind, const double *numbers)
{
    switch (part->op) {
    case NUMBER:
        return compares(part, numbers[part->field]);
    case MATCH:
        return matches(part, kind);
    case FLAG:
        return numbers[part->field] > 0;
    case ALL:
    case NONE:
        return part->op == ALL;
    case NOT:
        return !is_true(part->left, kind, numbers);
    case PIPE:
    case AND:
        return is_true(part->left, kind, numbers) && is_true(part->right, kind, numbers);
    case OR:
        return is_true(part->left, kind, numbers) || is_true(part->right, kind, numbers);
    case MINUS:
        return is_true(part->left, kind, numbers) && !is_true(part->right, kind, numbers);
    case POINT:
        return is_in_set(part, part->elsewhere ? 1 : kind->trace, kind->subject.stack);
    case TOP:
        return is_true(part->left, kind, numbers) && is_in_set(part, kind->trace, kind->subject.stack);
    case NAME:
        return is_true(part->left, kind, numbers);
    }
    return false;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text + length, TEXT - length, format, arguments);
    va_end(arguments);
    assert_true(size >= 0 && (size_t)size < TEXT - length);
    length += (size_t)size;
}

static const char *one_of(const char *first, const char *second, const char *third)
{
    unsigned which = chance(third != NULL ? 3 : 2);
    return which == 0 ? first : which == 1 ? second : third;
}

static part_t *new_part(part_op_t op)
{
    assert_true(part_count < sizeof parts / sizeof parts[0]);
    parts[part_count] = (part_t){.op = op};
    return &parts[part_count++];
}

static void put_value(pfa_field_t field, double value)
{
    bool count = field == PFA_FIELD_reads || field == PFA_FIELD_writes || field == PFA_FIELD_severity;
    put("%.0f%s", value, field == PFA_FIELD_size ? one_of("", "B", " b") : count ? "" : one_of("ns", " ns", NULL));
}

static part_t *write_number(void)
{
    static const char *const signs[] = {"=", "!=", "<", "<=", ">", ">=", "in"};
    part_t *part = new_part(NUMBER);
    do {
        part->field = chance(PFA_FIELDS);
    } while (!is_number(part->field) || is_share(part->field));
    part->sign = chance(7);
    part->value = chance(6);
    part->other = part->value + chance(3);
    static const char *const field_names[] = {
#define PFA_FIELD(name, form, level, meaning) #name,
#include "analyze/query/fields.def"
#undef PFA_FIELD
    };
    put("%s %s ", field_names[part->field], signs[part->sign]);
    put_value(part->field, part->value);
    if (part->sign == 6) {
        put("%s", one_of("..", " .. ", NULL));
        put_value(part->field, part->other);
    }
    return part;
}

static part_t *write_share(void)
{
    static const char *const signs[] = {"<", "<=", ">", ">="};
    part_t *part = new_part(NUMBER);
    static const struct {
        pfa_field_t field;
        const char *name;
    } shares[] = {{PFA_FIELD_coverage, "coverage"},
                  {PFA_FIELD_lifetime_score, "lifetime_score"},
                  {PFA_FIELD_usage, "usage"},
                  {PFA_FIELD_useful_lifetime, "useful_lifetime"},
                  {PFA_FIELD_score, "score"}};
    unsigned fifths = chance(6);
    unsigned which = chance(sizeof shares / sizeof shares[0]);
    part->field = shares[which].field;
    part->sign = 2 + chance(4);
    part->value = fifths / 5.0 + (fifths < 5 ? 0.1 : 0); /* between those of chunks, or 1 */
    bool percent = chance(2) != 0;
    put(percent ? "%s %s %.0f%%" : "%s %s %.1f", shares[which].name, signs[part->sign - 2],
        part->value * (percent ? 100 : 1));
    return part;
}

static part_t *write_match(void)
{
    static const char *const patterns[] = {"alpha", "al*", "*a",  "?e*", "[ab]*",      "[!a]*",
                                           "be",    "*",   "a.c", "x?y", "x\xc3\xa4y", "*t"};
    static const char *const signs[] = {"=", "!=", "~", "!~"};
    static const pfa_field_t fields[] = {
        PFA_FIELD_function,  PFA_FIELD_file,   PFA_FIELD_module,      PFA_FIELD_at_function, PFA_FIELD_free_function,
        PFA_FIELD_free_file, PFA_FIELD_thread, PFA_FIELD_free_thread, PFA_FIELD_tag,         PFA_FIELD_trace};
    static const char *const field_names[] = {"function",  "file",   "module",      "at_function", "free_function",
                                              "free_file", "thread", "free_thread", "tag",         "trace"};
    part_t *part = new_part(MATCH);
    unsigned which = chance(sizeof fields / sizeof fields[0]);
    part->field = fields[which];
    part->sign = chance(4);
    part->pattern = patterns[chance(sizeof patterns / sizeof patterns[0])];
    bool quotes = chance(2) != 0;
    put("%s%s%s%s%s%s%s", field_names[which], one_of(" ", "", NULL), signs[part->sign], one_of(" ", "", NULL),
        quotes ? "\"" : "", part->pattern, quotes ? "\"" : "");
    return part;
}

static part_t *write_simple(void)
{
    static const char *const flags[] = {"live", "freed", "shared"};
    unsigned which = chance(20);
    if (which < 9) {
        return write_number();
    }
    if (which < 17) {
        return write_match();
    }
    if (which == 17) {
        return write_share();
    }
    part_t *part = new_part(which == 18 ? FLAG : chance(2) != 0 ? ALL : NONE);
    part->field = PFA_FIELD_live + chance(3);
    put("%s", part->op == FLAG ? flags[part->field - PFA_FIELD_live] : part->op == ALL ? "all" : "none");
    return part;
}

static part_t *write_pipe(unsigned depth);

static part_t *write_point(unsigned depth)
{
    part_t *part = new_part(POINT);
    part->elsewhere = chance(3) == 0;
    traps++;
    put("point in ");
    if (part->elsewhere) {
        put("\"other.pa\"%s", chance(3) == 0 ? "" : " where ");
        if (text[length - 1] == '"') {
            return part;
        }
    }
    put("(");
    part->left = write_pipe(depth);
    put(")");
    return part;
}

/* Everything is in brackets here; what binds how is told apart in test_where.c. */
static part_t *write_operation(unsigned depth)
{
    part_t *part = new_part((part_op_t[]){AND, OR, MINUS}[chance(3)]);
    put("(");
    part->left = write_pipe(depth - 1);
    put(")%s", part->op == AND  ? one_of(" and ", "&&", " intersect ")
               : part->op == OR ? one_of(" or ", " || ", " union ")
                                : " minus ");
    put("(");
    part->right = write_pipe(depth - 1);
    put(")");
    return part;
}

static part_t *write_any(unsigned depth)
{
    unsigned which = depth == 0 ? 0 : chance(12);
    if (which == 1 && name_count > 0) {
        part_t *part = new_part(NAME);
        unsigned name = chance((unsigned)name_count);
        part->left = names[name];
        put("name-%u", name);
        return part;
    }
    if (which <= 3) {
        return write_simple();
    }
    if (which == 4 && traps < 3) {
        return write_point(depth - 1);
    }
    if (which == 5) {
        part_t *part = new_part(NOT);
        put("%s(", one_of("not ", "!", NULL));
        part->left = write_pipe(depth - 1);
        put(")");
        return part;
    }
    return write_operation(depth);
}

static part_t *write_pipe(unsigned depth)
{
    static const char *const metrics[] = {"bytes", "count", "live"};
    part_t *part = write_any(depth);
    if (depth > 0 && chance(10) == 0 && traps < 3) {
        part_t *top = new_part(TOP);
        traps++;
        *top = (part_t){.op = TOP, .left = part, .top = 1 + chance(4), .metric = chance(3)};
        put(" | top %u by %s", top->top, metrics[top->metric]);
        part = top;
    }
    if (depth > 0 && chance(10) == 0) {
        part_t *pipe = new_part(PIPE);
        put(" | ");
        pipe->left = part;
        pipe->right = write_any(depth - 1);
        part = pipe;
    }
    return part;
}

/* --- the test ----------------------------------------------------------------------------------------------------- */

static bool ask(pfa_where_t *where, const kind_t *kind, const double *numbers)
{
    uint32_t slot;
    pfa_truth_t truth = pfa_where_kind(where, &kind->subject, &slot);
    return truth == PFA_OPEN ? pfa_where_chunk(where, slot, numbers) : truth == PFA_YES;
}

static void fill_sets(pfa_where_t *where, unsigned own);

/* `own` is the trace whose chunks are asked whether they are in it. */
static void fill_set(pfa_where_set_t *set, unsigned own)
{
    double sums[STACKS] = {0};
    bool has[STACKS] = {false};
    unsigned trace = set->file != NULL ? 1 : own;
    const char *by = set->metric != NULL ? set->metric : "bytes";
    unsigned metric = strcmp(by, "bytes") == 0 ? 0 : strcmp(by, "count") == 0 ? 1 : 2;
    assert_true(set->file == NULL || strcmp(set->file, "other.pa") == 0);
    if (set->file != NULL && set->where != NULL) {
        fill_sets(set->where, 1);
    }
    for (unsigned i = 0; i < KINDS; i++) {
        const kind_t *kind = &kinds[trace][i];
        for (unsigned j = 0; j < CHUNKS; j++) {
            if (set->where == NULL || ask(set->where, kind, kind->chunks[j])) {
                has[kind->subject.stack] = true;
                sums[kind->subject.stack] += metric_of(kind, metric);
            }
        }
    }
    set->stacks = pfa_memory_get(STACKS, sizeof *set->stacks);
    set->room = STACKS;
    assert_non_null(set->stacks);
    mark_top(sums, has, set->top != 0 ? set->top : STACKS, set->stacks);
}

static void fill_sets(pfa_where_t *where, unsigned own)
{
    size_t count;
    pfa_where_set_t *sets = pfa_where_sets(where, &count);
    for (size_t i = 0; i < count; i++) {
        fill_set(&sets[i], own);
    }
    sets_met += count;
}

static void compare(part_t *part, pfa_where_t *where, size_t *yes)
{
    for (unsigned i = 0; i < KINDS; i++) {
        const kind_t *kind = &kinds[0][i];
        for (unsigned j = 0; j < CHUNKS; j++) {
            bool wanted = is_true(part, kind, kind->chunks[j]);
            if (ask(where, kind, kind->chunks[j]) != wanted) {
                fail_msg("kind %u, chunk %u should be %d: %s", i, j, wanted, text);
            }
            *yes += wanted;
        }
    }
}

static void write_names(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (name_count = 0; name_count < NAMES;) {
        length = 0;
        traps = 2; /* few sets: each costs a walk */
        part_t *part = write_pipe(2);
        fprintf(file, "name-%zu = %s\n", name_count, text);
        names[name_count++] = part;
    }
    fclose(file);
}

static void test_random_expressions(void **state)
{
    (void)state;
    char path[] = "/tmp/where-XXXXXX";
    size_t yes = 0;
    must(close(mkstemp(path)) == 0);
    for (unsigned n = 0; n < EXPRESSIONS; n++) {
        char *why = NULL;
        part_count = 0;
        make_kinds();
        write_names(path);
        pfa_where_names_t *defined = pfa_where_names_new();
        if (!pfa_where_names_read(defined, path, &why)) {
            fail_msg("%s", why);
        }
        length = 0;
        traps = 0;
        part_t *part = write_pipe(1 + chance(5));
        pfa_where_t *where = pfa_where_parse(text, defined, &why);
        if (where == NULL) {
            fail_msg("%s", why);
        }
        pfa_where_names_free(defined); /* what was parsed does not need them */
        fill_sets(where, 0);
        compare(part, where, &yes);
        pfa_where_batch(where);
        compare(part, where, &yes);
        pfa_where_free(where);
    }
    unlink(path);
    print_message("%zu of %d answers were yes; %zu sets\n", yes, EXPRESSIONS * KINDS * CHUNKS * 2, sets_met);
    assert_true(yes > EXPRESSIONS * KINDS * CHUNKS / 4 && sets_met > EXPRESSIONS / 10);
}

int main(void)
{
    must(setlocale(LC_CTYPE, "C.UTF-8") != NULL); /* for fnmatch: a character may be several bytes */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_expressions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
