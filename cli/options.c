/* Owns `profalloc options`: the table of export/format/options.def for people and for programs. */
#include "cli/commands.h"
#include "cli/tool.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef enum kind { BOOL, AUTO, SIZE, TEXT } kind_t;

typedef struct option {
    const char *name;
    kind_t kind;
    uint64_t standard;
    uint64_t minimum;
    uint64_t maximum;
    const char *meaning;
    const char *text;
} option_t;

static const option_t table[] = {
#define PFA_OPTION(name, kind, standard, minimum, maximum, meaning)                                                    \
    {#name, kind, standard, minimum, maximum, meaning, NULL},
#define PFA_OPTION_TEXT(name, standard, meaning) {#name, TEXT, 0, 0, 0, meaning, standard},
#include "export/format/options.def"
};

static const char *const kind_names[] = {[BOOL] = "bool", [AUTO] = "auto", [SIZE] = "size", [TEXT] = "text"};

static const char *const switches[] = {"false", "true", "auto"};

enum { OPTION_COUNT = sizeof table / sizeof table[0] };

bool pfa_option_limits(const char *name, uint64_t *minimum, uint64_t *maximum)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(table[i].name, name) == 0 && table[i].kind == SIZE) {
            *minimum = table[i].minimum;
            *maximum = table[i].maximum;
            return true;
        }
    }
    return false;
}

static void format_value(char *buf, size_t size, const option_t *option, uint64_t value)
{
    static const char suffixes[] = "\0KMGT";
    unsigned unit = 0;
    if (option->kind == TEXT) {
        snprintf(buf, size, "%s", option->text[0] != '\0' ? option->text : "none");
        return;
    }
    if (option->kind != SIZE) {
        snprintf(buf, size, "%s", switches[value]);
        return;
    }
    for (; value != 0 && value % 1024 == 0 && unit < 4; unit++) {
        value /= 1024;
    }
    snprintf(buf, size, "%" PRIu64 "%.1s", value, &suffixes[unit]);
}

static void print_text(void)
{
    printf("%-19s %-6s %-8s %s\n", "option", "type", "default", "meaning");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        char standard[32];
        format_value(standard, sizeof standard, &table[i], table[i].standard);
        printf("%-19s %-6s %-8s %s\n", table[i].name, kind_names[table[i].kind], standard, table[i].meaning);
    }
    puts("\nSet them with PROFALLOC_CONF=key:value,key:value in the environment, in /etc/profalloc.conf, or in the\n"
         "program by `const char *profalloc_conf = \"key:value,…\"`; the first of these that sets an option wins.\n"
         "A bool is true or false, an auto is that or auto; a size is a number of bytes, K M G T allowed.\n"
         "A text has no comma.");
}

static void print_json(void)
{
    puts("[");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option_t *o = &table[i];
        printf("  {\"name\": \"%s\", \"type\": \"%s\", \"default\": ", o->name, kind_names[o->kind]);
        if (o->kind == TEXT) {
            printf("\"%s\"", o->text);
        } else if (o->kind == BOOL) {
            printf("%s", switches[o->standard]);
        } else if (o->kind == AUTO) {
            printf("\"%s\"", switches[o->standard]);
        } else {
            printf("%" PRIu64 ", \"minimum\": %" PRIu64 ", \"maximum\": %" PRIu64, o->standard, o->minimum, o->maximum);
        }
        printf(", \"meaning\": \"%s\"}%s\n", o->meaning, i + 1 < OPTION_COUNT ? "," : "");
    }
    puts("]");
}

/* The part of profalloc.conf(5) that lists them; the build puts it there. */
static void print_man(void)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        char standard[32];
        format_value(standard, sizeof standard, &table[i], table[i].standard);
        printf(".TP\n.BR %s \" (%s, default %s)\"\n%s.\n", table[i].name, kind_names[table[i].kind], standard,
               table[i].meaning);
    }
}

static void print_usage(void)
{
    puts(
        "usage: profalloc options [--json|--man]\n\n"
        "Lists the options of the library: name, type, default, meaning; with --json as an array of objects, which have the\n"
        "least and the most that is taken too.\n\n"
        "  --man      as the part of profalloc.conf(5) that lists them\n\n"
        "Exit status: 0 done, 1 the output could not be written, 2 the command line was wrong.");
}

int pfa_command_options(int argc, char **argv)
{
    static const struct {
        const char *argument;
        void (*print)(void);
    } forms[] = {{"--json", print_json}, {"--man", print_man}, {"--help", print_usage}, {"-h", print_usage}};
    void (*print)(void) = argc == 1 ? print_text : NULL;
    for (size_t i = 0; argc == 2 && i < sizeof forms / sizeof forms[0]; i++) {
        print = strcmp(argv[1], forms[i].argument) == 0 ? forms[i].print : print;
    }
    if (print == NULL) {
        pfa_tool_say("options", "'%s' is not understood; usage: profalloc options [--json|--help]", argv[argc - 1]);
        return PFA_EXIT_USAGE;
    }
    print();
    if (fflush(stdout) != 0) {
        perror("profalloc options");
        return PFA_EXIT_FAILED;
    }
    return 0;
}
