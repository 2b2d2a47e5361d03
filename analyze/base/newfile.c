/* Owns new files. See analyze/base/newfile.h. mkstemp(3) gives others no permission, and what a file would get is known by umask(2) alone, which
 * cannot be asked without changing it for all threads. */
#include "analyze/base/newfile.h"
#include "analyze/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/random.h>

int pfa_newfile_open(const char *path, char **part)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        uint32_t number = 0;
        if (getrandom(&number, sizeof number, 0) != sizeof number) {
            break;
        }
        *part = pfa_memory_format("%s.%08x", path, (unsigned)number);
        int fd = open(*part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            return fd;
        }
        int error = errno;
        pfa_memory_free(*part);
        *part = NULL;
        errno = error;
        if (error != EEXIST) {
            break;
        }
    }
    *part = NULL;
    return -1;
}
