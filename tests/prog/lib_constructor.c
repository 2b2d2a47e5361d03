/* For prog_dlopen: allocates in its constructor, frees in its destructor, and has thread-local memory of its own. */
#include <stdlib.h>
#include <string.h>

static char *held[200];
static __thread char *per_thread;

__attribute__((constructor)) static void make(void)
{
    for (int i = 0; i < 200; i++) {
        held[i] = calloc(1, (size_t)i * 1000 + 1);
        held[i][i * 1000] = (char)i;
    }
}

__attribute__((destructor)) static void drop(void)
{
    for (int i = 0; i < 200; i++) {
        if (held[i][i * 1000] != (char)i) {
            abort();
        }
        free(held[i]);
    }
    free(per_thread);
}

char *hand_out(size_t size);
char *hand_out(size_t size)
{
    free(per_thread);
    per_thread = malloc(16);
    memset(per_thread, 1, 16);
    return memset(malloc(size), 0x42, size);
}
