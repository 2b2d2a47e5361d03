/* What tests need with or without CMocka: a check that works in threads and forked children, and a random generator. */
#ifndef PFA_TESTS_CHECKED_H
#define PFA_TESTS_CHECKED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define must(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            dprintf(STDOUT_FILENO, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                             \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Tests that ask this are run twice, the second time with room for accesses in records (cmake/Tests.cmake). */
static inline bool wide_records(void)
{
    const char *asked = getenv("PROFALLOC_TEST_RECORDS");
    return asked != NULL && strcmp(asked, "wide") == 0;
}

/* splitmix64: every seed gives a good stream, and the test says which seed it used by having it in its source. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return random_next(state) % bound;
}

#endif
