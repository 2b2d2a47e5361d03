/* Calls what include/profalloc.h offers, in an order that tests/exact/calls.py knows. The library is preloaded. */
#include "../../include/profalloc.h"

#include <stdlib.h>

#pragma weak profalloc_start
#pragma weak profalloc_snapshot
#pragma weak profalloc_dump
#pragma weak profalloc_tag_push
#pragma weak profalloc_tag_pop
#pragma weak mprof_stop
#pragma weak mprof_restart

static void *volatile sink;

static void must(int condition, int status)
{
    if (!condition) {
        exit(status);
    }
}

static __attribute__((noinline)) void free_inside(void *chunk)
{
    free(chunk);
    __asm__ volatile("");
}

static __attribute__((noinline)) void free_outside(void *chunk)
{
    free_inside(chunk);
    __asm__ volatile("");
}

/* `count` chunks of a size; every second one is freed, two calls deep. */
static void make(int count, size_t size)
{
    for (int i = 0; i < count; i++) {
        sink = malloc(size);
        if (i % 2 == 0) {
            free_outside(sink);
        }
    }
}

int main(void)
{
    make(10, 1001);
    must(profalloc_tag_push("outer") == 0, 2);
    make(20, 1002);
    must(profalloc_tag_push("inner") == 0, 3);
    make(30, 1003);
    profalloc_tag_pop();
    make(40, 1004);
    profalloc_tag_pop();
    profalloc_tag_pop(); /* one too many does nothing */
    make(50, 1005);
    must(profalloc_snapshot("halfway") == 0 && profalloc_dump() == 0, 4);
    sink = realloc(malloc(1006), 200000);
    mprof_stop();
    must(profalloc_snapshot("no trace") != 0, 5);
    make(60, 1007);
    mprof_restart("second.pa");
    make(70, 1008);
    return 0;
}
