/* Inside the unwinder: what is known about a program counter, as one number, and who finds and keeps it.
 *
 * key    a program counter as it stands in a stack: a return address, or an interrupted instruction plus one. The
 *        instruction is at key - 1.
 * rule   how to get from a frame's registers to its caller's. All distances are in words of 8 bytes. "Up" counts from the
 *        frame's base register, sp or fp.
 *
 *     caller's sp = CFA  ->  +----------------+
 *                            | return address |  base + 8 * ra_up
 *                            | saved fp       |  base + 8 * fp_up
 *                            |      ...       |
 *     base (sp or fp)    ->  +----------------+  CFA = base + 8 * size
 */
#ifndef PFA_META_UNWIND_RULE_H
#define PFA_META_UNWIND_RULE_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/unwind_arch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pfa_unwind_kind {
    PFA_RULE_FROM_SP = 1,
    PFA_RULE_FROM_FP,
    PFA_RULE_LEAF_SP, /* the return address is still in the link register: interrupted before it was saved */
    PFA_RULE_LEAF_FP,
    PFA_RULE_REALIGNED, /* CFA = *(fp + 8 * size); the return address ends there; fp_up counts from fp */
    PFA_RULE_SIGNAL,    /* the return from a handler: what was interrupted is on the stack */
    PFA_RULE_OUTERMOST,
    PFA_RULE_NO_RULES, /* code without rules: only the frame pointer can help */
    PFA_RULE_UNKNOWN   /* rules that need what is not followed here */
} pfa_unwind_kind_t;

/* The long form: kind 4 bits, fp_kept 1, size 20, ra_up 20, fp_up 19 (the last three signed). Never 0. */
typedef uint64_t pfa_unwind_rule_t;

typedef struct pfa_unwind_step {
    pfa_unwind_kind_t kind;
    bool fp_kept; /* the caller's fp is still in its register */
    int32_t size;
    int32_t ra_up;
    int32_t fp_up;
} pfa_unwind_step_t;

/* False if a distance does not fit. */
bool pfa_unwind_pack(const pfa_unwind_step_t *step, pfa_unwind_rule_t *rule);
pfa_unwind_step_t pfa_unwind_unpack(pfa_unwind_rule_t rule);

/* The short form, in 30 bits, of the frequent kinds with small distances; all others are PFA_SHORT_LONG and the number of
 * a long form.
 *
 *      bit 0        1         2         3...    ...     ...29
 *      from fp      long      fp kept   size    ra      fp
 *
 * The last two are ra_up and fp_up where compilers save both at the bottom of a frame. Where they save them at its top, they
 * are counted down from the topmost word. So they are small in large frames too. */
#define PFA_SHORT_BITS 30
#define PFA_SHORT_RA_SHIFT (3 + PFA_UNWIND_SIZE_BITS)
#define PFA_SHORT_FP_SHIFT (PFA_SHORT_RA_SHIFT + PFA_UNWIND_RA_BITS)
#define PFA_SHORT_FROM_FP 1u
#define PFA_SHORT_LONG 2u
#define PFA_SHORT_OUTERMOST (PFA_SHORT_LONG | PFA_SHORT_FROM_FP) /* every stack ends with it: it has no number */
#define PFA_SHORT_FP_KEPT 4u
#define PFA_SHORT_FIELD(rule, shift, bits) (((rule) >> (shift)) & ((1u << (bits)) - 1))
#define PFA_SHORT_UP(rule, field) (PFA_UNWIND_SAVED_AT_TOP ? PFA_SHORT_SIZE(rule) - 1 - (field) : (field))
#define PFA_SHORT_SIZE(rule) PFA_SHORT_FIELD(rule, 3, PFA_UNWIND_SIZE_BITS)
#define PFA_SHORT_RA_UP(rule) PFA_SHORT_UP(rule, PFA_SHORT_FIELD(rule, PFA_SHORT_RA_SHIFT, PFA_UNWIND_RA_BITS))
#define PFA_SHORT_FP_UP(rule) PFA_SHORT_UP(rule, PFA_SHORT_FIELD(rule, PFA_SHORT_FP_SHIFT, PFA_UNWIND_FP_BITS))
_Static_assert(PFA_SHORT_FP_SHIFT + PFA_UNWIND_FP_BITS == PFA_SHORT_BITS, "the three distances fill the short form");

/* The table of rules by key: sets of four words, each the part of the key that the set does not tell and a short rule. A
 * word holds all there is to an entry, so threads read and write entries without order or lock. */
#define PFA_UNWIND_SET_BITS 14
#define PFA_UNWIND_WAYS 4
typedef _Atomic uint64_t pfa_unwind_entry_t;

/* The first word of its set. Bits above PFA_UNWIND_PC_BITS have no part in it. */
static inline size_t pfa_unwind_set(uintptr_t key)
{
    const uintptr_t mask = (((uintptr_t)1 << PFA_UNWIND_SET_BITS) - 1) << PFA_UNWIND_PC_ZEROS;
    return (key & mask) * PFA_UNWIND_WAYS >> PFA_UNWIND_PC_ZEROS;
}

/* An entry is the key's tag, which leaves the low bits free, and the rule in those. */
static inline uint64_t pfa_unwind_tag(uintptr_t key)
{
    uint64_t high = (uint64_t)key >> (PFA_UNWIND_SET_BITS + PFA_UNWIND_PC_ZEROS) << PFA_SHORT_BITS;
    return high | (uint64_t)key % (1 << PFA_UNWIND_PC_ZEROS) << (64 - PFA_UNWIND_PC_ZEROS) % 64;
}
_Static_assert(PFA_UNWIND_PC_BITS - PFA_UNWIND_SET_BITS + PFA_SHORT_BITS <= 64, "set and tag hold the whole key");

static inline bool pfa_unwind_is_short(uint64_t entry_without_tag)
{
    return entry_without_tag - 1 < ((uint64_t)1 << PFA_SHORT_BITS) - 1;
}

/* The table, or NULL as long as there is none; made by pfa_unwind_keep. */
extern _Atomic(pfa_unwind_entry_t *) pfa_unwind_table;

/* The long form of a short rule that is marked PFA_SHORT_LONG. */
pfa_unwind_rule_t pfa_unwind_long(uint32_t short_rule);
uint32_t pfa_unwind_shorten(pfa_unwind_rule_t rule); /* 0: no room for another long form */
void pfa_unwind_keep(uintptr_t key, uint32_t short_rule, uint32_t generation);
uint32_t pfa_unwind_generation(void);
/* A module that rules were looked up in: where it begins, and a number that is the same only for the same module. */
void pfa_unwind_met_module(uintptr_t start, uint64_t identity);

/* Reads the rule of a key from the module's .eh_frame. *in_module: may it be kept? Code made at run time may not. */
pfa_unwind_rule_t pfa_unwind_find_rule(uintptr_t key, bool *in_module);
/* Does a loaded module's code lie there? */
bool pfa_unwind_is_code(uintptr_t pc);

#endif
