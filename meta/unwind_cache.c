/* Keeps the rules that were found, by program counter; see meta/unwind_rule.h for the forms.
 *
 * All state is words that are read and written one by one, whole. An entry that is lost (two threads take the same place,
 * a thread dies between two stores) is found again; one that is stale is removed:
 *
 *     keep:    note the generation, find, store the entry, fence, look at the generation; if it changed, take it out
 *     forget:  change the generation, fence, clear every entry
 *
 * Either keep's store comes before forget's clearing of that place, or keep sees the new generation. */
#include "base/sys.h"
#include "meta/unwind.h"
#include "meta/unwind_rule.h"

#include <sys/mman.h>

#define ENTRIES ((size_t)PFA_UNWIND_WAYS << PFA_UNWIND_SET_BITS)
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

enum { LONG_BITS = 12, LONG_PROBES = 32, MODULE_BITS = 10, MODULE_PROBES = 16 };

_Atomic(pfa_unwind_entry_t *) pfa_unwind_table;
static _Atomic uint32_t generation;
static _Atomic uint32_t next_way;
/* Rules too long for an entry, each once, for good: they are true of no place in particular. */
static _Atomic uint64_t long_forms[1 << LONG_BITS];
/* Modules by where they begin. */
static struct {
    _Atomic uintptr_t start;
    _Atomic uint64_t identity;
} modules[1 << MODULE_BITS];

enum { SIZE_BITS = 20, RA_BITS = 20, FP_BITS = 19 };

static bool fits(int32_t value, unsigned bits)
{
    return value >= -(1 << (bits - 1)) && value < 1 << (bits - 1);
}

bool pfa_unwind_pack(const pfa_unwind_step_t *step, pfa_unwind_rule_t *rule)
{
    if (!fits(step->size, SIZE_BITS) || !fits(step->ra_up, RA_BITS) || !fits(step->fp_up, FP_BITS)) {
        return false;
    }
    uint64_t packed = (uint32_t)step->fp_up & ((1u << FP_BITS) - 1);
    packed = packed << RA_BITS | ((uint32_t)step->ra_up & ((1u << RA_BITS) - 1));
    packed = packed << SIZE_BITS | ((uint32_t)step->size & ((1u << SIZE_BITS) - 1));
    *rule = packed << 5 | (uint64_t)step->fp_kept << 4 | (uint64_t)step->kind;
    return true;
}

static int32_t signed_field(uint64_t rule, unsigned shift, unsigned bits)
{
    return (int32_t)((int64_t)(rule << (64 - shift - bits)) >> (64 - bits));
}

pfa_unwind_step_t pfa_unwind_unpack(pfa_unwind_rule_t rule)
{
    return (pfa_unwind_step_t){
        .kind = (pfa_unwind_kind_t)(rule & 15),
        .fp_kept = (rule >> 4 & 1) != 0,
        .size = signed_field(rule, 5, SIZE_BITS),
        .ra_up = signed_field(rule, 5 + SIZE_BITS, RA_BITS),
        .fp_up = signed_field(rule, 5 + SIZE_BITS + RA_BITS, FP_BITS),
    };
}

/* The inverse of PFA_SHORT_UP. */
static int32_t short_distance(const pfa_unwind_step_t *step, int32_t up)
{
    return PFA_UNWIND_SAVED_AT_TOP ? step->size - 1 - up : up;
}

/* In the frame, and short enough? */
static bool is_near(const pfa_unwind_step_t *step, int32_t up, unsigned bits)
{
    return up >= 0 && up < step->size && short_distance(step, up) < 1 << bits;
}

/* What the walk does without checks is checked here: all it reads lies between the base and the frame's end. */
static bool is_small(const pfa_unwind_step_t *step)
{
    return (step->kind == PFA_RULE_FROM_SP || step->kind == PFA_RULE_FROM_FP) && step->size > 0 &&
           step->size < 1 << PFA_UNWIND_SIZE_BITS && is_near(step, step->ra_up, PFA_UNWIND_RA_BITS) &&
           (step->fp_kept || is_near(step, step->fp_up, PFA_UNWIND_FP_BITS));
}

static uint32_t number_of_long(pfa_unwind_rule_t rule)
{
    uint32_t place = (uint32_t)(rule * SPREAD >> (64 - LONG_BITS));
    for (unsigned probe = 0; probe < LONG_PROBES; probe++) {
        uint32_t number = (place + probe) % (1u << LONG_BITS);
        uint64_t there = pfa_load_relaxed(&long_forms[number]);
        if (there == 0 && pfa_cas_acq_rel(&long_forms[number], &there, rule)) {
            there = rule;
        }
        if (there == rule) {
            return number << 3 | PFA_SHORT_LONG;
        }
    }
    return 0;
}

uint32_t pfa_unwind_shorten(pfa_unwind_rule_t rule)
{
    pfa_unwind_step_t step = pfa_unwind_unpack(rule);
    if (step.kind == PFA_RULE_OUTERMOST) {
        return PFA_SHORT_OUTERMOST;
    }
    if (!is_small(&step)) {
        return number_of_long(rule);
    }
    uint32_t ra = (uint32_t)short_distance(&step, step.ra_up);
    uint32_t fp = step.fp_kept ? 0 : (uint32_t)short_distance(&step, step.fp_up); /* 0: some word, read and not used */
    return (step.kind == PFA_RULE_FROM_FP ? PFA_SHORT_FROM_FP : 0) | (step.fp_kept ? PFA_SHORT_FP_KEPT : 0) |
           (uint32_t)step.size << 3 | ra << PFA_SHORT_RA_SHIFT | fp << PFA_SHORT_FP_SHIFT;
}

pfa_unwind_rule_t pfa_unwind_long(uint32_t short_rule)
{
    if (short_rule == PFA_SHORT_OUTERMOST) {
        return (pfa_unwind_rule_t)PFA_RULE_OUTERMOST;
    }
    return pfa_load_relaxed(&long_forms[short_rule >> 3]);
}

static PFA_COLD pfa_unwind_entry_t *make_table(void)
{
    pfa_unwind_entry_t *none = NULL;
    void *memory;
    if (pfa_sys_map(NULL, ENTRIES * sizeof(pfa_unwind_entry_t), PROT_READ | PROT_WRITE, MAP_NORESERVE, &memory) != 0) {
        return NULL;
    }
    if (!pfa_cas_acq_rel(&pfa_unwind_table, &none, memory)) {
        (void)pfa_sys_unmap(memory, ENTRIES * sizeof(pfa_unwind_entry_t));
        return none;
    }
    return memory;
}

uint32_t pfa_unwind_generation(void)
{
    return pfa_load_relaxed(&generation);
}

void pfa_unwind_keep(uintptr_t key, uint32_t short_rule, uint32_t found_in)
{
    pfa_unwind_entry_t *table = pfa_load_acquire(&pfa_unwind_table);
    if (table == NULL && (table = make_table()) == NULL) {
        return;
    }
    pfa_unwind_entry_t *set = table + pfa_unwind_set(key);
    uint64_t entry = pfa_unwind_tag(key) ^ short_rule;
    pfa_unwind_entry_t *place = NULL;
    for (unsigned way = 0; way < PFA_UNWIND_WAYS && place == NULL; way++) {
        uint64_t there = pfa_load_relaxed(&set[way]);
        place = there == 0 || there == entry ? &set[way] : NULL;
    }
    if (place == NULL) {
        place = &set[pfa_add_relaxed(&next_way, 1) % PFA_UNWIND_WAYS];
    }
    pfa_store_relaxed(place, entry);
    pfa_fence_seq_cst(); /* with the one in pfa_unwind_forget */
    if (pfa_load_relaxed(&generation) != found_in) {
        (void)pfa_cas_acq_rel(place, &entry, 0);
    }
}

void pfa_unwind_forget(void)
{
    pfa_unwind_entry_t *table = pfa_load_acquire(&pfa_unwind_table);
    (void)pfa_add_relaxed(&generation, 1);
    pfa_fence_seq_cst(); /* with the one in pfa_unwind_keep */
    for (size_t i = 0; table != NULL && i < ENTRIES; i++) {
        if (pfa_load_relaxed(&table[i]) != 0) { /* leaves pages that nothing was written to alone */
            pfa_store_relaxed(&table[i], 0);
        }
    }
}

void pfa_unwind_met_module(uintptr_t start, uint64_t identity)
{
    size_t place = (size_t)(start * SPREAD >> (64 - MODULE_BITS));
    for (unsigned probe = 0; probe < MODULE_PROBES; probe++) {
        size_t i = (place + probe) % (1u << MODULE_BITS);
        uintptr_t there = pfa_load_relaxed(&modules[i].start);
        if (there == 0 && pfa_cas_acq_rel(&modules[i].start, &there, start)) {
            there = start;
        }
        if (there == start) {
            uint64_t before = pfa_load_relaxed(&modules[i].identity);
            if (before != identity) {
                pfa_store_relaxed(&modules[i].identity, identity);
                if (before != 0) {
                    pfa_unwind_forget();
                }
            }
            return;
        }
    }
}
