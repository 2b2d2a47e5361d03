/* The walk. Per frame met before: one probe of the table, one addition, two loads from the stack, three comparisons, no
 * call; everything else is in the cold functions.
 *
 * Reads stack memory only inside [low, high), which `reach` found readable. */
#include "meta/unwind.h"
#include "base/sys.h"
#include "meta/unwind_rule.h"

enum {
    WORD = 8,
    PAGE_SHIFT = 12, /* pages may be larger; none is smaller */
    RANGE_COUNT_BITS = 28,
    FRAME_PAGES_MAX = 2048,
    GAP_PAGES_MAX = 256 /* that a known range is extended over, rather than given up */
};
#define PAGE ((uintptr_t)1 << PAGE_SHIFT)

typedef struct walk {
    pfa_tls_t *tls;
    uintptr_t key;
    uintptr_t sp;
    uintptr_t fp;
    uintptr_t lr; /* 0 if not known: known only where a signal interrupted */
    uintptr_t low;
    uintptr_t high;
    bool sp_is_bound; /* the frame's sp is not known, only that it is not below sp */
} walk_t;

typedef enum outcome { GO_ON, ARRIVED, STUCK } outcome_t;

typedef uintptr_t word_t __attribute__((aligned(1), may_alias));

PFA_NO_ASAN static inline uintptr_t load(uintptr_t address)
{
    return *(const word_t *)address;
}

/* One word, so that a signal handler finds it whole. */
static inline void read_range(walk_t *w)
{
    uint64_t range = w->tls->stack_range;
    w->low = range >> RANGE_COUNT_BITS << PAGE_SHIFT;
    w->high = w->low + (range % ((uint64_t)1 << RANGE_COUNT_BITS) << PAGE_SHIFT);
}

static void write_range(walk_t *w, uintptr_t low, uintptr_t high)
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

/* Makes sure that [from, to) can be read: extends the known range, or begins another. */
static PFA_COLD bool reach(walk_t *w, uintptr_t from, uintptr_t to)
{
    if (from >= to || to >> PFA_UNWIND_PC_BITS != 0 || to - from > FRAME_PAGES_MAX * PAGE) {
        return false;
    }
    if (from >= w->low && to <= w->high) {
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
    write_range(w, low, high);
    return true;
}

static inline bool is_key(uintptr_t key)
{
    return key - 1 < ((uintptr_t)1 << PFA_UNWIND_PC_BITS) - 1;
}

static outcome_t follow(walk_t *w, uintptr_t ra, uintptr_t sp, uintptr_t fp)
{
    w->key = pfa_unwind_strip(ra);
    w->sp = sp;
    w->fp = fp;
    w->lr = 0;
    return is_key(w->key) ? GO_ON : w->key == 0 ? ARRIVED : STUCK;
}

static outcome_t step_plain(walk_t *w, const pfa_unwind_step_t *step)
{
    bool is_leaf = step->kind == PFA_RULE_LEAF_SP || step->kind == PFA_RULE_LEAF_FP;
    bool from_fp = step->kind == PFA_RULE_FROM_FP || step->kind == PFA_RULE_LEAF_FP;
    uintptr_t base = from_fp ? w->fp : w->sp;
    uintptr_t cfa = base + (uintptr_t)((intptr_t)step->size * WORD);
    uintptr_t ra_at = base + (uintptr_t)((intptr_t)step->ra_up * WORD);
    uintptr_t fp_at = base + (uintptr_t)((intptr_t)step->fp_up * WORD);
    if (is_leaf && w->lr == 0) {
        return STUCK;
    }
    if (cfa == w->sp && is_leaf && step->fp_kept) { /* has not touched the stack */
        return follow(w, w->lr, cfa, w->fp);
    }
    if (cfa <= w->sp || !reach(w, w->sp, cfa) || (!is_leaf && (ra_at < w->sp || ra_at > cfa - WORD)) ||
        (!step->fp_kept && (fp_at < w->sp || fp_at > cfa - WORD))) {
        return STUCK;
    }
    return follow(w, is_leaf ? w->lr : load(ra_at), cfa, step->fp_kept ? w->fp : load(fp_at));
}

static outcome_t step_realigned(walk_t *w, const pfa_unwind_step_t *step)
{
    uintptr_t cfa_at = w->fp + (uintptr_t)((intptr_t)step->size * WORD);
    uintptr_t fp_at = step->fp_kept ? w->fp : w->fp + (uintptr_t)((intptr_t)step->fp_up * WORD);
    if (cfa_at < w->sp || fp_at < w->sp || !reach(w, cfa_at, cfa_at + WORD) || !reach(w, fp_at, fp_at + WORD)) {
        return STUCK;
    }
    uintptr_t cfa = load(cfa_at);
    uintptr_t fp = step->fp_kept ? w->fp : load(fp_at);
    uintptr_t ra_at = cfa + (uintptr_t)((intptr_t)step->ra_up * WORD);
    if (cfa <= w->sp || ra_at < w->sp || ra_at > cfa - WORD || !reach(w, w->sp, cfa)) {
        return STUCK;
    }
    return follow(w, load(ra_at), cfa, fp);
}

PFA_NO_ASAN static outcome_t step_signal(walk_t *w)
{
    uintptr_t at = w->sp + PFA_UNWIND_SIGCONTEXT_AT;
    if (at % WORD != 0 || !reach(w, at, at + sizeof(mcontext_t) + offsetof(ucontext_t, uc_mcontext))) {
        return STUCK;
    }
    const ucontext_t *context = (const ucontext_t *)at;
    uintptr_t pc = PFA_UNWIND_CONTEXT_PC(context);
    uintptr_t sp = PFA_UNWIND_CONTEXT_SP(context);
    uintptr_t lr = PFA_UNWIND_CONTEXT_LR(context);
    outcome_t outcome = follow(w, pc + 1, sp, PFA_UNWIND_CONTEXT_FP(context));
    w->lr = pfa_unwind_strip(lr);
    return pc == 0 || outcome != GO_ON || !reach(w, sp, sp + WORD) ? STUCK : GO_ON;
}

/* By the pair (saved fp, return address) that fp points to. Both ABIs have the outermost frame begin with an fp of 0. */
static outcome_t step_by_record(walk_t *w)
{
    if (w->fp == 0) {
        return pfa_unwind_is_code(w->key - 1) ? ARRIVED : STUCK;
    }
    if (w->fp % WORD != 0 || w->fp < w->sp || !reach(w, w->fp, w->fp + 2 * WORD)) {
        return STUCK;
    }
    uintptr_t ra = pfa_unwind_strip(load(w->fp + WORD));
    if (!pfa_unwind_is_code(ra - 1)) {
        return STUCK;
    }
    w->sp_is_bound = !PFA_UNWIND_RECORD_IS_TOP;
    return follow(w, ra, w->fp + 2 * WORD, load(w->fp));
}

/* After a step by record on arm64 the pair does not tell where its frame ended. But the frame left to has its own pair,
 * at a known distance from its sp, and fp points to that. */
static bool settle_sp(walk_t *w, const pfa_unwind_step_t *step)
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

/* One step by a rule that the loop does not follow itself, or where it found a bound. */
static PFA_COLD outcome_t step_by(walk_t *w, pfa_unwind_rule_t rule)
{
    pfa_unwind_step_t step = pfa_unwind_unpack(rule);
    if (w->sp_is_bound && !settle_sp(w, &step)) {
        return STUCK;
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
        return ARRIVED;
    case PFA_RULE_NO_RULES:
        return step_by_record(w);
    case PFA_RULE_UNKNOWN:
    default:
        return STUCK;
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

/* In the other places of the set; 0 if it is not there. */
static PFA_NOINLINE uint32_t probe_further(const pfa_unwind_entry_t *table, size_t first, uint64_t tag)
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
    return pfa_unwind_is_short(rest) ? (uint32_t)rest : probe_further(table, first, tag);
}

/* One step the long way: whatever the frame is. */
static PFA_COLD outcome_t step_slowly(walk_t *w)
{
    pfa_unwind_entry_t *table = pfa_load_acquire(&pfa_unwind_table);
    uint32_t known = table != NULL ? probe(table, w->key) : 0;
    if (known != 0) {
        return step_by(w, lengthen(known));
    }
    uint32_t generation = pfa_unwind_generation();
    bool in_module;
    pfa_unwind_rule_t rule = pfa_unwind_find_rule(w->key, &in_module);
    if (in_module && (known = pfa_unwind_shorten(rule)) != 0) {
        pfa_unwind_keep(w->key, known, generation);
    }
    return step_by(w, rule);
}

/* A relaxed load, but with an address that compilers make no instruction of its own for. The empty statement keeps them
 * from reading twice. */
PFA_INLINE uint64_t read_entry(const pfa_unwind_entry_t *table, size_t i)
{
    uint64_t entry = ((const uint64_t *)table)[i];
    __asm__("" : "+r"(entry));
    return entry;
}

static inline void note(pfa_unwind_words_t *words, uintptr_t at, uintptr_t value)
{
    uint32_t i = words->count;
    if (i == PFA_UNWIND_WORDS) {
        words->whole = false;
        return;
    }
    words->at[i] = at;
    words->value[i] = value;
    words->count = i + 1;
}

/* Reports and leaves frames as long as their rules are known and short and their stack is in the known range: the hot
 * path. Stops at a frame that is not such, unreported. */
PFA_INLINE PFA_NO_ASAN outcome_t stride_by(walk_t *w, uintptr_t *pcs, unsigned *reported, unsigned max,
                                           pfa_unwind_words_t *words)
{
    uintptr_t fp_at = 0;                                                   /* where fp was read */
    const pfa_unwind_entry_t *table = pfa_load_acquire(&pfa_unwind_table); /* with make_table */
    if (PFA_UNLIKELY(table == NULL || w->sp_is_bound)) {
        return GO_ON;
    }
    uintptr_t key = w->key;
    uintptr_t sp = w->sp;
    uintptr_t fp = w->fp;
    uintptr_t ra = key; /* as it was saved: a step less on the way from one rule to the next */
    const uintptr_t high = w->high;
    bool arrived = false;
    unsigned count = *reported;
    while (PFA_LIKELY(count < max)) {
        size_t first = pfa_unwind_set(ra);
        uint64_t rule = read_entry(table, first); /* the tag is in bits that nothing of the rule is in */
        uint64_t tag = pfa_unwind_tag(key);
        if (PFA_UNLIKELY(!pfa_unwind_is_short(rule ^ tag)) && (rule = probe_further(table, first, tag)) == 0) {
            break;
        }
        uintptr_t base = (rule & PFA_SHORT_FROM_FP) != 0 ? fp : sp;
        uintptr_t cfa = base + PFA_SHORT_SIZE(rule) * WORD;
        if (PFA_UNLIKELY((rule & PFA_SHORT_LONG) != 0 || base - sp >= high - sp || cfa > high)) {
            arrived = (rule & PFA_SHORT_OUTERMOST) == PFA_SHORT_OUTERMOST;
            break;
        }
        ra = load(base + PFA_SHORT_RA_UP(rule) * WORD);
        uintptr_t saved_fp = load(base + PFA_SHORT_FP_UP(rule) * WORD);
        if (words != NULL) {
            if ((rule & PFA_SHORT_FROM_FP) != 0) {
                fp_at != 0 ? note(words, fp_at, fp) : (void)(words->uses_fp = true);
            }
            note(words, base + PFA_SHORT_RA_UP(rule) * WORD, ra);
            fp_at = (rule & PFA_SHORT_FP_KEPT) != 0 ? fp_at : base + PFA_SHORT_FP_UP(rule) * WORD;
        }
        pcs[count++] = key;
        key = pfa_unwind_strip(ra);
        fp = (rule & PFA_SHORT_FP_KEPT) != 0 ? fp : saved_fp;
        sp = cfa;
        if (PFA_UNLIKELY(!is_key(key))) {
            break;
        }
    }
    if (arrived) {
        pcs[count++] = key;
        *reported = count;
        return ARRIVED;
    }
    w->lr = count == *reported ? w->lr : 0;
    w->key = key;
    w->sp = sp;
    w->fp = fp;
    *reported = count;
    return is_key(key) ? GO_ON : key == 0 ? ARRIVED : STUCK;
}

static outcome_t stride(walk_t *w, uintptr_t *pcs, unsigned *reported, unsigned max)
{
    return stride_by(w, pcs, reported, max, NULL);
}

static PFA_NOINLINE outcome_t stride_noting(walk_t *w, uintptr_t *pcs, unsigned *reported, unsigned max,
                                            pfa_unwind_words_t *words)
{
    return stride_by(w, pcs, reported, max, words);
}

static bool begin(walk_t *w, pfa_tls_t *tls, const pfa_unwind_start_t *start)
{
    *w = (walk_t){.tls = tls, .key = start->pc, .sp = start->sp & ~(uintptr_t)1, .fp = start->fp};
    read_range(w);
    return (w->sp - w->low < w->high - w->low || reach(w, w->sp, w->sp + WORD)) && is_key(w->key) &&
           (start->sp % 2 == 0 || step_slowly(w) == GO_ON);
}

PFA_INLINE unsigned unwind(pfa_tls_t *tls, const pfa_unwind_start_t *start, uintptr_t *pcs, unsigned max,
                           pfa_unwind_end_t *end, pfa_unwind_words_t *words)
{
    walk_t w;
    bool begun = begin(&w, tls, start);
    if (words != NULL) {
        words->count = 0;
        words->uses_fp = false;
        words->whole = begun && start->sp % 2 == 0;
    }
    unsigned count = 0;
    if (!begun) {
        *end = PFA_UNWIND_BROKEN;
        if (max == 0 || start->sp % 2 != 0 || !is_key(start->pc)) {
            return 0;
        }
        pcs[0] = start->pc;
        return 1;
    }
    for (;;) {
        outcome_t outcome = words != NULL ? stride_noting(&w, pcs, &count, max, words) : stride(&w, pcs, &count, max);
        if (outcome == GO_ON && count < max) {
            pcs[count++] = w.key;
            outcome = step_slowly(&w);
            if (words != NULL) {
                words->whole = false;
            }
        } else if (outcome == GO_ON) {
            *end = PFA_UNWIND_TRUNCATED;
            return count;
        }
        if (outcome != GO_ON) {
            *end = outcome == ARRIVED ? PFA_UNWIND_COMPLETE : PFA_UNWIND_BROKEN;
            return count;
        }
    }
}

unsigned pfa_unwind(pfa_tls_t *tls, const pfa_unwind_start_t *start, uintptr_t *pcs, unsigned max,
                    pfa_unwind_end_t *end)
{
    return unwind(tls, start, pcs, max, end, NULL);
}

unsigned pfa_unwind_noting(pfa_tls_t *tls, const pfa_unwind_start_t *start, uintptr_t *pcs, unsigned max,
                           pfa_unwind_end_t *end, pfa_unwind_words_t *words)
{
    return unwind(tls, start, pcs, max, end, words);
}

PFA_NO_ASAN bool pfa_unwind_words_hold(const pfa_unwind_words_t *words)
{
    for (uint32_t i = 0; i < words->count; i++) {
        if (load(words->at[i]) != words->value[i]) {
            return false;
        }
    }
    return true;
}
