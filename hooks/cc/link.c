/* Owns what is added where a program or shared object is linked: the library, the callbacks, and the wrapped functions.
 *
 * The shared library comes first, so that malloc means ours whatever the user's libraries bring (an explicit -lc, too). The
 * callbacks come last, behind all that calls them, and as a whole: libraries that the compiler adds behind ours may call
 * wrapped functions. In a static link the library comes behind them. Files are given by full paths, past the user's -L and -Bstatic, and through -Xlinker, past -x. */
#include "hooks/cc/cc.h"

#include <stdlib.h>
#include <string.h>

static void add_file(pfa_words_t *words, const char *path)
{
    pfa_words_add(words, "-Xlinker");
    pfa_words_add(words, path);
}

/* Where the dynamic linker looks by itself. /usr/local/lib is not everywhere among these. */
static bool is_standard(const char *folder)
{
    static const char *const standard[] = {"/lib", "/usr/lib", "/lib64", "/usr/lib64"};
    for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++) {
        if (strcmp(folder, standard[i]) == 0) {
            return true;
        }
    }
    return strcmp(folder, "/usr/lib/x86_64-linux-gnu") == 0 || strcmp(folder, "/usr/lib/aarch64-linux-gnu") == 0;
}

static void add_wraps(pfa_words_t *words, const pfa_place_t *place)
{
    pfa_words_t lines = {0};
    pfa_place_list(place, "profalloc-wrap.txt", &lines);
    char *joined = pfa_text("-Wl");
    for (size_t i = 0; i < lines.count; i++) {
        joined = pfa_text("%s,%s", joined, lines.at[i]);
    }
    if (lines.count != 0) {
        pfa_words_add(words, joined);
    }
}

static void add_static(pfa_additions_t *add, const pfa_request_t *request, const pfa_place_t *place)
{
    static const char *const needs[] = {"-lzstd", "-lpthread", "-lm"};
    /* Also where only libc calls malloc; and what operator new needs to throw, which weak references do not bring. */
    pfa_words_add(&add->before, "-Wl,-u,malloc");
    if (request->cxx_library) {
        pfa_words_add(&add->before, "-Wl,-u,_ZSt17__throw_bad_allocv,-u,_ZSt15get_new_handlerv");
    }
    add_file(&add->behind, pfa_place_need(place, "libprofalloc.a"));
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        pfa_words_add(&add->behind, needs[i]);
    }
    /* Compilers leave the index of .eh_frame, which the unwinder needs, out of static programs. */
    pfa_words_add(&add->behind, "-Wl,--eh-frame-hdr");
}

static void add_shared(pfa_additions_t *add, const pfa_place_t *place)
{
    pfa_words_add(&add->before, "-Wl,--push-state,--no-as-needed");
    add_file(&add->before, pfa_place_need(place, "libprofalloc.so"));
    pfa_words_add(&add->before, "-Wl,--pop-state");
    if (!is_standard(place->libraries)) {
        pfa_words_add(&add->behind, "-Xlinker");
        pfa_words_add(&add->behind, "-rpath");
        add_file(&add->behind, place->libraries);
    }
}

bool pfa_cc_looks_anywhere(void)
{
    const char *text = getenv("PROFALLOC_WINDOW");
    if (text == NULL || text[0] == 0 || strcmp(text, "fixed") == 0) {
        return false;
    }
    if (strcmp(text, "any") == 0) {
        return true;
    }
    pfa_cc_fail("PROFALLOC_WINDOW=%s: it is fixed or any", text);
}

void pfa_link_add(pfa_additions_t *add, const pfa_request_t *request, const pfa_under_t *under,
                  const pfa_place_t *place)
{
    (void)under;
    if (request->step != PFA_STEP_LINK || request->relocatable || request->no_libc) {
        return;
    }
    add_wraps(&add->behind, place);
    pfa_words_add(&add->behind, "-Wl,--push-state,--whole-archive");
    const char *archive = pfa_cc_looks_anywhere() ? "libprofalloc_access_any.a" : "libprofalloc_access.a";
    add_file(&add->behind, pfa_place_need(place, archive));
    pfa_words_add(&add->behind, "-Wl,--pop-state");
    if (request->fully_static) {
        add_static(add, request, place);
    } else {
        add_shared(add, place);
    }
    if (request->own_libc) {
        /* The user's came before our callbacks, which need them too. */
        pfa_words_add(&add->behind, "-lgcc");
        pfa_words_add(&add->behind, "-lc");
    }
}
