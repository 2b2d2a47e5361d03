/* A trace again, with its moments cut as those of a trace with another time_step are:
 *     make_cut FROM TO NANOSECONDS
 * FROM has whole times. Lives, accesses and all else stay what they are, as far as the format keeps them, so that what is said of the
 * two can differ only by that. The first rows of a trace stay whole, as the writer does it. */
#include "analyze/trace/rows.h"
#include "analyze/trace/tracefile.h"
#include "export/format/batch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pfa_batch_t batch;
static pfa_batch_kind_t kinds[PFA_BATCH_ROWS];
static uint8_t bytes[sizeof(pfa_trace_live_t) + 256 + PFA_BATCH_SIZE_MAX];

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "make_cut: %s\n", what);
        exit(1);
    }
}

/* The batch at `from`, with moments cut by `shift`, to `to`; its new size. */
static size_t cut(const uint8_t *from, size_t size, uint32_t shift, uint8_t *to)
{
    pfa_batch_reader_t reader;
    pfa_batch_row_t row;
    pfa_event_accesses_t accesses;
    must(pfa_batch_open(&reader, from, size), "no batch");
    must(reader.head.shift == 0, "the times are cut already");
    reader.wants_addresses = true;
    for (uint32_t i = 0; i < reader.head.kinds; i++) {
        pfa_batch_kind_at(&reader, i, &kinds[i]);
    }
    pfa_batch_begin(&batch, shift, reader.head.flags);
    uint32_t segment = 0;
    uint32_t left = 0;
    for (uint32_t i = 0; i < reader.head.rows; i++, left--) {
        while (left == 0 && segment < reader.head.segments) {
            pfa_batch_segment_t is;
            pfa_batch_segment_at(&reader, segment++, &is);
            left = is.rows;
            must(pfa_batch_segment(&batch, is.ring, is.first), "too many segments");
        }
        must(pfa_batch_next(&reader, kinds, &row, &accesses) == 1, "a row that makes no sense");
        must(pfa_batch_add(&batch, &row.event, &accesses, row.address), "too many rows");
    }
    return pfa_batch_finish(&batch, to);
}

static void cut_block(pfa_tracefile_t *writer, const pfa_trace_t *trace, const pfa_block_t *block, uint32_t shift)
{
    pfa_bytes_t payload = {.bytes = NULL};
    pfa_trace_live_t live;
    const uint8_t *from;
    size_t size;
    must(pfa_block_load(trace->loader, block, &payload) == 0, "a block that cannot be read");
    if (block->kind == PFA_BLOCK_EVENTS) {
        size = cut(payload.bytes, payload.size, shift, bytes);
        pfa_tracefile_block(writer, PFA_BLOCK_EVENTS, block->time, bytes, size);
    } else {
        must(pfa_trace_live_batch(&payload, &live, &from, &size), "a picture that makes no sense");
        size_t head = (size_t)(from - payload.bytes);
        must(head <= sizeof live + 256, "a long name");
        memcpy(bytes, payload.bytes, head);
        size = cut(from, size, shift, bytes + head);
        pfa_tracefile_block(writer, PFA_BLOCK_LIVE, block->time, bytes, head + size);
    }
    pfa_bytes_free(&payload);
}

static uint32_t rows_of(const pfa_trace_t *trace, const pfa_block_t *block)
{
    pfa_bytes_t start = {.bytes = NULL};
    pfa_batch_head_t head;
    must(pfa_block_load_start(trace->loader, block, sizeof head, &start) == 0 && start.size >= sizeof head, "no head");
    memcpy(&head, start.bytes, sizeof head);
    pfa_bytes_free(&start);
    return head.rows;
}

/* As the writer chooses it. */
static uint32_t shift_of(const pfa_trace_t *trace, double nanoseconds)
{
    double hz = 0x1p30 / pfa_trace_seconds(trace, trace->start.counter + (1u << 30)); /* its start may not tell */
    uint64_t ticks = (uint64_t)(nanoseconds * hz / 1e9);
    return ticks == 0 ? 0 : 63u - (uint32_t)__builtin_clzll(ticks);
}

int main(int argc, char **argv)
{
    char *why = NULL;
    must(argc == 4, "make_cut FROM TO NANOSECONDS");
    pfa_trace_t *trace = pfa_trace_open(argv[1], NULL, &why);
    must(trace != NULL && trace->has_end, why != NULL ? why : "no trace, or it has no end");
    int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    uint32_t shift = shift_of(trace, atof(argv[3]));
    uint64_t rows = 0;
    pfa_tracefile_t writer;
    pfa_tracefile_begin(&writer, fd, NULL);
    for (size_t i = 0; i < trace->blocks.count; i++) {
        const pfa_block_t *block = &trace->blocks.list[i];
        bool is_first = block->kind == PFA_BLOCK_EVENTS && rows < PFA_BATCH_EXACT_ROWS;
        rows += block->kind == PFA_BLOCK_EVENTS ? rows_of(trace, block) : 0;
        if (!is_first && (block->kind == PFA_BLOCK_EVENTS || block->kind == PFA_BLOCK_LIVE)) {
            cut_block(&writer, trace, block, shift);
        } else if (block->kind != PFA_BLOCK_END) {
            pfa_tracefile_copy(&writer, trace->fd, block);
        }
    }
    pfa_tracefile_end(&writer, (pfa_end_t)trace->end.how, trace->last_time);
    must(writer.error == 0 && fd >= 0 && close(fd) == 0, "it could not be written");
    pfa_tracefile_free(&writer);
    pfa_trace_close(trace);
    return 0;
}
