/* Owns the collecting of a report: two or three walks through the rows of each trace, one trace after the other. */
#include "analyze/report/report.h"
#include "analyze/names/symbolblock.h"

#include <stdlib.h>
#include <string.h>

/* While one trace is added. */
typedef struct adding {
    pfa_report_t *report;
    pfa_trace_t *trace;
    pfa_file_total_t *file;
    uint32_t *known;             /* stacks, by node */
    uint32_t *point_at;          /* the point's number and one, by node */
    pfa_thread_total_t *threads; /* by number */
    size_t thread_room;
    pfa_peak_t *peak;
    pfa_together_t *together; /* NULL: none is looked for */
    size_t number;            /* of the trace, there */
    uint64_t last_time;       /* of any row */
    pfa_access_scale_t scale;
    bool touched; /* one of the chunks was */
} adding_t;

void pfa_report_begin(pfa_report_t *report)
{
    *report = (pfa_report_t){.symbols = pfa_symbols_new()};
    pfa_stacks_begin(&report->stacks, report->symbols);
}

void pfa_report_free(pfa_report_t *report)
{
    for (size_t i = 0; i < report->file_count; i++) {
        pfa_file_total_t *file = &report->files[i];
        free(file->path);
        free(file->program);
        free(file->command);
        pfa_notes_free(&file->missing);
        pfa_notes_free(&file->remarks);
    }
    pfa_stacks_free(&report->stacks);
    pfa_symbols_free(report->symbols);
    pfa_notes_free(&report->unread);
    pfa_notes_free(&report->remarks);
    pfa_together_free(report->together);
    for (size_t i = 0; i < report->map_room; i++) {
        free(report->maps[i].counters);
    }
    free(report->maps);
    free(report->accesses);
    free(report->files);
    free(report->threads);
    free(report->points);
    free(report->point_of);
}

static uint32_t make_point(pfa_report_t *report, uint32_t stack)
{
    report->point_of =
        pfa_memory_grow(report->point_of, &report->point_of_room, (size_t)stack + 1, sizeof *report->point_of);
    if (report->point_of[stack] == 0) {
        report->points =
            pfa_memory_grow(report->points, &report->point_room, report->point_count + 1, sizeof *report->points);
        report->points[report->point_count++] = (pfa_point_t){.stack = stack};
        report->point_of[stack] = (uint32_t)report->point_count;
    }
    return report->point_of[stack];
}

static pfa_point_t *find_point(adding_t *adding, uint32_t node)
{
    node = node < adding->trace->node_count ? node : PFA_NODE_UNKNOWN;
    if (adding->point_at[node] == 0) {
        uint32_t stack = pfa_stacks_add(&adding->report->stacks, adding->trace, node, adding->known);
        adding->point_at[node] = make_point(adding->report, stack);
    }
    return &adding->report->points[adding->point_at[node] - 1];
}

static pfa_thread_total_t *find_thread(adding_t *adding, uint32_t number)
{
    adding->threads =
        pfa_memory_grow(adding->threads, &adding->thread_room, (size_t)number + 1, sizeof *adding->threads);
    return &adding->threads[number];
}

static void add_size(pfa_report_t *report, uint64_t size, double chunks)
{
    unsigned class = size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);
    pfa_size_class_t *to = &report->sizes[class < PFA_SIZES ? class : PFA_SIZES - 1];
    to->chunks += chunks;
    to->bytes += chunks * (double)size;
}

static void add_kind(void *to, const pfa_batch_kind_t *kind, double weight, bool live)
{
    adding_t *adding = to;
    pfa_point_t *point = find_point(adding, kind->stack);
    uint64_t size = kind->size_flags >> PFA_RECORD_SIZE_SHIFT;
    double chunks = weight * kind->rows;
    double bytes = chunks * (double)size;
    point->largest = size > point->largest ? size : point->largest;
    *(live ? &point->live_chunks : &point->frees) += chunks;
    *(live ? &point->live_bytes : &point->bytes_freed) += bytes;
    pfa_thread_total_t *thread = find_thread(adding, kind->thread);
    thread->allocations += chunks;
    thread->bytes += bytes;
    if (!live) {
        find_thread(adding, kind->free_thread)->frees += chunks;
    }
    add_size(adding->report, size, chunks);
    pfa_tally_kind(&adding->file->tally, adding->trace, kind, weight, live);
}

static void add_accesses(adding_t *adding, const pfa_event_t *event, const pfa_event_accesses_t *accesses,
                         double weight)
{
    pfa_report_t *report = adding->report;
    size_t number = (size_t)(find_point(adding, event->stack) - report->points);
    report->accesses = pfa_memory_grow(report->accesses, &report->access_room, number + 1, sizeof *report->accesses);
    pfa_access_add(&report->accesses[number], &adding->scale, event, accesses, weight);
    adding->touched = adding->touched || accesses->reads != 0 || accesses->writes != 0;
}

static void add_row(void *to, const pfa_event_t *event, const pfa_event_accesses_t *accesses, double weight, bool live)
{
    adding_t *adding = to;
    if (accesses != NULL) {
        add_accesses(adding, event, accesses, weight);
    }
    uint64_t time = live ? event->alloc_time : event->free_time;
    adding->last_time = time > adding->last_time ? time : adding->last_time;
    double bytes = weight * (double)(event->size_flags >> PFA_RECORD_SIZE_SHIFT);
    pfa_peak_add(adding->peak, event->alloc_time, event->free_time, bytes);
    if (adding->together != NULL) {
        pfa_together_add(adding->together, event->alloc_time, event->free_time, bytes);
    }
}

static void add_together(void *to, const pfa_event_t *event, const pfa_event_accesses_t *accesses, double weight,
                         bool live)
{
    adding_t *adding = to;
    (void)accesses;
    (void)live;
    pfa_together_add(adding->together, event->alloc_time, event->free_time,
                     weight * (double)(event->size_flags >> PFA_RECORD_SIZE_SHIFT));
}

static void add_at_peak(void *to, const pfa_event_t *event, const pfa_event_accesses_t *accesses, double weight,
                        bool live)
{
    adding_t *adding = to;
    uint64_t time = adding->file->peak.time;
    (void)accesses;
    (void)live;
    if (adding->together != NULL
            ? pfa_together_alive(adding->together, adding->number, event->alloc_time, event->free_time)
            : event->alloc_time <= time && time < event->free_time) {
        pfa_point_t *point = find_point(adding, event->stack);
        point->peak_chunks += weight;
        point->peak_bytes += weight * (double)(event->size_flags >> PFA_RECORD_SIZE_SHIFT);
    }
}

static void add_folds(adding_t *adding)
{
    const pfa_trace_t *trace = adding->trace;
    pfa_tally_folds(&adding->file->tally, trace);
    for (size_t i = 0; i < trace->fold_count; i++) {
        pfa_point_t *point = find_point(adding, trace->folds[i].stack);
        point->frees += (double)trace->folds[i].chunks / 1024;
        point->bytes_freed += (double)trace->folds[i].bytes;
    }
}

static void add_maps(adding_t *adding)
{
    pfa_report_t *report = adding->report;
    const pfa_maps_t *maps = &adding->trace->maps;
    for (size_t i = 0; i < maps->count; i++) {
        size_t number = (size_t)(find_point(adding, maps->list[i].stack) - report->points);
        report->maps = pfa_memory_grow(report->maps, &report->map_room, number + 1, sizeof *report->maps);
        pfa_map_add(&report->maps[number], &maps->list[i]);
    }
}

/* What is left to be done about accesses once the last time is known. */
static void end_accesses(adding_t *adding)
{
    pfa_report_t *report = adding->report;
    const pfa_trace_t *trace = adding->trace;
    bool told = trace->counters.instrumented != 0 || adding->touched;
    for (size_t i = 0; i < report->access_room; i++) {
        pfa_access_settle(&report->accesses[i], &adding->scale, adding->file->last_time);
    }
    if (pfa_trace_has_accesses(trace) && told) {
        report->has_accesses = true;
        report->maps_are_merged |= trace->maps.count != 0 && trace->counters.merged != 0;
        add_maps(adding);
    }
}

static int walk(adding_t *adding)
{
    const pfa_trace_t *trace = adding->trace;
    pfa_visitor_t first = {.to = adding, .accesses = true, .kind = add_kind, .row = add_row};
    pfa_visitor_t again = {.to = adding, .row = add_row};
    pfa_visitor_t at_peak = {.to = adding, .row = add_at_peak};
    adding->peak = pfa_peak_new(trace->start.counter, trace->last_time);
    if (adding->together != NULL) {
        pfa_together_begin(adding->together, adding->number, trace);
    }
    int error = pfa_rows_walk(adding->trace, &first, true, "reading");
    uint64_t last_time = adding->last_time > trace->last_time ? adding->last_time : trace->last_time;
    adding->file->last_time = last_time;
    end_accesses(adding);
    if (adding->together != NULL) {
        pfa_together_end(adding->together, last_time);
        adding->together = NULL; /* one walk is enough, so far */
    }
    if (error == 0 && pfa_peak_again(adding->peak)) {
        error = pfa_rows_walk(adding->trace, &again, false, "finding the peak");
    }
    adding->file->peak = pfa_peak_finish(adding->peak);
    pfa_peak_free(adding->peak);
    if (error == 0 && adding->file->peak.bytes > 0 && adding->report->together == NULL) {
        error = pfa_rows_walk(adding->trace, &at_peak, false, "looking at the peak");
    }
    return error;
}

static void add_threads(adding_t *adding)
{
    pfa_report_t *report = adding->report;
    for (size_t i = 0; i < adding->trace->thread_count; i++) {
        const pfa_trace_thread_t *thread = &adding->trace->threads[i];
        pfa_thread_total_t *total = find_thread(adding, thread->number);
        total->tid = thread->tid;
        memcpy(total->name, thread->name, sizeof thread->name);
    }
    for (uint32_t i = 0; i < adding->thread_room; i++) {
        pfa_thread_total_t *thread = &adding->threads[i];
        thread->number = i;
        thread->file = (uint32_t)report->file_count - 1;
        if (thread->tid != 0 || thread->allocations > 0 || thread->frees > 0) {
            report->threads =
                pfa_memory_grow(report->threads, &report->thread_room, report->thread_count + 1, sizeof *thread);
            report->threads[report->thread_count++] = *thread;
        }
    }
}

static const char *name_end(const pfa_trace_t *trace)
{
    static const char *const names[] = {
        [PFA_END_EXIT] = "exit", [PFA_END_SEALED] = "killed", [PFA_END_STOPPED] = "stopped"};
    if (trace->has_end) {
        return trace->end.how < sizeof names / sizeof names[0] && names[trace->end.how] != NULL ? names[trace->end.how]
                                                                                                : "unknown";
    }
    if (trace->running || trace->live == NULL) {
        return trace->running ? "running" : "unknown";
    }
    return trace->live->head->ended == PFA_LIVE_LEFT ? "exit" : "killed";
}

static pfa_file_total_t *make_file(pfa_report_t *report, const pfa_trace_t *trace)
{
    report->files = pfa_memory_grow(report->files, &report->file_room, report->file_count + 1, sizeof *report->files);
    pfa_file_total_t *file = &report->files[report->file_count++];
    *file = (pfa_file_total_t){.path = pfa_memory_text(trace->path, strlen(trace->path)),
                               .pid = trace->start.pid,
                               .parent_pid = trace->start.parent_pid,
                               .forked = trace->start.origin == PFA_ORIGIN_FORK,
                               .unix_ns = trace->start.unix_ns,
                               .sample = trace->start.sample,
                               .seconds = pfa_trace_seconds(trace, trace->last_time),
                               .end = name_end(trace),
                               .counted_peak = trace->has_counters ? trace->counters.peak_bytes : 0,
                               .folded = trace->counters.folded,
                               .instrumented = trace->counters.instrumented,
                               .merged = trace->counters.merged};
    file->program = trace->program != NULL ? pfa_memory_text(trace->program, strlen(trace->program)) : NULL;
    file->command = trace->command != NULL ? pfa_memory_text(trace->command, strlen(trace->command)) : NULL;
    return file;
}

static void add_tally(pfa_tally_t *to, const pfa_tally_t *from)
{
    to->frees += from->frees;
    to->bytes_freed += from->bytes_freed;
    to->live_chunks += from->live_chunks;
    to->live_bytes += from->live_bytes;
    to->deaths += from->deaths;
    to->lives += from->lives;
    to->unknown_stacks += from->unknown_stacks;
}

int pfa_report_add(pfa_report_t *report, pfa_trace_t *trace)
{
    adding_t adding = {.report = report, .trace = trace, .file = make_file(report, trace)};
    adding.together = report->together;
    adding.number = report->file_count - 1;
    adding.scale = pfa_access_scale(trace);
    adding.known = pfa_memory_get(trace->node_count, sizeof *adding.known);
    adding.point_at = pfa_memory_get(trace->node_count, sizeof *adding.point_at);
    if (!pfa_symbolblock_read(trace, report->symbols)) {
        trace->bad_blocks++;
    }
    add_folds(&adding);
    int error = walk(&adding);
    /* The live table tells the time now and then only. */
    if (trace->live != NULL && adding.last_time > trace->last_time) {
        adding.file->seconds = pfa_trace_seconds(trace, adding.last_time);
    }
    add_threads(&adding);
    add_tally(&report->tally, &adding.file->tally);
    adding.file->peak_seconds = adding.file->peak.bytes > 0 ? pfa_trace_seconds(trace, adding.file->peak.time) : 0;
    adding.file->peak_seconds =
        adding.file->peak_seconds < adding.file->seconds ? adding.file->peak_seconds : adding.file->seconds;
    pfa_tally_tell_missing(&adding.file->tally, trace);
    adding.file->missing = trace->missing;
    adding.file->remarks = trace->remarks;
    trace->missing = trace->remarks = (pfa_notes_t){.list = NULL};
    free(adding.known);
    free(adding.point_at);
    free(adding.threads);
    return error;
}

int pfa_report_add_again(pfa_report_t *report, pfa_trace_t *trace, size_t number)
{
    adding_t adding = {.together = report->together};
    pfa_visitor_t visitor = {.to = &adding, .row = add_together};
    pfa_together_begin(report->together, number, trace);
    int error = pfa_rows_walk(trace, &visitor, false, "finding the peak");
    pfa_together_end(report->together, report->files[number].last_time);
    return error;
}

int pfa_report_add_at_peak(pfa_report_t *report, pfa_trace_t *trace, size_t number)
{
    adding_t adding = {.report = report,
                       .trace = trace,
                       .file = &report->files[number],
                       .together = report->together,
                       .number = number};
    pfa_visitor_t visitor = {.to = &adding, .row = add_at_peak};
    adding.known = pfa_memory_get(trace->node_count, sizeof *adding.known);
    adding.point_at = pfa_memory_get(trace->node_count, sizeof *adding.point_at);
    int error = pfa_rows_walk(trace, &visitor, false, "looking at the peak");
    free(adding.known);
    free(adding.point_at);
    return error;
}
