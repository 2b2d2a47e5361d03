/* Owns the encoding of batches. See export/format/batch.h. Compiled into the runtime and into the tool. */
#include "batch.h"
#include "numbers.h"

/* Numbers of reallocs go round. */
static uint64_t link_step(uint32_t link, uint32_t before)
{
    uint32_t step = (link - before) & PFA_LINK_MASK;
    return step <= PFA_LINK_MASK / 2 ? 2 * step : 2 * (PFA_LINK_MASK - step) + 1;
}

static uint8_t *put_bytes(uint8_t *out, const void *bytes, size_t size)
{
    __builtin_memcpy(out, bytes, size);
    return out + size;
}

void pfa_batch_begin(pfa_batch_t *batch, uint32_t shift, uint32_t flags)
{
    batch->head = (pfa_batch_head_t){.flags = flags | PFA_BATCH_LENGTHS, .shift = shift};
    batch->last_shifted = 0;
    batch->last_link = 0;
    batch->lengths_size = 0;
    batch->addresses_size = 0;
    if ((flags & PFA_BATCH_ADDRESSES) != 0) {
        __builtin_memset(batch->places, 0, sizeof batch->places);
    }
    if ((flags & PFA_BATCH_ACCESSES) != 0) {
        batch->access_head = (pfa_batch_access_head_t){.sizes = {0}};
        __builtin_memset(batch->pasts, 0, sizeof batch->pasts);
    }
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
    head->times_size = pfa_number_put(batch->times, head->times_size, pfa_zigzag(shifted - batch->last_shifted));
    batch->last_shifted = shifted;
}

static void put_link(pfa_batch_t *batch, uint32_t link)
{
    batch->head.links_size = pfa_number_put(batch->links, batch->head.links_size, link_step(link, batch->last_link));
}

static void put_in(pfa_batch_t *batch, pfa_batch_column_t column, uint64_t value)
{
    uint32_t *size = &batch->access_head.sizes[column];
    *size = pfa_number_put(batch->columns[column], *size, value);
}

/* Less what it was the last time. */
static uint64_t step_from(uint32_t *before, uint32_t value)
{
    int32_t difference = (int32_t)(value - *before);
    *before = value;
    return pfa_zigzag((uint64_t)(int64_t)difference);
}

/* How long after its birth a chunk was touched: a racing thread may have told a time before it, or after its death. */
static uint64_t within(uint64_t time, uint64_t born, uint64_t least, uint64_t most)
{
    uint64_t since = time > born ? time - born : 0;
    since = since > least ? since : least;
    return since < most ? since : most;
}

static void put_address(pfa_batch_t *batch, uint32_t kind, uint64_t address)
{
    uint64_t *before = &batch->places[kind % PFA_BATCH_PASTS];
    uint64_t place = address / PFA_ADDRESS_UNIT;
    batch->addresses_size = pfa_number_put(batch->addresses, batch->addresses_size, pfa_zigzag(place - *before));
    *before = place;
}

/* When a row's chunk lived. */
typedef struct life {
    uint64_t born;
    uint64_t length;
    uint64_t steps; /* between its cut times */
} life_t;

static uint64_t share_of(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (part * PFA_BATCH_SHARES + whole / 2) / whole;
}

static void put_access_times(pfa_batch_t *batch, const pfa_event_accesses_t *accesses, life_t life)
{
    uint32_t shift = batch->head.shift;
    uint64_t first = within(accesses->first, life.born, 0, life.length);
    uint64_t last = within(accesses->last, life.born, first, life.length);
    uint64_t after;
    if ((batch->head.flags & PFA_BATCH_LIVE) != 0) {
        first = pfa_length_code(first, shift);
        after = pfa_length_code(last - within(accesses->first, life.born, 0, life.length), shift);
    } else if (life.steps >= PFA_BATCH_LONG) {
        first >>= shift;
        after = life.steps - (last >> shift);
    } else {
        first = share_of(first, life.length);
        after = PFA_BATCH_SHARES - share_of(last, life.length);
    }
    put_in(batch, PFA_COLUMN_FIRSTS, first);
    put_in(batch, PFA_COLUMN_LASTS, after);
}

/* What was done with the chunk of the row that is written. */
static void put_accesses(pfa_batch_t *batch, uint32_t kind, uint64_t size, const pfa_event_accesses_t *accesses,
                         life_t life)
{
    pfa_batch_past_t *past = &batch->pasts[kind % PFA_BATCH_PASTS];
    uint64_t units = pfa_access_units(size);
    put_in(batch, PFA_COLUMN_READS, step_from(&past->reads, accesses->reads));
    put_in(batch, PFA_COLUMN_WRITES, step_from(&past->writes, accesses->writes));
    if (accesses->length == 0 || accesses->low >= units) {
        put_in(batch, PFA_COLUMN_RESTS, 0);
        return;
    }
    uint64_t rest = units - accesses->low;
    rest = rest > accesses->length ? rest - accesses->length : 0;
    put_in(batch, PFA_COLUMN_RESTS, 1 + step_from(&past->rest, (uint32_t)rest));
    put_in(batch, PFA_COLUMN_LOWS, step_from(&past->low, accesses->low));
    put_access_times(batch, accesses, life);
}

/* Steps between the cut times, and where that says little, what of them the life was. */
static void put_life(pfa_batch_t *batch, uint64_t life, uint64_t steps)
{
    pfa_batch_head_t *head = &batch->head;
    head->lives_size = pfa_number_put(batch->lives, head->lives_size, steps);
    if (head->shift != 0 && steps < PFA_BATCH_LONG) {
        uint64_t code = pfa_length_code(life, head->shift) - pfa_length_base(steps, head->shift);
        batch->lengths_size = pfa_number_put(batch->lengths, batch->lengths_size, code);
    }
}

static void add_death(pfa_batch_t *batch, const pfa_event_t *event, uint32_t kind, const pfa_event_accesses_t *accesses)
{
    pfa_batch_head_t *head = &batch->head;
    uint64_t died = event->free_time >> head->shift;
    uint64_t born = event->alloc_time < event->free_time ? event->alloc_time : event->free_time;
    uint64_t life = event->free_time - born;
    uint64_t steps = died - (born >> head->shift);
    put_time(batch, died);
    put_life(batch, life, steps);
    if ((head->flags & PFA_BATCH_ACCESSES) != 0) {
        put_accesses(batch, kind, event->size_flags >> PFA_RECORD_SIZE_SHIFT, accesses, (life_t){born, life, steps});
    }
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

static void add_alive(pfa_batch_t *batch, const pfa_event_t *event, uint32_t kind, const pfa_event_accesses_t *accesses,
                      uint64_t address)
{
    uint32_t row = batch->head.rows;
    batch->alive[0][row] = (pfa_batch_alive_t){.time = event->alloc_time,
                                               .kind = (uint16_t)kind,
                                               .row = (uint16_t)row,
                                               .link = event->type_link >> PFA_TYPE_BITS};
    if ((batch->head.flags & PFA_BATCH_ACCESSES) != 0) {
        batch->accesses[row] = *accesses;
    }
    if ((batch->head.flags & PFA_BATCH_ADDRESSES) != 0) {
        batch->alive_at[row] = address;
    }
}

bool pfa_batch_add(pfa_batch_t *batch, const pfa_event_t *event, const pfa_event_accesses_t *accesses, uint64_t address)
{
    static const pfa_event_accesses_t none;
    accesses = accesses != NULL ? accesses : &none;
    if (batch->head.rows == PFA_BATCH_ROWS) {
        return false;
    }
    pfa_batch_kind_t kind = pfa_batch_kind_of(event);
    kind.rows = 0;
    if ((batch->head.flags & PFA_BATCH_SIZES) != 0) {
        kind.size_flags &= PFA_EVENT_FLAGS;
        batch->head.sizes_size =
            pfa_number_put(batch->sizes, batch->head.sizes_size, event->size_flags >> PFA_RECORD_SIZE_SHIFT);
    }
    uint32_t number = find_kind(batch, &kind);
    batch->kinds[number].rows++;
    if ((batch->head.flags & PFA_BATCH_LIVE) != 0) {
        note_time(&batch->head, event->alloc_time);
        add_alive(batch, event, number, accesses, address);
    } else {
        note_time(&batch->head, event->free_time);
        batch->kind_of[batch->head.rows] = (uint16_t)number;
        add_death(batch, event, number, accesses);
        if ((batch->head.flags & PFA_BATCH_ADDRESSES) != 0) {
            put_address(batch, number, address);
        }
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
    return (byte < 2 ? (uint64_t)alive->kind >> 8 * byte : alive->time >> 8 * (byte - 2)) & 0xff;
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
        uint64_t size_flags = batch->kinds[alive[i].kind].size_flags;
        put_time(batch, alive[i].time >> batch->head.shift);
        if ((batch->head.flags & PFA_BATCH_ACCESSES) != 0) {
            put_accesses(batch, alive[i].kind, size_flags >> PFA_RECORD_SIZE_SHIFT, &batch->accesses[alive[i].row],
                         (life_t){.born = alive[i].time, .length = UINT64_MAX - alive[i].time});
        }
        if ((size_flags & PFA_RECORD_REALLOC) != 0) {
            put_link(batch, alive[i].link);
            batch->last_link = alive[i].link;
        }
        if ((batch->head.flags & PFA_BATCH_ADDRESSES) != 0) {
            put_address(batch, alive[i].kind, batch->alive_at[alive[i].row]);
        }
    }
}

static uint32_t size_accesses(const pfa_batch_t *batch)
{
    uint32_t size = sizeof batch->access_head;
    for (uint32_t i = 0; i < PFA_BATCH_COLUMNS; i++) {
        size += batch->access_head.sizes[i];
    }
    return (batch->head.flags & PFA_BATCH_ACCESSES) != 0 ? size : 0;
}

static uint8_t *put_columns(const pfa_batch_t *batch, uint8_t *out)
{
    out = put_bytes(out, &batch->access_head, sizeof batch->access_head);
    for (uint32_t i = 0; i < PFA_BATCH_COLUMNS; i++) {
        out = put_bytes(out, batch->columns[i], batch->access_head.sizes[i]);
    }
    return out;
}

size_t pfa_batch_finish(pfa_batch_t *batch, uint8_t *out)
{
    if ((batch->head.flags & PFA_BATCH_LIVE) != 0) {
        put_alive(batch);
    }
    uint32_t steps_size = batch->head.lives_size;
    batch->head.lives_size += (uint32_t)sizeof steps_size + batch->lengths_size;
    batch->head.accesses_size = size_accesses(batch);
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
    at = put_bytes(at, &steps_size, sizeof steps_size);
    at = put_bytes(at, batch->lives, steps_size);
    at = put_bytes(at, batch->lengths, batch->lengths_size);
    at = put_bytes(at, batch->links, head->links_size);
    at = head->accesses_size != 0 ? put_columns(batch, at) : at;
    if ((head->flags & PFA_BATCH_ADDRESSES) != 0) {
        at = put_bytes(at, &batch->addresses_size, sizeof batch->addresses_size);
        at = put_bytes(at, batch->addresses, batch->addresses_size);
    }
    return (size_t)(at - out);
}
