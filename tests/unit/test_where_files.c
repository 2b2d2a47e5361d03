/* --where beyond a line of text: files of definitions, the sets that an expression needs, the limits of what it may be, what is
 * told of every error, and that answers stay right when what was remembered is forgotten. */
/* sources: analyze/query/where_answers.c analyze/query/where_classes.c analyze/query/where_compile.c analyze/query/where_error.c analyze/query/where_eval.c analyze/query/where_fields.c analyze/query/where_forms.c analyze/query/where_graph.c analyze/query/where_leaf.c analyze/query/where_lex.c analyze/query/where_map.c analyze/query/where_match.c analyze/query/where_names.c analyze/query/where_near.c analyze/query/where_parse.c analyze/query/where_slots.c analyze/base/texts.c analyze/base/slots.c analyze/query/where_value.c analyze/base/units.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c */
#include "analyze/base/memory.h"
#include "analyze/query/where.h"
#include "analyze/query/where_program.h"
#include "tests/unit/unit.h"

#include <math.h>

static char path[] = "/tmp/where-files-XXXXXX";

/* --- errors --------------------------------------------------------------------------------------------------------- */

#define MISSING "a field, a named query or '(' is missing"
static const struct {
    const char *text;
    const char *why;
    size_t column;
} errors[] = {
    {"function = parse* and sizee > 4K", "'sizee' is no field (did you mean 'size'?)", 22},
    {"tag = \"\xc3\xa4\xc3\xb6\xc3\xbc\" and liv", "'liv' is no field and no named query (did you mean 'live'?)", 16},
    {"zzzzzz", "'zzzzzz' is no field and no named query", 0},
    {"zzzzzz=3", "'zzzzzz' is no field", 0},
    {"", MISSING " here", 0},
    {"live and", MISSING " here", 8},
    {"live and  # and no more", MISSING " here", 8},
    {"and live", MISSING " before 'and'", 0},
    {"live | | freed", MISSING " before '|'", 7},
    {"()", MISSING " before ')'", 1},
    {"\"x\"", MISSING " before '\"x\"'", 0},
    {"by", MISSING " before 'by'", 0},
    {"live live", "'and', 'or', 'minus' or '|' is missing before 'live'", 5},
    {"(live live)", "'and', 'or', 'minus', '|' or ')' is missing before 'live'", 6},
    {"(live", "this bracket is never closed", 0},
    {"live)", "this bracket was never opened", 4},
    {"tag = \"abc", "this quote is never closed", 6},
    {"tag = \"abc\\\"", "this quote is never closed", 6},
    {"live & freed", "'&' is not expected here", 5},
    {"live \x01", "the byte 0x01 is not expected here", 5},
    {"live = 3", "'live' is true or not and stands by itself", 5},
    {"function > 3", "'function' is a text: = != ~ !~ can be asked of it", 9},
    {"function in 3..4", "'function' is a text: = != ~ !~ can be asked of it", 9},
    {"function", "one of = != ~ !~ is missing here", 8},
    {"function =", "a text (in quotes if it has spaces or brackets) is missing here", 10},
    {"function = and live", "a text (in quotes if it has spaces or brackets) is missing before 'and'", 11},
    {"function = (x)", "a text (in quotes if it has spaces or brackets) is missing before '('", 11},
    {"tag = a[[:alpha:]]", "classes of characters have no names here: write [a-z]", 7},
    {"function = [a", "this bracket is never closed: write \\[ if it is meant as it is", 11},
    {"function = \"x[ab] a[!]\"", "this bracket is never closed: write \\[ if it is meant as it is", 19},
    {"not tag = a\\[[b\\]", "this bracket is never closed: write \\[ if it is meant as it is", 13},
    {"function = 'main'", "single quotes are no quotes here: write \"...\"", 11},
    {"size = 204.5", "'size' is always a whole number, which this is not", 7},
    {"size != 1.1K", "'size' is always a whole number, which this is not", 8},
    {"reads = 0.5", "'reads' is always a whole number, which this is not", 8},
    {"size ~ 3", "'size' is a number: = != < <= > >= and 'in' can be asked of it", 5},
    {"size and live", "one of = != < <= > >= 'in' is missing before 'and'", 5},
    {"size >", "a number is missing here, such as 4K", 6},
    {"size > big", "a number is missing here, such as 4K", 7},
    {"size > -4", "a number is missing here, such as 4K", 7},
    {"lifetime > x", "a number is missing here, such as 10ms", 11},
    {"coverage > x", "a number is missing here, such as 50%", 11},
    {"size > 4Q", "'Q' is no unit of 'size': B, K, M, G and T fit", 8},
    {"size > 4ms", "'ms' is no unit of 'size': B, K, M, G and T fit", 8},
    {"lifetime > 4K", "'K' is no unit of 'lifetime': ns, us, ms, s, m and h fit", 12},
    {"born > 4", "a unit is missing: ns, us, ms, s, m and h fit", 7},
    {"reads > 4KiB", "'KiB' is no unit of 'reads': K, M and G fit, for thousands, millions and billions", 9},
    {"coverage > 3s", "'s' is no unit of 'coverage': % fits", 12},
    {"coverage > 50", "a share is from 0 to 1, or from 0% to 100%", 11},
    {"coverage > 101%", "a share is from 0 to 1, or from 0% to 100%", 11},
    {"size > 1e999", "this number is too large", 7},
    {"size in 4K", "'..' and the end of the range are missing here", 10},
    {"size in 4K..", "a number is missing here, such as 4K", 12},
    {"size in 4K..2K", "this range ends before it begins", 8},
    {"live and top 3", "'top' stands at the beginning or after '|'", 9},
    {"live | top", "how many points is missing here, such as 10", 10},
    {"live | top 0", "how many points is missing here, such as 10", 11},
    {"live | top ten", "how many points is missing here, such as 10", 11},
    {"top 5 by sice", "points are not ranked by 'sice': 'bytes', 'count' and 'live' can be asked for", 9},
    {"top 5 by | live", "'bytes', 'count' or 'live' is missing before '|'", 9},
    {"point live", "'in' is missing before 'live'", 6},
    {"point in", "a named query, an expression in brackets or a trace in quotes is missing here", 8},
    {"point in = 3", "a named query, an expression in brackets or a trace in quotes is missing before '='", 9},
    {"point in \"\"", "the name of a trace is missing between the quotes", 9},
    {"point in \"x.pa\" where", MISSING " here", 21},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        char wanted[512];
        char shown[128];
        char *why = NULL;
        snprintf(shown, sizeof shown, "%s", errors[i].text);
        shown[strcspn(shown, "\x01")] = shown[strcspn(shown, "\x01")] != '\0' ? ' ' : '\0';
        snprintf(wanted, sizeof wanted, "%s\n  %s\n  %*s^", errors[i].why, shown, (int)errors[i].column, "");
        assert_null(pfa_where_parse(errors[i].text, NULL, &why));
        assert_string_equal(why, wanted);
        pfa_memory_free(why);
    }
}

static void assert_why(char *why, const char *part)
{
    if (why == NULL || strstr(why, part) == NULL) {
        fail_msg("'%s' should be in: %s", part, why != NULL ? why : "(no error)");
    }
    pfa_memory_free(why);
}

/* Only the line that is wrong is shown, and of a long one what is around the mark. */
static void test_errors_in_long_texts(void **state)
{
    (void)state;
    char *why = NULL;
    char text[2000] = "";
    assert_null(pfa_where_parse("live and\n  sizze > 3 and\nfreed", NULL, &why));
    assert_string_equal(why, "'sizze' is no field (did you mean 'size'?)\n    sizze > 3 and\n    ^");
    pfa_memory_free(why);
    for (size_t i = 0; i < 150; i++) {
        strcat(text, i == 75 ? "freed and sizze > 3 and " : "live and ");
    }
    why = NULL;
    assert_null(pfa_where_parse(text, NULL, &why));
    char *line = strchr(why, '\n') + 3;
    char *mark = strchr(line, '\n') + 3;
    assert_true(strlen(why) < 400);
    assert_memory_equal(line, "...", 3);
    assert_memory_equal(line + (strchr(mark, '^') - mark), "sizze", 5);
    pfa_memory_free(why);
}

/* --- limits --------------------------------------------------------------------------------------------------------- */

static void fill(char *to, const char *what, size_t times)
{
    for (size_t i = 0; i < times; i++) {
        memcpy(to + i * strlen(what), what, strlen(what) + 1);
    }
}

static void test_limits(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    static const struct {
        const char *before;
        size_t times;
        const char *after;
        const char *why;
    } cases[] = {{"(", MANY, "live", "this is nested more than 200 deep"},
                 {"not ", MANY, "live", "this is nested more than 200 deep"},
                 {"point in ", MANY, "live", "this is nested more than 200 deep"},
                 {"not ", 150, "live", NULL},
                 {"live and ", MANY, "live", NULL},
                 {"live or ", MANY, "freed", NULL},
                 {"live minus ", MANY, "freed", NULL},
                 {"live | ", MANY, "freed", NULL},
                 {"live or freed minus shared or size > 3 and ", 10000, "live", "more than 1000 deep"},
                 {"top 3 | ", 500, "live", "too many sets"}};
    char *text = malloc(MANY * 48);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *why = NULL;
        fill(text, cases[i].before, cases[i].times);
        strcat(text, cases[i].after);
        pfa_where_t *where = pfa_where_parse(text, NULL, &why);
        if (cases[i].why != NULL) {
            assert_null(where);
            assert_why(why, cases[i].why);
        } else {
            assert_non_null(where);
        }
        pfa_where_free(where);
    }
    memset(text, 'x', 5000);
    memcpy(text, "tag = ", 6);
    text[5000] = '\0';
    char *why = NULL;
    assert_null(pfa_where_parse(text, NULL, &why));
    assert_why(why, "this text is longer than 4096 bytes");
    free(text);
}

/* --- files ---------------------------------------------------------------------------------------------------------- */

static void write_file(const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    must(file != NULL && fwrite(text, 1, size, file) == size && fclose(file) == 0);
}

static bool any_text(void *to, pfa_field_t field, bool (*match)(void *with, const char *text), void *with)
{
    (void)to, (void)field, (void)match, (void)with;
    return false;
}

static bool is_true(pfa_where_t *where, double size)
{
    uint32_t slot;
    pfa_subject_t subject = {.any_text = any_text};
    subject.numbers[PFA_FIELD_size] = size;
    pfa_truth_t truth = pfa_where_kind(where, &subject, &slot);
    assert_int_not_equal(truth, PFA_OPEN);
    return truth == PFA_YES;
}

/* Between which sizes it is true: as if that was all it asked. */
static void assert_sizes(const char *text, pfa_where_names_t *names, double from, double to)
{
    char *why = NULL;
    pfa_where_t *where = pfa_where_parse(text, names, &why);
    if (where == NULL) {
        fail_msg("%s", why);
    }
    assert_false(is_true(where, from - 1));
    assert_true(is_true(where, from));
    assert_true(is_true(where, to));
    assert_false(is_true(where, to + 1));
    pfa_where_free(where);
}

static void test_definitions(void **state)
{
    (void)state;
    static const char text[] = "# sizes\n"
                               "big = size >= 100  # and more\n"
                               "\n"
                               "  # nothing\n"
                               "middle=big and\n"
                               "\tsize\n"
                               "# in between\n"
                               "   <= 200\r\n"
                               "where middle minus size = 200\n"
                               "caf\xc3\xa9-2 = size in 3..4\n";
    char at_file[64];
    char *why = NULL;
    snprintf(at_file, sizeof at_file, "@%s", path);
    write_file(text, strlen(text));
    pfa_where_names_t *names = pfa_where_names_new();
    assert_true(pfa_where_names_read(names, path, &why));
    assert_sizes("middle", names, 100, 200);
    assert_sizes("caf\xc3\xa9-2", names, 3, 4);
    assert_sizes("middle and not size = 200 | big", names, 100, 199);
    assert_sizes(NULL, names, 100, 199);
    assert_sizes(at_file, NULL, 100, 199);
    assert_null(pfa_where_parse("midle", names, &why));
    assert_why(why, "'midle' is no field and no named query (did you mean 'middle'?)");
    assert_null(pfa_where_parse("big > 3", names, &why));
    assert_why(why, "'big' is a named query and stands by itself\n  big > 3\n      ^");
    assert_false(pfa_where_names_read(names, path, &why));
    assert_why(why, "'big' is already defined in");
    pfa_where_names_free(names);

    static const char marked[] = "\xef\xbb\xbfwhere size in 7..8\n";
    write_file(marked, strlen(marked));
    assert_sizes(at_file, NULL, 7, 8);
    static const char alone[] = "\xef\xbb\xbf";
    write_file(alone, strlen(alone));
    assert_null(pfa_where_parse(at_file, NULL, &why));
    pfa_memory_free(why);

    static const char no_where[] = "a = size = 1\nb = size in 5..6";
    write_file(no_where, strlen(no_where));
    assert_sizes(at_file, NULL, 5, 6);
}

static void test_errors_in_files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why; /* behind the path */
    } cases[] = {
        {"a = live\n\nb = a and\n  sizze > 3\n",
         ":4: 'sizze' is no field (did you mean 'size'?)\n    sizze > 3\n    ^"},
        {"a = b\nb = live\n", ":1: 'b' is used before it is defined, in line 2\n  a = b\n      ^"},
        {"a = not a\n", ":1: 'a' is used before it is defined, in line 1\n  a = not a\n          ^"},
        {"a = live\na = freed\n", ":2: 'a' is already defined in PATH:1\n  a = freed\n  ^"},
        {"size = live\n", ":1: 'size' belongs to the language and cannot be defined\n  size = live\n  ^"},
        {"and = live\n", ":1: 'and' belongs to the language and cannot be defined\n  and = live\n  ^"},
        {"a =\nb = live\n", ":1: a field, a named query or '(' is missing here\n  a =\n     ^"},
        {"a = (live\nb = live\n", ":1: this bracket is never closed\n  a = (live\n      ^"},
        {"  live\n", ":1: nothing is before this line that it could go on with\n    live\n  ^"},
        {"live\n", ":1: a line begins with 'name =' or 'where', or with a space to go on\n  live\n  ^"},
        {"where live\nwhere freed\n",
         ":2: there is a line 'where' before this one, and only one counts\n  where freed\n  ^"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char wanted[512];
        char *why = NULL;
        const char *place = strstr(cases[i].why, "PATH");
        int before = place != NULL ? (int)(place - cases[i].why) : (int)strlen(cases[i].why);
        snprintf(wanted, sizeof wanted, "%s%.*s%s%s", path, before, cases[i].why, place != NULL ? path : "",
                 place != NULL ? place + 4 : "");
        write_file(cases[i].text, strlen(cases[i].text));
        pfa_where_names_t *names = pfa_where_names_new();
        assert_false(pfa_where_names_read(names, path, &why));
        assert_string_equal(why, wanted);
        pfa_memory_free(why);
        pfa_where_names_free(names);
    }
}

static void test_files_that_are_none(void **state)
{
    (void)state;
    char at_file[64];
    char *why = NULL;
    snprintf(at_file, sizeof at_file, "@%s", path);
    assert_null(pfa_where_parse("@/nowhere/at/all", NULL, &why));
    assert_string_equal(why, "/nowhere/at/all: cannot be read: No such file or directory");
    pfa_memory_free(why);
    assert_null(pfa_where_parse("@/", NULL, &why));
    assert_why(why, "cannot be read: Is a directory");
    write_file("# nothing\n", 10);
    assert_null(pfa_where_parse(at_file, NULL, &why));
    assert_why(why, "no file says what is asked for");
    write_file("", 0);
    assert_null(pfa_where_parse(at_file, NULL, &why));
    assert_why(why, "no file says what is asked for");
    write_file("a = \0 live", 10);
    assert_null(pfa_where_parse(at_file, NULL, &why));
    assert_why(why, "is not text: it has zero bytes");
    assert_null(pfa_where_parse(NULL, NULL, &why));
    assert_why(why, "no file says what is asked for");
}

/* Each name uses the one before twice: written out, that would be 2^300 words. */
static void test_names_of_names(void **state)
{
    (void)state;
    char at_file[64];
    snprintf(at_file, sizeof at_file, "@%s", path);
    FILE *file = fopen(path, "w");
    must(file != NULL);
    fprintf(file, "n0 = size = 3\n");
    for (int i = 1; i <= 300; i++) {
        fprintf(file, "n%d = (n%d or size = %d and lifetime >= 0) and (n%d or size = 3)\n", i, i - 1, i + 3, i - 1);
    }
    must(fclose(file) == 0);
    assert_sizes(at_file, NULL, 3, 3);
}

/* --- sets ----------------------------------------------------------------------------------------------------------- */

typedef struct wanted_set {
    const char *file;
    const char *metric;
    size_t top;
    bool all;
} wanted_set_t;

static bool is_same_text(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* Whether all sets that it asks come before this one. That of another trace has its own. */
static bool is_ready(const pfa_where_set_t *sets, size_t number)
{
    const pfa_where_t *where = sets[number].file == NULL ? sets[number].where : NULL;
    for (size_t i = 0; where != NULL && i < where->node_count; i++) {
        if (where->graph.nodes[i].op == PFA_GRAPH_SET && where->graph.nodes[i].first >= number) {
            return false;
        }
    }
    return true;
}

/* Just these, in any order in which what one needs comes before it. Returns the one that is of trace "c.pa". */
static pfa_where_set_t *assert_sets(pfa_where_t *where, const wanted_set_t *wanted, size_t wanted_count)
{
    size_t count;
    pfa_where_set_t *of_c = NULL;
    pfa_where_set_t *sets = pfa_where_sets(where, &count);
    assert_int_equal(count, wanted_count);
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t j = 0; j < count; j++) {
            found =
                found || (sets[j].top == wanted[i].top && (sets[j].where == NULL) == wanted[i].all &&
                          is_same_text(sets[j].file, wanted[i].file) && is_same_text(sets[j].metric, wanted[i].metric));
        }
        if (!found || !is_ready(sets, i)) {
            fail_msg("set %zu is not there or too early", i);
        }
        of_c = is_same_text(sets[i].file, "c.pa") ? &sets[i] : of_c;
    }
    return of_c;
}

static void test_sets(void **state)
{
    (void)state;
    static const wanted_set_t wanted[] = {{NULL, "count", 10, false}, {NULL, "bytes", 2, false},
                                          {NULL, NULL, 0, false},     {"a\"b.pa", NULL, 0, true},
                                          {"c.pa", NULL, 0, false},   {NULL, NULL, 0, false}};
    static const wanted_set_t wanted_of_c[] = {{NULL, NULL, 0, false}, {"d.pa", NULL, 0, true}};
    char *why = NULL;
    pfa_where_t *where =
        pfa_where_parse("live | top 10 by count | point in (size > 4K | top 2) or point in \"a\\\"b.pa\" or "
                        "point in \"c.pa\" where (point in (freed) and point in \"d.pa\") or "
                        "point in (freed) or point in (function = f)",
                        NULL, &why);
    assert_non_null(where);
    pfa_where_set_t *of_c = assert_sets(where, wanted, sizeof wanted / sizeof wanted[0]);
    assert_non_null(of_c);
    (void)assert_sets(of_c->where, wanted_of_c, sizeof wanted_of_c / sizeof wanted_of_c[0]);
    pfa_where_free(where);
}

/* Each name needs the one before in two other traces. */
static void test_too_many_sets(void **state)
{
    (void)state;
    char at_file[64];
    char *why = NULL;
    snprintf(at_file, sizeof at_file, "@%s", path);
    FILE *file = fopen(path, "w");
    must(file != NULL);
    fprintf(file, "n0 = live\n");
    for (int i = 1; i <= 100; i++) {
        fprintf(file, "n%d = point in \"a\" where n%d or point in \"b\" where n%d\n", i, i - 1, i - 1);
    }
    must(fclose(file) == 0);
    assert_null(pfa_where_parse(at_file, NULL, &why));
    assert_why(why, "too many sets of points are needed");
}

/* --- much to remember ----------------------------------------------------------------------------------------------- */

enum { BITS = 14 };

/* A stack has the functions whose bit is in its number. */
static bool any_function(void *to, pfa_field_t field, bool (*match)(void *with, const char *text), void *with)
{
    (void)field;
    for (unsigned i = 0; i < BITS; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%u", i);
        if ((*(const unsigned *)to >> i & 1) != 0 && match(with, name)) {
            return true;
        }
    }
    return false;
}

/* Every stack leaves something else open. */
static void test_forgetting(void **state)
{
    (void)state;
    char text[BITS * 64] = "none";
    char *why = NULL;
    for (unsigned i = 0; i < BITS; i++) {
        snprintf(text + strlen(text), 64, " or function = f%u and lifetime = %uns", i, i);
    }
    pfa_where_t *where = pfa_where_parse(text, NULL, &why);
    assert_non_null(where);
    for (unsigned n = 0; n < 3 << BITS; n++) {
        unsigned stack = n % (1 << BITS);
        uint32_t slot = UINT32_MAX;
        pfa_subject_t subject = {.to = &stack, .any_text = any_function, .stack = stack};
        if (n % 1000 == 0) {
            pfa_where_batch(where);
        }
        assert_int_equal(pfa_where_kind(where, &subject, &slot), stack == 0 ? PFA_NO : PFA_OPEN);
        assert_true(slot == UINT32_MAX || slot < 10000); /* it does forget */
        for (unsigned life = 0; life < BITS && stack != 0; life++) {
            subject.numbers[PFA_FIELD_lifetime] = life;
            assert_int_equal(pfa_where_chunk(where, slot, subject.numbers), stack >> life & 1);
        }
    }
    pfa_where_free(where);
}

/* More classes than a slot has places for, and more than can be counted. */
static void test_many_classes(void **state)
{
    (void)state;
    static const char *const fields[] = {"lifetime", "born", "died", "reads", "writes", "idle", "wait"};
    static const pfa_field_t numbers[] = {PFA_FIELD_lifetime, PFA_FIELD_born, PFA_FIELD_died, PFA_FIELD_reads,
                                          PFA_FIELD_writes,   PFA_FIELD_idle, PFA_FIELD_wait};
    enum { FIELDS = 7, BOUNDS = 2000 };
    static char text[FIELDS * BOUNDS * 32];
    for (unsigned used = 2; used <= FIELDS; used += 5) {
        size_t length = 0;
        char *why = NULL;
        for (unsigned i = 0; i < used * BOUNDS; i++) {
            const char *unit = i % used == 3 || i % used == 4 ? "" : "ns";
            length += (size_t)snprintf(text + length, 40, "%s%s = %u%s", i != 0 ? " or " : "", fields[i % used],
                                       i / used * 2, unit);
        }
        pfa_where_t *where = pfa_where_parse(text, NULL, &why);
        assert_non_null(where);
        for (unsigned n = 0; n < 3000; n++) {
            pfa_subject_t subject = {.any_text = any_text};
            uint32_t slot;
            bool even = false;
            for (unsigned i = 0; i < used; i++) { /* odd but for one of some */
                unsigned number = (n * 7919 + i * 104729) % (2 * BOUNDS) | 1;
                number -= n % 3 == 0 && i == n % used;
                even = even || number % 2 == 0;
                subject.numbers[numbers[i]] = number;
            }
            assert_int_equal(pfa_where_kind(where, &subject, &slot), PFA_OPEN);
            assert_int_equal(pfa_where_chunk(where, slot, subject.numbers), even);
            assert_int_equal(pfa_where_chunk(where, slot, subject.numbers), even);
        }
        pfa_where_free(where);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),          cmocka_unit_test(test_errors_in_long_texts),
        cmocka_unit_test(test_limits),          cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_errors_in_files), cmocka_unit_test(test_files_that_are_none),
        cmocka_unit_test(test_names_of_names),  cmocka_unit_test(test_sets),
        cmocka_unit_test(test_too_many_sets),   cmocka_unit_test(test_forgetting),
        cmocka_unit_test(test_many_classes)};
    must(close(mkstemp(path)) == 0);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
