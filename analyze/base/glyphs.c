/* Owns the reading of hostile UTF-8. See analyze/base/glyphs.h. Pure: no state, any thread. */
#include "analyze/base/glyphs.h"
#include "analyze/base/text.h"

/* What no text may have, XML's least of all. */
static bool is_no_character(uint32_t glyph)
{
    return (glyph & 0xfffe) == 0xfffe;
}

uint32_t pfa_glyph_next(const char **text)
{
    uint32_t glyph;
    if (**text == '\0') {
        return 0;
    }
    size_t length = pfa_text_character(*text, PFA_GLYPH_BYTES, &glyph);
    *text += length != 0 ? length : 1;
    return length == 0 || pfa_text_steers(glyph) || is_no_character(glyph) ? PFA_GLYPH_BAD : glyph;
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
