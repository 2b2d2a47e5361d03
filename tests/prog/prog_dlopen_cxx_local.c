/* A C program has no C++ runtime when we start. One that comes later with a library opened RTLD_LOCAL is out of our
 * symbols' sight; its bad_alloc must be thrown all the same. */
#include "trap.h"

#include <limits.h>

int main(void)
{
    char path[PATH_MAX];
    CHECK(dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv") == NULL, "this program was linked with a C++ runtime");
    snprintf(path, sizeof path, "%s/lib_cxx_throws.so", getenv("TRAP_DIR"));
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL, "%s", dlerror());
        int (*use)(size_t) = (int (*)(size_t))dlsym(library, "use_cxx");
        CHECK(use != NULL);
        int result = use(opaque_size((size_t)1 << 60));
        CHECK(result == 0, "result %d", result);
        dlclose(library);
    }
    return 0;
}
