/* Owns the wrapped functions that copy strings (wraps.h tells what wrapping means). The terminator is read and written with
 * the rest. */
#include "hooks/access/wraps.h"

size_t __real_wcslen(const wchar_t *text);

static PFA_NOINLINE void note_copy(const char *to, const char *from)
{
    size_t size = __real_strlen(from) + 1;
    note_read(from, size);
    note_write(to, size);
}

/* What is not there is filled with zeros. */
static PFA_NOINLINE void note_padded_copy(const char *to, const char *from, size_t size)
{
    note_read(from, until_end(from, size));
    note_write(to, size);
}

/* Of what is appended to, all is read, and written from the terminator on. */
static PFA_NOINLINE void note_append(const char *to, const char *from, size_t limit)
{
    size_t end = __real_strlen(to);
    note_read(to, end + 1);
    note_read(from, until_end(from, limit));
    note_write(to + end, __real_strnlen(from, limit) + 1);
}

#define DEFINE_COPY(name)                                                                                              \
    PFA_WRAPPED_WHERE(either_concerns(to, from), char *, name, (char *to, const char *from), (to, from))               \
    {                                                                                                                  \
        note_copy(to, from);                                                                                           \
        return __real_##name(to, from);                                                                                \
    }
#define DEFINE_COPY_CHK(name)                                                                                          \
    PFA_WRAPPED_WHERE(either_concerns(to, from), char *, name, (char *to, const char *from, size_t room),              \
                      (to, from, room))                                                                                \
    {                                                                                                                  \
        note_copy(to, from);                                                                                           \
        return __real_##name(to, from, room);                                                                          \
    }
#define DEFINE_PADDED(name)                                                                                            \
    PFA_WRAPPED_WHERE(either_concerns(to, from), char *, name, (char *to, const char *from, size_t size),              \
                      (to, from, size))                                                                                \
    {                                                                                                                  \
        note_padded_copy(to, from, size);                                                                              \
        return __real_##name(to, from, size);                                                                          \
    }
#define DEFINE_PADDED_CHK(name)                                                                                        \
    PFA_WRAPPED_WHERE(either_concerns(to, from), char *, name, (char *to, const char *from, size_t size, size_t room), \
                      (to, from, size, room))                                                                          \
    {                                                                                                                  \
        note_padded_copy(to, from, size);                                                                              \
        return __real_##name(to, from, size, room);                                                                    \
    }
DEFINE_COPY(strcpy)
DEFINE_COPY(stpcpy)
DEFINE_COPY_CHK(__strcpy_chk)
DEFINE_COPY_CHK(__stpcpy_chk)
DEFINE_PADDED(strncpy)
DEFINE_PADDED(stpncpy)
DEFINE_PADDED_CHK(__strncpy_chk)
DEFINE_PADDED_CHK(__stpncpy_chk)

static PFA_NOINLINE void note_wide_copy(const wchar_t *to, const wchar_t *from)
{
    size_t size = (__real_wcslen(from) + 1) * sizeof *from;
    note_read(from, size);
    note_write(to, size);
}

PFA_WRAPPED_WHERE(either_concerns(to, from), wchar_t *, wcscpy, (wchar_t * to, const wchar_t *from), (to, from))
{
    note_wide_copy(to, from);
    return __real_wcscpy(to, from);
}

PFA_WRAPPED_WHERE(either_concerns(to, from), wchar_t *, __wcscpy_chk, (wchar_t * to, const wchar_t *from, size_t room),
                  (to, from, room))
{
    note_wide_copy(to, from);
    return __real___wcscpy_chk(to, from, room);
}

PFA_WRAPPED_WHERE(either_concerns(to, from), char *, strcat, (char *to, const char *from), (to, from))
{
    note_append(to, from, SIZE_MAX);
    return __real_strcat(to, from);
}

PFA_WRAPPED_WHERE(either_concerns(to, from), char *, __strcat_chk, (char *to, const char *from, size_t room),
                  (to, from, room))
{
    note_append(to, from, SIZE_MAX);
    return __real___strcat_chk(to, from, room);
}

PFA_WRAPPED_WHERE(either_concerns(to, from), char *, strncat, (char *to, const char *from, size_t size),
                  (to, from, size))
{
    note_append(to, from, size);
    return __real_strncat(to, from, size);
}

PFA_WRAPPED_WHERE(either_concerns(to, from), char *, __strncat_chk,
                  (char *to, const char *from, size_t size, size_t room), (to, from, size, room))
{
    note_append(to, from, size);
    return __real___strncat_chk(to, from, size, room);
}

/* The copy is a new chunk, if there was memory for it. */
#define DEFINE_NEW(name)                                                                                               \
    PFA_WRAPPED(char *, name, const char *from)                                                                        \
    {                                                                                                                  \
        char *copy = __real_##name(from);                                                                              \
        if (copy != NULL && (either_concerns(copy, from))) {                                                           \
            note_copy(copy, from);                                                                                     \
        }                                                                                                              \
        return copy;                                                                                                   \
    }
#define DEFINE_NEW_LIMITED(name)                                                                                       \
    PFA_WRAPPED(char *, name, const char *from, size_t limit)                                                          \
    {                                                                                                                  \
        char *copy = __real_##name(from, limit);                                                                       \
        if (copy != NULL && (either_concerns(copy, from))) {                                                           \
            note_read(from, until_end(from, limit));                                                                   \
            note_write(copy, __real_strlen(copy) + 1);                                                                 \
        }                                                                                                              \
        return copy;                                                                                                   \
    }
DEFINE_NEW(strdup)
DEFINE_NEW(__strdup)
DEFINE_NEW_LIMITED(strndup)
DEFINE_NEW_LIMITED(__strndup)
