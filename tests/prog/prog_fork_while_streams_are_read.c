/* fork takes the locks of the C library's streams. Threads that read lines hold the lock of a stream and ask for memory;
 * another goes through all streams; others fork. Nobody may wait for a lock of ours meanwhile, whoever holds it.
 * Children end at once, or go on: what the others were in the middle of is theirs then. */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { READERS = 4, FORKERS = 2, FORKS = 15, LINE = 60000, PACE_US = 200 };

static atomic_bool done;
static char path[] = "lines.XXXXXX";

/* A thread of its own, whose first allocation is made in there. */
static void *read_line(void *file)
{
    char *line = NULL;
    size_t room = 0;
    rewind(file);
    (void)getline(&line, &room, file); /* children that exit move the offset, which is shared */
    free(line);
    return NULL;
}

static void *read_lines(void *arg)
{
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (!done) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, read_line, file) == 0);
        pthread_join(thread, NULL);
    }
    fclose(file);
    return arg;
}

static void *flush_all(void *arg)
{
    while (!done) {
        CHECK(fflush(NULL) == 0);
        usleep(PACE_US); /* else it leaves nothing to those that fork, with any malloc */
    }
    return arg;
}

static void live_as_child(int number)
{
    if (number % 3 == 0) {
        _exit(17);
    }
    for (size_t size = 1; size < 400000; size = size * 3 + 1) {
        char *chunk = malloc(size);
        fill(chunk, size, 3);
        chunk = realloc(chunk, 2 * size);
        CHECK(verify(chunk, size, 3));
        free(chunk);
    }
    if (number % 3 == 1) {
        exit(17);
    }
    _exit(17);
}

static void *fork_often(void *arg)
{
    for (int i = 0; i < FORKS; i++) {
        int status;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            live_as_child(i);
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 17, "ended with %#x", status);
    }
    return arg;
}

static void write_line(void)
{
    static char line[LINE + 1];
    int fd = mkstemp(path);
    memset(line, 'x', LINE);
    line[LINE] = '\n';
    CHECK(fd >= 0 && write(fd, line, sizeof line) == (ssize_t)sizeof line);
    close(fd);
}

int main(void)
{
    pthread_t readers[READERS], forkers[FORKERS], flusher;
    write_line();
    for (int i = 0; i < FORKERS; i++) {
        CHECK(pthread_create(&forkers[i], NULL, fork_often, NULL) == 0);
    }
    for (int i = 0; i < READERS; i++) {
        CHECK(pthread_create(&readers[i], NULL, read_lines, NULL) == 0);
    }
    CHECK(pthread_create(&flusher, NULL, flush_all, NULL) == 0);
    for (int i = 0; i < FORKERS; i++) {
        pthread_join(forkers[i], NULL);
    }
    done = true;
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
    }
    pthread_join(flusher, NULL);
    unlink(path);
    return 0;
}
