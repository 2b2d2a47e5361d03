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
    pfa_query_rest(&making->answer->query);
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
    bool *missed; /* names that were looked for in vain before, by module */
    size_t missed_count;
} writing_t;

static void note_missed(void *to)
{
    writing_t *writing = to;
    const pfa_stacks_t *stacks = &((pfa_answer_t *)writing->answer)->query.stacks;
    writing->missed_count = stacks->missed_room;
    writing->missed = pfa_memory_copy(stacks->missed, writing->missed_count * sizeof *writing->missed);
}

static void write_answer(void *to)
{
    const writing_t *writing = to;
    writing->write(writing->answer, writing->to);
}

/* Writers add remarks of their own, and look for names: what they remark on is what was there before, and theirs alone, also if the
 * writer before was left in the middle. */
int pfa_answer_write(void *answer, void (*write)(void *answer, void *to), void *to)
{
    writing_t writing = {.answer = answer, .write = write, .to = to};
    pfa_memory_t *memory = ((pfa_answer_t *)answer)->memory;
    pfa_query_t *query = &((pfa_answer_t *)answer)->query;
    size_t remarks = query->remarks.count;
    double unasked = query->unasked;
    int error = pfa_memory_work(memory, note_missed, &writing);
    if (error != 0) {
        return error;
    }
    error = pfa_memory_work(memory, write_answer, &writing);
    for (size_t i = 0; i < query->stacks.missed_room; i++) {
        query->stacks.missed[i] = i < writing.missed_count && writing.missed[i];
    }
    pfa_memory_free(writing.missed);
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
