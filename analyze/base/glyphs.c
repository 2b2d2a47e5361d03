/* Owns the reading of hostile UTF-8. See analyze/base/glyphs.h. Pure: no state, any thread. */
#include "analyze/base/glyphs.h"

#include <stdbool.h>

static bool is_steering(uint32_t glyph)
{
    return glyph < ' ' || (glyph >= 0x7f && glyph < 0xa0) || (glyph >= 0x200e && glyph <= 0x200f) ||
           (glyph >= 0x2028 && glyph <= 0x202e) || (glyph >= 0x2066 && glyph <= 0x2069) || glyph == 0xfeff;
}

/* Halves of pairs, and what no text may have. */
static bool is_no_character(uint32_t glyph)
{
    return (glyph >= 0xd800 && glyph < 0xe000) || (glyph & 0xfffe) == 0xfffe || glyph > 0x10ffff;
}

uint32_t pfa_glyph_next(const char **text)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*text;
    unsigned more = at[0] < 0x80 ? 0 : at[0] >= 0xf0 ? 3 : at[0] >= 0xe0 ? 2 : 1;
    uint32_t glyph = more == 0 ? at[0] : at[0] & (0x3fu >> more);
    if (at[0] == '\0') {
        return 0;
    }
    (*text)++;
    if (at[0] >= 0xf8 || (at[0] >= 0x80 && at[0] < 0xc0)) {
        return PFA_GLYPH_BAD;
    }
    for (unsigned i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return PFA_GLYPH_BAD;
        }
        glyph = glyph << 6 | (at[i] & 0x3fu);
    }
    *text += more;
    return glyph < least[more] || is_steering(glyph) || is_no_character(glyph) ? PFA_GLYPH_BAD : glyph;
}

size_t pfa_glyph_put(uint32_t glyph, char bytes[PFA_GLYPH_BYTES + 1])
{
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = glyph < 0x80 ? 1 : glyph < 0x800 ? 2 : glyph < 0x10000 ? 3 : 4;
    bytes[length] = '\0';
    for (size_t i = length - 1; i > 0; i--, glyph >>= 6) {
        bytes[i] = (char)(0x80 | (glyph & 0x3f));
    }
    bytes[0] = (char)(marks[length] | glyph);
    return length;
}

size_t pfa_glyphs_count(const char *text)
{
    size_t count = 0;
    while (pfa_glyph_next(&text) != 0) {
        count++;
    }
    return count;
}
