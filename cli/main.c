/* Owns the command line of `profalloc`: finds the sub-command and runs it. Exit status: 0 done, 1 the work failed, 2 the
 * command line was wrong or a file is no trace. */
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "cli/commands.h"
#include "cli/tool.h"

#include <errno.h>
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

typedef struct call {
    const command_t *command;
    int argc;
    char **argv;
    int status;
} call_t;

static void run(void *to)
{
    call_t *call = to;
    call->status = call->command->run(call->argc, call->argv);
}

/* With an arena for all that the command makes. */
static int run_command(const command_t *command, int argc, char **argv)
{
    call_t call = {.command = command, .argc = argc, .argv = argv};
    pfa_memory_t *memory = pfa_memory_new();
    int error = memory != NULL ? pfa_memory_work(memory, run, &call) : ENOMEM;
    pfa_memory_delete(memory);
    if (error != 0) {
        pfa_tool_say(command->name, "%s", error == ENOMEM ? "there is not enough memory" : strerror(error));
        call.status = PFA_EXIT_FAILED;
    }
    return call.status;
}

int main(int argc, char **argv)
{
    __fsetlocking(stdout, FSETLOCKING_BYCALLER); /* one thread prints, and much */
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
            return run_command(&commands[i], argc - 1, argv + 1);
        }
    }
    pfa_text_clean(argv[1], strlen(argv[1]));
    fprintf(stderr, "profalloc: there is no command '%s'; try 'profalloc --help'\n", argv[1]);
    return PFA_EXIT_USAGE;
}
