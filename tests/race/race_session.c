/* One session that several threads ask at the same time, with questions that they share: every answer is what a thread that is alone gets.
 * Each thread asks every analysis, by keys that need names, in another order; and at last all of them one after the other, so that several
 * ask the same question at once. */
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
    profalloc_question_t **questions; /* of all threads */
    pthread_barrier_t *together;      /* NULL: it is alone */
    size_t first;
    char *answers[ASKED];
    size_t sizes[ASKED];
} asking_t;

static void ask(asking_t *asking, size_t number)
{
    profalloc_ask_options_t options = {.metric = asked[number].metric, .buckets = 10};
    profalloc_answer_t *answer = NULL;
    FILE *to = open_memstream(&asking->answers[number], &asking->sizes[number]);
    assert_non_null(to);
    assert_int_equal(
        profalloc_ask(asking->session, asking->questions[number], asked[number].analysis, &options, &answer), 0);
    assert_int_equal(profalloc_answer_json(answer, to), 0);
    profalloc_answer_free(answer);
    assert_int_equal(fclose(to), 0);
}

static void make_questions(profalloc_question_t *questions[ASKED])
{
    for (size_t i = 0; i < ASKED; i++) {
        profalloc_question_options_t asking = {
            .wheres = &asked[i].where, .where_count = asked[i].where != NULL, .by = asked[i].by};
        assert_int_equal(profalloc_question_make(&questions[i], &asking, NULL, 0), 0);
    }
}

static void free_questions(profalloc_question_t *questions[ASKED])
{
    for (size_t i = 0; i < ASKED; i++) {
        profalloc_question_free(questions[i]);
    }
}

static void *work(void *to)
{
    asking_t *asking = to;
    for (size_t i = 0; i < ASKED; i++) {
        ask(asking, (asking->first + i) % ASKED);
    }
    for (size_t i = 0; asking->together != NULL && i < ASKED; i++) {
        pthread_barrier_wait(asking->together);
        free(asking->answers[i]);
        ask(asking, i);
    }
    return NULL;
}

static void test_many_ask_one_session(void **state)
{
    const char *paths[] = {PFA_FIXTURES "/told.pa", PFA_FIXTURES "/plain.pa"};
    asking_t askings[THREADS] = {{.first = 0}};
    asking_t alone = {.first = 0};
    profalloc_question_t *questions[ASKED];
    pthread_barrier_t together;
    pthread_t threads[THREADS];
    (void)state;
    make_questions(questions);
    alone.questions = questions;
    pthread_barrier_init(&together, NULL, THREADS);
    assert_int_equal(profalloc_session_open(&alone.session, NULL, paths, 2), 0);
    assert_int_equal(profalloc_session_traces(alone.session), 2);
    work(&alone);
    profalloc_session_close(alone.session);
    profalloc_session_t *session = NULL;
    assert_int_equal(profalloc_session_open(&session, NULL, paths, 2), 0);
    for (size_t i = 0; i < THREADS; i++) {
        askings[i] = (asking_t){.session = session, .questions = questions, .together = &together, .first = 2 * i};
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
    pthread_barrier_destroy(&together);
    free_questions(questions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_ask_one_session)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
