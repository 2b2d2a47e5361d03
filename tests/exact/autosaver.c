/* Does what tests/exact/calls.py tells it to, a letter and a number in each line of standard input, and answers each with a
 * line. The library is preloaded.
 *   a N   set_mprof_autosave(N)
 *   m N   N chunks of 1009 bytes, all but the last freed
 *   f 0   forks: the child goes on, until it is told to quit; so does the parent, then
 *   q 0   quits */
#include "../../include/profalloc.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma weak set_mprof_autosave

static void *volatile sink;

static void must(int condition, int status)
{
    if (!condition) {
        _exit(status);
    }
}

/* Without stdio: its buffers would be allocations too. */
static char next_command(int *number)
{
    char line[64];
    size_t length = 0;
    do {
        must(length < sizeof line - 1 && read(STDIN_FILENO, line + length, 1) == 1, 2);
    } while (line[length++] != '\n');
    line[length] = '\0';
    *number = atoi(line + 1);
    return line[0];
}

static void make(int count)
{
    for (int i = 1; i <= count; i++) {
        sink = malloc(1009);
        if (i < count) {
            free(sink);
        }
    }
}

static void wait_for_child(void)
{
    int status = 0;
    pid_t child = fork();
    must(child >= 0, 3);
    if (child > 0) {
        must(waitpid(child, &status, 0) == child && status == 0, 4);
    }
}

int main(void)
{
    int number = 0;
    for (;;) {
        switch (next_command(&number)) {
        case 'a':
            set_mprof_autosave(number);
            break;
        case 'm':
            make(number);
            break;
        case 'f':
            wait_for_child();
            break;
        default:
            return 0;
        }
        must(write(STDOUT_FILENO, "\n", 1) == 1, 5);
    }
}
