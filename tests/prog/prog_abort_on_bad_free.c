/* With abort:true the first bad free is the last: said, then SIGABRT, also if the program ignores or blocks the signal.
 *
 * run: modes=off,full conf=abort:true expect=signal:ABRT says="free\(.*\) called at .*: a pointer that .*; aborting"
 * run: modes=full conf=abort:true arg=double expect=signal:ABRT says="free\(.*\) called at .*: double free.*; aborting"
 * run: modes=off,full conf=abort:true arg=realloc expect=signal:ABRT says="realloc\(.*\) called at .*; aborting"
 * run: modes=off conf=abort:true arg=none */
#include "trap.h"

#include <signal.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    static int global[16];
    sigset_t all;
    void *chunk = malloc(100);
    signal(SIGABRT, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    free(chunk);
    if (strcmp(how, "none") == 0) {
        return 0;
    }
    if (strcmp(how, "double") == 0) {
        free(opaque(chunk));
    } else if (strcmp(how, "realloc") == 0) {
        (void)!realloc(opaque(global), 100);
    } else {
        free(opaque(global));
    }
    CHECK(false, "still here");
}
