/* The library takes as much address space as it needs, and reserves none ahead: emulators pay for each page of it, and what is
 * mapped counts against the limit that a program sets for itself. */
#include "trap.h"

#include <stdio.h>

#define MIB ((size_t)1 << 20)

static size_t mapped(void)
{
    char line[512];
    size_t sum = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long start;
        unsigned long end;
        CHECK(sscanf(line, "%lx-%lx", &start, &end) == 2);
        sum += end - start;
    }
    CHECK(fclose(maps) == 0);
    return sum;
}

int main(void)
{
    void *volatile small = malloc(100);
    void *volatile large = malloc(1000000);
    /* Tables and buffers for recording, a segment for each kind of heap, and the program itself. */
    CHECK(mapped() <= 512 * MIB, "%zu MiB are mapped", mapped() / MIB);
    free(small);
    free(large);
    return 0;
}
