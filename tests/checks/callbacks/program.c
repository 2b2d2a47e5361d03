/* A program to be instrumented: each step touches `memory` in a way that is known, and says so. See callback_links.py. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char memory[4096];
void step(const char *name);
void run_steps(void);

__extension__ typedef __int128 wide_t;
typedef struct big {
    char bytes[48];
} big_t;

/* The optimiser is not to know that it is the same every time. */
static void *volatile place = memory;
static volatile size_t length;

static void plain(void)
{
    int *numbers = place;
    for (int i = 0; i < 10; i++) {
        numbers[2 * i * i] = i;
    }
    step("stores");
    for (int i = 0; i < 5; i++) {
        numbers[2 * i * i]++;
    }
    step("increments");
    big_t *structs = place;
    structs[2] = structs[0];
    step("assignment");
}

static void library(const char *text)
{
    char *bytes = place;
    memcpy(bytes, text, 8);
    step("memcpy");
    memset(bytes + 8, 0, 8);
    step("memset");
    length = strlen(bytes);
    step("strlen");
    strcpy(bytes + 100, bytes);
    step("strcpy");
    snprintf(bytes + 300, 100, "%zu", length);
    step("print");
    int ends[2];
    if (pipe(ends) == 0 && write(ends[1], bytes, 4) == 4 && read(ends[0], bytes + 200, 100) == 4) {
        step("pipe");
    }
}

#ifndef NO_ATOMICS
static void atomic(void)
{
    uint64_t *counter = place;
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    step("atomics");
    wide_t *wide = place;
    wide_t expected = -1;
    __atomic_compare_exchange_n(wide, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); /* fails, */
    __atomic_compare_exchange_n(wide, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); /* does not */
    step("wide");
}
#endif

void run_steps(void)
{
    plain();
    library("sixchar");
#ifndef NO_ATOMICS
    atomic();
#endif
}
