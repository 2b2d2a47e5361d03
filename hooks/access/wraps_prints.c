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
            pfa_wraps_note(format, __real_strlen(format) + 1, PFA_ACCESS_READ);
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

/* Arguments can be handed on as a list, or as they lie, which is no C. Where neither the text nor the format is worth a look
 * (pfa_access_concerns: both have the usual bit), a stub jumps to libc's function with all of them in place. */
#if PFA_ACCESS_ANYWHERE
#define ENTRY(name) __wrap_##name
#define STUB(name, format_number)
#else
#define ENTRY(name) pfa_seen_##name
#define STUB(name, format_number)                                                                                      \
    __asm__(".pushsection .text.__wrap_" #name ",\"ax\",%progbits\n"                                                   \
            ".p2align 4\n"                                                                                             \
            ".globl __wrap_" #name "\n"                                                                                \
            ".hidden __wrap_" #name "\n"                                                                               \
            ".type __wrap_" #name ", %function\n"                                                                      \
            "__wrap_" #name ":\n"                                                                                      \
            ".cfi_startproc\n" JUMP_BY_BIT(FORMAT_##format_number, "__real_" #name,                                    \
                                           "pfa_seen_" #name) ".cfi_endproc\n"                                         \
                                                              ".size __wrap_" #name ", . - __wrap_" #name "\n"         \
                                                              ".popsection\n");
#if defined(__x86_64__)
#define JUMP_BY_BIT(format, usual, other)                                                                              \
    "endbr64\n"                                                                                                        \
    "movq %rdi, %r11\n"                                                                                                \
    "andq %" format ", %r11\n"                                                                                         \
    "btq $46, %r11\n"                                                                                                  \
    "jnc " other "\n"                                                                                                  \
    "jmp " usual "@PLT\n"
#define FORMAT_1 "rsi"
#define FORMAT_2 "rdx"
#define FORMAT_3 "rcx"
#define FORMAT_4 "r8"
_Static_assert(PFA_ADDRESS_USUAL_BIT == 1ull << 46, "the bit of the stub");
#else
#define JUMP_BY_BIT(format, usual, other)                                                                              \
    "hint #34\n" /* bti c */                                                                                           \
    "and x16, x0, " format "\n"                                                                                        \
    "tbz x16, #47, 1f\n"                                                                                               \
    "b " usual "\n"                                                                                                    \
    "1: b " other "\n"
#define FORMAT_1 "x1"
#define FORMAT_2 "x2"
#define FORMAT_3 "x3"
#define FORMAT_4 "x4"
_Static_assert(PFA_ADDRESS_USUAL_BIT == 1ull << 47, "the bit of the stub");
#endif
#endif

/* format_number: which argument the format is, from 0. */
#define DEFINE(name, list_name, format_number, parameters, arguments)                                                  \
    STUB(name, format_number)                                                                                          \
    __attribute__((used)) int ENTRY(name) parameters;                                                                  \
    int ENTRY(name) parameters                                                                                         \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        int result = __wrap_##list_name arguments;                                                                     \
        va_end(list);                                                                                                  \
        return result;                                                                                                 \
    }
DEFINE(sprintf, vsprintf, 1, (char *to, const char *format, ...), (to, format, list))
DEFINE(snprintf, vsnprintf, 2, (char *to, size_t size, const char *format, ...), (to, size, format, list))
DEFINE(__sprintf_chk, __vsprintf_chk, 3, (char *to, int flag, size_t room, const char *format, ...),
       (to, flag, room, format, list))
DEFINE(__snprintf_chk, __vsnprintf_chk, 4, (char *to, size_t size, int flag, size_t room, const char *format, ...),
       (to, size, flag, room, format, list))
