/* Owns dlclose: what it unloads is gone from the addresses that stacks are made of, and what comes next may mean other code
 * by the same ones. The real dlclose does all else. In the shared library only: a static program has none to speak of. */
#define _GNU_SOURCE 1
#include "base/compiler.h"
#include "export/session.h"

#include <dlfcn.h>
#include <stddef.h>

PFA_EXPORT int dlclose(void *handle);
PFA_EXPORT int dlclose(void *handle)
{
    static int (*real)(void *);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "dlclose");
    }
    if (real == NULL) {
        return -1;
    }
    pfa_session_modules(); /* what is loaded now, before it is not */
    int result = real(handle);
    pfa_session_unloaded();
    return result;
}
