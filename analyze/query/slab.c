/* Owns the rows that a walk goes through. See analyze/query/slab.h. */
#include "analyze/query/slab.h"
#include "analyze/base/memory.h"
#include "analyze/query/keys.h"

#include <math.h>
#include <string.h>

void pfa_slab_clear(pfa_slab_t *slab)
{
    slab->kind_count = slab->late_count = slab->row_count = 0;
    slab->tally = (pfa_tally_t){.frees = 0};
    slab->asked = NULL;
    slab->asked_count = 0;
    slab->bad = slab->sorted = false;
}

void pfa_slab_free(pfa_slab_t *slab)
{
    pfa_memory_free(slab->kinds_block);
    pfa_memory_free(slab->late);
    pfa_memory_free(slab->rows);
    pfa_memory_free(slab->accesses);
    pfa_memory_free(slab->whole);
    pfa_memory_free(slab->kind_order);
    pfa_memory_free(slab->kind_lanes);
    pfa_memory_free(slab->lane_rows);
    pfa_memory_free(slab->lane_accesses);
    *slab = (pfa_slab_t){.kinds = NULL};
}

/* The stack of a node, if it is known already. */
static bool find_stack(const pfa_source_t *source, uint32_t node, uint32_t *stack)
{
    *stack = node < PFA_NODE_FIRST         ? node
             : node >= source->node_count  ? PFA_NODE_UNKNOWN
             : source->stack_of[node] != 0 ? source->stack_of[node]
                                           : PFA_SKIP;
    return *stack != PFA_SKIP;
}

static bool has_met(const pfa_slab_source_t *from, uint32_t stack, uint8_t role)
{
    return stack < from->met_count && (from->met[stack] & role) != 0;
}

/* Whether all that it takes is known. */
static bool look_up(const pfa_slab_source_t *from, pfa_kind_t *kind, const pfa_batch_kind_t *given)
{
    uint32_t stack;
    uint32_t free_stack = PFA_NODE_UNKNOWN;
    if (!find_stack(from->source, given->stack, &stack) ||
        (!kind->live && !find_stack(from->source, given->free_stack, &free_stack))) {
        return false;
    }
    kind->stack = stack;
    kind->free_stack = free_stack;
    return true;
}

static bool is_told(const pfa_slab_t *slab, const pfa_slab_source_t *from, pfa_kind_t *kind)
{
    uint32_t number = slab->kind_count;
    bool known = number < slab->asked_count;
    if (known && (slab->asked[number / 64] >> number % 64 & 1) == 0) {
        kind->group = PFA_SKIP;
        return true;
    }
    if (from->met != NULL && !(has_met(from, kind->stack, kind->live ? PFA_MET_LIVE : PFA_MET_DEAD) &&
                               (kind->live || has_met(from, kind->free_stack, PFA_MET_FREES)))) {
        return false;
    }
    kind->group = from->all_late && !known ? PFA_SKIP : pfa_query_stack_group(from->query, kind->stack);
    return kind->group != PFA_SKIP;
}

/* Room for another kind. Walks come to kinds in any order, and each would be in two lines of the cache wherever memory lies. */
static void grow_kinds(pfa_slab_t *slab)
{
    enum { FIRST = 512 };
    size_t room = slab->kind_room != 0 ? 2 * slab->kind_room : FIRST;
    void *block = pfa_memory_get(room + 1, sizeof *slab->kinds);
    uintptr_t line = ((uintptr_t)block + sizeof *slab->kinds - 1) / sizeof *slab->kinds;
    pfa_slab_kind_t *kinds = (pfa_slab_kind_t *)(line * sizeof *kinds);
    if (slab->kind_count != 0) {
        memcpy(kinds, slab->kinds, slab->kind_count * sizeof *kinds);
    }
    pfa_memory_free(slab->kinds_block);
    slab->kinds_block = block;
    slab->kinds = kinds;
    slab->kind_room = room;
}

uint32_t pfa_slab_add_kind(pfa_slab_t *slab, const pfa_slab_source_t *from, const pfa_batch_kind_t *given,
                           double weight, bool live)
{
    uint32_t number = slab->kind_count;
    if (number == slab->kind_room) {
        grow_kinds(slab);
    }
    pfa_slab_kind_t *kind = &slab->kinds[number];
    *kind = (pfa_slab_kind_t){.kind = {.source = from->source,
                                       .size = given->size_flags >> PFA_RECORD_SIZE_SHIFT,
                                       .weight = weight,
                                       .stack = given->stack,
                                       .free_stack = given->free_stack,
                                       .flags = (uint32_t)(given->size_flags & PFA_EVENT_FLAGS),
                                       .thread = given->thread,
                                       .free_thread = given->free_thread,
                                       .last_thread = given->last_thread,
                                       .tag = given->tag,
                                       .live = live},
                              .rows = given->rows};
    if (given->rows == 0) { /* rows that say to be of it are none: those who sum kinds were not told of it */
        kind->kind.group = PFA_SKIP;
        slab->kind_count++;
        return number;
    }
    kind->raw = !look_up(from, &kind->kind, given);
    if (kind->raw || !is_told(slab, from, &kind->kind)) {
        slab->late = pfa_memory_grow(slab->late, &slab->late_room, (size_t)slab->late_count + 1, sizeof *slab->late);
        slab->late[slab->late_count++] = number;
    }
    pfa_tally_kind(&slab->tally, from->trace, given, weight, live);
    slab->kind_count++;
    return number;
}

void pfa_slab_add_row(pfa_slab_t *slab, const pfa_slab_source_t *from, uint32_t kind, const pfa_row_t *row)
{
    size_t number = slab->row_count;
    slab->rows = pfa_memory_grow(slab->rows, &slab->row_room, number + 1, sizeof *slab->rows);
    slab->rows[number] = (pfa_chunk_row_t){.alloc_time = row->event.alloc_time,
                                           .free_time = row->event.free_time,
                                           .life = row->life,
                                           .kind = kind,
                                           .type_link = row->event.type_link,
                                           .moved_link = row->event.moved_link,
                                           .told = row->told};
    if (from->accesses) {
        slab->accesses = pfa_memory_grow(slab->accesses, &slab->access_room, number + 1, sizeof *slab->accesses);
        slab->accesses[number] = row->accesses;
    }
    if (from->whole) {
        slab->whole = pfa_memory_grow(slab->whole, &slab->whole_room, number + 1, sizeof *slab->whole);
        slab->whole[number] = *row;
    }
    slab->row_count++;
}

pfa_chunk_row_t *pfa_slab_room(pfa_slab_t *slab, uint32_t count)
{
    slab->rows = pfa_memory_grow(slab->rows, &slab->row_room, (size_t)slab->row_count + count, sizeof *slab->rows);
    return &slab->rows[slab->row_count];
}

void pfa_slab_add_rows(pfa_slab_t *slab, uint32_t count)
{
    slab->row_count += count;
}

/* Of the number of each lane's things: where they begin. `next` is filled with the same. */
static void begin_lanes(const uint32_t counts[PFA_LANES + 1], uint32_t starts[PFA_LANES + 1],
                        uint32_t next[PFA_LANES + 1])
{
    uint32_t start = 0;
    for (uint32_t i = 0; i <= PFA_LANES; i++) {
        starts[i] = next[i] = start;
        start += counts[i];
    }
}

static void sort_kinds(pfa_slab_t *slab)
{
    uint32_t counts[PFA_LANES + 1] = {0};
    uint32_t next[PFA_LANES + 1];
    slab->kind_order =
        pfa_memory_grow(slab->kind_order, &slab->kind_order_room, slab->kind_count, sizeof *slab->kind_order);
    slab->kind_lanes =
        pfa_memory_grow(slab->kind_lanes, &slab->kind_lane_room, slab->kind_count, sizeof *slab->kind_lanes);
    for (uint32_t i = 0; i < slab->kind_count; i++) {
        uint32_t group = slab->kinds[i].kind.group;
        slab->kind_lanes[i] = (uint16_t)(group != PFA_SKIP ? pfa_lane_of(group) : PFA_LANES);
        counts[slab->kind_lanes[i]]++;
    }
    begin_lanes(counts, slab->kind_starts, next);
    for (uint32_t i = 0; i < slab->kind_count; i++) {
        slab->kind_order[next[slab->kind_lanes[i]]++] = i;
    }
}

static inline uint32_t lane_of(const pfa_slab_t *slab, uint32_t row)
{
    uint32_t kind = slab->rows[row].kind;
    return kind != PFA_SKIP ? slab->kind_lanes[kind] : PFA_LANES;
}

static void sort_rows(pfa_slab_t *slab, bool accesses)
{
    uint32_t counts[PFA_LANES + 1] = {0};
    uint32_t next[PFA_LANES + 1];
    slab->lane_rows = pfa_memory_grow(slab->lane_rows, &slab->lane_row_room, slab->row_count, sizeof *slab->lane_rows);
    if (accesses) {
        slab->lane_accesses =
            pfa_memory_grow(slab->lane_accesses, &slab->lane_access_room, slab->row_count, sizeof *slab->lane_accesses);
    }
    for (uint32_t i = 0; i < slab->row_count; i++) {
        counts[lane_of(slab, i)]++;
    }
    begin_lanes(counts, slab->row_starts, next);
    for (uint32_t i = 0; i < slab->row_count; i++) {
        uint32_t at = next[lane_of(slab, i)]++;
        slab->lane_rows[at] = slab->rows[i];
        if (accesses) {
            slab->lane_accesses[at] = slab->accesses[i];
        }
    }
}

void pfa_slab_sort(pfa_slab_t *slab, bool accesses)
{
    sort_kinds(slab);
    sort_rows(slab, accesses);
    slab->sorted = true;
}

void pfa_slab_tell_accesses(const pfa_source_t *source, pfa_chunk_t *chunk, uint64_t size)
{
    const pfa_event_accesses_t *accesses = chunk->accesses;
    uint64_t low;
    uint64_t behind;
    pfa_access_bytes(accesses, size, &low, &behind);
    chunk->touched = (double)(behind - low);
    chunk->is_touched = accesses->length != 0 || accesses->reads != 0 || accesses->writes != 0;
    chunk->first = chunk->last = chunk->born;
    if (accesses->length != 0) {
        double end = chunk->born + chunk->life;
        chunk->first = fmax(pfa_slab_ns(source, accesses->first), chunk->born);
        chunk->last = fmin(fmax(pfa_slab_ns(source, accesses->last), chunk->first), end);
        chunk->first = fmin(chunk->first, chunk->last);
    }
    chunk->wait = chunk->is_touched ? chunk->first - chunk->born : chunk->life;
    chunk->idle = fmax(chunk->life - (chunk->last - chunk->born), 0);
}
