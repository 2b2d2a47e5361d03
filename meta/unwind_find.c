/* Finds the rule of a program counter: the module it lies in, the row of its unwind table, the rule made of that. Slow
 * (a microsecond or so) and without state; meta/unwind_cache.c keeps what is found. Takes no lock: glibc's
 * _dl_find_object is made for that, also while modules come and go. */
#define _GNU_SOURCE 1
#include "base/sys.h"
#include "meta/unwind_cfi.h"
#include "meta/unwind_rule.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>

enum { WORD = 8, VDSO_MAX = 1 << 16 };

/* Does the code that key points to make the system call rt_sigreturn? */
PFA_NO_ASAN static bool is_sigreturn(uintptr_t key)
{
    typedef uint64_t unaligned_t __attribute__((aligned(1), may_alias));
    return pfa_sys_can_read((const void *)key) && *(const unaligned_t *)key == PFA_UNWIND_SIGRETURN;
}

PFA_NO_ASAN static bool is_linkage(uintptr_t pc)
{
    return pc % sizeof(uint32_t) == 0 && pfa_sys_can_read((const void *)(pc & ~(uintptr_t)(WORD - 1))) &&
           pfa_unwind_is_linkage(*(const uint32_t *)pc);
}

/* a + b, unsigned so that nonsense wraps around. */
static bool in_words(int64_t a, int64_t b, int32_t *words)
{
    int64_t bytes = (int64_t)((uint64_t)a + (uint64_t)b);
    *words = (int32_t)(bytes / WORD);
    return bytes % WORD == 0 && *words == bytes / WORD;
}

static bool set_base(const pfa_cfi_row_t *row, pfa_unwind_step_t *step)
{
    switch (row->cfa_from) {
    case PFA_CFA_SP:
        step->kind = PFA_RULE_FROM_SP;
        return true;
    case PFA_CFA_FP:
        step->kind = PFA_RULE_FROM_FP;
        return true;
    case PFA_CFA_AT_FP:
        step->kind = PFA_RULE_REALIGNED;
        return true;
    case PFA_CFA_NONE:
    default:
        return false;
    }
}

static bool set_ra(const pfa_cfi_row_t *row, pfa_unwind_step_t *step)
{
    bool from_top = step->kind == PFA_RULE_REALIGNED;
    if (row->ra.how == PFA_CFI_AT_CFA) {
        return in_words(from_top ? 0 : row->cfa_offset, row->ra.offset, &step->ra_up);
    }
    if (row->ra.how != PFA_CFI_KEPT || from_top) {
        return false;
    }
    step->kind = step->kind == PFA_RULE_FROM_SP ? PFA_RULE_LEAF_SP : PFA_RULE_LEAF_FP;
    return true;
}

static bool set_fp(const pfa_cfi_row_t *row, pfa_unwind_step_t *step)
{
    switch (row->fp.how) {
    case PFA_CFI_KEPT:
    case PFA_CFI_UNDEFINED:
        step->fp_kept = true;
        return true;
    case PFA_CFI_AT_CFA:
        return step->kind != PFA_RULE_REALIGNED && in_words(row->cfa_offset, row->fp.offset, &step->fp_up);
    case PFA_CFI_AT_FP:
        return step->kind != PFA_RULE_FROM_SP && step->kind != PFA_RULE_LEAF_SP &&
               in_words(0, row->fp.offset, &step->fp_up);
    case PFA_CFI_ELSEWHERE:
    default:
        return false;
    }
}

static pfa_unwind_rule_t plain(pfa_unwind_kind_t kind)
{
    pfa_unwind_rule_t rule = 0;
    (void)pfa_unwind_pack(&(pfa_unwind_step_t){.kind = kind}, &rule);
    return rule;
}

static pfa_unwind_rule_t make_rule(const pfa_cfi_row_t *row)
{
    if (row->ra.how == PFA_CFI_UNDEFINED) {
        return plain(PFA_RULE_OUTERMOST);
    }
    pfa_unwind_step_t step = {.fp_kept = false};
    pfa_unwind_rule_t rule;
    if (set_base(row, &step) && in_words(row->cfa_offset, 0, &step.size) && set_ra(row, &step) && set_fp(row, &step) &&
        pfa_unwind_pack(&step, &rule)) {
        return rule;
    }
    return plain(PFA_RULE_UNKNOWN);
}

/* May the kernel have put code there? Where it says nothing of a vdso, its code for signals may be anywhere. */
static bool may_be_kernels(uintptr_t key)
{
    uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
    return vdso == 0 || key - vdso < VDSO_MAX;
}

static uint64_t identity_of(const struct dl_find_object *object)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t sum = (uintptr_t)object->dlfo_map_end;
    sum = sum * odd + (uintptr_t)object->dlfo_eh_frame;
    sum = sum * odd + (uintptr_t)object->dlfo_link_map;
    if (object->dlfo_eh_frame != NULL) { /* its third word is, as a rule, how many functions there are */
        sum = sum * odd + ((const uint32_t *)object->dlfo_eh_frame)[1];
        sum = sum * odd + ((const uint32_t *)object->dlfo_eh_frame)[2];
    }
    return sum | 1;
}

/* The end of a stack made by makecontext is, on arm64, the entry of a function that was never called: before it there is
 * nothing, or another function, which made no call there since it has its own return address still in the register. */
static pfa_unwind_rule_t unless_never_called(const void *header, uintptr_t key, pfa_unwind_rule_t rule)
{
    pfa_cfi_function_t function;
    pfa_unwind_kind_t kind = pfa_unwind_unpack(rule).kind;
    bool is_no_call = kind == PFA_RULE_NO_RULES || kind == PFA_RULE_LEAF_SP;
    bool is_entry = is_no_call && header != NULL && pfa_cfi_find(header, key, &function) && function.begin == key;
    return is_entry ? plain(PFA_RULE_OUTERMOST) : rule;
}

static pfa_unwind_rule_t without_rules(uintptr_t key)
{
    if (is_sigreturn(key)) {
        return plain(PFA_RULE_SIGNAL);
    }
    pfa_unwind_rule_t entered = 0;
    (void)pfa_unwind_pack(&(pfa_unwind_step_t){.kind = PFA_RULE_LEAF_SP, .fp_kept = true}, &entered);
    return is_linkage(key - 1) ? entered : plain(PFA_RULE_NO_RULES);
}

static pfa_unwind_rule_t find_in(const void *header, uintptr_t key)
{
    pfa_cfi_function_t function;
    pfa_cfi_row_t row;
    if (header == NULL || !pfa_cfi_find(header, key - 1, &function)) {
        return without_rules(key);
    }
    if (function.is_signal_frame) {
        return plain(is_sigreturn(key) ? PFA_RULE_SIGNAL : PFA_RULE_UNKNOWN);
    }
    return pfa_cfi_row(&function, key - 1, &row) ? make_rule(&row) : plain(PFA_RULE_UNKNOWN);
}

pfa_unwind_rule_t pfa_unwind_find_rule(uintptr_t key, bool *in_module)
{
    struct dl_find_object object;
    *in_module = _dl_find_object((void *)(key - 1), &object) == 0;
    if (!*in_module) {
        return plain(may_be_kernels(key) && is_sigreturn(key) ? PFA_RULE_SIGNAL : PFA_RULE_NO_RULES);
    }
    pfa_unwind_met_module((uintptr_t)object.dlfo_map_start, identity_of(&object));
    return unless_never_called(object.dlfo_eh_frame, key, find_in(object.dlfo_eh_frame, key));
}

/* By the program headers of the module, which linkers put at its beginning. */
static bool in_code_segment(uintptr_t module, uintptr_t pc)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)module;
    if (!pfa_sys_can_read(header) || *(const uint32_t *)module != 0x464c457f /* "\177ELF" */) {
        return false;
    }
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(module + header->e_phoff);
    uintptr_t first = UINTPTR_MAX;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segment[i].p_type != PT_LOAD) {
            continue;
        }
        first = first == UINTPTR_MAX ? segment[i].p_vaddr & ~(uintptr_t)4095 : first;
        uintptr_t begin = module - first + segment[i].p_vaddr;
        if ((segment[i].p_flags & PF_X) != 0 && pc - begin < segment[i].p_memsz) {
            return true;
        }
    }
    return false;
}

bool pfa_unwind_is_code(uintptr_t pc)
{
    struct dl_find_object object;
    pfa_cfi_function_t function;
    return _dl_find_object((void *)pc, &object) == 0 &&
           ((object.dlfo_eh_frame != NULL && pfa_cfi_find(object.dlfo_eh_frame, pc, &function)) ||
            in_code_segment((uintptr_t)object.dlfo_map_start, pc));
}
