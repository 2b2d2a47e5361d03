/* Owns the wrapped functions on memory of known length (wraps.h tells what wrapping means), and what Clang makes of calls
 * of three of them, __tsan_memcpy and its kin. */
#include "hooks/access/wraps.h"

#define DEFINE_COPY(name)                                                                                              \
    PFA_WRAPPED_WHERE(either_concerns(to, from), void *, name, (void *to, const void *from, size_t size),              \
                      (to, from, size))                                                                                \
    {                                                                                                                  \
        note_read(from, size);                                                                                         \
        note_write(to, size);                                                                                          \
        return __real_##name(to, from, size);                                                                          \
    }
#define DEFINE_COPY_CHK(name)                                                                                          \
    PFA_WRAPPED_WHERE(either_concerns(to, from), void *, name, (void *to, const void *from, size_t size, size_t room), \
                      (to, from, size, room))                                                                          \
    {                                                                                                                  \
        note_read(from, size);                                                                                         \
        note_write(to, size);                                                                                          \
        return __real_##name(to, from, size, room);                                                                    \
    }
#define DEFINE_COPY_WIDE(name)                                                                                         \
    PFA_WRAPPED_WHERE(either_concerns(to, from), wchar_t *, name, (wchar_t * to, const wchar_t *from, size_t count),   \
                      (to, from, count))                                                                               \
    {                                                                                                                  \
        note_read(from, count * sizeof *from);                                                                         \
        note_write(to, count * sizeof *to);                                                                            \
        return __real_##name(to, from, count);                                                                         \
    }
#define DEFINE_COPY_WIDE_CHK(name)                                                                                     \
    PFA_WRAPPED_WHERE(either_concerns(to, from), wchar_t *, name,                                                      \
                      (wchar_t * to, const wchar_t *from, size_t count, size_t room), (to, from, count, room))         \
    {                                                                                                                  \
        note_read(from, count * sizeof *from);                                                                         \
        note_write(to, count * sizeof *to);                                                                            \
        return __real_##name(to, from, count, room);                                                                   \
    }

PFA_WRAPPED_WHERE(either_concerns(to, from), void *, memcpy, (void *to, const void *from, size_t size),
                  (to, from, size))
{
    if (!was_told(from, size)) {
        note_read(from, size);
    }
    if (!was_told(to, size)) {
        note_write(to, size);
    }
    return __real_memcpy(to, from, size);
}
DEFINE_COPY(memmove)
DEFINE_COPY(mempcpy)
DEFINE_COPY_CHK(__memcpy_chk)
DEFINE_COPY_CHK(__memmove_chk)
DEFINE_COPY_CHK(__mempcpy_chk)
DEFINE_COPY_WIDE(wmemcpy)
DEFINE_COPY_WIDE(wmemmove)
DEFINE_COPY_WIDE_CHK(__wmemcpy_chk)
DEFINE_COPY_WIDE_CHK(__wmemmove_chk)

/* Up to the byte, if it is there. */
PFA_WRAPPED_WHERE(either_concerns(to, from), void *, memccpy, (void *to, const void *from, int byte, size_t size),
                  (to, from, byte, size))
{
    void *end = __real_memccpy(to, from, byte, size);
    size_t copied = end != NULL ? distance(to, end) : size;
    note_read(from, copied);
    note_write(to, copied);
    return end;
}

PFA_WRAPPED_WHERE(either_concerns(to, from), void, bcopy, (const void *from, void *to, size_t size), (from, to, size))
{
    note_read(from, size);
    note_write(to, size);
    __real_bcopy(from, to, size);
}

PFA_WRAPPED_WHERE(concerns(to), void *, memset, (void *to, int byte, size_t size), (to, byte, size))
{
    if (!was_told(to, size)) {
        note_write(to, size);
    }
    return __real_memset(to, byte, size);
}

PFA_WRAPPED_WHERE(concerns(to), void *, __memset_chk, (void *to, int byte, size_t size, size_t room),
                  (to, byte, size, room))
{
    note_write(to, size);
    return __real___memset_chk(to, byte, size, room);
}

PFA_WRAPPED_WHERE(concerns(to), wchar_t *, wmemset, (wchar_t * to, wchar_t value, size_t count), (to, value, count))
{
    note_write(to, count * sizeof *to);
    return __real_wmemset(to, value, count);
}

PFA_WRAPPED_WHERE(concerns(to), wchar_t *, __wmemset_chk, (wchar_t * to, wchar_t value, size_t count, size_t room),
                  (to, value, count, room))
{
    note_write(to, count * sizeof *to);
    return __real___wmemset_chk(to, value, count, room);
}

PFA_WRAPPED_WHERE(concerns(to), void, bzero, (void *to, size_t size), (to, size))
{
    note_write(to, size);
    __real_bzero(to, size);
}

PFA_WRAPPED_WHERE(concerns(to), void, explicit_bzero, (void *to, size_t size), (to, size))
{
    note_write(to, size);
    __real_explicit_bzero(to, size);
}

PFA_WRAPPED_WHERE(concerns(to), void, __explicit_bzero_chk, (void *to, size_t size, size_t room), (to, size, room))
{
    note_write(to, size);
    __real___explicit_bzero_chk(to, size, room);
}

PFA_CALLBACK(void *, __tsan_memcpy, void *to, const void *from, size_t size)
{
    return __wrap_memcpy(to, from, size);
}

PFA_CALLBACK(void *, __tsan_memmove, void *to, const void *from, size_t size)
{
    return __wrap_memmove(to, from, size);
}

PFA_CALLBACK(void *, __tsan_memset, void *to, int byte, size_t size)
{
    return __wrap_memset(to, byte, size);
}

typedef struct __attribute__((packed, may_alias)) word {
    uint64_t value;
} word_t;

/* How many bytes it takes to see that two ranges differ, which they did a moment ago. */
static PFA_NOINLINE size_t until_difference(const void *a, const void *b, size_t size)
{
    const char *left = a;
    const char *right = b;
    size_t i = 0;
    while (i + sizeof(word_t) <= size && ((const word_t *)(left + i))->value == ((const word_t *)(right + i))->value) {
        i += sizeof(word_t);
    }
    while (i < size && left[i] == right[i]) {
        i++;
    }
    return i < size ? i + 1 : size;
}

/* Equal ranges have to be looked at to the end, others up to the first difference. */
PFA_INLINE int compared(const void *a, const void *b, size_t size, int result)
{
    size_t seen = result == 0 ? size : until_difference(a, b, size);
    note_read(a, seen);
    note_read(b, seen);
    return result;
}

PFA_WRAPPED_WHERE(either_concerns(a, b), int, memcmp, (const void *a, const void *b, size_t size), (a, b, size))
{
    return compared(a, b, size, __real_memcmp(a, b, size));
}

PFA_WRAPPED_WHERE(either_concerns(a, b), int, bcmp, (const void *a, const void *b, size_t size), (a, b, size))
{
    return compared(a, b, size, __real_bcmp(a, b, size));
}

PFA_WRAPPED_WHERE(either_concerns(a, b), int, wmemcmp, (const wchar_t *a, const wchar_t *b, size_t count),
                  (a, b, count))
{
    int result = __real_wmemcmp(a, b, count);
    size_t seen = count;
    if (result != 0) {
        seen = 0;
        while (seen < count && a[seen] == b[seen]) {
            seen++;
        }
        seen = least(seen + 1, count);
    }
    note_read(a, seen * sizeof *a);
    note_read(b, seen * sizeof *b);
    return result;
}

PFA_WRAPPED_WHERE(concerns(range), void *, memchr, (const void *range, int byte, size_t size), (range, byte, size))
{
    void *found = __real_memchr(range, byte, size);
    note_read(range, found != NULL ? distance(range, found) + 1 : size);
    return found;
}

PFA_WRAPPED_WHERE(concerns(range), wchar_t *, wmemchr, (const wchar_t *range, wchar_t value, size_t count),
                  (range, value, count))
{
    wchar_t *found = __real_wmemchr(range, value, count);
    note_read(range, found != NULL ? distance(range, found) + sizeof *found : count * sizeof *range);
    return found;
}

/* From the end. */
PFA_WRAPPED_WHERE(concerns(range), void *, memrchr, (const void *range, int byte, size_t size), (range, byte, size))
{
    void *found = __real_memrchr(range, byte, size);
    size_t unseen = found != NULL ? distance(range, found) : 0;
    note_read((const char *)range + unseen, size - unseen);
    return found;
}

PFA_WRAPPED_WHERE(concerns(range), void *, rawmemchr, (const void *range, int byte), (range, byte))
{
    void *found = __real_rawmemchr(range, byte);
    note_read(range, distance(range, found) + 1);
    return found;
}

/* What is sought is looked at only if there is room for it. */
PFA_WRAPPED_WHERE(either_concerns(range, sought), void *, memmem,
                  (const void *range, size_t size, const void *sought, size_t length), (range, size, sought, length))
{
    void *found = __real_memmem(range, size, sought, length);
    if (length != 0 && length <= size) {
        note_read(range, found != NULL ? distance(range, found) + length : size);
        note_read(sought, length);
    }
    return found;
}
