/* Settings of analyses as texts: "late=3". See analyze/api/settings.def. */
#ifndef PFA_ANALYZE_API_SETTINGS_H
#define PFA_ANALYZE_API_SETTINGS_H

#include "include/profalloc-analyze.h"
#include "analyze/diff/gate.h"
#include "analyze/draw/flame_graph.h"
#include "analyze/draw/term.h"
#include "analyze/excess/excess.h"
#include "analyze/leaks/leaks.h"
#include "analyze/mprof/mprof.h"
#include "analyze/points/report.h"

typedef struct pfa_setting_list {
    const char **list;
    size_t count;
    size_t room;
} pfa_setting_list_t;

/* What all analyses take. Each looks at what is its own. */
typedef struct pfa_settings {
    pfa_excess_options_t excess; /* first: from its options, who draws the charts of an answer finds the rest */
    pfa_term_t term;             /* what these are drawn on */
    pfa_points_options_t points;
    pfa_leaks_options_t leaks;
    pfa_mprof_options_t mprof;
    pfa_graph_look_t graph;
    pfa_gate_t gate;
    pfa_diff_metric_t metric; /* that it is in the order of, if it is of one */
    bool has_limit;
    bool per_second;
    bool allow_incomplete;
    bool plain;
    bool chart;
    bool chunks;
    /* As they were given; pfa_settings_read puts them where they belong. */
    pfa_setting_list_t scores;
    pfa_setting_list_t suppressions;
    pfa_setting_list_t wrappers;
    pfa_setting_list_t wrapper_files;
    bool by_quartiles;
    bool logarithmic;
    double clusters;
    double seed;
    double most_objects;
    double lines;
    const char *unit;
    bool verbose;
    bool terse;
    bool no_leak_table;
    bool offsets;
} pfa_settings_t;

/* In the arena of the caller's work, which settings need as long as they are used. NULL: all is right; else a sentence that says what is
 * wrong. */
char *pfa_settings_read(pfa_settings_t *settings, profalloc_analysis_t analysis, const char *const *list, size_t count);
/* Of this number; NULL: there are no more. */
const profalloc_word_t *pfa_settings_word(profalloc_analysis_t analysis, size_t number);

#endif
