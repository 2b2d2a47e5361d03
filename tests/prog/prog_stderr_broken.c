/* Standard error is a pipe whose reader is gone, as with daemons whose starter has left: writing there raises SIGPIPE,
 * which the program may not expect since it writes nothing itself. We must not be the ones who end it.
 *
 * run: modes=off,full stderr=broken conf=summary:true,bogus:1 */
#include "trap.h"

#include <signal.h>

int main(void)
{
    static int global[16];
    struct sigaction action;
    sigset_t pending;
    void *chunk = malloc(1000);
    fill(chunk, 1000, 1);
    free(opaque(global));
    CHECK(counters().bad_frees == 1 && verify(chunk, 1000, 1));
    CHECK(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 0);
    free(chunk);
    return 0;
}
