/* vfork, posix_spawn, system and popen: children that share our memory for a while, or replace it, and are preloaded
 * with us in their turn. The parent's threads allocate all the while. */
#include "trap.h"

#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_bool done;

static void *churn(void *arg)
{
    while (!done) {
        void *chunks[50];
        for (unsigned i = 0; i < 50; i++) {
            chunks[i] = malloc(100 * i + (i == 49 ? 200000 : 1));
            fill(chunks[i], 100 * i, i);
        }
        for (unsigned i = 0; i < 50; i++) {
            CHECK(verify(chunks[i], 100 * i, i));
            free(chunks[i]);
        }
    }
    return arg;
}

static void expect_seven(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "ended with %#x", status);
}

static void with_vfork(char *const *command)
{
    pid_t child = vfork();
    if (child == 0) {
        execv(command[0], command);
        _exit(1);
    }
    expect_seven(child);
}

static void with_posix_spawn(char *const *command)
{
    extern char **environ;
    pid_t child;
    CHECK(posix_spawn(&child, command[0], NULL, NULL, command, environ) == 0);
    expect_seven(child);
}

static void with_popen(void)
{
    char line[32] = "";
    FILE *output = popen("echo $((6 * 7))", "r");
    CHECK(fgets(line, sizeof line, output) != NULL && strcmp(line, "42\n") == 0);
    CHECK(pclose(output) == 0);
}

int main(void)
{
    char *command[] = {"/bin/sh", "-c", "exit 7", NULL};
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, churn, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, churn, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        with_vfork(command);
        with_posix_spawn(command);
        CHECK(WEXITSTATUS(system("exit 7")) == 7);
        with_popen();
    }
    done = true;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
