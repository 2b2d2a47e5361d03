/* A set-uid program trusts nothing that its caller says: PROFALLOC_CONF is not read, not even to complain about it.
 * (Static, because the dynamic linker does not preload into such programs.)
 *
 * run: modes=full user=nobody setuid=yes conf=summary:true,bogus:1,strict:true arg=secure
 * run: modes=full user=nobody arg=ordinary */
#define TRAP_LINKED 1
#include "trap.h"

#include <sys/auxv.h>

int main(int argc, char **argv)
{
    bool secure = argc > 1 && strcmp(argv[1], "secure") == 0;
    CHECK((getauxval(AT_SECURE) != 0) == secure && (geteuid() != getuid()) == secure);
    void *chunk = malloc(1000);
    fill(chunk, 1000, 1);
    CHECK(getenv("PROFALLOC_CONF") != NULL && (counters().allocations == 0) == secure);
    free(chunk);
    return 0;
}
