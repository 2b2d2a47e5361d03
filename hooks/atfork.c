/* Owns what is of fork in other libraries: the registration of fork handlers, to be the first of them, since in the child they
 * are called in that order and one that frees a chunk before ours would do it in its parent's records; and _Fork, which
 * calls none. The C library does all else. In the shared library only: a static program calls its own. For what comes by
 * neither there is base/wiped.h; but that tells a child only when it frees or allocates, and callbacks of instrumented code
 * do not look. */
#define _GNU_SOURCE 1
#include "base/compiler.h"
#include "hooks/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

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

typedef pid_t fork_fn(void);

static fork_fn *real_fork;

/* Not when it is wanted: dlsym may allocate, and _Fork may be called in a signal handler. */
static __attribute__((constructor)) void find_fork(void)
{
    *(void **)&real_fork = dlsym(RTLD_NEXT, "_Fork");
}

PFA_EXPORT pid_t _Fork(void);
PFA_EXPORT pid_t _Fork(void)
{
    if (real_fork == NULL) {
        find_fork();
    }
    if (real_fork == NULL) {
        errno = ENOSYS;
        return -1;
    }
    pid_t child = real_fork();
    if (child == 0) {
        pfa_fork_in_child();
    }
    return child;
}
