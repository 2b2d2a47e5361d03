/* Owns the wrapped functions that print into memory (wraps.h tells what wrapping means): one write of what was stored, with
 * the terminator, and a read of the format. The texts that a format's %s has printed are not seen: how far each is read is known
 * to libc alone. Nor is what %n stores. */
#include "hooks/access/wraps.h"

#include <stdarg.h>

/* `result` bytes and a terminator, of which there was room for `size`. */
PFA_INLINE int printed(const char *to, size_t size, const char *format, int result)
{
    if (result >= 0) {
        if (concerns(format)) {
            note(format, __real_strlen(format) + 1, PFA_ACCESS_READ);
        }
        note_write(to, least((size_t)result + 1, size));
    }
    return result;
}

PFA_WRAPPED(int, vsprintf, char *to, const char *format, va_list list)
{
    return printed(to, SIZE_MAX, format, __real_vsprintf(to, format, list));
}

PFA_WRAPPED(int, vsnprintf, char *to, size_t size, const char *format, va_list list)
{
    return printed(to, size, format, __real_vsnprintf(to, size, format, list));
}

PFA_WRAPPED(int, __vsprintf_chk, char *to, int flag, size_t room, const char *format, va_list list)
{
    return printed(to, SIZE_MAX, format, __real___vsprintf_chk(to, flag, room, format, list));
}

PFA_WRAPPED(int, __vsnprintf_chk, char *to, size_t size, int flag, size_t room, const char *format, va_list list)
{
    return printed(to, size, format, __real___vsnprintf_chk(to, size, flag, room, format, list));
}

/* Arguments cannot be handed on but as a list. */
#define DEFINE(name, parameters, arguments)                                                                            \
    int __wrap_##name parameters;                                                                                      \
    int __wrap_##name parameters                                                                                       \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        int result = __wrap_v##name arguments;                                                                         \
        va_end(list);                                                                                                  \
        return result;                                                                                                 \
    }
#define DEFINE_CHK(name, parameters, arguments)                                                                        \
    int __wrap___##name##_chk parameters;                                                                              \
    int __wrap___##name##_chk parameters                                                                               \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        int result = __wrap___v##name##_chk arguments;                                                                 \
        va_end(list);                                                                                                  \
        return result;                                                                                                 \
    }
DEFINE(sprintf, (char *to, const char *format, ...), (to, format, list))
DEFINE(snprintf, (char *to, size_t size, const char *format, ...), (to, size, format, list))
DEFINE_CHK(sprintf, (char *to, int flag, size_t room, const char *format, ...), (to, flag, room, format, list))
DEFINE_CHK(snprintf, (char *to, size_t size, int flag, size_t room, const char *format, ...),
           (to, size, flag, room, format, list))
