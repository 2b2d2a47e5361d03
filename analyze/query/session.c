/* Owns the traces of a session: which files they are, what is known of them, and which are open. See analyze/query/session.h. */
#include "analyze/query/session.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/names/symbolblock.h"
#include "analyze/trace/rows.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So many stay open though nobody asks them. */
enum { KEPT_OPEN = 16 };

typedef struct file {
    pfa_session_trace_t facts;
    int rank; /* of files of the same recording: the highest is taken */
    pfa_blocks_t blocks;
    /* Under the session's lock: */
    pfa_memory_t *memory; /* of the trace; NULL: it is not open */
    pfa_trace_t *trace;
    unsigned users;
    uint64_t last_used;
} file_t;

struct pfa_session {
    pfa_memory_t *memory;
    pfa_session_options_t options;
    pfa_symbols_t *symbols;
    file_t **files; /* they do not move */
    size_t count;
    size_t room;
    pfa_notes_t unread;
    pfa_trouble_t trouble;
    pthread_mutex_t lock; /* of which traces are open; a trace is opened under it */
    uint64_t uses;
    size_t open;
};

typedef struct opening {
    pfa_session_t *session;
    const char *path;
    const pfa_blocks_t *known;
    pfa_trace_t *trace;
    char *why; /* of the arena of the trace */
} opening_t;

/* Work in the arena of the trace. */
static void open_trace(void *to)
{
    opening_t *opening = to;
    opening->trace =
        pfa_trace_open_again(opening->path, &opening->session->options.watch, opening->known, &opening->why);
    for (size_t i = 0; opening->trace != NULL && i < opening->trace->module_list_count; i++) {
        const pfa_module_list_t *list = &opening->trace->module_lists[i];
        for (size_t j = 0; j < list->count; j++) {
            list->modules[j].number = pfa_symbols_module(opening->session->symbols, &list->modules[j]);
        }
    }
}

/* An open trace in an arena of its own; NULL: *why is the caller's, or *error is not 0. */
static pfa_trace_t *open_in(pfa_session_t *session, const char *path, const pfa_blocks_t *known, pfa_memory_t **memory,
                            char **why, int *error)
{
    opening_t opening = {.session = session, .path = path, .known = known};
    pfa_memory_t *own = pfa_memory_new();
    char text[PATH_MAX + 256] = "";
    *why = NULL;
    *error = own != NULL ? pfa_memory_work(own, open_trace, &opening) : ENOMEM;
    if (*error == 0 && opening.trace != NULL) {
        *memory = own;
        return opening.trace;
    }
    snprintf(text, sizeof text, "%s", opening.why != NULL ? opening.why : path);
    pfa_memory_delete(own);
    if (*error == 0) {
        *why = pfa_memory_copy(text, strlen(text));
    }
    return NULL;
}

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

static void copy_threads(pfa_session_trace_t *facts, const pfa_trace_t *trace)
{
    size_t room = 0;
    for (size_t i = 0; i < trace->thread_count; i++) {
        const pfa_trace_thread_t *thread = &trace->threads[i];
        if (thread->number > UINT16_MAX) {
            continue;
        }
        facts->threads = pfa_memory_grow(facts->threads, &room, (size_t)thread->number + 1, sizeof *facts->threads);
        facts->threads[thread->number] = *thread;
    }
    facts->thread_count = room;
}

static void copy_tags(pfa_session_trace_t *facts, const pfa_trace_t *trace)
{
    size_t room = 0;
    for (size_t i = 0; i < trace->tag_count; i++) {
        const pfa_tag_t *tag = &trace->tags[i];
        if (tag->number > UINT16_MAX || tag->name == NULL) {
            continue;
        }
        facts->tags = pfa_memory_grow(facts->tags, &room, (size_t)tag->number + 1, sizeof *facts->tags);
        pfa_memory_free(facts->tags[tag->number]);
        facts->tags[tag->number] = pfa_memory_text(tag->name, strlen(tag->name));
    }
    facts->tag_count = room;
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
static uint64_t find_end(const pfa_trace_t *trace)
{
    uint64_t last = trace->last_time;
    if (trace->live != NULL) {
        pfa_rows_walk_rings(trace, see_span, &last);
        (void)pfa_livetable_records(trace->live, see_record, &last);
    }
    return last;
}

static bool is_sampled(const pfa_trace_t *trace)
{
    bool sampled = trace->start.sample > 1;
    for (size_t i = 1; i < PFA_LIVE_WEIGHTS; i++) {
        sampled = sampled || trace->weights[i] > 1;
    }
    return sampled;
}

static char *copy_text(const char *text)
{
    return text != NULL ? pfa_memory_text(text, strlen(text)) : NULL;
}

static void fill_facts(pfa_session_t *session, pfa_session_trace_t *facts, const pfa_trace_t *trace)
{
    enum { TICKS = 1 << 30 };
    facts->program = copy_text(trace->program);
    facts->command = copy_text(trace->command);
    facts->start = trace->start;
    facts->end = find_end(trace);
    facts->ns_per_tick = pfa_trace_seconds(trace, trace->start.counter + TICKS) * 1e9 / TICKS;
    facts->step_ns = ldexp(facts->ns_per_tick, (int)pfa_trace_cut(trace));
    facts->life_step_ns = ldexp(facts->ns_per_tick, (int)trace->shift);
    facts->has_accesses = pfa_trace_has_accesses(trace);
    facts->sampled = is_sampled(trace);
    facts->running = trace->running;
    facts->ending = name_ending(trace);
    facts->counters = trace->counters;
    facts->node_count = trace->node_count;
    facts->bad_names = !pfa_symbolblock_read(trace, session->symbols);
    copy_threads(facts, trace);
    copy_tags(facts, trace);
}

void pfa_session_say(const pfa_session_t *session, const char *text)
{
    if (session->options.say != NULL) {
        char *shown = pfa_memory_copy(text, strlen(text)); /* there may be names of files in it */
        pfa_text_clean_lines(shown, strlen(shown));
        session->options.say(session->options.say_to, shown);
        pfa_memory_free(shown);
    }
}

static void leave_out(pfa_session_t *session, const char *why)
{
    pfa_notes_add(&session->unread, "%s", why);
    pfa_session_say(session, why);
    session->trouble = PFA_TROUBLE_NO_TRACE;
}

/* The number that a recording gave itself is a random one; the rest is in case that there was none to be had. */
static file_t *find_same(const pfa_session_t *session, const file_t *file)
{
    for (size_t i = 0; file->facts.known_start && i < session->count; i++) {
        const pfa_trace_start_t *start = &session->files[i]->facts.start;
        if (session->files[i]->facts.known_start && start->session == file->facts.start.session &&
            start->pid == file->facts.start.pid && start->counter == file->facts.start.counter) {
            return session->files[i];
        }
    }
    return NULL;
}

/* Of files of the same recording: one with an end tells more, then one with names. */
static int rank_of(const pfa_trace_t *trace)
{
    int rank = 2 * trace->has_end;
    for (size_t i = 0; i < trace->blocks.count; i++) {
        rank |= trace->blocks.list[i].kind == PFA_BLOCK_SYMBOLS;
    }
    return rank;
}

static void close_file(pfa_session_t *session, file_t *file)
{
    pfa_memory_delete(file->memory);
    file->memory = NULL;
    file->trace = NULL;
    session->open--;
}

/* Those that nobody asks, the longest unused first, until few enough are open. */
static void close_unused(pfa_session_t *session)
{
    while (session->open > KEPT_OPEN) {
        file_t *oldest = NULL;
        for (size_t i = 0; i < session->count; i++) {
            file_t *file = session->files[i];
            if (file->memory != NULL && file->users == 0 && (oldest == NULL || file->last_used < oldest->last_used)) {
                oldest = file;
            }
        }
        if (oldest == NULL) {
            return;
        }
        close_file(session, oldest);
    }
}

/* What its first block says is what the trace says. */
static bool is_start_known(const pfa_trace_t *trace)
{
    const pfa_block_t *first = &trace->blocks.list[0];
    return trace->has_start && first->offset == 0 && first->kind == PFA_BLOCK_START;
}

/* Takes one of two files of the same recording; the other is left out. True: it is the new one, in the place of the old one. */
static bool choose(pfa_session_t *session, file_t *same, file_t *file)
{
    file_t *other = file;
    bool better = strcmp(file->facts.path, same->facts.path) != 0 && file->rank > same->rank;
    if (better) {
        file_t swapped = *same;
        *same = *file;
        same->facts.same = swapped.facts.same;
        swapped.facts.same = (pfa_notes_t){.list = NULL};
        *file = swapped;
    }
    char *text =
        pfa_memory_format("%s is left out: it is the same recording as %s", other->facts.shown, same->facts.shown);
    pfa_session_say(session, text);
    pfa_memory_free(text);
    pfa_notes_add(&same->facts.same, "%s is the same recording and was left out", other->facts.shown);
    if (other->memory != NULL) {
        close_file(session, other);
    }
    return better;
}

/* With the arena of the session. */
static void drop_trace(void *object)
{
    pfa_memory_delete(((file_t *)object)->memory);
}

static void add_file(pfa_session_t *session, const char *path)
{
    char *why;
    int error;
    file_t *file = pfa_memory_object(sizeof *file, drop_trace);
    file->facts.path = pfa_memory_copy(path, strlen(path));
    file->facts.shown = pfa_memory_text(path, strlen(path));
    file->trace = open_in(session, path, NULL, &file->memory, &why, &error);
    if (error != 0) {
        pfa_memory_leave(error);
    }
    if (file->trace == NULL) {
        leave_out(session, why);
        pfa_memory_free(why);
        return;
    }
    session->open++;
    file->last_used = ++session->uses;
    file->rank = rank_of(file->trace);
    file->facts.known_start = is_start_known(file->trace);
    file->facts.start = file->trace->start;
    file->blocks = file->trace->blocks;
    file->blocks.list = pfa_memory_copy(file->blocks.list, file->blocks.count * sizeof *file->blocks.list);
    file_t *same = find_same(session, file);
    bool taken = same == NULL;
    if (same != NULL) {
        taken = choose(session, same, file);
        file = same;
    } else {
        session->files = pfa_memory_grow(session->files, &session->room, session->count + 1, sizeof *session->files);
        session->files[session->count++] = file;
    }
    if (taken) {
        fill_facts(session, &file->facts, file->trace);
    }
    close_unused(session);
}

typedef struct starting {
    pfa_session_t *session;
    const char *const *paths;
    size_t count;
} starting_t;

/* Work in the arena of the session. */
static void start(void *to)
{
    starting_t *starting = to;
    pfa_session_t *session = starting->session;
    session->symbols = pfa_symbols_new();
    if (session->options.debuginfod != NULL) {
        const char *urls = session->options.debuginfod;
        session->options.debuginfod = pfa_memory_copy(urls, strlen(urls));
        pfa_symbols_serve(session->symbols, session->options.debuginfod, session->options.debuginfod_wait,
                          &session->options.watch);
    }
    for (size_t i = 0; i < starting->count; i++) {
        add_file(session, starting->paths[i]);
    }
}

int pfa_session_open(pfa_session_t **made, const pfa_session_options_t *options, const char *const *paths, size_t count)
{
    static const pfa_session_options_t usual;
    pfa_session_t *session = calloc(1, sizeof *session);
    starting_t starting = {.session = session, .paths = paths, .count = count};
    *made = NULL;
    if (session == NULL) {
        return ENOMEM;
    }
    session->options = options != NULL ? *options : usual;
    pthread_mutex_init(&session->lock, NULL);
    session->memory = pfa_memory_new();
    int error = session->memory != NULL ? pfa_memory_work(session->memory, start, &starting) : ENOMEM;
    if (error != 0) {
        pfa_session_close(session);
        return error;
    }
    *made = session;
    return 0;
}

void pfa_session_close(pfa_session_t *session)
{
    if (session != NULL) {
        pfa_memory_delete(session->memory);
        pthread_mutex_destroy(&session->lock);
        free(session);
    }
}

size_t pfa_session_traces(const pfa_session_t *session)
{
    return session->count;
}

const pfa_watch_t *pfa_session_watch(const pfa_session_t *session)
{
    return &session->options.watch;
}

pfa_symbols_t *pfa_session_symbols(const pfa_session_t *session)
{
    return session->symbols;
}

const pfa_session_options_t *pfa_session_options(const pfa_session_t *session)
{
    return &session->options;
}

const pfa_notes_t *pfa_session_unread(const pfa_session_t *session)
{
    return &session->unread;
}

pfa_trouble_t pfa_session_trouble(const pfa_session_t *session)
{
    return session->trouble;
}

const pfa_session_trace_t *pfa_session_trace(const pfa_session_t *session, size_t number)
{
    return &session->files[number]->facts;
}

/* Of a ticket, also when its arena is deleted. */
static void give_back(void *object)
{
    const pfa_taken_t *taken = object;
    if (taken->own != NULL) {
        pfa_memory_delete(taken->own);
    } else if (taken->trace != NULL) {
        pfa_session_t *session = taken->session;
        pthread_mutex_lock(&session->lock);
        session->files[taken->number]->users--;
        close_unused(session);
        pthread_mutex_unlock(&session->lock);
    }
}

/* Opens it if it is not. An error number: it is not open. */
static int open_shared(pfa_session_t *session, file_t *file, char **why)
{
    int error = 0;
    if (file->trace == NULL) {
        file->trace = open_in(session, file->facts.path, &file->blocks, &file->memory, why, &error);
        session->open += file->trace != NULL;
    }
    if (file->trace != NULL) {
        file->users++;
        file->last_used = ++session->uses;
        close_unused(session);
    }
    return error;
}

typedef struct sharing {
    pfa_session_t *session;
    file_t *file;
    char **why;
    int error;
} sharing_t;

static void share(void *to)
{
    sharing_t *sharing = to;
    sharing->error = open_shared(sharing->session, sharing->file, sharing->why);
}

pfa_taken_t *pfa_session_take(pfa_session_t *session, size_t number, char **why)
{
    pfa_taken_t *taken = pfa_memory_object(sizeof *taken, give_back);
    file_t *file = session->files[number];
    int error;
    *why = NULL;
    *taken = (pfa_taken_t){.session = session, .number = number};
    if (file->facts.running) {
        taken->trace = open_in(session, file->facts.path, NULL, &taken->own, why, &error);
    } else {
        sharing_t sharing = {.session = session, .file = file, .why = why};
        pthread_mutex_lock(&session->lock);
        error = pfa_memory_work(pfa_memory_arena(), share, &sharing);
        taken->trace = error == 0 ? file->trace : NULL;
        pthread_mutex_unlock(&session->lock);
        error = error != 0 ? error : sharing.error;
    }
    if (error != 0) {
        pfa_memory_leave(error);
    }
    if (taken->trace == NULL) {
        pfa_memory_free(taken);
        return NULL;
    }
    return taken;
}

void pfa_session_give_back(pfa_taken_t *taken)
{
    pfa_memory_free(taken);
}
