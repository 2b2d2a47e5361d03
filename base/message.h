/* Text without stdio: bounded formatting into a buffer, and lines on standard error. Nothing allocates, nothing touches
 * errno; safe from any thread and in signal handlers. */
#ifndef PFA_BASE_MESSAGE_H
#define PFA_BASE_MESSAGE_H

#include "base/compiler.h"

#include <stdarg.h>
#include <stddef.h>

/* A growing line in a caller's buffer; what does not fit is cut, never overrun. */
typedef struct pfa_text {
    char *buf;
    size_t size;
    size_t used;
} pfa_text_t;

/* Understands %s %d %i %u %x %c %p %% with l and z lengths, 0 and - flags, a width (also *) and .* for %s. Always
 * zero-terminated if there is room for one byte. */
void pfa_text_vadd(pfa_text_t *text, const char *format, va_list args);
void pfa_text_add(pfa_text_t *text, const char *format, ...) PFA_PRINTF(2, 3);

/* Remembers what standard error is at start: a descriptor 2 that is something else later is the program's own file, and
 * we do not write to it. */
void pfa_message_init(void);
/* Keeps a way to it for messages at the very end, when many programs have closed theirs. */
void pfa_message_keep(void);

/* One line, "profalloc: …\n", in one write. */
void pfa_say(const char *format, ...) PFA_PRINTF(1, 2);
/* What the program itself asked for: to its standard error, whatever that is by now. */
void pfa_say_asked(const char *format, ...) PFA_PRINTF(1, 2);
/* The same, only the first time that `said` is given. */
void pfa_say_once(_Atomic _Bool *said, const char *what);
/* The same of what stands in the way of records, which may come at any allocation: without a trace (pfa_sys_be_frugal) it is kept
 * for the summary, since a program that has shut itself in may be killed for a write. */
void pfa_say_trouble(_Atomic _Bool *said, const char *what);
void pfa_say_kept_troubles(void);
/* In a fork child: they are the parent's to say. */
void pfa_forget_troubles(void);
/* A piece of text as it is. */
void pfa_say_raw(const pfa_text_t *text);

#endif
