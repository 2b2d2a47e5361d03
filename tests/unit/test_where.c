/* The language of --where: what it means where that can be told in a line, which part of a text a pattern has to match, what
 * files define, which sets an expression needs, and all that is told of errors. Random expressions are in test_where_random.c. */
/* sources: analyze/query/where_answers.c analyze/query/where_classes.c analyze/query/where_compile.c analyze/query/where_error.c analyze/query/where_eval.c analyze/query/where_fields.c analyze/query/where_forms.c analyze/query/where_graph.c analyze/query/where_leaf.c analyze/query/where_lex.c analyze/query/where_map.c analyze/query/where_match.c analyze/query/where_names.c analyze/query/where_near.c analyze/query/where_parse.c analyze/query/where_slots.c analyze/base/texts.c analyze/base/slots.c analyze/query/where_value.c analyze/base/units.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c */
#include "analyze/query/where_match.h"
#include "tests/unit/unit.h"

#include <fnmatch.h>
#include <math.h>

/* --- one chunk, asked ---------------------------------------------------------------------------------------------- */

static const char *texts[PFA_FIELDS];
static unsigned texts_asked;

static bool any_text(void *to, pfa_field_t field, bool (*match)(void *with, const char *text), void *with)
{
    (void)to;
    texts_asked++;
    return texts[field] != NULL && match(with, texts[field]);
}

static pfa_subject_t make_subject(void)
{
    pfa_subject_t subject = {.any_text = any_text, .stack = 7, .free_stack = 9};
    for (size_t i = 0; i < PFA_FIELDS; i++) {
        subject.numbers[i] = NAN;
        texts[i] = NULL;
    }
    return subject;
}

static pfa_where_t *parse(const char *text)
{
    char *why = NULL;
    pfa_where_t *where = pfa_where_parse(text, NULL, &why);
    if (where == NULL) {
        fail_msg("%s", why);
    }
    return where;
}

static bool ask_where(pfa_where_t *where, const pfa_subject_t *subject)
{
    uint32_t slot;
    pfa_truth_t truth = pfa_where_kind(where, subject, &slot);
    return truth == PFA_OPEN ? pfa_where_chunk(where, slot, subject->numbers) : truth == PFA_YES;
}

static bool ask(const char *text, const pfa_subject_t *subject)
{
    pfa_where_t *where = parse(text);
    bool answer = ask_where(where, subject);
    pfa_where_free(where);
    return answer;
}

/* --- numbers -------------------------------------------------------------------------------------------------------- */

static void test_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        pfa_field_t field;
        double value;
    } cases[] = {{"size = 17", PFA_FIELD_size, 17},
                 {"size = 17B", PFA_FIELD_size, 17},
                 {"size = 4K", PFA_FIELD_size, 4096},
                 {"size = 4kib", PFA_FIELD_size, 4096},
                 {"size = 4 KB", PFA_FIELD_size, 4096},
                 {"size = 1.5M", PFA_FIELD_size, 1572864},
                 {"size = 2GiB", PFA_FIELD_size, 2147483648},
                 {"size = 1T", PFA_FIELD_size, 1099511627776},
                 {"size = 1e3", PFA_FIELD_size, 1000},
                 {"lifetime = 5ns", PFA_FIELD_lifetime, 5},
                 {"lifetime = 5us", PFA_FIELD_lifetime, 5e3},
                 {"lifetime = 5\xc2\xb5s", PFA_FIELD_lifetime, 5e3},
                 {"lifetime = 5\xce\xbcs", PFA_FIELD_lifetime, 5e3},
                 {"lifetime = 5ms", PFA_FIELD_lifetime, 5e6},
                 {"born = 5s", PFA_FIELD_born, 5e9},
                 {"died = 5m", PFA_FIELD_died, 300e9},
                 {"died = 5min", PFA_FIELD_died, 300e9},
                 {"idle = 1h", PFA_FIELD_idle, 3600e9},
                 {"wait = 0", PFA_FIELD_wait, 0},
                 {"reads = 100", PFA_FIELD_reads, 100},
                 {"reads = 2K", PFA_FIELD_reads, 2000},
                 {"writes = 3M", PFA_FIELD_writes, 3e6},
                 {"writes = 4g", PFA_FIELD_writes, 4e9},
                 {"coverage = 50%", PFA_FIELD_coverage, 0.5},
                 {"coverage == 0.25", PFA_FIELD_coverage, 0.25}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pfa_subject_t subject = make_subject();
        subject.numbers[cases[i].field] = cases[i].value;
        if (!ask(cases[i].text, &subject)) {
            fail_msg("%s is not %g", cases[i].text, cases[i].value);
        }
        subject.numbers[cases[i].field] = nextafter(cases[i].value, INFINITY);
        assert_false(ask(cases[i].text, &subject));
    }
}

/* Of a number that is not known nothing can be said, not even that it differs. */
static void test_not_known(void **state)
{
    (void)state;
    static const char *const comparisons[] = {"size = 3",  "size != 3",     "size < 3",     "size >= 0",
                                              "reads = 3", "reads != 3",    "reads <= 3",   "reads > 0",
                                              "live",      "size in 0..1T", "idle in 0..1h"};
    pfa_subject_t subject = make_subject();
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        char opposite[64];
        snprintf(opposite, sizeof opposite, "not %s", comparisons[i]);
        assert_false(ask(comparisons[i], &subject));
        assert_true(ask(opposite, &subject));
    }
    assert_false(ask("tag = x", &subject));
    assert_true(ask("tag != x", &subject));
}

/* --- what binds how: live is true, freed is not --------------------------------------------------------------------- */

static void test_binding(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool answer;
    } cases[] = {{"live or live and freed", true},
                 {"freed and live or live", true},
                 {"live or freed minus live", false},
                 {"live or (freed minus live)", true},
                 {"live minus freed and live", true},
                 {"live minus freed or live", true},
                 {"live minus live or live", true},
                 {"live minus live minus live", false},
                 {"not freed and freed", false},
                 {"not freed or live", true},
                 {"not not live", true},
                 {"! freed && ! freed", true},
                 {"freed || live | live", true},
                 {"live | freed or live | freed", false},
                 {"freed or live | live", true},
                 {"live union freed intersect freed", true},
                 {"all minus freed", true},
                 {"none or freed", false},
                 {"(((live)))", true}};
    pfa_subject_t subject = make_subject();
    subject.numbers[PFA_FIELD_live] = 1;
    subject.numbers[PFA_FIELD_freed] = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (ask(cases[i].text, &subject) != cases[i].answer) {
            fail_msg("%s should be %d", cases[i].text, cases[i].answer);
        }
    }
}

/* --- texts ---------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    const char *of;
    bool answer;
} matches[] = {
    {"function = parse_header", "parse_header", true},
    {"function = parse_header", "parse_header(int, char*)", true},
    {"function = parse_header", "parse_header.part.0", true},
    {"function = parse_header", "parse_header [clone .cold]", true},
    {"function = parse_header", "malloc_parse_header", false},
    {"function = parse", "parse_header", false},
    {"function = \"parse_header(int, char\\*)\"", "parse_header(int, char*)", true},
    {"function = ns::Class::method", "ns::Class::method(int) const", true},
    {"function = Class::method", "ns::Class::method(int)", true},
    {"function = method", "ns::Class::method(int)", true},
    {"function = ass::method", "ns::Class::method(int)", false},
    {"function = Class::*", "ns::Class::method(int)", true},
    {"function = ::Class::*", "ns::Class::method(int)", false},
    {"function = ::ns::*", "ns::Class::method(int)", true},
    {"function = ::main", "main", true},
    {"function = ::main", "ns::main(int)", false},
    {"function = ns::Class::method", "void ns::Class<int>::method<char>(char)", true},
    {"function = ns::Class<int>::method<char>", "void ns::Class<int>::method<char>(char)", true},
    {"function = Class<int>::*", "void ns::Class<int>::method<char>(char)", true},
    {"function = Class<char>::*", "void ns::Class<int>::method<char>(char)", false},
    {"function = void", "void ns::Class<int>::method<char>(char)", false},
    {"function = std::vector::push_back", "std::vector<int, std::allocator<int> >::push_back(int const&)", true},
    {"function = allocator::push_back", "std::vector<int, std::allocator<int> >::push_back(int const&)", false},
    {"function = run", "(anonymous namespace)::Worker::run()", true},
    {"function = \"(anonymous namespace)::Worker::run\"", "(anonymous namespace)::Worker::run()", true},
    {"function = \"operator new\"", "operator new(unsigned long)", true},
    {"function = \"Text::operator unsigned long\"", "ns::Text::operator unsigned long() const", true},
    {"function = \"operator()\"", "main::{lambda(int)#1}::operator()(int) const", true},
    {"function = operator<", "bool ns::operator< <int>(A<int>, A<int>)", false},
    {"function = \"operator< \"", "bool ns::operator< <int>(A<int>, A<int>)", true},
    {"function = operator<<", "std::ostream& ns::operator<<(std::ostream&, A const&)", true},
    {"function = ~Text", "ns::Text::~Text()", true},
    {"function = get", "decltype(auto) ns::get<0ul>(A&)", true},
    {"function = method", "<T as Trait>::method", true},
    {"function = \"void (\\*pick(int))(char)\"", "void (*pick(int))(char)", true},
    {"function ~ int", "ns::Class::method(int)", true},
    {"function ~ \"C*d(\"", "ns::Class::method(int)", true},
    {"function ~ long", "ns::Class::method(int)", false},
    {"function !~ long", "ns::Class::method(int)", true},
    {"function != method", "ns::Class::method(int)", false},
    {"function = \"\"", "", true},
    {"file = a.c", "/home/me/src/a.c", true},
    {"file = *.c", "/home/me/src/a.c", true},
    {"file = src", "/home/me/src/a.c", false},
    {"file = src/a.c", "/home/me/src/a.c", true},
    {"file = rc/a.c", "/home/me/src/a.c", false},
    {"file = me/*.c", "/home/me/src/a.c", true},
    {"file = e/*.c", "/home/me/src/a.c", false},
    {"file = /home/*", "/home/me/src/a.c", true},
    {"file = /src/*", "/home/me/src/a.c", false},
    {"file = src/a.c", "src/a.c", true},
    {"file ~ me/s", "/home/me/src/a.c", true},
    {"module = libc.so*", "/usr/lib/libc.so.6", true},
    {"trace = b.pa", "runs/b.pa", true},
    {"tag = a/b", "a/b", true},
    {"tag = b", "a/b", false},
    {"tag = a*", "a/b", true},
    {"tag = \"a \\\"b\\\"\"", "a \"b\"", true},
    {"tag = a\\ b", "a b", true},
    {"tag = a\\*", "a*", true},
    {"tag = a\\*", "ab", false},
    {"tag = a#b # what follows is not read", "a#b", true},
    {"tag=[!a]x&&thread!=y", "bx", true},
    {"function = *operator[]*", "map::operator[](int)", true},
    {"tag = a\\[", "a[", true},
    {"tag = \"'a'\"", "'a'", true},
    {"thread = caf?", "caf\xc3\xa9", true},
    {"thread = caf[\xc3\xa8-\xc3\xaa]", "caf\xc3\xa9", true},
    {"thread = \"or\"", "or", true},
};

static void test_matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof matches / sizeof matches[0]; i++) {
        pfa_subject_t subject = make_subject();
        char word[16];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(matches[i].text, " =!~"), matches[i].text);
        texts[pfa_field_find(word, strlen(word))] = matches[i].of;
        if (ask(matches[i].text, &subject) != matches[i].answer) {
            fail_msg("%s should be %d of %s", matches[i].text, matches[i].answer, matches[i].of);
        }
    }
}

/* Others do not agree on backslashes at the end and in brackets, on brackets in brackets, on ranges that begin with one, and on
 * half a range that is never closed. */
static bool is_clear(const char *glob)
{
    const char *bracket = strchr(glob, '[');
    size_t length = strlen(glob);
    if (bracket != NULL && (strchr(glob, '\\') != NULL || strstr(glob, "]-") != NULL ||
                            strchr(bracket + 1, '[') != NULL || glob[length - 1] == '-')) {
        return false;
    }
    return length == 0 || glob[length - 1] != '\\';
}

static void test_globs_as_fnmatch(void **state)
{
    (void)state;
    static const char alphabet[] = "ab*?[]!-/\\ab";
    unsigned long chance = 1;
    unsigned yes = 0;
    for (unsigned n = 0; n < 400000; n++) {
        char made[2][10] = {"", ""};
        for (unsigned which = 0; which < 2; which++) {
            size_t length = (chance = chance * 6364136223846793005 + 1442695040888963407) >> 33 & 7;
            for (size_t i = 0; i < length; i++) {
                chance = chance * 6364136223846793005 + 1442695040888963407;
                made[which][i] = which == 0 ? alphabet[(chance >> 33) % 12] : "ab-/]!["[(chance >> 33) % 7];
            }
        }
        const char *glob = made[0];
        if (!is_clear(glob)) {
            continue;
        }
        bool wanted = fnmatch(glob, made[1], 0) == 0;
        if (pfa_glob_matches(glob, made[1]) != wanted) {
            fail_msg("'%s' should be %d of '%s'", glob, wanted, made[1]);
        }
        yes += wanted;
    }
    assert_true(yes > 1000);
    char stars[64] = "";
    char long_text[4096];
    for (size_t i = 0; i < 60; i += 2) {
        memcpy(stars + i, "*a", 3);
    }
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    strcat(stars, "b");
    assert_false(pfa_glob_matches(stars, long_text)); /* ends */
}

/* Names of addresses are not asked for if they cannot matter. */
static void test_what_is_asked(void **state)
{
    (void)state;
    pfa_subject_t subject = make_subject();
    subject.numbers[PFA_FIELD_size] = 10;
    texts_asked = 0;
    assert_false(ask("function = x and size > 4K", &subject));
    assert_int_equal(texts_asked, 0);
    pfa_where_t *where = parse("(function = x or function = y or lifetime > 5ns) and size < 4K");
    for (unsigned i = 0; i < 100; i++) {
        uint32_t slot;
        subject.numbers[PFA_FIELD_size] = i;
        assert_int_equal(pfa_where_kind(where, &subject, &slot), PFA_OPEN);
    }
    assert_int_equal(texts_asked, 1);
    assert_false(pfa_where_needs_accesses(where));
    assert_false(pfa_where_is_of_stacks(where));
    pfa_where_free(where);
    where = parse("function = x or idle > 3s");
    assert_true(pfa_where_needs_accesses(where));
    pfa_where_free(where);
    where = parse("function = x or point in (idle > 3s)");
    assert_false(pfa_where_needs_accesses(where));
    assert_true(pfa_where_is_of_stacks(where));
    pfa_where_free(where);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),   cmocka_unit_test(test_not_known),        cmocka_unit_test(test_binding),
        cmocka_unit_test(test_matches), cmocka_unit_test(test_globs_as_fnmatch), cmocka_unit_test(test_what_is_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
