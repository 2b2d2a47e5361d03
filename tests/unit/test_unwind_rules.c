/* The inside of the unwinder: the instructions of .eh_frame, run on hand-made ones; the forms of a rule; what is kept and
 * what is forgotten. */
#include "base/sys.h"
#include "meta/unwind.h"
#include "meta/unwind_cfi.h"
#include "meta/unwind_reader.h"
#include "meta/unwind_rule.h"
#include "tests/unit/unit.h"

enum {
    BEGIN = 0x1000,
    SP = PFA_UNWIND_REG_SP,
    FP = PFA_UNWIND_REG_FP,
    RA = PFA_UNWIND_REG_RA,
    OTHER = 3, /* a register that is not followed, on both architectures */
};

static bool run_on(const uint8_t *code, size_t size, uintptr_t pc, pfa_cfi_row_t *row)
{
    static const uint8_t initial[] = {0x0c, SP, 0}; /* def_cfa sp, 0 */
    pfa_cfi_function_t f = {
        .begin = BEGIN,
        .end = BEGIN + 0x100000,
        .code_align = 4,
        .data_align = -8,
        .initial = initial,
        .initial_end = initial + sizeof initial,
        .own = code,
        .own_end = code + size,
        .encoding = PFA_ENC_U4,
    };
    return pfa_cfi_row(&f, pc, row);
}
#define RUN(code, pc, row) run_on(code, sizeof code, pc, row)

static void rows_follow_the_program_counter(void **state)
{
    (void)state;
    pfa_cfi_row_t row;
    static const uint8_t code[] = {
        0x41,                              /* advance 1 */
        0x0e,      32,                     /* def_cfa_offset 32 */
        0x80 | FP, 4,                      /* fp at cfa - 32 */
        0x05,      RA,   3,                /* ra at cfa - 24 */
        0x02,      2,                      /* advance 2 */
        0x0a,                              /* remember */
        0x0d,      FP,                     /* cfa from fp */
        0x03,      1,    0,                /* advance 1 */
        0x0b,                              /* restore the remembered */
        0x04,      1,    0,    0,    0,    /* advance 1 */
        0xc0 | FP,                         /* fp as in the beginning */
        0x06,      RA,                     /* ra as well */
        0x01,      0x00, 0x20, 0x00, 0x00, /* at 0x2000 */
        0x12,      FP,   0x7e,             /* def_cfa_sf fp, -2 * -8 */
        0x11,      RA,   0x01,             /* ra at cfa + 1 * -8 */
        0x07,      FP,                     /* fp undefined */
        0x2e,      16,                     /* args_size */
    };
    assert_true(RUN(code, BEGIN, &row));
    assert_true(row.cfa_from == PFA_CFA_SP && row.cfa_offset == 0);
    assert_true(row.ra.how == PFA_CFI_KEPT && row.fp.how == PFA_CFI_KEPT);
    assert_true(RUN(code, BEGIN + 4, &row));
    assert_true(row.cfa_from == PFA_CFA_SP && row.cfa_offset == 32);
    assert_true(row.fp.how == PFA_CFI_AT_CFA && row.fp.offset == -32);
    assert_true(row.ra.how == PFA_CFI_AT_CFA && row.ra.offset == -24);
    assert_true(RUN(code, BEGIN + 11, &row) && row.cfa_from == PFA_CFA_SP);
    assert_true(RUN(code, BEGIN + 12, &row) && row.cfa_from == PFA_CFA_FP && row.cfa_offset == 32);
    assert_true(RUN(code, BEGIN + 16, &row) && row.cfa_from == PFA_CFA_SP && row.ra.how == PFA_CFI_AT_CFA);
    assert_true(RUN(code, BEGIN + 20, &row) && row.ra.how == PFA_CFI_KEPT && row.fp.how == PFA_CFI_KEPT);
    assert_true(RUN(code, 0x2000, &row));
    assert_true(row.cfa_from == PFA_CFA_FP && row.cfa_offset == 16);
    assert_true(row.ra.how == PFA_CFI_AT_CFA && row.ra.offset == -8 && row.fp.how == PFA_CFI_UNDEFINED);
}

static void what_is_not_followed_is_said(void **state)
{
    (void)state;
    pfa_cfi_row_t row;
    static const uint8_t other_register[] = {0x0c, OTHER, 16};
    assert_true(RUN(other_register, BEGIN, &row) && row.cfa_from == PFA_CFA_NONE);
    static const uint8_t other_expression[] = {0x0f, 2, 0x70 + OTHER, 8};
    assert_true(RUN(other_expression, BEGIN, &row) && row.cfa_from == PFA_CFA_NONE);
    static const uint8_t in_register[] = {0x09, RA, OTHER, 0x16, FP, 2, 0x70 + SP, 8};
    assert_true(RUN(in_register, BEGIN, &row));
    assert_true(row.ra.how == PFA_CFI_ELSEWHERE && row.fp.how == PFA_CFI_ELSEWHERE);
    static const uint8_t realigned[] = {0x10, FP, 2, 0x70 + FP, 0, 0x0f, 3, 0x70 + FP, 0x78, 0x06};
    assert_true(RUN(realigned, BEGIN, &row));
    assert_true(row.cfa_from == PFA_CFA_AT_FP && row.cfa_offset == -8);
    assert_true(row.fp.how == PFA_CFI_AT_FP && row.fp.offset == 0);
    static const uint8_t unknown[] = {0x3f};
    assert_false(RUN(unknown, BEGIN, &row));
    static const uint8_t cut_short[] = {0x0c, SP};
    assert_false(RUN(cut_short, BEGIN, &row));
    static const uint8_t restored_too_often[] = {0x0b};
    assert_false(RUN(restored_too_often, BEGIN, &row));
    static const uint8_t remembered_too_often[] = {0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a};
    assert_false(RUN(remembered_too_often, BEGIN, &row));
}

static void the_linkage_table_is_one_word_deeper_at_its_end(void **state)
{
    (void)state;
    pfa_cfi_row_t row;
    static const uint8_t code[] = {0x0f, 11,   0x70 + SP, 8,   0x70 + PFA_UNWIND_REG_PC % 32, 0, 0x3f, 0x1a, 0x3b,
                                   0x2a, 0x33, 0x24,      0x22};
    assert_true(RUN(code, BEGIN + 10, &row) && row.cfa_from == PFA_CFA_SP && row.cfa_offset == 8);
    assert_true(RUN(code, BEGIN + 11, &row) && row.cfa_from == PFA_CFA_SP && row.cfa_offset == 16);
}

/* On memory that ends where the instructions do, before a page that cannot be read. */
static void any_bytes_are_harmless(void **state)
{
    (void)state;
    enum { PAGE = 65536, LENGTH = 40 };
    void *memory;
    must(pfa_sys_map(NULL, 2 * PAGE, 3, 0, &memory) == 0);
    must(pfa_sys_protect((char *)memory + PAGE, PAGE, 0) == 0);
    uint8_t *code = (uint8_t *)memory + PAGE - LENGTH;
    uint64_t seed = 4;
    unsigned valid = 0;
    for (unsigned i = 0; i < 300000; i++) {
        for (unsigned j = 0; j < LENGTH; j++) {
            code[j] = (uint8_t)random_below(&seed, random_below(&seed, 2) != 0 ? 256 : 24);
        }
        pfa_cfi_row_t row;
        valid += run_on(code, LENGTH, BEGIN + random_below(&seed, 4096), &row);
    }
    assert_true(valid > 0);
    must(pfa_sys_unmap(memory, 2 * PAGE) == 0);
}

static bool same_step(const pfa_unwind_step_t *a, const pfa_unwind_step_t *b)
{
    return a->kind == b->kind && a->fp_kept == b->fp_kept && a->size == b->size && a->ra_up == b->ra_up &&
           a->fp_up == b->fp_up;
}

static void rules_are_kept_whole(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (unsigned i = 0; i < 1000000; i++) {
        int32_t spread = (int32_t)random_below(&seed, 2) == 0 ? 600 : 600000;
        pfa_unwind_step_t step = {
            .kind = (pfa_unwind_kind_t)(1 + random_below(&seed, PFA_RULE_UNKNOWN)),
            .fp_kept = random_below(&seed, 2) != 0,
            .size = (int32_t)random_below(&seed, (uint64_t)spread * 2) - spread,
            .ra_up = (int32_t)random_below(&seed, (uint64_t)spread * 2) - spread,
            .fp_up = (int32_t)random_below(&seed, (uint64_t)spread) - spread / 2,
        };
        pfa_unwind_rule_t rule;
        if (!pfa_unwind_pack(&step, &rule)) {
            assert_true(spread > 600);
            continue;
        }
        pfa_unwind_step_t again = pfa_unwind_unpack(rule);
        assert_true(rule != 0 && same_step(&step, &again));
        uint32_t small = pfa_unwind_shorten(rule);
        assert_true(small < 1u << PFA_SHORT_BITS);
        if (small == PFA_SHORT_OUTERMOST) {
            assert_int_equal(step.kind, PFA_RULE_OUTERMOST);
        } else if (small != 0 && (small & PFA_SHORT_LONG) != 0) {
            assert_true(pfa_unwind_long(small) == rule);
        } else if (small != 0) {
            assert_int_equal(step.kind, (small & PFA_SHORT_FROM_FP) != 0 ? PFA_RULE_FROM_FP : PFA_RULE_FROM_SP);
            assert_int_equal(step.size, PFA_SHORT_SIZE(small));
            assert_int_equal(step.ra_up, PFA_SHORT_RA_UP(small));
            assert_true(step.fp_kept || step.fp_up == (int32_t)PFA_SHORT_FP_UP(small));
            assert_true(step.ra_up < step.size && (int32_t)PFA_SHORT_FP_UP(small) < step.size);
        }
    }
}

/* As compilers lay frames out: a walk, and what it has noted, does not suffer from a buffer in one of them. */
static void large_frames_have_short_rules(void **state)
{
    (void)state;
    static const int32_t sizes[] = {2, 256, 300, 600, 1023};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int32_t top = sizes[i] - 1;
        pfa_unwind_step_t step = {.kind = PFA_RULE_FROM_SP, .size = sizes[i], .ra_up = 1, .fp_up = 0};
        if (PFA_UNWIND_SAVED_AT_TOP) {
            step.ra_up = top;
            step.fp_up = top < 6 ? 0 : top - 6;
        }
        for (unsigned kept = 0; kept < 2; kept++) {
            step.fp_kept = kept != 0;
            step.fp_up = step.fp_kept ? 0 : step.fp_up;
            pfa_unwind_rule_t rule;
            assert_true(pfa_unwind_pack(&step, &rule));
            uint32_t small = pfa_unwind_shorten(rule);
            assert_int_equal(small & PFA_SHORT_LONG, 0);
            assert_int_equal(PFA_SHORT_SIZE(small), step.size);
            assert_int_equal(PFA_SHORT_RA_UP(small), step.ra_up);
            assert_true(step.fp_kept || (int32_t)PFA_SHORT_FP_UP(small) == step.fp_up);
        }
    }
}

/* Set and tag tell a key from every other. */
static void keys_are_told_apart(void **state)
{
    (void)state;
    uint64_t seed = 6;
    for (unsigned i = 0; i < 1000000; i++) {
        uintptr_t a = random_below(&seed, (uint64_t)1 << PFA_UNWIND_PC_BITS);
        uintptr_t b = a ^ (uintptr_t)1 << random_below(&seed, PFA_UNWIND_PC_BITS);
        assert_true(pfa_unwind_set(a) != pfa_unwind_set(b) || pfa_unwind_tag(a) != pfa_unwind_tag(b));
        assert_true(pfa_unwind_set(a) < (size_t)PFA_UNWIND_WAYS << PFA_UNWIND_SET_BITS);
        assert_int_equal(pfa_unwind_tag(a) % ((uint64_t)1 << PFA_SHORT_BITS), 0);
    }
}

static int no_memory(pfa_sys_call_t call)
{
    return call == PFA_SYS_MMAP ? 12 : 0;
}

static __attribute__((noinline)) unsigned walk(uintptr_t *pcs, pfa_unwind_end_t *end)
{
    pfa_unwind_start_t start;
    PFA_UNWIND_HERE(&start);
    return pfa_unwind(&pfa_tls, &start, pcs, 100, end);
}

static void without_memory_for_the_table(void **state)
{
    (void)state;
    uintptr_t pcs[2][100];
    pfa_unwind_end_t end[2];
    unsigned count[2];
    assert_null(pfa_load_relaxed(&pfa_unwind_table)); /* no test before this one has walked */
    pfa_sys_fault = no_memory;
    for (unsigned i = 0; i < 2; i++) {
        count[i] = walk(pcs[i], &end[i]);
        assert_int_equal(end[i], PFA_UNWIND_COMPLETE);
        assert_int_equal(pfa_load_relaxed(&pfa_unwind_table) != NULL, i == 1);
        pfa_sys_fault = NULL;
    }
    assert_int_equal(count[0], count[1]);
    /* but for the first, should the loop have been unrolled */
    assert_memory_equal(&pcs[0][1], &pcs[1][1], (count[0] - 1) * sizeof pcs[0][0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_the_program_counter),
        cmocka_unit_test(what_is_not_followed_is_said),
        cmocka_unit_test(the_linkage_table_is_one_word_deeper_at_its_end),
        cmocka_unit_test(any_bytes_are_harmless),
        cmocka_unit_test(rules_are_kept_whole),
        cmocka_unit_test(large_frames_have_short_rules),
        cmocka_unit_test(keys_are_told_apart),
        cmocka_unit_test(without_memory_for_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
