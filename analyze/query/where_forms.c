/* Owns the parts of a path or of a demangled name that patterns are held against. See analyze/query/where_match.h. */
#include "analyze/query/where_match.h"
#include "analyze/base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_of_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || (unsigned char)byte >= 0x80;
}

/* The length of "operator" with the brackets that belong to its name; 0: no operator begins here. */
static size_t measure_operator(const char *begin, const char *at)
{
    static const char *const brackets[] = {"()",  "[]", "<<=", "<=>", "<<",  "<=", "<",
                                           ">>=", ">>", ">=",  ">",   "->*", "->"};
    const size_t word = strlen("operator");
    if (!begins_with(at, "operator") || is_of_name(at[word]) || (at > begin && is_of_name(at[-1]))) {
        return 0;
    }
    for (size_t i = 0; i < sizeof brackets / sizeof brackets[0]; i++) {
        if (begins_with(at + word, brackets[i])) {
            return word + strlen(brackets[i]);
        }
    }
    return word;
}

/* The length of what is at `at` and belongs together; counts how deep in brackets it is. */
static size_t step(const char *begin, const char *at, unsigned *depth)
{
    size_t length = measure_operator(begin, at);
    if (length != 0 || begins_with(at, "->")) {
        return length != 0 ? length : 2;
    }
    if (strchr("<({[", *at) != NULL) {
        ++*depth;
    } else if (strchr(">)}]", *at) != NULL && *depth != 0) {
        --*depth;
    }
    return 1;
}

/* What compilers and linkers hang on to the name of a function, of which they made several. */
static bool is_suffix(const char *at)
{
    static const char *const suffixes[] = {".part.", ".cold",      ".constprop.", ".isra.",
                                           ".llvm.", ".lto_priv.", " [clone ",    "@"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (begins_with(at, suffixes[i])) {
            return true;
        }
    }
    return false;
}

static bool begins_arguments(const char *name, const char *at)
{
    const size_t word = strlen("decltype");
    bool type = (size_t)(at - name) >= word && begins_with(at - word, "decltype");
    return *at == '(' && !type && !begins_with(at, "(anonymous namespace)");
}

/* The name alone: without the type before it, and without what begins with its arguments. NULL: there is none to be seen. */
static char *cut_name(const char *name)
{
    const char *start = name;
    const char *at = name;
    unsigned depth = 0;
    bool is_operator = false; /* "operator unsigned long" is one name */
    while (*at != '\0') {
        if (depth == 0 && ((at > name && is_suffix(at)) || begins_arguments(name, at))) {
            break;
        }
        if (depth == 0 && *at == ' ' && !is_operator) {
            start = at + 1;
        }
        is_operator = is_operator || (depth == 0 && measure_operator(name, at) != 0);
        at += step(name, at, &depth);
    }
    return at > start ? pfa_memory_copy(start, (size_t)(at - start)) : NULL;
}

static char *cut_templates(const char *name)
{
    char *cut = pfa_memory_get(strlen(name) + 1, 1);
    size_t length = 0;
    unsigned angles = 0;
    unsigned depth = 0;
    for (const char *at = name; *at != '\0';) {
        size_t size = step(name, at, &depth);
        angles += size == 1 && *at == '<';
        if (angles == 0) {
            memcpy(cut + length, at, size);
            length += size;
        }
        angles -= size == 1 && *at == '>' && angles != 0;
        at += size;
    }
    return cut;
}

static void add_tail(pfa_forms_t *forms, size_t *count, const char *tail)
{
    forms->tails[(*count)++ % PFA_FORMS_TAILS] = tail;
    forms->tail_count = *count < PFA_FORMS_TAILS ? *count : PFA_FORMS_TAILS;
}

static void add_name_tails(pfa_forms_t *forms, size_t *count, const char *name)
{
    unsigned depth = 0;
    for (const char *at = name; *at != '\0';) {
        if (depth == 0 && begins_with(at, "::")) {
            at += 2;
            add_tail(forms, count, at);
        } else {
            at += step(name, at, &depth);
        }
    }
}

static void make_function_forms(pfa_forms_t *forms)
{
    size_t count = 0;
    forms->names[0] = cut_name(forms->text);
    if (forms->names[0] == NULL) {
        return;
    }
    add_name_tails(forms, &count, forms->names[0]);
    if (strchr(forms->names[0], '<') != NULL) {
        forms->names[1] = cut_templates(forms->names[0]);
        add_name_tails(forms, &count, forms->names[1]);
    }
}

static void make_path_forms(pfa_forms_t *forms)
{
    size_t count = 0;
    for (const char *at = forms->text; *at != '\0'; at++) {
        if (*at == '/') {
            forms->base = at + 1;
            add_tail(forms, &count, at + 1);
        }
    }
}

void pfa_forms_make(pfa_forms_t *forms, pfa_text_form_t form, const char *text)
{
    *forms = (pfa_forms_t){.text = text, .base = text};
    if (form == PFA_TEXT_FUNCTION) {
        make_function_forms(forms);
    } else if (form == PFA_TEXT_PATH) {
        make_path_forms(forms);
    }
}

void pfa_forms_free(pfa_forms_t *forms)
{
    pfa_memory_free(forms->names[0]);
    pfa_memory_free(forms->names[1]);
    forms->names[0] = forms->names[1] = NULL;
}
