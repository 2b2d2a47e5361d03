/* What the files of analyze/api have in common: what is behind the types of the public header. */
#ifndef PFA_ANALYZE_API_API_H
#define PFA_ANALYZE_API_API_H

#include "include/profalloc-analyze.h"
#include "analyze/api/settings.h"
#include "analyze/base/memory.h"
#include "analyze/excess/excess.h"
#include "analyze/flame/flame.h"
#include "analyze/leaks/leaks.h"
#include "analyze/mprof/mprof.h"
#include "analyze/points/report.h"
#include "analyze/timeline/timeline.h"

#include <locale.h>

struct profalloc_session {
    profalloc_session_options_t options;
    pfa_session_t *session;
};

struct profalloc_question {
    pfa_memory_t *memory;
    pfa_question_t *question;
};

struct profalloc_answer {
    profalloc_analysis_t analysis;
    pfa_memory_t *memory; /* of its settings */
    size_t top;
    const char *sort; /* NULL: as usual */
    pfa_settings_t settings;
    int (*progress)(void *to, const char *what, double part);
    void (*say)(void *to, const char *sentence);
    void *to;          /* of both */
    pfa_watch_t watch; /* its own */
    union {
        pfa_answer_t *base;
        pfa_report_t *report;
        pfa_leaks_t *leaks;
        pfa_excess_t *excess;
        pfa_mprof_t *mprof;
        pfa_timeline_t *timeline;
        pfa_amounts_t *amounts;
    } of; /* but of a comparison, which is in its settings */
};

/* What every call begins with and ends with: the C locale, and whose callbacks are called. */
typedef struct pfa_api_call {
    locale_t locale; /* 0: there is none */
    locale_t before;
    const pfa_watch_t *watch_before;
    const profalloc_answer_t *answer_before;
} pfa_api_call_t;

/* With the callbacks of this answer, as far as it has any; NULL: those of the session. False: there is no memory; pfa_api_end is to be called
 * all the same. */
bool pfa_api_begin(pfa_api_call_t *call, const profalloc_answer_t *answer);
void pfa_api_end(const pfa_api_call_t *call);
/* From here on, in a call that began before there was an answer. */
void pfa_api_tell(const profalloc_answer_t *answer);

/* A sentence to who is told, cleaned. EINVAL. */
__attribute__((format(printf, 2, 3))) int pfa_api_refuse(const profalloc_session_t *session, const char *format, ...);

/* An answer with its settings and nothing in it, in a call. 0 or an error number. */
int pfa_api_answer(profalloc_answer_t **answer, const profalloc_session_t *session, profalloc_analysis_t analysis,
                   const profalloc_ask_options_t *options);
/* Has an analysis fill it. (analyze/api/ask.c) */
int pfa_api_ask(profalloc_session_t *session, const pfa_question_t *question, const profalloc_ask_options_t *options,
                profalloc_answer_t *answer);
/* Writes it, in a call. */
int pfa_api_write(profalloc_answer_t *answer, int (*write)(profalloc_answer_t *answer, FILE *to), FILE *to);
/* The writers of a comparison. (analyze/api/compare.c) */
int pfa_api_compared_complete(const profalloc_answer_t *answer);
int pfa_api_compared_text(profalloc_answer_t *answer, FILE *to);
int pfa_api_compared_json(profalloc_answer_t *answer, FILE *to);

/* The number of an order among those of an analysis (PROFALLOC_SORTS); -1: there is none. (analyze/api/words.c) */
int pfa_api_find_word(profalloc_list_t list, profalloc_analysis_t analysis, const char *name);

#endif
