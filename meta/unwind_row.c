/* Runs the instructions of .eh_frame (DWARF 5, 6.4) for the few registers that are followed. Keeps nothing, allocates
 * nothing; any number of threads at once. */
#include "base/unwind_arch.h"
#include "meta/unwind_cfi.h"
#include "meta/unwind_reader.h"

enum {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
    CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* the signature is taken off anyway */
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE_LOC = 0x40, /* these three hold their operand in the low six bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,

    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_BREG0 = 0x70,
};

enum { REMEMBERED_MAX = 8 };

typedef struct machine {
    pfa_reader_t r;
    const pfa_cfi_function_t *function;
    uintptr_t pc;       /* wanted */
    uintptr_t location; /* reached */
    pfa_cfi_row_t row;
    pfa_cfi_row_t initial;
    pfa_cfi_row_t remembered[REMEMBERED_MAX];
    unsigned depth;
    bool reached;
} machine_t;

static void set_place(machine_t *m, uint64_t reg, pfa_cfi_place_t place)
{
    if (reg == PFA_UNWIND_REG_RA) {
        m->row.ra = place;
    } else if (reg == PFA_UNWIND_REG_FP) {
        m->row.fp = place;
    }
}

static void restore_place(machine_t *m, uint64_t reg)
{
    set_place(m, reg, reg == PFA_UNWIND_REG_RA ? m->initial.ra : m->initial.fp);
}

/* Unsigned, so that nonsense wraps around instead of overflowing. */
static int64_t in_bytes(const machine_t *m, uint64_t factored)
{
    return (int64_t)(factored * (uint64_t)m->function->data_align);
}

static void set_at_cfa(machine_t *m, uint64_t reg, uint64_t factored)
{
    set_place(m, reg, (pfa_cfi_place_t){.how = PFA_CFI_AT_CFA, .offset = in_bytes(m, factored)});
}

static void set_how(machine_t *m, uint64_t reg, pfa_cfi_how_t how)
{
    set_place(m, reg, (pfa_cfi_place_t){.how = how});
}

static void set_cfa_register(machine_t *m, uint64_t reg)
{
    m->row.cfa_from = reg == PFA_UNWIND_REG_SP ? PFA_CFA_SP : reg == PFA_UNWIND_REG_FP ? PFA_CFA_FP : PFA_CFA_NONE;
}

static void advance(machine_t *m, uint64_t factored)
{
    uintptr_t next = m->location + factored * m->function->code_align;
    if (next > m->pc) {
        m->reached = true;
    } else {
        m->location = next;
    }
}

/* A cursor over the expression that comes next, behind which the machine goes on. */
static pfa_reader_t take_expression(machine_t *m)
{
    uint64_t size = pfa_reader_uleb(&m->r);
    pfa_reader_t expression = {.at = m->r.at};
    pfa_reader_skip(&m->r, size);
    expression.end = m->r.at;
    return expression;
}

/* The whole expression is "register + offset"? */
static bool is_register_plus(pfa_reader_t expression, unsigned reg, int64_t *offset)
{
    bool is = pfa_reader_byte(&expression) == OP_BREG0 + reg;
    *offset = pfa_reader_sleb(&expression);
    return is && !expression.bad && expression.at == expression.end;
}

/* Two expressions tell where a frame ends. A function that realigned the stack keeps its frame's address in memory:
 * *(fp + offset). And in x86-64's procedure linkage table the stack is one word deeper from the n-th byte of each 16 on:
 * sp + 8 + ((pc & 15) >= n) * 8. */
static void set_cfa_by_expression(machine_t *m)
{
    pfa_reader_t all = take_expression(m);
    pfa_reader_t but_last = all;
    but_last.end -= all.end > all.at;
    m->row.cfa_from = PFA_CFA_NONE;
    if (all.end > all.at && *but_last.end == OP_DEREF &&
        is_register_plus(but_last, PFA_UNWIND_REG_FP, &m->row.cfa_offset)) {
        m->row.cfa_from = PFA_CFA_AT_FP;
        return;
    }
    enum { LENGTH = 11, THRESHOLD = 6 };
    static const uint8_t linkage[LENGTH] = {OP_BREG0 + PFA_UNWIND_REG_SP,
                                            8,
                                            OP_BREG0 + PFA_UNWIND_REG_PC % 32,
                                            0,
                                            OP_LIT0 + 15,
                                            OP_AND,
                                            0,
                                            OP_GE,
                                            OP_LIT0 + 3,
                                            OP_SHL,
                                            OP_PLUS};
    if (all.end - all.at != LENGTH) {
        return;
    }
    for (unsigned i = 0; i < LENGTH; i++) {
        if (i != THRESHOLD && all.at[i] != linkage[i]) {
            return;
        }
    }
    m->row.cfa_from = PFA_CFA_SP;
    m->row.cfa_offset = (m->pc & 15) + OP_LIT0 >= all.at[THRESHOLD] ? 16 : 8;
}

static void set_place_by_expression(machine_t *m)
{
    uint64_t reg = pfa_reader_uleb(&m->r);
    int64_t offset;
    if (is_register_plus(take_expression(m), PFA_UNWIND_REG_FP, &offset)) {
        set_place(m, reg, (pfa_cfi_place_t){.how = PFA_CFI_AT_FP, .offset = offset});
    } else {
        set_how(m, reg, PFA_CFI_ELSEWHERE);
    }
}

static void remember(machine_t *m)
{
    if (m->depth == REMEMBERED_MAX) {
        m->r.bad = true;
        return;
    }
    m->remembered[m->depth++] = m->row;
}

static void recall(machine_t *m)
{
    if (m->depth == 0) {
        m->r.bad = true;
        return;
    }
    m->row = m->remembered[--m->depth];
}

static void run_extended(machine_t *m, uint8_t instruction)
{
    pfa_reader_t *r = &m->r;
    uint64_t reg;
    switch (instruction) {
    case CFA_NOP:
    case CFA_AARCH64_NEGATE_RA_STATE:
    case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
        break;
    case CFA_SET_LOC: {
        uintptr_t next = pfa_reader_address(r, m->function->encoding, 0);
        m->reached = next > m->pc;
        m->location = next;
        break;
    }
    case CFA_ADVANCE_LOC1:
        advance(m, pfa_reader_fixed(r, 1));
        break;
    case CFA_ADVANCE_LOC2:
        advance(m, pfa_reader_fixed(r, 2));
        break;
    case CFA_ADVANCE_LOC4:
        advance(m, pfa_reader_fixed(r, 4));
        break;
    case CFA_OFFSET_EXTENDED:
        reg = pfa_reader_uleb(r);
        set_at_cfa(m, reg, pfa_reader_uleb(r));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        reg = pfa_reader_uleb(r);
        set_at_cfa(m, reg, (uint64_t)pfa_reader_sleb(r));
        break;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        reg = pfa_reader_uleb(r);
        set_at_cfa(m, reg, 0 - pfa_reader_uleb(r));
        break;
    case CFA_RESTORE_EXTENDED:
        restore_place(m, pfa_reader_uleb(r));
        break;
    case CFA_UNDEFINED:
        set_how(m, pfa_reader_uleb(r), PFA_CFI_UNDEFINED);
        break;
    case CFA_SAME_VALUE:
        set_how(m, pfa_reader_uleb(r), PFA_CFI_KEPT);
        break;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
        set_how(m, pfa_reader_uleb(r), PFA_CFI_ELSEWHERE);
        (void)pfa_reader_uleb(r);
        break;
    case CFA_EXPRESSION:
        set_place_by_expression(m);
        break;
    case CFA_VAL_EXPRESSION:
        set_how(m, pfa_reader_uleb(r), PFA_CFI_ELSEWHERE);
        (void)take_expression(m);
        break;
    case CFA_REMEMBER_STATE:
        remember(m);
        break;
    case CFA_RESTORE_STATE:
        recall(m);
        break;
    case CFA_DEF_CFA:
        set_cfa_register(m, pfa_reader_uleb(r));
        m->row.cfa_offset = (int64_t)pfa_reader_uleb(r);
        break;
    case CFA_DEF_CFA_SF:
        set_cfa_register(m, pfa_reader_uleb(r));
        m->row.cfa_offset = in_bytes(m, (uint64_t)pfa_reader_sleb(r));
        break;
    case CFA_DEF_CFA_REGISTER:
        set_cfa_register(m, pfa_reader_uleb(r));
        break;
    case CFA_DEF_CFA_OFFSET:
        m->row.cfa_offset = (int64_t)pfa_reader_uleb(r);
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        m->row.cfa_offset = in_bytes(m, (uint64_t)pfa_reader_sleb(r));
        break;
    case CFA_DEF_CFA_EXPRESSION:
        set_cfa_by_expression(m);
        break;
    case CFA_GNU_ARGS_SIZE:
        (void)pfa_reader_uleb(r);
        break;
    default:
        r->bad = true;
    }
}

static bool run(machine_t *m, const uint8_t *at, const uint8_t *end)
{
    m->r = (pfa_reader_t){.at = at, .end = end};
    while (m->r.at < m->r.end && !m->r.bad && !m->reached) {
        uint8_t instruction = pfa_reader_byte(&m->r);
        uint64_t operand = instruction & 0x3f;
        switch (instruction & 0xc0) {
        case CFA_ADVANCE_LOC:
            advance(m, operand);
            break;
        case CFA_OFFSET:
            set_at_cfa(m, operand, pfa_reader_uleb(&m->r));
            break;
        case CFA_RESTORE:
            restore_place(m, operand);
            break;
        default:
            run_extended(m, instruction);
        }
    }
    return !m->r.bad;
}

bool pfa_cfi_row(const pfa_cfi_function_t *function, uintptr_t pc, pfa_cfi_row_t *row)
{
    machine_t m = {.function = function, .pc = pc, .location = function->begin};
    if (!run(&m, function->initial, function->initial_end)) {
        return false;
    }
    m.initial = m.row;
    if (!run(&m, function->own, function->own_end)) {
        return false;
    }
    *row = m.row;
    return true;
}
