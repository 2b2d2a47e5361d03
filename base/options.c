/* Owns the options and their parser. Called once, before a second thread can allocate with recording on. */
#include "base/options.h"
#include "base/message.h"
#include "base/sys.h"

#include <string.h>

typedef enum kind { BOOL, AUTO, SIZE, TEXT } kind_t;

typedef struct option {
    const char *name;
    kind_t kind;
    uint64_t standard;
    uint64_t minimum;
    uint64_t maximum;
    size_t offset;
    const char *text;
} option_t;

static const option_t table[] = {
#define PFA_OPTION(name, kind, standard, minimum, maximum, meaning)                                                    \
    {#name, kind, standard, minimum, maximum, offsetof(pfa_options_t, name), NULL},
#define PFA_OPTION_TEXT(name, standard, meaning) {#name, TEXT, 0, 0, 0, offsetof(pfa_options_t, name), standard},
#include "export/format/options.def"
};

enum { OPTION_COUNT = sizeof table / sizeof table[0], CONF_FILE_MAX = 4096 };

pfa_options_t pfa_options;

/* A piece of the text being parsed. */
typedef struct span {
    const char *at;
    size_t length;
} span_t;

static uint64_t *slot(pfa_options_t *options, const option_t *option)
{
    return (uint64_t *)(void *)((char *)options + option->offset);
}

static bool set_text(pfa_options_t *options, const option_t *option, span_t text)
{
    char *to = (char *)options + option->offset;
    if (text.length >= PFA_OPTION_TEXT_SIZE) {
        return false;
    }
    memcpy(to, text.at, text.length);
    to[text.length] = '\0';
    return true;
}

void pfa_options_default(pfa_options_t *options)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (table[i].kind == TEXT) {
            (void)set_text(options, &table[i], (span_t){table[i].text, strlen(table[i].text)});
        } else {
            *slot(options, &table[i]) = table[i].standard;
        }
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static span_t trim(span_t s)
{
    while (s.length > 0 && is_blank(s.at[0])) {
        s.at++;
        s.length--;
    }
    while (s.length > 0 && is_blank(s.at[s.length - 1])) {
        s.length--;
    }
    return s;
}

static bool equals(span_t s, const char *word)
{
    return strlen(word) == s.length && memcmp(s.at, word, s.length) == 0;
}

static bool parse_bool(span_t s, uint64_t *value)
{
    if (equals(s, "true") || equals(s, "false")) {
        *value = s.at[0] == 't';
        return true;
    }
    return false;
}

static bool parse_auto(span_t s, uint64_t *value)
{
    *value = 2;
    return equals(s, "auto") || parse_bool(s, value);
}

static const char *const switches[] = {"false", "true", "auto"};

static unsigned suffix_shift(char c)
{
    switch (c) {
    case 'K':
    case 'k':
        return 10;
    case 'M':
    case 'm':
        return 20;
    case 'G':
    case 'g':
        return 30;
    case 'T':
    case 't':
        return 40;
    default:
        return 0;
    }
}

static bool parse_size(span_t s, uint64_t *value)
{
    unsigned shift = s.length > 0 ? suffix_shift(s.at[s.length - 1]) : 0;
    size_t digits = s.length - (shift != 0);
    uint64_t number = 0;
    if (digits == 0) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        unsigned digit = (unsigned)(s.at[i] - '0');
        if (digit > 9 || number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    if (number > UINT64_MAX >> shift) {
        return false;
    }
    *value = number << shift;
    return true;
}

static void say_unknown(const char *source, span_t key)
{
    char buf[1024];
    pfa_text_t known = {buf, sizeof buf, 0};
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        pfa_text_add(&known, "%s%s", i == 0 ? "" : ", ", table[i].name);
    }
    pfa_say("%s: unknown option '%.*s'; known are %s", source, (int)key.length, key.at, buf);
}

static void say_bad_value(pfa_options_t *options, const char *source, const option_t *option, span_t value)
{
    if (option->kind == TEXT) {
        pfa_say("%s: %s: longer than %d bytes", source, option->name, PFA_OPTION_TEXT_SIZE - 1);
    } else if (option->kind == BOOL) {
        pfa_say("%s: %s: '%.*s' is not accepted; use true or false (keeping %s)", source, option->name,
                (int)value.length, value.at, switches[*slot(options, option)]);
    } else if (option->kind == AUTO) {
        pfa_say("%s: %s: '%.*s' is not accepted; use true, false or auto (keeping %s)", source, option->name,
                (int)value.length, value.at, switches[*slot(options, option)]);
    } else {
        pfa_say("%s: %s: '%.*s' is not accepted; use a number from %lu to %lu, K M G T allowed", source, option->name,
                (int)value.length, value.at, (unsigned long)option->minimum, (unsigned long)option->maximum);
    }
}

static bool parse_value(pfa_options_t *options, const option_t *option, span_t text)
{
    if (option->kind == TEXT) {
        return set_text(options, option, text);
    }
    uint64_t value;
    bool read = option->kind == BOOL   ? parse_bool(text, &value)
                : option->kind == AUTO ? parse_auto(text, &value)
                                       : parse_size(text, &value);
    if (!read || value < option->minimum || value > option->maximum) {
        return false;
    }
    *slot(options, option) = value;
    return true;
}

static unsigned parse_pair(pfa_options_t *options, const char *source, span_t pair)
{
    const char *colon = memchr(pair.at, ':', pair.length);
    if (colon == NULL) {
        pfa_say("%s: '%.*s' has no value; write key:value", source, (int)pair.length, pair.at);
        return 1;
    }
    span_t key = trim((span_t){pair.at, (size_t)(colon - pair.at)});
    span_t text = trim((span_t){colon + 1, pair.length - (size_t)(colon + 1 - pair.at)});
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (equals(key, table[i].name)) {
            if (!parse_value(options, &table[i], text)) {
                say_bad_value(options, source, &table[i], text);
                return 1;
            }
            return 0;
        }
    }
    say_unknown(source, key);
    return 1;
}

unsigned pfa_options_parse(pfa_options_t *options, const char *source, const char *text, size_t length)
{
    unsigned faults = 0;
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end < length && text[end] != ',' && text[end] != '\n' && text[end] != '#') {
            end++;
        }
        span_t pair = trim((span_t){text + at, end - at});
        if (pair.length > 0) {
            faults += parse_pair(options, source, pair);
        }
        if (end < length && text[end] == '#') {
            while (end < length && text[end] != '\n') {
                end++;
            }
        }
        at = end + 1;
    }
    return faults;
}

static unsigned parse_file(void)
{
    char text[CONF_FILE_MAX];
    int fd = pfa_sys_open_read(PFA_CONF_FILE);
    if (fd < 0) {
        return 0;
    }
    long got = pfa_sys_read(fd, text, sizeof text);
    (void)pfa_sys_close(fd);
    if (got == (long)sizeof text) {
        pfa_say("%s: longer than %d bytes; the rest is not read", PFA_CONF_FILE, CONF_FILE_MAX);
    }
    return got > 0 ? pfa_options_parse(&pfa_options, PFA_CONF_FILE, text, (size_t)got) : 0;
}

void pfa_options_load(const char *program_conf, const char *environment)
{
    unsigned faults = 0;
    pfa_options_default(&pfa_options);
    if (program_conf != NULL) {
        faults += pfa_options_parse(&pfa_options, "profalloc_conf", program_conf, strlen(program_conf));
    }
    faults += parse_file();
    if (environment != NULL) {
        faults += pfa_options_parse(&pfa_options, "PROFALLOC_CONF", environment, strlen(environment));
    }
    if (faults > 0 && pfa_options.strict != 0) {
        pfa_say("strict:true is set: ending because of the option%s above", faults == 1 ? "" : "s");
        pfa_sys_exit(1);
    }
}

size_t pfa_options_text(char *buf, size_t size)
{
    pfa_text_t text = {buf, size, 0};
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option_t *option = &table[i];
        pfa_text_add(&text, "%s%s:", i == 0 ? "" : ",", option->name);
        if (option->kind == TEXT) {
            pfa_text_add(&text, "%s", (const char *)&pfa_options + option->offset);
        } else if (option->kind != SIZE) {
            pfa_text_add(&text, "%s", switches[*slot(&pfa_options, option)]);
        } else {
            pfa_text_add(&text, "%lu", (unsigned long)*slot(&pfa_options, option));
        }
    }
    return text.used;
}
