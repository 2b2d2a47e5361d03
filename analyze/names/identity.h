/* What an allocation point is called so that it is the same in another run and another build: the functions of its stack,
 * inlined ones too, and the modules they are in, without their versions and without what the compiler adds to names of
 * functions that it made of others. No addresses, no lines; only of a frame without a name its place in this build of the
 * module. What called main is left out: it is of the C library.
 *
 * A looser name, for points that are not found under the first: the named functions alone, without arguments, all lambdas as
 * one, without those of the C++ library, which are there or not as the compiler likes. */
#ifndef PFA_ANALYZE_NAMES_IDENTITY_H
#define PFA_ANALYZE_NAMES_IDENTITY_H

#include "analyze/names/stacks.h"

uint64_t pfa_identity_of(pfa_stacks_t *stacks, uint32_t stack);
uint64_t pfa_identity_of_lines(const pfa_lines_t *lines);
uint64_t pfa_identity_of_name(const char *name);

/* The stack as addresses, each in its build of a module: the same with and without names. 0: a build is not known. */
uint64_t pfa_identity_of_places(const pfa_lines_t *lines);
/* Whether all of it that the first name is made of is called by names, so that another build has the same. */
bool pfa_identity_is_lasting(const pfa_lines_t *lines);

/* 0: the function that allocates has no name, or there is none. */
uint64_t pfa_identity_kin(const pfa_lines_t *lines);
/* What that is made of: a number for each named function of the program, the innermost first; the caller frees them. */
uint64_t *pfa_identity_functions(const pfa_lines_t *lines, size_t *count);

#endif
