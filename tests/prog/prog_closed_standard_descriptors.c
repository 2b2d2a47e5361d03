/* Started without standard descriptors: the first file that the program opens becomes number 0, 1 or 2, and we must not
 * take it for standard error.
 *
 * run: close=0,1,2
 * run: close=2
 * run: close=0
 * run: close=0,1,2 conf=summary:true,bogus:1
 * run: close=2 conf=summary:true,bogus:1 */
#include "trap.h"

#include <fcntl.h>
#include <sys/stat.h>

static int file;

static void check_untouched(void)
{
    struct stat info;
    if (fstat(file, &info) != 0 || info.st_size != 0) {
        _exit(3);
    }
}

int main(void)
{
    static int global[16];
    char path[] = "/tmp/trap.XXXXXX";
    bool has_error = fcntl(STDERR_FILENO, F_GETFD) != -1;
    file = mkstemp(path);
    if (file < 0 || file > 2 || unlink(path) != 0) {
        return 4;
    }
    while (!has_error && fcntl(STDERR_FILENO, F_GETFD) == -1) {
        if (dup(file) < 0) {
            return 5;
        }
    }
    atexit(check_untouched);
    if (!has_error) {
        free(opaque(global + 2));
        if (counters().bad_frees != 1) {
            return 6;
        }
    }
    void *chunk = malloc(300000);
    fill(chunk, 300000, 1);
    if (!verify(chunk, 300000, 1)) {
        return 7;
    }
    free(chunk);
    check_untouched();
    return 0;
}
