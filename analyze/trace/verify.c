/* Owns the finding of whole blocks in a file: where they are to be looked for, and which of them have the right checksums. See
 * analyze/trace/blocks.h.
 *
 *   index   what the last block says of those before it; else their headers, one behind the other, say it as well
 *   run     blocks one behind the other, which are read and verified by one thread
 *
 * Runs are verified on all processors. From the first block on that is not what was said of it, the file is searched byte by byte, as if
 * nobody had said anything: a scan from the start finds the same blocks up to there, since it looks in the same places. */
#include "analyze/base/memory.h"
#include "analyze/base/progress.h"
#include "analyze/base/workers.h"
#include "analyze/trace/blocks.h"

#include <errno.h>
#include <string.h>

enum { SEARCH_STEP = 1 << 20 };
/* A payload is at most so much longer than what is stored of it: nobody gets much memory for few bytes. */
enum { RATIO_MAX = 4096, RATIO_FREE = 1 << 20 };
#define STORED_MOST (2 * (uint64_t)PFA_BLOCK_RAW_MAX)
/* Bytes of a run, unless it is one block alone; and so many are verified from one call of progress to the next. */
enum { RUN_SIZE = 1 << 20, RUNS = 32 };
/* The last block is looked for from the end of the file on in steps that grow, up to so far. */
enum { TAIL_FIRST = 16 << 10, TAIL_GROWS = 8, TAIL_MOST = 1 << 20 };
enum { ENDS_MOST = 8 }; /* so many places that look like it have their checksums computed */

/* Blocks as they are said to be, and as they are found to be. */
typedef struct verifying {
    int fd;
    pfa_blocks_t *blocks;
    pfa_trace_index_t *said;
    size_t count;
    size_t room;
    pfa_block_header_t *headers; /* of a round, by number in it */
    size_t header_room;
    size_t first;            /* of the round */
    size_t starts[RUNS + 1]; /* of runs: the number of the first block */
    size_t whole[RUNS];      /* so many at the beginning of each are as they are said to be */
    pfa_bytes_t bytes[PFA_WORKERS_MOST];
} verifying_t;

static bool sizes_plausible(const pfa_block_header_t *header, uint64_t left)
{
    if (header->stored_size > left || header->raw_size > PFA_BLOCK_RAW_MAX) {
        return false;
    }
    if ((header->flags & PFA_BLOCK_COMPRESSED) == 0) {
        return header->raw_size == header->stored_size;
    }
    return header->raw_size <= RATIO_FREE + (uint64_t)RATIO_MAX * header->stored_size &&
           header->stored_size <= STORED_MOST;
}

/* Whether a whole block is at `offset`. *wasted grows by what was read in vain. */
static int verify(int fd, uint64_t offset, uint64_t size, pfa_bytes_t *payload, pfa_block_header_t *header,
                  uint64_t *wasted)
{
    if (size - offset < sizeof *header) {
        return ENODATA;
    }
    int error = pfa_file_read(fd, header, sizeof *header, offset);
    if (error != 0) {
        return error;
    }
    if (header->magic != PFA_BLOCK_MAGIC || !sizes_plausible(header, size - offset - sizeof *header)) {
        return EBADMSG;
    }
    pfa_bytes_room(payload, header->stored_size);
    error = pfa_file_read(fd, payload->bytes, header->stored_size, offset + sizeof *header);
    if (error == 0 && pfa_block_checksum(header, payload->bytes) != header->checksum) {
        error = EBADMSG;
    }
    *wasted += error != 0 ? header->stored_size : 0;
    return error;
}

/* The part of the file that the search for a magic number has read: bytes.size of it from `offset` on. */
typedef struct search {
    pfa_bytes_t bytes;
    uint64_t offset;
} search_t;

static bool read_part(search_t *search, int fd, uint64_t offset, uint64_t size, uint64_t *wasted)
{
    pfa_bytes_room(&search->bytes, SEARCH_STEP);
    search->offset = offset;
    search->bytes.size = size - offset < SEARCH_STEP ? (size_t)(size - offset) : SEARCH_STEP;
    *wasted += search->bytes.size;
    if (pfa_file_read(fd, search->bytes.bytes, search->bytes.size, offset) != 0) {
        search->bytes.size = 0;
    }
    return search->bytes.size != 0;
}

/* The next place from `offset` on where a block's magic number is, or `size`. Offsets only grow from call to call. */
static uint64_t find_magic(search_t *search, int fd, uint64_t offset, uint64_t size, uint64_t *wasted)
{
    static const uint32_t magic = PFA_BLOCK_MAGIC;
    while (offset < size && size - offset >= sizeof magic) {
        uint64_t end = search->offset + search->bytes.size;
        if ((offset >= end || end - offset < sizeof magic) && !read_part(search, fd, offset, size, wasted)) {
            break;
        }
        size_t from = (size_t)(offset - search->offset);
        const uint8_t *bytes = search->bytes.bytes;
        const uint8_t *found = memmem(bytes + from, search->bytes.size - from, &magic, sizeof magic);
        if (found != NULL) {
            return search->offset + (uint64_t)(found - bytes);
        }
        offset = search->offset + search->bytes.size - (sizeof magic - 1);
    }
    return size;
}

static pfa_block_t block_of(const pfa_block_header_t *header, uint64_t offset)
{
    return (pfa_block_t){.offset = offset,
                         .time = header->time,
                         .raw_size = header->raw_size,
                         .stored_size = header->stored_size,
                         .kind = header->kind,
                         .flags = header->flags};
}

static void add_block(pfa_blocks_t *blocks, const pfa_block_header_t *header, uint64_t offset)
{
    blocks->list = pfa_memory_grow(blocks->list, &blocks->room, blocks->count + 1, sizeof *blocks->list);
    blocks->list[blocks->count++] = block_of(header, offset);
    blocks->damages += offset != blocks->end;
    blocks->skipped += offset - blocks->end;
    blocks->end = offset + sizeof *header + header->stored_size;
}

/* What the last block of the file says of those before it, if its checksum is right and it ends with the file. */
static bool find_end(int fd, uint64_t size, pfa_block_header_t *header, uint64_t *offset)
{
    size_t most = size < TAIL_MOST ? (size_t)size : TAIL_MOST;
    uint8_t *tail = pfa_memory_get(most, 1);
    size_t had = 0;
    unsigned ends = 0;
    bool found = false;
    for (size_t step = TAIL_FIRST; !found && had < most; step *= TAIL_GROWS) {
        size_t has = step < most ? step : most;
        if (pfa_file_read(fd, tail + most - has, has - had, size - has) != 0) {
            break;
        }
        for (size_t left = had > sizeof *header ? had : sizeof *header; !found && left <= has; left++) {
            memcpy(header, tail + most - left, sizeof *header);
            found = header->magic == PFA_BLOCK_MAGIC && header->kind == PFA_BLOCK_END &&
                    header->stored_size == left - sizeof *header && sizes_plausible(header, left - sizeof *header) &&
                    ends++ < ENDS_MOST &&
                    pfa_block_checksum(header, tail + most - left + sizeof *header) == header->checksum;
            *offset = size - left;
        }
        had = has;
    }
    pfa_memory_free(tail);
    return found;
}

/* Whether entries lie one behind the other, from the first byte to the block that has them. */
static bool is_gapless(const pfa_trace_index_t *said, size_t count, uint64_t end)
{
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (said[i].offset != at || said[i].size < sizeof(pfa_block_header_t) || said[i].size > end - at ||
            said[i].size - sizeof(pfa_block_header_t) > STORED_MOST) {
            return false;
        }
        at += said[i].size;
    }
    return at == end;
}

/* False: there is no index, or none that could be right. */
static bool read_index(verifying_t *verifying, const pfa_block_header_t *header, uint64_t offset)
{
    pfa_block_t block = block_of(header, offset);
    pfa_bytes_t payload = {.bytes = NULL};
    pfa_trace_end_t end;
    pfa_loader_t *loader = pfa_loader_new(verifying->fd);
    bool right = pfa_block_load(loader, &block, &payload) == 0 && payload.size > sizeof end;
    if (right) {
        memcpy(&end, payload.bytes, sizeof end);
        right = end.blocks == (payload.size - sizeof end) / sizeof *verifying->said &&
                (payload.size - sizeof end) % sizeof *verifying->said == 0;
    }
    if (right) {
        verifying->said = pfa_memory_copy(payload.bytes + sizeof end, payload.size - sizeof end);
        verifying->count = end.blocks;
        right = is_gapless(verifying->said, verifying->count, offset);
    }
    pfa_loader_free(loader);
    pfa_bytes_free(&payload);
    return right;
}

/* What headers say, up to the first that makes no sense. */
static void read_headers(verifying_t *verifying)
{
    uint64_t size = verifying->blocks->size;
    pfa_block_header_t header;
    verifying->count = 0;
    for (uint64_t at = 0; size - at >= sizeof header;) {
        if (pfa_file_read(verifying->fd, &header, sizeof header, at) != 0 || header.magic != PFA_BLOCK_MAGIC ||
            !sizes_plausible(&header, size - at - sizeof header)) {
            break;
        }
        uint32_t whole = (uint32_t)sizeof header + header.stored_size;
        verifying->said =
            pfa_memory_grow(verifying->said, &verifying->room, verifying->count + 1, sizeof *verifying->said);
        verifying->said[verifying->count++] = (pfa_trace_index_t){.offset = at, .kind = header.kind, .size = whole};
        at += whole;
    }
}

static bool is_as_said(const pfa_block_header_t *header, const pfa_trace_index_t *said)
{
    return header->magic == PFA_BLOCK_MAGIC && header->kind == said->kind &&
           header->stored_size == said->size - sizeof *header && sizes_plausible(header, header->stored_size);
}

/* A block that an index says to be large is not read unless its header says so, too. */
static bool may_be_large(const verifying_t *verifying, const pfa_trace_index_t *said)
{
    pfa_block_header_t header;
    return pfa_file_read(verifying->fd, &header, sizeof header, said->offset) == 0 && is_as_said(&header, said);
}

/* A task: the number of a run. */
static void verify_run(void *to, size_t number, unsigned worker)
{
    verifying_t *verifying = to;
    pfa_bytes_t *bytes = &verifying->bytes[worker];
    const pfa_trace_index_t *first = &verifying->said[verifying->starts[number]];
    const pfa_trace_index_t *behind = &verifying->said[verifying->starts[number + 1]];
    size_t size = (size_t)(behind[-1].offset + behind[-1].size - first->offset);
    if (size > RUN_SIZE && !may_be_large(verifying, first)) {
        return;
    }
    pfa_bytes_room(bytes, size);
    if (pfa_file_read(verifying->fd, bytes->bytes, size, first->offset) != 0) {
        return;
    }
    for (const pfa_trace_index_t *said = first; said < behind; said++) {
        const uint8_t *at = bytes->bytes + (said->offset - first->offset);
        pfa_block_header_t *header = &verifying->headers[said - verifying->said - (ptrdiff_t)verifying->first];
        memcpy(header, at, sizeof *header);
        if (!is_as_said(header, said) || pfa_block_checksum(header, at + sizeof *header) != header->checksum) {
            return;
        }
        verifying->whole[number]++;
    }
    if (bytes->room > 2 * RUN_SIZE) { /* one was large: each thread would keep so much */
        pfa_bytes_free(bytes);
    }
}

/* The next round begins with this block: how many runs it has. */
static size_t plan_round(verifying_t *verifying, size_t first)
{
    size_t runs = 0;
    size_t next = first;
    verifying->first = first;
    while (runs < RUNS && next < verifying->count) {
        uint64_t start = verifying->said[next].offset;
        verifying->starts[runs] = next;
        verifying->whole[runs++] = 0;
        do {
            next++;
        } while (next < verifying->count &&
                 verifying->said[next].offset + verifying->said[next].size - start <= RUN_SIZE);
    }
    verifying->starts[runs] = next;
    verifying->headers =
        pfa_memory_grow(verifying->headers, &verifying->header_room, next - first + 1, sizeof *verifying->headers);
    return runs;
}

/* Adds what is as it is said to be; false: not all of it is. */
static bool add_round(const verifying_t *verifying, size_t runs)
{
    for (size_t i = 0; i < runs; i++) {
        for (size_t j = 0; j < verifying->whole[i]; j++) {
            size_t number = verifying->starts[i] + j;
            add_block(verifying->blocks, &verifying->headers[number - verifying->first],
                      verifying->said[number].offset);
        }
        if (verifying->whole[i] != verifying->starts[i + 1] - verifying->starts[i]) {
            return false;
        }
    }
    return true;
}

static bool verify_said(verifying_t *verifying, unsigned threads, pfa_progress_t *progress)
{
    pfa_workers_t *workers = pfa_workers_new(threads);
    bool right = true;
    for (size_t next = 0; right && next < verifying->count;) {
        uint64_t before = verifying->blocks->end;
        size_t runs = plan_round(verifying, next);
        next = verifying->starts[runs];
        pfa_workers_run(workers, runs, verify_run, verifying);
        right = add_round(verifying, runs);
        pfa_progress_step(progress, verifying->blocks->end - before);
    }
    pfa_workers_free(workers);
    return right;
}

/* All blocks from the start on that are where they are said to be, and whole. */
static void verify_start(int fd, unsigned threads, pfa_progress_t *progress, pfa_blocks_t *blocks)
{
    verifying_t *verifying = pfa_memory_get(1, sizeof *verifying);
    pfa_block_header_t end;
    uint64_t offset = 0;
    verifying->fd = fd;
    verifying->blocks = blocks;
    bool indexed = find_end(fd, blocks->size, &end, &offset) && read_index(verifying, &end, offset);
    if (!indexed) {
        pfa_memory_free(verifying->said);
        verifying->said = NULL;
        read_headers(verifying);
    }
    if (verify_said(verifying, threads, progress) && indexed) {
        add_block(blocks, &end, offset);
        pfa_progress_step(progress, blocks->size - offset);
    }
    for (unsigned i = 0; i < PFA_WORKERS_MOST; i++) {
        pfa_bytes_free(&verifying->bytes[i]);
    }
    pfa_memory_free(verifying->headers);
    pfa_memory_free(verifying->said);
    pfa_memory_free(verifying);
}

int pfa_blocks_scan(int fd, const pfa_watch_t *watch, unsigned threads, pfa_blocks_t *blocks)
{
    uint64_t size = blocks->size;
    pfa_bytes_t payload = {.bytes = NULL};
    search_t search = {.offset = 0};
    pfa_progress_t progress;
    uint64_t wasted = 0;
    int error = 0;
    pfa_progress_begin(&progress, watch, "verifying", size);
    verify_start(fd, threads, &progress, blocks);
    for (uint64_t offset = blocks->end; offset < size;) {
        pfa_block_header_t header;
        error = verify(fd, offset, size, &payload, &header, &wasted);
        uint64_t next = offset + sizeof header + header.stored_size;
        if (error == 0) {
            add_block(blocks, &header, offset);
        } else if (error != EBADMSG && error != ENODATA) {
            break;
        } else if (wasted > 16 * size + PFA_BLOCK_RAW_MAX) {
            blocks->given_up = true;
            break;
        } else {
            next = find_magic(&search, fd, offset + 1, size, &wasted);
        }
        pfa_progress_step(&progress, next - offset);
        offset = next;
        error = 0;
    }
    pfa_progress_end(&progress);
    pfa_bytes_free(&search.bytes);
    pfa_bytes_free(&payload);
    return error == EBADMSG || error == ENODATA ? 0 : error;
}
