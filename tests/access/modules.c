/* Loads every module that it is given, keeps them all, and has each of them touch a chunk: then once more, in a thread that is born
 * when they are all there. Prints what was done as known.h has it; chunks are FIRST bytes and one more for each. */
#include "known.h"

#include <dlfcn.h>
#include <pthread.h>

enum { FIRST = 10000, MOST = 1000 };

static int count;
static void (*touch[MOST])(char *);

static void touch_all(size_t first)
{
    for (int i = 0; i < count; i++) {
        size_t size = first + (size_t)i;
        char *chunk = (char *)hide(malloc(size));
        touch[i](chunk);
        free(chunk);
        expect("in a module", size, 1, 1, 100, 200, 0);
    }
}

static void *run(void *first)
{
    touch_all(*(size_t *)first);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t first = FIRST + MOST;
    pthread_t thread;
    for (int i = 1; i < argc; i++) {
        void *module = dlopen(argv[i], RTLD_NOW);
        union {
            void *symbol;
            void (*function)(char *);
        } found = {module != NULL ? dlsym(module, "touch_in_plugin") : NULL};
        if (count == MOST || found.symbol == NULL) {
            fprintf(stderr, "module %d: %s\n", i, dlerror());
            return 1;
        }
        touch[count++] = found.function;
    }
    touch_all(FIRST);
    if (pthread_create(&thread, NULL, run, &first) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    return 0;
}
