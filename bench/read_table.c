/* How long a trace's records take to be read, and nothing to be made of them: for bench/run analyze, of a trace that has all of them in its live
 * table.
 *
 *   read_table TRACE    prints a line each for opening, for a walk through the kinds and for one through the chunks: seconds and chunks */
#include "analyze/base/memory.h"
#include "analyze/query/query.h"
#include "analyze/query/session.h"

#include <stdio.h>
#include <time.h>

typedef struct reading {
    pfa_session_t *session;
    bool chunks; /* one by one, by lanes */
    double seconds;
    double count;
    int error;
} reading_t;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void count_kind(void *to, const pfa_kind_t *kind, double rows)
{
    reading_t *reading = to;
    (void)kind;
    reading->count += rows;
}

/* By any thread: what it does must be cheap, and must not be left out. */
static void take_chunk(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    (void)to;
    (void)kind;
    __asm__ volatile("" : : "r"(chunk) : "memory");
}

static void walk(void *to)
{
    reading_t *reading = to;
    pfa_query_t query;
    pfa_look_t look = {.to = reading, .kind = count_kind, .lane_chunk = reading->chunks ? take_chunk : NULL};
    pfa_query_open(&query, reading->session, NULL);
    double begun = now();
    reading->error = pfa_query_walk(&query, &look, "reading");
    reading->seconds = now() - begun;
    pfa_query_close(&query);
}

static int read_all(pfa_session_t *session, bool chunks)
{
    reading_t reading = {.session = session, .chunks = chunks};
    pfa_memory_t *memory = pfa_memory_new();
    int error = memory != NULL ? pfa_memory_work(memory, walk, &reading) : 1;
    pfa_memory_delete(memory);
    error = error != 0 ? error : reading.error;
    if (error == 0) {
        printf("%s %.4f %.0f\n", chunks ? "chunks" : "kinds", reading.seconds, reading.count);
    }
    return error;
}

int main(int argc, char **argv)
{
    pfa_session_options_t options = {.threads = 0};
    pfa_session_t *session;
    if (argc != 2) {
        fputs("usage: read_table TRACE\n", stderr);
        return 2;
    }
    double begun = now();
    const char *path = argv[1];
    if (pfa_session_open(&session, &options, &path, 1) != 0 || pfa_session_traces(session) != 1) {
        fprintf(stderr, "read_table: %s is no trace\n", argv[1]);
        return 1;
    }
    printf("open %.4f 0\n", now() - begun);
    int error = read_all(session, false);
    error = error != 0 ? error : read_all(session, true);
    pfa_session_close(session);
    return error != 0;
}
