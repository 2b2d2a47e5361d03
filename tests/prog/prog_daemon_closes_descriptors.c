/* A daemon closes every descriptor and opens files of its own, which then are numbers 0, 1 and 2. What we have to say
 * must never end up in them, nor may we close or use a descriptor that is no longer ours.
 *
 * run: modes=off,full arg=2
 * run: modes=off,full arg=0 conf=summary:true
 * run: modes=off,full arg=2 conf=abort:true expect=signal:ABRT
 * run: modes=off,full arg=0 conf=abort:true,summary:true expect=signal:ABRT */
#include "trap.h"

#include <fcntl.h>
#include <sys/stat.h>

static int file;

static void check_untouched(void)
{
    struct stat info;
    if (fstat(file, &info) != 0 || info.st_size != 5) {
        _exit(3); /* nobody to tell any more */
    }
}

int main(int argc, char **argv)
{
    static int global[16];
    char path[] = "/tmp/trap.XXXXXX";
    CHECK(argc == 2);
    int first = atoi(argv[1]);
    free(malloc(100));
    file = mkstemp(path);
    CHECK(file >= 0 && unlink(path) == 0 && write(file, "hello", 5) == 5);
    CHECK(dup2(file, 2000) == 2000);
    for (int fd = first; fd < 2000; fd++) {
        (void)close(fd);
    }
    for (int fd = first; fd < 10; fd++) {
        if (fcntl(2000, F_DUPFD, fd) != fd) {
            return 4;
        }
    }
    file = 2000;
    atexit(check_untouched);
    free(opaque(global + 2));
    if (counters().bad_frees != 1) {
        return 5;
    }
    check_untouched();
    free(opaque(global + 3));
    check_untouched();
    return 0;
}
