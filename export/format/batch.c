/* Owns the encoding of batches. See export/format/batch.h. Compiled into the runtime and into the tool. */
#include "batch.h"

static uint32_t put_number(uint8_t *out, uint32_t at, uint64_t value)
{
    while (value >= 0x80) {
        out[at++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[at++] = (uint8_t)value;
    return at;
}

static bool get_number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return true;
        }
    }
    return false;
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

static uint8_t *put_bytes(uint8_t *out, const void *bytes, size_t size)
{
    __builtin_memcpy(out, bytes, size);
    return out + size;
}

void pfa_batch_begin(pfa_batch_t *batch, uint32_t shift, uint32_t flags)
{
    batch->head = (pfa_batch_head_t){.flags = flags, .shift = shift};
    batch->last_shifted = 0;
    if (++batch->stamp > UINT16_MAX) {
        __builtin_memset(batch->slots, 0, sizeof batch->slots);
        batch->stamp = 1;
    }
}

bool pfa_batch_segment(pfa_batch_t *batch, uint32_t ring, uint64_t first)
{
    if (batch->head.segments == PFA_BATCH_SEGMENTS) {
        return false;
    }
    batch->segments[batch->head.segments++] = (pfa_batch_segment_t){.first = first, .ring = ring};
    return true;
}

static uint32_t hash_kind(const pfa_batch_kind_t *kind)
{
    uint64_t words[3];
    __builtin_memcpy(words, kind, sizeof words);
    uint64_t hash = words[0] * 0x9e3779b97f4a7c15u ^ words[1] * 0xc2b2ae3d27d4eb4fu ^ words[2] * 0x165667b19e3779f9u;
    uint64_t rest = (uint64_t)kind->free_thread << 16 | kind->last_thread;
    hash = (hash ^ hash >> 31 ^ rest) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash >> 40);
}

/* The number of the kind, which is new or known. */
static uint32_t find_kind(pfa_batch_t *batch, const pfa_batch_kind_t *kind)
{
    uint32_t slot = hash_kind(kind) & (PFA_BATCH_SLOTS - 1);
    for (;; slot = (slot + 1) & (PFA_BATCH_SLOTS - 1)) {
        uint32_t entry = batch->slots[slot];
        if (entry >> 16 != batch->stamp) {
            batch->slots[slot] = batch->stamp << 16 | batch->head.kinds;
            batch->kinds[batch->head.kinds] = *kind;
            return batch->head.kinds++;
        }
        const pfa_batch_kind_t *known = &batch->kinds[entry & UINT16_MAX];
        if (__builtin_memcmp(known, kind, offsetof(pfa_batch_kind_t, rows)) == 0) {
            return entry & UINT16_MAX;
        }
    }
}

static void add_times(pfa_batch_t *batch, const pfa_event_t *event)
{
    pfa_batch_head_t *head = &batch->head;
    bool live = (head->flags & PFA_BATCH_LIVE) != 0;
    uint64_t time = live ? event->alloc_time : event->free_time;
    uint64_t shifted = time >> head->shift;
    uint64_t cut = ((uint64_t)1 << head->shift) - 1;
    head->times_size = put_number(batch->times, head->times_size, zigzag(shifted - batch->last_shifted));
    batch->last_shifted = shifted;
    head->first_time = head->rows == 0 || time < head->first_time ? time : head->first_time;
    head->last_time = time > head->last_time ? time : head->last_time;
    if (live) {
        return;
    }
    uint64_t born = event->alloc_time >> head->shift;
    head->lives_size = put_number(batch->lives, head->lives_size, shifted - (born < shifted ? born : shifted));
    if (head->shift != 0 && (event->size_flags & PFA_RECORD_REALLOC) != 0) {
        head->exact_size = put_number(batch->exact, head->exact_size, event->alloc_time & cut);
    }
    if (head->shift != 0 && (event->size_flags & PFA_EVENT_MOVED) != 0) {
        head->exact_size = put_number(batch->exact, head->exact_size, event->free_time & cut);
    }
}

bool pfa_batch_add(pfa_batch_t *batch, const pfa_event_t *event)
{
    if (batch->head.rows == PFA_BATCH_ROWS) {
        return false;
    }
    pfa_batch_kind_t kind = {.size_flags = event->size_flags,
                             .stack = event->stack,
                             .free_stack = event->free_stack,
                             .type = event->type,
                             .thread = event->thread,
                             .tag = event->tag,
                             .free_thread = event->free_thread,
                             .last_thread = event->last_thread};
    uint32_t number = find_kind(batch, &kind);
    batch->kinds[number].rows++;
    batch->kind_of[batch->head.rows] = (uint16_t)number;
    add_times(batch, event);
    batch->head.rows++;
    if (batch->head.segments != 0) {
        batch->segments[batch->head.segments - 1].rows++;
    }
    return true;
}

size_t pfa_batch_finish(pfa_batch_t *batch, uint8_t *out)
{
    const pfa_batch_head_t *head = &batch->head;
    uint8_t *at = put_bytes(out, head, sizeof *head);
    at = put_bytes(at, batch->segments, head->segments * sizeof *batch->segments);
    const uint8_t *kinds = (const uint8_t *)batch->kinds;
    for (size_t byte = 0; byte < sizeof(pfa_batch_kind_t); byte++) {
        for (uint32_t i = 0; i < head->kinds; i++) {
            *at++ = kinds[i * sizeof(pfa_batch_kind_t) + byte];
        }
    }
    for (uint32_t i = 0; i < head->rows; i++) {
        at[i] = (uint8_t)batch->kind_of[i];
        at[head->rows + i] = (uint8_t)(batch->kind_of[i] >> 8);
    }
    at += 2 * (size_t)head->rows;
    at = put_bytes(at, batch->times, head->times_size);
    at = put_bytes(at, batch->lives, head->lives_size);
    at = put_bytes(at, batch->exact, head->exact_size);
    return (size_t)(at - out);
}

static bool kinds_add_up(const pfa_batch_reader_t *reader)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < reader->head.kinds; i++) {
        pfa_batch_kind_t kind;
        pfa_batch_kind_at(reader, i, &kind);
        rows += kind.rows;
    }
    return rows == reader->head.rows;
}

static bool segments_add_up(const pfa_batch_reader_t *reader)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < reader->head.segments; i++) {
        pfa_batch_segment_t segment;
        pfa_batch_segment_at(reader, i, &segment);
        rows += segment.rows;
    }
    return reader->head.segments == 0 || rows == reader->head.rows;
}

bool pfa_batch_open(pfa_batch_reader_t *reader, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    *reader = (pfa_batch_reader_t){.row = 0};
    pfa_batch_head_t *head = &reader->head;
    if (size < sizeof *head) {
        return false;
    }
    __builtin_memcpy(head, at, sizeof *head);
    if (head->rows > PFA_BATCH_ROWS || head->kinds > head->rows || head->segments > PFA_BATCH_SEGMENTS ||
        head->shift > PFA_BATCH_SHIFT_MAX || (head->flags & ~(PFA_BATCH_LIVE | PFA_BATCH_AFTER_LIVE)) != 0) {
        return false;
    }
    uint64_t needed = sizeof *head + head->segments * sizeof(pfa_batch_segment_t) +
                      head->kinds * sizeof(pfa_batch_kind_t) + 2 * (uint64_t)head->rows + head->times_size +
                      (uint64_t)head->lives_size + head->exact_size;
    if (needed != size) {
        return false;
    }
    reader->segments = at + sizeof *head;
    reader->kinds = reader->segments + head->segments * sizeof(pfa_batch_segment_t);
    reader->kind_of = reader->kinds + head->kinds * sizeof(pfa_batch_kind_t);
    reader->times = reader->kind_of + 2 * (size_t)head->rows;
    reader->lives = reader->times + head->times_size;
    reader->exact = reader->lives + head->lives_size;
    reader->end = reader->exact + head->exact_size;
    return kinds_add_up(reader) && segments_add_up(reader);
}

void pfa_batch_segment_at(const pfa_batch_reader_t *reader, uint32_t index, pfa_batch_segment_t *segment)
{
    __builtin_memcpy(segment, reader->segments + index * sizeof *segment, sizeof *segment);
}

void pfa_batch_kind_at(const pfa_batch_reader_t *reader, uint32_t index, pfa_batch_kind_t *kind)
{
    uint8_t *to = (uint8_t *)kind;
    for (size_t byte = 0; byte < sizeof *kind; byte++) {
        to[byte] = reader->kinds[byte * reader->head.kinds + index];
    }
}

/* With the bits that the shift cut off, if they are there. */
static bool whole_time(pfa_batch_reader_t *reader, bool exact, uint64_t *time)
{
    uint64_t cut = 0;
    uint32_t shift = reader->head.shift;
    if (exact && shift != 0 && (!get_number(&reader->exact, reader->end, &cut) || cut >> shift != 0)) {
        return false;
    }
    *time = *time << shift | cut;
    return true;
}

static bool read_times(pfa_batch_reader_t *reader, pfa_event_t *event)
{
    const pfa_batch_head_t *head = &reader->head;
    uint64_t step;
    if (!get_number(&reader->times, reader->end, &step)) {
        return false;
    }
    reader->shifted += unzigzag(step);
    if ((head->flags & PFA_BATCH_LIVE) != 0) {
        event->alloc_time = reader->shifted;
        event->free_time = 0;
        return whole_time(reader, false, &event->alloc_time);
    }
    uint64_t life;
    if (!get_number(&reader->lives, reader->end, &life) || life > reader->shifted) {
        return false;
    }
    event->free_time = reader->shifted;
    event->alloc_time = reader->shifted - life;
    return whole_time(reader, (event->size_flags & PFA_RECORD_REALLOC) != 0, &event->alloc_time) &&
           whole_time(reader, (event->size_flags & PFA_EVENT_MOVED) != 0, &event->free_time);
}

int pfa_batch_next(pfa_batch_reader_t *reader, const pfa_batch_kind_t *kinds, pfa_event_t *event, uint32_t *kind)
{
    uint32_t row = reader->row;
    if (row == reader->head.rows) {
        return 0;
    }
    uint32_t number = reader->kind_of[row] | (uint32_t)reader->kind_of[reader->head.rows + row] << 8;
    if (number >= reader->head.kinds) {
        return -1;
    }
    const pfa_batch_kind_t *k = &kinds[number];
    *event = (pfa_event_t){.size_flags = k->size_flags,
                           .stack = k->stack,
                           .free_stack = k->free_stack,
                           .type = k->type,
                           .thread = k->thread,
                           .tag = k->tag,
                           .free_thread = k->free_thread,
                           .last_thread = k->last_thread};
    if (kind != NULL) {
        *kind = number;
    }
    reader->row++;
    return read_times(reader, event) ? 1 : -1;
}
