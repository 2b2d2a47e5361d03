/* Owns the callbacks of Clang's other instrumentation, -fsanitize-coverage=func,trace-loads,trace-stores, for objects that
 * plain clang compiled with it and profalloc-cc links; what profalloc-cc compiles has none of these calls. The flag needs a
 * place ("func") to have any effect, and with it pulls in nothing but these; whoever asks for more, such as trace-pc-guard,
 * has callbacks of their own.
 *
 * Part of libprofalloc_access.a, and like callbacks.c in what may call it when. Clang tells atomic updates and memcpy to
 * nobody here: --wrap sees the latter. */
#include "hooks/access/access.h"
#include "hooks/access/interface.h"

#define DEFINE(size)                                                                                                   \
    PFA_CALLBACK(void, __sanitizer_cov_load##size, void *address)                                                      \
    {                                                                                                                  \
        pfa_access((uintptr_t)address, size, PFA_ACCESS_READ);                                                         \
    }                                                                                                                  \
    PFA_CALLBACK(void, __sanitizer_cov_store##size, void *address)                                                     \
    {                                                                                                                  \
        pfa_access((uintptr_t)address, size, PFA_ACCESS_WRITE);                                                        \
    }
DEFINE(1)
DEFINE(2)
DEFINE(4)
DEFINE(8)
DEFINE(16)
