/* Owns the wrapped functions that look at strings and change nothing (wraps.h tells what wrapping means). A terminator that
 * has to be seen belongs to what is read. */
#include "hooks/access/wraps.h"

#include <ctype.h>

PFA_WRAPPED_WHERE(concerns(text), size_t, strlen, (const char *text), (text))
{
    size_t length = __real_strlen(text);
    note_read(text, length + 1);
    return length;
}

PFA_WRAPPED_WHERE(concerns(text), size_t, wcslen, (const wchar_t *text), (text))
{
    size_t length = __real_wcslen(text);
    note_read(text, (length + 1) * sizeof *text);
    return length;
}

PFA_WRAPPED_WHERE(concerns(text), size_t, strnlen, (const char *text, size_t size), (text, size))
{
    size_t length = __real_strnlen(text, size);
    note_read(text, least(length + 1, size));
    return length;
}

/* How many bytes it takes to see that two texts are as they are: up to the first difference, the end, or the limit. */
static size_t until_difference(const char *a, const char *b, size_t limit)
{
    size_t i = 0;
    while (i < limit && a[i] == b[i] && a[i] != '\0') {
        i++;
    }
    return least(i + 1, limit);
}

/* As the locale compares them, like the functions themselves. */
static size_t until_difference_in_case(const char *a, const char *b, size_t limit)
{
    size_t i = 0;
    while (i < limit && tolower((unsigned char)a[i]) == tolower((unsigned char)b[i]) && a[i] != '\0') {
        i++;
    }
    return least(i + 1, limit);
}

static PFA_NOINLINE void note_comparison(const char *a, const char *b, size_t seen)
{
    note_read(a, seen);
    note_read(b, seen);
}

/* Equal texts are as long as each other, which libc finds faster than a comparison by bytes. */
PFA_WRAPPED_WHERE(either_concerns(a, b), int, strcmp, (const char *a, const char *b), (a, b))
{
    int result = __real_strcmp(a, b);
    note_comparison(a, b, result == 0 ? __real_strlen(a) + 1 : until_difference(a, b, SIZE_MAX));
    return result;
}

PFA_WRAPPED_WHERE(either_concerns(a, b), int, strncmp, (const char *a, const char *b, size_t size), (a, b, size))
{
    int result = __real_strncmp(a, b, size);
    note_comparison(a, b, result == 0 ? until_end(a, size) : until_difference(a, b, size));
    return result;
}

PFA_WRAPPED_WHERE(either_concerns(a, b), int, strcasecmp, (const char *a, const char *b), (a, b))
{
    int result = __real_strcasecmp(a, b);
    note_comparison(a, b, result == 0 ? __real_strlen(a) + 1 : until_difference_in_case(a, b, SIZE_MAX));
    return result;
}

PFA_WRAPPED_WHERE(either_concerns(a, b), int, strncasecmp, (const char *a, const char *b, size_t size), (a, b, size))
{
    int result = __real_strncasecmp(a, b, size);
    note_comparison(a, b, until_difference_in_case(a, b, size));
    return result;
}

/* Up to what was found; all of the text if nothing was. */
static PFA_NOINLINE void note_search(const char *text, const char *found)
{
    note_read(text, found != NULL ? distance(text, found) + 1 : __real_strlen(text) + 1);
}

#define DEFINE_FIRST(name)                                                                                             \
    PFA_WRAPPED_WHERE(concerns(text), char *, name, (const char *text, int byte), (text, byte))                        \
    {                                                                                                                  \
        char *found = __real_##name(text, byte);                                                                       \
        note_search(text, found);                                                                                      \
        return found;                                                                                                  \
    }
DEFINE_FIRST(strchr)
DEFINE_FIRST(index)
DEFINE_FIRST(strchrnul)

/* The last one is known to be it when the end is. */
#define DEFINE_LAST(name)                                                                                              \
    PFA_WRAPPED_WHERE(concerns(text), char *, name, (const char *text, int byte), (text, byte))                        \
    {                                                                                                                  \
        char *found = __real_##name(text, byte);                                                                       \
        note_search(text, NULL);                                                                                       \
        return found;                                                                                                  \
    }
DEFINE_LAST(strrchr)
DEFINE_LAST(rindex)

PFA_WRAPPED_WHERE(either_concerns(text, sought), char *, strstr, (const char *text, const char *sought), (text, sought))
{
    char *found = __real_strstr(text, sought);
    size_t length = __real_strlen(sought);
    note_read(text, found != NULL ? distance(text, found) + length : __real_strlen(text) + 1);
    note_read(sought, length + 1);
    return found;
}

PFA_WRAPPED_WHERE(either_concerns(text, set), char *, strpbrk, (const char *text, const char *set), (text, set))
{
    char *found = __real_strpbrk(text, set);
    note_search(text, found);
    note_search(set, NULL);
    return found;
}

#define DEFINE_SPAN(name)                                                                                              \
    PFA_WRAPPED_WHERE(either_concerns(text, set), size_t, name, (const char *text, const char *set), (text, set))      \
    {                                                                                                                  \
        size_t length = __real_##name(text, set);                                                                      \
        note_read(text, length + 1);                                                                                   \
        note_search(set, NULL);                                                                                        \
        return length;                                                                                                 \
    }
DEFINE_SPAN(strspn)
DEFINE_SPAN(strcspn)
