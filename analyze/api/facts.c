/* Owns what programs are told of the traces of a session. */
#include "analyze/api/api.h"
#include "analyze/query/query.h"

#include <errno.h>
#include <string.h>

typedef struct placing {
    pfa_session_t *session;
    size_t number;
    double start_ns;
    double end_ns;
} placing_t;

/* Where all questions have it. */
static void place(void *to)
{
    placing_t *placing = to;
    pfa_query_t query;
    pfa_query_open(&query, placing->session, NULL);
    placing->start_ns = query.sources[placing->number].start_ns;
    placing->end_ns = query.sources[placing->number].end_ns;
    pfa_query_close(&query);
}

static profalloc_trace_t facts_of(const pfa_session_trace_t *known, const placing_t *placing)
{
    profalloc_trace_t facts = {.path = known->path,
                               .program = known->program,
                               .command = known->command,
                               .ending = known->ending,
                               .start_ns = placing->start_ns,
                               .duration_ns = placing->end_ns - placing->start_ns,
                               .sample = known->start.sample > 1 ? (double)known->start.sample : 1,
                               .sampled = known->sampled,
                               .has_accesses = known->has_accesses};
    if (known->known_start) {
        facts.pid = known->start.pid;
        facts.parent_pid = known->start.parent_pid;
        facts.start_unix_ns = known->start.unix_ns;
    }
    return facts;
}

int profalloc_session_trace(const profalloc_session_t *session, size_t number, profalloc_trace_t *trace, size_t size)
{
    placing_t placing = {.session = session->session, .number = number};
    pfa_memory_t *memory = NULL;
    memset(trace, 0, size);
    if (number >= pfa_session_traces(session->session)) {
        return EINVAL;
    }
    memory = pfa_memory_new();
    int error = memory != NULL ? pfa_memory_work(memory, place, &placing) : ENOMEM;
    pfa_memory_delete(memory);
    if (error == 0) {
        profalloc_trace_t facts = facts_of(pfa_session_trace(session->session, number), &placing);
        memcpy(trace, &facts, size < sizeof facts ? size : sizeof facts);
    }
    return error;
}
