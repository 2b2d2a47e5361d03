/* Owns the way to a C++ runtime that a program without one loaded later. Not in the static library: dlopen does not belong
 * there. Only called when memory has run out. */
#define _GNU_SOURCE 1
#include "base/compiler.h"

#include <dlfcn.h>
#include <stddef.h>

void *pfa_new_late(const char *name);

void *pfa_new_late(const char *name)
{
    static const char *const runtimes[] = {"libstdc++.so.6", "libc++.so.1"};
    for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++) {
        void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
        void *function = runtime != NULL ? dlsym(runtime, name) : NULL;
        if (function != NULL) {
            return function;
        }
    }
    return NULL;
}
