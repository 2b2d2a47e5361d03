/* What all parts of the tool share: memory that is there or the tool ends, growing lists, notes of what is missing, and
 * numbers as people read them. */
#ifndef PFA_ANALYZE_TOOL_H
#define PFA_ANALYZE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Zeroed memory for `count` things of `size`. Without memory the tool says so and ends with status 1. */
void *pfa_memory_get(size_t count, size_t size);
/* Makes room for at least `needed` things in a list with room for *room of them. New ones are zeroed. */
void *pfa_memory_grow(void *list, size_t *room, size_t needed, size_t size);
/* A copy for people to read, cleaned. */
char *pfa_memory_text(const char *text, size_t size);
void *pfa_memory_copy(const void *bytes, size_t size);

/* Sentences for people, in the order they came up. */
typedef struct pfa_notes {
    char **list;
    size_t count;
    size_t room;
} pfa_notes_t;

__attribute__((format(printf, 2, 3))) void pfa_notes_add(pfa_notes_t *notes, const char *format, ...);
void pfa_notes_free(pfa_notes_t *notes);

/* Replaces what could move the cursor of a terminal by spaces; zeros stay. */
void pfa_text_clean(char *text, size_t size);
/* "12.3 MiB", "1,234,567": into `text`, which is returned. */
enum { PFA_NUMBER_TEXT = 48 };
const char *pfa_text_bytes(char text[PFA_NUMBER_TEXT], double bytes);
const char *pfa_text_count(char text[PFA_NUMBER_TEXT], double count);
/* "123 ns", "1.23 ms", "4.5 s". */
const char *pfa_text_ns(char text[PFA_NUMBER_TEXT], double ns);
/* Half the width of the 95 % confidence interval of an estimate with this variance. */
double pfa_half_width(double variance);
/* " ±1.2 %" of an estimate with this variance: half the width of its 95 % confidence interval; "" if it is exact. */
const char *pfa_text_within(char text[PFA_NUMBER_TEXT], double value, double variance);
/* "1 chunk", "3 chunks". */
const char *pfa_text_plural(double count);

/* A line on standard error that says how far the work is, from a second on and only on a terminal. */
typedef struct pfa_progress {
    const char *what;
    uint64_t total;
    uint64_t done;
    double begun;
    double shown;
    bool on;
} pfa_progress_t;

void pfa_progress_begin(pfa_progress_t *progress, const char *what, uint64_t total);
void pfa_progress_step(pfa_progress_t *progress, uint64_t done);
void pfa_progress_end(pfa_progress_t *progress);

/* "profalloc COMMAND: ..." on standard error. */
__attribute__((format(printf, 2, 3))) void pfa_tool_say(const char *command, const char *format, ...);
/* Of a command that has no option but --help and takes files: the index of the first of them. 0: *status is what to end
 * with. */
int pfa_tool_files(int argc, char **argv, const char *usage, int *status);
/* Flushes standard output; the exit status: `status`, or failed if not all could be written. */
int pfa_tool_finish(const char *command, int status);

#endif
