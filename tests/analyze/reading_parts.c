/* Reads the live chunks of a trace's live table in parts, by several threads, and as a walk does by one; for tests/analyze/sessions.py:
 *
 *   reading_parts TRACE    ends with 0 if both tell the same; then standard output has the chunks and those that were doubted */
#include "analyze/base/memory.h"
#include "analyze/base/workers.h"
#include "analyze/trace/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };

/* Sums that do not depend on the order. */
typedef struct sums {
    uint64_t rows;
    uint64_t of_kinds; /* rows, as kinds tell them */
    uint64_t sum;
    double weights;
} sums_t;

static uint32_t take_kind(void *to, const pfa_batch_kind_t *kind, double weight, bool live)
{
    sums_t *sums = to;
    (void)weight;
    sums->of_kinds += live ? kind->rows : 0;
    return kind->stack ^ (uint32_t)(kind->size_flags >> PFA_RECORD_SIZE_SHIFT);
}

static void take_row(void *to, uint32_t kind, const pfa_row_t *row, double weight, bool live)
{
    sums_t *sums = to;
    uint64_t mixed = 0;
    if (!live) {
        return;
    }
    const uint64_t words[] = {row->event.alloc_time,
                              row->event.free_time,
                              row->event.size_flags,
                              (uint64_t)row->event.stack << 32 | row->event.type_link,
                              (uint64_t)row->event.thread << 32 | (uint64_t)row->event.tag << 16 |
                                  row->event.last_thread,
                              row->told,
                              row->told ? row->accesses.first ^ row->accesses.last : 0,
                              row->told ? (uint64_t)row->accesses.reads << 32 | row->accesses.writes : 0,
                              kind};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        mixed = pfa_checksum_mix(mixed, words[i]);
    }
    sums->rows++;
    sums->sum += mixed;
    sums->weights += weight;
}

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "reading_parts: %s\n", what);
        exit(1);
    }
}

static sums_t read_table(const pfa_trace_t *trace, bool accesses)
{
    sums_t sums = {.rows = 0};
    pfa_visitor_t visitor = {.to = &sums, .accesses = accesses, .kind = take_kind, .row = take_row};
    pfa_rows_t *rows = pfa_rows_begin(trace, &visitor, false);
    must(pfa_rows_table(rows) == 0, "the table cannot be read");
    pfa_rows_end(rows);
    return sums;
}

typedef struct reading {
    pfa_part_reader_t *readers[THREADS];
} reading_t;

static void read_part(void *to, size_t number, unsigned worker)
{
    const reading_t *reading = to;
    must(pfa_part_read(reading->readers[worker], number) == 0, "a part cannot be read");
}

static sums_t read_parts(const pfa_trace_t *trace, bool accesses, unsigned threads, uint64_t *doubted)
{
    reading_t reading = {.readers = {NULL}};
    sums_t sums[THREADS] = {{.rows = 0}};
    pfa_visitor_t visitors[THREADS];
    pfa_parts_t *parts = pfa_parts_new(trace);
    pfa_workers_t *workers = pfa_workers_new(threads);
    for (unsigned i = 0; i < threads; i++) {
        visitors[i] = (pfa_visitor_t){.to = &sums[i], .accesses = accesses, .kind = take_kind, .row = take_row};
        reading.readers[i] = pfa_part_reader_new(parts, &visitors[i]);
    }
    pfa_workers_run(workers, pfa_parts_count(parts), read_part, &reading);
    uint64_t before = sums[0].rows;
    while (pfa_parts_doubts(reading.readers, threads)) {
    }
    *doubted = sums[0].rows - before;
    for (unsigned i = 0; i < threads; i++) {
        pfa_part_reader_free(reading.readers[i]);
        sums[0].rows += i != 0 ? sums[i].rows : 0;
        sums[0].of_kinds += i != 0 ? sums[i].of_kinds : 0;
        sums[0].sum += i != 0 ? sums[i].sum : 0;
        sums[0].weights += i != 0 ? sums[i].weights : 0;
    }
    pfa_workers_free(workers);
    pfa_parts_free(parts);
    return sums[0];
}

static void compare(void *to)
{
    char *why;
    uint64_t doubted = 0;
    uint64_t rows = 0;
    pfa_trace_t *trace = pfa_trace_open(to, NULL, &why);
    must(trace != NULL && trace->live != NULL, "there is no trace with a live table");
    for (int accesses = 0; accesses < 2; accesses++) {
        sums_t whole = read_table(trace, accesses);
        for (unsigned threads = 1; threads <= THREADS; threads += THREADS - 1) {
            sums_t sums = read_parts(trace, accesses, threads, &doubted);
            rows = sums.rows;
            must(sums.rows == whole.rows && sums.sum == whole.sum, "parts tell other rows");
            must(sums.of_kinds == sums.rows, "kinds have another number of rows");
            double apart = sums.weights - whole.weights;
            must(apart <= 1e-9 * whole.weights && apart >= -1e-9 * whole.weights, "parts tell other weights");
        }
    }
    printf("%zu %zu\n", (size_t)rows, (size_t)doubted);
    pfa_trace_close(trace);
}

int main(int argc, char **argv)
{
    pfa_memory_t *memory = pfa_memory_new();
    if (argc != 2 || memory == NULL || pfa_memory_work(memory, compare, argv[1]) != 0) {
        return 1;
    }
    pfa_memory_delete(memory);
    return 0;
}
