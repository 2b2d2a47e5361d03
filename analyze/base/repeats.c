/* Owns how repetitions in call stacks are found. See analyze/base/repeats.h. */
#include "analyze/base/repeats.h"

static size_t count_repeats(const void *path, size_t from, size_t count, size_t period, pfa_repeats_same_t *same)
{
    size_t equal = 0;
    while (from + period + equal < count && same(path, from + period + equal, from + equal)) {
        equal++;
    }
    return equal / period + 1;
}

size_t pfa_repeats_find(const void *path, size_t from, size_t count, pfa_repeats_same_t *same, size_t *repeats)
{
    size_t best = 1;
    *repeats = 1;
    for (size_t period = 1; period <= PFA_REPEATS_PERIOD && from + period < count; period++) {
        size_t times = count_repeats(path, from, count, period, same);
        if (times >= PFA_REPEATS_LEAST && times * period > *repeats * best) {
            best = period;
            *repeats = times;
        }
    }
    return best;
}
