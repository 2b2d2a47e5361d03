/* Memory that is there or the tool ends, and growing lists. */
#ifndef PFA_ANALYZE_BASE_MEMORY_H
#define PFA_ANALYZE_BASE_MEMORY_H

#include <stddef.h>

/* Zeroed memory for `count` things of `size`. Without memory the tool says so and ends with status 1. */
void *pfa_memory_get(size_t count, size_t size);
/* Makes room for at least `needed` things in a list with room for *room of them. New ones are zeroed. */
void *pfa_memory_grow(void *list, size_t *room, size_t needed, size_t size);
/* A copy for people to read, cleaned. */
char *pfa_memory_text(const char *text, size_t size);
void *pfa_memory_copy(const void *bytes, size_t size);
_Noreturn void pfa_memory_end(size_t count, size_t size);

#endif
