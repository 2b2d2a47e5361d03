/* What profalloc_start says: ENOMEM where there is no room for records, ENOSPC when more rates were used than can be
 * told apart. Either way the program goes on.
 *
 * run: modes=off arg=rates
 * run: modes=off arg=room limit=AS:64M */
#include "trap.h"

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    int (*start)(size_t) = LIBRARY_CALL(profalloc_start);
    void *before = malloc(1000);
    fill(before, 1000, 1);
    if (strcmp(argv[1], "room") == 0) {
        CHECK(start(1) == ENOMEM);
        CHECK(start(0) == ENOMEM);
    } else {
        for (size_t rate = 2; rate < 2 + 63; rate++) {
            CHECK(start(rate * 1000) == 0, "rate number %zu", rate - 1);
        }
        CHECK(start(999999) == ENOSPC);
        CHECK(start(5000) == 0 && start(1) == 0, "one that was used before");
    }
    for (unsigned i = 0; i < 300; i++) {
        void *chunk = malloc(1000 * i);
        fill(chunk, 1000 * i, i);
        CHECK(verify(chunk, 1000 * i, i));
        free(chunk);
    }
    CHECK(verify(before, 1000, 1));
    free(before);
    LIBRARY_CALL(profalloc_stop)();
    return 0;
}
