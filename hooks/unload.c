/* Owns dlclose: what it unloads is gone from the addresses that stacks are made of, and what comes next may mean other code
 * by the same ones. The real dlclose does all else. In the shared library only: a static program has none to speak of. */
#define _GNU_SOURCE 1
#include "base/compiler.h"
#include "export/loader.h"
#include "export/session.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

/* An address in the module, to be asked for later; NULL where the list of modules can be read, and tells that by itself. */
static void *remember(void *handle)
{
    struct link_map *module = NULL;
    if (handle == NULL || !pfa_session_is_open() || pfa_loader_is_readable() ||
        dlinfo(handle, RTLD_DI_LINKMAP, &module) != 0) {
        return NULL;
    }
    return (void *)module->l_ld;
}

PFA_EXPORT int dlclose(void *handle);
PFA_EXPORT int dlclose(void *handle)
{
    static int (*real)(void *);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "dlclose");
    }
    if (real == NULL) {
        return -1;
    }
    struct dl_find_object found;
    void *in_module = remember(handle);
    pfa_session_modules(); /* what is loaded now, before it is not */
    int result = real(handle);
    if (in_module != NULL && _dl_find_object(in_module, &found) != 0) {
        pfa_session_unloaded();
    } else {
        pfa_session_modules();
    }
    return result;
}
