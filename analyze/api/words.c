/* Owns the lists of what there is to choose from, each made of the table that the analyses themselves are made of. */
#include "analyze/api/api.h"

#include <string.h>

typedef struct list {
    const profalloc_word_t *words;
    size_t count;
} list_t;

#define LIST(words)                                                                                                    \
    {                                                                                                                  \
        words, sizeof(words) / sizeof(words)[0]                                                                        \
    }

/* What forms are called. */
#define CALLED_TEXT "text"
#define CALLED_BYTES "bytes"
#define CALLED_DURATION "duration"
#define CALLED_TIME "time"
#define CALLED_COUNT "count"
#define CALLED_SHARE "share"
#define CALLED_FLAG "flag"

static const profalloc_word_t keys[] = {
#define PFA_KEY(name, of_stack, meaning) {#name, meaning, NULL},
#include "analyze/query/keys.def"
#undef PFA_KEY
};

static const profalloc_word_t fields[] = {
#define PFA_FIELD(name, form, level, meaning) {#name, meaning, CALLED_##form},
#include "analyze/query/fields.def"
#undef PFA_FIELD
};

static const profalloc_word_t points[] = {
#define PFA_ORDER(name, option, title, kind, value) {option, title, NULL},
#include "analyze/points/orders.def"
#undef PFA_ORDER
};

static const profalloc_word_t advice[] = {
#define PFA_ADVICE_ORDER(name, meaning) {#name, meaning, NULL},
#include "analyze/advise/orders.def"
#undef PFA_ADVICE_ORDER
};

static const profalloc_word_t leaks[] = {
#define PFA_LEAK_ORDER(name, meaning) {#name, meaning, NULL},
#include "analyze/leaks/orders.def"
#undef PFA_LEAK_ORDER
};

static const profalloc_word_t hits[] = {
#define PFA_EXCESS_ORDER_TOLD(name, meaning) {#name, meaning, NULL},
#include "analyze/excess/orders.def"
};

static const profalloc_word_t tables[] = {
#define PFA_MPROF_ORDER(id, name, meaning) {name, meaning, NULL},
#include "analyze/mprof/orders.def"
#undef PFA_MPROF_ORDER
};

static const profalloc_word_t strands[] = {
#define PFA_STRAND_ORDER(id, name, meaning) {name, meaning, NULL},
#include "analyze/timeline/orders.def"
#undef PFA_STRAND_ORDER
};

static const profalloc_word_t frames[] = {
#define PFA_FRAME_ORDER(id, name, meaning) {name, meaning, NULL},
#include "analyze/draw/frame_orders.def"
#undef PFA_FRAME_ORDER
};

static const profalloc_word_t changes[] = {
#define PFA_DIFF_METRIC(name, is_bytes, flows, label) {#name, label, NULL},
#include "analyze/diff/metrics.def"
#undef PFA_DIFF_METRIC
};

static const profalloc_word_t metrics[] = {
#define PFA_METRIC(id, name, meaning) {name, meaning, NULL},
#include "analyze/flame/metrics.def"
#undef PFA_METRIC
};

static const list_t sorts[] = {
    [PROFALLOC_REPORT] = LIST(points), [PROFALLOC_ADVISE] = LIST(advice),     [PROFALLOC_LEAKS] = LIST(leaks),
    [PROFALLOC_EXCESS] = LIST(hits),   [PROFALLOC_MPROF] = LIST(tables),      [PROFALLOC_TIMELINE] = LIST(strands),
    [PROFALLOC_FLAME] = LIST(frames),  [PROFALLOC_COMPARISON] = LIST(changes)};
enum { ANALYSES = sizeof sorts / sizeof sorts[0] };

static list_t list_of(profalloc_list_t list, profalloc_analysis_t analysis)
{
    static const list_t of_all[] = {[PROFALLOC_KEYS] = LIST(keys), [PROFALLOC_FIELDS] = LIST(fields)};
    static const list_t none;
    static const list_t of_flame = LIST(metrics);
    switch (list) {
    case PROFALLOC_KEYS:
    case PROFALLOC_FIELDS:
        return of_all[list];
    case PROFALLOC_SORTS:
        return (size_t)analysis < ANALYSES ? sorts[analysis] : none;
    default:
        return list == PROFALLOC_METRICS && analysis == PROFALLOC_FLAME ? of_flame : none;
    }
}

const profalloc_word_t *profalloc_word(profalloc_list_t list, profalloc_analysis_t analysis, size_t number)
{
    list_t found = list_of(list, analysis);
    if (list == PROFALLOC_SETTINGS) {
        return pfa_settings_word(analysis, number);
    }
    return number < found.count ? &found.words[number] : NULL;
}

int pfa_api_find_word(profalloc_list_t list, profalloc_analysis_t analysis, const char *name)
{
    list_t found = list_of(list, analysis);
    for (size_t i = 0; i < found.count; i++) {
        if (strcmp(found.words[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}
