/* Owns the trace's file and what it takes to write a block of it. See export/block.h. */
#include "export/block.h"
#include "base/clock.h"
#include "base/sys.h"
#include "meta/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#define ZSTD_STATIC_LINKING_ONLY 1 /* contexts in memory of our own */
#include <zstd.h>

enum { LEVEL_MAX = 3, WORTH_PACKING = 128, PATH_SIZE = 4096 };
#define INDEX_SIZE PFA_BLOCK_SCRATCH /* no longer one can be written */
#define STORED_SIZE (sizeof(pfa_block_header_t) + ZSTD_COMPRESSBOUND(PFA_BLOCK_SCRATCH))

static struct {
    int fd;
    bool open;
    int failed; /* the error that ended writing */
    uint64_t identity;
    uint64_t offset;
    int level;
    char *scratch;
    char *stored;
    pfa_trace_index_t *index; /* behind a pfa_trace_end_t */
    uint32_t blocks;          /* written; those beyond the room of the index are counted all the same */
    ZSTD_CCtx *packer;
    void *packer_memory;
    char path[PATH_SIZE];
} trace = {.level = 1};

bool pfa_block_is_open(void)
{
    return trace.open;
}

uint64_t pfa_block_identity(void)
{
    return trace.identity;
}

void *pfa_block_scratch(void)
{
    return trace.scratch;
}

void pfa_block_effort(int level)
{
    trace.level = level < LEVEL_MAX ? level : LEVEL_MAX;
}

static int map(size_t size, void **memory)
{
    return *memory != NULL ? 0 : -pfa_sys_map(NULL, size, PROT_READ | PROT_WRITE, MAP_NORESERVE, memory);
}

static int make_buffers(void)
{
    void *scratch = trace.scratch;
    void *stored = trace.stored;
    void *index = trace.index;
    void *packer = trace.packer_memory;
    size_t packer_size = ZSTD_estimateCCtxSize(LEVEL_MAX);
    int err = map(PFA_BLOCK_SCRATCH, &scratch);
    err = err != 0 ? err : map(STORED_SIZE, &stored);
    err = err != 0 ? err : map(INDEX_SIZE, &index);
    err = err != 0 ? err : map(packer_size, &packer);
    trace.packer_memory = packer;
    if (err == 0 && trace.packer == NULL) {
        trace.packer = ZSTD_initStaticCCtx(packer, packer_size);
        err = trace.packer != NULL ? 0 : ENOMEM;
    }
    trace.scratch = scratch;
    trace.stored = stored;
    trace.index = index;
    return err;
}

int pfa_block_open(const char *path)
{
    size_t length = strlen(path);
    int err = length < sizeof trace.path ? make_buffers() : ENAMETOOLONG;
    if (err != 0) {
        return err;
    }
    int fd = pfa_sys_create(path);
    if (fd < 0) {
        return -fd;
    }
    memcpy(trace.path, path, length + 1);
    trace.fd = fd;
    trace.identity = pfa_sys_fd_identity(fd);
    trace.offset = 0;
    trace.blocks = 0;
    trace.failed = 0;
    trace.open = true;
    return 0;
}

/* A daemon that closes every descriptor closes ours, and may open its own under the number. */
static int own_descriptor(void)
{
    if (pfa_sys_fd_identity(trace.fd) == trace.identity) {
        return 0;
    }
    int fd = pfa_sys_open_write(trace.path);
    if (fd < 0) {
        return -fd;
    }
    if (pfa_sys_fd_identity(fd) != trace.identity) {
        (void)pfa_sys_close(fd);
        return ENOENT;
    }
    trace.fd = fd;
    return 0;
}

static size_t pack(pfa_block_header_t *header, const void *payload, size_t size)
{
    char *to = trace.stored + sizeof *header;
    if (size >= WORTH_PACKING) {
        size_t packed =
            ZSTD_compressCCtx(trace.packer, to, ZSTD_COMPRESSBOUND(PFA_BLOCK_SCRATCH), payload, size, trace.level);
        if (!ZSTD_isError(packed) && packed < size) {
            header->flags = PFA_BLOCK_COMPRESSED;
            return packed;
        }
    }
    memcpy(to, payload, size);
    return size;
}

static size_t end_size(uint32_t blocks)
{
    return sizeof(pfa_trace_end_t) + blocks * sizeof(pfa_trace_index_t);
}

static void note(uint32_t kind, size_t size)
{
    if (end_size(trace.blocks + 1) <= INDEX_SIZE) {
        pfa_trace_index_t entry = {.offset = trace.offset, .kind = kind, .size = (uint32_t)size};
        memcpy((char *)trace.index + end_size(trace.blocks), &entry, sizeof entry);
    }
    trace.blocks++;
}

int pfa_block_write(pfa_block_kind_t kind, const void *payload, size_t size)
{
    if (!trace.open || trace.failed != 0) {
        return trace.open ? trace.failed : EBADF;
    }
    if (size > PFA_BLOCK_SCRATCH) {
        return EFBIG;
    }
    pfa_block_header_t header = {
        .magic = PFA_BLOCK_MAGIC, .kind = (uint16_t)kind, .raw_size = (uint32_t)size, .time = pfa_counter()};
    header.stored_size = (uint32_t)pack(&header, payload, size);
    header.checksum = pfa_block_checksum(&header, trace.stored + sizeof header);
    memcpy(trace.stored, &header, sizeof header);
    size_t length = sizeof header + header.stored_size;
    int err = own_descriptor();
    pfa_ring_goes_to_disk();
    long written = err == 0 ? pfa_sys_pwrite(trace.fd, trace.stored, length, trace.offset) : -err;
    pfa_ring_comes_from_disk();
    if (written < 0) {
        trace.failed = (int)-written;
        if (err == 0) {
            (void)pfa_sys_truncate(trace.fd, trace.offset); /* so that it ends with a whole block */
        }
        return trace.failed;
    }
    note((uint32_t)kind, length);
    trace.offset += length;
    return 0;
}

int pfa_block_end(pfa_end_t how)
{
    pfa_trace_end_t end = {.how = (uint32_t)how, .blocks = trace.blocks};
    size_t size = end_size(trace.blocks);
    memcpy(trace.index, &end, sizeof end);
    int err = pfa_block_write(PFA_BLOCK_END, trace.index, size <= INDEX_SIZE ? size : sizeof end);
    pfa_block_forget();
    return err;
}

void pfa_block_after_fork(void)
{
    trace.packer = NULL; /* another thread may have been in the middle of using it: made anew, in the same memory */
    pfa_block_forget();
}

void pfa_block_forget(void)
{
    if (trace.open && pfa_sys_fd_identity(trace.fd) == trace.identity) {
        (void)pfa_sys_close(trace.fd);
    }
    trace.open = false;
}
