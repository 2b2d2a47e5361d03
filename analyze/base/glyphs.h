/* Names of a traced program are bytes that anybody may have chosen: read them as characters that can be shown. */
#ifndef PFA_ANALYZE_BASE_GLYPHS_H
#define PFA_ANALYZE_BASE_GLYPHS_H

#include <stddef.h>
#include <stdint.h>

/* What stands for bytes that are no UTF-8, and for characters that steer instead of being seen. */
enum { PFA_GLYPH_BAD = 0xfffd, PFA_GLYPH_BYTES = 4 };

/* The next character of a text, which is moved behind it; 0 at the end. Never a control character, nor one that turns the
 * direction of writing. */
uint32_t pfa_glyph_next(const char **text);
/* As UTF-8, with a zero behind; returns the length. */
size_t pfa_glyph_put(uint32_t glyph, char bytes[PFA_GLYPH_BYTES + 1]);
size_t pfa_glyphs_count(const char *text);

#endif
