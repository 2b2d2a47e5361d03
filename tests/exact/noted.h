/* For programs whose trace is compared with the truth: chunks that are noted in a shared file before and after each call,
 * so that whoever reads it after a kill knows between which figures the true ones lie. Everything is counted by the function
 * that allocated: noted_small, noted_large, noted_grow are in the stacks of the trace. */
#ifndef TESTS_EXACT_NOTED_H
#define TESTS_EXACT_NOTED_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NOTED_SMALL, NOTED_LARGE, NOTED_GROW, NOTED_KINDS };
enum { NOTED_SLOTS = 2048, NOTED_LARGE_SIZE = 200000 };

typedef struct noted_figures {
    volatile uint64_t chunks;
    volatile uint64_t bytes;
} noted_figures_t;

typedef struct noted_slot {
    struct {
        noted_figures_t birth_begun, birth_done, death_begun, death_done;
    } kinds[NOTED_KINDS];
} noted_slot_t;

typedef struct noted_chunk {
    uint64_t size;
    uint64_t kind;
} noted_chunk_t;

static noted_slot_t *noted_slots;
static _Atomic unsigned noted_used;
static __thread noted_slot_t *noted_mine;

static inline void noted_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    size_t size = NOTED_SLOTS * sizeof(noted_slot_t);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
        _exit(99);
    }
    noted_slots = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (noted_slots == MAP_FAILED) {
        _exit(99);
    }
}

/* Each thread writes to a slot of its own. */
static inline noted_slot_t *noted_slot(void)
{
    if (noted_mine == NULL) {
        noted_mine = &noted_slots[noted_used++ % NOTED_SLOTS];
    }
    return noted_mine;
}

static inline void noted_add(noted_figures_t *figures, size_t size)
{
    figures->chunks = figures->chunks + 1;
    figures->bytes = figures->bytes + size;
}

static inline void *noted_born(void *memory, size_t size, int kind)
{
    noted_chunk_t *chunk = memory;
    if (chunk == NULL) {
        abort();
    }
    noted_add(&noted_slot()->kinds[kind].birth_done, size);
    chunk->size = size;
    chunk->kind = (uint64_t)kind;
    return chunk;
}

__attribute__((noinline, unused)) static void *noted_small(size_t size)
{
    noted_add(&noted_slot()->kinds[NOTED_SMALL].birth_begun, size);
    return noted_born(malloc(size), size, NOTED_SMALL);
}

__attribute__((noinline, unused)) static void *noted_large(size_t size)
{
    noted_add(&noted_slot()->kinds[NOTED_LARGE].birth_begun, size);
    return noted_born(malloc(size), size, NOTED_LARGE);
}

__attribute__((noinline, unused)) static void *noted_grow(void *memory, size_t size)
{
    noted_chunk_t before = *(noted_chunk_t *)memory;
    noted_slot_t *slot = noted_slot();
    noted_add(&slot->kinds[before.kind].death_begun, before.size);
    noted_add(&slot->kinds[NOTED_GROW].birth_begun, size);
    void *chunk = realloc(memory, size);
    noted_add(&slot->kinds[before.kind].death_done, before.size);
    return noted_born(chunk, size, NOTED_GROW);
}

__attribute__((noinline, unused)) static void noted_free(void *memory)
{
    noted_chunk_t before = *(noted_chunk_t *)memory;
    noted_slot_t *slot = noted_slot();
    noted_add(&slot->kinds[before.kind].death_begun, before.size);
    free(memory);
    noted_add(&slot->kinds[before.kind].death_done, before.size);
}

/* A step of a thread that churns a table of chunks: small ones mostly, some large, some grown or shrunk. */
enum { NOTED_TABLE = 256 };
typedef struct noted_churn {
    void *table[NOTED_TABLE];
    uint64_t random;
} noted_churn_t;

static inline uint64_t noted_random(noted_churn_t *churn)
{
    churn->random ^= churn->random << 13;
    churn->random ^= churn->random >> 7;
    churn->random ^= churn->random << 17;
    return churn->random;
}

__attribute__((unused)) static void noted_step(noted_churn_t *churn)
{
    uint64_t dice = noted_random(churn);
    void **chunk = &churn->table[dice % NOTED_TABLE];
    size_t size = 16 + (dice >> 8) % 2000;
    if (*chunk != NULL && (dice >> 32) % 4 == 0) {
        *chunk = noted_grow(*chunk, (dice >> 40) % 16 == 0 ? size + NOTED_LARGE_SIZE : size);
    } else if (*chunk != NULL) {
        noted_free(*chunk);
        *chunk = NULL;
    } else if ((dice >> 32) % 128 == 0) {
        *chunk = noted_large(NOTED_LARGE_SIZE + size * 100);
    } else {
        *chunk = noted_small(size);
    }
}

#endif
