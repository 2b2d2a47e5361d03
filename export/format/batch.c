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

/* Numbers of reallocs go round. */
static uint64_t link_step(uint32_t link, uint32_t before)
{
    uint32_t step = (link - before) & PFA_LINK_MASK;
    return step <= PFA_LINK_MASK / 2 ? 2 * step : 2 * (PFA_LINK_MASK - step) + 1;
}

static bool get_link(pfa_batch_reader_t *reader, uint32_t *link)
{
    uint64_t step;
    if (!get_number(&reader->links, reader->end, &step) || step > PFA_LINK_MASK) {
        return false;
    }
    *link = (reader->link + (uint32_t)unzigzag(step)) & PFA_LINK_MASK;
    return true;
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
    batch->last_link = 0;
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

static void note_time(pfa_batch_head_t *head, uint64_t time)
{
    head->first_time = head->rows == 0 || time < head->first_time ? time : head->first_time;
    head->last_time = time > head->last_time ? time : head->last_time;
}

static void put_time(pfa_batch_t *batch, uint64_t shifted)
{
    pfa_batch_head_t *head = &batch->head;
    head->times_size = put_number(batch->times, head->times_size, zigzag(shifted - batch->last_shifted));
    batch->last_shifted = shifted;
}

static void put_link(pfa_batch_t *batch, uint32_t link)
{
    batch->head.links_size = put_number(batch->links, batch->head.links_size, link_step(link, batch->last_link));
}

static void add_death(pfa_batch_t *batch, const pfa_event_t *event)
{
    pfa_batch_head_t *head = &batch->head;
    uint64_t shifted = event->free_time >> head->shift;
    uint64_t born = event->alloc_time >> head->shift;
    put_time(batch, shifted);
    head->lives_size = put_number(batch->lives, head->lives_size, shifted - (born < shifted ? born : shifted));
    if ((event->size_flags & PFA_EVENT_MOVED) != 0) {
        put_link(batch, event->moved_link);
        batch->last_link = event->moved_link;
    }
    if ((event->size_flags & PFA_RECORD_REALLOC) != 0) {
        put_link(batch, event->type_link >> PFA_TYPE_BITS);
    }
}

pfa_batch_kind_t pfa_batch_kind_of(const pfa_event_t *event)
{
    return (pfa_batch_kind_t){.size_flags = event->size_flags,
                              .stack = event->stack,
                              .free_stack = event->free_stack,
                              .type = event->type_link & PFA_TYPE_MASK,
                              .thread = event->thread,
                              .tag = event->tag,
                              .free_thread = event->free_thread,
                              .last_thread = event->last_thread,
                              .rows = 1};
}

bool pfa_batch_add(pfa_batch_t *batch, const pfa_event_t *event)
{
    if (batch->head.rows == PFA_BATCH_ROWS) {
        return false;
    }
    pfa_batch_kind_t kind = pfa_batch_kind_of(event);
    kind.rows = 0;
    if ((batch->head.flags & PFA_BATCH_SIZES) != 0) {
        kind.size_flags &= PFA_EVENT_FLAGS;
        batch->head.sizes_size =
            put_number(batch->sizes, batch->head.sizes_size, event->size_flags >> PFA_RECORD_SIZE_SHIFT);
    }
    uint32_t number = find_kind(batch, &kind);
    batch->kinds[number].rows++;
    if ((batch->head.flags & PFA_BATCH_LIVE) != 0) {
        note_time(&batch->head, event->alloc_time);
        batch->alive[0][batch->head.rows] =
            (pfa_batch_alive_t){event->alloc_time, number, event->type_link >> PFA_TYPE_BITS};
    } else {
        note_time(&batch->head, event->free_time);
        batch->kind_of[batch->head.rows] = (uint16_t)number;
        add_death(batch, event);
    }
    batch->head.rows++;
    if (batch->head.segments != 0) {
        batch->segments[batch->head.segments - 1].rows++;
    }
    return true;
}

void pfa_batch_set_shift(pfa_batch_t *batch, uint32_t shift)
{
    batch->head.shift = shift;
}

static uint64_t sort_key(const pfa_batch_alive_t *alive, unsigned byte)
{
    return (byte < 2 ? alive->kind >> 8 * byte : alive->time >> 8 * (byte - 2)) & 0xff;
}

/* By one byte, keeping the order of those that are equal in it. False if all of them are: nothing was moved. */
static bool sort_pass(const pfa_batch_alive_t *from, pfa_batch_alive_t *to, uint32_t rows, unsigned byte)
{
    uint32_t places[256] = {0};
    for (uint32_t i = 0; i < rows; i++) {
        places[sort_key(&from[i], byte)]++;
    }
    if (places[sort_key(&from[0], byte)] == rows) {
        return false;
    }
    uint32_t place = 0;
    for (unsigned i = 0; i < 256; i++) {
        uint32_t count = places[i];
        places[i] = place;
        place += count;
    }
    for (uint32_t i = 0; i < rows; i++) {
        to[places[sort_key(&from[i], byte)]++] = from[i];
    }
    return true;
}

/* By kind, and within a kind by time. */
static const pfa_batch_alive_t *sort_alive(pfa_batch_t *batch)
{
    static const uint8_t order[] = {2, 3, 4, 5, 6, 7, 8, 9, 0, 1}; /* the least of the key first */
    unsigned at = 0;
    for (size_t i = 0; batch->head.rows != 0 && i < sizeof order; i++) {
        at ^= sort_pass(batch->alive[at], batch->alive[1 - at], batch->head.rows, order[i]);
    }
    return batch->alive[at];
}

static void put_alive(pfa_batch_t *batch)
{
    const pfa_batch_alive_t *alive = sort_alive(batch);
    for (uint32_t i = 0; i < batch->head.rows; i++) {
        batch->kind_of[i] = (uint16_t)alive[i].kind;
        put_time(batch, alive[i].time >> batch->head.shift);
        if ((batch->kinds[alive[i].kind].size_flags & PFA_RECORD_REALLOC) != 0) {
            put_link(batch, alive[i].link);
            batch->last_link = alive[i].link;
        }
    }
}

size_t pfa_batch_finish(pfa_batch_t *batch, uint8_t *out)
{
    if ((batch->head.flags & PFA_BATCH_LIVE) != 0) {
        put_alive(batch);
    }
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
    at = put_bytes(at, batch->sizes, head->sizes_size);
    at = put_bytes(at, batch->times, head->times_size);
    at = put_bytes(at, batch->lives, head->lives_size);
    at = put_bytes(at, batch->links, head->links_size);
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
        head->shift > PFA_BATCH_SHIFT_MAX ||
        (head->flags & ~(PFA_BATCH_LIVE | PFA_BATCH_AFTER_LIVE | PFA_BATCH_SIZES)) != 0) {
        return false;
    }
    uint64_t needed = sizeof *head + head->segments * sizeof(pfa_batch_segment_t) +
                      head->kinds * sizeof(pfa_batch_kind_t) + 2 * (uint64_t)head->rows + head->sizes_size +
                      (uint64_t)head->times_size + (uint64_t)head->lives_size + head->links_size;
    if (needed != size) {
        return false;
    }
    reader->segments = at + sizeof *head;
    reader->kinds = reader->segments + head->segments * sizeof(pfa_batch_segment_t);
    reader->kind_of = reader->kinds + head->kinds * sizeof(pfa_batch_kind_t);
    reader->sizes = reader->kind_of + 2 * (size_t)head->rows;
    reader->times = reader->sizes + head->sizes_size;
    reader->lives = reader->times + head->times_size;
    reader->links = reader->lives + head->lives_size;
    reader->end = reader->links + head->links_size;
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

static bool read_times(pfa_batch_reader_t *reader, pfa_event_t *event)
{
    const pfa_batch_head_t *head = &reader->head;
    uint64_t step;
    if (!get_number(&reader->times, reader->end, &step)) {
        return false;
    }
    reader->shifted += unzigzag(step);
    if ((head->flags & PFA_BATCH_LIVE) != 0) {
        event->alloc_time = reader->shifted << head->shift;
        return true;
    }
    uint64_t life;
    if (!get_number(&reader->lives, reader->end, &life) || life > reader->shifted) {
        return false;
    }
    event->free_time = reader->shifted << head->shift;
    event->alloc_time = (reader->shifted - life) << head->shift;
    return true;
}

static bool read_size(pfa_batch_reader_t *reader, pfa_event_t *event)
{
    uint64_t size;
    if ((reader->head.flags & PFA_BATCH_SIZES) == 0) {
        return true;
    }
    if (!get_number(&reader->sizes, reader->end, &size) || size > UINT64_MAX >> PFA_RECORD_SIZE_SHIFT) {
        return false;
    }
    event->size_flags = (event->size_flags & PFA_EVENT_FLAGS) | size << PFA_RECORD_SIZE_SHIFT;
    return true;
}

static bool read_links(pfa_batch_reader_t *reader, pfa_event_t *event)
{
    bool live = (reader->head.flags & PFA_BATCH_LIVE) != 0;
    uint32_t made;
    if (!live && (event->size_flags & PFA_EVENT_MOVED) != 0) {
        if (!get_link(reader, &event->moved_link)) {
            return false;
        }
        reader->link = event->moved_link;
    }
    if ((event->size_flags & PFA_RECORD_REALLOC) == 0) {
        return true;
    }
    if (!get_link(reader, &made)) {
        return false;
    }
    event->type_link |= made << PFA_TYPE_BITS;
    reader->link = live ? made : reader->link;
    return true;
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
                           .type_link = k->type & PFA_TYPE_MASK,
                           .thread = k->thread,
                           .tag = k->tag,
                           .free_thread = k->free_thread,
                           .last_thread = k->last_thread};
    if (kind != NULL) {
        *kind = number;
    }
    reader->row++;
    return read_size(reader, event) && read_times(reader, event) && read_links(reader, event) ? 1 : -1;
}
