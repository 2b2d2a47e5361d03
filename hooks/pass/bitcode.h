/* hooks/pass/inline.c as bitcode, put into the plugin by cmake/Pass.cmake: one per architecture, then one of NULL. */
#ifndef PFA_HOOKS_PASS_BITCODE_H
#define PFA_HOOKS_PASS_BITCODE_H

#include <stddef.h>

struct pfa_pass_bitcode {
    const char *machine; /* as a target's triple begins */
    const unsigned char *bytes;
    size_t size;
};

extern const pfa_pass_bitcode pfa_pass_bitcodes[];

#endif
