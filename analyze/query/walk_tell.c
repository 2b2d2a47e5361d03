/* Owns the telling of slabs: to those who take all in order by one thread, to others by lanes. See analyze/query/walking.h, and pfa_look_t of
 * analyze/query/query.h for what may be told at the same time. */
#include "analyze/query/walking.h"

static void tell_kinds(const pfa_look_t *look, const pfa_slab_t *slab, bool beside)
{
    void (*told)(void *, const pfa_kind_t *, double) = beside ? look->beside_kind : look->kind;
    for (uint32_t i = 0; i < slab->kind_count; i++) {
        const pfa_slab_kind_t *kind = &slab->kinds[i];
        if (kind->kind.group != PFA_SKIP && kind->rows != 0) {
            told(look->to, &kind->kind, kind->rows);
        }
    }
}

static bool has_lanes(const pfa_look_t *look)
{
    return look->lane_kind != NULL || look->lane_chunk != NULL;
}

static void sort_slab(const pfa_walking_t *walking, pfa_slab_t *slab)
{
    pfa_slab_sort(slab, walking->all.accesses && walking->from.accesses);
}

void pfa_walk_sort_if_known(const pfa_walking_t *walking, pfa_slab_t *slab)
{
    if (slab->late_count == 0 && has_lanes(&walking->all)) {
        sort_slab(walking, slab);
    }
}

/* Kinds of rows that follow each other lie far from each other, and so do those of a lane: which come next are fetched meanwhile. */
enum { AHEAD = 8 };

static inline void fetch_kind(const pfa_slab_t *slab, uint32_t number)
{
    if (number != PFA_SKIP) {
        __builtin_prefetch(&slab->kinds[number]);
    }
}

/* In order, to `chunk` or to `beside`. */
static void tell_rows(const pfa_walking_t *walking, const pfa_look_t *look, const pfa_slab_t *slab, bool beside)
{
    bool accesses = look->accesses && !look->plain && walking->from.accesses;
    for (uint32_t i = 0; i < slab->row_count; i++) {
        uint32_t number = slab->rows[i].kind;
        const pfa_kind_t *kind = number != PFA_SKIP ? &slab->kinds[number].kind : NULL;
        pfa_chunk_t chunk;
        fetch_kind(slab, slab->rows[i + AHEAD < slab->row_count ? i + AHEAD : i].kind);
        if (kind != NULL && kind->group != PFA_SKIP && (!beside || look->is_beside(look->to, kind))) {
            if (look->brief && !beside) {
                chunk.row = &slab->rows[i];
                look->chunk(look->to, kind, &chunk);
                continue;
            }
            pfa_slab_chunk(kind, &slab->rows[i], accesses ? &slab->accesses[i] : NULL, &chunk);
            chunk.whole = walking->from.whole ? &slab->whole[i] : NULL;
            (beside ? look->beside : look->chunk)(look->to, kind, &chunk);
        }
    }
}

static void tell_lane_kinds(const pfa_look_t *look, const pfa_slab_t *slab, size_t lane)
{
    uint32_t end = slab->kind_starts[lane + 1];
    for (uint32_t i = slab->kind_starts[lane]; i < end; i++) {
        pfa_slab_kind_t *kind = &slab->kinds[slab->kind_order[i]];
        fetch_kind(slab, slab->kind_order[i + AHEAD < end ? i + AHEAD : i]);
        if (kind->rows != 0) {
            kind->kind.note = look->lane_kind(look->to, &kind->kind, kind->rows);
        }
    }
}

static void tell_lane_rows(const pfa_walking_t *walking, const pfa_look_t *look, const pfa_slab_t *slab, size_t lane)
{
    bool accesses = look->accesses && walking->from.accesses;
    uint32_t end = slab->row_starts[lane + 1];
    for (uint32_t i = slab->row_starts[lane]; i < end; i++) {
        const pfa_chunk_row_t *row = &slab->lane_rows[i];
        const pfa_kind_t *kind = &slab->kinds[row->kind].kind;
        __builtin_prefetch(&slab->lane_rows[i + 2 * AHEAD < end ? i + 2 * AHEAD : i]);
        fetch_kind(slab, slab->lane_rows[i + AHEAD < end ? i + AHEAD : i].kind);
        pfa_chunk_t chunk;
        pfa_slab_chunk(kind, row, accesses ? &slab->lane_accesses[i] : NULL, &chunk);
        look->lane_chunk(look->to, kind, &chunk);
    }
}

/* Tasks: the two that take all in order begin first, since nobody can help them. */
enum { IN_ORDER, BESIDE, FIRST_LANE };

static void tell_look(const pfa_walking_t *walking, const pfa_look_t *look, const pfa_slab_t *slab, size_t number)
{
    if (number == IN_ORDER && look->kind != NULL) {
        tell_kinds(look, slab, false);
    } else if (number == BESIDE && look->beside_kind != NULL) {
        tell_kinds(look, slab, true);
    }
    if (number == IN_ORDER && look->chunk != NULL) {
        tell_rows(walking, look, slab, false);
    } else if (number == BESIDE && look->beside != NULL) {
        tell_rows(walking, look, slab, true);
    }
    if (number >= FIRST_LANE && look->lane_kind != NULL) {
        tell_lane_kinds(look, slab, number - FIRST_LANE);
    }
    if (number >= FIRST_LANE && look->lane_chunk != NULL) {
        tell_lane_rows(walking, look, slab, number - FIRST_LANE);
    }
}

/* Where the next slab's things of a lane begin. */
static void fetch_lane(const pfa_slab_t *slab, size_t lane)
{
    uint32_t row = slab->row_starts[lane];
    uint32_t kind = slab->kind_starts[lane];
    for (uint32_t i = row; i < slab->row_starts[lane + 1] && i < row + 2 * AHEAD; i++) {
        __builtin_prefetch(&slab->lane_rows[i]);
    }
    if (kind < slab->kind_starts[lane + 1]) {
        __builtin_prefetch(&slab->kind_order[kind]);
    }
}

static void tell(void *to, size_t number, unsigned worker)
{
    const pfa_walking_t *walking = to;
    (void)worker;
    for (size_t i = 0; i < walking->count; i++) {
        if (number >= FIRST_LANE && i + 1 < walking->count) {
            fetch_lane(&walking->slabs[i + 1], number - FIRST_LANE);
        }
        for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
            tell_look(walking, look, &walking->slabs[i], number);
        }
    }
}

/* A task: a slab is put in order, and its kinds are marked. */
static void arrange(void *to, size_t number, unsigned worker)
{
    pfa_walking_t *walking = to;
    pfa_slab_t *slab = &walking->slabs[number];
    (void)worker;
    for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
        for (uint32_t i = 0; look->mark != NULL && i < slab->kind_count; i++) {
            if (slab->kinds[i].kind.group != PFA_SKIP) {
                look->mark(look->to, &slab->kinds[i].kind);
            }
        }
    }
    if (!slab->sorted) {
        sort_slab(walking, slab);
    }
}

void pfa_walk_run(pfa_walking_t *walking, size_t count, pfa_task_t *task)
{
    if (walking->count > 1) {
        pfa_workers_run(walking->workers, count, task, walking);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        task(walking, i, 0);
    }
}

void pfa_walk_tell(pfa_walking_t *walking)
{
    for (size_t i = 0; i < walking->count; i++) {
        pfa_walk_look_up(walking, &walking->slabs[i]);
    }
    for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
        if (look->ready != NULL) {
            look->ready(look->to);
        }
    }
    bool lanes = has_lanes(&walking->all);
    if (lanes) {
        pfa_walk_run(walking, walking->count, arrange);
    }
    pfa_walk_run(walking, lanes ? FIRST_LANE + PFA_LANES : FIRST_LANE, tell);
    for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
        if (look->settle != NULL) {
            look->settle(look->to);
        }
    }
    for (size_t i = 0; i < walking->count; i++) {
        pfa_slab_clear(&walking->slabs[i]);
    }
    walking->count = 0;
}
