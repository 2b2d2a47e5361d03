/* profalloc-cc, profalloc-c++: becomes the compiler underneath, with what access profiling needs added. */
#include "hooks/cc/cc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: profalloc-cc  ARGUMENTS OF THE C COMPILER...\n"
    "       profalloc-c++ ARGUMENTS OF THE C++ COMPILER...\n"
    "\n"
    "Calls gcc or clang so that the program's accesses to the heap can be profiled:\n"
    "\n"
    "  CC=profalloc-cc CXX=profalloc-c++ ./configure && make\n"
    "  cmake -B build -DCMAKE_C_COMPILER=profalloc-cc -DCMAKE_CXX_COMPILER=profalloc-c++\n"
    "  profalloc run -- ./program\n"
    "\n"
    "Options of its own, all others are the compiler's:\n"
    "  --profalloc-help   this text\n"
    "  --profalloc-show   print the command it would run, and do not run it\n"
    "\n"
    "Environment:\n"
    "  PROFALLOC_CC       the C compiler underneath, such as clang-16 or \"ccache gcc\"; default: gcc, cc or clang\n"
    "  PROFALLOC_CXX      the C++ compiler; default: the one that belongs to PROFALLOC_CC, or g++, c++ or clang++\n"
    "  PROFALLOC_WINDOW   any: callbacks that look wherever the profiled range is, for machines with 39 bits of address\n"
    "                     and programs that use addresses from 0x300000000000 on themselves; fixed (default): faster\n"
    "  PROFALLOC_PASS     with clang: auto uses the pass plugin if there is one for that clang (default), on insists on\n"
    "                     it, map makes it keep apart what the per-word access map tells apart, off goes without\n"
    "  PROFALLOC_LIBDIR   the folder of libprofalloc.so; default: found from the place of profalloc-cc\n"
    "\n"
    "profalloc-cc(1) tells more.\n";

/* So that a shell would read it as the same word. */
static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%^";
    if (word[0] != 0 && word[strspn(word, plain)] == 0) {
        fputs(word, stdout);
        return;
    }
    putchar('\'');
    for (; *word != 0; word++) {
        if (*word == '\'') {
            fputs("'\\''", stdout);
        } else {
            putchar(*word);
        }
    }
    putchar('\'');
}

static int print_command(const pfa_words_t *command)
{
    for (size_t i = 0; i < command->count; i++) {
        if (i != 0) {
            putchar(' ');
        }
        print_word(command->at[i]);
    }
    putchar('\n');
    return fflush(stdout) != 0 || ferror(stdout) != 0;
}

/* Ours around the user's. */
static void make_command(pfa_words_t *command, const pfa_request_t *request, const pfa_under_t *under,
                         const pfa_additions_t *add)
{
    pfa_words_add_all(command, &under->command);
    pfa_words_add_all(command, &add->before);
    for (size_t i = 0; i < request->given.count; i++) {
        if (i == request->options_end) {
            pfa_words_add_all(command, &add->behind);
        }
        pfa_words_add(command, request->given.at[i]);
    }
    if (request->options_end == request->given.count) {
        pfa_words_add_all(command, &add->behind);
    }
}

static bool concerns_us(const pfa_request_t *request)
{
    return (request->step == PFA_STEP_PREPROCESS && request->compiles) ||
           (request->step == PFA_STEP_COMPILE && request->compiles) || request->step == PFA_STEP_LINK;
}

int main(int argc, char **argv)
{
    pfa_request_t request;
    pfa_under_t under;
    pfa_additions_t add = {0};
    pfa_words_t command = {0};
    if (argc > 0) {
        const char *base = strrchr(argv[0], '/');
        pfa_cc_name = base == NULL ? argv[0] : base + 1;
    }
    pfa_request_read(&request, argc, argv);
    if (request.help) {
        fputs(help, stdout);
        return fflush(stdout) != 0;
    }
    pfa_under_find(&under, request.cxx);
    if (request.step != PFA_STEP_NONE) {
        pfa_compile_check_wish();
    }
    if (concerns_us(&request)) {
        pfa_place_t place;
        if (request.conflict != NULL && request.step != PFA_STEP_PREPROCESS) {
            pfa_cc_fail("-fsanitize=%s and access profiling exclude each other: leave the one away, or call %s itself",
                        request.conflict, under.command.at[0]);
        }
        pfa_under_probe(&under);
        pfa_place_find(&place);
        pfa_compile_add(&add, &request, &under, &place);
        pfa_link_add(&add, &request, &under, &place);
    }
    make_command(&command, &request, &under, &add);
    if (request.show) {
        return print_command(&command);
    }
    execv(command.at[0], command.at);
    pfa_cc_fail("%s cannot be run: %s%s", command.at[0], strerror(errno),
                errno == E2BIG ? "; put the arguments into a response file (@FILE)" : "");
}
