/* Each call of the exec family becomes the program it names, with its arguments and environment, in a fork child that has
 * allocated; a vfork child leaves its parent's recording alone; a call that fails says why, and the program goes on.
 *
 * run: may_say="'.*' has its live table in memory: .*" */
#define _GNU_SOURCE 1
#include "trap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SHELL "/bin/sh"
#define SCRIPT "test \"$1 $2 $MARK\" = \"one two here\" && exit 7"

static char *arguments[] = {SHELL, "-c", SCRIPT, "sh", "one", "two", NULL};
static char *environment[] = {"MARK=here", "PATH=/usr/bin:/bin", NULL};

enum { FORMS = 9 };

static void become(int form)
{
    switch (form) {
    case 0:
        execve(SHELL, arguments, environment);
        break;
    case 1:
        execv(SHELL, arguments);
        break;
    case 2:
        execvp("sh", arguments);
        break;
    case 3:
        execvpe("sh", arguments, environment);
        break;
    case 4:
        execl(SHELL, SHELL, "-c", SCRIPT, "sh", "one", "two", (char *)NULL);
        break;
    case 5:
        execlp("sh", SHELL, "-c", SCRIPT, "sh", "one", "two", (char *)NULL);
        break;
    case 6:
        execle(SHELL, SHELL, "-c", SCRIPT, "sh", "one", "two", (char *)NULL, environment);
        break;
    case 7:
        fexecve(open(SHELL, O_RDONLY), arguments, environment);
        break;
    default:
        execveat(AT_FDCWD, SHELL, arguments, environment, 0);
    }
}

static int wait_for(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void fail(const char *path, int expected)
{
    errno = 0;
    CHECK(execv(path, arguments) == -1 && errno == expected, "%s: errno %d, not %d", path, errno, expected);
    void *volatile chunk = malloc(1000);
    free(chunk);
}

int main(void)
{
    char empty[] = "/tmp/profalloc-empty-XXXXXX";
    CHECK(setenv("MARK", "here", 1) == 0);
    void *kept = malloc(3000);
    for (int form = 0; form < FORMS; form++) {
        pid_t child = fork();
        if (child == 0) {
            void *volatile chunk = malloc(5000);
            free(chunk);
            become(form);
            _exit(1);
        }
        int status = wait_for(child);
        CHECK(status == 7, "form %d ended with %d", form, status);
    }
    pid_t child = vfork();
    if (child == 0) {
        execve(SHELL, arguments, environment);
        _exit(1);
    }
    CHECK(wait_for(child) == 7);
    int fd = mkstemp(empty);
    CHECK(fd >= 0 && fchmod(fd, 0700) == 0 && close(fd) == 0);
    fail("/nowhere/at/all", ENOENT);
    fail("/dev/null", EACCES);
    fail(empty, ENOEXEC);
    CHECK(unlink(empty) == 0);
    errno = 0;
    CHECK(execvp("no-such-program-anywhere", arguments) == -1 && errno == ENOENT);
    CHECK(counters().bad_frees == 0);
    free(kept);
    return 0;
}
