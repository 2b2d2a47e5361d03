/* The program's .preinit_array runs before all constructors, ours included. What is allocated there is used in
 * constructors, in main and in destructors, which run after ours. */
#include "trap.h"

static void *early[100];

static void allocate_early(void)
{
    for (unsigned i = 0; i < 100; i++) {
        early[i] = i % 2 == 0 ? malloc(3000 * i) : realloc(calloc(1, i), 3000 * i);
        fill(early[i], 3000 * i, i);
    }
    free(early[0]);
    early[0] = malloc(1);
}

__attribute__((section(".preinit_array"), used)) static void (*first)(void) = allocate_early;

static void check_some(unsigned from)
{
    for (unsigned i = from; i < 100; i += 3) {
        CHECK(verify(early[i], 3000 * i, i));
        free(early[i]);
    }
}

__attribute__((constructor)) static void in_constructor(void)
{
    check_some(1);
}

__attribute__((destructor)) static void in_destructor(void)
{
    check_some(3);
    free(early[0]);
}

int main(void)
{
    check_some(2);
    profalloc_counters_t before = counters();
    free(malloc(100)); /* by now the options have been read */
    profalloc_counters_t after = counters();
    CHECK(!mode_is("full") || (after.allocations == before.allocations + 1 && after.frees == before.frees + 1));
    CHECK(after.bad_frees == 0);
    return 0;
}
