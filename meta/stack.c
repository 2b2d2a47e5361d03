/* Owns the taking of stacks. See meta/stack.h. */
#define _GNU_SOURCE 1
#include "meta/stack.h"
#include "base/options.h"
#include "base/sys.h"
#include "meta/depot.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

enum { DEPTH_MAX = 256 };
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

_Atomic uint32_t pfa_stack_generation;

static uintptr_t own_start;
static uintptr_t own_size;
static _Atomic bool ready;

/* A random odd number for each frame's place. */
static uint64_t factors[DEPTH_MAX];

static void make_factors(void)
{
    uint64_t state = pfa_sys_random();
    for (unsigned i = 0; i < DEPTH_MAX; i++) {
        uint64_t mixed = state += 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
        factors[i] = (mixed ^ mixed >> 31) | 1;
    }
}

void pfa_stack_init(bool started)
{
    if (!started && getauxval(AT_BASE) == 0) {
        return;
    }
    struct dl_find_object object;
    /* In a static program our code lies among the program's. */
    if (_dl_find_object((void *)(uintptr_t)&pfa_stack_init, &object) == 0 && object.dlfo_link_map->l_name != NULL &&
        object.dlfo_link_map->l_name[0] != '\0') {
        own_start = (uintptr_t)object.dlfo_map_start;
        own_size = (uintptr_t)object.dlfo_map_end - own_start;
    }
    if (!pfa_load_relaxed(&ready)) {
        make_factors();
    }
    pfa_store_release(&ready, true);
}

/* A sum of products, none of which waits for another: two stacks have the same with a chance of 2^-64. */
static uint64_t hash_stack(const uintptr_t *pcs, unsigned count, uint64_t seed)
{
    uint64_t sum = (seed + count) << 56;
    for (unsigned i = 0; i < count; i++) {
        sum += pcs[i] * factors[i];
    }
    return sum ^ sum >> 29;
}

static PFA_NOINLINE uint32_t intern(pfa_tls_t *tls, const uintptr_t *pcs, unsigned count, uint32_t root)
{
    uint32_t node = root;
    while (count > 0 && node != PFA_NODE_UNKNOWN) {
        node = pfa_depot_add(tls, node, pcs[--count]);
    }
    return node;
}

static const uint32_t roots[] = {[PFA_UNWIND_COMPLETE] = PFA_NODE_COMPLETE,
                                 [PFA_UNWIND_TRUNCATED] = PFA_NODE_TRUNCATED,
                                 [PFA_UNWIND_BROKEN] = PFA_NODE_BROKEN};

/* The number of the stack, by its frames. */
static uint32_t find_stack(pfa_tls_t *tls, const uintptr_t *pcs, unsigned count, pfa_unwind_end_t end)
{
    while (PFA_UNLIKELY(count > 0 && pcs[0] - own_start < own_size)) {
        pcs++;
        count--;
    }
    uint64_t hash = hash_stack(pcs, count, (uint64_t)end + 1);
    pfa_known_stack_t *known = &tls->thread->stacks[hash % PFA_KNOWN_STACKS];
    uint32_t generation = pfa_load_relaxed(&pfa_stack_generation);
    if (PFA_LIKELY(known->hash == hash) && PFA_LIKELY(known->generation == generation)) {
        return known->stack;
    }
    uint32_t stack = intern(tls, pcs, count, roots[end]);
    if (stack != PFA_NODE_UNKNOWN) {
        *known = (pfa_known_stack_t){hash, stack, generation};
    }
    return stack;
}

static pfa_trail_t *trail_at(pfa_thread_t *thread, uint64_t place)
{
    return (pfa_trail_t *)&thread->trail_room[place % PFA_TRAIL_ROOM];
}

static uint64_t mix(uintptr_t pc, uintptr_t sp)
{
    return (pc ^ sp << 7) * SPREAD;
}

static uint64_t *trails_from(pfa_thread_t *thread, uint64_t mixed)
{
    return &thread->trail_index[(mixed >> (64 - PFA_TRAIL_SET_BITS)) * PFA_TRAIL_WAYS];
}

static uint16_t tag_of(uint64_t mixed)
{
    return (uint16_t)(mixed >> (64 - PFA_TRAIL_SET_BITS - PFA_TRAIL_TAG_BITS));
}

PFA_INLINE bool holds(const pfa_trail_t *trail, const pfa_unwind_start_t *start, uintptr_t sp, unsigned depth)
{
    if (trail->pc != start->pc || trail->words.sp != sp || trail->depth != depth ||
        (trail->words.uses_fp && trail->fp != start->fp)) {
        return false;
    }
    const uint64_t *word = trail->words.word;
    for (const uint64_t *end = word + trail->words.count; word != end; word += PFA_TRAIL_STRIDE) {
        _Static_assert(PFA_TRAIL_STRIDE == 4, "as many as here");
        if (!pfa_unwind_word_holds(word[0], sp) || !pfa_unwind_word_holds(word[1], sp) ||
            !pfa_unwind_word_holds(word[2], sp) || !pfa_unwind_word_holds(word[3], sp)) {
            return false;
        }
    }
    return true;
}

/* Where a trail is to be written. It does not lie across the room's end. No place is 0: an empty index means that. */
static uint64_t place_for_trail(const pfa_thread_t *thread)
{
    uint64_t head = thread->trail_head != 0 ? thread->trail_head : PFA_TRAIL_ROOM;
    return head % PFA_TRAIL_ROOM + PFA_TRAIL_MOST <= PFA_TRAIL_ROOM ? head
                                                                    : (head / PFA_TRAIL_ROOM + 1) * PFA_TRAIL_ROOM;
}

/* The last word again, until they are as many as are compared at a time. */
static void fill_stride(pfa_unwind_words_t *words)
{
    _Static_assert(PFA_UNWIND_WORDS % PFA_TRAIL_STRIDE == 0, "there is room for that");
    for (; words->count % PFA_TRAIL_STRIDE != 0; words->count++) {
        words->word[words->count] = words->word[words->count - 1];
    }
}

/* In place of one that is gone, or else of any. */
static void enter_into_index(pfa_thread_t *thread, uint64_t mixed, uint64_t place)
{
    uint64_t *set = trails_from(thread, mixed);
    unsigned way = 0;
    while (way < PFA_TRAIL_WAYS && thread->trail_head - (set[way] >> PFA_TRAIL_TAG_BITS) <= PFA_TRAIL_ROOM) {
        way++;
    }
    set[way < PFA_TRAIL_WAYS ? way : ++thread->trail_next % PFA_TRAIL_WAYS] =
        place << PFA_TRAIL_TAG_BITS | tag_of(mixed);
}

/* Of a thread whose stacks are never the same the notes are in vain: it makes few. */
static bool may_be_of_use(pfa_thread_t *thread)
{
    enum { GAIN = 4 };
    thread->trail_luck += thread->trail_held ? GAIN : -1;
    thread->trail_luck = thread->trail_luck > PFA_TRAIL_LUCK    ? PFA_TRAIL_LUCK
                         : thread->trail_luck < -PFA_TRAIL_LUCK ? -PFA_TRAIL_LUCK
                                                                : thread->trail_luck;
    thread->trail_held = false;
    return thread->trail_luck > -PFA_TRAIL_LUCK || thread->trail_walks % PFA_TRAIL_LUCK == 0;
}

/* With notes. The thread is busy with its trails. */
static uint32_t walk_noting(pfa_tls_t *tls, const pfa_unwind_start_t *start, uintptr_t *frames, unsigned depth)
{
    pfa_thread_t *thread = tls->thread;
    pfa_unwind_end_t end;
    uint32_t generation = pfa_load_relaxed(&pfa_stack_generation);
    if (thread->trail_generation != generation) {
        memset(thread->trail_index, 0, sizeof thread->trail_index);
        thread->trail_generation = generation;
    }
    uint64_t place = place_for_trail(thread);
    pfa_trail_t *trail = trail_at(thread, place);
    thread->trail_head = place + PFA_TRAIL_MOST; /* what was there is gone */
    unsigned count = pfa_unwind_noting(tls, start, frames, depth < DEPTH_MAX ? depth : DEPTH_MAX, &end, &trail->words);
    uint32_t stack = find_stack(tls, frames, count, end);
    trail->pc = start->pc;
    trail->fp = start->fp;
    trail->stack = stack;
    trail->depth = depth;
    fill_stride(&trail->words);
    thread->trail_head = place + offsetof(pfa_trail_t, words.word) / 8 + trail->words.count;
    if (trail->words.whole && stack != PFA_NODE_UNKNOWN) {
        enter_into_index(thread, mix(start->pc, trail->words.sp), place);
    }
    return stack;
}

static PFA_NOINLINE uint32_t walk(pfa_tls_t *tls, const pfa_unwind_start_t *start, unsigned depth)
{
    uintptr_t frames[DEPTH_MAX];
    pfa_unwind_end_t end;
    pfa_thread_t *thread = tls->thread;
    if (PFA_UNLIKELY(depth == 0) || PFA_UNLIKELY(!pfa_load_relaxed(&ready))) {
        return PFA_NODE_UNKNOWN;
    }
    thread->trail_walks++;
    if (thread->trail_busy || !may_be_of_use(thread)) {
        unsigned count = pfa_unwind(tls, start, frames, depth < DEPTH_MAX ? depth : DEPTH_MAX, &end);
        return find_stack(tls, frames, count, end);
    }
    thread->trail_busy = true;
    pfa_fence_compiler();
    uint32_t stack = walk_noting(tls, start, frames, depth);
    pfa_fence_compiler();
    thread->trail_busy = false;
    return stack;
}

/* The trail that holds, or NULL. */
PFA_INLINE const pfa_trail_t *find_trail(pfa_thread_t *thread, const pfa_unwind_start_t *start, unsigned depth)
{
    uintptr_t sp = start->sp & ~(uintptr_t)1;
    uint64_t mixed = mix(start->pc, sp);
    const uint64_t *set = trails_from(thread, mixed);
    uint64_t head = thread->trail_head;
    for (unsigned i = 0; i < PFA_TRAIL_WAYS; i++) {
        uint64_t place = set[i] >> PFA_TRAIL_TAG_BITS;
        if ((uint16_t)set[i] == tag_of(mixed) && head - place <= PFA_TRAIL_ROOM &&
            holds(trail_at(thread, place), start, sp, depth)) {
            return trail_at(thread, place);
        }
    }
    return NULL;
}

uint32_t pfa_stack_take_some(pfa_tls_t *tls, const pfa_unwind_start_t *start, unsigned depth)
{
    pfa_thread_t *thread = tls->thread;
    if (PFA_UNLIKELY(thread == NULL)) {
        return PFA_NODE_UNKNOWN;
    }
    if (PFA_LIKELY(thread->trail_generation == pfa_load_relaxed(&pfa_stack_generation)) &&
        PFA_LIKELY(!thread->trail_busy)) {
        thread->trail_busy = true; /* a handler that interrupts us leaves the trails alone */
        pfa_fence_compiler();
        const pfa_trail_t *trail = find_trail(thread, start, depth);
        uint32_t stack = trail != NULL ? trail->stack : 0;
        pfa_fence_compiler();
        thread->trail_busy = false;
        if (PFA_LIKELY(trail != NULL)) {
            thread->trail_held = true;
            return stack;
        }
    }
    return walk(tls, start, depth);
}

uint32_t pfa_stack_take(pfa_tls_t *tls, const pfa_unwind_start_t *start)
{
    return pfa_stack_take_some(tls, start, (unsigned)pfa_options.stack_depth);
}

uint32_t pfa_stack_find_site(pfa_tls_t *tls, uintptr_t pc)
{
    uint32_t generation = pfa_load_relaxed(&pfa_stack_generation);
    uint32_t node = pfa_depot_add(tls, PFA_NODE_COMPLETE, pc);
    if (tls->thread != NULL && node != PFA_NODE_UNKNOWN) {
        tls->thread->sites[(pc ^ pc >> 8) % PFA_SITES] = (pfa_site_t){pc, node, generation};
    }
    return node;
}
