/* Which analyses a trace, or it together with another one, is asked for. All of them would take too long for each input. */
#ifndef PFA_TESTS_FUZZ_ANALYSES_H
#define PFA_TESTS_FUZZ_ANALYSES_H

#include <stddef.h>

/* The two files; before anything else. */
void pfa_fuzz_analyses_begin(const char *trace, const char *other);
/* Runs each of them on what should be two whole recordings. Ends the process unless each does its work and writes what it should: one that
 * is refused, or finds nothing to say, would test nothing. */
void pfa_fuzz_analyses_try(void);
/* Runs one of them, whatever the number is; given up after `patience` tellings of how far it is. */
void pfa_fuzz_analyze(size_t number, size_t patience);

#endif
