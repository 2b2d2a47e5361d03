/* Owns the making of answers. See analyze/query/answer.h. */
#include "analyze/query/answer.h"
#include "analyze/base/memory.h"

typedef struct making {
    pfa_memory_t *memory;
    size_t size;
    pfa_session_t *session;
    const pfa_question_t *question;
    int (*collect)(void *answer, const void *options);
    const void *options;
    pfa_answer_t *answer;
    int error;
} making_t;

static void make(void *to)
{
    making_t *making = to;
    making->answer = pfa_memory_get(1, making->size);
    making->answer->memory = making->memory;
    pfa_query_open(&making->answer->query, making->session, making->question);
    making->error = making->collect(making->answer, making->options);
}

int pfa_answer_make(void **answer, size_t size, pfa_session_t *session, const pfa_question_t *question,
                    int (*collect)(void *answer, const void *options), const void *options)
{
    making_t making = {.memory = pfa_memory_new(),
                       .size = size,
                       .session = session,
                       .question = question,
                       .collect = collect,
                       .options = options};
    *answer = NULL;
    if (making.memory == NULL) {
        return ENOMEM;
    }
    if (pfa_session_traces(session) == 0) {
        pfa_memory_delete(making.memory);
        return PFA_ANSWER_NO_TRACE;
    }
    int error = pfa_memory_work(making.memory, make, &making);
    error = error != 0 ? error : making.error;
    if (error != 0) {
        pfa_memory_delete(making.memory);
        return error;
    }
    *answer = making.answer;
    return 0;
}

void pfa_answer_free(void *answer)
{
    if (answer != NULL) {
        pfa_memory_delete(((pfa_answer_t *)answer)->memory);
    }
}

typedef struct writing {
    void *answer;
    void (*write)(void *answer, void *to);
    void *to;
} writing_t;

/* Names that a writer looked for in vain are remarked on by that one alone. */
static void write_answer(void *to)
{
    const writing_t *writing = to;
    pfa_stacks_t *stacks = &((pfa_answer_t *)writing->answer)->query.stacks;
    size_t known = stacks->missed_room;
    bool *missed = pfa_memory_copy(stacks->missed, known * sizeof *missed);
    writing->write(writing->answer, writing->to);
    for (size_t i = 0; i < stacks->missed_room; i++) {
        stacks->missed[i] = i < known && missed[i];
    }
    pfa_memory_free(missed);
}

/* Writers add remarks of their own: each begins with those that were there. */
int pfa_answer_write(void *answer, void (*write)(void *answer, void *to), void *to)
{
    writing_t writing = {.answer = answer, .write = write, .to = to};
    pfa_query_t *query = &((pfa_answer_t *)answer)->query;
    size_t remarks = query->remarks.count;
    double unasked = query->unasked;
    int error = pfa_memory_work(((pfa_answer_t *)answer)->memory, write_answer, &writing);
    while (query->remarks.count > remarks) {
        pfa_memory_free(query->remarks.list[--query->remarks.count]);
    }
    query->unasked = unasked;
    return error;
}

int pfa_answer_again(const pfa_query_t *query, size_t sources)
{
    if (query->source_count != 0 && query->source_count < sources) {
        return 0;
    }
    return query->trouble == PFA_TROUBLE_NO_TRACE ? PFA_ANSWER_NO_TRACE : PFA_ANSWER_READING;
}
