/* Owns an instrumented module's view, and attaches it to the library. Part of
 * libprofalloc_access.a, which is linked into every program and shared object that profalloc-cc makes: all of it is hidden,
 * each module has its own. */
#include "hooks/access/access.h"

/* What is there until the library has filled the view. */
static void ignore(uintptr_t address, uint64_t size, uint64_t counts, pfa_access_thread_t *thread)
{
    (void)thread;
    (void)address;
    (void)size;
    (void)counts;
}

/* What an access reads of it lies in one line of the cache. */
_Alignas(PFA_CACHE_LINE) pfa_access_view_t pfa_access_view = {.cell = PFA_NO_CELL,
                                                              .rare = ignore,
                                                              .version = PFA_ACCESS_VERSION,
                                                              .size = sizeof(pfa_access_view_t),
                                                              .window = PFA_ACCESS_ANYWHERE ? 0 : PFA_WINDOW_BASE};

/* Seen by the library, which refers to it weakly. */
__attribute__((visibility("default"), weak)) const char profalloc_instrumented = 1;

/* Seen by the library in the list of modules, so that the trace has it of each. */
__attribute__((section(".note.profalloc"), used, aligned(4))) static const pfa_note_t note = {
    sizeof PFA_NOTE_NAME, sizeof(uint32_t), PFA_NOTE_INSTRUMENTED, PFA_NOTE_NAME, PFA_ACCESS_VERSION};

/* Defined by what the Clang pass compiled in any way but for the map of words. */
extern PFA_MODULE const char __profalloc_merged __attribute__((weak));

/* Before the module's other constructors, whose accesses count. */
__attribute__((constructor(101))) static void attach(void)
{
    pfa_access_view.merged = &__profalloc_merged != NULL;
    profalloc_access_attach(&pfa_access_view);
}

__attribute__((destructor(101))) static void detach(void)
{
    profalloc_access_detach(&pfa_access_view);
}
