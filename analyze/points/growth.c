/* Owns the finding of runs of growing chunks. See analyze/points/growth.h. */
#include "analyze/points/growth.h"
#include "analyze/base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { GAP_NS = 10000, MOVED = 1 << 16 };
/* A run of three has two steps up, and the next one begins with a step down. */
static const double DOWNS = 0.6;
/* Half of a life may be spent on copying from the one before and to the next. */
static const double OVERLAP = 0.75;

/* What realloc ended, by thread and number of the realloc; the next one with the same slot takes its place. */
typedef struct moved {
    uint64_t key;  /* 0: none */
    uint64_t time; /* by the trace's counter */
    uint64_t size;
    uint32_t group;
    pfa_run_t *run;
} moved_t;

struct pfa_growths {
    uint32_t least;
    pfa_growth_find_t *find;
    void *to;
    moved_t *moved; /* NULL until there is one */
};

pfa_growths_t *pfa_growths_new(uint32_t least, pfa_growth_find_t *find, void *to)
{
    pfa_growths_t *growths = pfa_memory_get(1, sizeof *growths);
    growths->least = least;
    growths->find = find;
    growths->to = to;
    return growths;
}

double pfa_growth_gap(const pfa_source_t *source)
{
    return GAP_NS + 1.001 * source->step_ns;
}

static uint32_t thread_of(const pfa_kind_t *kind, uint32_t thread)
{
    return kind->source->number << 16 ^ thread;
}

static moved_t *moved_slot(pfa_growths_t *growths, uint32_t thread, uint32_t link, uint64_t *key)
{
    if (growths->moved == NULL) {
        growths->moved = pfa_memory_get(MOVED, sizeof *growths->moved);
    }
    *key = ((uint64_t)thread << 12 | (link & 0xfff)) + 1;
    uint64_t hash = *key * 0x9e3779b97f4a7c15u;
    return &growths->moved[hash >> 48 & (MOVED - 1)];
}

/* Four classes to a power of two. */
static unsigned class_of(double size)
{
    int exponent;
    double part = frexp(size, &exponent); /* 0.5 to 1 */
    int class = exponent > 0 ? 4 * exponent + (int)((part - 0.5) * 8) : 0;
    return class < PFA_RUN_CLASSES ? (unsigned)class : PFA_RUN_CLASSES - 1;
}

/* A run has come to its end with a chunk of this size. */
static void end_run(pfa_growths_t *growths, pfa_run_t *run, uint64_t size)
{
    if (run != NULL && run->length >= growths->least) {
        pfa_growth_t *owner = growths->find(growths->to, run->owner);
        if (owner->finals == NULL) {
            owner->finals = pfa_memory_get(PFA_RUN_CLASSES, sizeof *owner->finals);
        }
        owner->finals[class_of((double)size)]++;
        owner->final_most = fmax(owner->final_most, (double)size);
    }
    pfa_memory_free(run);
}

void pfa_growths_end(pfa_growths_t *growths)
{
    for (size_t i = 0; growths->moved != NULL && i < MOVED; i++) {
        end_run(growths, growths->moved[i].run, growths->moved[i].size);
        growths->moved[i] = (moved_t){.key = 0};
    }
}

void pfa_growths_free(pfa_growths_t *growths)
{
    for (size_t i = 0; growths->moved != NULL && i < MOVED; i++) {
        pfa_memory_free(growths->moved[i].run);
    }
    pfa_memory_free(growths->moved);
    pfa_memory_free(growths);
}

static void forget(pfa_growths_t *growths, pfa_growth_t *growth, uint32_t at)
{
    pfa_ended_t *ended = &growth->ended;
    if (ended->runs[at] != NULL) {
        end_run(growths, ended->runs[at], ended->sizes[at]);
        ended->runs[at] = NULL;
        ended->run_count--;
    }
    ended->died[at] = 0;
}

/* The one that was freed for this one's sake; PFA_RUN_RECENT: none. */
static uint32_t find_predecessor(const pfa_growth_t *growth, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const pfa_ended_t *ended = &growth->ended;
    uint32_t thread = thread_of(kind, kind->thread);
    double gap = pfa_growth_gap(kind->source);
    double earliest = fmax(chunk->born - gap, DBL_MIN);
    double latest = chunk->born + gap + (double)kind->size;
    double most = (double)kind->size / PFA_GROWTH_LEAST;
    uint32_t after = PFA_RUN_RECENT;
    uint32_t before = PFA_RUN_RECENT;
    for (uint32_t i = 0; i < PFA_RUN_RECENT; i++) { /* the oldest first */
        uint32_t at = (ended->next + i) % PFA_RUN_RECENT;
        double died = ended->died[at];
        if (died < earliest || died > latest || ended->threads[at] != thread || (double)ended->sizes[at] > most) {
            continue;
        }
        /* Times that are cut may be equal: then the first that died comes first. */
        if (died >= chunk->born) {
            after = after == PFA_RUN_RECENT || died < ended->died[after] ? at : after;
        } else {
            before = before == PFA_RUN_RECENT || died >= ended->died[before] ? at : before;
        }
    }
    return after != PFA_RUN_RECENT ? after : before;
}

static pfa_run_t *begin_run(uint64_t size, uint32_t group)
{
    pfa_run_t *run = pfa_memory_get(1, sizeof *run);
    run->length = 1;
    run->by_realloc = true;
    run->bytes = (double)size;
    run->sizes[0] = size;
    run->group = group;
    run->members = 1;
    run->member_bytes = (double)size;
    run->points[run->point_count++] = group;
    return run;
}

/* It goes on at this point, which may be another one. */
static void note_point(pfa_run_t *run, uint32_t group)
{
    uint32_t i = 0;
    while (i < run->point_count && run->points[i] != group) {
        i++;
    }
    if (i == run->point_count && i < PFA_RUN_POINTS) {
        run->points[run->point_count++] = group;
    }
}

/* The run goes on with this chunk. */
static void lengthen(pfa_growths_t *growths, pfa_run_t *run, const pfa_kind_t *kind, bool by_realloc)
{
    uint32_t least = growths->least;
    uint64_t size = kind->size;
    double before = run->bytes;
    uint32_t at = run->length < PFA_RUN_SIZES ? run->length : PFA_RUN_SIZES - 1;
    double last = (double)run->sizes[at - 1];
    last = run->length >= PFA_RUN_SIZES ? (double)run->sizes[at] : last;
    run->sizes[at] = size;
    run->length++;
    run->bytes += (double)size;
    run->by_realloc = run->by_realloc && by_realloc;
    bool same = run->group == kind->group;
    if (!same) {
        note_point(run, kind->group);
    }
    run->group = kind->group;
    run->members = same ? run->members + 1 : 1;
    run->member_bytes = (same ? run->member_bytes : 0) + (double)size;
    pfa_growth_t *here = growths->find(growths->to, kind->group);
    if (run->length < least) {
        return;
    }
    run->owner = run->length == least ? kind->group : run->owner;
    pfa_growth_t *growth = growths->find(growths->to, run->owner);
    if (run->length == least) {
        growth->runs++;
        growth->chunks += least;
        growth->bytes += run->bytes;
        growth->copied += before;
        here->own_chunks += run->members;
        here->own_bytes += run->member_bytes;
    } else {
        growth->chunks++;
        growth->bytes += (double)size;
        growth->copied += last;
        here->own_chunks++;
        here->own_bytes += (double)size;
    }
    growth->realloc_steps += by_realloc;
    growth->copied_by_realloc += by_realloc ? last : 0;
    if (run->length > growth->longest.length) {
        growth->longest = *run;
    }
}

/* The run that this chunk is the end of; NULL: none. */
static pfa_run_t *find_run(pfa_growths_t *growths, pfa_growth_t *growth, const pfa_kind_t *kind,
                           const pfa_chunk_t *chunk)
{
    if ((kind->flags & PFA_RECORD_REALLOC) != 0) {
        uint64_t key;
        moved_t *moved =
            moved_slot(growths, thread_of(kind, kind->thread), chunk->row->type_link >> PFA_TYPE_BITS, &key);
        uint64_t born = chunk->row->alloc_time;
        uint64_t apart = born > moved->time ? born - moved->time : moved->time - born;
        if (moved->key != key || (double)apart * kind->source->ns_per_tick > pfa_growth_gap(kind->source)) {
            return NULL;
        }
        pfa_run_t *run = moved->run != NULL ? moved->run : begin_run(moved->size, moved->group);
        uint64_t size = moved->size;
        bool grown = size < kind->size;
        *moved = (moved_t){.key = 0};
        if (!grown) {
            end_run(growths, run, size);
            return NULL;
        }
        lengthen(growths, run, kind, true);
        return run;
    }
    /* Nothing that is smaller died here: nothing need be looked for. */
    if (growth->smallest == 0 || growth->smallest >= kind->size) {
        return NULL;
    }
    pfa_ended_t *ended = &growth->ended;
    uint32_t at = find_predecessor(growth, kind, chunk);
    if (at == PFA_RUN_RECENT) {
        return NULL;
    }
    growth->overlap += ended->died[at] - chunk->born;
    growth->lives += chunk->life;
    pfa_run_t *run = ended->runs[at];
    ended->run_count -= run != NULL;
    run = run != NULL ? run : begin_run(ended->sizes[at], kind->group);
    ended->runs[at] = NULL;
    ended->died[at] = 0;
    lengthen(growths, run, kind, false);
    return run;
}

static void remember_moved(pfa_growths_t *growths, const pfa_kind_t *kind, const pfa_chunk_t *chunk, pfa_run_t *run)
{
    uint64_t key;
    moved_t *moved = moved_slot(growths, thread_of(kind, kind->free_thread), chunk->row->moved_link, &key);
    end_run(growths, moved->run, moved->size);
    *moved = (moved_t){.key = key, .time = chunk->row->free_time, .size = kind->size, .group = kind->group, .run = run};
}

/* Sizes of the same point that go up and down alike do not grow. */
static void count_step(pfa_growth_t *growth, uint64_t size)
{
    double last = (double)growth->last_size;
    growth->ups += last > 0 && (double)size >= PFA_GROWTH_LEAST * last;
    growth->downs += last > 0 && (double)size * PFA_GROWTH_LEAST <= last;
    growth->last_size = size;
}

void pfa_growths_add(pfa_growths_t *growths, pfa_growth_t *growth, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_run_t *run = find_run(growths, growth, kind, chunk);
    if (!kind->live && (kind->flags & PFA_EVENT_MOVED) != 0) {
        remember_moved(growths, kind, chunk, run);
        return;
    }
    pfa_ended_t *ended = &growth->ended;
    uint32_t at = ended->next++ % PFA_RUN_RECENT;
    if (ended->run_count != 0) {
        forget(growths, growth, at);
    }
    count_step(growth, kind->size);
    ended->died[at] = kind->live ? 0 : chunk->died;
    ended->sizes[at] = kind->size;
    ended->threads[at] = thread_of(kind, kind->free_thread);
    if (run != NULL) {
        ended->runs[at] = run;
        ended->run_count++;
    }
    if (kind->size != 0 && (growth->smallest == 0 || kind->size < growth->smallest)) {
        growth->smallest = kind->size;
    }
}

void pfa_growth_flush(pfa_growths_t *growths, pfa_growth_t *growth)
{
    for (uint32_t i = 0; i < PFA_RUN_RECENT; i++) {
        forget(growths, growth, i);
    }
}

void pfa_growth_judge(pfa_growth_t *growth)
{
    bool by_realloc = 2 * growth->realloc_steps >= growth->chunks - growth->runs;
    bool together = growth->overlap > OVERLAP * growth->lives;
    if (!by_realloc && (together || growth->downs > DOWNS * growth->ups)) {
        growth->runs = growth->chunks = growth->bytes = growth->copied = growth->own_chunks = growth->own_bytes = 0;
        growth->longest = (pfa_run_t){.length = 0};
    }
}

void pfa_growth_free(pfa_growth_t *growth)
{
    for (size_t i = 0; i < PFA_RUN_RECENT; i++) {
        pfa_memory_free(growth->ended.runs[i]);
    }
    pfa_memory_free(growth->finals);
}

double pfa_growth_final(const pfa_growth_t *growth, double share)
{
    double all = 0;
    double sum = 0;
    for (size_t i = 0; growth->finals != NULL && i < PFA_RUN_CLASSES; i++) {
        all += growth->finals[i];
    }
    for (unsigned i = 0; growth->finals != NULL && i < PFA_RUN_CLASSES; i++) {
        sum += growth->finals[i];
        if (sum >= share * all) {
            double upper = ldexp(0.5 + (i % 4 + 1) / 8.0, (int)(i / 4));
            return fmin(upper, growth->final_most);
        }
    }
    return growth->final_most;
}
