/* Owns what is of fork in other libraries: the registration of fork handlers, to be the first of them, since in the child they
 * are called in that order and one that frees a chunk before ours would do it in its parent's records; _Fork, which calls none;
 * and fork, which is not to be interrupted by a signal handler that forks: the C library holds a lock of its own meanwhile, but
 * not in a process of one thread, and our background thread makes a second. The C library does all else. In the shared library
 * only: a static program calls its own. For what comes by neither there is base/wiped.h; but that tells a child only when it
 * frees or allocates, and callbacks of instrumented code do not look. */
#define _GNU_SOURCE 1
#include "alloc/range.h"
#include "base/compiler.h"
#include "base/sys.h"
#include "hooks/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

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
static fork_fn *real_plain_fork; /* _Fork */

/* Not when it is wanted: dlsym may allocate, and these may be called in a signal handler. */
static __attribute__((constructor)) void find_forks(void)
{
    *(void **)&real_fork = dlsym(RTLD_NEXT, "fork");
    *(void **)&real_plain_fork = dlsym(RTLD_NEXT, "_Fork");
}

static pid_t call(fork_fn *const *real)
{
    if (*real == NULL) {
        find_forks();
    }
    if (*real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    return (*real)();
}

PFA_EXPORT pid_t fork(void)
{
    if (pfa_range.total_span == 0) { /* nothing was recorded: there is no thread of ours */
        return call(&real_fork);
    }
    uint64_t before = pfa_sys_hold_signals();
    pid_t child = call(&real_fork);
    pfa_sys_let_signals(before);
    return child;
}

/* Its other name. */
PFA_EXPORT pid_t __fork(void);
PFA_EXPORT pid_t __fork(void)
{
    return fork();
}

PFA_EXPORT pid_t _Fork(void)
{
    uint64_t before = pfa_sys_hold_signals();
    pid_t child = call(&real_plain_fork);
    if (child == 0) {
        pfa_fork_in_child();
    }
    pfa_sys_let_signals(before);
    return child;
}
