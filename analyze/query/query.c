/* Owns the sources of a query: opening them, what they have in common, and what is said of them. The walk is in
 * analyze/query/walk.c. */
#include "analyze/query/query.h"
#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/names/symbolblock.h"
#include "analyze/query/inputs.h"
#include "analyze/query/keys.h"
#include "analyze/query/walk.h"
#include "cli/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Recordings that begin years apart have no time in common. */
static const uint64_t apart_most_ns = (uint64_t)1 << 58;

static const char *name_ending(const pfa_trace_t *trace)
{
    static const char *const names[] = {
        [PFA_END_EXIT] = "exit", [PFA_END_SEALED] = "killed", [PFA_END_STOPPED] = "stopped", [PFA_END_EXEC] = "exec"};
    if (trace->has_end) {
        return trace->end.how < sizeof names / sizeof names[0] && names[trace->end.how] != NULL ? names[trace->end.how]
                                                                                                : "unknown";
    }
    if (trace->running || trace->live == NULL) {
        return trace->running ? "running" : "unknown";
    }
    return trace->live->head->ended == PFA_LIVE_LEFT ? "exit" : "killed";
}

static void copy_threads(pfa_source_t *source, const pfa_trace_t *trace)
{
    size_t room = 0;
    for (size_t i = 0; i < trace->thread_count; i++) {
        const pfa_trace_thread_t *thread = &trace->threads[i];
        if (thread->number > UINT16_MAX) {
            continue;
        }
        source->threads = pfa_memory_grow(source->threads, &room, (size_t)thread->number + 1, sizeof *source->threads);
        source->threads[thread->number] = *thread;
    }
    source->thread_count = room;
}

static void copy_tags(pfa_source_t *source, const pfa_trace_t *trace)
{
    size_t room = 0;
    for (size_t i = 0; i < trace->tag_count; i++) {
        const pfa_tag_t *tag = &trace->tags[i];
        if (tag->number > UINT16_MAX || tag->name == NULL) {
            continue;
        }
        source->tags = pfa_memory_grow(source->tags, &room, (size_t)tag->number + 1, sizeof *source->tags);
        free(source->tags[tag->number]);
        source->tags[tag->number] = pfa_memory_text(tag->name, strlen(tag->name));
    }
    source->tag_count = room;
}

static void see_span(void *to, const pfa_live_span_t *span)
{
    uint64_t *last = to;
    for (size_t i = 0; i < span->count; i++) {
        *last = span->events[i].free_time > *last ? span->events[i].free_time : *last;
    }
}

static void see_record(void *to, const pfa_live_record_t *record, const pfa_event_accesses_t *accesses,
                       const pfa_live_place_t *place)
{
    uint64_t *last = to;
    (void)place;
    *last = record->alloc_time > *last ? record->alloc_time : *last;
    if (accesses != NULL) {
        *last = accesses->last > *last ? accesses->last : *last;
    }
}

/* A live table tells the time now and then only: what is in it may be later. */
static uint64_t find_end(pfa_trace_t *trace)
{
    uint64_t last = trace->last_time;
    if (trace->live != NULL) {
        pfa_rows_walk_rings(trace, see_span, &last);
        (void)pfa_livetable_records(trace->live, see_record, &last);
    }
    return last;
}

static char *copy_text(const char *text)
{
    return text != NULL ? pfa_memory_text(text, strlen(text)) : NULL;
}

static void free_source(pfa_source_t *source)
{
    for (size_t i = 0; i < source->tag_count; i++) {
        free(source->tags[i]);
    }
    free(source->tags);
    free(source->threads);
    free(source->stack_of);
    free(source->path);
    free(source->program);
    free(source->command);
    pfa_notes_free(&source->missing);
    pfa_notes_free(&source->remarks);
}

static bool is_sampled(const pfa_trace_t *trace)
{
    bool sampled = trace->start.sample > 1;
    for (size_t i = 1; i < PFA_LIVE_WEIGHTS; i++) {
        sampled = sampled || trace->weights[i] > 1;
    }
    return sampled;
}

static void fill_source(pfa_query_t *query, pfa_source_t *source, pfa_trace_t *trace)
{
    enum { TICKS = 1 << 30 };
    *source = (pfa_source_t){.path = copy_text(trace->path),
                             .program = copy_text(trace->program),
                             .command = copy_text(trace->command),
                             .number = (uint32_t)(source - query->sources),
                             .id = (uint32_t)(source - query->sources),
                             .start = trace->start,
                             .end = find_end(trace),
                             .ns_per_tick = pfa_trace_seconds(trace, trace->start.counter + TICKS) * 1e9 / TICKS,
                             .has_accesses = pfa_trace_has_accesses(trace),
                             .sampled = is_sampled(trace),
                             .running = trace->running,
                             .ending = name_ending(trace),
                             .counters = trace->counters,
                             .folded = trace->counters.folded,
                             .node_count = trace->node_count};
    source->step_ns = ldexp(source->ns_per_tick, (int)pfa_trace_cut(trace));
    source->life_step_ns = ldexp(source->ns_per_tick, (int)trace->shift);
    source->stack_of = pfa_memory_get(trace->node_count, sizeof *source->stack_of);
    copy_threads(source, trace);
    copy_tags(source, trace);
    query->sampled = query->sampled || source->sampled;
    query->has_accesses = query->has_accesses || source->has_accesses;
    source->bad_names = !pfa_symbolblock_read(trace, query->symbols);
}

static bool open_source(pfa_query_t *query, pfa_inputs_t *inputs, const pfa_input_t *input)
{
    char *why = NULL;
    pfa_trace_t *trace = pfa_trace_open(input->path, &why);
    pfa_source_t *source = &query->sources[query->source_count];
    if (trace == NULL) {
        pfa_inputs_leave_out(inputs, why != NULL ? why : input->path, 2);
        free(why);
        return false;
    }
    fill_source(query, source, trace);
    source->known_start = input->known;
    for (size_t i = 0; i < input->same.count; i++) {
        pfa_notes_add(&source->remarks, "%s", input->same.list[i]);
    }
    query->source_count++;
    pfa_trace_close(trace);
    return true;
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
    free(order);
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

void pfa_query_open(pfa_query_t *query, const char *command, char **paths, size_t count)
{
    pfa_inputs_t inputs;
    *query = (pfa_query_t){.command = command, .symbols = pfa_symbols_new(), .groups = pfa_groups_new()};
    pfa_stacks_begin(&query->stacks, query->symbols);
    pfa_inputs_open(&inputs, command, paths, count);
    query->sources = pfa_memory_get(inputs.count, sizeof *query->sources);
    for (size_t i = 0; i < inputs.count; i++) {
        (void)open_source(query, &inputs, &inputs.list[i]);
    }
    place_in_time(query);
    query->unread = inputs.unread;
    query->status = inputs.status;
    pfa_inputs_close(&inputs);
}

void pfa_query_close(pfa_query_t *query)
{
    for (size_t i = 0; i < query->source_count; i++) {
        free_source(&query->sources[i]);
    }
    free(query->sources);
    pfa_where_free(query->where);
    pfa_groups_free(query->groups);
    pfa_stacks_free(&query->stacks);
    pfa_symbols_free(query->symbols);
    pfa_notes_free(&query->unread);
    pfa_notes_free(&query->remarks);
}

void pfa_query_drop(pfa_query_t *query, size_t number, const char *why, int status)
{
    pfa_tool_say(query->command, "%s", why);
    pfa_notes_add(&query->unread, "%s", why);
    query->status = status > query->status ? status : query->status;
    free_source(&query->sources[number]);
    query->source_count--;
    memmove(&query->sources[number], &query->sources[number + 1],
            (query->source_count - number) * sizeof *query->sources);
    for (size_t i = number; i < query->source_count; i++) {
        query->sources[i].number = (uint32_t)i;
    }
    place_in_time(query);
    query->walked = false;
    query->held = 0;
}

const char *pfa_source_thread(const pfa_source_t *source, uint32_t thread)
{
    static char text[48];
    const pfa_trace_thread_t *known = thread < source->thread_count ? &source->threads[thread] : NULL;
    if (known == NULL || (known->tid == 0 && known->name[0] == '\0')) {
        snprintf(text, sizeof text, "thread %u", (unsigned)thread);
    } else {
        snprintf(text, sizeof text, "%.16s (%u)", known->name[0] != '\0' ? known->name : "?", (unsigned)known->tid);
    }
    pfa_text_clean(text, strlen(text));
    return text;
}

const char *pfa_source_tag(const pfa_source_t *source, uint32_t tag)
{
    return tag < source->tag_count && source->tags[tag] != NULL ? source->tags[tag] : "?";
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
    if (query->where != NULL && query->walked && query->held <= 0) {
        pfa_notes_add(&query->remarks, "there is no chunk for which --where holds");
    }
    pfa_symbols_tell(query->symbols, &query->remarks);
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

static void put_notes(pfa_json_t *json, const char *key, const pfa_notes_t *notes)
{
    pfa_json_begin(json, key, '[');
    for (size_t i = 0; i < notes->count; i++) {
        pfa_json_text(json, NULL, notes->list[i]);
    }
    pfa_json_end(json, ']');
}

void pfa_query_complete_json(const pfa_query_t *query, pfa_json_t *json)
{
    pfa_notes_t missing = {.count = 0};
    pfa_query_missing(query, &missing);
    pfa_json_bool(json, "complete", pfa_query_complete(query));
    put_notes(json, "missing", &missing);
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
        put_notes(json, "missing", &source->missing);
        put_notes(json, "remarks", &source->remarks);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    put_notes(json, "unread", &query->unread);
    put_notes(json, "remarks", &query->remarks);
    pfa_query_complete_json(query, json);
    pfa_json_bool(json, "sampled", query->sampled);
}
