/* The chunks that are alive in a live table, in parts that any threads read: as pfa_rows_table (analyze/trace/rows.h) tells them, but by kinds, as
 * a batch has them, and without the places where they lie.
 *
 *   parts    where records are; made once, and then only read
 *   reader   what a thread reads parts with
 *   doubt    a record that could be of a chunk that died: the table is to say so of as many as died, in its order, so that these few are
 *            told once all parts are read */
#ifndef PFA_ANALYZE_TRACE_PARTS_H
#define PFA_ANALYZE_TRACE_PARTS_H

#include "analyze/trace/rows.h"

typedef struct pfa_parts pfa_parts_t;
typedef struct pfa_part_reader pfa_part_reader_t;

/* Of a trace without a live table there is none. */
pfa_parts_t *pfa_parts_new(const pfa_trace_t *trace);
void pfa_parts_free(pfa_parts_t *parts);
size_t pfa_parts_count(const pfa_parts_t *parts);
/* The last moment that records of a part tell, of chunks that died, too: by any thread. */
uint64_t pfa_parts_last(const pfa_parts_t *parts, size_t number);

/* The parts and the visitor have to stay. */
pfa_part_reader_t *pfa_part_reader_new(const pfa_parts_t *parts, const pfa_visitor_t *visitor);
void pfa_part_reader_free(pfa_part_reader_t *reader);
/* Tells the chunks of a part, some thousand at most: kinds with their number of rows, then the rows of all of them in the order of the
 * table. 0, or the error number of a file that can no longer be read. */
int pfa_part_read(pfa_part_reader_t *reader, size_t number);
/* Once all parts are read: tells what is left of doubts, those of all these readers, by the first of them. Each call tells some
 * thousand at most; true: there are more. What is told does not depend on who read which part. */
bool pfa_parts_doubts(pfa_part_reader_t *const *readers, size_t count);

#endif
