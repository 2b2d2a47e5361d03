/* Owns pictures: all chunks that are alive, read from the live table while the program goes on. Each record is taken as a
 * whole or not at all; the picture as a whole is of no single moment, but of the time it took.
 *
 * That may be seconds. Rings that get full meanwhile are emptied between two slices of it, so blocks of deaths lie between the
 * blocks of a picture. Those between the blocks of the final one are told as all that come behind it: with PFA_BATCH_AFTER_LIVE
 * and whole times, by which a reader knows the chunks that died and are in the picture all the same. */
#include "base/clock.h"
#include "export/block.h"
#include "export/writer.h"
#include "meta/accesses.h"
#include "meta/extents.h"
#include "meta/record.h"
#include "meta/ring.h"

#include <errno.h>
#include <string.h>

enum { NAME_MAX_SIZE = 255, SLICE = 4096 };

typedef struct picture {
    pfa_trace_live_t head;
    const char *name;
    pfa_batch_t *batch;
    size_t batch_at; /* where in the payload it begins */
    uint32_t shift;  /* of times, once there are many */
    uint64_t rows;
    uint32_t looked_at; /* records, in this slice */
    bool alone;         /* there is nobody to fill rings, or whoever does undoes it */
    int err;
} picture_t;

static void begin_batch(pfa_batch_t *batch)
{
    pfa_batch_begin(batch, 0, PFA_BATCH_LIVE | (pfa_accesses_kept ? PFA_BATCH_ACCESSES : 0));
}

static void flush(picture_t *picture, uint32_t flags)
{
    pfa_writer_nodes();
    picture->rows += picture->batch->head.rows;
    pfa_batch_set_shift(picture->batch, picture->rows > PFA_BATCH_EXACT_ROWS ? picture->shift : 0);
    char *payload = pfa_block_scratch();
    pfa_trace_live_t head = picture->head;
    head.flags |= flags;
    memset(payload, 0, picture->batch_at);
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, picture->name, head.name_size);
    size_t size = pfa_batch_finish(picture->batch, (uint8_t *)payload + picture->batch_at);
    int err = pfa_writer_block(PFA_BLOCK_LIVE, payload, picture->batch_at + size);
    picture->err = picture->err != 0 ? picture->err : err;
    begin_batch(picture->batch);
}

/* Accesses may come in between: each word is one of then or one of now. */
static pfa_event_accesses_t read_accesses(const pfa_record_t *record, uint64_t alloc_time, uint64_t size)
{
    const uint64_t *from = (const uint64_t *)(const void *)(record + 1);
    uint64_t words[sizeof(pfa_live_accesses_t) / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        words[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
    }
    pfa_live_accesses_t copy;
    memcpy(&copy, words, sizeof copy);
    return pfa_live_accesses(&copy, alloc_time, size);
}

/* Another thread may end this life and begin another meanwhile: then it is not of this picture. */
static bool read_record(const pfa_record_t *record, pfa_event_t *event, pfa_event_accesses_t *accesses)
{
    uint64_t size_flags = pfa_load_acquire(&record->size_flags);
    if (!pfa_is_live(size_flags)) {
        return false;
    }
    /* Acquire loads: the last one below comes after all of them. */
    uint64_t tail = pfa_load_acquire(&record->tail);
    *event = (pfa_event_t){.alloc_time = __atomic_load_n(&record->alloc_time, __ATOMIC_ACQUIRE),
                           .size_flags = size_flags & ~(uint64_t)PFA_FLAGS_SILENT,
                           .stack = __atomic_load_n(&record->stack, __ATOMIC_ACQUIRE),
                           .type_link = __atomic_load_n(&record->type_link, __ATOMIC_ACQUIRE),
                           .thread = (uint16_t)tail,
                           .tag = (uint16_t)(tail >> 16),
                           .last_thread = (uint16_t)(tail >> 32)};
    if (event->alloc_time < pfa_extents_head->start_counter) {
        return false; /* another trace's */
    }
    if (pfa_accesses_kept) {
        *accesses = read_accesses(record, event->alloc_time, pfa_size_of(size_flags));
    }
    /* The next life in the same place may have the same size, but never the same time. */
    uint64_t changed = pfa_load_relaxed(&record->size_flags) ^ size_flags;
    return (changed & ~(uint64_t)PFA_FLAG_SHARED) == 0 && /* accesses change that one, and the last thread */
           __atomic_load_n(&record->alloc_time, __ATOMIC_RELAXED) == event->alloc_time;
}

/* Between two slices. */
static void make_way(picture_t *picture)
{
    picture->looked_at = 0;
    if (!picture->alone && pfa_ring_any_urgent()) {
        pfa_writer_drain_urgent((picture->head.flags & PFA_LIVE_FINAL) != 0 ? PFA_BATCH_AFTER_LIVE : 0);
    }
}

static void add_records(picture_t *picture, const char *at, uint64_t size, uint64_t step)
{
    for (uint64_t offset = 0; offset + step <= size; offset += step) {
        if (++picture->looked_at == SLICE) {
            make_way(picture);
        }
        pfa_event_t event;
        pfa_event_accesses_t accesses;
        if (read_record((const pfa_record_t *)(const void *)(at + offset), &event, &accesses) &&
            !pfa_batch_add(picture->batch, &event, &accesses)) {
            flush(picture, 0);
            (void)pfa_batch_add(picture->batch, &event, &accesses);
        }
    }
}

static void add_extent(picture_t *picture, uint32_t number, uint64_t step)
{
    uint64_t start = 0;
    uint64_t end;
    while (pfa_extents_next_data(number, &start, &end)) {
        start -= start % step;
        add_records(picture, (const char *)pfa_extents_at(number) + start, end - start, step);
        start = end;
    }
}

/* More are counted for a moment when there is no room for another. */
static uint32_t extent_count(void)
{
    uint32_t count = pfa_load_acquire(&pfa_extents_head->extent_count);
    return count < PFA_LIVE_EXTENTS ? count : PFA_LIVE_EXTENTS;
}

int pfa_writer_picture(const char *name, uint32_t flags, bool whole_times)
{
    static uint32_t count; /* under the writer's lock */
    picture_t picture = {.name = name, .batch = pfa_writer_picture_batch()};
    picture.shift = whole_times ? 0 : pfa_writer_shift();
    picture.alone = (flags & PFA_LIVE_FINAL) != 0 && !whole_times;
    picture.head.number = ++count;
    picture.head.flags = flags;
    picture.head.time = pfa_counter();
    picture.head.name_size = (uint32_t)strnlen(name, NAME_MAX_SIZE);
    picture.batch_at = (sizeof picture.head + picture.head.name_size + 7) & ~(size_t)7;
    begin_batch(picture.batch);
    uint32_t extents = extent_count();
    for (uint32_t i = 0; i < extents; i++) {
        pfa_extent_kind_t kind = pfa_extents_kind(i);
        if (kind == PFA_EXTENT_RECORDS) {
            add_extent(&picture, i, pfa_extents_head->record_size);
        } else if (kind == PFA_EXTENT_LARGES) {
            add_extent(&picture, i, PFA_LIVE_LARGE_CELL);
        }
    }
    flush(&picture, PFA_LIVE_LAST);
    return picture.err;
}
