/* Owns the making of questions. See analyze/query/question.h. */
#include "analyze/query/question.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/query/keys.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

static char *join(const pfa_asking_t *asking)
{
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    for (size_t i = 0; i < asking->where_count; i++) {
        fprintf(to, "%s%s", i != 0 ? " --where " : "", asking->wheres[i]);
    }
    return pfa_memory_stream_close(stream);
}

/* Files first: expressions may use their names. */
static bool ask_wheres(pfa_question_t *question, const pfa_asking_t *asking, char **why)
{
    bool right = true;
    for (size_t i = 0; i < asking->where_count && right; i++) {
        const char *text = asking->wheres[i];
        right = text[0] != '@' || pfa_where_names_read(question->names, text + 1, why);
    }
    for (size_t i = 0; i < asking->where_count && right; i++) {
        const char *text = asking->wheres[i];
        right = text[0] == '@' || pfa_where_names_ask(question->names, text, why);
    }
    return right;
}

static bool ask_range(pfa_question_t *question, const pfa_asking_t *asking, char **why)
{
    bool bounded = asking->to_ns > 0;
    char *text = bounded ? pfa_memory_format("died >= %.0fns and born <= %.0fns", asking->from_ns, asking->to_ns)
                         : pfa_memory_format("died >= %.0fns", asking->from_ns);
    bool right = pfa_where_names_ask(question->names, text, why);
    pfa_memory_free(text);
    return right;
}

/* Whether all of it can be asked. */
static bool is_right(const pfa_question_t *question, char **why)
{
    pfa_where_t *where = NULL;
    bool right = pfa_question_where(question, &where, why);
    pfa_where_free(where);
    return right;
}

pfa_question_t *pfa_question_make(const pfa_asking_t *asking, char **why)
{
    pfa_question_t *question = pfa_memory_get(1, sizeof *question);
    bool ranged = asking->from_ns != 0 || asking->to_ns != 0;
    bool right = !ranged || (asking->from_ns >= 0 && isfinite(asking->from_ns) && isfinite(asking->to_ns) &&
                             (asking->to_ns == 0 || asking->to_ns >= asking->from_ns));
    *why = right ? NULL : pfa_memory_format("the range of time does not begin at or after 0 and end after that");
    question->text = join(asking);
    if (right && asking->by != NULL && (question->key = pfa_key_find(asking->by)) == NULL) {
        *why = pfa_memory_format("there is no key '%s' to group by", asking->by);
        right = false;
    }
    if (asking->where_count != 0 || ranged) {
        question->names = pfa_where_names_new();
        right = right && ask_wheres(question, asking, why) && (!ranged || ask_range(question, asking, why)) &&
                is_right(question, why);
    }
    question->groups = pfa_memory_get(asking->group_count, sizeof *question->groups);
    for (; question->group_count < asking->group_count; question->group_count++) {
        const char *name = asking->groups[question->group_count];
        question->groups[question->group_count] = pfa_memory_copy(name, strlen(name));
    }
    if (!right) {
        if (*why != NULL) {
            pfa_text_clean_lines(*why, strlen(*why));
        }
        pfa_question_free(question);
        question = NULL;
    }
    return question;
}

void pfa_question_free(pfa_question_t *question)
{
    if (question == NULL) {
        return;
    }
    for (size_t i = 0; i < question->group_count; i++) {
        pfa_memory_free(question->groups[i]);
    }
    pfa_where_names_free(question->names);
    pfa_memory_free(question->groups);
    pfa_memory_free(question->text);
    pfa_memory_free(question);
}

bool pfa_question_where(const pfa_question_t *question, pfa_where_t **where, char **why)
{
    *where = question->names != NULL ? pfa_where_parse(NULL, question->names, why) : NULL;
    return question->names == NULL || *where != NULL;
}
