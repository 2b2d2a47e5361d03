/* A program brings its own options in the string profalloc_conf; a file and the environment win over it. The program
 * shows the symbol to libraries (-rdynamic), as one linked with the library would.
 *
 * run: modes=off
 * run: modes=full
 * run: modes=off conf=prof:false
 * run: modes=off etc_conf=prof:false */
#include "trap.h"

const char *profalloc_conf = "prof:true,sample:1,large_range:64M";

int main(void)
{
    const char *conf = getenv("PROFALLOC_CONF");
    bool off = (conf != NULL && strcmp(conf, "prof:false") == 0) || access("/etc/profalloc.conf", F_OK) == 0;
    uint64_t before = counters().allocations;
    void *chunk = malloc(1000);
    fill(chunk, 1000, 1);
    CHECK(counters().allocations == before + !off);
    free(chunk);
    return 0;
}
