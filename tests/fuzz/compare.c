/* Owns comparisons, as tests/fuzz/compare.h and tests/fuzz/forms.h have them. */
#include "tests/fuzz/compare.h"
#include "analyze/diff/diff.h"
#include "analyze/diff/gate.h"
#include "tests/fuzz/forms.h"
#include "tests/fuzz/fuzz.h"

enum { STATUS = 3, TOP = 5 };

static int collect(const pfa_comparison_options_t *options, const char *base, const char *other,
                   pfa_comparison_t **comparison)
{
    char *files[] = {(char *)(uintptr_t)base, (char *)(uintptr_t)other};
    pfa_side_files_t sides[PFA_SIDES] = {
        [PFA_BASE] = {.files = &files[0], .count = base != NULL}, [PFA_NEW] = {.files = &files[1], .count = 1}};
    return pfa_comparison_collect(options, sides, comparison);
}

int pfa_fuzz_diff(const pfa_comparison_options_t *options, const char *base, const char *other, size_t top, FILE *to)
{
    static const pfa_diff_metric_t metrics[] = {PFA_DIFF_METRIC_bytes, PFA_DIFF_METRIC_live, PFA_DIFF_METRIC_peak};
    pfa_comparison_t *comparison;
    int error = collect(options, base, other, &comparison);
    error = error != 0 ? error : pfa_diff_json(comparison, SIZE_MAX, PFA_DIFF_METRIC_count, to);
    error = error != 0 ? error : pfa_diff_text(comparison, top, metrics, sizeof metrics / sizeof metrics[0], to);
    pfa_comparison_free(comparison);
    return error;
}

static void set_limits(pfa_gate_t *gate, const char *limit)
{
    for (size_t i = 0; i < PFA_LIMITS; i++) {
        bool is_bytes = pfa_diff_metrics[pfa_limits[i].metric].is_bytes;
        pfa_fuzz_expect(pfa_limit_parse(&gate->limits[i], limit, is_bytes), "%s is no limit", limit);
    }
}

int pfa_fuzz_gate(const pfa_comparison_options_t *options, const char *base, const char *other, const char *limit,
                  FILE *to)
{
    pfa_gate_t gate = {.min_bytes = 16, .min_count = 1, .top = TOP};
    set_limits(&gate, limit);
    int error = collect(options, base, other, &gate.comparison);
    error = error != 0 ? error : pfa_gate_judge(&gate);
    error = error != 0 ? error : pfa_gate_text(&gate, to);
    error = error != 0 ? error : pfa_gate_json(&gate, to);
    error = error != 0 ? error : pfa_gate_sarif(&gate, STATUS, to);
    pfa_comparison_free(gate.comparison);
    return error;
}

int pfa_fuzz_save(const pfa_comparison_options_t *options, const char *trace, const char *to)
{
    pfa_comparison_t *comparison;
    int error = collect(options, NULL, trace, &comparison);
    if (error == 0) {
        const pfa_side_t *side = &comparison->sides[PFA_NEW];
        error = pfa_summary_write(to, side->runs, side->count);
    }
    pfa_comparison_free(comparison);
    return error;
}

int pfa_fuzz_compare_diff(const pfa_fuzz_asked_t *asked)
{
    pfa_comparison_options_t options = {.session = asked->options, .question = asked->question, .per_second = true};
    return pfa_fuzz_diff(&options, asked->files[0], asked->files[1], TOP, asked->to);
}

int pfa_fuzz_compare_gate(const pfa_fuzz_asked_t *asked)
{
    pfa_comparison_options_t options = {.session = asked->options, .question = asked->question, .with_leaks = true};
    return pfa_fuzz_gate(&options, asked->files[1], asked->files[0], "5%", asked->to);
}
