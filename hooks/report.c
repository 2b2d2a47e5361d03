/* Owns the reports on what the program did wrong: one line per place, a count of all. Rare, so it may take a lock. */
#define _GNU_SOURCE 1
#include "base/lock.h"
#include "base/message.h"
#include "base/options.h"
#include "base/sys.h"
#include "hooks/hooks.h"
#include "meta/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

enum { PLACES_MAX = 256 };

static const void *places[PLACES_MAX];
static unsigned place_count;

static bool is_new_place(const void *caller)
{
    bool fresh = true;
    pfa_lock(PFA_LOCK_REPORTS);
    for (unsigned i = 0; i < place_count && fresh; i++) {
        fresh = places[i] != caller;
    }
    fresh = fresh && place_count < PLACES_MAX;
    if (fresh) {
        places[place_count++] = caller;
    }
    pfa_unlock(PFA_LOCK_REPORTS);
    return fresh;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Where the call came from, as module+offset where the loader knows the module. Takes no lock of the loader's. */
static void describe_place(pfa_text_t *text, const void *caller)
{
    struct dl_find_object object;
    if (caller == NULL || _dl_find_object((void *)(uintptr_t)caller, &object) != 0) {
        pfa_text_add(text, "%p", caller);
        return;
    }
    const char *name = object.dlfo_link_map->l_name;
    pfa_text_add(text, "%s+0x%lx", name[0] != '\0' ? last_part(name) : program_invocation_short_name,
                 (unsigned long)((uintptr_t)caller - object.dlfo_link_map->l_addr));
}

void pfa_report_bad(const char *call, const char *what, const void *chunk, const pfa_finding_t *finding,
                    const void *caller)
{
    pfa_count_bad_free(&pfa_tls);
    if (is_new_place(caller)) {
        char place[256] = "";
        char known[256] = "";
        pfa_text_t where = {place, sizeof place, 0};
        pfa_text_t about = {known, sizeof known, 0};
        describe_place(&where, caller);
        if (finding->start != 0) {
            pfa_text_add(&about, ", %lu bytes into a chunk of %lu bytes allocated by thread %u",
                         (unsigned long)((uintptr_t)chunk - finding->start),
                         (unsigned long)pfa_size_of(finding->size_flags), finding->thread);
        }
        pfa_say("%s(%p) called at %s: %s%s; %s", call, chunk, place, what, known,
                pfa_options.abort != 0 ? "aborting" : "ignored");
    }
    if (pfa_options.abort != 0) {
        pfa_sys_abort();
    }
}
