/* Owns what is added where sources are compiled: instrumentation, and what keeps accesses visible to it.
 *
 * gcc: -fsanitize=thread, without the runtime that the flag brings at link. Where one call compiles and links, the flag goes
 * to the compiler proper through a specs file, so that the driver, which chooses the libraries, never hears of it; the same
 * file makes the compiler that link-time optimisation runs instrument what it compiles.
 * clang: the pass plugin made for that clang, or the sanitizer's pass through -Xclang, which the driver does not hear of
 * either. */
#include "hooks/cc/cc.h"

#include <stdlib.h>
#include <string.h>

/* The pass was asked for, or not, or is used if it is there. */
typedef enum wish { WISH_AUTO, WISH_OFF, WISH_ON, WISH_MAP } wish_t;

static wish_t wish_of_pass(void)
{
    const char *text = getenv("PROFALLOC_PASS");
    if (text == NULL || text[0] == 0 || strcmp(text, "auto") == 0) {
        return WISH_AUTO;
    }
    if (strcmp(text, "off") == 0) {
        return WISH_OFF;
    }
    if (strcmp(text, "on") == 0) {
        return WISH_ON;
    }
    if (strcmp(text, "map") == 0) {
        return WISH_MAP;
    }
    pfa_cc_fail("PROFALLOC_PASS=%s: it is auto, on, off or map", text);
}

void pfa_compile_check_wish(void)
{
    (void)wish_of_pass();
}

static void add_two(pfa_words_t *words, const char *option, const char *argument)
{
    pfa_words_add(words, option);
    pfa_words_add(words, argument);
}

/* The plugin's path, or NULL if clang is to go without. */
static char *find_pass(const pfa_under_t *under, const pfa_place_t *place, wish_t wish)
{
    if (wish == WISH_OFF) {
        return NULL;
    }
    char *name = pfa_text("profalloc-pass-%d.so", under->major);
    char *path = pfa_place_path(place, name);
    if (path == NULL && wish != WISH_AUTO) {
        pfa_cc_fail(
            "PROFALLOC_PASS=%s, but there is no pass plugin for clang %d: %s is not beside libprofalloc.so; build profalloc with "
            "llvm-%d-dev installed, or leave PROFALLOC_PASS away",
            getenv("PROFALLOC_PASS"), under->major, name, under->major);
    }
    return path;
}

/* Loads and stores are told by our instrumentation, and not once more. Of a place alone the driver says that it is of no
 * use; what else needs one gets it without being told. */
static void take_coverage_back(pfa_words_t *words, const pfa_request_t *request)
{
    if (request->coverage_proper) {
        pfa_cc_fail("-Xclang -fsanitize-coverage-trace-loads or -stores would count each access twice: leave it away");
    }
    if (request->coverage) {
        pfa_words_add(words, request->coverage_others ? "-fno-sanitize-coverage=trace-loads,trace-stores"
                                                      : "-fno-sanitize-coverage=func,bb,edge,trace-loads,trace-stores");
    }
}

static void add_for_clang(pfa_words_t *words, const pfa_request_t *request, const pfa_under_t *under,
                          const pfa_place_t *place)
{
    wish_t wish = wish_of_pass();
    char *pass = find_pass(under, place, wish);
    if (request->thread) {
        pfa_words_add(words, "-fno-sanitize=thread");
    }
    take_coverage_back(words, request);
    if (pass != NULL) {
        if (wish == WISH_MAP || pfa_cc_looks_anywhere()) {
            /* Loaded before options are parsed, so that its own are known then. */
            add_two(words, "-Xclang", "-load");
            add_two(words, "-Xclang", pass);
        }
        if (wish == WISH_MAP) {
            add_two(words, "-mllvm", "-profalloc-map");
        }
        if (pfa_cc_looks_anywhere()) {
            add_two(words, "-mllvm", "-profalloc-anywhere");
        }
        pfa_words_add(words, pfa_text("-fpass-plugin=%s", pass));
        if (!under->x86) { /* gathers and scatters of vectors without a fixed length are not told */
            add_two(words, "-mllvm", "-scalable-vectorization=off");
        }
        return;
    }
    add_two(words, "-Xclang", "-fsanitize=thread");
    if (under->major >= 12) {
        add_two(words, "-mllvm", "-tsan-compound-read-before-write=1");
    }
    add_two(words, "-mllvm", "-tsan-instrument-func-entry-exit=0");
    /* It leaves out accesses of more than 16 bytes, of vectors without a fixed length, by a mask, and gathered; vectors that
     * loops and neighbours are made into are all of these, whatever the width preferred. */
    pfa_words_add(words, "-fno-vectorize");
    pfa_words_add(words, "-fno-slp-vectorize");
    /* And for loops that a pragma asks vectors of. */
    pfa_words_add(words, "-mprefer-vector-width=128");
    add_two(words, "-mllvm", "-enable-interleaved-mem-accesses=false");
    if (under->major >= 14) {
        add_two(words, "-mllvm", "-scalable-vectorization=off");
    }
}

static void add_names(pfa_words_t *words, const pfa_place_t *place)
{
    pfa_place_list(place, "profalloc-nobuiltin.txt", words);
}

static void add_macros_for_gcc(pfa_words_t *words, const pfa_request_t *request, const pfa_place_t *place)
{
    pfa_words_add(words, "-U__SANITIZE_THREAD__");
    /* Found as a system's header, it is none of those that a source depends on. */
    char *macros = pfa_place_need(place, "profalloc-builtins.h");
    char *name = strrchr(macros, '/');
    add_two(words, "-isystem", pfa_text("%.*s", (int)(name - macros), macros));
    add_two(words, "-imacros", name + 1);
    /* The checking variants are builtins of other names, which gcc would expand behind the instrumentation. (The macros
     * see to those of sources that ask for them.) */
    pfa_words_add(words, "-U_FORTIFY_SOURCE");
    if (request->fortify_late) {
        pfa_words_add(words, "-Wp,-U_FORTIFY_SOURCE");
    }
}

/* Assignments of structs: up to 256 bytes in place, and above by a call, as on arm64. hooks/access/wraps.h relies on it. */
static void add_struct_copies(pfa_words_t *words, const pfa_under_t *under)
{
    pfa_words_add(words, "-mmemcpy-strategy=unrolled_loop:256:noalign,libcall:-1:noalign");
    pfa_words_add(words, "-mmemset-strategy=unrolled_loop:256:noalign,libcall:-1:noalign");
    if (under->major >= 12) {
        pfa_words_add(words, "-mmove-max=128");
        pfa_words_add(words, "-mstore-max=128");
    }
}

static void add_for_gcc(pfa_words_t *words, const pfa_request_t *request, const pfa_under_t *under,
                        const pfa_place_t *place)
{
    if (request->step != PFA_STEP_LINK) {
        pfa_words_add(words, "-fsanitize=thread");
    }
    if (under->major >= 11) {
        pfa_words_add(words, "-Wno-tsan"); /* about fences, which do not concern us: -Werror would end builds */
    }
    if (under->x86) {
        pfa_words_add(words, "-mprefer-vector-width=128");
        add_struct_copies(words, under);
    }
    add_names(words, place);
    add_macros_for_gcc(words, request, place);
}

/* Also where only objects are linked: they may hold what link-time optimisation is yet to compile. */
static void add_for_gcc_link(pfa_words_t *words, const pfa_request_t *request, const pfa_place_t *place)
{
    pfa_words_add(words, pfa_text("-specs=%s", pfa_place_need(place, "profalloc-gcc.specs")));
    if (request->thread) {
        pfa_words_add(words, "-fno-sanitize=thread");
    }
}

static void add_params(pfa_words_t *words, const pfa_under_t *under)
{
    if (under->major >= 12) {
        pfa_words_add(words, "--param=tsan-instrument-func-entry-exit=0");
        pfa_words_add(words, "--param=tsan-distinguish-volatile=0");
    }
}

/* What a source may ask of its compiler must have the same answer in preprocessing alone. */
static void add_for_preprocessing(pfa_words_t *words, const pfa_request_t *request, const pfa_under_t *under,
                                  const pfa_place_t *place)
{
    if (!under->clang) {
        add_macros_for_gcc(words, request, place);
        return;
    }
    if (request->thread) {
        pfa_words_add(words, "-fno-sanitize=thread");
    }
    if (find_pass(under, place, wish_of_pass()) == NULL) {
        add_two(words, "-Xclang", "-fsanitize=thread");
    }
}

void pfa_compile_add(pfa_additions_t *add, const pfa_request_t *request, const pfa_under_t *under,
                     const pfa_place_t *place)
{
    bool links = request->step == PFA_STEP_LINK;
    if (request->freestanding || (links && request->no_libc)) {
        return;
    }
    if (request->step == PFA_STEP_PREPROCESS) {
        if (request->compiles) {
            add_for_preprocessing(&add->behind, request, under, place);
        }
        return;
    }
    if (under->clang) {
        if (request->compiles) {
            add_for_clang(&add->behind, request, under, place);
        } else if (request->thread) {
            pfa_words_add(&add->behind, "-fno-sanitize=thread");
        }
        return;
    }
    if (request->compiles) {
        if (wish_of_pass() == WISH_ON || wish_of_pass() == WISH_MAP) {
            pfa_cc_fail(
                "PROFALLOC_PASS=%s needs clang, but %s is gcc %d; set PROFALLOC_CC=clang, or leave PROFALLOC_PASS "
                "away",
                getenv("PROFALLOC_PASS"), under->command.at[0], under->major);
        }
        add_for_gcc(&add->behind, request, under, place);
    }
    if (links) {
        add_for_gcc_link(&add->behind, request, place);
    }
    if (links || request->compiles) {
        add_params(&add->behind, under);
    }
}
