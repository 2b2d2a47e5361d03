/* profalloc-cc and profalloc-c++: the compiler underneath, called with what access profiling needs.
 *
 * A call goes through four parts: the request (what the arguments ask for), the compiler underneath (which, of what kind),
 * the place (where our libraries and lists lie), and the command (the arguments as given, with ours around them). Then the
 * process becomes the compiler, so that exit codes, signals, standard input and temporary files are the compiler's own.
 *
 * This is a tool, on its own: one thread, ordinary C, memory is the process's for good. It shares nothing with the runtime
 * but the names of files. Errors end the process with status 1 and say what to do. */
#ifndef PFA_HOOKS_CC_CC_H
#define PFA_HOOKS_CC_CC_H

#include <stdbool.h>
#include <stddef.h>

/* A list of words, ended by a NULL as exec wants it. */
typedef struct pfa_words {
    char **at;
    size_t count;
    size_t room;
} pfa_words_t;

void pfa_words_add(pfa_words_t *words, const char *word);
void pfa_words_add_all(pfa_words_t *words, const pfa_words_t *more);
/* Separated by blanks, without quoting: what CC holds in a Makefile. */
void pfa_words_split(pfa_words_t *words, const char *text);

__attribute__((format(printf, 1, 2))) char *pfa_text(const char *format, ...);
bool pfa_starts_with(const char *text, const char *start);
bool pfa_ends_with(const char *text, const char *end);
/* NULL if it cannot be read. */
char *pfa_file_read(const char *path);

__attribute__((format(printf, 1, 2), noreturn)) void pfa_cc_fail(const char *format, ...);
/* The name we were called by, without its folders. */
extern const char *pfa_cc_name;

/* How far a compiler goes with its inputs. */
typedef enum pfa_step {
    PFA_STEP_NONE, /* no input, or a question: --version, -print-…, -dump… */
    PFA_STEP_PREPROCESS,
    PFA_STEP_CHECK,   /* -fsyntax-only and other steps that make no code */
    PFA_STEP_COMPILE, /* -c, -S, precompiled headers */
    PFA_STEP_LINK     /* with or without compiling before */
} pfa_step_t;

/* What the arguments ask for. */
typedef struct pfa_request {
    pfa_words_t given;  /* as they came, but for our own */
    size_t options_end; /* in `given`: where the last option may stand ("--", or the end) */
    pfa_step_t step;
    bool compiles;    /* among the inputs are sources of the C family */
    bool cxx;         /* called as a C++ compiler */
    bool cxx_library; /* libstdc++ will be linked */
    bool shared;
    bool fully_static; /* -static, -static-pie */
    bool relocatable;  /* -r: a link without libraries */
    bool no_libc;      /* -nostdlib and the like, and no -lc */
    bool own_libc;     /* -nostdlib and the like, but the link names libc, or is of a shared object */
    bool freestanding;
    bool thread;          /* the user's own -fsanitize=thread */
    bool coverage;        /* -fsanitize-coverage of loads or stores, */
    bool coverage_others; /* and of more than these and a place (func, bb, edge) */
    bool coverage_proper; /* of loads or stores past the driver (-Xclang), which no option takes back */
    bool fortify_late;    /* _FORTIFY_SOURCE through -Wp, which comes behind -U */
    const char *conflict; /* a sanitizer that excludes us */
    bool show;            /* --profalloc-show */
    bool help;            /* --profalloc-help */
} pfa_request_t;

void pfa_request_read(pfa_request_t *request, int argc, char **argv);

/* Adds `word`, or, if it names a response file, the words in it, by the quoting rules of gcc and clang. */
void pfa_response_expand(pfa_words_t *words, const char *word);

/* The compiler underneath. */
typedef struct pfa_under {
    pfa_words_t command; /* usually one word, a path */
    bool clang;          /* otherwise gcc */
    int major;
    bool x86;
} pfa_under_t;

void pfa_under_find(pfa_under_t *under, bool cxx);
/* The path of a command, or NULL. A folder in PATH where the name means us (a link called gcc) is passed over. */
char *pfa_under_path(const char *name);
/* Kind and version: asks the compiler, and remembers for a day. */
void pfa_under_probe(pfa_under_t *under);

/* Where our files are. */
typedef struct pfa_place {
    char *libraries; /* the folder of libprofalloc.so */
} pfa_place_t;

void pfa_place_find(pfa_place_t *place);
/* The path of a file of ours: a library, a list, specs, a plugin. NULL if there is none. */
char *pfa_place_path(const pfa_place_t *place, const char *name);
/* The same, and fails if there is none. */
char *pfa_place_need(const pfa_place_t *place, const char *name);
/* The words of a list, one per line, "#" begins a comment. Fails if there is none. */
void pfa_place_list(const pfa_place_t *place, const char *name, pfa_words_t *words);

/* Arguments of ours: before the user's, and behind them. */
typedef struct pfa_additions {
    pfa_words_t before;
    pfa_words_t behind;
} pfa_additions_t;

/* PROFALLOC_WINDOW=any: a program for machines, or with habits, that leave no room for the window (hooks/access/view.h). */
bool pfa_cc_looks_anywhere(void);

/* Fails if PROFALLOC_PASS is none of its words. */
void pfa_compile_check_wish(void);
void pfa_compile_add(pfa_additions_t *add, const pfa_request_t *request, const pfa_under_t *under,
                     const pfa_place_t *place);
void pfa_link_add(pfa_additions_t *add, const pfa_request_t *request, const pfa_under_t *under,
                  const pfa_place_t *place);

#endif
