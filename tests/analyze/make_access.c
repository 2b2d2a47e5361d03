/* Owns what is done with the chunks of made traces: random accesses, and maps of them by a rule that tests know. See
 * tests/analyze/make_trace.h. */
#include "tests/analyze/make_trace.h"

#include <inttypes.h>

/* Times between which a chunk can be touched; the first access is told in steps of 16. */
static void make_times(uint64_t *random, const life_t *life, uint64_t end, pfa_event_accesses_t *accesses)
{
    uint64_t born = life->event.alloc_time;
    uint64_t died = life->event.free_time != 0 ? life->event.free_time : end;
    accesses->first = born + random_below(random, (died - born) / 16 + 1) * 16;
    accesses->last = accesses->first + random_below(random, died - accesses->first + 1);
}

static void touch(uint64_t *random, life_t *life, uint64_t end, unsigned bits)
{
    uint64_t size = life->event.size_flags >> PFA_RECORD_SIZE_SHIFT;
    uint64_t how = random_below(random, 8);
    uint32_t full = UINT32_MAX >> (32 - bits);
    pfa_event_accesses_t *accesses = &life->accesses;
    life->event.size_flags |= random_below(random, 5) == 0 ? PFA_RECORD_SHARED : 0;
    if (how == 0 || size == 0) {
        return;
    }
    accesses->low = how < 4 ? 0 : (uint32_t)random_below(random, size);
    accesses->length = how < 4 ? (uint32_t)size : 1 + (uint32_t)random_below(random, size - accesses->low);
    accesses->writes = how == 5 ? 0 : 1 + (uint32_t)random_below(random, 20);
    accesses->reads = how == 1 ? 0 : how == 7 ? full : 1 + (uint32_t)random_below(random, 2000);
    accesses->reads = accesses->reads < full ? accesses->reads : full;
    accesses->writes = accesses->writes < full ? accesses->writes : full;
    make_times(random, life, end, accesses);
    life->event.last_thread = (uint16_t)(1 + (accesses->reads + accesses->low) % RINGS);
}

void make_accesses(const made_t *made, heap_t *heap, uint64_t seed)
{
    uint64_t random = seed + 77;
    for (size_t i = 0; i < heap->death_count + heap->live_count; i++) {
        bool live = i >= heap->death_count;
        touch(&random, live ? &heap->lives[i - heap->death_count] : &heap->deaths[i], heap->end, made->bits);
    }
}

void tell_accesses(const life_t *life)
{
    const pfa_event_accesses_t *a = &life->accesses;
    printf(" %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %d %d", a->reads, a->writes,
           a->low, a->length, a->first, a->last, (life->event.size_flags & PFA_RECORD_SHARED) != 0,
           life->event.free_time != 0 && (life->event.size_flags & PFA_EVENT_MOVED) != 0);
    printf(" %u %u", life->event.free_thread, life->event.last_thread);
}

pfa_live_accesses_t live_accesses_of(const life_t *life, size_t number)
{
    const pfa_event_accesses_t *told = &life->accesses;
    uint64_t start = number % 1000 * 8; /* where the chunk lies in its region */
    pfa_live_accesses_t live = {.first = start / 8 << PFA_FIRST_BITS,
                                .low = UINT32_MAX,
                                .reads = pfa_access_counter(told->reads, 1 + number % PFA_ACCESS_TICKS)};
    live.writes = pfa_access_counter(told->writes, PFA_ACCESS_TICKS);
    if (told->length != 0) {
        live.first |= pfa_first_code(told->first - life->event.alloc_time);
        live.last = told->last;
        live.low = (uint32_t)(start + told->low);
        live.high = live.low + told->length - 1;
    }
    return live;
}

/* Every third stack has a short map, every sixth a long one too. The older ones count 3 of everything. */
size_t make_maps(uint8_t *out, bool older)
{
    uint8_t *at = out;
    for (uint32_t i = 0; i < STACKS; i += 3) {
        for (uint32_t words = MAP_SHORT; words <= (i % 6 == 0 ? MAP_LONG : MAP_SHORT); words += MAP_LONG - MAP_SHORT) {
            pfa_access_map_t head = {.words = words, .stack = PFA_NODE_FIRST + i};
            memcpy(at, &head, sizeof head);
            at += sizeof head;
            for (uint32_t word = 0; word < 2 * words; word++) {
                uint64_t place = word % words;
                uint64_t count = place % 5 == 3 ? 0 : word < words ? 1000 * (i + 1) / (place + 1) : words + place;
                count = older ? 3 : count;
                memcpy(at, &count, sizeof count);
                at += sizeof count;
            }
        }
    }
    return (size_t)(at - out);
}

void write_maps(made_t *made, uint64_t time, bool older)
{
    uint8_t *payload = calloc(1, MAPS_ROOM);
    must(payload != NULL);
    pfa_tracefile_block(&made->writer, PFA_BLOCK_MAPS, time, payload, make_maps(payload, older));
    free(payload);
}
