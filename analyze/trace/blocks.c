/* Owns the way from the bytes of a trace file to the payloads of its blocks. See analyze/trace/blocks.h. */
#include "analyze/trace/blocks.h"
#include "analyze/base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

int pfa_file_read(int fd, void *to, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? errno : ENODATA;
        }
        done += (size_t)got;
    }
    return 0;
}

void pfa_bytes_room(pfa_bytes_t *bytes, size_t size)
{
    bytes->bytes = pfa_memory_grow(bytes->bytes, &bytes->room, size, 1);
}

void pfa_bytes_free(pfa_bytes_t *bytes)
{
    pfa_memory_free(bytes->bytes);
    *bytes = (pfa_bytes_t){.bytes = NULL};
}

void pfa_blocks_free(pfa_blocks_t *blocks)
{
    pfa_memory_free(blocks->list);
    *blocks = (pfa_blocks_t){.list = NULL};
}

struct pfa_loader {
    int fd;
    ZSTD_DCtx *context;
    pfa_bytes_t stored;
};

static void free_context(void *object)
{
    const pfa_loader_t *loader = object;
    (void)ZSTD_freeDCtx(loader->context);
}

pfa_loader_t *pfa_loader_new(int fd)
{
    enum { WINDOW_LOG = 27 };
    pfa_loader_t *loader = pfa_memory_object(sizeof *loader, free_context);
    loader->fd = fd;
    loader->context = ZSTD_createDCtx();
    if (loader->context == NULL) {
        pfa_memory_leave(ENOMEM);
    }
    (void)ZSTD_DCtx_setParameter(loader->context, ZSTD_d_windowLogMax, WINDOW_LOG);
    return loader;
}

void pfa_loader_free(pfa_loader_t *loader)
{
    if (loader != NULL) {
        pfa_bytes_free(&loader->stored);
        pfa_memory_free(loader);
    }
}

/* zstd may have no memory for what it keeps between calls: that is no fault of the block. */
static int error_of(size_t code)
{
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) {
        pfa_memory_leave(ENOMEM);
    }
    return EBADMSG;
}

static int unpack_start(const pfa_loader_t *loader, pfa_bytes_t *payload)
{
    ZSTD_inBuffer in = {.src = loader->stored.bytes, .size = loader->stored.size};
    ZSTD_outBuffer out = {.dst = payload->bytes, .size = payload->size};
    (void)ZSTD_DCtx_reset(loader->context, ZSTD_reset_session_only);
    while (out.pos < out.size) {
        size_t before = in.pos + out.pos;
        size_t left = ZSTD_decompressStream(loader->context, &out, &in);
        if (ZSTD_isError(left)) {
            return error_of(left);
        }
        if (in.pos + out.pos == before) {
            return EBADMSG;
        }
    }
    return 0;
}

static int unpack(const pfa_loader_t *loader, pfa_bytes_t *payload)
{
    size_t size =
        ZSTD_decompressDCtx(loader->context, payload->bytes, payload->size, loader->stored.bytes, loader->stored.size);
    return ZSTD_isError(size) ? error_of(size) : size != payload->size ? EBADMSG : 0;
}

int pfa_block_load_start(pfa_loader_t *loader, const pfa_block_t *block, size_t limit, pfa_bytes_t *payload)
{
    uint64_t at = block->offset + sizeof(pfa_block_header_t);
    bool packed = (block->flags & PFA_BLOCK_COMPRESSED) != 0;
    size_t wanted = block->raw_size < limit ? block->raw_size : limit;
    pfa_bytes_room(payload, wanted + 1);
    payload->size = wanted;
    if (!packed) {
        return pfa_file_read(loader->fd, payload->bytes, wanted, at);
    }
    pfa_bytes_room(&loader->stored, block->stored_size + (size_t)1);
    loader->stored.size = block->stored_size;
    int error = pfa_file_read(loader->fd, loader->stored.bytes, loader->stored.size, at);
    if (error != 0) {
        return error;
    }
    return wanted == block->raw_size ? unpack(loader, payload) : unpack_start(loader, payload);
}

int pfa_block_load(pfa_loader_t *loader, const pfa_block_t *block, pfa_bytes_t *payload)
{
    return pfa_block_load_start(loader, block, SIZE_MAX, payload);
}

const char *pfa_block_name(uint16_t kind)
{
    static const char *const names[] = {
        [PFA_BLOCK_START] = "START",     [PFA_BLOCK_NODES] = "NODES",       [PFA_BLOCK_MODULES] = "MODULES",
        [PFA_BLOCK_THREADS] = "THREADS", [PFA_BLOCK_EVENTS] = "EVENTS",     [PFA_BLOCK_LIVE] = "LIVE",
        [PFA_BLOCK_FOLDS] = "FOLDS",     [PFA_BLOCK_COUNTERS] = "COUNTERS", [PFA_BLOCK_CLOCK] = "CLOCK",
        [PFA_BLOCK_TAGS] = "TAGS",       [PFA_BLOCK_WEIGHTS] = "WEIGHTS",   [PFA_BLOCK_MARK] = "MARK",
        [PFA_BLOCK_END] = "END",         [PFA_BLOCK_SYMBOLS] = "SYMBOLS",   [PFA_BLOCK_MAPS] = "MAPS",
        [PFA_BLOCK_TABLE] = "TABLE",     [PFA_BLOCK_REGIONS] = "REGIONS",   [PFA_BLOCK_TYPES] = "TYPES"};
    return kind < sizeof names / sizeof names[0] && names[kind] != NULL ? names[kind] : "unknown";
}
