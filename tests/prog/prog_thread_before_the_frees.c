/* A program that makes many chunks and then frees them all has the background thread by then, if there is a trace: a free does
 * not make it, and would have to write the trace itself.
 *
 * run: modes=full */
#include "trap.h"

enum { COUNT = 200000 };

static void *chunks[COUNT];

int main(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        chunks[i] = malloc(32);
        CHECK(chunks[i] != NULL);
    }
    CHECK(status_figure("Threads") == 2, "the background thread is not there");
    for (unsigned i = 0; i < COUNT; i++) {
        free(chunks[i]);
    }
    return 0;
}
