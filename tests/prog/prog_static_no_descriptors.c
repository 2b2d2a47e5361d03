/* Started with no descriptor at all to be had: options come from the environment, nothing is opened, nothing is missed.
 *
 * run: limit=NOFILE:0 */
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
