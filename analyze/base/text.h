/* Texts and numbers as people read them. */
#ifndef PFA_ANALYZE_BASE_TEXT_H
#define PFA_ANALYZE_BASE_TEXT_H

#include <stddef.h>

/* Replaces what could move the cursor of a terminal by spaces; zeros stay. */
void pfa_text_clean(char *text, size_t size);
/* "12.3 MiB", "1,234,567": into `text`, which is returned. */
enum { PFA_NUMBER_TEXT = 48 };
const char *pfa_text_bytes(char text[PFA_NUMBER_TEXT], double bytes);
const char *pfa_text_count(char text[PFA_NUMBER_TEXT], double count);
/* "123 ns", "1.23 ms", "4.5 s". */
const char *pfa_text_ns(char text[PFA_NUMBER_TEXT], double ns);
/* When something was: "12.345 s", as reports tell it, or in a smaller unit before the first second has gone. */
const char *pfa_text_moment(char text[PFA_NUMBER_TEXT], double seconds);
/* Half the width of the 95 % confidence interval of an estimate with this variance. */
double pfa_half_width(double variance);
/* " ±1.2 %" of an estimate with this variance: half the width of its 95 % confidence interval; "" if it is exact. */
const char *pfa_text_within(char text[PFA_NUMBER_TEXT], double value, double variance);
/* "1 chunk", "3 chunks". */
const char *pfa_text_plural(double count);

#endif
