/* Owns the command line of `profalloc`: finds the sub-command and runs it. Exit status: 0 done, 1 the work failed, 2 the
 * command line was wrong or a file is no trace. */
#include "cli/commands.h"

#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *synopsis;
    const char *meaning;
} command_t;

static const command_t commands[] = {
#define PFA_COMMAND(name, synopsis, meaning) {#name, pfa_command_##name, synopsis, meaning},
#include "cli/commands.def"
#undef PFA_COMMAND
};

/* Each is three bytes and one column: what has to be added to a width. */
static int ellipses_in(const char *text)
{
    int extra = 0;
    for (; (text = strstr(text, "…")) != NULL; text++) {
        extra += 2;
    }
    return extra;
}

static void print_usage(FILE *to)
{
    fputs("usage: profalloc COMMAND [ARGUMENTS]\n\n"
          "Tells what the memory of a program was for.\n\ncommands:\n",
          to);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        fprintf(to, "  %-*s %s\n", 30 + ellipses_in(commands[i].synopsis), commands[i].synopsis, commands[i].meaning);
    }
    fputs("\n  --help                         print this\n"
          "  --version                      print the version\n\n"
          "profalloc COMMAND --help tells more about a command.\n",
          to);
}

int main(int argc, char **argv)
{
    __fsetlocking(stdout, FSETLOCKING_BYCALLER); /* the tool has one thread, and prints much */
    if (argc < 2) {
        print_usage(stderr);
        return PFA_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("profalloc %s\n", PFA_VERSION);
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            static char name[32]; /* with which getopt begins its messages */
            snprintf(name, sizeof name, "profalloc %s", commands[i].name);
            argv[1] = name;
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "profalloc: there is no command '%s'; try 'profalloc --help'\n", argv[1]);
    return PFA_EXIT_USAGE;
}
