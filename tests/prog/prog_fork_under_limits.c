/* Fork children that may not make files as big as a live table, or may have no more data: limited by their parent before
 * the fork, or by themselves before they record anything. What records they have lies in memory then, or there are none; they
 * free what they were born with and allocate as before.
 *
 * Who may make no file says so, each child once, and the parent may find out when it is limited itself; under fsize:0 nobody can say
 * anything, as standard error is a file. When few chunks are sampled, a child may by chance have none, and needs no trace. Of
 * memory there is little or enough: each child may say once that it has no trace, and once that some chunks are not recorded.
 *
 * run: arg=fsize:0
 * run: modes=sampled arg=fsize:4096
 *        may_say="4*no trace can be written to '.*' \(file size limit\): chunks are counted and nothing more"
 *        may_say="the trace cannot be written any more \(file size limit\): from here on only totals are kept"
 * run: modes=often,full arg=fsize:4096
 *        says="4*no trace can be written to '.*' \(file size limit\): chunks are counted and nothing more"
 *        may_say="the trace cannot be written any more \(file size limit\): from here on only totals are kept"
 * run: modes=sampled arg=fsize:1000000
 *        may_say="4*no room for the live table \(file size limit\): from here on some chunks are counted and not recorded"
 *        may_say="4*no trace can be written to '.*' \(file size limit\): chunks are counted and nothing more"
 *        may_say="the trace cannot be written any more \(file size limit\): from here on only totals are kept"
 * run: modes=often,full arg=fsize:1000000
 *        says="no room for the live table \(file size limit\): from here on some chunks are counted and not recorded"
 *        says="no trace can be written to '.*' \(file size limit\): chunks are counted and nothing more"
 *        says="no room for the live table \(file size limit\): from here on some chunks are counted and not recorded"
 *        says="no trace can be written to '.*' \(file size limit\): chunks are counted and nothing more"
 *        says="no room for the live table \(file size limit\): from here on some chunks are counted and not recorded"
 *        says="no trace can be written to '.*' \(file size limit\): chunks are counted and nothing more"
 *        says="no room for the live table \(file size limit\): from here on some chunks are counted and not recorded"
 *        says="no trace can be written to '.*' \(file size limit\): chunks are counted and nothing more"
 *        may_say="the trace cannot be written any more \(file size limit\): from here on only totals are kept"
 * run: arg=fsize:30000000
 * run: modes=sampled,often,full arg=data:0
 *        may_say="4*no trace can be written to '.*' \(no memory\): chunks are counted and nothing more"
 *        may_say="4*the profiled range is full or has no memory: some chunks are not recorded"
 * run: modes=sampled,often,full arg=data:1000000
 *        may_say="4*no trace can be written to '.*' \(no memory\): chunks are counted and nothing more"
 *        may_say="4*the profiled range is full or has no memory: some chunks are not recorded"
 * run: modes=sampled,often,full arg=data:3000000
 *        may_say="4*no trace can be written to '.*' \(no memory\): chunks are counted and nothing more"
 *        may_say="4*the profiled range is full or has no memory: some chunks are not recorded"
 * run: modes=sampled,often,full arg=data:6000000
 *        may_say="4*no trace can be written to '.*' \(no memory\): chunks are counted and nothing more"
 *        may_say="4*the profiled range is full or has no memory: some chunks are not recorded"
 * run: modes=sampled,often,full arg=data:9000000
 *        may_say="4*no trace can be written to '.*' \(no memory\): chunks are counted and nothing more"
 *        may_say="4*the profiled range is full or has no memory: some chunks are not recorded"
 * run: modes=off arg=data:0 */
#include "trap.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { CHUNKS = 20000 };

static void *chunks[CHUNKS];

static size_t size_of(unsigned i)
{
    return 100 + i % 50;
}

/* What RLIMIT_DATA counts. */
static rlim_t data_now(void)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY);
    CHECK(fd >= 0);
    ssize_t length = read(fd, text, sizeof text - 1);
    CHECK(length > 0);
    close(fd);
    text[length] = '\0';
    const char *line = strstr(text, "VmData:");
    CHECK(line != NULL);
    return strtoull(line + sizeof "VmData:" - 1, NULL, 10) * 1024;
}

static void set_limit(const char *what)
{
    const char *colon = strchr(what, ':');
    CHECK(colon != NULL);
    bool is_data = strncmp(what, "data", 4) == 0;
    struct rlimit limit;
    CHECK(getrlimit(is_data ? RLIMIT_DATA : RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = strtoull(colon + 1, NULL, 10) + (is_data ? data_now() : 0);
    CHECK(setrlimit(is_data ? RLIMIT_DATA : RLIMIT_FSIZE, &limit) == 0);
}

static void live_as_child(bool allocates_first)
{
    if (allocates_first) {
        free(malloc(300));
    }
    for (unsigned i = 0; i < CHUNKS; i++) {
        CHECK(verify(chunks[i], size_of(i), i));
        free(chunks[i]);
    }
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = malloc(100); /* there may be no memory */
    }
    for (unsigned i = 0; i < CHUNKS; i++) {
        free(chunks[i]);
    }
    CHECK(counters().bad_frees == 0);
    _exit(0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = malloc(size_of(i));
        fill(chunks[i], size_of(i), i);
    }
    for (unsigned number = 0; number < 4; number++) {
        int status;
        if (number == 2) {
            set_limit(argv[1]);
        }
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            if (number < 2) {
                set_limit(argv[1]);
            }
            live_as_child(number % 2 == 0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child %u ended with %#x", number, status);
    }
    CHECK(counters().bad_frees == 0);
    return 0;
}
