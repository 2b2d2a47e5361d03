/* Owns ranges, ticks and figures of axes. See analyze/draw/scale.h. Pure: no state, any thread. */
#include "analyze/draw/scale.h"
#include "analyze/base/text.h"

#include <math.h>
#include <stdio.h>

typedef struct step {
    double factor;
    double from; /* axes and figures from here on are told in it */
    const char *suffix;
} step_t;

enum { STEPS_MOST = 8 };

static const step_t steps[][STEPS_MOST] = {
    [PFA_UNIT_NUMBER] = {{1, 0, ""}, {1e3, 1e4, "k"}, {1e6, 1e6, "M"}, {1e9, 1e9, "G"}, {1e12, 1e12, "T"}},
    [PFA_UNIT_BYTES] = {{1, 0, "B"},
                        {0x1p10, 0x1p10, "KiB"},
                        {0x1p20, 0x1p20, "MiB"},
                        {0x1p30, 0x1p30, "GiB"},
                        {0x1p40, 0x1p40, "TiB"},
                        {0x1p50, 0x1p50, "PiB"}},
    [PFA_UNIT_SECONDS] = {{1e-9, 0, "ns"},
                          {1e-6, 1e-6, "µs"},
                          {1e-3, 1e-3, "ms"},
                          {1, 1, "s"},
                          {60, 300, "min"},
                          {3600, 18000, "h"},
                          {86400, 432000, "d"}},
};

static const step_t *step_for(pfa_unit_t unit, double value)
{
    const step_t *best = &steps[unit][0];
    for (const step_t *step = best; step < &steps[unit][STEPS_MOST] && step->suffix != NULL; step++) {
        /* A thousand minus a rounding error is a thousand. */
        best = fabs(value) >= step->from * (1 - 1e-9) ? step : best;
    }
    return best;
}

void pfa_range_take(pfa_range_t *range, const pfa_axis_t *axis, double value)
{
    if (!isfinite(value) || (axis->logarithmic && value <= 0)) {
        return;
    }
    range->low = !range->any || value < range->low ? value : range->low;
    range->high = !range->any || value > range->high ? value : range->high;
    range->any = true;
}

/* 1, 2 or 5 times a power of ten, at least `rough`. */
static double round_step(double rough)
{
    double power = pow(10, floor(log10(rough)));
    double digit = rough / power;
    return power * (digit <= 1 + 1e-9 ? 1 : digit <= 2 + 1e-9 ? 2 : digit <= 5 + 1e-9 ? 5 : 10);
}

static void make_linear(pfa_scale_t *scale, unsigned wanted, bool from_zero, bool tight)
{
    scale->low = from_zero && scale->low > 0 ? 0 : scale->low;
    if (!(scale->high > scale->low)) {
        scale->high = scale->low + (scale->low != 0 ? fabs(scale->low) : 1);
    }
    const step_t *unit = step_for(scale->unit, fmax(fabs(scale->low), fabs(scale->high)));
    scale->factor = unit->factor;
    scale->suffix = unit->suffix;
    double step = round_step((scale->high - scale->low) / scale->factor / wanted) * scale->factor;
    /* Half a count and half a byte are nothing. */
    step = scale->unit != PFA_UNIT_SECONDS && step < 1 ? 1 : step;
    double first = tight ? ceil(scale->low / step - 1e-9) : floor(scale->low / step + 1e-9);
    double last = tight ? floor(scale->high / step + 1e-9) : ceil(scale->high / step - 1e-9);
    scale->low = tight ? scale->low : first * step;
    scale->high = tight ? scale->high : last * step;
    for (double at = first; at <= last && scale->tick_count < PFA_TICKS_MOST; at++) {
        scale->ticks[scale->tick_count++] = at * step;
    }
}

/* Where there are less than two powers, what lies between them. */
static void add_between(pfa_scale_t *scale)
{
    double low = scale->low;
    double high = scale->high;
    scale->tick_count = 0;
    for (double power = low; power <= high * (1 + 1e-9) && scale->tick_count + 3 < PFA_TICKS_MOST; power *= 10) {
        static const double digits[] = {1, 2, 5};
        for (unsigned i = 0; i < 3 && power * digits[i] <= high * (1 + 1e-9); i++) {
            scale->ticks[scale->tick_count++] = power * digits[i];
        }
    }
}

static void make_logarithmic(pfa_scale_t *scale, unsigned wanted)
{
    static const unsigned strides[] = {1, 2, 3, 5, 10, 20, 50, 100};
    double base = scale->unit == PFA_UNIT_BYTES ? 2 : 10;
    double first = floor(log10(scale->low) / log10(base) + 1e-9);
    double last = ceil(log10(scale->high) / log10(base) - 1e-9);
    last = last > first ? last : first + 1;
    unsigned at = 0;
    while (at + 1 < sizeof strides / sizeof strides[0] && (last - first) / strides[at] > wanted) {
        at++;
    }
    double stride = strides[at];
    scale->low = pow(base, first);
    scale->high = pow(base, last);
    for (double power = ceil(first / stride) * stride; power <= last && scale->tick_count < PFA_TICKS_MOST;
         power += stride) {
        scale->ticks[scale->tick_count++] = pow(base, power);
    }
    if (base > 2 && last - first <= 2) {
        add_between(scale);
    }
}

pfa_scale_t pfa_scale_make(const pfa_axis_t *axis, const pfa_range_t *range, unsigned wanted, bool from_zero,
                           bool tight)
{
    pfa_scale_t scale = {.logarithmic = axis->logarithmic,
                         .unit = axis->unit,
                         .low = range->any ? range->low : axis->logarithmic,
                         .high = range->any ? range->high : 1};
    wanted = wanted < 2 ? 2 : wanted > PFA_TICKS_MOST / 2 ? PFA_TICKS_MOST / 2 : wanted;
    if (axis->logarithmic) {
        make_logarithmic(&scale, wanted);
    } else {
        make_linear(&scale, wanted, from_zero, tight);
    }
    return scale;
}

double pfa_scale_place(const pfa_scale_t *scale, double value)
{
    double place = (value - scale->low) / (scale->high - scale->low);
    if (scale->logarithmic) {
        place = value > 0 ? log(value / scale->low) / log(scale->high / scale->low) : 0;
    }
    return !(place > 0) ? 0 : place > 1 ? 1 : place;
}

const char *pfa_scale_tick(const pfa_scale_t *scale, unsigned tick, char text[PFA_NUMBER_TEXT])
{
    double value = scale->ticks[tick];
    const step_t *step = step_for(scale->unit, value);
    double factor = scale->logarithmic ? step->factor : scale->factor;
    const char *suffix = scale->logarithmic ? step->suffix : scale->suffix;
    if (value == 0) {
        snprintf(text, PFA_NUMBER_TEXT, "0");
    } else {
        snprintf(text, PFA_NUMBER_TEXT, "%.10g%s%s", value / factor, suffix[0] != '\0' ? " " : "", suffix);
    }
    return text;
}

const char *pfa_unit_text(pfa_unit_t unit, double value, char text[PFA_NUMBER_TEXT])
{
    if (unit == PFA_UNIT_BYTES) {
        return pfa_text_bytes(text, value);
    }
    if (unit == PFA_UNIT_NUMBER && (fabs(value) >= 1000 || value == floor(value))) {
        return pfa_text_count(text, value);
    }
    const step_t *step = unit == PFA_UNIT_SECONDS && value != 0 ? step_for(unit, value) : NULL;
    double figure = step != NULL ? value / step->factor : value;
    snprintf(text, PFA_NUMBER_TEXT, fabs(figure) >= 999.5 ? "%.0f%s%s" : "%.3g%s%s", figure, step != NULL ? " " : "",
             step != NULL               ? step->suffix
             : unit == PFA_UNIT_SECONDS ? " s"
                                        : "");
    return text;
}
