/* Asks two traces two questions each, in a thread for each trace, and prints the answers as JSON: what allocates most of the bytes at
 * the peak, and what was never freed of chunks above 1 KiB. Built and run by
 *   cc two_traces.c -lprofalloc-analyze -lzstd -ldw -lelf -lstdc++ -lm -lpthread && ./a.out A.pa B.pa */
#include <profalloc-analyze.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const char *path;
    char *json; /* both answers */
    size_t size;
    int error;
} job_t;

static int ask(profalloc_session_t *session, const profalloc_question_options_t *asking, profalloc_analysis_t analysis,
               const profalloc_ask_options_t *options, FILE *to)
{
    profalloc_question_t *question = NULL;
    profalloc_answer_t *answer = NULL;
    int error = profalloc_question_make(&question, asking, NULL, 0);
    error = error != 0 ? error : profalloc_ask(session, question, analysis, options, &answer);
    error = error != 0 ? error : profalloc_answer_json(answer, to);
    profalloc_answer_free(answer);
    profalloc_question_free(question);
    return error;
}

static void *work(void *to)
{
    job_t *job = to;
    profalloc_question_options_t by_function = {.by = "function"};
    profalloc_question_options_t of_large = {.wheres = (const char *const[]){"size > 1K"}, .where_count = 1};
    profalloc_ask_options_t by_peak = {.sort = "peak", .top = 3};
    profalloc_session_t *session = NULL;
    FILE *out = open_memstream(&job->json, &job->size);
    int error = out == NULL ? ENOMEM : profalloc_session_open(&session, NULL, &job->path, 1);
    error = error != 0 ? error : ask(session, &by_function, PROFALLOC_REPORT, &by_peak, out);
    error = error != 0 ? error : ask(session, &of_large, PROFALLOC_LEAKS, NULL, out);
    profalloc_session_close(session);
    job->error = out != NULL && fclose(out) != 0 && error == 0 ? ENOMEM : error;
    return NULL;
}

int main(int argc, char **argv)
{
    job_t jobs[2] = {{.path = argc > 1 ? argv[1] : ""}, {.path = argc > 2 ? argv[2] : "", .error = EAGAIN}};
    pthread_t thread;
    int error = pthread_create(&thread, NULL, work, &jobs[1]);
    work(&jobs[0]);
    error = error != 0 ? error : pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) {
        fprintf(stderr, "%s: %s\n", jobs[i].path, strerror(jobs[i].error));
        fputs(jobs[i].error == 0 ? jobs[i].json : "", stdout);
        free(jobs[i].json);
    }
    return error != 0 || jobs[0].error != 0 || jobs[1].error != 0;
}
