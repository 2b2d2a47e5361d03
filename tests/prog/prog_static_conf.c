/* profalloc_conf of a static program, and what wins over it; bad frees are told apart there too.
 *
 * run: modes=off says="free\(0x[0-9a-f]+\) called at .*: a pointer .*"
 * run: modes=off conf=prof:false says="free\(0x[0-9a-f]+\) called at .*: a pointer .*" */
#define TRAP_LINKED 1
#include "trap.h"

const char *profalloc_conf = "prof:true,sample:1";

int main(void)
{
    static int global[4];
    void *chunk = malloc(1000);
    fill(chunk, 1000, 1);
    CHECK((counters().allocations > 0) == (getenv("PROFALLOC_CONF") == NULL));
    free(opaque(global));
    CHECK(counters().bad_frees == 1 && verify(chunk, 1000, 1));
    free(chunk);
    return 0;
}
