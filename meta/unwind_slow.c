/* The steps of a walk that its hot loop leaves to others, and the ranges of the stack that can be read. Everything here is
 * cold: a rule is new or long, or the stack is another.
 *
 * Stack memory is read only inside [low, high), which pfa_walk_reach found readable. */
#include "base/sys.h"
#include "meta/thread.h"
#include "meta/unwind_walk.h"

enum {
    WORD = PFA_WALK_WORD,
    PAGE_SHIFT = PFA_WALK_PAGE_SHIFT,
    RANGE_COUNT_BITS = 28,
    FRAME_PAGES_MAX = 2048,
    GAP_PAGES_MAX = 256 /* that a known range is extended over, rather than given up */
};
#define PAGE ((uintptr_t)1 << PAGE_SHIFT)

/* A range is one word, so that a signal handler finds it whole: the number of its first page, and how many there are. */
static uintptr_t low_of(uint64_t range)
{
    return range >> RANGE_COUNT_BITS << PAGE_SHIFT;
}

static uintptr_t high_of(uint64_t range)
{
    return low_of(range) + (range % ((uint64_t)1 << RANGE_COUNT_BITS) << PAGE_SHIFT);
}

void pfa_walk_read_range(pfa_walk_t *w)
{
    w->low = low_of(w->tls->stack_range);
    w->high = high_of(w->tls->stack_range);
}

static void write_range(pfa_walk_t *w, uintptr_t low, uintptr_t high)
{
    w->low = low;
    w->high = high;
    w->tls->stack_range = (uint64_t)low >> PAGE_SHIFT << RANGE_COUNT_BITS | (high - low) >> PAGE_SHIFT;
}

static bool pages_readable(uintptr_t from, uintptr_t to)
{
    for (; from < to; from += PAGE) {
        if (!pfa_sys_can_read((const void *)from)) {
            return false;
        }
    }
    return true;
}

/* Takes up the range of another stack that the thread was on lately, if [from, to) lies in one and its last page can still
 * be read; the one in use is kept in its place. A handler that comes in between may make one be kept twice or not at all. */
static bool change_range(pfa_walk_t *w, uintptr_t from, uintptr_t to)
{
    pfa_thread_t *thread = w->tls->thread;
    for (unsigned i = 0; thread != NULL && i < PFA_STACK_RANGES; i++) {
        uint64_t range = thread->stack_ranges[i];
        if (from >= low_of(range) && to <= high_of(range)) {
            bool readable = pages_readable(high_of(range) - PAGE, high_of(range));
            thread->stack_ranges[i] = readable ? w->tls->stack_range : 0;
            if (readable) {
                write_range(w, low_of(range), high_of(range));
            }
            return readable;
        }
    }
    return false;
}

/* The range in use is of a stack that the thread has left. */
static void keep_range(pfa_walk_t *w)
{
    pfa_thread_t *thread = w->tls->thread;
    if (thread != NULL && w->low != w->high) {
        thread->stack_ranges[++thread->stack_range_next % PFA_STACK_RANGES] = w->tls->stack_range;
    }
}

bool pfa_walk_reach(pfa_walk_t *w, uintptr_t from, uintptr_t to)
{
    if (from >= to || to >> PFA_UNWIND_PC_BITS != 0 || to - from > FRAME_PAGES_MAX * PAGE) {
        return false;
    }
    if ((from >= w->low && to <= w->high) || change_range(w, from, to)) {
        return true;
    }
    uintptr_t low = from & -PAGE;
    uintptr_t high = (to + PAGE - 1) & -PAGE;
    bool is_near = w->low != w->high && low <= w->high && w->low <= high + GAP_PAGES_MAX * PAGE;
    if (is_near && pages_readable(low, w->low) && pages_readable(w->high, high)) {
        write_range(w, low < w->low ? low : w->low, high > w->high ? high : w->high);
        return true;
    }
    if (!pages_readable(low, high)) {
        return false;
    }
    keep_range(w);
    write_range(w, low, high);
    return true;
}

static pfa_walk_outcome_t follow(pfa_walk_t *w, uintptr_t ra, uintptr_t sp, uintptr_t fp)
{
    w->key = pfa_unwind_strip(ra);
    w->sp = sp;
    w->fp = fp;
    w->lr = 0;
    return pfa_walk_is_key(w->key) ? PFA_WALK_GO_ON : w->key == 0 ? PFA_WALK_ARRIVED : PFA_WALK_STUCK;
}

/* Where may a frame have saved its fp? One that a signal interrupted in its last instructions may have taken it back already, and rules go on
 * saying where it was: below the stack pointer, where the kernel leaves a red zone alone. */
static uintptr_t lowest_fp_at(const pfa_walk_t *w)
{
    bool may_be_interrupted = w->words == NULL || !w->words->whole;
    return may_be_interrupted ? w->sp - PFA_UNWIND_RED_ZONE : w->sp;
}

static pfa_walk_outcome_t step_plain(pfa_walk_t *w, const pfa_unwind_step_t *step)
{
    bool is_leaf = step->kind == PFA_RULE_LEAF_SP || step->kind == PFA_RULE_LEAF_FP;
    bool from_fp = step->kind == PFA_RULE_FROM_FP || step->kind == PFA_RULE_LEAF_FP;
    uintptr_t base = from_fp ? w->fp : w->sp;
    uintptr_t cfa = base + (uintptr_t)((intptr_t)step->size * WORD);
    uintptr_t ra_at = base + (uintptr_t)((intptr_t)step->ra_up * WORD);
    uintptr_t fp_at = base + (uintptr_t)((intptr_t)step->fp_up * WORD);
    if (is_leaf && w->lr == 0) {
        return PFA_WALK_STUCK;
    }
    if (cfa == w->sp && is_leaf && step->fp_kept) { /* has not touched the stack */
        return follow(w, w->lr, cfa, w->fp);
    }
    if (cfa <= w->sp || !pfa_walk_reach(w, w->sp, cfa) || (!is_leaf && (ra_at < w->sp || ra_at > cfa - WORD)) ||
        (!step->fp_kept && (fp_at < lowest_fp_at(w) || fp_at > cfa - WORD || !pfa_walk_reach(w, fp_at, cfa)))) {
        return PFA_WALK_STUCK;
    }
    if (w->words != NULL && !is_leaf) {
        pfa_walk_note_frame(w, from_fp, ra_at, pfa_walk_load(ra_at));
        w->fp_at = step->fp_kept ? w->fp_at : fp_at;
    }
    return follow(w, is_leaf ? w->lr : pfa_walk_load(ra_at), cfa, step->fp_kept ? w->fp : pfa_walk_load(fp_at));
}

static pfa_walk_outcome_t step_realigned(pfa_walk_t *w, const pfa_unwind_step_t *step)
{
    uintptr_t cfa_at = w->fp + (uintptr_t)((intptr_t)step->size * WORD);
    uintptr_t fp_at = step->fp_kept ? w->fp : w->fp + (uintptr_t)((intptr_t)step->fp_up * WORD);
    if (cfa_at < w->sp || fp_at < w->sp || !pfa_walk_reach(w, cfa_at, cfa_at + WORD) ||
        !pfa_walk_reach(w, fp_at, fp_at + WORD)) {
        return PFA_WALK_STUCK;
    }
    uintptr_t cfa = pfa_walk_load(cfa_at);
    uintptr_t fp = step->fp_kept ? w->fp : pfa_walk_load(fp_at);
    uintptr_t ra_at = cfa + (uintptr_t)((intptr_t)step->ra_up * WORD);
    if (cfa <= w->sp || ra_at < w->sp || ra_at > cfa - WORD || !pfa_walk_reach(w, w->sp, cfa)) {
        return PFA_WALK_STUCK;
    }
    if (w->words != NULL) {
        pfa_walk_note_frame(w, true, cfa_at, cfa);
        pfa_walk_note(w->words, ra_at, pfa_walk_load(ra_at));
        w->fp_at = step->fp_kept ? w->fp_at : fp_at;
    }
    return follow(w, pfa_walk_load(ra_at), cfa, fp);
}

PFA_NO_ASAN static pfa_walk_outcome_t step_signal(pfa_walk_t *w)
{
    uintptr_t at = w->sp + PFA_UNWIND_SIGCONTEXT_AT;
    if (at % WORD != 0 || !pfa_walk_reach(w, at, at + sizeof(mcontext_t) + offsetof(ucontext_t, uc_mcontext))) {
        return PFA_WALK_STUCK;
    }
    const ucontext_t *context = (const ucontext_t *)at;
    uintptr_t pc = PFA_UNWIND_CONTEXT_PC(context);
    uintptr_t sp = PFA_UNWIND_CONTEXT_SP(context);
    uintptr_t lr = PFA_UNWIND_CONTEXT_LR(context);
    pfa_walk_outcome_t outcome = follow(w, pc + 1, sp, PFA_UNWIND_CONTEXT_FP(context));
    w->lr = pfa_unwind_strip(lr);
    return pc == 0 || outcome != PFA_WALK_GO_ON || !pfa_walk_reach(w, sp, sp + WORD) ? PFA_WALK_STUCK : PFA_WALK_GO_ON;
}

/* By the pair (saved fp, return address) that fp points to. Both ABIs have the outermost frame begin with an fp of 0. */
static pfa_walk_outcome_t step_by_record(pfa_walk_t *w)
{
    if (w->fp == 0) {
        return pfa_unwind_is_code(w->key - 1) ? PFA_WALK_ARRIVED : PFA_WALK_STUCK;
    }
    if (w->fp % WORD != 0 || w->fp < w->sp || !pfa_walk_reach(w, w->fp, w->fp + 2 * WORD)) {
        return PFA_WALK_STUCK;
    }
    uintptr_t ra = pfa_unwind_strip(pfa_walk_load(w->fp + WORD));
    if (!pfa_unwind_is_code(ra - 1)) {
        return PFA_WALK_STUCK;
    }
    w->sp_is_bound = !PFA_UNWIND_RECORD_IS_TOP;
    return follow(w, ra, w->fp + 2 * WORD, pfa_walk_load(w->fp));
}

/* After a step by record on arm64 the pair does not tell where its frame ended. But the frame left to has its own pair,
 * at a known distance from its sp, and fp points to that. */
static bool settle_sp(pfa_walk_t *w, const pfa_unwind_step_t *step)
{
    w->sp_is_bound = false;
    if (step->kind != PFA_RULE_FROM_SP) {
        return step->kind == PFA_RULE_FROM_FP || step->kind == PFA_RULE_REALIGNED || step->kind == PFA_RULE_OUTERMOST ||
               step->kind == PFA_RULE_NO_RULES;
    }
    uintptr_t sp = w->fp - (uintptr_t)((intptr_t)step->fp_up * WORD);
    bool has_pair = !step->fp_kept && step->ra_up == step->fp_up + 1;
    if (!has_pair || sp < w->sp || sp > w->fp) {
        return false;
    }
    w->sp = sp;
    return true;
}

/* Do the words that such a step reads tell all that it depends on? */
static bool is_noted(const pfa_walk_t *w, pfa_unwind_kind_t kind)
{
    return !w->sp_is_bound && (kind == PFA_RULE_FROM_SP || kind == PFA_RULE_FROM_FP || kind == PFA_RULE_REALIGNED ||
                               kind == PFA_RULE_OUTERMOST);
}

/* One step by a rule that the loop does not follow itself, or where it found a bound. */
static PFA_COLD pfa_walk_outcome_t step_by(pfa_walk_t *w, pfa_unwind_rule_t rule, bool may_be_kept)
{
    pfa_unwind_step_t step = pfa_unwind_unpack(rule);
    if (w->words != NULL && !(may_be_kept && is_noted(w, step.kind))) {
        w->words->whole = false;
    }
    if (w->sp_is_bound && !settle_sp(w, &step)) {
        return PFA_WALK_STUCK;
    }
    switch (step.kind) {
    case PFA_RULE_FROM_SP:
    case PFA_RULE_FROM_FP:
    case PFA_RULE_LEAF_SP:
    case PFA_RULE_LEAF_FP:
        return step_plain(w, &step);
    case PFA_RULE_REALIGNED:
        return step_realigned(w, &step);
    case PFA_RULE_SIGNAL:
        return step_signal(w);
    case PFA_RULE_OUTERMOST:
        return PFA_WALK_ARRIVED;
    case PFA_RULE_NO_RULES:
        return step_by_record(w);
    case PFA_RULE_UNKNOWN:
    default:
        return PFA_WALK_STUCK;
    }
}

static pfa_unwind_rule_t lengthen(uint32_t rule)
{
    if ((rule & PFA_SHORT_LONG) != 0) {
        return pfa_unwind_long(rule);
    }
    pfa_unwind_step_t step = {
        .kind = (rule & PFA_SHORT_FROM_FP) != 0 ? PFA_RULE_FROM_FP : PFA_RULE_FROM_SP,
        .fp_kept = (rule & PFA_SHORT_FP_KEPT) != 0,
        .size = (int32_t)PFA_SHORT_SIZE(rule),
        .ra_up = (int32_t)PFA_SHORT_RA_UP(rule),
        .fp_up = (int32_t)PFA_SHORT_FP_UP(rule),
    };
    pfa_unwind_rule_t packed = 0;
    (void)pfa_unwind_pack(&step, &packed);
    return packed;
}

uint32_t pfa_walk_probe_further(const pfa_unwind_entry_t *table, size_t first, uint64_t tag)
{
    for (size_t way = 1; way < PFA_UNWIND_WAYS; way++) {
        uint64_t rest = pfa_load_relaxed(&table[first + way]) ^ tag;
        if (pfa_unwind_is_short(rest)) {
            return (uint32_t)rest;
        }
    }
    return 0;
}

static uint32_t probe(const pfa_unwind_entry_t *table, uintptr_t key)
{
    size_t first = pfa_unwind_set(key);
    uint64_t tag = pfa_unwind_tag(key);
    uint64_t rest = pfa_load_relaxed(&table[first]) ^ tag;
    return pfa_unwind_is_short(rest) ? (uint32_t)rest : pfa_walk_probe_further(table, first, tag);
}

pfa_walk_outcome_t pfa_walk_step(pfa_walk_t *w)
{
    pfa_unwind_entry_t *table = pfa_load_acquire(&pfa_unwind_table);
    uint32_t known = table != NULL ? probe(table, w->key) : 0;
    if (known != 0) {
        return step_by(w, lengthen(known), true);
    }
    uint32_t generation = pfa_unwind_generation();
    bool in_module;
    pfa_unwind_rule_t rule = pfa_unwind_find_rule(w->key, &in_module);
    if (in_module && (known = pfa_unwind_shorten(rule)) != 0) {
        pfa_unwind_keep(w->key, known, generation);
    }
    return step_by(w, rule, in_module);
}
