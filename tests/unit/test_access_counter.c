/* Counters of accesses, and the schedule of clock readings: whatever is counted, one by one or many at once, is what counters say;
 * they ask for the time exactly when they were told to; and the schedule asks at the last access of chunks that are used as others
 * of their call site were, at every one of the first accesses otherwise, and then before much of them has gone by. */
#include "hooks/access/schedule.h"
#include "hooks/access/view.h"

#include "tests/unit/unit.h"

static bool is_asked(uint64_t before, uint64_t after)
{
    return ((before ^ after) & PFA_ACCESS_SELDOM) != 0;
}

static void all_counts_are_told(void **state)
{
    uint64_t random = 3;
    (void)state;
    assert_int_equal(pfa_access_count(PFA_ACCESS_NONE), 0);
    assert_int_equal(pfa_access_counter(0, 1), PFA_ACCESS_NONE);
    assert_int_equal(pfa_access_count(0), 0); /* of a record that nobody reads */
    for (uint32_t i = 0; i < 400000; i++) {
        uint32_t until = 1 + (uint32_t)random_below(&random, PFA_ACCESS_TICKS);
        uint32_t count = i < 100000 ? i : (uint32_t)random_below(&random, i < 200000 ? 1u << 22 : PFA_ACCESS_FULL);
        assert_int_equal(pfa_access_count(pfa_access_counter(count, until)), count);
    }
    for (uint32_t until = 1; until <= PFA_ACCESS_TICKS; until++) {
        assert_int_equal(pfa_access_count(pfa_access_counter(PFA_ACCESS_FULL, until)), INT32_MAX);
        assert_int_equal(pfa_access_count(pfa_access_counter(INT32_MAX, until)), INT32_MAX);
    }
}

/* As the callbacks add, one by one or many at once: up to where it is to be asked for the count is told, and there it is asked for. */
static void the_time_is_asked_for_when_it_was_said(void **state)
{
    uint64_t random = 9;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint32_t count = (uint32_t)random_below(&random, i % 2 == 0 ? 100 : 3000000);
        uint32_t until = 1 + (uint32_t)random_below(&random, PFA_ACCESS_TICKS);
        uint32_t more = 1 + (uint32_t)random_below(&random, 2 * until);
        uint32_t before = pfa_access_counter(count, until);
        bool far = (before & PFA_ACCESS_FAR) != 0;
        uint32_t ends = far ? PFA_ACCESS_TICKS - count % PFA_ACCESS_TICKS : until;
        assert_int_equal(far, count > PFA_ACCESS_NEAR_MAX - until);
        assert_int_equal(is_asked(before, (uint64_t)before + more), more >= ends);
        assert_true(more >= ends || pfa_access_count(before + more) == count + more);
        /* Both halves at once. */
        uint64_t both = (uint64_t)before << 32 | pfa_access_counter(count / 2, until);
        assert_true(far || pfa_schedule_counts(both) == ((uint64_t)count << 32 | count / 2));
    }
}

/* In ticks as long as that is less than 2^47 of them, then in units of 16, up to what there is room for. */
static void times_of_first_accesses_are_told(void **state)
{
    uint64_t random = 11;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint64_t late = random_below(&random, (uint64_t)1 << random_below(&random, 51));
        uint64_t told = pfa_first_time(0xabcd000000000000 | pfa_first_code(late));
        assert_true(late < (uint64_t)1 << 47 ? told == late : told <= late && late - told < 16);
    }
    assert_int_equal(pfa_first_time(100), 1600); /* as tables had it before */
    assert_true(pfa_first_time(pfa_first_code(UINT64_MAX)) == ((uint64_t)1 << 51) - 16);
    assert_true(pfa_first_code(UINT64_MAX) >> PFA_FIRST_BITS == 0);
}

/* Readings while a chunk is read and written in turns, and how many accesses came after the last of them. */
typedef struct course {
    unsigned readings;
    unsigned behind;
} course_t;

static course_t run(uint32_t reads, uint32_t writes, uint64_t usual)
{
    course_t course = {0, 0};
    uint64_t counters = PFA_BOTH(PFA_ACCESS_NONE);
    uint32_t done[2] = {0, 0};
    while (done[0] + done[1] < reads + writes) {
        bool write = done[0] == reads ||
                     (done[1] < writes && (uint64_t)done[1] * (reads + 1) <= (uint64_t)done[0] * (writes + 1));
        uint64_t one = write ? PFA_ACCESS_WRITE : PFA_ACCESS_READ;
        done[write]++;
        course.behind++;
        if (is_asked(counters, counters + one)) {
            counters = pfa_schedule(pfa_schedule_counts(counters) + one, usual, false);
            assert_true(counters != 0);
            course.readings++;
            course.behind = 0;
        } else {
            counters += one;
        }
        assert_true(pfa_schedule_counts(counters) == ((uint64_t)done[1] << 32 | done[0]));
    }
    return course;
}

static uint64_t hint_of(uint32_t reads, uint32_t writes, unsigned chunks)
{
    uint64_t hint = 0;
    for (unsigned i = 0; i < chunks; i++) {
        hint = pfa_usual_with(hint, reads, writes, false, true);
    }
    return hint;
}

static void what_is_usual_is_read_at_its_end(void **state)
{
    uint64_t random = 5;
    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        uint32_t reads = (uint32_t)random_below(&random, 900);
        uint32_t writes = 1 + (uint32_t)random_below(&random, 900);
        uint64_t known = hint_of(reads, writes, PFA_USUAL_WINDOW + PFA_USUAL_WATCHED + i % 70);
        course_t course = run(reads, writes, known);
        assert_int_equal(course.behind, 0);
        /* At the first, at the last of each kind, and for what comes of one kind while the other is still missing some. */
        assert_true(course.readings <= 3 + 20);
        /* More than is usual is as if nothing were. */
        course = run(reads + 300, writes, known);
        assert_true(course.behind <= 2 * (reads + 300 + writes) / 10);
    }
}

static void what_is_not_known_is_read_closely(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 3000; n++) {
        course_t unknown = run(n / 2, n - n / 2, hint_of(n / 2, n, PFA_USUAL_FIRST - 1));
        course_t least = run(n / 2, n - n / 2, hint_of(0, 0, PFA_USUAL_FIRST));
        assert_true(unknown.behind <= n / 8 && (n >= 32 || unknown.behind == 0));
        assert_true(least.behind <= n / 8 && (n >= 16 || least.behind == 0));
    }
}

/* The least of the last window and of those since then; what was less long ago is forgotten. */
static void a_hint_is_the_least_of_late(void **state)
{
    uint64_t hint = 0;
    (void)state;
    for (uint32_t i = 0; i < PFA_USUAL_FIRST; i++) {
        assert_true((hint & PFA_USUAL_KNOWN) == 0 && pfa_usual_least(hint, 0) == 0);
        hint = pfa_usual_with(hint, i + 3, 100000, false, true);
    }
    assert_int_equal(pfa_usual_least(hint, 0), 3);
    for (uint32_t i = 0; i < 10 * PFA_USUAL_WINDOW; i++) {
        assert_true((hint & PFA_USUAL_KNOWN) != 0);
        assert_int_equal(pfa_usual_least(hint, 0), i == 0 ? 3 : i < PFA_USUAL_WINDOW ? 0 : i / PFA_USUAL_WINDOW - 1);
        hint = pfa_usual_with(hint, i / PFA_USUAL_WINDOW, 100000, false, true);
    }
    assert_int_equal(pfa_usual_least(hint, PFA_USUAL_FIELD), PFA_USUAL_MOST);
    hint = pfa_usual_with(hint, 50, 7, false, true);
    assert_int_equal(pfa_usual_least(hint, 0), 9);
    assert_int_equal(pfa_usual_least(hint, PFA_USUAL_FIELD), 7);
    for (uint32_t i = 0; i < 2 * PFA_USUAL_WINDOW; i++) {
        hint = pfa_usual_with(hint, 50, 60, false, true);
    }
    assert_int_equal(pfa_usual_least(hint, 0), 50);
    assert_int_equal(pfa_usual_least(hint, PFA_USUAL_FIELD), 60);
}

uint64_t pfa_usual[1u << PFA_USUAL_BITS];
uint64_t pfa_usual_died[1u << PFA_USUAL_BITS];

enum { TOGETHER = 20 };

/* That many chunks that are alive at the same time, with so many writes each. */
static void note_some(uint32_t slot, uint64_t *now, uint32_t writes)
{
    uint64_t born = *now;
    for (unsigned i = 0; i < TOGETHER; i++) {
        *now += 10;
        pfa_usual_note(slot, 0, writes, false, born, *now);
    }
}

/* One case in 30 has few accesses: that is not forgotten before 32 cases are over, however many chunks these are. */
static void chunks_that_are_used_together_are_one_case(void **state)
{
    uint64_t now = 1000;
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        note_some(7, &now, i % 30 == 0 ? 10 : 100);
        assert_true((pfa_usual[7] & PFA_USUAL_KNOWN) != 0);
        assert_int_equal(pfa_usual_least(pfa_usual[7], PFA_USUAL_FIELD), 10);
    }
    unsigned cases = 0;
    for (; pfa_usual_least(pfa_usual[7], PFA_USUAL_FIELD) == 10; cases++) {
        note_some(7, &now, 100);
    }
    assert_in_range(cases, PFA_USUAL_WINDOW - 29, 2 * PFA_USUAL_WINDOW);
    /* Chunks that come one after another count each. */
    pfa_usual_note(7, 0, 10, false, now, now + 1);
    for (cases = 0; pfa_usual_least(pfa_usual[7], PFA_USUAL_FIELD) == 10; cases++) {
        now += 5;
        pfa_usual_note(7, 0, 100, false, now, now + 3);
    }
    assert_in_range(cases, PFA_USUAL_WINDOW, 2 * PFA_USUAL_WINDOW);
    /* One that was there all the time does not count, and lowers the least all the same. */
    uint64_t before = pfa_usual[7];
    pfa_usual_note(7, 0, 50, false, 1000, now + 5);
    assert_int_equal(pfa_usual_chunks(pfa_usual[7]), pfa_usual_chunks(before));
    assert_int_equal(pfa_usual_least(pfa_usual[7], PFA_USUAL_FIELD), 50);
    /* A moved chunk is born when the one before it dies (alloc/resize.c): it counts. */
    now += 1000;
    pfa_usual_note(7, 0, 50, false, now, now + 100);
    pfa_usual_note(7, 0, 50, false, now + 100, now + 200);
    assert_int_equal(pfa_usual_chunks(pfa_usual[7]), pfa_usual_chunks(before) + 2);
}

/* In a cache with very many chunks, what the first ones were like is forgotten long before all have been replaced often. */
static void a_cache_is_known_by_its_late_chunks(void **state)
{
    (void)state;
    uint64_t now = 100000;
    for (unsigned i = 0; i < 1000; i++) {
        pfa_usual_note(8, 0, i < 30 ? 5 : 100, false, 10 * i, now += 50);
    }
    assert_int_equal(pfa_usual_least(pfa_usual[8], PFA_USUAL_FIELD), 5);
    for (unsigned i = 0; i < 2 * PFA_USUAL_WINDOW * PFA_USUAL_UNCOUNTED; i++) {
        pfa_usual_note(8, 0, 100, false, 20000, now += 50);
    }
    assert_int_equal(pfa_usual_least(pfa_usual[8], PFA_USUAL_FIELD), 100);
}

/* The hint after a chunk that was watched, with so many accesses before a pause, or with none, and so many in all. */
static uint64_t with_watched(uint64_t hint, uint32_t before, uint32_t total)
{
    assert_true(pfa_usual_wants(hint));
    hint |= PFA_USUAL_TAKEN;
    assert_false(pfa_usual_wants(hint)); /* one at a time */
    hint = before != 0 ? pfa_usual_with_pause(hint, before) : hint;
    return pfa_usual_with(hint, 0, total, true, true);
}

/* A hint whose watched chunks had so many accesses before a pause, and so many in all; which of them paused, by bits. */
static uint64_t hint_of_pauses(uint32_t before, uint32_t total, unsigned which)
{
    uint64_t hint = hint_of(0, total, PFA_USUAL_FIRST);
    assert_true(pfa_usual_is_watched(hint));
    for (unsigned i = 0; pfa_usual_is_watched(hint); i++) {
        assert_true(i < PFA_USUAL_WATCHED);
        hint = with_watched(hint, (which >> i & 1) != 0 ? before : 0, total);
    }
    return hint;
}

static void few_accesses_after_a_pause_are_read(void **state)
{
    (void)state;
    for (uint32_t before = PFA_USUAL_ENOUGH; before < 5000; before++) {
        assert_true((hint_of_pauses(before, before + 1, 3) & PFA_USUAL_LATE) != 0);
        assert_true((hint_of_pauses(before, before + before / 16, 3) & PFA_USUAL_LATE) != 0);
        assert_true((hint_of_pauses(before, before + 1, 5) & PFA_USUAL_LATE) != 0);
        /* One alone is chance; and of many accesses after it, the clock is read at some. */
        assert_true((hint_of_pauses(before, before + 1, 1) & PFA_USUAL_LATE) == 0);
        assert_true((hint_of_pauses(before, before + 1, 2) & PFA_USUAL_LATE) == 0);
        assert_true((hint_of_pauses(before, before + before / 2, 3) & PFA_USUAL_LATE) == 0);
    }
    for (uint32_t n = 40; n < PFA_ACCESS_WATCHED; n++) {
        uint64_t hint = pfa_usual_with(hint_of_pauses(n, n + 1, 3), 0, 40, false, true);
        assert_int_equal(run(0, n, hint).behind, 0);
    }
}

/* Those with few accesses say nothing, and are not watched for long. */
static void few_accesses_say_nothing_of_pauses(void **state)
{
    (void)state;
    for (unsigned few = 0; few <= PFA_USUAL_WATCHED; few++) {
        uint64_t hint = hint_of(0, 10, PFA_USUAL_FIRST);
        for (unsigned i = 0; i < few; i++) {
            hint = with_watched(hint, 0, 10);
        }
        assert_int_equal(pfa_usual_is_watched(hint), few < PFA_USUAL_WATCHED);
        for (unsigned i = 0; i < 2; i++) {
            hint =
                pfa_usual_is_watched(hint) ? with_watched(hint, 100, 101) : pfa_usual_with(hint, 0, 101, false, true);
        }
        assert_int_equal((hint & PFA_USUAL_LATE) != 0, few < PFA_USUAL_WATCHED - 1);
    }
}

/* Where chunks have fewer accesses than those before them, the clock is read earlier, for the rest of the window. */
static void what_varies_is_read_earlier(void **state)
{
    (void)state;
    uint64_t hint = hint_of(0, 100, PFA_USUAL_FIRST + PFA_USUAL_WINDOW);
    assert_true(run(0, 89, hint).behind >= 88);
    hint = pfa_usual_with(hint, 0, 96, false, true);
    assert_true(run(0, 89, hint).behind <= 89 / 12);
    for (unsigned i = 0; i < PFA_USUAL_WINDOW; i++) {
        hint = pfa_usual_with(hint, 0, 100, false, true);
    }
    assert_true(run(0, 89, hint).behind >= 88);
}

/* Others that die meanwhile are not taken for the one that is watched; after a few of them its watch ends. */
static void others_die_while_one_is_watched(void **state)
{
    (void)state;
    uint64_t hint = hint_of(0, 100, PFA_USUAL_FIRST) | PFA_USUAL_TAKEN;
    hint = pfa_usual_with_pause(hint, 99);
    hint = pfa_usual_with(hint, 0, 100, false, true);
    assert_false(pfa_usual_wants(hint));
    hint = pfa_usual_with(hint, 0, 100, true, true);
    assert_true(pfa_usual_wants(hint) && (hint & PFA_USUAL_LATE) == 0);
    hint = with_watched(hint, 99, 100);
    assert_true(!pfa_usual_is_watched(hint) && (hint & PFA_USUAL_LATE) != 0);
    /* Another chunk got its entry in the table of readings: the watch ends with others. */
    hint = hint_of(0, 100, PFA_USUAL_FIRST) | PFA_USUAL_TAKEN;
    for (unsigned i = 0; i < PFA_USUAL_WATCHED; i++) {
        assert_true(pfa_usual_is_watched(hint));
        hint = pfa_usual_with(hint, 0, 100, false, true);
    }
    assert_false(pfa_usual_is_watched(hint));
    assert_int_equal(hint & PFA_USUAL_PAUSE_BITS, 0);
}

static unsigned until_watched(uint64_t *hint)
{
    unsigned chunks = 0;
    for (; !pfa_usual_is_watched(*hint); chunks++) {
        *hint = pfa_usual_with(*hint, 0, 101, false, true);
    }
    return chunks;
}

/* It is asked for again, 8 windows later, and until then nothing changes; where none was found, in the next one, too. */
static void what_was_watched_holds_for_eight_windows(void **state)
{
    (void)state;
    uint64_t hint = hint_of_pauses(100, 101, 3);
    assert_true((hint & PFA_USUAL_LATE) != 0);
    assert_int_equal(until_watched(&hint), 8 * PFA_USUAL_WINDOW - 2);
    assert_true((hint & PFA_USUAL_LATE) != 0);
    hint = with_watched(hint, 0, 101);
    assert_true((hint & PFA_USUAL_LATE) == 0);
    assert_int_equal(pfa_usual_least(hint, PFA_USUAL_FIELD), 101);
    assert_int_equal(until_watched(&hint), PFA_USUAL_WINDOW - 1);
    hint = with_watched(hint, 0, 101);
    assert_int_equal(until_watched(&hint), 7 * PFA_USUAL_WINDOW - 1);
}

static void a_pause_is_long_for_the_age_and_for_the_number(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t reads = random_below(&random, 1400);
        uint64_t writes = random_below(&random, 1400 - reads);
        uint64_t age = random_below(&random, (uint64_t)1 << random_below(&random, 50));
        uint64_t since = random_below(&random, age + 1);
        bool long_ago = PFA_USUAL_SHARE * since > age;
        bool between = reads + writes >= PFA_ACCESS_PAUSE && reads + writes < PFA_ACCESS_WATCHED;
        assert_int_equal(pfa_schedule_is_pause(writes << 32 | reads, since, age), long_ago && between);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_counts_are_told),
        cmocka_unit_test(the_time_is_asked_for_when_it_was_said),
        cmocka_unit_test(what_is_usual_is_read_at_its_end),
        cmocka_unit_test(what_is_not_known_is_read_closely),
        cmocka_unit_test(a_hint_is_the_least_of_late),
        cmocka_unit_test(chunks_that_are_used_together_are_one_case),
        cmocka_unit_test(a_cache_is_known_by_its_late_chunks),
        cmocka_unit_test(few_accesses_after_a_pause_are_read),
        cmocka_unit_test(times_of_first_accesses_are_told),
        cmocka_unit_test(few_accesses_say_nothing_of_pauses),
        cmocka_unit_test(what_varies_is_read_earlier),
        cmocka_unit_test(others_die_while_one_is_watched),
        cmocka_unit_test(a_pause_is_long_for_the_age_and_for_the_number),
        cmocka_unit_test(what_was_watched_holds_for_eight_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
