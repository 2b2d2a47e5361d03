/* Owns the reading of a compiler's command line: how far it goes, what its inputs are, and the options that concern us.
 * Options it does not know are options without an argument of their own, which is what nearly all are. */
#include "hooks/cc/cc.h"

#include <string.h>

/* Options whose argument is the next word. Those that may also have it joined are options like any other then. */
static const char *const with_argument[] = {"-o",
                                            "-x",
                                            "-I",
                                            "-D",
                                            "-U",
                                            "-L",
                                            "-l",
                                            "-A",
                                            "-B",
                                            "-F",
                                            "-G",
                                            "-T",
                                            "-e",
                                            "-u",
                                            "-z",
                                            "-J",
                                            "-include",
                                            "-imacros",
                                            "-isystem",
                                            "-iquote",
                                            "-idirafter",
                                            "-iprefix",
                                            "-iwithprefix",
                                            "-iwithprefixbefore",
                                            "-isysroot",
                                            "-imultilib",
                                            "-iframework",
                                            "-iwithsysroot",
                                            "-ivfsoverlay",
                                            "-include-pch",
                                            "-cxx-isystem",
                                            "-MF",
                                            "-MT",
                                            "-MQ",
                                            "-MJ",
                                            "-Xlinker",
                                            "-Xassembler",
                                            "-Xpreprocessor",
                                            "-Xclang",
                                            "-Xanalyzer",
                                            "-Xopenmp-target",
                                            "-mllvm",
                                            "-aux-info",
                                            "-wrapper",
                                            "-dumpbase",
                                            "-dumpbase-ext",
                                            "-dumpdir",
                                            "-arch",
                                            "-target",
                                            "-rpath",
                                            "-framework",
                                            "-resource-dir",
                                            "-working-directory",
                                            "-gcc-toolchain",
                                            "-Tdata",
                                            "-Ttext",
                                            "-Tbss",
                                            "-mthread-model",
                                            "-serialize-diagnostics",
                                            "--serialize-diagnostics",
                                            "-index-store-path",
                                            "-specs",
                                            "--specs",
                                            "--param",
                                            "--sysroot",
                                            "--output",
                                            "--include",
                                            "--imacros",
                                            "--define-macro",
                                            "--undefine-macro",
                                            "--include-directory",
                                            "--include-directory-after",
                                            "--library-directory",
                                            "--language",
                                            "--assert",
                                            "--entry",
                                            "--for-linker",
                                            "--for-assembler",
                                            "--prefix",
                                            "--force-link",
                                            "--dumpbase",
                                            "--dumpbase-ext",
                                            "--dumpdir",
                                            "--config",
                                            "--print-file-name",
                                            "--print-prog-name"};

/* Questions to the compiler: it answers and does nothing else. */
static const char *const questions[] = {"--version",        "--help",       "-dumpversion",
                                        "-dumpfullversion", "-dumpmachine", "-dumpspecs",
                                        "--target-help",    "-help",        "-fdriver-only"};

/* Steps that read sources and make no code of them. */
static const char *const checks[] = {"-fsyntax-only", "--analyze",         "-verify-pch",          "-emit-ast",
                                     "-rewrite-objc", "-module-file-info", "-emit-interface-stubs"};

static const char *const source_ends[] = {".c", ".i",  ".ii", ".cc", ".cp",  ".cxx",  ".cpp", ".CPP", ".c++",  ".C",
                                          ".m", ".mi", ".mm", ".M",  ".mii", ".cppm", ".ccm", ".ixx", ".cxxm", ".c++m"};
static const char *const header_ends[] = {".h", ".hh", ".H", ".hp", ".hxx", ".hpp", ".HPP", ".h++", ".tcc"};
static const char *const source_languages[] = {"c",
                                               "c++",
                                               "objective-c",
                                               "objective-c++",
                                               "cpp-output",
                                               "c++-cpp-output",
                                               "objective-c-cpp-output",
                                               "objective-c++-cpp-output",
                                               "objc-cpp-output",
                                               "objc++-cpp-output",
                                               "c++-module"};

/* Sanitizers with a runtime that replaces malloc, or with callbacks in the same places as ours. */
static const char *const excluded[] = {"address", "kernel-address", "hwaddress", "kernel-hwaddress",
                                       "memory",  "kernel-memory",  "leak",      "dataflow",
                                       "scudo"};

#define IS_ONE_OF(word, list) is_one_of(word, list, sizeof(list) / sizeof((list)[0]))
#define ENDS_IN_ONE_OF(word, list) ends_in_one_of(word, list, sizeof(list) / sizeof((list)[0]))

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool ends_in_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pfa_ends_with(word, list[i])) {
            return true;
        }
    }
    return false;
}

/* What is known while the words are gone through. */
typedef struct reading {
    pfa_request_t *request;
    const char *language; /* of -x; NULL: by the name's end */
    bool question;
    bool preprocess, check, compile;
    bool headers; /* inputs that are precompiled */
    bool others;  /* inputs, or libraries, that are linked */
    bool output, linker_words;
    bool without_libc, libc;
    bool excludes_us[sizeof(excluded) / sizeof(excluded[0])];
} reading_t;

static void read_input(reading_t *reading, const char *name)
{
    if (reading->language != NULL) {
        if (pfa_ends_with(reading->language, "-header")) {
            reading->headers = true;
        } else {
            reading->others = true;
            reading->request->compiles |= IS_ONE_OF(reading->language, source_languages);
        }
    } else if (ENDS_IN_ONE_OF(name, header_ends)) {
        reading->headers = true;
    } else {
        reading->others = true;
        reading->request->compiles |= ENDS_IN_ONE_OF(name, source_ends);
    }
}

static void read_language(reading_t *reading, const char *language)
{
    reading->language = strcmp(language, "none") == 0 ? NULL : language;
}

/* -fsanitize=a,b and -fno-sanitize=a,b: later ones undo earlier ones. */
static void read_sanitizers(reading_t *reading, const char *list, bool on)
{
    while (*list != 0) {
        size_t length = strcspn(list, ",");
        char *name = pfa_text("%.*s", (int)length, list);
        bool all = strcmp(name, "all") == 0 && !on;
        reading->request->thread |= on && strcmp(name, "thread") == 0;
        for (size_t i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++) {
            if (all || strcmp(name, excluded[i]) == 0) {
                reading->excludes_us[i] = on;
            }
        }
        list += length + (list[length] == ',');
    }
}

static bool is_coverage_of_accesses(const char *feature)
{
    return strcmp(feature, "trace-loads") == 0 || strcmp(feature, "trace-stores") == 0;
}

/* -fsanitize-coverage=a,b; what is taken back later may be taken back again. */
static void read_coverage(pfa_request_t *request, const char *list)
{
    while (*list != 0) {
        size_t length = strcspn(list, ",");
        char *name = pfa_text("%.*s", (int)length, list);
        if (is_coverage_of_accesses(name)) {
            request->coverage = true;
        } else if (strcmp(name, "func") != 0 && strcmp(name, "bb") != 0 && strcmp(name, "edge") != 0) {
            request->coverage_others = true;
        }
        list += length + (list[length] == ',');
    }
}

/* What goes to the linker: -Wl,a,b or the word behind -Xlinker. */
static void read_linker_words(reading_t *reading, const char *list)
{
    reading->linker_words = true;
    while (*list != 0) {
        size_t length = strcspn(list, ",");
        const char *word = pfa_text("%.*s", (int)length, list);
        reading->request->relocatable |= strcmp(word, "-r") == 0 || strcmp(word, "-i") == 0 ||
                                         strcmp(word, "-Ur") == 0 || strcmp(word, "--relocatable") == 0;
        reading->request->shared |=
            strcmp(word, "-shared") == 0 || strcmp(word, "--shared") == 0 || strcmp(word, "-Bshareable") == 0;
        list += length + (list[length] == ',');
    }
}

static void read_library(reading_t *reading, const char *name)
{
    reading->others = true;
    reading->libc |= strcmp(name, "c") == 0;
    reading->request->cxx_library |= pfa_starts_with(name, "stdc++");
}

/* An option that is one word. */
static void read_option(reading_t *reading, const char *word)
{
    pfa_request_t *request = reading->request;
    if (strcmp(word, "-E") == 0 || strcmp(word, "-M") == 0 || strcmp(word, "-MM") == 0 ||
        strcmp(word, "--preprocess") == 0 || strcmp(word, "--dependencies") == 0 ||
        strcmp(word, "--user-dependencies") == 0) {
        reading->preprocess = true;
    } else if (strcmp(word, "-c") == 0 || strcmp(word, "-S") == 0 || strcmp(word, "--compile") == 0 ||
               strcmp(word, "--assemble") == 0 || strcmp(word, "--precompile") == 0) {
        reading->compile = true;
    } else if (IS_ONE_OF(word, checks)) {
        reading->check = true;
    } else if (IS_ONE_OF(word, questions) || pfa_starts_with(word, "-print-") || pfa_starts_with(word, "--print-") ||
               pfa_starts_with(word, "--help=")) {
        reading->question = true;
    } else if (pfa_starts_with(word, "-fsanitize=")) {
        read_sanitizers(reading, strchr(word, '=') + 1, true);
    } else if (pfa_starts_with(word, "-fno-sanitize=")) {
        read_sanitizers(reading, strchr(word, '=') + 1, false);
    } else if (pfa_starts_with(word, "-fsanitize-coverage=")) {
        read_coverage(request, strchr(word, '=') + 1);
    } else if (pfa_starts_with(word, "-Wl,")) {
        read_linker_words(reading, word + strlen("-Wl,"));
    } else if (pfa_starts_with(word, "-Wp,")) {
        request->fortify_late |= strstr(word, "_FORTIFY_SOURCE") != NULL;
    } else if (strcmp(word, "-shared") == 0 || strcmp(word, "--shared") == 0) {
        request->shared = true;
    } else if (strcmp(word, "-static") == 0 || strcmp(word, "--static") == 0 || strcmp(word, "-static-pie") == 0) {
        request->fully_static = true;
    } else if (strcmp(word, "-r") == 0) {
        request->relocatable = true;
    } else if (strcmp(word, "-nostdlib") == 0 || strcmp(word, "-nodefaultlibs") == 0 || strcmp(word, "-nolibc") == 0 ||
               strcmp(word, "--no-standard-libraries") == 0) {
        reading->without_libc = true;
    } else if (strcmp(word, "-ffreestanding") == 0 || strcmp(word, "-fno-hosted") == 0) {
        request->freestanding = true;
    } else if (strcmp(word, "-fhosted") == 0 || strcmp(word, "-fno-freestanding") == 0) {
        request->freestanding = false;
    } else if (pfa_starts_with(word, "-l")) {
        read_library(reading, word + 2);
    } else if (pfa_starts_with(word, "-x")) {
        read_language(reading, word + 2);
    } else if (pfa_starts_with(word, "--language=")) {
        read_language(reading, strchr(word, '=') + 1);
    } else if (pfa_starts_with(word, "-o") || pfa_starts_with(word, "--output=")) {
        reading->output = true;
    }
}

static void read_with_argument(reading_t *reading, const char *option, const char *argument)
{
    if (strcmp(option, "-x") == 0 || strcmp(option, "--language") == 0) {
        read_language(reading, argument);
    } else if (strcmp(option, "-l") == 0) {
        read_library(reading, argument);
    } else if (strcmp(option, "-Xlinker") == 0 || strcmp(option, "--for-linker") == 0) {
        read_linker_words(reading, argument);
    } else if (strcmp(option, "-Xpreprocessor") == 0) {
        reading->request->fortify_late |= strstr(argument, "_FORTIFY_SOURCE") != NULL;
    } else if (strcmp(option, "-Xclang") == 0 && pfa_starts_with(argument, "-fsanitize-coverage-")) {
        reading->request->coverage_proper |= is_coverage_of_accesses(argument + strlen("-fsanitize-coverage-"));
    } else if (strcmp(option, "-o") == 0 || strcmp(option, "--output") == 0) {
        reading->output = true;
    } else if (pfa_starts_with(option, "--print-")) {
        reading->question = true;
    }
}

static void read_words(reading_t *reading, const pfa_words_t *words)
{
    bool only_inputs = false;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->at[i];
        if (only_inputs || word[0] != '-' || word[1] == 0) {
            read_input(reading, word);
        } else if (strcmp(word, "--") == 0) {
            only_inputs = true;
        } else if (IS_ONE_OF(word, with_argument)) {
            read_with_argument(reading, word, i + 1 < words->count ? words->at[i + 1] : "");
            i++;
        } else {
            read_option(reading, word);
        }
    }
}

static pfa_step_t step_of(const reading_t *reading)
{
    bool links = reading->others || (reading->output && reading->linker_words);
    if (reading->question || (!links && !reading->headers)) {
        return PFA_STEP_NONE;
    }
    if (reading->preprocess) {
        return PFA_STEP_PREPROCESS;
    }
    if (reading->check) {
        return PFA_STEP_CHECK;
    }
    return reading->compile || !links ? PFA_STEP_COMPILE : PFA_STEP_LINK;
}

void pfa_request_read(pfa_request_t *request, int argc, char **argv)
{
    reading_t reading = {.request = request};
    pfa_words_t expanded = {0};
    *request = (pfa_request_t){.cxx = pfa_ends_with(pfa_cc_name, "++")};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--profalloc-help") == 0) {
            request->help = true;
        } else if (strcmp(argv[i], "--profalloc-show") == 0) {
            request->show = true;
        } else {
            pfa_words_add(&request->given, argv[i]);
            pfa_response_expand(&expanded, argv[i]);
        }
    }
    request->options_end = request->given.count;
    for (size_t i = request->given.count; i-- > 0;) {
        if (strcmp(request->given.at[i], "--") == 0) {
            request->options_end = i;
        }
    }
    read_words(&reading, &expanded);
    request->step = step_of(&reading);
    request->compiles |= reading.headers && request->step == PFA_STEP_COMPILE;
    request->cxx_library |= request->cxx;
    request->own_libc = reading.without_libc && (reading.libc || request->shared);
    request->no_libc = reading.without_libc && !request->own_libc;
    for (size_t i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++) {
        if (reading.excludes_us[i]) {
            request->conflict = excluded[i];
        }
    }
}
