/* How the files of hooks/access define what the compilers, and the linker's --wrap, expect by name: each name is declared
 * where it is defined, since no header of anybody declares all of them. Macros only. */
#ifndef PFA_HOOKS_ACCESS_INTERFACE_H
#define PFA_HOOKS_ACCESS_INTERFACE_H

#include "base/compiler.h"

/* A function called by code that a compiler made. */
#define PFA_CALLBACK(result, name, ...)                                                                                \
    result name(__VA_ARGS__);                                                                                          \
    result name(__VA_ARGS__)

/* A function called by the program, which may have one of its own. */
#define PFA_CALLBACK_WEAK(result, name, ...)                                                                           \
    PFA_WEAK result name(__VA_ARGS__);                                                                                 \
    result name(__VA_ARGS__)

/* In one part of the text with others like it, several in a line of the cache: who comes back from the kernel finds few of
 * them there. (Not with every linker.) */
#define PFA_SIDE_BY_SIDE __attribute__((hot))

/* A function of libc: with --wrap=name the linker turns the module's calls of `name` to __wrap_name, and those of
 * __real_name to `name`. A line of wraps.def is the other half. */
#define PFA_WRAPPED(result, name, ...)                                                                                 \
    result __real_##name(__VA_ARGS__);                                                                                 \
    result __wrap_##name(__VA_ARGS__);                                                                                 \
    result __wrap_##name(__VA_ARGS__)

/* The same, of which only calls that meet the condition are seen: others are a compare and a jump. What follows is the body
 * for those. It is a function of its own, so that the others have no frame. */
#define PFA_WRAPPED_WHERE(condition, result, name, parameters, arguments)                                              \
    result __real_##name parameters;                                                                                   \
    result __wrap_##name parameters;                                                                                   \
    static PFA_NOINLINE result seen_##name parameters;                                                                 \
    PFA_SIDE_BY_SIDE result __wrap_##name parameters                                                                   \
    {                                                                                                                  \
        return PFA_LIKELY(!(condition)) ? __real_##name arguments : seen_##name arguments;                             \
    }                                                                                                                  \
    static result seen_##name parameters

#endif
