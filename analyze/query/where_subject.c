/* Owns what expressions are answered from: the texts of fields, and the sets that have to be known first. */
#include "analyze/names/identity.h"
#include "analyze/base/memory.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"
#include "analyze/query/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const char *text_of_t(const pfa_line_t *line);

static const char *function_of(const pfa_line_t *line)
{
    return line->symbol->function;
}

static const char *file_of(const pfa_line_t *line)
{
    return line->symbol->file;
}

static const char *module_of(const pfa_line_t *line)
{
    return line->module;
}

static bool any_line(pfa_asked_t *asked, uint32_t stack, text_of_t *text_of, bool (*match)(void *, const char *),
                     void *with)
{
    pfa_stacks_lines(&asked->query->stacks, stack, &asked->lines);
    for (size_t i = 0; i < asked->lines.count; i++) {
        const char *text = text_of(&asked->lines.list[i]);
        if (text != NULL && match(with, text)) {
            return true;
        }
    }
    return false;
}

static bool own_line(pfa_asked_t *asked, text_of_t *text_of, bool (*match)(void *, const char *), void *with)
{
    pfa_line_t line;
    if (!pfa_place_find(&asked->query->stacks, asked->kind->stack, &line)) {
        return false;
    }
    const char *text = text_of(&line);
    return text != NULL && match(with, text);
}

/* By its name, by its number, or by both as tables have it. */
static bool any_thread(const pfa_source_t *source, uint32_t thread, bool (*match)(void *, const char *), void *with)
{
    char text[24];
    char shown[PFA_THREAD_TEXT];
    const pfa_trace_thread_t *known = thread < source->thread_count ? &source->threads[thread] : NULL;
    if (known != NULL) {
        snprintf(text, sizeof text, "%.16s", known->name);
        if (match(with, text)) {
            return true;
        }
        snprintf(text, sizeof text, "%u", (unsigned)known->tid);
        if (known->tid != 0 && match(with, text)) {
            return true;
        }
    }
    return match(with, pfa_source_thread(source, thread, shown));
}

bool pfa_query_any_text(void *to, pfa_field_t field, bool (*match)(void *with, const char *text), void *with)
{
    pfa_asked_t *asked = to;
    const pfa_kind_t *kind = asked->kind;
    switch (field) {
    case PFA_FIELD_function:
        return any_line(asked, kind->stack, function_of, match, with);
    case PFA_FIELD_file:
        return any_line(asked, kind->stack, file_of, match, with);
    case PFA_FIELD_module:
        return any_line(asked, kind->stack, module_of, match, with);
    case PFA_FIELD_at_function:
        return own_line(asked, function_of, match, with);
    case PFA_FIELD_at_file:
        return own_line(asked, file_of, match, with);
    case PFA_FIELD_at_module:
        return own_line(asked, module_of, match, with);
    case PFA_FIELD_free_function:
        return any_line(asked, kind->free_stack, function_of, match, with);
    case PFA_FIELD_free_file:
        return any_line(asked, kind->free_stack, file_of, match, with);
    case PFA_FIELD_free_module:
        return any_line(asked, kind->free_stack, module_of, match, with);
    case PFA_FIELD_thread:
        return any_thread(kind->source, kind->thread, match, with);
    case PFA_FIELD_free_thread:
        return !kind->live && any_thread(kind->source, kind->free_thread, match, with);
    case PFA_FIELD_tag:
        return kind->tag != 0 && match(with, pfa_source_tag(kind->source, kind->tag));
    case PFA_FIELD_trace:
        return match(with, kind->source->path);
    default:
        return false;
    }
}

/* Sums by stack, of which a set is made. */
typedef struct sums {
    double *list;
    size_t room;
    const char *metric; /* NULL: that there is one */
} sums_t;

static void add_kind(void *to, const pfa_kind_t *kind, double rows)
{
    sums_t *sums = to;
    double chunks = rows * kind->weight;
    double bytes = chunks * (double)kind->size;
    sums->list = pfa_memory_grow(sums->list, &sums->room, (size_t)kind->stack + 1, sizeof *sums->list);
    if (sums->metric == NULL || strcmp(sums->metric, "count") == 0) {
        sums->list[kind->stack] += chunks;
    } else if (strcmp(sums->metric, "live") != 0 || kind->live) {
        sums->list[kind->stack] += bytes;
    }
}

static void add_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    sums_t *sums = to;
    (void)source;
    (void)group;
    sums->list = pfa_memory_grow(sums->list, &sums->room, (size_t)stack + 1, sizeof *sums->list);
    if (sums->metric == NULL || strcmp(sums->metric, "count") == 0) {
        sums->list[stack] += chunks;
    } else if (strcmp(sums->metric, "live") != 0) {
        sums->list[stack] += bytes;
    }
}

static int compare_sums(const void *a, const void *b, void *to)
{
    const sums_t *sums = to;
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    if (sums->list[left] != sums->list[right]) {
        return sums->list[left] > sums->list[right] ? -1 : 1;
    }
    return left < right ? -1 : left > right;
}

static void keep_top(sums_t *sums, size_t top)
{
    uint32_t *numbers = pfa_memory_get(sums->room, sizeof *numbers);
    size_t count = 0;
    for (size_t i = 0; i < sums->room; i++) {
        if (sums->list[i] > 0) {
            numbers[count++] = (uint32_t)i;
        }
    }
    qsort_r(numbers, count, sizeof *numbers, compare_sums, sums);
    for (size_t i = top; i < count; i++) {
        sums->list[numbers[i]] = 0;
    }
    pfa_memory_free(numbers);
}

/* Walks with the set's own expression in place of the query's. */
static bool sum_up(pfa_query_t *query, const pfa_where_set_t *set, sums_t *sums)
{
    pfa_look_t look = {.to = sums, .kind = add_kind, .fold = add_fold};
    pfa_where_t *where = query->where;
    const pfa_question_t *question = query->question;
    bool by_groups = query->by_groups;
    bool uncounted = query->uncounted;
    sums->metric = set->top != 0 ? set->metric : NULL;
    query->where = set->where;
    query->question = NULL; /* groups that it names are of the answer */
    query->by_groups = false;
    query->uncounted = true;
    int error = pfa_query_walk(query, &look, "finding points");
    query->where = where;
    query->question = question;
    query->by_groups = by_groups;
    query->uncounted = uncounted;
    if (error == 0 && set->top != 0) {
        keep_top(sums, set->top);
    }
    return error == 0;
}

static void fill_own(pfa_query_t *query, pfa_where_set_t *set, const sums_t *sums)
{
    set->room = query->stacks.count;
    set->stacks = pfa_memory_get(set->room, sizeof *set->stacks);
    for (size_t i = 0; i < set->room && i < sums->room; i++) {
        set->stacks[i] = sums->list[i] > 0;
    }
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Points of another trace are the same by what they are called. */
static void fill_from(pfa_query_t *query, pfa_where_set_t *set, pfa_query_t *other, const sums_t *sums)
{
    uint64_t *known = pfa_memory_get(sums->room, sizeof *known);
    size_t count = 0;
    for (size_t i = 0; i < sums->room; i++) {
        if (sums->list[i] > 0) {
            known[count++] = pfa_identity_of(&other->stacks, (uint32_t)i);
        }
    }
    qsort(known, count, sizeof *known, compare_hashes);
    set->room = query->stacks.count;
    set->stacks = pfa_memory_get(set->room, sizeof *set->stacks);
    for (size_t i = 0; i < set->room; i++) {
        uint64_t identity = pfa_identity_of(&query->stacks, (uint32_t)i);
        set->stacks[i] = bsearch(&identity, known, count, sizeof *known, compare_hashes) != NULL;
    }
    pfa_memory_free(known);
}

static void close_session(void *session)
{
    pfa_session_close(session);
}

/* Files that sets are of, each asked by a query of its own. */
typedef struct other {
    struct other *next;
    const char *file;
    void **session; /* held */
    pfa_query_t query;
} other_t;

static other_t *find_other(pfa_query_t *query, const char *file, other_t **others)
{
    for (other_t *other = *others; other != NULL; other = other->next) {
        if (strcmp(other->file, file) == 0) {
            other->query.sets_known = false; /* of the next set's expression */
            return other;
        }
    }
    other_t *other = pfa_memory_get(1, sizeof *other);
    pfa_session_t *session;
    other->file = file;
    other->session = pfa_memory_hold(close_session);
    int error = pfa_session_open(&session, pfa_session_options(query->session), &file, 1);
    if (error != 0) {
        pfa_memory_leave(error);
    }
    *other->session = session;
    pfa_query_open(&other->query, session, NULL);
    other->next = *others;
    *others = other;
    return other;
}

static void close_others(other_t *others)
{
    while (others != NULL) {
        other_t *next = others->next;
        pfa_query_close(&others->query);
        pfa_memory_free(others->session);
        pfa_memory_free(others);
        others = next;
    }
}

static bool find_in_file(pfa_query_t *query, pfa_where_set_t *set, other_t **others)
{
    pfa_query_t *other = &find_other(query, set->file, others)->query;
    sums_t sums = {.list = NULL};
    bool found = other->source_count != 0 && sum_up(other, set, &sums);
    if (found) {
        fill_from(query, set, other, &sums);
    } else {
        query->trouble = other->trouble != PFA_TROUBLE_NONE ? other->trouble : PFA_TROUBLE_READING;
    }
    pfa_memory_free(sums.list);
    return found;
}

/* With all chunks of the query's traces, by stack: as if nothing were asked for. */
static bool find_scores(pfa_query_t *query)
{
    int (*score)(pfa_query_t *, pfa_scored_t *) = pfa_session_options(query->session)->score;
    pfa_where_t *where = query->where;
    const pfa_key_t *key = query->key;
    const pfa_question_t *question = query->question;
    pfa_groups_t *groups = query->groups;
    bool by_groups = query->by_groups;
    bool uncounted = query->uncounted;
    query->scores_known = true;
    if (score == NULL) {
        return true;
    }
    query->where = NULL;
    query->key = NULL;
    query->question = NULL;
    query->by_groups = false;
    query->groups = pfa_groups_new();
    query->uncounted = true;
    int error = score(query, &query->scored);
    pfa_groups_free(query->groups);
    query->where = where;
    query->key = key;
    query->question = question;
    query->by_groups = by_groups;
    query->groups = groups;
    query->uncounted = uncounted;
    query->scores_known = error == 0;
    return error == 0;
}

bool pfa_query_find_sets(pfa_query_t *query)
{
    size_t count = 0;
    if (query->where == NULL || query->sets_known) {
        return true;
    }
    if (!query->scores_known && pfa_where_asks_scores(query->where) && !find_scores(query)) {
        return false;
    }
    query->sets_known = true; /* the walks below need no others */
    pfa_where_set_t *sets = pfa_where_sets(query->where, &count);
    bool all = true;
    other_t *others = NULL;
    sums_t stacks = {.list = NULL};
    pfa_where_set_t any = {.where = NULL};
    if (count != 0) {
        all = sum_up(query, &any, &stacks); /* so that all stacks have their numbers */
        pfa_memory_free(stacks.list);
    }
    for (size_t i = 0; i < count && all; i++) {
        sums_t sums = {.list = NULL};
        if (sets[i].file != NULL) {
            all = find_in_file(query, &sets[i], &others);
        } else if ((all = sum_up(query, &sets[i], &sums))) {
            fill_own(query, &sets[i], &sums);
        }
        pfa_memory_free(sums.list);
    }
    close_others(others);
    query->sets_known = all;
    return all;
}
