/* Under a limit on address space, records with room for accesses need more of it than those without: just above the least
 * of each it records, just below it does not and says so.
 *
 * run: modes=full limit=AS:600M arg=nothing says="no address space .*"
 * run: modes=full limit=AS:700M arg=recorded
 * run: modes=full conf=accesses:true limit=AS:700M arg=nothing says="no address space .*"
 * run: modes=full conf=accesses:true limit=AS:1000M arg=recorded */
#include "trap.h"

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    void *chunk = malloc(100);
    CHECK(chunk != NULL);
    bool recorded = counters().allocations > 0;
    CHECK(recorded == (strcmp(argv[1], "recorded") == 0), "%lu allocations", (unsigned long)counters().allocations);
    free(chunk);
    return 0;
}
