/* Owns what programs are told of the traces of a session. */
#include "analyze/api/api.h"
#include "analyze/query/query.h"

#include <errno.h>
#include <string.h>

typedef struct looking {
    pfa_session_t *session;
    size_t number;
    profalloc_trace_t facts;
} looking_t;

/* As a question finds it now. Texts are the session's, which stay. */
static void look(void *to)
{
    looking_t *looking = to;
    const pfa_session_trace_t *known = pfa_session_trace(looking->session, looking->number);
    pfa_query_t query;
    pfa_query_open(&query, looking->session, NULL);
    const pfa_source_t *source = &query.sources[looking->number];
    looking->facts = (profalloc_trace_t){.path = known->path,
                                         .program = known->program,
                                         .command = known->command,
                                         .ending = source->ending,
                                         .start_ns = source->start_ns,
                                         .duration_ns = source->end_ns - source->start_ns,
                                         .sample = source->start.sample > 1 ? (double)source->start.sample : 1,
                                         .sampled = source->sampled,
                                         .has_accesses = source->has_accesses};
    if (source->known_start) {
        looking->facts.pid = source->start.pid;
        looking->facts.parent_pid = source->start.parent_pid;
        looking->facts.start_unix_ns = source->start.unix_ns;
    }
    pfa_query_close(&query);
}

int profalloc_session_trace(const profalloc_session_t *session, size_t number, profalloc_trace_t *trace, size_t size)
{
    looking_t looking = {.session = session->session, .number = number};
    memset(trace, 0, size);
    if (number >= pfa_session_traces(session->session)) {
        return EINVAL;
    }
    pfa_memory_t *memory = pfa_memory_new();
    pfa_api_call_t call;
    bool begun = pfa_api_begin(&call, NULL);
    int error = begun && memory != NULL ? pfa_memory_work(memory, look, &looking) : ENOMEM;
    pfa_memory_delete(memory);
    pfa_api_end(&call);
    if (error == 0) {
        memcpy(trace, &looking.facts, size < sizeof looking.facts ? size : sizeof looking.facts);
    }
    return error;
}
