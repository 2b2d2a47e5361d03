/* Owns the writing of blocks by the tool. See analyze/trace/tracefile.h. */
#include "analyze/trace/tracefile.h"
#include "analyze/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum { LEVEL = 3, SMALL = 128 };

void pfa_tracefile_begin(pfa_tracefile_t *writer, int fd, const pfa_blocks_t *blocks)
{
    *writer = (pfa_tracefile_t){.fd = fd, .at = blocks != NULL ? blocks->end : 0};
    for (size_t i = 0; blocks != NULL && i < blocks->count; i++) {
        const pfa_block_t *block = &blocks->list[i];
        writer->index = pfa_memory_grow(writer->index, &writer->room, writer->count + 1, sizeof *writer->index);
        writer->index[writer->count++] =
            (pfa_trace_index_t){.offset = block->offset,
                                .kind = block->kind,
                                .size = (uint32_t)sizeof(pfa_block_header_t) + block->stored_size};
    }
}

void pfa_tracefile_free(pfa_tracefile_t *writer)
{
    pfa_memory_free(writer->index);
    writer->index = NULL;
}

static int write_all(int fd, const void *bytes, size_t size, uint64_t at)
{
    for (size_t done = 0; done < size;) {
        ssize_t wrote = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(at + done));
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return wrote < 0 ? errno : EIO;
        }
        done += (size_t)wrote;
    }
    return 0;
}

static void write_stored(pfa_tracefile_t *writer, const pfa_block_header_t *header, const void *stored)
{
    writer->error = write_all(writer->fd, header, sizeof *header, writer->at);
    if (writer->error == 0) {
        writer->error = write_all(writer->fd, stored, header->stored_size, writer->at + sizeof *header);
    }
    if (writer->error != 0) {
        return;
    }
    uint32_t size = (uint32_t)sizeof *header + header->stored_size;
    writer->index = pfa_memory_grow(writer->index, &writer->room, writer->count + 1, sizeof *writer->index);
    writer->index[writer->count++] = (pfa_trace_index_t){.offset = writer->at, .kind = header->kind, .size = size};
    writer->at += size;
}

void pfa_tracefile_block(pfa_tracefile_t *writer, pfa_block_kind_t kind, uint64_t time, const void *payload,
                         size_t size)
{
    if (writer->error != 0) {
        return;
    }
    if (size > PFA_BLOCK_RAW_MAX) {
        writer->error = EFBIG;
        return;
    }
    pfa_block_header_t header = {.magic = PFA_BLOCK_MAGIC,
                                 .kind = (uint16_t)kind,
                                 .raw_size = (uint32_t)size,
                                 .stored_size = (uint32_t)size,
                                 .time = time};
    size_t room = ZSTD_compressBound(size);
    void *packed = size >= SMALL && !writer->plain ? pfa_memory_get(room, 1) : NULL;
    size_t length = packed != NULL ? ZSTD_compress(packed, room, payload, size, LEVEL) : size;
    if (!ZSTD_isError(length) && length < size) {
        header.flags = PFA_BLOCK_COMPRESSED;
        header.stored_size = (uint32_t)length;
        payload = packed;
    }
    header.checksum = pfa_block_checksum(&header, payload);
    write_stored(writer, &header, payload);
    pfa_memory_free(packed);
}

void pfa_tracefile_copy(pfa_tracefile_t *writer, int from, const pfa_block_t *block)
{
    pfa_block_header_t header;
    void *stored = pfa_memory_get(block->stored_size, 1);
    if (writer->error == 0) {
        writer->error = pfa_file_read(from, &header, sizeof header, block->offset);
    }
    if (writer->error == 0) {
        writer->error = pfa_file_read(from, stored, block->stored_size, block->offset + sizeof header);
    }
    if (writer->error == 0 &&
        (header.stored_size != block->stored_size || pfa_block_checksum(&header, stored) != header.checksum)) {
        writer->error = EBADMSG; /* changed since it was verified */
    }
    if (writer->error == 0) {
        write_stored(writer, &header, stored);
    }
    pfa_memory_free(stored);
}

void pfa_tracefile_nodes(pfa_tracefile_t *writer, uint64_t time, uint32_t first, uint32_t count,
                         const uint32_t *parents, const uint64_t *pcs)
{
    enum { STEP = 65536 };
    for (uint32_t done = 0; done < count;) {
        pfa_trace_nodes_t nodes = {.first = first + done, .count = count - done < STEP ? count - done : STEP};
        size_t parents_size = ((size_t)nodes.count * 4 + 7) / 8 * 8;
        size_t size = sizeof nodes + parents_size + (size_t)nodes.count * 8;
        char *payload = pfa_memory_get(size, 1);
        memcpy(payload, &nodes, sizeof nodes);
        memcpy(payload + sizeof nodes, parents + done, (size_t)nodes.count * 4);
        memcpy(payload + sizeof nodes + parents_size, pcs + done, (size_t)nodes.count * 8);
        pfa_tracefile_block(writer, PFA_BLOCK_NODES, time, payload, size);
        pfa_memory_free(payload);
        done += nodes.count;
    }
}

void pfa_tracefile_end(pfa_tracefile_t *writer, pfa_end_t how, uint64_t time)
{
    size_t most = (PFA_BLOCK_RAW_MAX - sizeof(pfa_trace_end_t)) / sizeof *writer->index;
    size_t count = writer->count <= most ? writer->count : 0; /* of the index */
    pfa_trace_end_t end = {.how = how, .blocks = (uint32_t)writer->count};
    size_t size = sizeof end + count * sizeof *writer->index;
    char *payload = pfa_memory_get(size, 1);
    memcpy(payload, &end, sizeof end);
    if (count != 0) {
        memcpy(payload + sizeof end, writer->index, count * sizeof *writer->index);
    }
    pfa_tracefile_block(writer, PFA_BLOCK_END, time, payload, size);
    pfa_memory_free(payload);
}
