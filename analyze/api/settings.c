/* Owns the reading of settings. See analyze/api/settings.h. */
#include "analyze/api/settings.h"
#include "analyze/base/memory.h"
#include "analyze/base/units.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef enum form {
    FORM_NUMBER,
    FORM_WHOLE,
    FORM_SHARE,
    FORM_PERCENT,
    FORM_BYTES,
    FORM_COUNT,
    FORM_AMOUNT,
    FORM_SECONDS,
    FORM_NS,
    FORM_FLAG,
    FORM_TEXT,
    FORM_TEXTS,
    FORM_FILES,
    FORM_SCORES,
    FORM_CHOICE,
    FORM_LIMIT
} form_t;

typedef struct setting {
    profalloc_analysis_t analysis;
    form_t form;
    profalloc_word_t word;
    double least;
    double most;
    const char *first; /* of a choice */
    const char *second;
    size_t field; /* where in pfa_settings_t it is; of a limit its number */
} setting_t;

/* What forms are called. */
#define CALLED_NUMBER(least, most) "number"
#define CALLED_WHOLE(least, most) "whole"
#define CALLED_SHARE(least, most) "share"
#define CALLED_PERCENT(least, most) "percent"
#define CALLED_BYTES(least, most) "bytes"
#define CALLED_COUNT(least, most) "count"
#define CALLED_SECONDS(least, most) "time"
#define CALLED_NS(least, most) "time"
#define CALLED_FLAG(least, most) "flag"
#define CALLED_TEXT(least, most) "text"
#define CALLED_TEXTS(least, most) "text"
#define CALLED_FILES(least, most) "file"
#define CALLED_SCORES(least, most) "score"
#define CALLED_CHOICE(first, second) first "|" second

/* What is at the places of least and most. */
#define RANGE(least_, most_) .least = (least_), .most = (most_)
#define RANGE_NUMBER RANGE
#define RANGE_WHOLE RANGE
#define RANGE_SHARE RANGE
#define RANGE_PERCENT RANGE
#define RANGE_BYTES RANGE
#define RANGE_COUNT RANGE
#define RANGE_SECONDS RANGE
#define RANGE_NS RANGE
#define RANGE_FLAG RANGE
#define RANGE_TEXT RANGE
#define RANGE_TEXTS RANGE
#define RANGE_FILES RANGE
#define RANGE_SCORES RANGE
#define RANGE_CHOICE(first_, second_) .first = (first_), .second = (second_)

#define THRESHOLD(of, name, option, least_, most_, meaning_)                                                           \
    {.analysis = (of),                                                                                                 \
     .form = (most_) <= 1 ? FORM_SHARE : FORM_AMOUNT,                                                                  \
     .word = {option, meaning_, (most_) <= 1 ? "share" : "count"},                                                     \
     .least = (least_),                                                                                                \
     .most = (most_),                                                                                                  \
     .field = offsetof(pfa_settings_t, points.thresholds.name)},

static const setting_t table[] = {
#define PFA_SETTING(of, name_, form_, least_, most_, field_, meaning_)                                                 \
    {.analysis = PROFALLOC_##of,                                                                                       \
     .form = FORM_##form_,                                                                                             \
     .word = {name_, meaning_, CALLED_##form_(least_, most_)},                                                         \
     RANGE_##form_(least_, most_),                                                                                     \
     .field = offsetof(pfa_settings_t, field_)},
#include "analyze/api/settings.def"
#undef PFA_SETTING
#define PFA_THRESHOLD(name, option, standard, least, most, meaning)                                                    \
    THRESHOLD(PROFALLOC_REPORT, name, option, least, most, meaning)
#include "analyze/points/thresholds.def"
#undef PFA_THRESHOLD
#define PFA_THRESHOLD(name, option, standard, least, most, meaning)                                                    \
    THRESHOLD(PROFALLOC_ADVISE, name, option, least, most, meaning)
#include "analyze/points/thresholds.def"
#undef PFA_THRESHOLD
#define PFA_LIMIT(id, option, metric, scope, meaning_)                                                                 \
    {.analysis = PROFALLOC_COMPARISON,                                                                                 \
     .form = FORM_LIMIT,                                                                                               \
     .word = {option, meaning_, "limit"},                                                                              \
     .field = PFA_LIMIT_##id},
#include "analyze/diff/limits.def"
#undef PFA_LIMIT
};
enum { SETTINGS = sizeof table / sizeof table[0] };

const profalloc_word_t *pfa_settings_word(profalloc_analysis_t analysis, size_t number)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (table[i].analysis == analysis && number-- == 0) {
            return &table[i].word;
        }
    }
    return NULL;
}

static bool is_called(const profalloc_word_t *word, const char *text)
{
    size_t length = strlen(word->name);
    return strncmp(text, word->name, length) == 0 && (text[length] == '=' || text[length] == '\0');
}

static const setting_t *find(profalloc_analysis_t analysis, const char *text)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (table[i].analysis == analysis && is_called(&table[i].word, text)) {
            return &table[i];
        }
    }
    return NULL;
}

/* As the commands read the options of these names. */
static bool read_number(const setting_t *setting, const char *text, double *value)
{
    double least = setting->least;
    double most = setting->most;
    switch (setting->form) {
    case FORM_SHARE:
        return pfa_units_read(PFA_UNITS_SHARE, text, NULL, least, most, value);
    case FORM_PERCENT:
        return pfa_units_read(PFA_UNITS_SHARE, text, "%", least / 100, most / 100, value);
    case FORM_BYTES:
        return pfa_units_whole(PFA_UNITS_BYTES, text, least, most, value);
    case FORM_COUNT:
        return pfa_units_whole(PFA_UNITS_COUNT, text, least, most, value);
    case FORM_AMOUNT:
        return pfa_units_read(PFA_UNITS_COUNT, text, NULL, least, most, value);
    case FORM_SECONDS:
        if (!pfa_units_read(PFA_UNITS_TIME, text, "s", least * 1e9, most * 1e9, value)) {
            return false;
        }
        *value /= 1e9;
        return true;
    case FORM_NS:
        return pfa_units_read(PFA_UNITS_TIME, text, "ns", least, most, value);
    case FORM_WHOLE:
        return pfa_units_whole(PFA_UNITS_NONE, text, least, most, value);
    default:
        return pfa_units_number(text, least, most, value);
    }
}

static bool take_choice(const setting_t *setting, bool *field, const char *text)
{
    *field = strcmp(text, setting->second) == 0;
    return *field || strcmp(text, setting->first) == 0;
}

static bool take_limit(pfa_settings_t *settings, size_t number, const char *text)
{
    settings->has_limit = true;
    return pfa_limit_parse(&settings->gate.limits[number], text, pfa_diff_metrics[pfa_limits[number].metric].is_bytes);
}

static bool take_text(pfa_setting_list_t *list, const char *text)
{
    list->list = pfa_memory_grow(list->list, &list->room, list->count + 1, sizeof *list->list);
    list->list[list->count++] = text;
    return true;
}

/* `text` is the arena's; NULL: there was none. */
static bool take(pfa_settings_t *settings, const setting_t *setting, const char *text)
{
    void *field = (char *)settings + (setting->form != FORM_LIMIT ? setting->field : 0);
    if ((text == NULL) != (setting->form == FORM_FLAG)) {
        return false;
    }
    switch (setting->form) {
    case FORM_FLAG:
        return *(bool *)field = true;
    case FORM_TEXT:
        *(const char **)field = text;
        return true;
    case FORM_TEXTS:
    case FORM_FILES:
    case FORM_SCORES:
        return take_text(field, text);
    case FORM_CHOICE:
        return take_choice(setting, field, text);
    case FORM_LIMIT:
        return take_limit(settings, setting->field, text);
    default:
        return read_number(setting, text, field);
    }
}

static char *tell_number(const setting_t *setting)
{
    static const char *const also[] = {[FORM_SHARE] = ", or a percentage",
                                       [FORM_PERCENT] = ", in percent",
                                       [FORM_BYTES] = ", such as 4096 or 4K",
                                       [FORM_COUNT] = ", such as 5000 or 5K",
                                       [FORM_AMOUNT] = ", such as 5000 or 5K",
                                       [FORM_SECONDS] = ", in seconds, or a time such as 5m",
                                       [FORM_NS] = ", in nanoseconds, or a time such as 1us",
                                       [FORM_TEXT] = NULL};
    bool whole = setting->form == FORM_WHOLE || setting->form == FORM_BYTES || setting->form == FORM_COUNT;
    return pfa_memory_format("takes a %snumber from %g to %g%s", whole ? "whole " : "", setting->least, setting->most,
                             also[setting->form] != NULL ? also[setting->form] : "");
}

/* What a setting takes, for people. */
static char *tell_form(const setting_t *setting)
{
    switch (setting->form) {
    case FORM_FLAG:
        return pfa_memory_format("takes no value");
    case FORM_CHOICE:
        return pfa_memory_format("takes %s or %s", setting->first, setting->second);
    case FORM_LIMIT:
        return pfa_memory_format("takes a percentage or %s",
                                 pfa_diff_metrics[pfa_limits[setting->field].metric].is_bytes
                                     ? "bytes, such as 5% or 10M"
                                     : "a number, such as 5% or 1000");
    case FORM_NUMBER:
    case FORM_WHOLE:
    case FORM_SHARE:
    case FORM_PERCENT:
    case FORM_BYTES:
    case FORM_COUNT:
    case FORM_AMOUNT:
    case FORM_SECONDS:
    case FORM_NS:
        return tell_number(setting);
    default:
        return pfa_memory_format("takes a value");
    }
}

static bool is_given(const char *name, const char *const *list, size_t count)
{
    const profalloc_word_t word = {.name = name};
    for (size_t i = 0; i < count; i++) {
        if (is_called(&word, list[i])) {
            return true;
        }
    }
    return false;
}

/* Settings of one method have no meaning to the other. */
static char *check_method(const pfa_settings_t *settings, const char *const *list, size_t count)
{
    static const char *const of_method[][3] = {{"clusters", "scale", "seed"}, {"mu", "unit"}};
    static const char *const methods[] = {"kmeans", "iqr"};
    unsigned other = settings->by_quartiles ? 0 : 1;
    for (size_t i = 0; i < 3 && of_method[other][i] != NULL; i++) {
        if (is_given(of_method[other][i], list, count)) {
            return pfa_memory_format("setting '%s' is of the method %s, and the method is %s", of_method[other][i],
                                     methods[other], methods[1 - other]);
        }
    }
    return NULL;
}

static char *finish_excess(pfa_settings_t *settings, const char *const *list, size_t count)
{
    pfa_excess_options_t *excess = &settings->excess;
    excess->method = settings->by_quartiles ? PFA_EXCESS_IQR : PFA_EXCESS_KMEANS;
    excess->scale = settings->logarithmic ? PFA_SCALE_LOG : PFA_SCALE_LINEAR;
    excess->clusters = (unsigned)settings->clusters;
    excess->seed = (uint64_t)settings->seed;
    excess->most_objects = (size_t)settings->most_objects;
    excess->lines = (size_t)settings->lines;
    if (settings->unit != NULL && (excess->unit = pfa_time_unit_find(settings->unit)) == NULL) {
        return pfa_memory_format("setting 'unit' takes ps, ns, us, ms or s, or 10 or 100 of them as in 10us, not '%s'",
                                 settings->unit);
    }
    for (size_t i = 0; i < settings->wrappers.count; i++) {
        const char *pattern = settings->wrappers.list[i];
        pfa_wrappers_add(&excess->wrappers, pattern, strlen(pattern));
    }
    for (size_t i = 0; i < settings->wrapper_files.count; i++) {
        const char *path = settings->wrapper_files.list[i];
        int error = pfa_wrappers_read(&excess->wrappers, path);
        if (error != 0) {
            return pfa_memory_format("setting 'wrappers': cannot read %s: %s", path, strerror(error));
        }
    }
    return check_method(settings, list, count);
}

static void finish_others(pfa_settings_t *settings)
{
    settings->points.scores = settings->scores.list;
    settings->points.score_count = settings->scores.count;
    settings->leaks.suppressions = settings->suppressions.list;
    settings->leaks.suppression_count = settings->suppressions.count;
    settings->mprof.verbosity = settings->verbose ? PFA_VERBOSE : settings->terse ? PFA_TERSE : PFA_NORMAL;
    settings->mprof.offsets = settings->offsets;
    settings->mprof.leak_table = !settings->no_leak_table;
}

static pfa_settings_t usual(void)
{
    pfa_settings_t settings = {.excess = pfa_excess_options_standard(),
                               .term = {.width = PFA_TERM_WIDTH, .height = PFA_TERM_HEIGHT, .utf8 = true},
                               .points = {.thresholds = pfa_thresholds_standard()},
                               .leaks = {.limits = pfa_leak_limits_standard()},
                               .gate = {.min_bytes = 64 << 10, .min_count = 100}};
    settings.seed = (double)settings.excess.seed;
    settings.most_objects = (double)settings.excess.most_objects;
    settings.lines = (double)settings.excess.lines;
    return settings;
}

char *pfa_settings_read(pfa_settings_t *settings, profalloc_analysis_t analysis, const char *const *list, size_t count)
{
    *settings = usual();
    for (size_t i = 0; i < count; i++) {
        const setting_t *setting = find(analysis, list[i]);
        const char *value = strchr(list[i], '=');
        if (setting == NULL) {
            return pfa_memory_format("setting '%.*s': this analysis knows none of that name",
                                     (int)strcspn(list[i], "="), list[i]);
        }
        value = value != NULL ? pfa_memory_copy(value + 1, strlen(value + 1)) : NULL;
        if (!take(settings, setting, value)) {
            char *form = tell_form(setting);
            return value != NULL ? pfa_memory_format("setting '%s' %s, not '%s'", setting->word.name, form, value)
                                 : pfa_memory_format("setting '%s' %s", setting->word.name, form);
        }
    }
    finish_others(settings);
    return analysis == PROFALLOC_EXCESS ? finish_excess(settings, list, count) : NULL;
}
