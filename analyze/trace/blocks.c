/* Owns the way from the bytes of a trace file to the payloads of its blocks. See analyze/trace/blocks.h. */
#include "analyze/trace/blocks.h"
#include "analyze/base/memory.h"
#include "analyze/base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { SEARCH_STEP = 1 << 20 };
/* A payload is at most so much longer than what is stored of it: nobody gets much memory for few bytes. */
enum { RATIO_MAX = 4096, RATIO_FREE = 1 << 20 };

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

static bool sizes_plausible(const pfa_block_header_t *header, uint64_t left)
{
    if (header->stored_size > left || header->raw_size > PFA_BLOCK_RAW_MAX) {
        return false;
    }
    if ((header->flags & PFA_BLOCK_COMPRESSED) == 0) {
        return header->raw_size == header->stored_size;
    }
    return header->raw_size <= RATIO_FREE + (uint64_t)RATIO_MAX * header->stored_size &&
           header->stored_size <= 2 * (uint64_t)PFA_BLOCK_RAW_MAX;
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

static void add_block(pfa_blocks_t *blocks, const pfa_block_header_t *header, uint64_t offset)
{
    blocks->list = pfa_memory_grow(blocks->list, &blocks->room, blocks->count + 1, sizeof *blocks->list);
    blocks->list[blocks->count++] = (pfa_block_t){.offset = offset,
                                                  .time = header->time,
                                                  .raw_size = header->raw_size,
                                                  .stored_size = header->stored_size,
                                                  .kind = header->kind,
                                                  .flags = header->flags};
    blocks->damages += offset != blocks->end;
    blocks->skipped += offset - blocks->end;
    blocks->end = offset + sizeof *header + header->stored_size;
}

int pfa_blocks_scan(int fd, const pfa_watch_t *watch, pfa_blocks_t *blocks)
{
    uint64_t size = blocks->size;
    pfa_bytes_t payload = {.bytes = NULL};
    search_t search = {.offset = 0};
    pfa_progress_t progress;
    uint64_t wasted = 0;
    int error = 0;
    pfa_progress_begin(&progress, watch, "verifying", size);
    for (uint64_t offset = 0; offset < size;) {
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

void pfa_blocks_free(pfa_blocks_t *blocks)
{
    pfa_memory_free(blocks->list);
    *blocks = (pfa_blocks_t){.list = NULL};
}

struct pfa_loader {
    int fd;
    bool owns;
    ZSTD_DCtx *context;
    pfa_bytes_t stored;
};

static void free_context(void *object)
{
    const pfa_loader_t *loader = object;
    (void)ZSTD_freeDCtx(loader->context);
    if (loader->owns) {
        close(loader->fd);
    }
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

pfa_loader_t *pfa_loader_open(const char *path)
{
    pfa_loader_t *loader = pfa_loader_new(-1);
    loader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    loader->owns = loader->fd >= 0;
    if (!loader->owns) {
        pfa_loader_free(loader);
        return NULL;
    }
    return loader;
}

int pfa_loader_fd(const pfa_loader_t *loader)
{
    return loader->fd;
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
