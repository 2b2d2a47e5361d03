/* Owns texts and numbers as people read them. See analyze/base/text.h. */
#include "analyze/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_encoded(uint32_t character, size_t length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    return character >= least[length] && character <= 0x10ffff && (character < 0xd800 || character >= 0xe000);
}

size_t pfa_text_character(const char *bytes, size_t size, uint32_t *character)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc0 || at[0] >= 0xf8 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (length == 0 || length > size) {
        return 0;
    }
    *character = length == 1 ? at[0] : at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        *character = *character << 6 | (at[i] & 0x3fu);
    }
    return is_encoded(*character, length) ? length : 0;
}

bool pfa_text_steers(uint32_t character)
{
    return character < ' ' || (character >= 0x7f && character < 0xa0) || (character >= 0x200e && character <= 0x200f) ||
           (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069) ||
           character == 0xfeff;
}

static void clean(char *text, size_t size, uint32_t kept)
{
    for (size_t i = 0; i < size;) {
        uint32_t character;
        size_t length = pfa_text_character(text + i, size - i, &character);
        if (length == 0) {
            text[i] = (unsigned char)text[i] < 0xa0 ? '?' : text[i];
            i++;
            continue;
        }
        if (character != '\0' && character != kept && pfa_text_steers(character)) {
            memset(text + i, ' ', length);
        }
        i += length;
    }
}

void pfa_text_clean(char *text, size_t size)
{
    clean(text, size, '\0');
}

void pfa_text_clean_lines(char *text, size_t size)
{
    clean(text, size, '\n');
}

const char *pfa_text_bytes(char text[PFA_NUMBER_TEXT], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (; fabs(bytes) >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++) {
        bytes /= 1024;
    }
    snprintf(text, PFA_NUMBER_TEXT, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}

const char *pfa_text_count(char text[PFA_NUMBER_TEXT], double count)
{
    char digits[PFA_NUMBER_TEXT];
    if (!(fabs(count) < 1e18)) {
        snprintf(text, PFA_NUMBER_TEXT, "%.3g", count);
        return text;
    }
    snprintf(digits, sizeof digits, "%.0f", count);
    size_t length = strlen(digits);
    size_t to = 0;
    for (size_t i = 0; i < length; i++) {
        text[to++] = digits[i];
        if (digits[i] != '-' && i + 1 < length && (length - i - 1) % 3 == 0) {
            text[to++] = ',';
        }
    }
    text[to] = '\0';
    return text;
}

const char *pfa_text_ns(char text[PFA_NUMBER_TEXT], double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    for (; fabs(ns) >= 1000 && unit + 1 < sizeof units / sizeof units[0]; unit++) {
        ns /= 1000;
    }
    snprintf(text, PFA_NUMBER_TEXT,
             fabs(ns) < 10 && unit != 0    ? "%.2f %s"
             : fabs(ns) < 100 && unit != 0 ? "%.1f %s"
                                           : "%.0f %s",
             ns, units[unit]);
    return text;
}

const char *pfa_text_moment(char text[PFA_NUMBER_TEXT], double seconds)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    double figure = seconds * 1e9;
    size_t unit = 0;
    if (seconds >= 1) {
        snprintf(text, PFA_NUMBER_TEXT, "%.3f s", seconds);
        return text;
    }
    for (; figure >= 1000 * (1 - 1e-9) && unit + 1 < sizeof units / sizeof units[0]; unit++) {
        figure /= 1000;
    }
    unit = seconds != 0 ? unit : 3;
    snprintf(text, PFA_NUMBER_TEXT, fabs(figure) >= 999.5 ? "%.0f %s" : "%.3g %s", figure, units[unit]);
    return text;
}

double pfa_half_width(double variance)
{
    return 1.96 * sqrt(fmax(variance, 0));
}

const char *pfa_text_within(char text[PFA_NUMBER_TEXT], double value, double variance)
{
    if (!(variance > 0) || !(value > 0)) {
        text[0] = '\0';
        return text;
    }
    double percent = 100 * pfa_half_width(variance) / value;
    snprintf(text, PFA_NUMBER_TEXT, percent < 10 ? " ±%.1f %%" : " ±%.0f %%", percent);
    return text;
}

const char *pfa_text_plural(double count)
{
    return fabs(count - 1) < 0.5 ? "" : "s";
}
