/* Owns traces of many chunks of many allocation points, in the order of their deaths, as a busy program leaves them: points differ in how
 * often they allocate, in sizes and in lifetimes. See tests/analyze/make_trace.h. */
#include "tests/analyze/make_trace.h"

#include <inttypes.h>

enum { WHEEL = 1 << 20, DEPTH = 14, THREADS = 4, STEP = 10 };

extern char __executable_start;
extern char etext;

typedef struct alive {
    pfa_event_t event;
    uint32_t next; /* that dies at the same step; 0: none */
} alive_t;

typedef struct many {
    made_t *made;
    uint32_t points;
    uint32_t inner; /* nodes that others lie below */
    uint32_t sites; /* that free */
    uint32_t *parents;
    uint64_t *pcs;
    alive_t *alive; /* from 1 on */
    size_t alive_room;
    size_t alive_count;
    uint32_t free_list;
    uint32_t *wheel;
    uint64_t written;
} many_t;

/* A tree of calls, then the points, then the sites that free. */
static void make_tree(many_t *many, uint64_t *seed)
{
    uint32_t count = PFA_NODE_FIRST + many->inner + many->points + many->sites;
    uint8_t *depth = calloc(count, 1);
    uint64_t text = (uint64_t)(uintptr_t)&__executable_start;
    uint64_t length = (uint64_t)(&etext - &__executable_start);
    many->parents = calloc(count, sizeof *many->parents);
    many->pcs = calloc(count, sizeof *many->pcs);
    must(depth != NULL && many->parents != NULL && many->pcs != NULL);
    for (uint32_t i = PFA_NODE_FIRST; i < count; i++) {
        uint32_t below = i < PFA_NODE_FIRST + many->inner ? i : PFA_NODE_FIRST + many->inner;
        uint32_t parent =
            below == PFA_NODE_FIRST ? 0 : PFA_NODE_FIRST + (uint32_t)random_below(seed, below - PFA_NODE_FIRST);
        parent = depth[parent] >= DEPTH ? 0 : parent;
        many->parents[i] = parent;
        many->pcs[i] = text + random_below(seed, length);
        depth[i] = (uint8_t)(depth[parent] + 1);
    }
    pfa_tracefile_nodes(&many->made->writer, 0, PFA_NODE_FIRST, count - PFA_NODE_FIRST, many->parents + PFA_NODE_FIRST,
                        many->pcs + PFA_NODE_FIRST);
    free(depth);
}

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 31) * 0x9e3779b97f4a7c15u;
    return value ^ value >> 29;
}

/* Few points make most of the chunks. */
static uint32_t pick_point(const many_t *many, uint64_t *seed)
{
    double part = (double)random_below(seed, 1 << 30) / (1 << 30);
    return (uint32_t)(part * part * part * many->points);
}

static pfa_event_t make_event(const many_t *many, uint64_t now, uint64_t *seed, uint64_t *life)
{
    uint32_t point = pick_point(many, seed);
    uint64_t nature = mix(point + 1);
    uint64_t random = random_next(seed);
    uint64_t size = 16 + nature % 1000 + (nature >> 10) % 3 * (random % 3) * 8;
    uint32_t first_site = PFA_NODE_FIRST + many->inner + many->points;
    *life = 1 + (random >> 8) % ((uint64_t)1 << (1 + (nature >> 20) % 16));
    uint16_t thread = (uint16_t)(1 + (nature >> 40) % THREADS);
    return (pfa_event_t){.alloc_time = now,
                         .size_flags = size << PFA_RECORD_SIZE_SHIFT,
                         .stack = PFA_NODE_FIRST + many->inner + point,
                         .free_stack = first_site + (uint32_t)((nature >> 44) + random % 2) % many->sites,
                         .thread = thread,
                         .free_thread = random >> 60 == 0 ? (uint16_t)(1 + thread % THREADS) : thread};
}

static void write_death(many_t *many, pfa_event_t *event, uint64_t now)
{
    made_t *made = many->made;
    uint64_t nature = mix(event->stack);
    uint64_t size = event->size_flags >> PFA_RECORD_SIZE_SHIFT;
    uint64_t life = now - event->alloc_time;
    pfa_event_accesses_t accesses = {.first = event->alloc_time + nature % 4 * life / 8,
                                     .last = now - (nature >> 4) % 4 * life / 8,
                                     .length = (uint32_t)(size / (1 + (nature >> 8) % 3)),
                                     .reads = (nature >> 12) % 8 == 0 ? 0 : (uint32_t)(life % 100),
                                     .writes = (uint32_t)size / 8};
    event->free_time = now;
    if (made->batch->head.rows == PFA_BATCH_ROWS) {
        flush_events(made, now, 0);
    }
    if (made->batch->head.rows == 0) {
        must(pfa_batch_segment(made->batch, 0, many->written));
    }
    must(pfa_batch_add(made->batch, event, &accesses, 0));
    many->written++;
}

static void end_step(many_t *many, uint64_t step, uint64_t now)
{
    uint32_t *slot = &many->wheel[step % WHEEL];
    while (*slot != 0) {
        uint32_t number = *slot;
        alive_t *one = &many->alive[number];
        *slot = one->next;
        write_death(many, &one->event, now);
        one->next = many->free_list;
        many->free_list = number;
    }
}

static void keep(many_t *many, const pfa_event_t *event, uint64_t step)
{
    uint32_t number = many->free_list;
    if (number != 0) {
        many->free_list = many->alive[number].next;
    } else {
        if (many->alive_count + 1 >= many->alive_room) {
            many->alive_room = 2 * many->alive_room + 1024;
            many->alive = realloc(many->alive, many->alive_room * sizeof *many->alive);
            must(many->alive != NULL);
        }
        number = (uint32_t)++many->alive_count;
    }
    many->alive[number] = (alive_t){.event = *event, .next = many->wheel[step % WHEEL]};
    many->wheel[step % WHEEL] = number;
}

void make_many(made_t *made, heap_t *heap, uint64_t chunks, uint64_t seed, uint32_t points)
{
    char word[] = "bare";
    char *bare[] = {word, NULL};
    many_t many = {.made = made, .points = points, .inner = points / 2 + 1, .sites = points / 4 + 1};
    life_t *lives = calloc(chunks / 1000 + 1, sizeof *lives);
    size_t live_count = 0;
    uint64_t bytes = 0;
    many.wheel = calloc(WHEEL, sizeof *many.wheel);
    must(lives != NULL && many.wheel != NULL);
    make_tree(&many, &seed);
    pfa_batch_begin(made->batch, 0, made->form);
    for (uint64_t i = 0; i < chunks + WHEEL; i++) {
        uint64_t now = heap->start + STEP * i;
        end_step(&many, i, now);
        if (i >= chunks) {
            continue;
        }
        uint64_t life;
        pfa_event_t event = make_event(&many, now + 1, &seed, &life);
        bytes += event.size_flags >> PFA_RECORD_SIZE_SHIFT;
        if (i % 1000 == 999) {
            lives[live_count++] = (life_t){.event = event};
        } else {
            keep(&many, &event, i + life);
        }
    }
    heap->end = heap->start + STEP * (chunks + WHEEL) + 1;
    flush_events(made, heap->end, 0);
    write_picture(made, lives, live_count, heap->end, PFA_LIVE_FINAL);
    write_totals(made, heap, bare);
    pfa_tracefile_end(&made->writer, PFA_END_EXIT, heap->end);
    printf("%" PRIu64 " %" PRIu64 " %zu\n", chunks, bytes, live_count);
    free(lives);
    free(many.wheel);
    free(many.alive);
    free(many.parents);
    free(many.pcs);
}
