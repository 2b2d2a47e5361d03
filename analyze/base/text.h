/* Texts and numbers as people read them. */
#ifndef PFA_ANALYZE_BASE_TEXT_H
#define PFA_ANALYZE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the character that the bytes begin with, at most 4; 0: they are no UTF-8. There is at least one byte. A zero ends a
 * text whatever the size is: it is in no character but its own. */
size_t pfa_text_character(const char *bytes, size_t size, uint32_t *character);
/* Whether it steers, instead of being seen: a terminal (C0, C1), the direction of writing, the ends of lines. */
bool pfa_text_steers(uint32_t character);
/* Replaces such characters by as many spaces as they have bytes; zeros stay. Bytes that are no UTF-8 stay, too, unless a terminal
 * that does not read UTF-8 would take them for C1: these become '?'. */
void pfa_text_clean(char *text, size_t size);
/* Likewise of several lines, whose ends stay. */
void pfa_text_clean_lines(char *text, size_t size);
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
