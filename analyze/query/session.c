/* Owns the traces of a session: which files they are, what is known of them, and which are open. See analyze/query/session.h. */
#include "analyze/query/session.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/names/symbolblock.h"
#include "analyze/trace/parts.h"
#include "analyze/base/workers.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So many stay open though nobody asks them. */
enum { KEPT_OPEN = 16 };

/* A trace that is open, in an arena of its own. */
typedef struct pfa_opened {
    pfa_memory_t *memory;
    pfa_trace_t *trace;
    /* Under the session's lock: */
    unsigned users;
    uint64_t last_used;
    bool old; /* there is a newer one: it is closed once nobody has it */
} opened_t;

typedef struct file {
    pfa_session_trace_t facts; /* from opening it first */
    int rank;                  /* of files of the same recording: the highest is taken */
    pfa_blocks_t first;        /* which file it was then; without the list */
    /* Under the session's lock: */
    opened_t *opened; /* NULL: it is not open */
    bool opening;     /* somebody opens it, without the lock */
    bool changes;     /* since it was opened first, so that facts are to be found out for each question */
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
    bool owns_files;
    pthread_mutex_t lock; /* of which traces are open; of ours, that of options.files is taken under it, and memory's */
    pthread_cond_t ready; /* somebody has opened a trace, or failed to */
    uint64_t uses;
    size_t open;
};

typedef struct opening {
    pfa_session_t *session;
    const char *path;
    opened_t *opened;
    pfa_trace_t *trace;
    char *why; /* of the arena of the trace */
} opening_t;

/* Work in the arena of the trace. */
static void open_trace(void *to)
{
    opening_t *opening = to;
    const pfa_session_options_t *options = &opening->session->options;
    opening->opened = pfa_memory_get(1, sizeof *opening->opened);
    opening->trace = pfa_trace_open_of(options->files, opening->path, &options->watch, options->threads, &opening->why);
    for (size_t i = 0; opening->trace != NULL && i < opening->trace->module_list_count; i++) {
        const pfa_module_list_t *list = &opening->trace->module_lists[i];
        for (size_t j = 0; j < list->count; j++) {
            list->modules[j].number = pfa_symbols_module(opening->session->symbols, &list->modules[j]);
        }
    }
}

enum { WHY_SIZE = PATH_MAX + 256 };

/* An open trace; NULL: `why` says why, or *error is not 0. It does not leave the caller's work. */
static opened_t *open_path(pfa_session_t *session, const char *path, char why[WHY_SIZE], int *error)
{
    opening_t opening = {.session = session, .path = path};
    pfa_memory_t *own = pfa_memory_new();
    *error = own != NULL ? pfa_memory_work(own, open_trace, &opening) : ENOMEM;
    if (*error == 0 && opening.trace != NULL) {
        opening.opened->memory = own;
        opening.opened->trace = opening.trace;
        return opening.opened;
    }
    snprintf(why, WHY_SIZE, "%s", opening.why != NULL ? opening.why : path);
    pfa_memory_delete(own);
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

/* The last moments of parts of a live table. */
typedef struct ending {
    pfa_parts_t *parts;
    uint64_t *last;
} ending_t;

/* A task: the number of a part. */
static void see_part(void *to, size_t number, unsigned worker)
{
    const ending_t *ending = to;
    (void)worker;
    ending->last[number] = pfa_parts_last(ending->parts, number);
}

/* A live table tells the time now and then only: what is in it may be later. */
static uint64_t find_end(const pfa_trace_t *trace, unsigned threads)
{
    uint64_t last = trace->last_time;
    if (trace->live == NULL) {
        return last;
    }
    pfa_rows_walk_rings(trace, see_span, &last);
    ending_t ending = {.parts = pfa_parts_new(trace)};
    pfa_workers_t *workers = pfa_workers_new(threads);
    size_t count = pfa_parts_count(ending.parts);
    ending.last = pfa_memory_get(count, sizeof *ending.last);
    pfa_workers_run(workers, count, see_part, &ending);
    for (size_t i = 0; i < count; i++) {
        last = ending.last[i] > last ? ending.last[i] : last;
    }
    pfa_workers_free(workers);
    pfa_memory_free(ending.last);
    pfa_parts_free(ending.parts);
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

/* What its first block says is what the trace says. */
static bool is_start_known(const pfa_trace_t *trace)
{
    const pfa_block_t *first = &trace->blocks.list[0];
    return trace->has_start && first->offset == 0 && first->kind == PFA_BLOCK_START;
}

/* But for what stays: its names, and what is remarked on. */
static void fill_facts(const pfa_session_t *session, pfa_session_trace_t *facts, const pfa_trace_t *trace)
{
    enum { TICKS = 1 << 30 };
    facts->program = copy_text(trace->program);
    facts->command = copy_text(trace->command);
    facts->known_start = is_start_known(trace);
    facts->start = trace->start;
    facts->end = find_end(trace, session->options.threads);
    facts->ns_per_tick = pfa_trace_seconds(trace, trace->start.counter + TICKS) * 1e9 / TICKS;
    facts->step_ns = ldexp(facts->ns_per_tick, (int)pfa_trace_cut(trace));
    facts->life_step_ns = ldexp(facts->ns_per_tick, (int)trace->shift);
    facts->has_accesses = pfa_trace_has_accesses(trace);
    facts->sampled = is_sampled(trace);
    facts->running = trace->running;
    facts->ending = name_ending(trace);
    facts->counters = trace->counters;
    facts->node_count = trace->node_count;
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
static bool is_same_recording(const pfa_trace_start_t *one, const pfa_trace_start_t *other)
{
    return one->session == other->session && one->pid == other->pid && one->counter == other->counter;
}

static file_t *find_same(const pfa_session_t *session, const file_t *file)
{
    for (size_t i = 0; file->facts.known_start && i < session->count; i++) {
        const pfa_session_trace_t *facts = &session->files[i]->facts;
        if (facts->known_start && is_same_recording(&facts->start, &file->facts.start)) {
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

/* Under the session's lock: no more will get this one. */
static void retire(pfa_session_t *session, file_t *file)
{
    opened_t *opened = file->opened;
    file->opened = NULL;
    session->open--;
    opened->old = true;
    if (opened->users == 0) {
        pfa_memory_delete(opened->memory);
    }
}

/* Those that nobody asks, the longest unused first, until few enough are open. */
static void close_unused(pfa_session_t *session)
{
    while (session->open > KEPT_OPEN) {
        file_t *oldest = NULL;
        for (size_t i = 0; i < session->count; i++) {
            file_t *file = session->files[i];
            if (file->opened != NULL && file->opened->users == 0 &&
                (oldest == NULL || file->opened->last_used < oldest->opened->last_used)) {
                oldest = file;
            }
        }
        if (oldest == NULL) {
            return;
        }
        retire(session, oldest);
    }
}

static void put_opened(pfa_session_t *session, file_t *file, opened_t *opened)
{
    file->opened = opened;
    opened->last_used = ++session->uses;
    session->open++;
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
    if (other->opened != NULL) {
        retire(session, other);
    }
    return better;
}

/* With the arena of the session. */
static void drop_trace(void *object)
{
    const file_t *file = object;
    if (file->opened != NULL) {
        pfa_memory_delete(file->opened->memory);
    }
}

static void add_file(pfa_session_t *session, const char *path)
{
    char why[WHY_SIZE];
    int error;
    file_t *file = pfa_memory_object(sizeof *file, drop_trace);
    file->facts.path = pfa_memory_copy(path, strlen(path));
    file->facts.shown = pfa_memory_text(path, strlen(path));
    opened_t *opened = open_path(session, path, why, &error);
    if (error != 0) {
        pfa_memory_leave(error);
    }
    if (opened == NULL) {
        leave_out(session, why);
        return;
    }
    put_opened(session, file, opened);
    const pfa_trace_t *trace = opened->trace;
    file->rank = rank_of(trace);
    file->facts.known_start = is_start_known(trace);
    file->facts.start = trace->start;
    file->first = trace->blocks;
    file->first.list = NULL;
    file->changes = trace->running;
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
        fill_facts(session, &file->facts, trace);
        file->facts.bad_names = !pfa_symbolblock_read(trace, session->symbols);
        if (file->changes) {
            retire(session, file); /* each question has one of its own */
        }
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
    session->owns_files = session->options.files == NULL;
    if (session->owns_files) {
        session->options.files = pfa_files_new();
    }
    pthread_mutex_init(&session->lock, NULL);
    pthread_cond_init(&session->ready, NULL);
    session->memory = session->options.files != NULL ? pfa_memory_new() : NULL;
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
        if (session->owns_files) {
            pfa_files_free(session->options.files);
        }
        pthread_cond_destroy(&session->ready);
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

/* Of a ticket, also when its arena is deleted. What goes on is not kept open: its live table may be in memory. */
static void give_back(void *object)
{
    const pfa_taken_t *taken = object;
    opened_t *opened = taken->opened;
    if (opened != NULL) {
        pfa_session_t *session = taken->session;
        file_t *file = session->files[taken->number];
        pthread_mutex_lock(&session->lock);
        opened->users--;
        if (opened->users == 0 && opened->old) {
            pfa_memory_delete(opened->memory);
        } else if (opened->users == 0 && opened->trace->running) {
            retire(session, file);
        }
        close_unused(session);
        pthread_mutex_unlock(&session->lock);
    }
}

/* Without the lock, which others may want meanwhile. NULL: as open_path. */
static opened_t *open_again(pfa_session_t *session, file_t *file, char why[WHY_SIZE], int *error)
{
    file->opening = true;
    pthread_mutex_unlock(&session->lock);
    opened_t *opened = open_path(session, file->facts.path, why, error);
    if (opened != NULL && !is_same_recording(&opened->trace->start, &file->facts.start)) {
        snprintf(why, WHY_SIZE, "%s is another recording now", file->facts.path);
        pfa_memory_delete(opened->memory);
        opened = NULL;
    }
    pthread_mutex_lock(&session->lock);
    file->opening = false;
    pthread_cond_broadcast(&session->ready);
    return opened;
}

/* Under the lock. With `anew`, of a process that goes on one is opened now, unless somebody has one. */
static opened_t *find_opened(pfa_session_t *session, file_t *file, bool anew, char why[WHY_SIZE], int *error)
{
    *error = 0;
    while (file->opening) {
        pthread_cond_wait(&session->ready, &session->lock);
    }
    if (file->opened != NULL && anew && file->opened->trace->running && file->opened->users == 0) {
        retire(session, file);
    }
    if (file->opened == NULL) {
        opened_t *opened = open_again(session, file, why, error);
        if (opened == NULL) {
            return NULL;
        }
        put_opened(session, file, opened);
        file->changes =
            file->changes || opened->trace->running || !pfa_blocks_are_of_same(&file->first, &opened->trace->blocks);
    }
    file->opened->users++;
    file->opened->last_used = ++session->uses;
    close_unused(session);
    return file->opened;
}

static pfa_taken_t *take(pfa_session_t *session, size_t number, bool anew, char why[WHY_SIZE])
{
    pfa_taken_t *taken = pfa_memory_object(sizeof *taken, give_back);
    int error;
    *taken = (pfa_taken_t){.session = session, .number = number};
    pthread_mutex_lock(&session->lock);
    taken->opened = find_opened(session, session->files[number], anew, why, &error);
    pthread_mutex_unlock(&session->lock);
    if (error != 0) {
        pfa_memory_leave(error);
    }
    if (taken->opened == NULL) {
        pfa_memory_free(taken);
        return NULL;
    }
    taken->trace = taken->opened->trace;
    return taken;
}

pfa_taken_t *pfa_session_take(pfa_session_t *session, size_t number, char **why)
{
    char text[WHY_SIZE];
    pfa_taken_t *taken = take(session, number, false, text);
    *why = taken == NULL ? pfa_memory_copy(text, strlen(text)) : NULL;
    return taken;
}

pfa_session_trace_t pfa_session_look(pfa_session_t *session, size_t number, pfa_taken_t **picture)
{
    char why[WHY_SIZE]; /* of what is gone whoever walks through it will say so */
    const file_t *file = session->files[number];
    pfa_session_trace_t facts = file->facts;
    pthread_mutex_lock(&session->lock);
    bool changes = file->changes;
    pthread_mutex_unlock(&session->lock);
    *picture = changes ? take(session, number, true, why) : NULL;
    if (*picture != NULL) {
        facts.threads = NULL;
        facts.tags = NULL;
        fill_facts(session, &facts, (*picture)->trace);
    }
    return facts;
}

void pfa_session_give_back(pfa_taken_t *taken)
{
    pfa_memory_free(taken);
}
