/* Owns the decoding of batches. See export/format/batch.h. */
#include "batch.h"
#include "numbers.h"

static bool get_link(pfa_batch_reader_t *reader, uint32_t *link)
{
    uint64_t step;
    if (!pfa_number_get(&reader->links, reader->end, &step) || step > PFA_LINK_MASK) {
        return false;
    }
    *link = (reader->link + (uint32_t)pfa_unzigzag(step)) & PFA_LINK_MASK;
    return true;
}

/* Kinds lie byte by byte: the first bytes of all, then the second ones, and so on. */
static bool kinds_add_up(const pfa_batch_reader_t *reader)
{
    uint64_t rows = 0;
    for (size_t byte = 0; byte < sizeof(uint32_t); byte++) {
        const uint8_t *column = reader->kinds + (offsetof(pfa_batch_kind_t, rows) + byte) * reader->head.kinds;
        uint32_t sum = 0; /* of PFA_BATCH_ROWS bytes at most */
        for (uint32_t i = 0; i < reader->head.kinds; i++) {
            sum += column[i];
        }
        rows += (uint64_t)sum << 8 * byte;
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

/* The columns of accesses, from `at` to the end of the batch. */
static bool open_columns(pfa_batch_reader_t *reader, const uint8_t *at)
{
    pfa_batch_access_head_t head;
    uint64_t left = reader->head.accesses_size;
    if ((reader->head.flags & PFA_BATCH_ACCESSES) == 0) {
        return left == 0;
    }
    if (left < sizeof head) {
        return false;
    }
    __builtin_memcpy(&head, at, sizeof head);
    at += sizeof head;
    left -= sizeof head;
    for (uint32_t i = 0; i < PFA_BATCH_COLUMNS; i++) {
        if (head.sizes[i] > left) {
            return false;
        }
        reader->columns[i] = at;
        at += head.sizes[i];
        left -= head.sizes[i];
        reader->column_ends[i] = at;
    }
    return left == 0;
}

/* Where the codes of lives are, behind those in steps. */
static bool open_lengths(pfa_batch_reader_t *reader)
{
    uint32_t size;
    uint64_t left = reader->head.lives_size;
    if ((reader->head.flags & PFA_BATCH_LENGTHS) == 0) {
        return true;
    }
    if (left < sizeof size) {
        return false;
    }
    __builtin_memcpy(&size, reader->lives, sizeof size);
    reader->lives += sizeof size;
    reader->lengths = reader->lives + (size <= left - sizeof size ? size : 0);
    return size <= left - sizeof size;
}

/* The column of addresses, from `at` to the end of the batch. */
static bool open_addresses(pfa_batch_reader_t *reader, const uint8_t *at, uint64_t left)
{
    uint32_t size;
    if ((reader->head.flags & PFA_BATCH_ADDRESSES) == 0) {
        return left == 0;
    }
    if (left < sizeof size) {
        return false;
    }
    __builtin_memcpy(&size, at, sizeof size);
    reader->addresses = at + sizeof size;
    reader->addresses_end = at + left;
    return size == left - sizeof size;
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
        (head->flags & ~(PFA_BATCH_LIVE | PFA_BATCH_AFTER_LIVE | PFA_BATCH_SIZES | PFA_BATCH_ACCESSES |
                         PFA_BATCH_LENGTHS | PFA_BATCH_ADDRESSES)) != 0) {
        return false;
    }
    uint64_t needed = sizeof *head + head->segments * sizeof(pfa_batch_segment_t) +
                      head->kinds * sizeof(pfa_batch_kind_t) + 2 * (uint64_t)head->rows + head->sizes_size +
                      (uint64_t)head->times_size + (uint64_t)head->lives_size + head->links_size + head->accesses_size;
    if (needed > size) {
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
    return kinds_add_up(reader) && segments_add_up(reader) && open_lengths(reader) &&
           open_columns(reader, reader->end) && open_addresses(reader, at + needed, size - needed);
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

typedef uint8_t sixteen_t __attribute__((vector_size(16)));

static sixteen_t low_halves(sixteen_t a, sixteen_t b)
{
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

static sixteen_t high_halves(sixteen_t a, sixteen_t b)
{
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/* Turns 16 columns of 16 bytes into 16 rows: four times, the upper and the lower half of all are dealt like cards. */
static void turn(sixteen_t tiles[16])
{
    for (int round = 0; round < 4; round++) {
        sixteen_t dealt[16];
        for (int i = 0; i < 8; i++) {
            dealt[2 * i] = low_halves(tiles[i], tiles[i + 8]);
            dealt[2 * i + 1] = high_halves(tiles[i], tiles[i + 8]);
        }
        __builtin_memcpy(tiles, dealt, sizeof dealt);
    }
}

void pfa_batch_kinds(const pfa_batch_reader_t *reader, pfa_batch_kind_t *kinds)
{
    const uint32_t count = reader->head.kinds;
    uint32_t i = 0;
    for (; i + 16 <= count; i += 16) {
        for (size_t half = 0; half < sizeof *kinds; half += 16) {
            sixteen_t tiles[16];
            for (size_t byte = 0; byte < 16; byte++) {
                __builtin_memcpy(&tiles[byte], reader->kinds + (half + byte) * count + i, sizeof tiles[byte]);
            }
            turn(tiles);
            for (size_t kind = 0; kind < 16; kind++) {
                __builtin_memcpy((uint8_t *)&kinds[i + kind] + half, &tiles[kind], sizeof tiles[kind]);
            }
        }
    }
    for (; i < count; i++) {
        pfa_batch_kind_at(reader, i, &kinds[i]);
    }
}

/* Of a row whose death is known. */
static bool read_life(pfa_batch_reader_t *reader, pfa_batch_row_t *row)
{
    uint32_t shift = reader->head.shift;
    uint64_t code;
    if (!pfa_number_get(&reader->lives, reader->end, &reader->steps) || reader->steps > reader->shifted) {
        return false;
    }
    row->event.alloc_time = (reader->shifted - reader->steps) << shift;
    row->life = reader->steps << shift;
    if ((reader->head.flags & PFA_BATCH_LENGTHS) == 0 || shift == 0 || reader->steps >= PFA_BATCH_LONG) {
        return true;
    }
    if (!pfa_number_get(&reader->lengths, reader->end, &code) || code > pfa_length_code(2ull << shift, shift)) {
        return false;
    }
    row->life = pfa_length_of(pfa_length_base(reader->steps, shift) + code, shift);
    /* No more than a step from what the moments say, and what rounding adds. */
    return row->life <= (reader->steps + 2) << shift && row->life <= UINT64_MAX - row->event.alloc_time;
}

static bool read_times(pfa_batch_reader_t *reader, pfa_batch_row_t *row)
{
    const pfa_batch_head_t *head = &reader->head;
    uint64_t step;
    if (!pfa_number_get(&reader->times, reader->end, &step)) {
        return false;
    }
    reader->shifted += pfa_unzigzag(step);
    if ((head->flags & PFA_BATCH_LIVE) != 0) {
        row->event.alloc_time = reader->shifted << head->shift;
        return true;
    }
    row->event.free_time = reader->shifted << head->shift;
    return read_life(reader, row);
}

static bool read_size(pfa_batch_reader_t *reader, pfa_event_t *event)
{
    uint64_t size;
    if ((reader->head.flags & PFA_BATCH_SIZES) == 0) {
        return true;
    }
    if (!pfa_number_get(&reader->sizes, reader->end, &size) || size > UINT64_MAX >> PFA_RECORD_SIZE_SHIFT) {
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

static bool get_from(pfa_batch_reader_t *reader, pfa_batch_column_t column, uint64_t *value)
{
    return pfa_number_get(&reader->columns[column], reader->column_ends[column], value);
}

static bool add_step(uint64_t step, uint32_t *value)
{
    *value += (uint32_t)pfa_unzigzag(step);
    return step <= UINT32_MAX;
}

static bool get_step(pfa_batch_reader_t *reader, pfa_batch_column_t column, uint32_t *value)
{
    uint64_t step;
    return get_from(reader, column, &step) && add_step(step, value);
}

/* The first and the last access as they were cut with all other times. */
static bool read_cut_times(pfa_batch_reader_t *reader, const pfa_event_t *event, pfa_event_accesses_t *accesses)
{
    uint32_t shift = reader->head.shift;
    bool live = (reader->head.flags & PFA_BATCH_LIVE) != 0;
    uint64_t born = event->alloc_time >> shift;
    uint64_t died = live ? UINT64_MAX >> shift : event->free_time >> shift;
    uint64_t first;
    uint64_t last;
    if (!get_from(reader, PFA_COLUMN_FIRSTS, &first) || !get_from(reader, PFA_COLUMN_LASTS, &last) || born > died ||
        first > died - born || last > died - born - first) {
        return false;
    }
    accesses->first = (born + first) << shift;
    accesses->last = (live ? born + first + last : died - last) << shift;
    return true;
}

static bool read_live_access_times(pfa_batch_reader_t *reader, uint64_t born, pfa_event_accesses_t *accesses)
{
    uint32_t shift = reader->head.shift;
    uint64_t first;
    uint64_t last;
    if (!get_from(reader, PFA_COLUMN_FIRSTS, &first) || !get_from(reader, PFA_COLUMN_LASTS, &last)) {
        return false;
    }
    first = pfa_length_of(first, shift);
    last = pfa_length_of(last, shift);
    accesses->first = first < UINT64_MAX - born ? born + first : UINT64_MAX;
    accesses->last = last < UINT64_MAX - accesses->first ? accesses->first + last : UINT64_MAX;
    return true;
}

/* Steps since the birth in ticks; none stay none. */
static uint64_t middle_of(uint64_t steps, uint32_t shift, uint64_t life)
{
    uint64_t length = steps == 0 ? 0 : (steps << shift) + ((uint64_t)1 << shift >> 1);
    return length < life ? length : life;
}

static bool read_access_times(pfa_batch_reader_t *reader, const pfa_batch_row_t *row, pfa_event_accesses_t *accesses)
{
    bool is_long = reader->steps >= PFA_BATCH_LONG;
    uint64_t most = is_long ? reader->steps : PFA_BATCH_SHARES;
    uint64_t first;
    uint64_t after;
    if ((reader->head.flags & PFA_BATCH_LENGTHS) == 0) {
        return read_cut_times(reader, &row->event, accesses);
    }
    if ((reader->head.flags & PFA_BATCH_LIVE) != 0) {
        return read_live_access_times(reader, row->event.alloc_time, accesses);
    }
    if (!get_from(reader, PFA_COLUMN_FIRSTS, &first) || !get_from(reader, PFA_COLUMN_LASTS, &after) || first > most ||
        after > most - first) {
        return false;
    }
    uint64_t last = most - after;
    if (is_long) {
        first = middle_of(first, reader->head.shift, row->life);
        last = middle_of(last, reader->head.shift, row->life);
    } else {
        first = (first * row->life + PFA_BATCH_SHARES / 2) / PFA_BATCH_SHARES;
        last = (last * row->life + PFA_BATCH_SHARES / 2) / PFA_BATCH_SHARES;
    }
    accesses->first = row->event.alloc_time + first;
    accesses->last = row->event.alloc_time + last;
    return true;
}

static bool read_accesses(pfa_batch_reader_t *reader, const pfa_batch_row_t *row, pfa_event_accesses_t *accesses)
{
    pfa_batch_past_t *past = &reader->pasts[row->kind % PFA_BATCH_PASTS];
    uint64_t rest;
    if (!get_step(reader, PFA_COLUMN_READS, &past->reads) || !get_step(reader, PFA_COLUMN_WRITES, &past->writes) ||
        !get_from(reader, PFA_COLUMN_RESTS, &rest)) {
        return false;
    }
    *accesses = (pfa_event_accesses_t){.reads = past->reads, .writes = past->writes};
    if (rest == 0) {
        return true;
    }
    uint64_t units = pfa_access_units(row->event.size_flags >> PFA_RECORD_SIZE_SHIFT);
    if (!add_step(rest - 1, &past->rest) || !get_step(reader, PFA_COLUMN_LOWS, &past->low) || past->rest >= units ||
        past->low >= units - past->rest) {
        return false;
    }
    accesses->low = past->low;
    accesses->length = (uint32_t)(units - past->rest - past->low);
    return read_access_times(reader, row, accesses);
}

static bool read_address(pfa_batch_reader_t *reader, pfa_batch_row_t *row)
{
    uint64_t step;
    uint64_t *place = &reader->places[row->kind % PFA_BATCH_PASTS];
    if (!reader->wants_addresses || (reader->head.flags & PFA_BATCH_ADDRESSES) == 0) {
        return true;
    }
    if (!pfa_number_get(&reader->addresses, reader->addresses_end, &step)) {
        return false;
    }
    *place += pfa_unzigzag(step);
    row->address = *place * PFA_ADDRESS_UNIT;
    return *place <= UINT64_MAX / PFA_ADDRESS_UNIT;
}

static bool addresses_are_read(const pfa_batch_reader_t *reader)
{
    return !reader->wants_addresses || reader->addresses == reader->addresses_end;
}

static bool columns_are_read(const pfa_batch_reader_t *reader)
{
    for (uint32_t i = 0; i < PFA_BATCH_COLUMNS; i++) {
        if (reader->columns[i] != reader->column_ends[i]) {
            return false;
        }
    }
    return true;
}

int pfa_batch_next(pfa_batch_reader_t *reader, const pfa_batch_kind_t *kinds, pfa_batch_row_t *row,
                   pfa_event_accesses_t *accesses)
{
    uint32_t at = reader->row;
    if (at == reader->head.rows) {
        return addresses_are_read(reader) && (accesses == NULL || columns_are_read(reader)) ? 0 : -1;
    }
    uint32_t number = reader->kind_of[at] | (uint32_t)reader->kind_of[reader->head.rows + at] << 8;
    if (number >= reader->head.kinds) {
        return -1;
    }
    const pfa_batch_kind_t *k = &kinds[number];
    *row = (pfa_batch_row_t){.event = {.size_flags = k->size_flags,
                                       .stack = k->stack,
                                       .free_stack = k->free_stack,
                                       .type_link = k->type & PFA_TYPE_MASK,
                                       .thread = k->thread,
                                       .tag = k->tag,
                                       .free_thread = k->free_thread,
                                       .last_thread = k->last_thread},
                             .kind = number};
    reader->row++;
    if (!read_size(reader, &row->event) || !read_times(reader, row) || !read_links(reader, &row->event) ||
        !read_address(reader, row)) {
        return -1;
    }
    if (accesses == NULL) {
        return 1;
    }
    if ((reader->head.flags & PFA_BATCH_ACCESSES) == 0) {
        *accesses = (pfa_event_accesses_t){.first = 0};
        return 1;
    }
    return read_accesses(reader, row, accesses) ? 1 : -1;
}

/* Numbers of one byte are by far the most. */
static inline bool get_number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    if (*at < end && **at < 0x80) {
        *value = *(*at)++;
        return true;
    }
    return pfa_number_get(at, end, value);
}

/* As read_links, of a death. */
static bool read_brief_links(pfa_batch_reader_t *reader, uint64_t flags, pfa_batch_brief_t *row)
{
    uint32_t made;
    if ((flags & PFA_EVENT_MOVED) != 0) {
        if (!get_link(reader, &row->moved_link)) {
            return false;
        }
        reader->link = row->moved_link;
    }
    if ((flags & PFA_RECORD_REALLOC) == 0) {
        return true;
    }
    if (!get_link(reader, &made)) {
        return false;
    }
    row->type_link |= made << PFA_TYPE_BITS;
    return true;
}

/* Of a life of so many steps; its code, if it has one, is the next of `lengths`. As read_life. */
static inline bool read_length(const uint8_t **lengths, const uint8_t *end, uint64_t steps, uint32_t shift,
                               pfa_batch_brief_t *row)
{
    uint64_t code;
    if (!get_number(lengths, end, &code) || code > pfa_length_code(2ull << shift, shift)) {
        return false;
    }
    row->life = pfa_length_of(pfa_length_base(steps, shift) + code, shift);
    return row->life <= (steps + 2) << shift && row->life <= UINT64_MAX - row->alloc_time;
}

uint32_t pfa_batch_deaths(pfa_batch_reader_t *reader, const pfa_batch_kind_t *kinds, pfa_batch_brief_t *rows)
{
    const uint32_t count = reader->head.rows;
    const uint32_t shift = reader->head.shift;
    const bool coded = (reader->head.flags & PFA_BATCH_LENGTHS) != 0 && shift != 0;
    const uint8_t *end = reader->end;
    const uint8_t *times = reader->times;
    const uint8_t *lives = reader->lives;
    const uint8_t *lengths = reader->lengths;
    uint64_t shifted = reader->shifted;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = reader->kind_of[i] | (uint32_t)reader->kind_of[count + i] << 8;
        uint64_t step;
        uint64_t steps;
        if (number >= reader->head.kinds || !get_number(&times, end, &step)) {
            return i;
        }
        shifted += pfa_unzigzag(step);
        if (!get_number(&lives, end, &steps) || steps > shifted) {
            return i;
        }
        pfa_batch_brief_t *row = &rows[i];
        const pfa_batch_kind_t *kind = &kinds[number];
        *row = (pfa_batch_brief_t){.alloc_time = (shifted - steps) << shift,
                                   .free_time = shifted << shift,
                                   .life = steps << shift,
                                   .kind = number,
                                   .type_link = kind->type & PFA_TYPE_MASK};
        if (coded && steps < PFA_BATCH_LONG && !read_length(&lengths, end, steps, shift, row)) {
            return i;
        }
        if ((kind->size_flags & (PFA_EVENT_MOVED | PFA_RECORD_REALLOC)) != 0 &&
            !read_brief_links(reader, kind->size_flags, row)) {
            return i;
        }
    }
    return count;
}
