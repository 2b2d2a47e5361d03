/* Owns `profalloc seal`: its command line. */
#include "analyze/trace/seal.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/tool.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc seal FILE...\n\n"
    "Ends traces whose process was killed: puts into each what is only in the live table beside it\n"
    "(FILE.live), and removes that. A trace of a process that goes on is left alone.\n\n"
    "Exit status: 0 all have their end, 1 one could not be ended, 2 one is no trace.\n";

int pfa_command_seal(int argc, char **argv)
{
    int status = 0;
    int first = pfa_tool_files(argc, argv, usage, &status);
    for (int i = first; first != 0 && i < argc; i++) {
        char *why;
        pfa_sealed_t how = pfa_seal(argv[i], &pfa_cli_watch, &why);
        if (why != NULL) {
            pfa_tool_say("seal", "%s", why);
        }
        if (how == PFA_SEAL_NO_TRACE) {
            status = PFA_EXIT_USAGE;
        } else if (how != PFA_SEALED && how != PFA_SEALED_BEFORE && status == 0) {
            status = PFA_EXIT_FAILED;
        } else if (why == NULL) {
            pfa_text_clean(argv[i], strlen(argv[i]));
            printf("%s: %s\n", argv[i], how == PFA_SEALED ? "sealed" : "has its end already");
        }
        pfa_memory_free(why);
    }
    return pfa_tool_finish("seal", status);
}
