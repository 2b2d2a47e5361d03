/* Owns what all commands share. See cli/tool.h. */
#include "cli/tool.h"
#include "cli/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pfa_tool_say(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "profalloc %s: ", command);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

int pfa_tool_finish(const char *command, int status)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        pfa_tool_say(command, "cannot write the output: %s", strerror(errno));
        return PFA_EXIT_FAILED;
    }
    return status;
}

int pfa_tool_files(int argc, char **argv, const char *usage, int *status)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int option = getopt_long(argc, argv, "h", options, NULL);
    if (option == 'h' || option == '?' || optind == argc) {
        fputs(usage, option == 'h' ? stdout : stderr);
        *status = option == 'h' ? 0 : PFA_EXIT_USAGE;
        return 0;
    }
    return optind;
}
