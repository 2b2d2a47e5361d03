/* Owns `profalloc mprof`: its command line. */
#include "analyze/mprof/mprof.h"
#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/tool.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc mprof [OPTION]... FILE...\n\n"
    "Prints the four tables of mprof (Zorn and Hilfinger, 1988): call chains whose chunks were not all freed; sizes of chunks,\n"
    "with the types of the program that are of that size; functions that allocate; and the call graph of what functions\n"
    "allocated with all that they called. Sizes are small (s, up to 32 bytes), medium (m, 256), large (l, 2048), and\n"
    "extra large (x). profalloc(1) tells what each column means.\n\n"
    "  -verbose           list every size and every path\n"
    "  -normal            list those that are more than 0.5 percent of the whole; the default\n"
    "  -terse             list those that are more than 1 percent\n"
    "  -leaktable         print the table of leaks; the default\n"
    "  -noleaktable       do not\n"
    "  -offsets           tell call sites within a function apart in the table of leaks: function+n, where n is the distance\n"
    "                     in bytes of the return address from the function's start\n"
    "  --top N            show at most N rows of the tables of leaks and functions, and N entries of the call graph\n"
    "  --sort WHAT        the order of all tables: by bytes kept, bytes, count (allocations) or name (of sizes: the size). The paper's\n"
    "                     if it is not given: leaks by bytes kept, bins by size, the rest by bytes. The call graph does not know\n"
    "                     what was kept: it is by bytes then\n"
    "  --by KEY           rows of the tables of leaks and direct allocation are stacks, functions, files, modules, sizes, threads or\n"
    "                     tags, in place of paths and functions. Bins are by size and the call graph by function all the same\n" PFA_REQUEST_WHERE_USAGE
    "  --json             for programs: all sizes and paths, in bytes and counts; docs/mprof.md tells what it means\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 the command line was wrong or a file is no trace.\n";

static const struct option own[] = {{"verbose", no_argument, NULL, 'v'},
                                    {"normal", no_argument, NULL, 'n'},
                                    {"terse", no_argument, NULL, 't'},
                                    {"leaktable", no_argument, NULL, 'l'},
                                    {"noleaktable", no_argument, NULL, 'x'},
                                    {"offsets", no_argument, NULL, 'o'},
                                    {NULL, 0, NULL, 0}};

static bool take_option(void *to, int option, const char *value)
{
    pfa_mprof_options_t *options = to;
    (void)value;
    switch (option) {
    case 'v':
        options->verbosity = PFA_VERBOSE;
        break;
    case 'n':
        options->verbosity = PFA_NORMAL;
        break;
    case 't':
        options->verbosity = PFA_TERSE;
        break;
    default:
        options->leak_table = option != 'x';
        options->offsets = option == 'o';
        break;
    }
    return true;
}

/* The paper's options have one dash; its manual page calls the last one both -offsets and -offset. */
static void double_dashes(int argc, char **argv)
{
    static char words[][16] = {"--verbose",     "--normal",  "--terse", "--leaktable",
                               "--noleaktable", "--offsets", "--offset"};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        for (size_t j = 0; j < sizeof words / sizeof words[0]; j++) {
            argv[i] = strcmp(argv[i], words[j] + 1) == 0 ? words[j] : argv[i];
        }
    }
}

static bool take_sort(pfa_mprof_options_t *options, const char *word)
{
    static const pfa_choice_t sorts[] = {
#define PFA_MPROF_ORDER(id, name, meaning) {name, meaning},
#include "analyze/mprof/orders.def"
#undef PFA_MPROF_ORDER
    };
    int found = pfa_choice_find("mprof", "--sort", sorts, sizeof sorts / sizeof sorts[0], word);
    options->sort = (pfa_sort_t)found;
    return found >= 0;
}

/* What the shared options mean for the tables. */
static bool take_request(const pfa_request_t *request, pfa_mprof_options_t *options)
{
    options->top = request->top != 0 ? request->top : SIZE_MAX;
    if (options->offsets && request->key != NULL) {
        pfa_tool_say("mprof", "-offsets tells call sites of paths apart: with --by there are none");
        return false;
    }
    return request->sort == NULL || take_sort(options, request->sort);
}

int pfa_command_mprof(int argc, char **argv)
{
    pfa_mprof_options_t options = {.verbosity = PFA_NORMAL, .leak_table = true, .sort = PFA_SORT_PAPER};
    pfa_request_t request = {.command = "mprof", .usage = usage};
    double_dashes(argc, argv);
    int status = pfa_request_read(&request, argc, argv, own, take_option, &options);
    if (status < 0 && !take_request(&request, &options)) {
        status = PFA_EXIT_USAGE;
    }
    status = status < 0 ? pfa_request_open(&request) : status;
    if (status < 0) {
        pfa_mprof_t *mprof;
        int error = pfa_mprof_collect(request.session, request.question, &options, &mprof);
        if (error == 0) {
            error = request.json ? pfa_mprof_json(mprof, stdout) : pfa_mprof_text(mprof, stdout);
            status = pfa_request_end(&request, &mprof->answer, error);
        } else {
            status = pfa_request_fail(&request, error);
        }
        pfa_answer_free(mprof);
    }
    return pfa_request_finish(&request, status);
}
