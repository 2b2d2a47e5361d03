/* Inside the unwinder: a walk under way, shared by the hot loop (meta/unwind.c) and the steps that it leaves to others
 * (meta/unwind_slow.c). For nobody else. */
#ifndef PFA_META_UNWIND_WALK_H
#define PFA_META_UNWIND_WALK_H

#include "base/compiler.h"
#include "meta/unwind.h"
#include "meta/unwind_rule.h"

enum {
    PFA_WALK_WORD = 8,
    PFA_WALK_PAGE_SHIFT = 12, /* pages may be larger; none is smaller */
};

typedef struct pfa_walk {
    pfa_tls_t *tls;
    uintptr_t key;
    uintptr_t sp;
    uintptr_t fp;
    uintptr_t lr;  /* 0 if not known: known only where a signal interrupted */
    uintptr_t low; /* [low, high) of the stack can be read */
    uintptr_t high;
    pfa_unwind_words_t *words; /* NULL: nothing is noted */
    uintptr_t fp_at;           /* where fp was read; 0: it is the start's */
    bool sp_is_bound;          /* the frame's sp is not known, only that it is not below sp */
} pfa_walk_t;

typedef enum pfa_walk_outcome { PFA_WALK_GO_ON, PFA_WALK_ARRIVED, PFA_WALK_STUCK } pfa_walk_outcome_t;

/* The thread's range of the stack that is in use, as the walk's. */
void pfa_walk_read_range(pfa_walk_t *w);
/* Makes sure that [from, to) can be read: extends the known range, takes up another that was known, or begins one. */
PFA_COLD bool pfa_walk_reach(pfa_walk_t *w, uintptr_t from, uintptr_t to);
/* One step the long way: whatever the frame is. */
PFA_COLD pfa_walk_outcome_t pfa_walk_step(pfa_walk_t *w);
/* In the places of a set behind the first; 0 if it is not there. */
PFA_NOINLINE uint32_t pfa_walk_probe_further(const pfa_unwind_entry_t *table, size_t first, uint64_t tag);

typedef uintptr_t pfa_walk_word_t __attribute__((aligned(1), may_alias));

PFA_NO_ASAN static inline uintptr_t pfa_walk_load(uintptr_t address)
{
    return *(const pfa_walk_word_t *)address;
}

static inline bool pfa_walk_is_key(uintptr_t key)
{
    return key - 1 < ((uintptr_t)1 << PFA_UNWIND_PC_BITS) - 1;
}

static inline void pfa_walk_note(pfa_unwind_words_t *words, uintptr_t at, uintptr_t value)
{
    uint32_t i = words->count;
    uint64_t up = (at - words->sp) / PFA_WALK_WORD;
    if (i == PFA_UNWIND_WORDS || up >> PFA_UNWIND_UP_BITS != 0 || (at - words->sp) % PFA_WALK_WORD != 0) {
        words->whole = false;
        return;
    }
    words->word[i] = up << (64 - PFA_UNWIND_UP_BITS) | value << PFA_UNWIND_UP_BITS >> PFA_UNWIND_UP_BITS;
    words->count = i + 1;
}

/* What a frame was left by: its return address, and fp if the frame was found by that. */
static inline void pfa_walk_note_frame(pfa_walk_t *w, bool from_fp, uintptr_t ra_at, uintptr_t ra)
{
    if (from_fp && w->fp_at != 0) {
        pfa_walk_note(w->words, w->fp_at, w->fp);
    } else if (from_fp) {
        w->words->uses_fp = true;
    }
    pfa_walk_note(w->words, ra_at, ra);
}

#endif
