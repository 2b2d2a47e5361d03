/* Owns heaps that a test describes on standard input, chunk by chunk, in place of random ones: what is told of times can then be known
 * beforehand. See tests/analyze/make_trace.h.
 *
 * The first line is the length of the run, each other one a chunk:
 *     THREAD BORN DIED SIZE STACK FREE_STACK [READS WRITES FIRST LAST]
 * Times are ticks since the start; DIED 0: alive at the end. Of the accesses, FIRST and LAST are from the birth on; all of the chunk is
 * touched, or with 0 reads and writes nothing. With the word "sampled" all of them are samples. */
#include "tests/analyze/make_trace.h"

#include <inttypes.h>

static life_t read_life(const made_t *made, const char *line, uint64_t start)
{
    unsigned thread;
    uint64_t born;
    uint64_t died;
    uint64_t size;
    life_t life = {.ring = 0};
    pfa_event_accesses_t *accesses = &life.accesses;
    int words = sscanf(line,
                       "%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64
                       " %" SCNu64,
                       &thread, &born, &died, &size, &life.event.stack, &life.event.free_stack, &accesses->reads,
                       &accesses->writes, &accesses->first, &accesses->last);
    must((words == 6 || words == 10) && thread >= 1 && thread <= RINGS && (died == 0 || died > born));
    life.event.alloc_time = start + born;
    life.event.size_flags = size << PFA_RECORD_SIZE_SHIFT;
    life.event.size_flags |= made->sampled ? (uint64_t)CLASS << PFA_RECORD_WEIGHT_SHIFT : 0;
    life.event.thread = (uint16_t)thread;
    if (died != 0) {
        life.event.free_time = start + died;
        life.event.free_thread = (uint16_t)thread;
        life.ring = thread - 1;
    }
    if (accesses->reads + accesses->writes != 0) {
        accesses->first += life.event.alloc_time;
        accesses->last += life.event.alloc_time;
        accesses->length = (uint32_t)size;
        life.event.last_thread = (uint16_t)thread;
    }
    return life;
}

void read_heap(const made_t *made, heap_t *heap, size_t chunks)
{
    char line[512];
    uint64_t length;
    must(fgets(line, sizeof line, stdin) != NULL && sscanf(line, "%" SCNu64, &length) == 1);
    heap->end = heap->start + length;
    for (size_t i = 0; i < chunks; i++) {
        must(fgets(line, sizeof line, stdin) != NULL);
        life_t life = read_life(made, line, heap->start);
        if (life.event.free_time != 0) {
            heap->deaths[heap->death_count++] = life;
        } else {
            heap->lives[heap->live_count++] = life;
        }
    }
}
