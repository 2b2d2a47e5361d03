/* Owns the matching of points. See analyze/diff/compare.h for its steps. A step joins sets of points, never takes one apart, and
 * only sets that one side alone has are looked at by the next. */
#include "analyze/diff/match.h"
#include "analyze/base/memory.h"
#include "analyze/names/identity.h"

#include <stdlib.h>
#include <string.h>

/* Points that are the same, so far. */
typedef struct set {
    const pfa_summary_point_t *first;
    bool on[PFA_SIDES];
    bool loose;
    uint32_t joined; /* the number of the set it is in, and one; 0: it is one by itself */
} set_t;

typedef struct matching {
    set_t *sets;
    size_t count;
    size_t room;
} matching_t;

static uint32_t root_of(const matching_t *matching, uint32_t number)
{
    while (matching->sets[number].joined != 0) {
        number = matching->sets[number].joined - 1;
    }
    return number;
}

static void join(matching_t *matching, uint32_t into, uint32_t other)
{
    into = root_of(matching, into);
    other = root_of(matching, other);
    if (into == other) {
        return;
    }
    set_t *set = &matching->sets[into];
    set->loose = true;
    set->on[PFA_BASE] |= matching->sets[other].on[PFA_BASE];
    set->on[PFA_NEW] |= matching->sets[other].on[PFA_NEW];
    matching->sets[other].joined = into + 1;
}

static bool is_single(const set_t *set)
{
    return set->joined == 0 && set->on[PFA_BASE] != set->on[PFA_NEW];
}

static void match_identities(matching_t *matching, const pfa_side_t sides[PFA_SIDES], uint32_t **pair_of)
{
    pfa_index_t index = {.slots = NULL};
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < sides[side].count; i++, pair_of++) {
            const pfa_summary_t *run = &sides[side].runs[i];
            for (size_t j = 0; j < run->count; j++) {
                uint32_t number = pfa_index_put(&index, run->points[j].identity, (uint32_t)matching->count);
                if (number == matching->count) {
                    matching->sets =
                        pfa_memory_grow(matching->sets, &matching->room, matching->count + 1, sizeof *matching->sets);
                    matching->sets[matching->count++] = (set_t){.first = &run->points[j]};
                }
                matching->sets[number].on[side] = true;
                (*pair_of)[j] = number;
            }
        }
    }
    pfa_index_free(&index);
}

/* Of each single set of a side the places of its points. */
static void index_places(const matching_t *matching, const pfa_side_t *side, uint32_t *const *pair_of,
                         pfa_index_t *index)
{
    for (size_t i = 0; i < side->count; i++) {
        for (size_t j = 0; j < side->runs[i].count; j++) {
            const pfa_summary_point_t *point = &side->runs[i].points[j];
            for (size_t k = 0; k < point->place_count && is_single(&matching->sets[pair_of[i][j]]); k++) {
                (void)pfa_index_put(index, point->places[k], pair_of[i][j]);
            }
        }
    }
}

/* The same build with names and without: what is one point by its functions may be several by their addresses. */
static void match_places(matching_t *matching, const pfa_side_t sides[PFA_SIDES], uint32_t *const *pair_of)
{
    pfa_index_t index[PFA_SIDES] = {{.slots = NULL}, {.slots = NULL}};
    index_places(matching, &sides[PFA_BASE], pair_of, &index[PFA_BASE]);
    index_places(matching, &sides[PFA_NEW], pair_of + sides[PFA_BASE].count, &index[PFA_NEW]);
    for (size_t i = 0; i < index[PFA_BASE].slot_count; i++) {
        const struct pfa_index_slot *slot = &index[PFA_BASE].slots[i];
        uint32_t other = slot->number != 0 ? pfa_index_find(&index[PFA_NEW], slot->key) : PFA_INDEX_NONE;
        if (other != PFA_INDEX_NONE) {
            join(matching, slot->number - 1, other);
        }
    }
    pfa_index_free(&index[PFA_BASE]);
    pfa_index_free(&index[PFA_NEW]);
}

/* All that are left with the same looser name, if both sides have some. */
static void match_kin(matching_t *matching)
{
    pfa_index_t index[PFA_SIDES] = {{.slots = NULL}, {.slots = NULL}};
    for (uint32_t i = 0; i < matching->count; i++) {
        const set_t *set = &matching->sets[i];
        if (is_single(set) && set->first->kin != 0) {
            (void)pfa_index_put(&index[set->on[PFA_NEW] ? PFA_NEW : PFA_BASE], set->first->kin, i);
        }
    }
    for (uint32_t i = 0; i < matching->count; i++) {
        uint64_t kin = matching->sets[i].first->kin;
        uint32_t base = kin != 0 ? pfa_index_find(&index[PFA_BASE], kin) : PFA_INDEX_NONE;
        uint32_t other = kin != 0 ? pfa_index_find(&index[PFA_NEW], kin) : PFA_INDEX_NONE;
        if (base != PFA_INDEX_NONE && other != PFA_INDEX_NONE && is_single(&matching->sets[i])) {
            join(matching, base, i);
            join(matching, base, other);
        }
    }
    pfa_index_free(&index[PFA_BASE]);
    pfa_index_free(&index[PFA_NEW]);
}

/* A set that is left, with the functions of its stack. */
typedef struct left {
    uint32_t set;
    bool is_new;
    uint64_t *functions;
    size_t count;
} left_t;

static int compare_left(const void *a, const void *b)
{
    const left_t *one = a;
    const left_t *other = b;
    if (one->functions[0] != other->functions[0]) {
        return one->functions[0] < other->functions[0] ? -1 : 1;
    }
    return one->set < other->set ? -1 : one->set > other->set;
}

static bool is_among(const left_t *few, const left_t *many)
{
    size_t found = 0;
    for (size_t i = 0; i < many->count && found < few->count; i++) {
        found += many->functions[i] == few->functions[found];
    }
    return found == few->count;
}

static bool is_like(const left_t *one, const left_t *other)
{
    return one->is_new != other->is_new && (one->count <= other->count ? is_among(one, other) : is_among(other, one));
}

/* The only one that is like it; else NULL: there would be a choice. */
static const left_t *find_like(const left_t *list, size_t count, const left_t *one)
{
    const left_t *like = NULL;
    for (size_t i = 0; i < count; i++) {
        if (is_like(one, &list[i])) {
            if (like != NULL) {
                return NULL;
            }
            like = &list[i];
        }
    }
    return like;
}

/* Those with the same innermost function. */
static void match_bucket(matching_t *matching, const left_t *list, size_t count)
{
    enum { MANY = 256 }; /* each is compared with each */
    for (size_t i = 0; i < count && count <= MANY; i++) {
        const left_t *like = list[i].is_new ? NULL : find_like(list, count, &list[i]);
        if (like != NULL && find_like(list, count, like) == &list[i]) {
            join(matching, list[i].set, like->set);
        }
    }
}

static void match_callers(matching_t *matching)
{
    left_t *list = pfa_memory_get(matching->count, sizeof *list);
    size_t count = 0;
    for (uint32_t i = 0; i < matching->count; i++) {
        const set_t *set = &matching->sets[i];
        if (is_single(set) && set->first->kin != 0) {
            left_t *left = &list[count];
            *left = (left_t){.set = i, .is_new = set->on[PFA_NEW]};
            left->functions = pfa_identity_functions(&set->first->lines, &left->count);
            if (left->count > 1) { /* one alone is among too many */
                count++;
            } else {
                pfa_memory_free(left->functions);
            }
        }
    }
    qsort(list, count, sizeof *list, compare_left);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && list[end].functions[0] == list[i].functions[0];) {
            end++;
        }
        match_bucket(matching, &list[i], end - i);
    }
    for (size_t i = 0; i < count; i++) {
        pfa_memory_free(list[i].functions);
    }
    pfa_memory_free(list);
}

/* Sets that are one by themselves get the numbers of pairs, in order. */
static void number_pairs(const matching_t *matching, pfa_match_t *match, const pfa_side_t sides[PFA_SIDES])
{
    uint32_t *numbers = pfa_memory_get(matching->count, sizeof *numbers);
    match->loose = pfa_memory_get(matching->count, sizeof *match->loose);
    for (uint32_t i = 0; i < matching->count; i++) {
        if (matching->sets[i].joined == 0) {
            match->loose[match->count] = matching->sets[i].loose;
            numbers[i] = (uint32_t)match->count++;
        }
    }
    uint32_t **pair_of = match->pair_of;
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < sides[side].count; i++, pair_of++) {
            for (size_t j = 0; j < sides[side].runs[i].count; j++) {
                (*pair_of)[j] = numbers[root_of(matching, (*pair_of)[j])];
            }
        }
    }
    pfa_memory_free(numbers);
}

void pfa_match_make(pfa_match_t *match, const pfa_side_t sides[PFA_SIDES])
{
    matching_t matching = {.sets = NULL};
    size_t runs = 0;
    *match =
        (pfa_match_t){.pair_of = pfa_memory_get(sides[PFA_BASE].count + sides[PFA_NEW].count, sizeof *match->pair_of)};
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < sides[side].count; i++) {
            match->pair_of[runs++] = pfa_memory_get(sides[side].runs[i].count, sizeof **match->pair_of);
        }
    }
    match_identities(&matching, sides, match->pair_of);
    match_places(&matching, sides, match->pair_of);
    match_kin(&matching);
    match_callers(&matching);
    number_pairs(&matching, match, sides);
    pfa_memory_free(matching.sets);
}

void pfa_match_free(pfa_match_t *match, const pfa_side_t sides[PFA_SIDES])
{
    for (size_t i = 0; i < sides[PFA_BASE].count + sides[PFA_NEW].count; i++) {
        pfa_memory_free(match->pair_of[i]);
    }
    pfa_memory_free(match->pair_of);
    pfa_memory_free(match->loose);
}
