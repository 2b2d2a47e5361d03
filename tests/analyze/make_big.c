/* Owns traces of many chunks, made as they are written. See tests/analyze/make_trace.h. */
#include "tests/analyze/make_trace.h"

#include <inttypes.h>

enum { LIFE_MAX = 1 << 16 };

/* The truth of a big one, told as it is made: deaths of a step come before its birth. */
typedef struct truth {
    uint64_t dying[LIFE_MAX]; /* bytes, by the step they die at */
    uint64_t live;
    uint64_t peak;
    uint64_t bytes;
    uint64_t bytes_alive;
    uint64_t reads;
} truth_t;

static void count_truth(truth_t *truth, uint64_t step, uint64_t size, uint64_t life)
{
    truth->live -= truth->dying[step % LIFE_MAX];
    truth->dying[step % LIFE_MAX] = 0;
    truth->live += size;
    truth->bytes += size;
    truth->bytes_alive += life == 0 ? size : 0;
    truth->dying[(step + life) % LIFE_MAX] += life != 0 ? size : 0;
    truth->peak = truth->live > truth->peak ? truth->live : truth->peak;
}

/* A birth every ten ticks, random sizes and lives; one stretch lives longer and makes the peak. */
void make_big(made_t *made, heap_t *heap, uint64_t chunks, uint64_t seed)
{
    char word[] = "bare";
    char *bare[] = {word, NULL};
    life_t *alive = calloc(chunks / 50000 + 1, sizeof *alive);
    truth_t *truth = calloc(1, sizeof *truth);
    size_t alive_count = 0;
    uint64_t number = 0;
    must(alive != NULL && truth != NULL);
    pfa_batch_begin(made->batch, 0, made->form);
    for (uint64_t i = 0; i < chunks; i++) {
        uint64_t random = random_next(&seed);
        bool longer = i > chunks / 2 && i < chunks / 2 + 20000;
        bool stays = i % 50000 == 49999;
        uint64_t life = (longer ? 30000 : 1) + (random >> 32) % 2000;
        uint64_t size = made->wide ? 1 + random % (64 << 20) : 16 * (1 + random % 256);
        pfa_event_t event = {.alloc_time = heap->start + 10 * i,
                             .free_time = heap->start + 10 * (i + life),
                             .size_flags = size << PFA_RECORD_SIZE_SHIFT,
                             .stack = (uint32_t)(PFA_NODE_FIRST + (random >> 16) % STACKS),
                             .thread = 1,
                             .free_thread = 1};
        pfa_event_accesses_t accesses = {.first = event.alloc_time, .last = event.free_time, .length = (uint32_t)size};
        accesses.length /= 1 + (uint32_t)random % 2;
        accesses.reads = made->instrumented ? (uint32_t)(random >> 8) % 100 : 0;
        accesses.writes = (uint32_t)size / 8;
        truth->reads += accesses.reads;
        count_truth(truth, i, size, stays ? 0 : life);
        if (stays) {
            alive[alive_count++] = (life_t){.event = event, .accesses = accesses};
            continue;
        }
        if (made->batch->head.rows == PFA_BATCH_ROWS) {
            flush_events(made, event.free_time, 0);
        }
        if (made->batch->head.rows == 0) {
            must(pfa_batch_segment(made->batch, 0, number));
        }
        must(pfa_batch_add(made->batch, &event, &accesses, 0));
        number++;
    }
    heap->end = heap->start + 10 * (chunks + LIFE_MAX);
    flush_events(made, heap->end, 0);
    write_picture(made, alive, alive_count, heap->end, PFA_LIVE_FINAL);
    write_totals(made, heap, bare);
    pfa_tracefile_end(&made->writer, PFA_END_EXIT, heap->end);
    printf("%" PRIu64 " %" PRIu64 " %zu %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", chunks, truth->bytes, alive_count,
           truth->bytes_alive, truth->peak, truth->reads);
    free(alive);
    free(truth);
}
