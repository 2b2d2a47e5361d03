/* Owns the files that pictures are written to. See cli/outfile.h. */
#include "cli/outfile.h"
#include "cli/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool pfa_outfile_check(const char *command, const char *path)
{
    size_t length = strlen(path);
    bool trace = length > 3 && strcmp(path + length - 3, ".pa") == 0;
    if (length == 0) {
        pfa_tool_say(command, "the name of a file to write is empty");
        return false;
    }
    if (trace) {
        pfa_tool_say(command, "'%s' is the name of a trace: it is not written over", path);
        return false;
    }
    return true;
}

FILE *pfa_outfile_open(const char *command, const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (file == NULL) {
        pfa_tool_say(command, "cannot write %s: %s", path, strerror(errno));
    }
    return file;
}

bool pfa_outfile_close(const char *command, const char *path, FILE *file)
{
    bool written = fflush(file) == 0 && ferror(file) == 0;
    int error = errno;
    if (file != stdout && fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (!written) {
        pfa_tool_say(command, "cannot write all of %s: %s", path, strerror(error));
    }
    return written;
}
