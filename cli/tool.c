/* Owns what all commands share. See cli/tool.h. */
#include "cli/tool.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "cli/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pfa_tool_say(const char *command, const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    fflush(stdout);
    if (size < 0) {
        fprintf(stderr, "profalloc %s: there is not enough memory\n", command);
        return;
    }
    pfa_text_clean_lines(text, (size_t)size);
    fprintf(stderr, "profalloc %s: %s\n", command, text);
    free(text);
}

void pfa_tool_made(const char *path)
{
    char *shown = isatty(STDOUT_FILENO) == 1 ? pfa_memory_text(path, strlen(path)) : NULL;
    printf("%s\n", shown != NULL ? shown : path);
    pfa_memory_free(shown);
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
