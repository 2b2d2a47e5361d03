/* Owns the sources of a query: opening them, what they have in common, and what is said of them. The walk is in
 * analyze/query/walk.c. */
#include "analyze/query/query.h"
#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/query/keys.h"
#include "analyze/query/remembered.h"
#include "analyze/query/walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Recordings that begin years apart have no time in common. */
static const uint64_t apart_most_ns = (uint64_t)1 << 58;

static void free_source(pfa_source_t *source)
{
    pfa_memory_free(source->stack_of);
    pfa_remembered_free(&source->remembered);
    pfa_notes_free(&source->missing);
    pfa_notes_free(&source->remarks);
    pfa_session_give_back(source->picture);
    source->picture = NULL;
}

static void add_source(pfa_query_t *query, size_t number)
{
    pfa_taken_t *picture;
    pfa_session_trace_t known = pfa_session_look(query->session, number, &picture);
    const pfa_session_trace_t *facts = &known;
    pfa_source_t *source = &query->sources[query->source_count];
    *source = (pfa_source_t){.path = facts->shown,
                             .program = facts->program,
                             .command = facts->command,
                             .number = (uint32_t)query->source_count++,
                             .id = (uint32_t)number,
                             .start = facts->start,
                             .known_start = facts->known_start,
                             .end = facts->end,
                             .ns_per_tick = facts->ns_per_tick,
                             .step_ns = facts->step_ns,
                             .life_step_ns = facts->life_step_ns,
                             .has_accesses = facts->has_accesses,
                             .sampled = facts->sampled,
                             .running = facts->running,
                             .ending = facts->ending,
                             .counters = facts->counters,
                             .folded = facts->counters.folded,
                             .bad_names = facts->bad_names,
                             .threads = facts->threads,
                             .thread_count = facts->thread_count,
                             .tags = facts->tags,
                             .tag_count = facts->tag_count,
                             .picture = picture};
    pfa_notes_join(&source->remarks, &facts->same);
    query->sampled = query->sampled || source->sampled;
    query->has_accesses = query->has_accesses || source->has_accesses;
}

static int compare_starts(const void *a, const void *b)
{
    double left = (*(const pfa_source_t *const *)a)->start_ns;
    double right = (*(const pfa_source_t *const *)b)->start_ns;
    return left < right ? -1 : left > right;
}

/* The time in which at least one of them was recorded. */
static double measure_run(const pfa_query_t *query)
{
    const pfa_source_t **order = pfa_memory_get(query->source_count, sizeof *order);
    double sum = 0;
    double end = 0;
    for (size_t i = 0; i < query->source_count; i++) {
        order[i] = &query->sources[i];
    }
    qsort(order, query->source_count, sizeof *order, compare_starts);
    for (size_t i = 0; i < query->source_count; i++) {
        sum += fmax(order[i]->end_ns - fmax(order[i]->start_ns, end), 0);
        end = fmax(end, order[i]->end_ns);
    }
    pfa_memory_free(order);
    return sum;
}

/* By the clock since the boot if it is the same one for all, else by the time of day. */
static void place_in_time(pfa_query_t *query)
{
    enum { SAME_BOOT_NS = 1000000000 };
    bool same_boot = true;
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    const pfa_trace_start_t *one = query->source_count != 0 ? &query->sources[0].start : NULL;
    query->comparable = true;
    for (size_t i = 0; i < query->source_count; i++) {
        const pfa_trace_start_t *start = &query->sources[i].start;
        int64_t apart = (int64_t)(start->unix_ns - start->monotonic_ns - (one->unix_ns - one->monotonic_ns));
        same_boot = same_boot && apart < SAME_BOOT_NS && apart > -SAME_BOOT_NS;
        query->comparable = query->comparable && query->sources[i].known_start;
    }
    for (size_t i = 0; i < query->source_count; i++) {
        uint64_t ns = same_boot ? query->sources[i].start.monotonic_ns : query->sources[i].start.unix_ns;
        first = ns < first ? ns : first;
        last = ns > last ? ns : last;
    }
    query->comparable = query->source_count < 2 || (query->comparable && last - first < apart_most_ns);
    query->end_ns = 0;
    for (size_t i = 0; i < query->source_count; i++) {
        pfa_source_t *source = &query->sources[i];
        uint64_t ns = same_boot ? source->start.monotonic_ns : source->start.unix_ns;
        double ticks = (double)(int64_t)(source->end - source->start.counter);
        source->start_ns = query->comparable ? (double)(ns - first) : 0;
        source->end_ns = source->start_ns + (ticks > 0 ? ticks * source->ns_per_tick : 0);
        query->end_ns = source->end_ns > query->end_ns ? source->end_ns : query->end_ns;
    }
    query->run_ns = measure_run(query);
}

void pfa_query_open(pfa_query_t *query, pfa_session_t *session, const pfa_question_t *question)
{
    char *why = NULL;
    *query = (pfa_query_t){.session = session,
                           .question = question,
                           .key = question != NULL ? question->key : NULL,
                           .symbols = pfa_session_symbols(session),
                           .groups = pfa_groups_new(),
                           .trouble = pfa_session_trouble(session)};
    pfa_stacks_begin(&query->stacks, query->symbols);
    if (question != NULL) {
        query->by_groups = question->group_count != 0;
        (void)pfa_question_where(question, &query->where, &why); /* it was found right when it was made */
    }
    query->sources = pfa_memory_get(pfa_session_traces(session), sizeof *query->sources);
    for (size_t i = 0; i < pfa_session_traces(session); i++) {
        add_source(query, i);
    }
    place_in_time(query);
    pfa_notes_join(&query->unread, pfa_session_unread(session));
}

void pfa_query_rest(pfa_query_t *query)
{
    for (size_t i = 0; i < query->source_count; i++) {
        pfa_session_give_back(query->sources[i].picture);
        query->sources[i].picture = NULL;
        pfa_remembered_free(&query->sources[i].remembered);
    }
    query->question = NULL;
}

void pfa_query_close(pfa_query_t *query)
{
    for (size_t i = 0; i < query->source_count; i++) {
        free_source(&query->sources[i]);
    }
    pfa_memory_free(query->sources);
    pfa_where_free(query->where);
    pfa_groups_free(query->groups);
    pfa_stacks_free(&query->stacks);
    pfa_memory_free(query->scored.of);
    pfa_notes_free(&query->unread);
    pfa_notes_free(&query->remarks);
}

/* What walks found out about sources before is found out again. */
static void forget_walk(pfa_query_t *query)
{
    query->walked = false;
    query->scores_known = false;
    query->sets_known = false;
    query->held = 0;
    query->unasked = 0;
    for (size_t i = 0; i < query->source_count; i++) {
        pfa_source_t *source = &query->sources[i];
        source->number = (uint32_t)i;
        pfa_remembered_free(&source->remembered);
        pfa_notes_free(&source->missing);
        pfa_notes_free(&source->remarks);
        pfa_notes_join(&source->remarks, &pfa_session_trace(query->session, source->id)->same);
    }
}

void pfa_query_drop(pfa_query_t *query, size_t number, const char *why, pfa_trouble_t trouble)
{
    pfa_session_say(query->session, why);
    pfa_notes_add(&query->unread, "%s", why);
    query->trouble = trouble > query->trouble ? trouble : query->trouble;
    free_source(&query->sources[number]);
    query->source_count--;
    memmove(&query->sources[number], &query->sources[number + 1],
            (query->source_count - number) * sizeof *query->sources);
    forget_walk(query);
    place_in_time(query);
}

const char *pfa_source_thread(const pfa_source_t *source, uint32_t thread, char text[PFA_THREAD_TEXT])
{
    const pfa_trace_thread_t *known = thread < source->thread_count ? &source->threads[thread] : NULL;
    if (known == NULL || (known->tid == 0 && known->name[0] == '\0')) {
        snprintf(text, PFA_THREAD_TEXT, "thread %u", (unsigned)thread);
    } else {
        snprintf(text, PFA_THREAD_TEXT, "%.16s (%u)", known->name[0] != '\0' ? known->name : "?", (unsigned)known->tid);
    }
    pfa_text_clean(text, strlen(text));
    return text;
}

const char *pfa_source_tag(const pfa_source_t *source, uint32_t tag)
{
    return tag < source->tag_count && source->tags[tag] != NULL ? source->tags[tag] : "?";
}

bool pfa_query_is_filtered(const pfa_query_t *query)
{
    return query->where != NULL || query->by_groups;
}

bool pfa_query_complete(const pfa_query_t *query)
{
    bool complete = query->unread.count == 0;
    for (size_t i = 0; i < query->source_count; i++) {
        complete = complete && query->sources[i].missing.count == 0;
    }
    return complete;
}

void pfa_query_missing(const pfa_query_t *query, pfa_notes_t *missing)
{
    for (size_t i = 0; i < query->unread.count; i++) {
        pfa_notes_add(missing, "%s", query->unread.list[i]);
    }
    for (size_t i = 0; i < query->source_count; i++) {
        const pfa_source_t *source = &query->sources[i];
        for (size_t j = 0; j < source->missing.count; j++) {
            pfa_notes_add(missing, "%s: %s", source->path, source->missing.list[j]);
        }
    }
}

void pfa_query_gather(pfa_query_t *query)
{
    char count[PFA_NUMBER_TEXT];
    if (query->unasked > 0) {
        pfa_notes_add(&query->remarks,
                      "%s deaths are known in sums only, and left out: what --where asks is not known of them",
                      pfa_text_count(count, query->unasked));
        query->unasked = 0;
    }
    if (pfa_query_is_filtered(query) && query->walked && query->held <= 0) {
        pfa_notes_add(&query->remarks, query->where != NULL ? "there is no chunk for which --where holds"
                                                            : "there is no chunk of the groups that are asked for");
    }
    pfa_stacks_tell(&query->stacks, &query->remarks);
}

void pfa_query_tell(pfa_query_t *query, FILE *to)
{
    pfa_query_gather(query);
    for (size_t i = 0; i < query->source_count; i++) {
        const pfa_source_t *source = &query->sources[i];
        for (size_t j = 0; j < source->missing.count; j++) {
            fprintf(to, "MISSING: %s: %s\n", source->path, source->missing.list[j]);
        }
        for (size_t j = 0; j < source->remarks.count; j++) {
            fprintf(to, "note: %s: %s\n", source->path, source->remarks.list[j]);
        }
    }
    for (size_t i = 0; i < query->unread.count; i++) {
        fprintf(to, "MISSING: %s\n", query->unread.list[i]);
    }
    for (size_t i = 0; i < query->remarks.count; i++) {
        fprintf(to, "note: %s\n", query->remarks.list[i]);
    }
}

void pfa_query_complete_json(const pfa_query_t *query, pfa_json_t *json)
{
    pfa_notes_t missing = {.count = 0};
    pfa_query_missing(query, &missing);
    pfa_json_bool(json, "complete", pfa_query_complete(query));
    pfa_json_notes(json, "missing", &missing);
    pfa_notes_free(&missing);
}

void pfa_query_tell_json(pfa_query_t *query, pfa_json_t *json)
{
    pfa_query_gather(query);
    pfa_json_begin(json, "files", '[');
    for (size_t i = 0; i < query->source_count; i++) {
        const pfa_source_t *source = &query->sources[i];
        pfa_json_begin(json, NULL, '{');
        pfa_json_text(json, "path", source->path);
        pfa_json_text(json, "command", source->command);
        pfa_json_whole(json, "pid", source->start.pid);
        pfa_json_text(json, "end", source->ending);
        pfa_json_whole(json, "sample", source->start.sample);
        pfa_json_number(json, "seconds", (source->end_ns - source->start_ns) * 1e-9);
        pfa_json_notes(json, "missing", &source->missing);
        pfa_json_notes(json, "remarks", &source->remarks);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    pfa_json_notes(json, "unread", &query->unread);
    pfa_json_notes(json, "remarks", &query->remarks);
    pfa_query_complete_json(query, json);
    pfa_json_bool(json, "sampled", query->sampled);
}

void pfa_query_remark(pfa_query_t *query, double folded_chunks, double folded_bytes, bool times)
{
    char texts[2][PFA_NUMBER_TEXT];
    if (folded_chunks > 0) {
        pfa_notes_add(&query->remarks, "%s chunks of %s are known in sums only, and not in this",
                      pfa_text_count(texts[0], folded_chunks), pfa_text_bytes(texts[1], folded_bytes));
    }
    if (!query->comparable && times) {
        pfa_notes_add(&query->remarks,
                      "the clocks of these traces cannot be compared: each is told from its own start");
    }
}
