/* Owns the estimate of the time in allocation routines. Numbers come from files: nothing is believed of them but that they
 * are numbers.
 *
 * Calls were drawn at random from all alike, so the mean of those measured is that of all, and `calls` times the mean is the
 * sum. Its variance is that of the mean of a random sample without replacement. Allocations and frees are drawn together:
 * each has the part of the sum that it has of what was measured. */
#include "analyze/points/spent.h"

#include <math.h>

/* All calls of one or both kinds that were measured in one way. */
typedef struct sample {
    double count;
    double ticks;
    double squares;
    uint64_t capped;
} sample_t;

typedef struct estimate {
    double sum;
    double variance;
} estimate_t;

static double ticks_of(const pfa_trace_timed_t *timed)
{
    return (double)(int64_t)timed->ticks / PFA_TIMES_PART;
}

static sample_t join(const pfa_trace_timed_t *timed)
{
    sample_t sample = {.count = 0};
    for (int i = 0; i < PFA_TIMES_KINDS; i++) {
        sample.count += (double)timed[i].measured;
        sample.ticks += ticks_of(&timed[i]);
        sample.squares += (double)timed[i].squares;
        sample.capped += timed[i].capped;
    }
    return sample;
}

/* Of all calls, in ticks. */
static estimate_t estimate(const sample_t *sample, double calls)
{
    double mean = sample->ticks / sample->count;
    double spread = (sample->squares - sample->ticks * mean) / (sample->count - 1);
    double left_out = 1 - sample->count / calls;
    bool sensible = spread > 0 && left_out > 0;
    return (estimate_t){.sum = calls * (mean > 0 ? mean : 0),
                        .variance = sensible ? calls * calls * spread / sample->count * left_out : 0};
}

bool pfa_spent_add(pfa_spent_t *spent, const pfa_trace_times_t *times, double ns_per_tick, double recorded)
{
    sample_t whole = join(times->whole);
    sample_t own = join(times->own);
    double calls = (double)times->calls;
    double scale = ns_per_tick * 1e-9;
    if (whole.count < PFA_SPENT_LEAST || own.count < PFA_SPENT_LEAST || calls < whole.count + own.count) {
        return false;
    }
    estimate_t all = estimate(&whole, calls);
    estimate_t part = estimate(&own, calls);
    double waited = (double)times->waited * scale;
    /* A number of its own, rounded once, so that what is left of it below is never less than nothing. */
    double seconds = all.sum * scale;
    double frees = calls / whole.count * ticks_of(&times->whole[PFA_TIMES_FREES]) * scale;
    frees = fmin(fmax(frees, 0), seconds);
    spent->files++;
    spent->seconds += seconds + waited;
    spent->variance += all.variance * scale * scale;
    spent->allocations += seconds - frees;
    spent->frees += frees + waited;
    spent->waited += waited;
    spent->own += part.sum * scale;
    spent->own_variance += part.variance * scale * scale;
    spent->recorded += recorded;
    spent->calls += times->calls;
    spent->measured += (uint64_t)(whole.count + own.count);
    spent->capped += whole.capped + own.capped;
    return true;
}

double pfa_spent_error(const pfa_spent_t *spent)
{
    return sqrt(spent->variance);
}

double pfa_spent_own_error(const pfa_spent_t *spent)
{
    return sqrt(spent->own_variance);
}

static pfa_spent_t sum_up(const pfa_query_t *query)
{
    pfa_spent_t spent = {.files = 0};
    for (size_t i = 0; i < query->source_count; i++) {
        const pfa_source_t *source = &query->sources[i];
        if (!source->sampled) {
            (void)pfa_spent_add(&spent, &source->counters.times, source->ns_per_tick,
                                (source->end_ns - source->start_ns) * 1e-9);
        }
    }
    return spent;
}

double pfa_spent_pair_ns(const pfa_query_t *query, double *all_ns)
{
    pfa_spent_t spent = sum_up(query);
    *all_ns = 1e9 * spent.own;
    return spent.files != 0 && spent.calls != 0 ? 2e9 * spent.own / (double)spent.calls : 0;
}

double pfa_spent_recording_ns(const pfa_query_t *query)
{
    pfa_spent_t spent = sum_up(query);
    double ns = 1e9 * (spent.seconds - spent.own);
    size_t threads = 0;
    for (size_t i = 0; query->source_count == 1 && i < query->sources[0].thread_count; i++) {
        threads += query->sources[0].threads[i].tid != 0;
    }
    return threads == 1 && spent.files == 1 && ns > 0 ? fmin(ns, 0.9 * query->run_ns) : 0;
}
