/* A batch: many events of a trace in columns, as the payload of EVENTS and LIVE blocks.
 *
 *   pfa_batch_head_t
 *   pfa_batch_segment_t each      which entries of which ring these rows are, in order
 *   kinds, byte by byte           all that events have in common (pfa_batch_kind_t), each kind once with its number of
 *                                 rows: first byte 0 of all kinds, then byte 1 of all, ... These are a block's summary:
 *                                 the totals of allocation points come from here without a look at the rows
 *   kind of each row              low bytes of all rows, then high bytes
 *   sizes                         of each row, LEB128, if PFA_BATCH_SIZES is set; then kinds have the size 0. For programs
 *                                 that ask for so many sizes that most rows would have a kind of their own
 *   times                         of each row the free time less that of the row before, zigzag, LEB128
 *   lives                         how long the chunks lived: the size of what follows (u32); of each row the free time less the
 *                                 allocation time, LEB128; then, where times are cut, of each row for which that is less than
 *                                 PFA_BATCH_LONG, the code of its life (numbers.h) less the lowest it can be, LEB128
 *   links                         of each row that realloc ended the number of that realloc, less the one before it in
 *                                 this column; then, of each row that realloc made, likewise, less the last of an ended
 *                                 one. Differences as signed numbers of 12 bits, zigzag, LEB128
 *
 *   accesses                      if PFA_BATCH_ACCESSES is set: pfa_batch_access_head_t and its columns (pfa_batch_column_t),
 *                                 LEB128, each row's in the order of rows. Chunks of a kind are mostly used alike: numbers
 *                                 are less those of the last row of the kind (or of another one whose number has the same
 *                                 low bits, PFA_BATCH_PASTS), as signed numbers of 32 bits, zigzag
 *
 *   addresses                     if PFA_BATCH_ADDRESSES is set: the size of what follows (u32); of each row the address of its
 *                                 chunk / 8, less that of the last row of the kind, as above; zigzag, LEB128. 0: not known
 *
 * Moments are cut by `shift` bits before all this; 0 keeps them whole. Births and deaths are cut alike, so that none comes
 * before what was before it; at worst they come together. Lengths are finer than that: a life is known to 1 in 32 or to a
 * step, whichever is less, and its accesses to 1 in 64 of it more, or to a step. So the moment of an access is told as that of
 * the birth, as cut, and how long after it.
 *
 * Where PFA_BATCH_LENGTHS is not set (version 1 of the trace), lives are free times less allocation times, both cut, and times
 * of accesses are cut likewise.
 *
 * A batch of live chunks has allocation times in `times` and no lives; its rows are sorted by kind and time, and each number
 * in `links` is less the one before. A final picture that deaths may follow (PFA_BATCH_AFTER_LIVE) has whole times, and so
 * have those deaths. A picture of more than PFA_BATCH_EXACT_ROWS chunks has births that are cut to a step, so that
 * the age of a chunk is known to a step: well, but for those that were born within the last steps before it. Scores take the
 * picture's time for the chunk's death; no chunk dies there. Accesses within the age are told as codes.
 *
 * Everything here works in memory that the caller gives. The decoder trusts nothing it reads. */
#ifndef PFA_EXPORT_FORMAT_BATCH_H
#define PFA_EXPORT_FORMAT_BATCH_H

#include "live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFA_BATCH_ROWS 32768u
#define PFA_BATCH_SEGMENTS 4096u
#define PFA_BATCH_SHIFT_MAX 40u
#define PFA_BATCH_EXACT_ROWS 4096u /* while a trace, or a picture, has no more, its times are whole */

#define PFA_BATCH_LIVE 1u /* live chunks */
#define PFA_BATCH_AFTER_LIVE                                                                                           \
    2u                          /* deaths that may be of chunks in the final picture: they count, the picture's rows of
                                   the same thread and allocation time do not */
#define PFA_BATCH_SIZES 4u      /* sizes have a column of their own; of deaths alone */
#define PFA_BATCH_ACCESSES 8u   /* what was done with the chunks is told */
#define PFA_BATCH_LENGTHS 16u   /* lives are told as lengths, whatever the moments are cut by; every encoder sets it */
#define PFA_BATCH_ADDRESSES 32u /* where the chunks lay is told */

#define PFA_BATCH_LONG 32u   /* a life of so many steps is known well by them alone: to one of them */
#define PFA_BATCH_SHARES 32u /* accesses of a shorter one are told in such shares of it */

typedef struct pfa_batch_head {
    uint32_t rows;
    uint32_t segments;
    uint32_t kinds;
    uint32_t flags;
    uint64_t first_time; /* lowest and highest free time, whole */
    uint64_t last_time;
    uint32_t shift;
    uint32_t times_size;
    uint32_t lives_size;
    uint32_t links_size;
    uint32_t sizes_size;
    uint32_t accesses_size; /* head and columns */
} pfa_batch_head_t;
_Static_assert(sizeof(pfa_batch_head_t) == 56, "layout as written");

typedef struct pfa_batch_segment {
    uint64_t first; /* number of the entry in its ring */
    uint32_t ring;
    uint32_t rows;
} pfa_batch_segment_t;

typedef struct pfa_batch_kind {
    uint64_t size_flags;
    uint32_t stack;
    uint32_t free_stack;
    uint32_t type;
    uint16_t thread;
    uint16_t tag;
    uint16_t free_thread;
    uint16_t last_thread;
    uint32_t rows;
} pfa_batch_kind_t;
_Static_assert(sizeof(pfa_batch_kind_t) == 32, "no padding: kinds are compared as bytes");

typedef enum pfa_batch_column {
    PFA_COLUMN_READS,
    PFA_COLUMN_WRITES,
    PFA_COLUMN_RESTS, /* 0: not touched, and nothing of it in the columns below; else 1 and how much lies behind the last
                        * byte touched, in units (pfa_access_unit): mostly nothing */
    PFA_COLUMN_LOWS,  /* the first byte touched, likewise */
    PFA_COLUMN_FIRSTS, /* from the birth to the first access, and */
    PFA_COLUMN_LASTS, /* from the last to the death: shares of the life (PFA_BATCH_SHARES), of a long one (PFA_BATCH_LONG)
                        * steps. Of live chunks the second is from the first access to the last, and both are codes */
    PFA_BATCH_COLUMNS
} pfa_batch_column_t;

typedef struct pfa_batch_access_head {
    uint32_t sizes[PFA_BATCH_COLUMNS];
} pfa_batch_access_head_t;
_Static_assert(sizeof(pfa_batch_access_head_t) == 24, "layout as written");

/* What the last row of a kind had. */
#define PFA_BATCH_PASTS 256u
typedef struct pfa_batch_past {
    uint32_t reads;
    uint32_t writes;
    uint32_t rest;
    uint32_t low;
} pfa_batch_past_t;

/* The longest that an encoded batch can be. */
#define PFA_BATCH_SIZE_MAX                                                                                             \
    (sizeof(pfa_batch_head_t) + PFA_BATCH_SEGMENTS * sizeof(pfa_batch_segment_t) + sizeof(pfa_batch_access_head_t) +   \
     2 * sizeof(uint32_t) +                                                                                            \
     PFA_BATCH_ROWS * (sizeof(pfa_batch_kind_t) + 2 + 7 + 10 + 10 + 2 + 4 + 4 * 5 + 2 * 10 + 10))

#define PFA_BATCH_SLOTS (2 * PFA_BATCH_ROWS)
_Static_assert(PFA_BATCH_ROWS <= 1u << 16, "the number of a kind has 16 bits");
_Static_assert((PFA_BATCH_SHIFT_MAX << 4) + 32 < 1u << 14, "a code of a life takes two bytes at most");

/* A live chunk that waits to be sorted. */
typedef struct pfa_batch_alive {
    uint64_t time;
    uint16_t kind;
    uint16_t row; /* as it was added */
    uint32_t link;
} pfa_batch_alive_t;
_Static_assert(sizeof(pfa_batch_alive_t) == 16, "many of them are moved");

/* An encoder, about 8 MiB, of which 3 are touched only for accesses; in zeroed memory it is ready for pfa_batch_begin. */
typedef struct pfa_batch {
    pfa_batch_head_t head;
    uint64_t last_shifted;
    uint32_t last_link;
    uint32_t stamp; /* of the slots that are of this batch */
    uint32_t lengths_size;
    uint32_t addresses_size;
    pfa_batch_segment_t segments[PFA_BATCH_SEGMENTS];
    pfa_batch_kind_t kinds[PFA_BATCH_ROWS];
    uint32_t slots[PFA_BATCH_SLOTS]; /* stamp << 16 | kind: small, so that they stay in the cache */
    uint16_t kind_of[PFA_BATCH_ROWS];
    uint8_t sizes[PFA_BATCH_ROWS * 7];
    uint8_t times[PFA_BATCH_ROWS * 10];
    uint8_t lives[PFA_BATCH_ROWS * 10];  /* in steps, */
    uint8_t lengths[PFA_BATCH_ROWS * 2]; /* and in codes */
    uint8_t links[PFA_BATCH_ROWS * 4];
    pfa_batch_alive_t alive[2][PFA_BATCH_ROWS];    /* and room to sort them */
    pfa_event_accesses_t accesses[PFA_BATCH_ROWS]; /* theirs, as they were added */
    pfa_batch_access_head_t access_head;
    pfa_batch_past_t pasts[PFA_BATCH_PASTS];
    uint8_t columns[PFA_BATCH_COLUMNS][PFA_BATCH_ROWS * 10];
    uint64_t places[PFA_BATCH_PASTS];  /* addresses / 8 of the last rows of kinds */
    uint64_t alive_at[PFA_BATCH_ROWS]; /* addresses of live chunks, as they were added */
    uint8_t addresses[PFA_BATCH_ROWS * 10];
} pfa_batch_t;

/* One row of it. */
pfa_batch_kind_t pfa_batch_kind_of(const pfa_event_t *event);

void pfa_batch_begin(pfa_batch_t *batch, uint32_t shift, uint32_t flags);
/* The next rows are the entries of `ring` from `first` on. False: no room for another segment. */
bool pfa_batch_segment(pfa_batch_t *batch, uint32_t ring, uint64_t first);
/* False: the batch is full. Accesses are for a batch with PFA_BATCH_ACCESSES; NULL: the chunk was not touched. The address is
 * for one with PFA_BATCH_ADDRESSES. */
bool pfa_batch_add(pfa_batch_t *batch, const pfa_event_t *event, const pfa_event_accesses_t *accesses,
                   uint64_t address);
/* Of a batch of live chunks another shift than it was begun with. */
void pfa_batch_set_shift(pfa_batch_t *batch, uint32_t shift);
/* Writes the batch to `out`, of at least PFA_BATCH_SIZE_MAX bytes, and returns its length. */
size_t pfa_batch_finish(pfa_batch_t *batch, uint8_t *out);

/* A decoder; points into the bytes it was opened on. */
typedef struct pfa_batch_reader {
    pfa_batch_head_t head;
    const uint8_t *segments;
    const uint8_t *kinds;
    const uint8_t *kind_of;
    const uint8_t *sizes;
    const uint8_t *times;
    const uint8_t *lives;
    const uint8_t *lengths;
    const uint8_t *links;
    const uint8_t *end;
    uint64_t shifted; /* of the last row */
    uint64_t steps;   /* that it lived */
    uint32_t link;
    uint32_t row;
    const uint8_t *columns[PFA_BATCH_COLUMNS]; /* of accesses */
    const uint8_t *column_ends[PFA_BATCH_COLUMNS];
    pfa_batch_past_t pasts[PFA_BATCH_PASTS];
    bool wants_addresses; /* the caller's, before the first row; else those of rows are 0 */
    const uint8_t *addresses;
    const uint8_t *addresses_end;
    uint64_t places[PFA_BATCH_PASTS];
} pfa_batch_reader_t;

/* False if this is no batch. Kinds' rows are checked to add up. */
bool pfa_batch_open(pfa_batch_reader_t *reader, const void *bytes, size_t size);
void pfa_batch_segment_at(const pfa_batch_reader_t *reader, uint32_t index, pfa_batch_segment_t *segment);
void pfa_batch_kind_at(const pfa_batch_reader_t *reader, uint32_t index, pfa_batch_kind_t *kind);
/* All kinds, in order. */
void pfa_batch_kinds(const pfa_batch_reader_t *reader, pfa_batch_kind_t *kinds);
/* A row as it is read. */
typedef struct pfa_batch_row {
    pfa_event_t event; /* moments, cut */
    uint64_t life;     /* of a death, in ticks: not the difference of the two */
    uint64_t address;  /* 0: not known, or not asked for */
    uint32_t kind;
} pfa_batch_row_t;

/* A row without what its kind has. */
typedef struct pfa_batch_brief {
    uint64_t alloc_time;
    uint64_t free_time; /* UINT64_MAX of a live chunk */
    uint64_t life;      /* in ticks; 0 of a live chunk */
    uint32_t kind;
    uint32_t type_link; /* links of reallocs, as in pfa_event_t */
    uint32_t moved_link;
    bool told; /* its accesses are known: left to the caller */
} pfa_batch_brief_t;

/* All rows of a batch of deaths whose kinds have their sizes, without accesses and addresses: how many there are before the bytes make no
 * sense, if they do not. `rows` has room for head.rows of them. */
uint32_t pfa_batch_deaths(pfa_batch_reader_t *reader, const pfa_batch_kind_t *kinds, pfa_batch_brief_t *rows);
/* The next row, with `kinds` as pfa_batch_kind_at gave them, all of them in order. 1: here it is, 0: there are no more,
 * -1: the bytes make no sense. Accesses are zeros where the batch has none; they are asked for of all rows, or, with NULL,
 * of none. */
int pfa_batch_next(pfa_batch_reader_t *reader, const pfa_batch_kind_t *kinds, pfa_batch_row_t *row,
                   pfa_event_accesses_t *accesses);

#endif
