/* Recording is switched while the program runs: chunks keep the record they have or lack, and are freed, grown and
 * counted by it, whatever the mode is by then. */
#include "trap.h"

enum { COUNT = 300 };

typedef struct batch {
    void *chunks[COUNT];
} batch_t;

static size_t size_of(unsigned i)
{
    return i % 10 == 0 ? 140000 + 1000 * i : 10 * i;
}

static void make(batch_t *batch)
{
    for (unsigned i = 0; i < COUNT; i++) {
        batch->chunks[i] = malloc(size_of(i));
        fill(batch->chunks[i], size_of(i), i);
    }
}

static void drop(batch_t *batch, bool grow)
{
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(verify(batch->chunks[i], size_of(i), i));
        if (grow) {
            batch->chunks[i] = realloc(batch->chunks[i], 2 * size_of(i) + 1);
            CHECK(verify(batch->chunks[i], size_of(i), i));
        }
        free(batch->chunks[i]);
    }
}

int main(void)
{
    static batch_t plain, recorded, growing, later;
    int (*start)(size_t) = LIBRARY_CALL(profalloc_start);
    void (*stop)(void) = LIBRARY_CALL(profalloc_stop);
    stop();
    uint64_t before = counters().allocations;
    make(&plain);
    make(&growing);
    CHECK(counters().allocations == before, "recorded while stopped");
    CHECK(start(1) == 0);
    make(&recorded);
    CHECK(counters().allocations == before + COUNT);
    uint64_t frees = counters().frees;
    drop(&plain, false); /* made before: no record to end */
    CHECK(counters().frees == frees);
    drop(&growing, true); /* the chunk after realloc is a new one */
    CHECK(counters().allocations == before + 2 * COUNT && counters().frees == frees + COUNT);
    stop();
    make(&later);
    CHECK(counters().allocations == before + 2 * COUNT);
    drop(&recorded, true);
    CHECK(counters().frees == frees + 2 * COUNT && counters().allocations == before + 2 * COUNT);
    CHECK(start(1) == 0);
    drop(&later, false);
    CHECK(counters().frees == frees + 2 * COUNT);
    CHECK(counters().bad_frees == 0 && counters().unrecorded == 0);
    return 0;
}
