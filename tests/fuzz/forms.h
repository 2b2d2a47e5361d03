/* The analyses, each asked and written in some of its forms. */
#ifndef PFA_TESTS_FUZZ_FORMS_H
#define PFA_TESTS_FUZZ_FORMS_H

#include "analyze/query/question.h"
#include "analyze/query/session.h"

#include <stdio.h>

typedef struct pfa_fuzz_asked {
    pfa_session_t *session; /* NULL for forms that compare: these have sessions of their own */
    pfa_session_options_t options;
    const pfa_question_t *question;
    const char *files[2];
    FILE *to;
} pfa_fuzz_asked_t;

/* Asks, writes and frees the answer. 0 or an error number, as of pfa_answer_make and pfa_answer_write. For work with an arena. */
typedef int pfa_fuzz_form_t(const pfa_fuzz_asked_t *asked);

pfa_fuzz_form_t pfa_fuzz_report_text, pfa_fuzz_report_json;
pfa_fuzz_form_t pfa_fuzz_advise_text, pfa_fuzz_advise_json;
pfa_fuzz_form_t pfa_fuzz_leaks_text, pfa_fuzz_leaks_json;
pfa_fuzz_form_t pfa_fuzz_excess_text, pfa_fuzz_excess_json, pfa_fuzz_excess_svg;
pfa_fuzz_form_t pfa_fuzz_timeline_term, pfa_fuzz_timeline_svg, pfa_fuzz_timeline_csv, pfa_fuzz_timeline_json;
pfa_fuzz_form_t pfa_fuzz_flame_folded, pfa_fuzz_flame_peak, pfa_fuzz_flame_svg, pfa_fuzz_flame_wasted,
    pfa_fuzz_flame_at;
pfa_fuzz_form_t pfa_fuzz_mprof_text, pfa_fuzz_mprof_offsets, pfa_fuzz_mprof_json;
pfa_fuzz_form_t pfa_fuzz_chunks;
pfa_fuzz_form_t pfa_fuzz_compare_diff, pfa_fuzz_compare_gate;

#endif
