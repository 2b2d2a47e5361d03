/* Started with no descriptor at all to be had: options come from the environment, there is no trace, and nothing else is
 * missed.
 *
 * run: modes=off limit=NOFILE:0
 * run: modes=sampled,often,full limit=NOFILE:0 says="no trace can be written to .*too many open files.*" */
#define TRAP_LINKED 1
#include "trap.h"

#include <fcntl.h>

int main(void)
{
    CHECK(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
    for (unsigned i = 0; i < 200; i++) {
        void *chunk = realloc(malloc(1000 * i), 2000 * i + 1);
        fill(chunk, 2000 * i, i);
        CHECK(verify(chunk, 2000 * i, i));
        free(chunk);
    }
    CHECK(!mode_is("full") || counters().allocations >= 400);
    return 0;
}
