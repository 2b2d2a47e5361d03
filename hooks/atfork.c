/* Owns the registration of fork handlers, to be the first of them: in the child they are called in that order, and one that
 * frees a chunk before ours would do it in its parent's records. The C library does all else. In the shared library only:
 * a static program calls its own. */
#define _GNU_SOURCE 1
#include "base/compiler.h"
#include "hooks/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

typedef int register_fn(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *module);

/* What pthread_atfork is made of in programs and libraries alike. */
PFA_EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *module);
PFA_EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *module)
{
    static register_fn *real;
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "__register_atfork");
    }
    if (real == NULL) {
        return ENOMEM;
    }
    pfa_fork_watch();
    return real(prepare, parent, child, module);
}
