/* Owns the taking of stacks. See meta/stack.h. */
#define _GNU_SOURCE 1
#include "meta/stack.h"
#include "base/options.h"
#include "base/sys.h"
#include "meta/depot.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

enum { DEPTH_MAX = 256 };

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

/* The first of those that a trail from here may be among: the same place is reached in several ways. */
static pfa_trail_t *trails_from(pfa_thread_t *thread, const pfa_unwind_start_t *start)
{
    uint64_t mixed = (start->pc ^ start->sp << 7) * 0x9e3779b97f4a7c15u;
    return &thread->trails[(mixed >> 60) * PFA_TRAIL_WAYS];
}
_Static_assert(PFA_TRAILS == PFA_TRAIL_WAYS << (64 - 60), "as many as the bits that choose some can tell");

static bool holds(const pfa_tls_t *tls, const pfa_trail_t *trail, const pfa_unwind_start_t *start, unsigned depth)
{
    return trail->start.pc == start->pc && trail->start.sp == start->sp && trail->depth == depth &&
           trail->range == tls->stack_range && trail->generation == pfa_load_relaxed(&pfa_stack_generation) &&
           (!trail->words.uses_fp || trail->start.fp == start->fp) && pfa_unwind_words_hold(&trail->words);
}

/* Walks, and keeps the trail if it may be of use: of a thread whose stacks are never the same the notes are in vain. */
static PFA_NOINLINE uint32_t walk(pfa_tls_t *tls, const pfa_unwind_start_t *start, unsigned depth, pfa_trail_t *trail)
{
    uintptr_t frames[DEPTH_MAX];
    pfa_unwind_end_t end;
    pfa_thread_t *thread = tls->thread;
    depth = depth < DEPTH_MAX ? depth : DEPTH_MAX;
    thread->trail_luck -= thread->trail_luck > -PFA_TRAIL_LUCK;
    /* And a handler that interrupts us leaves the notes alone. */
    if (thread->trail_busy || (thread->trail_luck == -PFA_TRAIL_LUCK && ++thread->trail_skips % PFA_TRAIL_LUCK != 0)) {
        unsigned count = pfa_unwind(tls, start, frames, depth, &end);
        return find_stack(tls, frames, count, end);
    }
    uint32_t generation = pfa_load_relaxed(&pfa_stack_generation);
    thread->trail_busy = true;
    trail->depth = 0; /* while it is written, a handler must not use it */
    pfa_fence_compiler();
    unsigned count = pfa_unwind_noting(tls, start, frames, depth, &end, &trail->words);
    uint32_t stack = find_stack(tls, frames, count, end);
    trail->start = *start;
    trail->range = tls->stack_range;
    trail->stack = stack;
    trail->generation = generation;
    pfa_fence_compiler();
    trail->depth = trail->words.whole && stack != PFA_NODE_UNKNOWN ? depth : 0;
    pfa_fence_compiler();
    thread->trail_busy = false;
    return stack;
}

uint32_t pfa_stack_take_some(pfa_tls_t *tls, const pfa_unwind_start_t *start, unsigned depth)
{
    pfa_thread_t *thread = tls->thread;
    if (PFA_UNLIKELY(thread == NULL) || PFA_UNLIKELY(depth == 0) || PFA_UNLIKELY(!pfa_load_relaxed(&ready))) {
        return PFA_NODE_UNKNOWN;
    }
    pfa_trail_t *trails = trails_from(thread, start);
    for (unsigned i = 0; i < PFA_TRAIL_WAYS; i++) {
        if (holds(tls, &trails[i], start, depth)) {
            thread->trail_luck += thread->trail_luck < PFA_TRAIL_LUCK;
            return trails[i].stack;
        }
    }
    return walk(tls, start, depth, &trails[++thread->trail_next % PFA_TRAIL_WAYS]);
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
