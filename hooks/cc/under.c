/* Owns the choice of the compiler underneath: from PROFALLOC_CC and PROFALLOC_CXX, or gcc, or what else there is; and that
 * it is not ourselves. */
#include "hooks/cc/cc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Set for the compiler. Who is called with it is called by a compiler that we called: a script around us. */
#define RUNNING "PROFALLOC_CC_RUNNING"

static bool is_us(const char *path)
{
    struct stat ours;
    struct stat theirs;
    return stat("/proc/self/exe", &ours) == 0 && stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

char *pfa_under_path(const char *name)
{
    if (strchr(name, '/') != NULL) {
        return is_program(name) ? pfa_text("%s", name) : NULL;
    }
    const char *folders = getenv("PATH");
    if (folders == NULL) {
        folders = "/usr/local/bin:/usr/bin:/bin";
    }
    for (;;) {
        size_t length = strcspn(folders, ":");
        char *path = length == 0 ? pfa_text("./%s", name) : pfa_text("%.*s/%s", (int)length, folders, name);
        if (is_program(path) && !is_us(path)) {
            return path;
        }
        free(path);
        if (folders[length] == 0) {
            return NULL;
        }
        folders += length + 1;
    }
}

/* The C++ compiler beside a C compiler: …gcc-12 -> …g++-12, clang-16 -> clang++-16, cc -> c++. NULL: not known. */
static char *cxx_beside(const char *name)
{
    static const struct {
        const char *c, *cxx;
    } pairs[] = {{"clang", "clang++"}, {"gcc", "g++"}, {"icx", "icpx"}, {"cc", "c++"}};
    const char *base = strrchr(name, '/');
    base = base == NULL ? name : base + 1;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const char *found = strstr(base, pairs[i].c);
        if (found != NULL) {
            return pfa_text("%.*s%s%s", (int)(found - name), name, pairs[i].cxx, found + strlen(pairs[i].c));
        }
    }
    return NULL;
}

/* From a variable's words: a command with its arguments, such as "ccache gcc-12". */
static void take_from(pfa_under_t *under, const char *variable, const char *text, bool derive)
{
    pfa_words_t words = {0};
    pfa_words_split(&words, text);
    if (derive) {
        char **last = &words.at[words.count - 1];
        char *cxx = pfa_ends_with(*last, "++") ? *last : cxx_beside(*last);
        if (cxx == NULL) {
            pfa_cc_fail("which C++ compiler belongs to PROFALLOC_CC=%s is not known; set PROFALLOC_CXX", text);
        }
        *last = cxx;
    }
    for (size_t i = 0; i < words.count; i++) {
        if (strchr(words.at[i], '/') != NULL && is_us(words.at[i])) {
            pfa_cc_fail("%s=%s is profalloc-cc itself; set it to the compiler to use underneath, such as gcc or clang",
                        variable, text);
        }
    }
    char *path = pfa_under_path(words.at[0]);
    if (path == NULL) {
        pfa_cc_fail("%s=%s: there is no program '%s'%s", variable, text, words.at[0],
                    derive ? "; set PROFALLOC_CXX to the C++ compiler that belongs to it"
                           : "; install it, or set the "
                             "variable to a compiler "
                             "that is there");
    }
    words.at[0] = path;
    under->command = words;
}

static bool is_set(const char *text)
{
    return text != NULL && text[strspn(text, " \t")] != 0;
}

void pfa_under_find(pfa_under_t *under, bool cxx)
{
    static const char *const c_names[] = {"gcc", "cc", "clang"};
    static const char *const cxx_names[] = {"g++", "c++", "clang++"};
    *under = (pfa_under_t){0};
    if (getenv(RUNNING) != NULL) {
        pfa_cc_fail("it was called by the compiler that it had called itself: what PROFALLOC_CC, PROFALLOC_CXX or the "
                    "PATH name as the compiler leads back here; set PROFALLOC_CC to the compiler to use underneath");
    }
    setenv(RUNNING, "1", 1);
    const char *c_text = getenv("PROFALLOC_CC");
    const char *cxx_text = getenv("PROFALLOC_CXX");
    if (cxx && is_set(cxx_text)) {
        take_from(under, "PROFALLOC_CXX", cxx_text, false);
        return;
    }
    if (is_set(c_text)) {
        take_from(under, "PROFALLOC_CC", c_text, cxx);
        return;
    }
    for (size_t i = 0; i < sizeof(c_names) / sizeof(c_names[0]); i++) {
        char *path = pfa_under_path(cxx ? cxx_names[i] : c_names[i]);
        if (path != NULL) {
            pfa_words_add(&under->command, path);
            return;
        }
    }
    pfa_cc_fail("there is neither %s nor %s in the PATH; install one, or set %s", cxx ? "g++" : "gcc",
                cxx ? "clang++" : "clang", cxx ? "PROFALLOC_CXX" : "PROFALLOC_CC");
}
