/* The option parser, compiled into the test with a configuration file of the test's own in place of the system's. */
#define _GNU_SOURCE 1
#include "base/options.h"
#undef PFA_CONF_FILE
static char conf_file[64] = "/nonexistent/profalloc.conf";
#define PFA_CONF_FILE conf_file
#include "base/options.c" /* its symbols come before those of the library, which then has no use for its own */

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

typedef struct row {
    const char *name;
    kind_t kind;
    uint64_t standard;
    uint64_t minimum;
    uint64_t maximum;
    size_t offset;
} row_t;

/* The table again, from the one list. */
static const row_t rows[] = {
#define PFA_OPTION(name, kind, standard, minimum, maximum, meaning)                                                    \
    {#name, kind, standard, minimum, maximum, offsetof(pfa_options_t, name)},
#include "export/format/options.def"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static uint64_t value_of(const pfa_options_t *options, size_t row)
{
    uint64_t value;
    memcpy(&value, (const char *)options + rows[row].offset, sizeof value);
    return value;
}

static pfa_options_t standard(void)
{
    pfa_options_t options;
    memset(&options, 0xaa, sizeof options);
    pfa_options_default(&options);
    return options;
}

/* Parses quietly; what is said goes to `said`. */
static unsigned parse(pfa_options_t *options, const char *text, capture_t *said)
{
    capture_begin(said);
    unsigned faults = pfa_options_parse(options, "SOURCE", text, strlen(text));
    (void)capture_end(said);
    return faults;
}

static void defaults_are_those_of_the_list(void **state)
{
    (void)state;
    pfa_options_t options = standard();
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(value_of(&options, i) == rows[i].standard);
    }
    assert_true(options.prof == 0 && options.sample == 512 * 1024 && options.summary == 0);
    assert_int_equal(sizeof options, ROWS * sizeof(uint64_t) + sizeof options.out + sizeof options.live);
    assert_string_equal(options.out, "%e.%p.pa");
    assert_string_equal(options.live, "auto");
}

static void check_value(size_t row, const char *text, uint64_t expected)
{
    capture_t said;
    char pair[128];
    (void)snprintf(pair, sizeof pair, "%s:%s", rows[row].name, text);
    pfa_options_t options = standard();
    assert_int_equal(parse(&options, pair, &said), 0);
    assert_string_equal(said.text, "");
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(value_of(&options, i) == (i == row ? expected : rows[i].standard));
    }
}

static void check_refused(size_t row, const char *text)
{
    capture_t said;
    char pair[128];
    char expected[256];
    (void)snprintf(pair, sizeof pair, "%s:%s", rows[row].name, text);
    pfa_options_t options = standard();
    assert_int_equal(parse(&options, pair, &said), 1);
    if (rows[row].kind != SIZE) {
        const char *choices = rows[row].kind == AUTO ? "true, false or auto" : "true or false";
        (void)snprintf(expected, sizeof expected, "profalloc: SOURCE: %s: '%s' is not accepted; use %s (keeping %s)\n",
                       rows[row].name, text, choices, switches[rows[row].standard]);
    } else {
        (void)snprintf(expected, sizeof expected,
                       "profalloc: SOURCE: %s: '%s' is not accepted; use a number from %lu to %lu, K M G T "
                       "allowed\n",
                       rows[row].name, text, rows[row].minimum, rows[row].maximum);
    }
    assert_string_equal(said.text, expected);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(value_of(&options, i) == rows[i].standard);
    }
}

static void every_bool_takes_true_and_false_alone(void **state)
{
    (void)state;
    static const char *const refused[] = {"",  "1",     "0",    "yes", "True",  "TRUE",
                                          "t", "truee", "fals", "on",  "tr ue", "true:false"};
    unsigned seen = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].kind == AUTO) {
            check_value(i, "auto", 2);
        } else if (rows[i].kind == BOOL) {
            check_refused(i, "auto");
        }
        if (rows[i].kind != SIZE) {
            seen++;
            check_value(i, "true", 1);
            check_value(i, "false", 0);
            for (size_t r = 0; r < sizeof refused / sizeof refused[0]; r++) {
                check_refused(i, refused[r]);
            }
        }
    }
    assert_true(seen > 0);
}

static void every_size_takes_its_limits_and_nothing_beyond(void **state)
{
    (void)state;
    static const char *const refused[] = {"",
                                          "K",
                                          "-1",
                                          "+1",
                                          "1KB",
                                          "1KK",
                                          "0x10",
                                          "1.5K",
                                          "K1",
                                          "1 K",
                                          "one",
                                          "1e3",
                                          "1P",
                                          "18446744073709551616",
                                          "99999999999999999999999",
                                          "16777216T",
                                          "18014398509481984K",
                                          "18446744073709551615K",
                                          "1\x01",
                                          "1\xff"};
    char text[64];
    unsigned seen = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].kind != SIZE) {
            continue;
        }
        seen++;
        (void)snprintf(text, sizeof text, "%lu", rows[i].minimum);
        check_value(i, text, rows[i].minimum);
        (void)snprintf(text, sizeof text, "%lu", rows[i].maximum);
        check_value(i, text, rows[i].maximum);
        (void)snprintf(text, sizeof text, "%lu", rows[i].maximum + 1);
        check_refused(i, text);
        check_refused(i, "18446744073709551615");
        if (rows[i].minimum > 0) {
            (void)snprintf(text, sizeof text, "%lu", rows[i].minimum - 1);
            check_refused(i, text);
        }
        for (size_t r = 0; r < sizeof refused / sizeof refused[0]; r++) {
            check_refused(i, refused[r]);
        }
    }
    assert_true(seen > 0);
}

static void suffixes_are_powers_of_1024(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {{"1", 1},
                 {"0000000000000000000000000000007", 7},
                 {"3K", 3ull << 10},
                 {"3k", 3ull << 10},
                 {"5M", 5ull << 20},
                 {"5m", 5ull << 20},
                 {"7G", 7ull << 30},
                 {"7g", 7ull << 30},
                 {"1T", 1ull << 40},
                 {"1t", 1ull << 40},
                 {"1073741824K", 1ull << 40}};
    size_t row = 0;
    while (strcmp(rows[row].name, "sample") != 0) {
        row++;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_value(row, cases[i].text, cases[i].value);
    }
}

static void blanks_separators_and_comments(void **state)
{
    (void)state;
    static const char *const same[] = {
        "prof:true,sample:64K,summary:true",
        "prof:true\nsample:64K\nsummary:true\n",
        "  prof : true\t,\r\n\t sample:  64K \r\n, summary:true ",
        "# all of it\nprof:true # yes\nsample:64K#tight\n#summary:false\nsummary:true#",
        ",,prof:true,,,\n\n,sample:64K,\n#\n#x,abort:true\nsummary:true,,",
        "sample:1,sample:2,prof:false,prof:true,sample:64K,summary:true", /* the last one counts */
        "prof:true,sample:64K # abort:true, strict:true\n,summary:true",
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        capture_t said;
        pfa_options_t options = standard();
        pfa_options_t expected = standard();
        expected.prof = 1;
        expected.sample = 64 << 10;
        expected.summary = 1;
        assert_int_equal(parse(&options, same[i], &said), 0);
        assert_string_equal(said.text, "");
        assert_memory_equal(&options, &expected, sizeof options);
    }
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    static const char *const empty[] = {"", ",", " \t ", "\n\n", "# only words", "#", " , # a:b \n ,"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        capture_t said;
        pfa_options_t options = standard();
        pfa_options_t expected = standard();
        assert_int_equal(parse(&options, empty[i], &said), 0);
        assert_string_equal(said.text, "");
        assert_memory_equal(&options, &expected, sizeof options);
    }
}

static void an_unknown_key_is_named_with_all_that_are_known(void **state)
{
    (void)state;
    char expected[1024] = "profalloc: SOURCE: unknown option 'porf'; known are ";
    for (size_t i = 0; i < ROWS; i++) {
        strcat(strcat(expected, i == 0 ? "" : ", "), rows[i].name);
    }
    strcat(expected, ", out, live\n");
    capture_t said;
    pfa_options_t options = standard();
    assert_int_equal(parse(&options, "porf:true", &said), 1);
    assert_string_equal(said.text, expected);
    /* Nothing like a key passes for it. */
    static const char *const unknown[] = {":true",     "pro:true",       "proff:true",
                                          "PROF:true", "prof prof:true", "pr of:true"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_int_equal(parse(&options, unknown[i], &said), 1);
        assert_non_null(strstr(said.text, "unknown option '"));
        assert_int_equal(options.prof, 0);
    }
}

static void a_pair_without_colon_is_told_so(void **state)
{
    (void)state;
    capture_t said;
    pfa_options_t options = standard();
    assert_int_equal(parse(&options, "prof", &said), 1);
    assert_string_equal(said.text, "profalloc: SOURCE: 'prof' has no value; write key:value\n");
}

static void a_fault_spoils_nothing_else(void **state)
{
    (void)state;
    capture_t said;
    pfa_options_t options = standard();
    assert_int_equal(parse(&options, "sample:5x,prof:true,what,summary:maybe,strict:true,no:pe", &said), 4);
    assert_int_equal(lines_in(said.text), 4);
    assert_true(options.prof == 1 && options.strict == 1);
    assert_true(options.sample == 512 * 1024 && options.summary == 0);
}

/* "Leaves that option as it was", and says so: what it was in the options being read, not in the process's. */
static void a_refused_value_keeps_the_one_before(void **state)
{
    (void)state;
    capture_t said;
    pfa_options_t options = standard();
    assert_int_equal(parse(&options, "summary:true,summary:maybe,sample:7,sample:0", &said), 2);
    assert_true(options.summary == 1 && options.sample == 7);
    assert_non_null(strstr(said.text, "(keeping true)"));
}

static void text_ends_where_its_length_says(void **state)
{
    (void)state;
    pfa_options_t options = standard();
    assert_int_equal(pfa_options_parse(&options, "SOURCE", "sample:123456", strlen("sample:12")), 0);
    assert_int_equal(options.sample, 12);
    /* Right before memory that cannot be read. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(two != MAP_FAILED && mprotect(two + page, page, PROT_NONE) == 0);
    static const char *const ends[] = {"prof:true",  "prof:true,",  "prof:true#",
                                       "prof:true ", "prof:true\n", "prof:true#x"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t length = strlen(ends[i]);
        memcpy(two + page - length, ends[i], length);
        options.prof = 0;
        assert_int_equal(pfa_options_parse(&options, "SOURCE", two + page - length, length), 0);
        assert_int_equal(options.prof, 1);
    }
    munmap(two, 2 * page);
}

/* Random good pairs in random dress must read as what they were made from. */
static void random_good_text_reads_back(void **state)
{
    (void)state;
    uint64_t seed = 21;
    static const char *const gaps[] = {"", " ", "\t", "  \r"};
    static const char *const ends[] = {",", "\n", " ,\n", "# why, abort:true\n", ",,"};
#define GAP gaps[random_below(&seed, 4)]
    for (int round = 0; round < 500; round++) {
        char text[4096] = "";
        size_t used = 0;
        pfa_options_t expected = standard();
        for (uint64_t pairs = random_below(&seed, 12); pairs > 0; pairs--) {
            size_t row = random_below(&seed, ROWS);
            char value[32];
            uint64_t number = rows[row].minimum + random_below(&seed, rows[row].maximum - rows[row].minimum + 1);
            if (rows[row].kind != SIZE) {
                strcpy(value, switches[number]);
            } else {
                unsigned unit = (unsigned)random_below(&seed, 5);
                number = number >> 10 * unit << 10 * unit;
                number = number < rows[row].minimum ? rows[row].minimum : number;
                unit = number & ((1ull << 10 * unit) - 1) ? 0 : unit;
                (void)snprintf(value, sizeof value, "%lu%.*s", number >> 10 * unit, unit == 0 ? 0 : 1, &"-KMGT"[unit]);
            }
            ((uint64_t *)&expected)[row] = number;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s:%s%s%s%s", GAP, rows[row].name, GAP, GAP,
                                     value, GAP, ends[random_below(&seed, 5)]);
        }
        capture_t said;
        pfa_options_t options = standard();
        assert_int_equal(parse(&options, text, &said), 0);
        assert_memory_equal(&options, &expected, sizeof options);
    }
#undef GAP
}

/* Random text of the grammar's own characters: one line for each fault, and options always within their limits. */
static void random_bad_text_is_survived(void **state)
{
    (void)state;
    uint64_t seed = 22;
    static const char *const tokens[] = {"prof", "sample", "region_range", ":",        ":",           ",", "\n", "#",
                                         " ",    "true",   "false",        "1",        "99999999999", "K", "T",  "x",
                                         "-",    "\t",     "strict:",      "sample:0", "%s%n"};
    for (int round = 0; round < 2000; round++) {
        char text[512] = "";
        for (uint64_t count = random_below(&seed, 30); count > 0; count--) {
            strcat(text, tokens[random_below(&seed, sizeof tokens / sizeof tokens[0])]);
        }
        capture_t said;
        pfa_options_t options = standard();
        unsigned faults = parse(&options, text, &said);
        assert_int_equal(lines_in(said.text), faults);
        for (size_t i = 0; i < ROWS; i++) {
            uint64_t value = value_of(&options, i);
            assert_true(value == rows[i].standard || (value >= rows[i].minimum && value <= rows[i].maximum));
        }
    }
}

/* --- the sources together ---------------------------------------------------------------------------------------- */

static void write_conf(const char *text, size_t length)
{
    strcpy(conf_file, "/tmp/pfa_test_options.XXXXXX");
    int fd = mkstemp(conf_file);
    must(fd >= 0);
    must(write(fd, text, length) == (ssize_t)length);
    close(fd);
}

static void remove_conf(void)
{
    (void)unlink(conf_file);
    strcpy(conf_file, "/nonexistent/profalloc.conf");
}

static void load(const char *program, const char *environment, capture_t *said)
{
    memset(&pfa_options, 0xaa, sizeof pfa_options);
    capture_begin(said);
    pfa_options_load(program, environment);
    (void)capture_end(said);
}

static void environment_beats_file_beats_program(void **state)
{
    (void)state;
    capture_t said;
    const char *file = "sample:2,summary:true,region_range:1G";
    write_conf(file, strlen(file));
    load("sample:1,summary:false,abort:true,region_range:4G", "sample:3", &said);
    remove_conf();
    assert_string_equal(said.text, "");
    assert_int_equal(pfa_options.sample, 3);
    assert_int_equal(pfa_options.summary, 1);
    assert_int_equal(pfa_options.abort, 1);
    assert_true(pfa_options.region_range == 1ull << 30);
    assert_int_equal(pfa_options.prof, 0);
}

static void sources_may_be_missing(void **state)
{
    (void)state;
    capture_t said;
    pfa_options_t expected = standard();
    load(NULL, NULL, &said);
    assert_memory_equal(&pfa_options, &expected, sizeof expected);
    load("sample:9", NULL, &said);
    assert_int_equal(pfa_options.sample, 9);
    load(NULL, "sample:8", &said);
    assert_int_equal(pfa_options.sample, 8);
    assert_string_equal(said.text, "");
    strcpy(conf_file, "/"); /* can be opened, cannot be read */
    load(NULL, "sample:7", &said);
    remove_conf();
    assert_int_equal(pfa_options.sample, 7);
}

static void each_source_is_named(void **state)
{
    (void)state;
    capture_t said;
    write_conf("b:1", 3);
    char expected[128];
    (void)snprintf(expected, sizeof expected, "profalloc: %s: unknown option 'b'", conf_file);
    load("a:1", "c:1", &said);
    remove_conf();
    assert_non_null(strstr(said.text, "profalloc: profalloc_conf: unknown option 'a'"));
    assert_non_null(strstr(said.text, expected));
    assert_non_null(strstr(said.text, "profalloc: PROFALLOC_CONF: unknown option 'c'"));
    assert_int_equal(lines_in(said.text), 3);
}

static void a_long_file_is_cut_and_told_so(void **state)
{
    (void)state;
    capture_t said;
    static char text[CONF_FILE_MAX + 100];
    memset(text, '#', sizeof text);
    memcpy(text, "sample:5\n", 9);
    memcpy(text + CONF_FILE_MAX + 10, "\nprof:true\n", 11);
    write_conf(text, sizeof text);
    load(NULL, NULL, &said);
    remove_conf();
    assert_int_equal(pfa_options.sample, 5);
    assert_int_equal(pfa_options.prof, 0);
    assert_int_equal(lines_in(said.text), 1);
    assert_non_null(strstr(said.text, "longer than 4096 bytes; the rest is not read"));
}

static int fail_read(pfa_sys_call_t call)
{
    return call == PFA_SYS_READ ? EIO : 0;
}

static void an_unreadable_file_is_as_none(void **state)
{
    (void)state;
    capture_t said;
    write_conf("sample:5", 8);
    pfa_sys_fault = fail_read;
    load(NULL, NULL, &said);
    pfa_sys_fault = NULL;
    remove_conf();
    assert_int_equal(pfa_options.sample, 512 * 1024);
}

static void load_strict_and_faulty(void)
{
    pfa_options_load("what:1", "strict:true");
}

static void load_faulty(void)
{
    pfa_options_load("what:1", "strict:false");
}

static void strict_makes_a_fault_fatal(void **state)
{
    (void)state;
    capture_t said;
    capture_begin(&said);
    int strict = status_of_child(load_strict_and_faulty);
    (void)capture_end(&said);
    assert_true(WIFEXITED(strict) && WEXITSTATUS(strict) == 1);
    assert_non_null(strstr(said.text, "unknown option 'what'"));
    assert_non_null(strstr(said.text, "profalloc: strict:true is set: ending because of the option above\n"));
    capture_begin(&said);
    int lenient = status_of_child(load_faulty);
    (void)capture_end(&said);
    assert_int_equal(lenient, 0);
    assert_int_equal(lines_in(said.text), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_list),
        cmocka_unit_test(every_bool_takes_true_and_false_alone),
        cmocka_unit_test(every_size_takes_its_limits_and_nothing_beyond),
        cmocka_unit_test(suffixes_are_powers_of_1024),
        cmocka_unit_test(blanks_separators_and_comments),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(an_unknown_key_is_named_with_all_that_are_known),
        cmocka_unit_test(a_pair_without_colon_is_told_so),
        cmocka_unit_test(a_fault_spoils_nothing_else),
        cmocka_unit_test(a_refused_value_keeps_the_one_before),
        cmocka_unit_test(text_ends_where_its_length_says),
        cmocka_unit_test(random_good_text_reads_back),
        cmocka_unit_test(random_bad_text_is_survived),
        cmocka_unit_test(environment_beats_file_beats_program),
        cmocka_unit_test(sources_may_be_missing),
        cmocka_unit_test(each_source_is_named),
        cmocka_unit_test(a_long_file_is_cut_and_told_so),
        cmocka_unit_test(an_unreadable_file_is_as_none),
        cmocka_unit_test(strict_makes_a_fault_fatal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
