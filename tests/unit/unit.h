/* What the unit tests share: CMocka with what it needs before it, child processes, and the capture of standard error.
 *
 * CMocka's assertions jump out of the test and so belong to its own thread and process; everywhere else `must` says where
 * it failed and ends the process, which CMocka or `in_child` then reports. */
#ifndef PFA_TESTS_UNIT_H
#define PFA_TESTS_UNIT_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/message.h"
#include "tests/checked.h"

/* Runs a function in a child process, whose state of the allocator is its own, and returns how it ended as waitpid
 * tells it: 0 if it returned. */
static inline int status_of_child(void (*function)(void))
{
    fflush(stdout);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        /* CMocka's handlers would jump back into the test, in the child. */
        static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
        for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
            (void)signal(signals[i], SIG_DFL);
        }
        function();
        _exit(0);
    }
    int status;
    must(waitpid(child, &status, 0) == child);
    return status;
}

#define in_child(function) assert_int_equal(status_of_child(function), 0)

/* The CMocka test `test_function` that does so. */
#define RUN_IN_CHILD(function)                                                                                         \
    static void test_##function(void **state)                                                                          \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        in_child(function);                                                                                            \
    }

/* Standard error as the runtime sees it, from begin to end, in a file that has no name. */
typedef struct capture {
    char text[16384];
    size_t length;
    int real;
    FILE *file;
} capture_t;

static inline void capture_begin(capture_t *capture)
{
    fflush(stderr);
    capture->file = tmpfile();
    must(capture->file != NULL);
    capture->real = dup(STDERR_FILENO);
    must(capture->real >= 0);
    must(dup2(fileno(capture->file), STDERR_FILENO) >= 0);
    pfa_message_init();
}

static inline const char *capture_end(capture_t *capture)
{
    must(dup2(capture->real, STDERR_FILENO) >= 0);
    close(capture->real);
    pfa_message_init();
    ssize_t got = pread(fileno(capture->file), capture->text, sizeof capture->text - 1, 0);
    must(got >= 0);
    fclose(capture->file);
    capture->length = (size_t)got;
    capture->text[got] = '\0';
    return capture->text;
}

static inline unsigned lines_in(const char *text)
{
    unsigned lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

#endif
