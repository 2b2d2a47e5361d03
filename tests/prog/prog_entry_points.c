/* Every entry point must be ours: a chunk from another malloc given to our free, or the other way round, is a crash.
 * Each is looked up as the dynamic linker does, and called. */
#include "trap.h"

typedef enum kind {
    ALLOC,
    CALLOC,
    REALLOC,
    FREE,
    FREE_SIZED,
    FREE_ALIGNED_SIZED,
    ALIGNED,
    POSIX_MEMALIGN,
    USABLE,
    OTHER,
    NEW_NOTHROW,
    NEW_ALIGNED,
    NEW_ALIGNED_NOTHROW
} kind_t;

static const struct {
    const char *name;
    kind_t kind;
} entries[] = {
#define PFA_ENTRY(symbol, kind) {#symbol, kind},
#include "../../hooks/entry_points.def"
#undef PFA_ENTRY
};

enum { SIZE = 200, ALIGN = 64 };

/* What the entry point makes, or NULL for one that makes nothing. */
static void *allocate(void *entry, kind_t kind)
{
    void *chunk = NULL;
    switch (kind) {
    case ALLOC:
        return ((void *(*)(size_t))entry)(SIZE);
    case CALLOC:
        return ((void *(*)(size_t, size_t))entry)(SIZE / 8, 8);
    case REALLOC:
        return ((void *(*)(void *, size_t))entry)(malloc(1), SIZE);
    case ALIGNED:
        return ((void *(*)(size_t, size_t))entry)(ALIGN, SIZE);
    case POSIX_MEMALIGN:
        CHECK(((int (*)(void **, size_t, size_t))entry)(&chunk, ALIGN, SIZE) == 0);
        return chunk;
    case NEW_NOTHROW:
        return ((void *(*)(size_t, const void *))entry)(SIZE, "");
    case NEW_ALIGNED:
        return ((void *(*)(size_t, size_t))entry)(SIZE, ALIGN);
    case NEW_ALIGNED_NOTHROW:
        return ((void *(*)(size_t, size_t, const void *))entry)(SIZE, ALIGN, "");
    default:
        return NULL;
    }
}

/* Whatever else the entry points that free take does not matter to them. */
static void use(void *entry, kind_t kind)
{
    void *chunk = malloc(SIZE);
    CHECK(chunk != NULL);
    if (kind == FREE || kind == FREE_SIZED || kind == FREE_ALIGNED_SIZED) {
        ((void (*)(void *, size_t, size_t))entry)(chunk, ALIGN, SIZE);
        ((void (*)(void *, size_t, size_t))entry)(NULL, ALIGN, SIZE);
        return;
    }
    if (kind == USABLE) {
        CHECK(((size_t(*)(void *))entry)(chunk) >= SIZE);
    }
    free(chunk);
}

int main(void)
{
    Dl_info ours;
    CHECK(dladdr(library_symbol("profalloc_version"), &ours) != 0);
    CHECK(strstr(ours.dli_fname, "libprofalloc") != NULL);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        Dl_info info;
        void *entry = dlsym(RTLD_DEFAULT, entries[i].name);
        CHECK(entry != NULL, "%s", entries[i].name);
        CHECK(dladdr(entry, &info) != 0 && info.dli_fbase == ours.dli_fbase, "%s is in %s", entries[i].name,
              info.dli_fname);
        profalloc_counters_t before = counters();
        void *chunk = allocate(entry, entries[i].kind);
        if (chunk == NULL) {
            use(entry, entries[i].kind);
        } else {
            fill(chunk, SIZE, 1);
            CHECK(verify(chunk, SIZE, 1) && malloc_usable_size(chunk) >= SIZE, "%s", entries[i].name);
            free(chunk);
        }
        profalloc_counters_t after = counters();
        CHECK(after.live_chunks == before.live_chunks, "%s", entries[i].name);
        CHECK(!mode_is("full") || entries[i].kind == OTHER || after.allocations > before.allocations, "%s",
              entries[i].name);
    }
    return 0;
}
