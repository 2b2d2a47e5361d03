/* Owns the text that the runtime prints. See base/message.h. */
#include "base/message.h"
#include "base/sys.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STANDARD_ERROR = 2, LINE_MAX_BYTES = 1024 };

static uint64_t identity; /* of standard error at start; 0: it was closed */
static int kept = -1;

void pfa_message_init(void)
{
    identity = pfa_sys_fd_identity(STANDARD_ERROR);
}

void pfa_message_keep(void)
{
    if (identity != 0) {
        kept = pfa_sys_dup_high(STANDARD_ERROR);
    }
}

static void put(pfa_text_t *text, char c)
{
    if (text->used + 1 < text->size) {
        text->buf[text->used++] = c;
        text->buf[text->used] = '\0';
    }
}

typedef struct spec {
    bool left;
    bool zero;
    int width;
    int precision;
    int length;
} spec_t;

static void put_padded(pfa_text_t *text, const char *s, size_t count, const spec_t *spec)
{
    size_t width = spec->width > 0 ? (size_t)spec->width : 0;
    for (size_t i = count; !spec->left && i < width; i++) {
        put(text, spec->zero ? '0' : ' ');
    }
    for (size_t i = 0; i < count; i++) {
        put(text, s[i]);
    }
    for (size_t i = count; spec->left && i < width; i++) {
        put(text, ' ');
    }
}

static void put_number(pfa_text_t *text, uint64_t value, unsigned base, bool negative, const spec_t *spec)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    spec_t rest = *spec;
    if (negative && spec->zero && !spec->left) {
        put(text, '-'); /* the zeros go between sign and digits */
        rest.width--;
    } else if (negative) {
        digits[--at] = '-';
    }
    put_padded(text, digits + at, sizeof digits - at, &rest);
}

static const char *parse_spec(const char *f, spec_t *spec, va_list *args)
{
    *spec = (spec_t){false, false, 0, -1, 0};
    for (; *f == '-' || *f == '0'; f++) {
        spec->left |= *f == '-';
        spec->zero |= *f == '0';
    }
    if (*f == '*') {
        spec->width = va_arg(*args, int);
        spec->left |= spec->width < 0;
        spec->width = spec->width < 0 ? -spec->width : spec->width;
        f++;
    }
    for (; *f >= '0' && *f <= '9'; f++) {
        spec->width = spec->width * 10 + (*f - '0');
    }
    if (f[0] == '.' && f[1] == '*') {
        spec->precision = va_arg(*args, int);
        f += 2;
    }
    for (; *f == 'l' || *f == 'z'; f++) {
        spec->length++;
    }
    return f;
}

static void put_string(pfa_text_t *text, const char *s, const spec_t *spec)
{
    size_t count = 0;
    while ((spec->precision < 0 || count < (size_t)spec->precision) && s[count] != '\0') {
        count++;
    }
    put_padded(text, s, count, spec);
}

static void put_signed(pfa_text_t *text, int64_t value, const spec_t *spec)
{
    put_number(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, value < 0, spec);
}

void pfa_text_vadd(pfa_text_t *text, const char *f, va_list original)
{
    va_list args;
    va_copy(args, original);
    if (text->used < text->size) {
        text->buf[text->used] = '\0';
    }
    for (; *f != '\0'; f++) {
        if (*f != '%') {
            put(text, *f);
            continue;
        }
        spec_t spec;
        f = parse_spec(f + 1, &spec, &args);
        switch (*f) {
        case 's':
            put_string(text, va_arg(args, const char *), &spec);
            break;
        case 'c':
            put(text, (char)va_arg(args, int));
            break;
        case 'd':
        case 'i':
            put_signed(text, spec.length > 0 ? va_arg(args, long) : va_arg(args, int), &spec);
            break;
        case 'u':
        case 'x':
            put_number(text, spec.length > 0 ? va_arg(args, unsigned long) : va_arg(args, unsigned),
                       *f == 'x' ? 16 : 10, false, &spec);
            break;
        case 'p':
            put(text, '0');
            put(text, 'x');
            put_number(text, (uint64_t)(uintptr_t)va_arg(args, void *), 16, false, &spec);
            break;
        case '\0':
            f--;
            break;
        default:
            put(text, *f);
        }
    }
    va_end(args);
}

void pfa_text_add(pfa_text_t *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pfa_text_vadd(text, format, args);
    va_end(args);
}

void pfa_say_raw(const pfa_text_t *text)
{
    if (identity == 0) {
        return;
    }
    if (pfa_sys_fd_identity(STANDARD_ERROR) == identity) {
        (void)pfa_sys_write(STANDARD_ERROR, text->buf, text->used);
    } else if (kept >= 0 && pfa_sys_fd_identity(kept) == identity) {
        (void)pfa_sys_write(kept, text->buf, text->used);
    }
}

/* With a byte of room behind it. */
static void make_line(pfa_text_t *line, const char *format, va_list args)
{
    pfa_text_add(line, "profalloc: ");
    pfa_text_vadd(line, format, args);
    line->buf[line->used++] = '\n';
}

void pfa_say(const char *format, ...)
{
    char buf[LINE_MAX_BYTES];
    pfa_text_t line = {buf, sizeof buf - 1, 0};
    va_list args;
    va_start(args, format);
    make_line(&line, format, args);
    va_end(args);
    pfa_say_raw(&line);
}

void pfa_say_asked(const char *format, ...)
{
    char buf[LINE_MAX_BYTES];
    pfa_text_t line = {buf, sizeof buf - 1, 0};
    va_list args;
    va_start(args, format);
    make_line(&line, format, args);
    va_end(args);
    (void)pfa_sys_write(STANDARD_ERROR, line.buf, line.used);
}

void pfa_say_once(_Atomic bool *said, const char *what)
{
    if (!atomic_exchange(said, true)) {
        pfa_say("%s", what);
    }
}

enum { TROUBLES = 8 };
static _Atomic(const char *) troubles[TROUBLES];
static _Atomic unsigned trouble_count;

void pfa_say_trouble(_Atomic bool *said, const char *what)
{
    if (!pfa_sys_is_frugal()) {
        pfa_say_once(said, what);
    } else if (!atomic_exchange(said, true)) {
        unsigned at = atomic_fetch_add(&trouble_count, 1);
        if (at < TROUBLES) {
            atomic_store(&troubles[at], what);
        }
    }
}

void pfa_forget_troubles(void)
{
    atomic_store(&trouble_count, 0);
    for (unsigned i = 0; i < TROUBLES; i++) {
        atomic_store(&troubles[i], (const char *)NULL);
    }
}

void pfa_say_kept_troubles(void)
{
    for (unsigned i = 0; i < TROUBLES; i++) {
        const char *what = atomic_load(&troubles[i]);
        if (what != NULL) {
            pfa_say("  %s", what);
        }
    }
}
