/* What stands for libprofalloc beside the instrumented program.c: counts accesses to `memory`, and prints them by step. Not
 * instrumented itself. */
#include "hooks/access/view.h"

#include <stdio.h>

extern char memory[4096];
_Alignas(64) char memory[4096];
PFA_THREAD_LOCAL pfa_access_thread_t pfa_access_thread;
static uint64_t total;
static int modules;

void step(const char *name);
void run_steps(void);

static void rare(uintptr_t address, uint64_t size, uint64_t counts, pfa_access_thread_t *thread)
{
    (void)thread;
    (void)address;
    (void)size;
    total += counts;
}

void profalloc_access_attach(pfa_access_view_t *view)
{
    view->base = (uintptr_t)memory;
    view->rare = rare;
    view->span = sizeof memory;
    modules++;
}

void profalloc_access_detach(pfa_access_view_t *view)
{
    view->span = 0;
}

void step(const char *name)
{
    printf("%s %u %u\n", name, (unsigned)(uint32_t)total, (unsigned)(total >> 32));
    total = 0;
}

int main(void)
{
    printf("modules %d 0\n", modules);
    run_steps();
    return 0;
}
