/* Owns the wrapped functions on streams of stdio (wraps.h tells what wrapping means). What libc keeps in its own buffers is
 * not the program's. Items that fread got a part of do not count, and of a line that fgets got with a zero in it what is
 * behind the zero does not, since nobody tells how much it was. All of them may have waited. */
#include "hooks/access/wraps.h"

#include <sys/types.h>

/* <stdio.h> may define some of these functions itself. */
typedef struct _IO_FILE stream_t;

PFA_INLINE size_t got_items(void *items, size_t size, size_t result)
{
    note_wait();
    note_write(items, size * result);
    return result;
}

PFA_INLINE size_t put_items(const void *items, size_t size, size_t result)
{
    note_wait();
    note_read(items, size * result);
    return result;
}

PFA_INLINE char *got_line(char *line)
{
    note_wait();
    if (line != NULL && concerns(line)) {
        pfa_wraps_note(line, __real_strlen(line) + 1, PFA_ACCESS_WRITE);
    }
    return line;
}

PFA_INLINE int put_text(const char *text, int result)
{
    note_wait();
    if (result >= 0 && concerns(text)) {
        pfa_wraps_note(text, __real_strlen(text) + 1, PFA_ACCESS_READ);
    }
    return result;
}

#define DEFINE(suffix)                                                                                                 \
    PFA_WRAPPED(size_t, fread##suffix, void *items, size_t size, size_t count, stream_t *stream)                       \
    {                                                                                                                  \
        return got_items(items, size, __real_fread##suffix(items, size, count, stream));                               \
    }                                                                                                                  \
    PFA_WRAPPED(size_t, __fread##suffix##_chk, void *items, size_t room, size_t size, size_t count, stream_t *stream)  \
    {                                                                                                                  \
        return got_items(items, size, __real___fread##suffix##_chk(items, room, size, count, stream));                 \
    }                                                                                                                  \
    PFA_WRAPPED(size_t, fwrite##suffix, const void *items, size_t size, size_t count, stream_t *stream)                \
    {                                                                                                                  \
        return put_items(items, size, __real_fwrite##suffix(items, size, count, stream));                              \
    }                                                                                                                  \
    PFA_WRAPPED(char *, fgets##suffix, char *line, int size, stream_t *stream)                                         \
    {                                                                                                                  \
        return got_line(__real_fgets##suffix(line, size, stream));                                                     \
    }                                                                                                                  \
    PFA_WRAPPED(char *, __fgets##suffix##_chk, char *line, size_t room, int size, stream_t *stream)                    \
    {                                                                                                                  \
        return got_line(__real___fgets##suffix##_chk(line, room, size, stream));                                       \
    }                                                                                                                  \
    PFA_WRAPPED(int, fputs##suffix, const char *text, stream_t *stream)                                                \
    {                                                                                                                  \
        return put_text(text, __real_fputs##suffix(text, stream));                                                     \
    }
DEFINE()
DEFINE(_unlocked)

PFA_WRAPPED(int, puts, const char *text)
{
    return put_text(text, __real_puts(text));
}

/* The line, and its terminator, in a chunk that may be new. */
PFA_INLINE ssize_t got_long_line(char **line, ssize_t result)
{
    note_wait();
    if (result >= 0) {
        note_write(*line, (size_t)result + 1);
    }
    return result;
}

PFA_WRAPPED(ssize_t, __getdelim, char **line, size_t *size, int end, stream_t *stream)
{
    return got_long_line(line, __real___getdelim(line, size, end, stream));
}
