/* What an allocation point is called so that it is the same in another run and another build: the functions of its stack,
 * inlined ones too, and the modules they are in, without their versions. No addresses, no lines; only of a frame without a
 * name its place in the module. */
#ifndef PFA_ANALYZE_NAMES_IDENTITY_H
#define PFA_ANALYZE_NAMES_IDENTITY_H

#include "analyze/names/stacks.h"

uint64_t pfa_identity_of(pfa_stacks_t *stacks, uint32_t stack);

#endif
