/* Owns the collecting: one walk through all chunks of a query, in which each adds to the sums of its group, those of different groups by
 * different threads. What many chunks have in common is added once for all of them; what is done for each chunk is kept short, because
 * there may be fifty million. */
#include "analyze/leaks/leaks.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* While chunks are added; but for the look, of the source that is walked through. */
typedef struct pfa_leaks_adding {
    pfa_leaks_t *leaks;
    pfa_look_t look;
    double start;
    double run;        /* how long it was */
    double per_run;    /* 1 / run; 0 of one that took no time */
    uint64_t *threads; /* by number: what counts have for its name; in the last place, for threads that have none */
    size_t thread_count;
} adding_t;

static pfa_family_t *find_family(pfa_leaks_t *leaks, uint32_t group)
{
    if (group >= leaks->family_count) {
        leaks->families =
            pfa_memory_grow(leaks->families, &leaks->family_room, (size_t)group + 1, sizeof *leaks->families);
        for (; leaks->family_count <= group; leaks->family_count++) {
            leaks->families[leaks->family_count].first = leaks->families[leaks->family_count].shortest = INFINITY;
        }
    }
    return &leaks->families[group];
}

static pfa_survivors_t *find_survivors(pfa_family_t *family)
{
    if (family->survivors == NULL) {
        family->survivors = pfa_memory_get(1, sizeof *family->survivors);
        family->survivors->first = INFINITY;
        family->survivors->least_size = UINT64_MAX;
    }
    return family->survivors;
}

/* Threads are told by name: a program that begins one for each request has few names and many threads. */
static uint64_t name_thread(pfa_leaks_t *leaks, const pfa_source_t *source, uint32_t thread)
{
    char name[24] = "?";
    if (thread < source->thread_count && source->threads[thread].name[0] != '\0') {
        snprintf(name, sizeof name, "%.16s", source->threads[thread].name);
        pfa_text_clean(name, strlen(name));
    }
    return (uint64_t)(uintptr_t)pfa_symbols_text(leaks->query->symbols, name);
}

static void name_threads(adding_t *adding, const pfa_source_t *source)
{
    adding->thread_count = source->thread_count;
    adding->threads = pfa_memory_get(source->thread_count + 1, sizeof *adding->threads);
    for (uint32_t i = 0; i <= source->thread_count; i++) {
        adding->threads[i] = name_thread(adding->leaks, source, i);
    }
}

static uint64_t find_thread(const adding_t *adding, uint32_t thread)
{
    return adding->threads[thread < adding->thread_count ? thread : adding->thread_count];
}

/* Of sampled chunks, each taken with the chance 1/weight, a sum has this variance for each. */
static double variance_of(double weight)
{
    return weight > 1 ? weight * (weight - 1) : 0;
}

static bool has_moved(const pfa_kind_t *kind)
{
    return !kind->live && (kind->flags & PFA_EVENT_MOVED) != 0;
}

static void add_survivors(const adding_t *adding, pfa_family_t *family, const pfa_kind_t *kind, double rows)
{
    pfa_leaks_t *leaks = adding->leaks;
    pfa_survivors_t *survivors = find_survivors(family);
    double chunks = kind->weight * rows;
    double size = (double)kind->size;
    double variance = rows * variance_of(kind->weight);
    survivors->rows += rows;
    survivors->chunks += chunks;
    survivors->bytes += chunks * size;
    survivors->chunks_variance += variance;
    survivors->bytes_variance += variance * size * size;
    survivors->least_size = kind->size < survivors->least_size ? kind->size : survivors->least_size;
    survivors->most_size = kind->size > survivors->most_size ? kind->size : survivors->most_size;
    pfa_counts_add(&leaks->counts, kind->group, PFA_ROLE_OWNER, find_thread(adding, kind->thread), 0, chunks,
                   &family->counted[PFA_ROLE_OWNER]);
}

static void add_siblings(const adding_t *adding, pfa_family_t *family, const pfa_kind_t *kind, double rows)
{
    pfa_leaks_t *leaks = adding->leaks;
    double chunks = kind->weight * rows;
    family->freed += chunks;
    family->freed_bytes += chunks * (double)kind->size;
    family->freed_rows += rows;
    family->same_thread += kind->thread == kind->free_thread ? chunks : 0;
    uint64_t values[PFA_ROLES] = {[PFA_ROLE_SITE] = kind->free_stack,
                                  [PFA_ROLE_FREER] = find_thread(adding, kind->free_thread),
                                  [PFA_ROLE_OWNER] = find_thread(adding, kind->thread)};
    for (uint32_t role = 0; role < PFA_ROLES; role++) {
        pfa_counts_add(&leaks->counts, kind->group, role, values[role], chunks, 0, &family->counted[role]);
    }
}

/* Whether anybody asks for the verdict on a group. */
static bool is_wanted(const pfa_leaks_t *leaks, uint32_t group)
{
    return leaks->wanted == NULL || (group < leaks->wanted_count && leaks->wanted[group]);
}

/* What needs names, one at a time: whether chunks of a stack are suppressed, and whether what was done with them is seen. */
static void meet(void *to, const pfa_kind_t *kind)
{
    adding_t *adding = to;
    pfa_leaks_t *leaks = adding->leaks;
    if (kind->live) {
        (void)pfa_suppressions_find(&leaks->suppressions, &leaks->query->stacks, kind->stack);
    }
    if (kind->live && kind->source->has_accesses) {
        (void)pfa_sight_of(&leaks->sights, kind->stack);
    }
}

/* So that nothing moves while it is added to. */
static void make_room(void *to)
{
    const adding_t *adding = to;
    size_t groups = pfa_query_groups(adding->leaks->query);
    if (groups != 0) {
        (void)find_family(adding->leaks, (uint32_t)(groups - 1));
    }
}

static pfa_suppression_t *find_suppression(pfa_leaks_t *leaks, const pfa_kind_t *kind)
{
    return kind->live ? pfa_suppressions_find(&leaks->suppressions, &leaks->query->stacks, kind->stack) : NULL;
}

/* Sums of all groups, in order. */
static void add_kind(void *to, const pfa_kind_t *kind, double rows)
{
    const adding_t *adding = to;
    pfa_leaks_t *leaks = adding->leaks;
    if (!kind->live || !is_wanted(leaks, kind->group)) {
        return;
    }
    pfa_suppression_t *suppression = find_suppression(leaks, kind);
    double chunks = kind->weight * rows;
    double size = (double)kind->size;
    double variance = rows * variance_of(kind->weight);
    if (suppression != NULL) {
        suppression->chunks += chunks;
        suppression->bytes += chunks * size;
        leaks->suppressed_chunks += chunks;
        leaks->suppressed_bytes += chunks * size;
        return;
    }
    leaks->chunks += chunks;
    leaks->bytes += chunks * size;
    leaks->chunks_variance += variance;
    leaks->bytes_variance += variance * size * size;
}

static uint32_t add_kind_to_family(void *to, const pfa_kind_t *kind, double rows)
{
    const adding_t *adding = to;
    pfa_leaks_t *leaks = adding->leaks;
    if (!is_wanted(leaks, kind->group)) {
        return 0;
    }
    pfa_family_t *family = &leaks->families[kind->group];
    double chunks = kind->weight * rows;
    family->per_ns += chunks * adding->per_run;
    if (find_suppression(leaks, kind) != NULL) {
        return 0;
    }
    if (kind->live) {
        add_survivors(adding, family, kind, rows);
    } else if (has_moved(kind)) {
        family->moved += chunks;
    } else {
        add_siblings(adding, family, kind, rows);
    }
    return 0;
}

static void add_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    adding_t *adding = to;
    (void)source;
    (void)stack;
    (void)bytes;
    if (is_wanted(adding->leaks, group)) {
        find_family(adding->leaks, group)->folded += chunks;
    }
}

/* A share of the run. Times of a damaged trace may be anywhere. */
static double share_of(const adding_t *adding, double time)
{
    double share = (time - adding->start) * adding->per_run;
    return !(share > 0) ? 0 : share < 1 ? share : 1;
}

static void add_accesses(const adding_t *adding, pfa_survivors_t *survivors, const pfa_kind_t *kind,
                         const pfa_chunk_t *chunk)
{
    const pfa_leak_limits_t *limits = &adding->leaks->limits;
    bool old = share_of(adding, chunk->born) < 1 - limits->recent;
    survivors->known += kind->weight;
    survivors->never += chunk->is_touched ? 0 : kind->weight;
    survivors->stale += chunk->idle * adding->per_run >= limits->stale ? kind->weight : 0;
    survivors->old += old ? kind->weight : 0;
    survivors->used +=
        old && chunk->is_touched && share_of(adding, chunk->last) >= 1 - limits->recent ? kind->weight : 0;
}

static void see(const adding_t *adding, pfa_survivors_t *survivors, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_leaks_t *leaks = adding->leaks;
    if (pfa_sight_of(&leaks->sights, kind->stack) == PFA_SIGHT_BLIND) {
        survivors->blind += kind->weight;
    } else {
        add_accesses(adding, survivors, kind, chunk);
    }
}

/* The line that fits best, by least squares over all of the run, to the bytes of survivors born so far: a chunk born at the share u
 * adds 6 u (1 - u) of its bytes per run to the slope, so that those of the very start and end hardly count. */
static void add_rate(const adding_t *adding, pfa_survivors_t *survivors, const pfa_kind_t *kind, double share)
{
    double slope = 6 * share * (1 - share) * (double)kind->size * adding->per_run;
    survivors->rate += kind->weight * slope;
    survivors->rate_variance += variance_of(kind->weight) * slope * slope;
}

static void add_survivor(const adding_t *adding, pfa_survivors_t *survivors, const pfa_kind_t *kind,
                         const pfa_chunk_t *chunk, double share)
{
    double bytes = kind->weight * (double)kind->size;
    unsigned birth = pfa_birth_of(share);
    unsigned age = pfa_lives_bin(chunk->life);
    survivors->births[birth] += kind->weight;
    survivors->birth_bytes[birth] += bytes;
    survivors->ages[age] += kind->weight;
    survivors->age_bytes[age] += bytes;
    survivors->first = fmin(survivors->first, share);
    survivors->last = fmax(survivors->last, share);
    survivors->oldest = fmax(survivors->oldest, chunk->life);
    survivors->at_start += share <= adding->leaks->limits.warm_up ? kind->weight : 0;
    add_rate(adding, survivors, kind, share);
    if (chunk->accesses != NULL && kind->source->has_accesses) {
        see(adding, survivors, kind, chunk);
    }
}

static void add_chunk(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const adding_t *adding = to;
    pfa_leaks_t *leaks = adding->leaks;
    if (!is_wanted(leaks, kind->group)) {
        return;
    }
    pfa_family_t *family = &leaks->families[kind->group];
    double share = share_of(adding, chunk->born);
    family->first = share < family->first ? share : family->first;
    family->last = share > family->last ? share : family->last;
    family->births[pfa_birth_of(share)] += kind->weight;
    if (!kind->live && !has_moved(kind)) {
        family->lives[pfa_lives_bin(chunk->life)] += kind->weight;
        family->shortest = chunk->life < family->shortest ? chunk->life : family->shortest;
        family->longest = chunk->life > family->longest ? chunk->life : family->longest;
    } else if (kind->live && find_suppression(leaks, kind) == NULL) {
        add_survivor(adding, find_survivors(family), kind, chunk, share);
    }
}

static void settle(void *to)
{
    const adding_t *adding = to;
    pfa_counts_settle(&adding->leaks->counts);
}

static void see_source(void *to, const pfa_source_t *source, const pfa_trace_t *trace, bool begins)
{
    adding_t *adding = to;
    (void)trace;
    pfa_memory_free(adding->threads);
    adding->threads = NULL;
    if (begins) {
        name_threads(adding, source);
        adding->start = source->start_ns;
        adding->run = source->end_ns - source->start_ns;
        adding->per_run = adding->run > 0 ? 1 / adding->run : 0;
        adding->leaks->longest_run = fmax(adding->leaks->longest_run, adding->run);
    }
}

static void forget(pfa_leaks_t *leaks)
{
    for (size_t i = 0; i < leaks->family_count; i++) {
        pfa_memory_free(leaks->families[i].survivors);
    }
    pfa_memory_free(leaks->families);
    pfa_memory_free(leaks->functions);
    pfa_cousins_free(leaks);
    pfa_counts_free(&leaks->counts);
    pfa_sights_free(&leaks->sights);
    if (leaks->adding != NULL) {
        pfa_memory_free(leaks->adding->threads);
    }
    pfa_memory_free(leaks->adding);
    for (size_t i = 0; i < leaks->suppressions.count; i++) {
        leaks->suppressions.list[i].chunks = leaks->suppressions.list[i].bytes = 0;
    }
}

/* Anew: what was added cannot be taken away again. */
static void restart(pfa_leaks_t *leaks)
{
    forget(leaks);
    *leaks = (pfa_leaks_t){.answer = leaks->answer,
                           .query = leaks->query,
                           .limits = leaks->limits,
                           .suppressions = leaks->suppressions,
                           .wanted = leaks->wanted,
                           .wanted_count = leaks->wanted_count,
                           .sights = {.stacks = &leaks->query->stacks}};
}

static int read_suppressions(pfa_leaks_t *leaks, const pfa_leaks_options_t *options)
{
    for (size_t i = 0; i < options->suppression_count; i++) {
        char *why = NULL;
        if (!pfa_suppressions_read(&leaks->suppressions, options->suppressions[i], &why)) {
            char *text = pfa_memory_format("--suppressions: %s", why);
            pfa_session_say(leaks->query->session, text);
            pfa_memory_free(text);
            pfa_memory_free(why);
            return EINVAL;
        }
    }
    return 0;
}

static void begin(pfa_leaks_t *leaks)
{
    adding_t *adding = pfa_memory_get(1, sizeof *adding);
    adding->leaks = leaks;
    adding->look = (pfa_look_t){.to = adding,
                                .accesses = true,
                                .meet = meet,
                                .ready = make_room,
                                .kind = add_kind,
                                .lane_kind = add_kind_to_family,
                                .lane_chunk = add_chunk,
                                .settle = settle,
                                .source = see_source,
                                .fold = add_fold};
    leaks->adding = adding;
    pfa_counts_begin(&leaks->counts);
}

int pfa_leaks_begin(pfa_leaks_t *leaks, pfa_query_t *query, const pfa_leaks_options_t *options, const pfa_look_t **look)
{
    leaks->query = query;
    leaks->limits = options->limits;
    leaks->sights.stacks = &query->stacks;
    begin(leaks);
    *look = &leaks->adding->look;
    return read_suppressions(leaks, options);
}

void pfa_leaks_end(pfa_leaks_t *leaks)
{
    pfa_counts_sort(&leaks->counts);
    for (size_t i = 0; i < leaks->family_count; i++) {
        leaks->blind += leaks->families[i].survivors != NULL ? leaks->families[i].survivors->blind : 0;
    }
    leaks->siblings_asked = leaks->query->where == NULL || pfa_where_is_of_stacks(leaks->query->where);
}

int pfa_leaks_fill(pfa_leaks_t *leaks, pfa_query_t *query, const pfa_leaks_options_t *options)
{
    const pfa_look_t *look;
    int error = pfa_leaks_begin(leaks, query, options, &look);
    for (size_t sources = query->source_count; error == 0; sources = query->source_count) {
        if (pfa_query_walk(query, &leaks->adding->look, "reading") == 0) {
            break;
        }
        restart(leaks);
        begin(leaks);
        error = pfa_answer_again(query, sources);
    }
    if (error == 0) {
        pfa_leaks_end(leaks);
    }
    return error;
}

static int fill(void *answer, const void *given)
{
    pfa_leaks_t *leaks = answer;
    const pfa_leaks_options_t *options = given;
    int error = pfa_leaks_fill(leaks, &leaks->answer.query, options);
    if (error == 0) {
        pfa_leaks_conclude(leaks, options->order != NULL ? options->order : "leak");
    }
    return error;
}

int pfa_leaks_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_leaks_options_t *options,
                      pfa_leaks_t **leaks)
{
    void *answer;
    int error = pfa_answer_make(&answer, sizeof **leaks, session, question, fill, options);
    *leaks = answer;
    return error;
}

void pfa_leaks_forget(pfa_leaks_t *leaks)
{
    forget(leaks);
    pfa_memory_free(leaks->findings);
    pfa_suppressions_free(&leaks->suppressions);
    *leaks = (pfa_leaks_t){.answer = leaks->answer};
}
