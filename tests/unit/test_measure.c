/* Which calls are measured, and what is added up of them: by a thread that only says that it allocates and frees. */
#include "meta/measure.h"
#include "meta/ring.h"
#include "tests/checked.h"
#include "tests/unit/unit.h"

/* A thread that records everything, in a trace. */
static pfa_tls_t begin_thread(void)
{
    static char heap;
    pfa_tls_t tls;
    memset(&tls, 0, sizeof tls);
    tls.random = 20231;
    tls.thread = pfa_thread_list_join(&tls);
    must(tls.thread != NULL);
    memset(&tls.thread->measure, 0, sizeof tls.thread->measure);
    tls.clock_may_skip = 1;
    tls.region_heap = &heap;
    pfa_ring_set_open(true);
    pfa_measure_enter(&tls);
    return tls;
}

static void end_thread(pfa_tls_t *tls)
{
    pfa_measure_leave(tls);
    pfa_thread_list_leave(tls->thread);
    tls->thread = NULL;
}

/* True if it was measured. */
static bool allocate(pfa_tls_t *tls)
{
    if (pfa_clock_may_skip(tls)) {
        (void)pfa_clock_step(tls);
        return false;
    }
    pfa_clock_stop_skipping(tls);
    if (!pfa_measure_is_due(tls)) {
        (void)pfa_clock_read(tls);
        return false;
    }
    uint64_t began = pfa_measure_begin_alloc(tls);
    (void)pfa_clock_now(tls);
    pfa_measure_end_alloc(tls, 0, began);
    return true;
}

static bool release(pfa_tls_t *tls)
{
    if (tls->short_free != NULL || !pfa_measure_is_armed(tls)) {
        (void)pfa_measure_now(tls);
        return false;
    }
    bool counts = !tls->thread->measure.is_rehearsed;
    uint64_t began = pfa_measure_begin(tls);
    (void)pfa_measure_now(tls);
    pfa_measure_end(tls, PFA_TIMES_FREES, 0, began);
    return counts;
}

static uint64_t measured(const pfa_trace_times_t *times, pfa_times_kind_t kind)
{
    return times->whole[kind].measured + times->own[kind].measured;
}

/* In runs and out of them, whatever the order of the two: each place of a loop is measured as often as any other. */
static void each_call_has_the_same_chance(void **state)
{
    (void)state;
    static const char *const loops[] = {"af", "aaff", "aaaaaaaf", "afffffff", "aaaaaaaaaaaaaaaaffffffffffffffff"};
    enum { CALLS = 4 << 20, PLACES = 32 };
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        pfa_tls_t tls = begin_thread();
        pfa_trace_times_t before = tls.thread->counters.times;
        size_t length = strlen(loops[i]);
        uint64_t hits[PLACES] = {0};
        for (uint64_t call = 0; call < CALLS; call++) {
            size_t place = call % length;
            hits[place] += loops[i][place] == 'a' ? allocate(&tls) : release(&tls);
        }
        const pfa_trace_times_t *times = &tls.thread->counters.times;
        uint64_t calls = times->calls - before.calls;
        assert_in_range(calls, CALLS - 2 * PFA_TIMES_MEAN, CALLS + CALLS / 100);
        double expected = (double)CALLS / (double)length / PFA_TIMES_MEAN;
        for (size_t place = 0; place < length; place++) {
            /* Five times the spread of independent trials, and two of a hundred. */
            double slack = 5 * __builtin_sqrt(expected) + expected / 50;
            if ((double)hits[place] < expected - slack || (double)hits[place] > expected + slack) {
                fail_msg("%s: place %zu was measured %lu times, expected %.0f", loops[i], place, hits[place], expected);
            }
        }
        uint64_t own = times->own[0].measured + times->own[1].measured;
        uint64_t all = measured(times, PFA_TIMES_ALLOCATIONS) + measured(times, PFA_TIMES_FREES);
        assert_in_range(own, all * 45 / 100, all * 55 / 100);
        end_thread(&tls);
    }
}

/* A thread that makes few calls leaves the rest of the way to the next. */
static void short_threads_count_too(void **state)
{
    (void)state;
    enum { THREADS = 20000, EACH = 30 };
    pfa_trace_times_t before;
    pfa_trace_times_t after;
    pfa_times_sum(&before);
    for (int i = 0; i < THREADS; i++) {
        static char heap;
        pfa_tls_t tls;
        memset(&tls, 0, sizeof tls);
        tls.random = (uint64_t)i * 7919 + 1;
        tls.thread = pfa_thread_list_join(&tls);
        must(tls.thread != NULL);
        tls.clock_may_skip = 1;
        tls.region_heap = &heap;
        pfa_measure_enter(&tls);
        for (int call = 0; call < EACH; call++) {
            (void)allocate(&tls);
        }
        end_thread(&tls);
    }
    pfa_times_sum(&after);
    uint64_t calls = after.calls - before.calls;
    assert_in_range(calls, THREADS * EACH - 2 * PFA_TIMES_MEAN, THREADS * EACH + 2 * PFA_TIMES_MEAN);
    uint64_t count = measured(&after, PFA_TIMES_ALLOCATIONS) - measured(&before, PFA_TIMES_ALLOCATIONS);
    assert_in_range(count, THREADS * EACH / PFA_TIMES_MEAN * 9 / 10, THREADS * EACH / PFA_TIMES_MEAN * 11 / 10);
}

static void nothing_is_measured_without_a_trace(void **state)
{
    (void)state;
    for (int lacking = 0; lacking < 2; lacking++) {
        pfa_tls_t tls = begin_thread();
        pfa_trace_times_t before = tls.thread->counters.times;
        tls.clock_may_skip = lacking != 0;
        pfa_ring_set_open(lacking != 1);
        for (int i = 0; i < 100000; i++) {
            assert_false(allocate(&tls));
            assert_false(release(&tls));
        }
        assert_memory_equal(&before, &tls.thread->counters.times, sizeof before);
        end_thread(&tls);
    }
}

static void spend(uint64_t ticks)
{
    for (uint64_t began = pfa_counter(); pfa_counter() - began < ticks;) {
    }
}

/* Measures until one is of the whole call (or of the allocator's part), and returns what was added for it, in ticks. */
static double measure_one(pfa_tls_t *tls, bool own, uint64_t ticks, uint64_t bytes, uint64_t waited)
{
    pfa_trace_timed_t *timed = own ? &tls->thread->counters.times.own[0] : &tls->thread->counters.times.whole[0];
    uint64_t count = timed->measured;
    uint64_t before = timed->ticks;
    while (timed->measured == count) {
        uint64_t began = pfa_measure_begin(tls);
        spend(own ? 5 * ticks : 0); /* is not the allocator's */
        pfa_measure_own_begin(tls);
        spend(ticks);
        pfa_measure_own_end(tls);
        tls->thread->measure.waited += waited;
        pfa_measure_end(tls, PFA_TIMES_ALLOCATIONS, bytes, began);
    }
    return (double)(int64_t)(timed->ticks - before) / PFA_TIMES_PART;
}

static double least_of(pfa_tls_t *tls, bool own, uint64_t ticks, uint64_t bytes, uint64_t waited)
{
    double least = 1e18;
    for (int i = 0; i < 50; i++) {
        double one = measure_one(tls, own, ticks, bytes, waited);
        least = one < least ? one : least;
    }
    return least;
}

static void a_call_takes_what_it_takes(void **state)
{
    (void)state;
    pfa_tls_t tls = begin_thread();
    uint64_t moment = pfa_counter_moment();
    for (int own = 0; own < 2; own++) {
        double took = least_of(&tls, own, moment, 0, 0);
        assert_true(took > 0.9 * (double)moment && took < 1.3 * (double)moment);
        assert_true(least_of(&tls, own, 0, 0, 0) < 0.2 * (double)moment);
    }
    double rest = least_of(&tls, false, 2 * moment, 0, moment);
    assert_true(rest > 0.9 * (double)moment && rest < 1.3 * (double)moment); /* waiting is told apart */
    end_thread(&tls);
}

static void what_takes_too_long_is_cut(void **state)
{
    (void)state;
    pfa_tls_t tls = begin_thread();
    uint64_t moment = pfa_counter_moment();
    const pfa_trace_timed_t *timed = &tls.thread->counters.times.whole[0];
    uint64_t capped = timed->capped;
    double most = (double)(PFA_TIMES_MOMENTS * moment);
    assert_true(measure_one(&tls, false, 100 * moment, 0, 0) <= most);
    assert_true(timed->capped == capped + 1);
    /* Not where there is much to do. */
    double took = least_of(&tls, false, 20 * moment, (uint64_t)64 << PFA_TIMES_BYTES_SHIFT, 0);
    assert_true(took > 1.5 * most);
    /* The largest that there can be leaves room for many in the sum of squares. */
    double largest = most + (double)(PFA_TIMES_BYTES_MAX >> PFA_TIMES_BYTES_SHIFT) * (double)moment;
    assert_true(largest * largest * PFA_TIMES_PART * PFA_TIMES_PART < 0x1p63);
    end_thread(&tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_has_the_same_chance),       cmocka_unit_test(short_threads_count_too),
        cmocka_unit_test(nothing_is_measured_without_a_trace), cmocka_unit_test(a_call_takes_what_it_takes),
        cmocka_unit_test(what_takes_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
