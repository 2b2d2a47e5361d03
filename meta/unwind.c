/* The walk. Per frame met before: one probe of the table, one addition, two loads from the stack, three comparisons, no
 * call; everything else is in the cold functions of meta/unwind_slow.c. */
#include "meta/unwind.h"
#include "meta/unwind_walk.h"

enum { WORD = PFA_WALK_WORD };

/* A relaxed load, but with an address that compilers make no instruction of its own for. The empty statement keeps them
 * from reading twice. */
PFA_INLINE uint64_t read_entry(const pfa_unwind_entry_t *table, size_t i)
{
    uint64_t entry = ((const uint64_t *)table)[i];
    __asm__("" : "+r"(entry));
    return entry;
}

/* Reports and leaves frames as long as their rules are known and short and their stack is in the known range: the hot
 * path. Stops at a frame that is not such, unreported. */
PFA_INLINE PFA_NO_ASAN pfa_walk_outcome_t stride_by(pfa_walk_t *w, uintptr_t *pcs, unsigned *reported, unsigned max,
                                                    bool noting)
{
    const pfa_unwind_entry_t *table = pfa_load_acquire(&pfa_unwind_table); /* with make_table */
    if (PFA_UNLIKELY(table == NULL || w->sp_is_bound)) {
        return PFA_WALK_GO_ON;
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
        if (PFA_UNLIKELY(!pfa_unwind_is_short(rule ^ tag)) && (rule = pfa_walk_probe_further(table, first, tag)) == 0) {
            break;
        }
        uintptr_t base = (rule & PFA_SHORT_FROM_FP) != 0 ? fp : sp;
        uintptr_t cfa = base + PFA_SHORT_SIZE(rule) * WORD;
        if (PFA_UNLIKELY((rule & PFA_SHORT_LONG) != 0 || base - sp >= high - sp || cfa > high)) {
            arrived = (rule & PFA_SHORT_OUTERMOST) == PFA_SHORT_OUTERMOST;
            break;
        }
        ra = pfa_walk_load(base + PFA_SHORT_RA_UP(rule) * WORD);
        uintptr_t saved_fp = pfa_walk_load(base + PFA_SHORT_FP_UP(rule) * WORD);
        if (noting) {
            w->fp = fp;
            pfa_walk_note_frame(w, (rule & PFA_SHORT_FROM_FP) != 0, base + PFA_SHORT_RA_UP(rule) * WORD, ra);
            w->fp_at = (rule & PFA_SHORT_FP_KEPT) != 0 ? w->fp_at : base + PFA_SHORT_FP_UP(rule) * WORD;
        }
        pcs[count++] = key;
        key = pfa_unwind_strip(ra);
        fp = (rule & PFA_SHORT_FP_KEPT) != 0 ? fp : saved_fp;
        sp = cfa;
        if (PFA_UNLIKELY(!pfa_walk_is_key(key))) {
            break;
        }
    }
    if (arrived) {
        pcs[count++] = key;
        *reported = count;
        return PFA_WALK_ARRIVED;
    }
    w->lr = count == *reported ? w->lr : 0;
    w->key = key;
    w->sp = sp;
    w->fp = fp;
    *reported = count;
    return pfa_walk_is_key(key) ? PFA_WALK_GO_ON : key == 0 ? PFA_WALK_ARRIVED : PFA_WALK_STUCK;
}

/* Clang checks what is inlined as its caller is checked: so none of these is. */
PFA_NO_ASAN static pfa_walk_outcome_t stride(pfa_walk_t *w, uintptr_t *pcs, unsigned *reported, unsigned max)
{
    return stride_by(w, pcs, reported, max, false);
}

PFA_NO_ASAN static PFA_NOINLINE pfa_walk_outcome_t stride_noting(pfa_walk_t *w, uintptr_t *pcs, unsigned *reported,
                                                                 unsigned max)
{
    return stride_by(w, pcs, reported, max, true);
}

static bool begin(pfa_walk_t *w, pfa_tls_t *tls, const pfa_unwind_start_t *start, pfa_unwind_words_t *words)
{
    *w = (pfa_walk_t){.tls = tls, .key = start->pc, .sp = start->sp & ~(uintptr_t)1, .fp = start->fp, .words = words};
    if (words != NULL) {
        words->sp = w->sp;
        words->count = 0;
        words->uses_fp = false;
        words->whole = true;
    }
    pfa_walk_read_range(w);
    return (w->sp - w->low < w->high - w->low || pfa_walk_reach(w, w->sp, w->sp + WORD)) && pfa_walk_is_key(w->key) &&
           (start->sp % 2 == 0 || pfa_walk_step(w) == PFA_WALK_GO_ON);
}

/* May the words be read again, one after another, as long as they are the same? The place of each follows from those
 * before it, so where these are the same it belongs to a frame of the stack again. Not so the last one, if no rule said
 * that the stack ends there: a stack made by hand may have ended before. Then it has to be in the page of another. */
static bool may_be_kept(const pfa_walk_t *w, pfa_walk_outcome_t outcome)
{
    const pfa_unwind_words_t *words = w->words;
    if (!words->whole || outcome == PFA_WALK_STUCK) {
        return false;
    }
    if (outcome == PFA_WALK_GO_ON || w->key != 0) {
        return true;
    }
    uintptr_t last = words->sp + pfa_unwind_word_up(words->word[words->count - 1]) * WORD;
    uintptr_t other =
        words->count < 2 ? words->sp : words->sp + pfa_unwind_word_up(words->word[words->count - 2]) * WORD;
    return last >> PFA_WALK_PAGE_SHIFT == other >> PFA_WALK_PAGE_SHIFT;
}

PFA_INLINE PFA_NO_ASAN unsigned unwind(pfa_tls_t *tls, const pfa_unwind_start_t *start, uintptr_t *pcs, unsigned max,
                                       pfa_unwind_end_t *end, pfa_unwind_words_t *words)
{
    pfa_walk_t w;
    unsigned count = 0;
    if (!begin(&w, tls, start, words)) {
        *end = PFA_UNWIND_BROKEN;
        if (words != NULL) {
            words->whole = false;
        }
        if (max == 0 || start->sp % 2 != 0 || !pfa_walk_is_key(start->pc)) {
            return 0;
        }
        pcs[0] = start->pc;
        return 1;
    }
    pfa_walk_outcome_t outcome;
    do {
        outcome = words != NULL ? stride_noting(&w, pcs, &count, max) : stride(&w, pcs, &count, max);
        if (outcome != PFA_WALK_GO_ON || count == max) {
            break;
        }
        pcs[count++] = w.key;
        outcome = pfa_walk_step(&w);
    } while (outcome == PFA_WALK_GO_ON);
    if (words != NULL) {
        words->whole = may_be_kept(&w, outcome);
    }
    *end = outcome == PFA_WALK_ARRIVED ? PFA_UNWIND_COMPLETE
           : outcome == PFA_WALK_STUCK ? PFA_UNWIND_BROKEN
                                       : PFA_UNWIND_TRUNCATED;
    return count;
}

PFA_NO_ASAN unsigned pfa_unwind(pfa_tls_t *tls, const pfa_unwind_start_t *start, uintptr_t *pcs, unsigned max,
                                pfa_unwind_end_t *end)
{
    return unwind(tls, start, pcs, max, end, NULL);
}

PFA_NO_ASAN unsigned pfa_unwind_noting(pfa_tls_t *tls, const pfa_unwind_start_t *start, uintptr_t *pcs, unsigned max,
                                       pfa_unwind_end_t *end, pfa_unwind_words_t *words)
{
    return unwind(tls, start, pcs, max, end, words);
}
