/* One session that several threads ask at the same time: every answer is what a thread that is alone gets. Each thread asks every analysis, by
 * keys that need names, in another order. */
#include "tests/unit/unit.h"

#include "include/profalloc-analyze.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ASKED = 8 };

static const struct {
    profalloc_analysis_t analysis;
    const char *by;
    const char *metric;
    const char *where;
} asked[ASKED] = {{PROFALLOC_REPORT, "function", NULL, NULL},
                  {PROFALLOC_LEAKS, NULL, NULL, NULL},
                  {PROFALLOC_EXCESS, "file", NULL, NULL},
                  {PROFALLOC_MPROF, NULL, NULL, NULL},
                  {PROFALLOC_TIMELINE, "module", NULL, "size > 8"},
                  {PROFALLOC_FLAME, NULL, "peak", NULL},
                  {PROFALLOC_ADVISE, NULL, NULL, NULL},
                  {PROFALLOC_REPORT, NULL, NULL, "function = *"}};

typedef struct asking {
    profalloc_session_t *session;
    size_t first;
    char *answers[ASKED];
    size_t sizes[ASKED];
} asking_t;

static void ask(asking_t *asking, size_t number)
{
    profalloc_asking_t question = {
        .wheres = &asked[number].where, .where_count = asked[number].where != NULL, .by = asked[number].by};
    profalloc_ask_options_t options = {.metric = asked[number].metric, .buckets = 10};
    profalloc_question_t *made = NULL;
    profalloc_answer_t *answer = NULL;
    FILE *to = open_memstream(&asking->answers[number], &asking->sizes[number]);
    assert_non_null(to);
    assert_int_equal(profalloc_question_make(&made, &question, NULL, 0), 0);
    assert_int_equal(profalloc_ask(asking->session, made, asked[number].analysis, &options, &answer), 0);
    assert_int_equal(profalloc_answer_json(answer, to), 0);
    profalloc_answer_free(answer);
    profalloc_question_free(made);
    assert_int_equal(fclose(to), 0);
}

static void *work(void *to)
{
    asking_t *asking = to;
    for (size_t i = 0; i < ASKED; i++) {
        ask(asking, (asking->first + i) % ASKED);
    }
    return NULL;
}

static void test_many_ask_one_session(void **state)
{
    const char *paths[] = {PFA_FIXTURES "/told.pa", PFA_FIXTURES "/plain.pa"};
    asking_t askings[THREADS] = {{.first = 0}};
    asking_t alone = {.first = 0};
    pthread_t threads[THREADS];
    (void)state;
    assert_int_equal(profalloc_session_open(&alone.session, NULL, paths, 2), 0);
    assert_int_equal(profalloc_session_traces(alone.session), 2);
    work(&alone);
    profalloc_session_close(alone.session);
    profalloc_session_t *session = NULL;
    assert_int_equal(profalloc_session_open(&session, NULL, paths, 2), 0);
    for (size_t i = 0; i < THREADS; i++) {
        askings[i] = (asking_t){.session = session, .first = 2 * i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &askings[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        for (size_t j = 0; j < ASKED; j++) {
            assert_int_equal(askings[i].sizes[j], alone.sizes[j]);
            assert_memory_equal(askings[i].answers[j], alone.answers[j], alone.sizes[j]);
            free(askings[i].answers[j]);
        }
    }
    for (size_t j = 0; j < ASKED; j++) {
        free(alone.answers[j]);
    }
    profalloc_session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_ask_one_session)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
