/* At a limit malloc returns NULL with ENOMEM and nothing else happens: what was allocated stays whole, can be freed,
 * and gives room again. A good part of what the limit allows must be had.
 *
 * What recording reserved for small chunks cannot serve large ones and the other way round, and sampled chunks of
 * middle size take more than they need, so less is had then.
 *
 * run: modes=off limit=AS:256M arg=100
 * run: modes=off limit=AS:1G arg=600
 * run: modes=off limit=AS:3G arg=2000
 * run: modes=off limit=DATA:256M arg=100
 * run: modes=sampled,often,full limit=AS:256M arg=40 may_say="no (address space|memory) .*"
 *      may_say="the profiled range .*"
 * run: modes=sampled,often,full limit=AS:1G arg=120 may_say="no (address space|memory) .*"
 *      may_say="the profiled range .*"
 * run: modes=full limit=AS:3G arg=300 may_say="no (address space|memory) .*"
 *      may_say="the profiled range .*"
 * run: modes=sampled,often,full limit=DATA:256M arg=20 may_say="no (address space|memory) .*"
 *      may_say="the profiled range .*" */
#include "trap.h"

enum { SMALL = 60, MEDIUM = 30000, LARGE = 1 << 20 };

typedef struct link {
    struct link *next;
    unsigned char bytes[];
} link_t;

/* Takes chunks until there are no more; returns their bytes. */
static size_t take_all(size_t size, link_t **chain)
{
    size_t got = 0;
    for (link_t *link; (link = size == MEDIUM ? calloc(1, size) : malloc(size)) != NULL; got += size) {
        errno = 0;
        fill(link->bytes, 40, (unsigned)size);
        link->next = *chain;
        *chain = link;
    }
    CHECK(errno == ENOMEM, "%zu bytes", size);
    return got;
}

static void give_back(size_t size, link_t *chain)
{
    while (chain != NULL) {
        link_t *next = chain->next;
        CHECK(verify(chain->bytes, 40, (unsigned)size), "%zu bytes", size);
        free(chain);
        chain = next;
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    size_t least = strtoul(argv[1], NULL, 10) << 20;
    size_t huge = opaque_size((size_t)4 << 30);
    static const size_t sizes[] = {LARGE, SMALL, MEDIUM, LARGE};
    for (int i = 0; i < 4; i++) {
        link_t *chain = NULL;
        link_t *rest = NULL;
        size_t got = take_all(sizes[i], &chain);
        CHECK(got >= least, "only %zu MiB in chunks of %zu bytes", got >> 20, sizes[i]);
        (void)take_all(SMALL, &rest); /* now nothing at all is left */
        errno = 0;
        CHECK(realloc(chain, huge) == NULL && errno == ENOMEM);
        CHECK(calloc(1, huge) == NULL && aligned_alloc(4096, huge) == NULL);
        give_back(SMALL, rest);
        give_back(sizes[i], chain);
    }
    return 0;
}
