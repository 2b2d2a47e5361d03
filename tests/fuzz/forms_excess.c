/* Owns the forms of the analyses that tell what is too much: excess and leaks. See tests/fuzz/forms.h. */
#include "analyze/draw/excess_draw.h"
#include "analyze/excess/excess.h"
#include "analyze/leaks/leaks.h"
#include "tests/fuzz/forms.h"

enum { TOP = 5 };

/* Frees an answer of whatever kind, and hands on what came of it. */
static int finish(void *answer, int error)
{
    pfa_answer_free(answer);
    return error;
}

int pfa_fuzz_leaks_text(const pfa_fuzz_asked_t *asked)
{
    pfa_leaks_options_t options = {.limits = pfa_leak_limits_standard(), .order = "age"};
    pfa_leaks_t *leaks;
    int error = pfa_leaks_collect(asked->session, asked->question, &options, &leaks);
    return finish(leaks, error != 0 ? error : pfa_leaks_text(leaks, TOP, asked->to));
}

int pfa_fuzz_leaks_json(const pfa_fuzz_asked_t *asked)
{
    pfa_leaks_options_t options = {.limits = pfa_leak_limits_standard()};
    pfa_leaks_t *leaks;
    int error = pfa_leaks_collect(asked->session, asked->question, &options, &leaks);
    return finish(leaks, error != 0 ? error : pfa_leaks_json(leaks, SIZE_MAX, asked->to));
}

static void put_charts(FILE *to, const pfa_excess_t *excess)
{
    static const pfa_term_t term = {.width = PFA_TERM_WIDTH, .height = PFA_TERM_HEIGHT};
    pfa_excess_put_charts(to, &term, excess);
}

int pfa_fuzz_excess_text(const pfa_fuzz_asked_t *asked)
{
    pfa_excess_options_t options = pfa_excess_options_standard();
    pfa_excess_t *excess;
    options.method = PFA_EXCESS_IQR;
    options.order = PFA_EXCESS_BY_ratio;
    int error = pfa_excess_collect(asked->session, asked->question, &options, &excess);
    return finish(excess, error != 0 ? error : pfa_excess_text(excess, put_charts, asked->to));
}

int pfa_fuzz_excess_json(const pfa_fuzz_asked_t *asked)
{
    pfa_excess_options_t options = pfa_excess_options_standard();
    pfa_excess_t *excess;
    options.all_objects = true;
    int error = pfa_excess_collect(asked->session, asked->question, &options, &excess);
    return finish(excess, error != 0 ? error : pfa_excess_json(excess, asked->to));
}

int pfa_fuzz_excess_svg(const pfa_fuzz_asked_t *asked)
{
    pfa_excess_options_t options = pfa_excess_options_standard();
    pfa_excess_t *excess;
    options.scale = PFA_SCALE_LOG;
    int error = pfa_excess_collect(asked->session, asked->question, &options, &excess);
    error = error != 0 ? error : pfa_excess_diagram(excess, asked->to);
    error = error != 0 ? error : pfa_excess_chart(excess, asked->to);
    return finish(excess, error != 0 ? error : pfa_excess_notes(excess, asked->to));
}
