/* Owns the exec family, _exit and quick_exit: the trace of a process that becomes another program, or goes past its exit handlers, is ended
 * before, as at an exit, since nothing of ours comes after. Else the children of a shell, or of a server, left a live table each. A
 * process with other threads leaves its live table as it is: they go on until the very moment. In the shared library only: a static
 * program calls its own.
 *
 * All of these may be called in a signal handler and in a fork child. In a vfork child the trace is the parent's, and nothing is
 * done. Where exec can be seen to fail nothing is done either; if it fails nevertheless, recording goes on in another trace. */
#define _GNU_SOURCE 1
#include "base/compiler.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/options.h"
#include "base/sys.h"
#include "export/session.h"
#include "hooks/hooks.h"
#include "meta/extents.h"
#include "meta/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, ARGUMENTS_MAX = 65536 };

typedef int search_fn(const char *file, char *const arguments[], char *const environment[]);
typedef int descriptor_fn(int fd, char *const arguments[], char *const environment[]);
typedef int at_fn(int fd, const char *path, char *const arguments[], char *const environment[], int flags);

static struct {
    search_fn *execvpe;
    descriptor_fn *fexecve;
    at_fn *execveat;
} real;

/* Early: in a fork child the loader may be in the middle of something. */
static __attribute__((constructor)) void find_real(void)
{
    *(void **)&real.execvpe = dlsym(RTLD_NEXT, "execvpe");
    *(void **)&real.fexecve = dlsym(RTLD_NEXT, "fexecve");
    *(void **)&real.execveat = dlsym(RTLD_NEXT, "execveat");
}

/* The trace is ours to end: there is one, it is not our parent's, and we are not in the middle of something. Asked before any
 * other system call: without a trace, exec makes none but its own, as a program that has shut itself in may allow no other. */
static bool has_trace(void)
{
    return pfa_session_is_open() && pfa_extents_head != NULL && pfa_extents_head->pid == (uint32_t)pfa_sys_pid() &&
           !pfa_locks_held() && pfa_thread_list_alone(pfa_tls.thread);
}

static bool end_trace(pfa_end_t how)
{
    int kept = errno;
    uint8_t before = pfa_tls_pause(&pfa_tls);
    pfa_session_end(how);
    pfa_tls_resume(&pfa_tls, before);
    errno = kept;
    return true;
}

/* What exec returned, which it does only when it failed. */
static int go_on(bool ended, int result)
{
    int kept = errno;
    if (ended && pfa_load_relaxed(&pfa_sampling.mode) != PFA_MODE_OFF) {
        pfa_process_begin_trace(NULL);
    }
    errno = kept;
    return result;
}

/* Would any of the folders of PATH do? */
static bool is_in_path(const char *file)
{
    char path[PATH_SIZE];
    const char *folders = getenv("PATH");
    folders = folders != NULL ? folders : "/bin:/usr/bin";
    while (*folders != '\0') {
        size_t length = strcspn(folders, ":");
        pfa_text_t text = {path, sizeof path, 0};
        pfa_text_add(&text, "%.*s%s%s", (int)length, folders, length != 0 ? "/" : "", file);
        if (pfa_sys_executable(path)) {
            return true;
        }
        folders += length + (folders[length] == ':');
    }
    return false;
}

static int execute(const char *path, char *const arguments[], char *const environment[])
{
    bool ended = has_trace() && pfa_sys_executable(path) && end_trace(PFA_END_EXEC);
    errno = -pfa_sys_execute(path, arguments, environment);
    return go_on(ended, -1);
}

static int execute_found(const char *file, char *const arguments[], char *const environment[])
{
    if (real.execvpe == NULL) {
        find_real();
    }
    bool ended = has_trace() && (strchr(file, '/') != NULL ? pfa_sys_executable(file) : is_in_path(file)) &&
                 end_trace(PFA_END_EXEC);
    return go_on(ended, real.execvpe(file, arguments, environment));
}

PFA_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    return execute(path, arguments, environment);
}

PFA_EXPORT int execv(const char *path, char *const arguments[])
{
    return execute(path, arguments, environ);
}

PFA_EXPORT int execvp(const char *file, char *const arguments[])
{
    return execute_found(file, arguments, environ);
}

PFA_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    return execute_found(file, arguments, environment);
}

PFA_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    if (real.fexecve == NULL) {
        find_real();
    }
    bool ended = has_trace() && end_trace(PFA_END_EXEC);
    return go_on(ended, real.fexecve(fd, arguments, environment));
}

PFA_EXPORT int execveat(int fd, const char *path, char *const arguments[], char *const environment[], int flags)
{
    if (real.execveat == NULL) {
        find_real();
    }
    bool ended = has_trace() && ((flags & AT_EMPTY_PATH) != 0 || path[0] != '/' || pfa_sys_executable(path)) &&
                 end_trace(PFA_END_EXEC);
    return go_on(ended, real.execveat(fd, path, arguments, environment, flags));
}

/* A handler for crashes may call it, on an alternate stack that has no room for us; and a program that has shut itself in may
 * have thrown away what writing takes. The live table has it all then. */
static void end_if_possible(void)
{
    if (has_trace() && pfa_options.end != 0 && !pfa_sys_is_filtered() && !pfa_sys_on_alternate_stack()) {
        (void)end_trace(PFA_END_EXIT);
    }
}

static _Noreturn void leave(int status)
{
    end_if_possible();
    pfa_sys_exit(status);
}

PFA_EXPORT _Noreturn void _exit(int status)
{
    leave(status);
}

PFA_EXPORT _Noreturn void _Exit(int status)
{
    leave(status);
}

/* quick_exit calls the handlers that were registered for it alone, the last first: the program's before ours. */
static __attribute__((constructor)) void watch_quick_exit(void)
{
    (void)at_quick_exit(end_if_possible);
}

/* The forms with the arguments one by one. */
static size_t count_arguments(va_list list)
{
    va_list copy;
    size_t count = 1;
    va_copy(copy, list);
    while (count < ARGUMENTS_MAX && va_arg(copy, char *) != NULL) {
        count++;
    }
    va_end(copy);
    return count;
}

/* On the stack, as nothing may be allocated here. */
#define TAKE_ARGUMENTS(first, list, arguments)                                                                         \
    size_t count_ = count_arguments(list) + 1;                                                                         \
    char **arguments = __builtin_alloca(count_ * sizeof *arguments);                                                   \
    arguments[0] = (char *)(uintptr_t)(first);                                                                         \
    for (size_t i_ = 1; i_ < count_; i_++) {                                                                           \
        arguments[i_] = va_arg(list, char *);                                                                          \
    }                                                                                                                  \
    arguments[count_ - 1] = NULL

PFA_EXPORT int execl(const char *path, const char *first, ...)
{
    va_list list;
    va_start(list, first);
    TAKE_ARGUMENTS(first, list, arguments);
    va_end(list);
    return execute(path, arguments, environ);
}

PFA_EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list list;
    va_start(list, first);
    TAKE_ARGUMENTS(first, list, arguments);
    va_end(list);
    return execute_found(file, arguments, environ);
}

PFA_EXPORT int execle(const char *path, const char *first, ...)
{
    va_list list;
    va_start(list, first);
    TAKE_ARGUMENTS(first, list, arguments);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execute(path, arguments, environment);
}
