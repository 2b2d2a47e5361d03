/* A stand-in for libprofalloc, compiled without the pass: every access of an instrumented program comes to `note`, which
 * adds it up for the chunk it concerns. At the end all chunks are printed, so that two builds of a program can be compared,
 * and it is said what was wrong: an access that belongs to no one chunk, or to one that was released.
 *
 * The memory functions are wrapped by the linker, as they are in an instrumented program. */
#define _GNU_SOURCE
#include "fake.h"

#include "hooks/access/access.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNKS 4096
#define ARENA ((size_t)64 << 20)

typedef struct chunk_state {
    uintptr_t start;
    size_t bytes;
    bool released;
    uint64_t reads, writes;
    long low, high;
} chunk_state_t;

static void note(uintptr_t address, uint64_t size, uint64_t counts, pfa_access_thread_t *thread);

/* The arena concerns it, none of which is in R or L. */
pfa_access_view_t pfa_access_view = {.cell = PFA_NO_CELL, .rare = note};
PFA_THREAD_LOCAL pfa_access_thread_t pfa_access_thread;

static chunk_state_t chunks[CHUNKS];
static size_t chunk_count;
static char *arena;
static size_t arena_used;
static bool failed;
static uint64_t results;
static uint64_t calls;

static chunk_state_t *find_chunk(uintptr_t address)
{
    for (size_t i = chunk_count; i-- > 0;) { /* the newest at a place */
        if (address - chunks[i].start < chunks[i].bytes) {
            return &chunks[i];
        }
    }
    return NULL;
}

static void note(uintptr_t address, uint64_t size, uint64_t counts, pfa_access_thread_t *thread)
{
    (void)thread;
    calls++;
    if (arena == NULL || address - (uintptr_t)arena >= ARENA) {
        return;
    }
    chunk_state_t *chunk = find_chunk(address);
    long low = chunk ? (long)(address - chunk->start) : 0;
    if (!chunk || chunk->released || size == 0 || counts == 0 || size > chunk->bytes - (size_t)low) {
        printf("an access of %lu bytes, counts %lx, at %ld of chunk %ld%s\n", size, counts, low,
               chunk ? (long)(chunk - chunks) : -1, chunk && chunk->released ? ", released" : "");
        failed = true;
        return;
    }
    chunk->reads += counts & UINT32_MAX;
    chunk->writes += counts >> 32;
    long high = low + (long)size - 1;
    chunk->low = chunk->low < 0 || low < chunk->low ? low : chunk->low;
    chunk->high = high > chunk->high ? high : chunk->high;
}

/* At the start of the window. */
static void make_arena(void)
{
    arena = mmap((void *)PFA_WINDOW_BASE, ARENA, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (arena != (char *)PFA_WINDOW_BASE) {
        abort();
    }
    pfa_access_view.base = PFA_WINDOW_BASE;
    pfa_access_view.span = ARENA;
}

void *chunk(size_t bytes)
{
    if (arena == NULL) {
        make_arena();
    }
    uintptr_t start = (uintptr_t)arena + arena_used;
    for (size_t i = chunk_count; i-- > 0;) {
        if (chunks[i].released && chunks[i].bytes == bytes && find_chunk(chunks[i].start) == &chunks[i]) {
            start = chunks[i].start;
            break;
        }
    }
    if (start == (uintptr_t)arena + arena_used) {
        arena_used += (bytes + 127) / 64 * 64; /* with a gap, so that none is taken for its neighbour */
    }
    if (chunk_count == CHUNKS || arena_used > ARENA) {
        abort();
    }
    chunks[chunk_count++] = (chunk_state_t){.start = start, .bytes = bytes, .low = -1, .high = -1};
    for (size_t i = 0; i < bytes; i++) {
        ((volatile char *)start)[i] = 0;
    }
    return (void *)start;
}

void release(void *pointer)
{
    find_chunk((uintptr_t)pointer)->released = true;
}

void expect_at(int line, void *pointer, long reads, long writes, long low, long high)
{
    chunk_state_t *is = find_chunk((uintptr_t)pointer);
    if ((long)is->reads != reads || (long)is->writes != writes) {
        printf("line %d: %lu reads and %lu writes, not %ld and %ld\n", line, is->reads, is->writes, reads, writes);
        failed = true;
    }
    touched_at(line, pointer, low, high);
}

void touched_at(int line, void *pointer, long low, long high)
{
    chunk_state_t *is = find_chunk((uintptr_t)pointer);
    if (is->low != low || is->high != high) {
        printf("line %d: bytes %ld to %ld, not %ld to %ld\n", line, is->low, is->high, low, high);
        failed = true;
    }
}

void nothing(void)
{
}

int number(int n)
{
    return n;
}

void *same(void *pointer)
{
    return pointer;
}

void result(uint64_t value)
{
    results = results * 31 + value;
}

__attribute__((destructor)) static void print_all(void)
{
    printf("result %lx\n", results);
    for (size_t i = 0; i < chunk_count; i++) {
        printf("chunk %zu: %lu reads, %lu writes, %ld to %ld\n", i, chunks[i].reads, chunks[i].writes, chunks[i].low,
               chunks[i].high);
    }
    printf("calls %lu\n", calls);
    fflush(stdout);
    if (failed) {
        _Exit(1);
    }
}

/* The wrapped functions. They are the only place of these accesses: whoever is left to the code generator is missing. */
static void read_range(const void *pointer, size_t size)
{
    pfa_access_range(pointer, size, PFA_ACCESS_READ);
}

static void written_range(const void *pointer, size_t size)
{
    pfa_access_range(pointer, size, PFA_ACCESS_WRITE);
}

void *__real_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size)
{
    read_range(from, size);
    written_range(to, size);
    return __real_memcpy(to, from, size);
}

void *__real_memmove(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size)
{
    read_range(from, size);
    written_range(to, size);
    return __real_memmove(to, from, size);
}

void *__real_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size)
{
    written_range(to, size);
    return __real_memset(to, value, size);
}

int __real_memcmp(const void *a, const void *b, size_t size);
int __wrap_memcmp(const void *a, const void *b, size_t size);
int __wrap_memcmp(const void *a, const void *b, size_t size)
{
    read_range(a, size);
    read_range(b, size);
    return __real_memcmp(a, b, size);
}

int __wrap_bcmp(const void *a, const void *b, size_t size);
int __wrap_bcmp(const void *a, const void *b, size_t size)
{
    return __wrap_memcmp(a, b, size);
}

size_t __real_strlen(const char *text);
size_t __wrap_strlen(const char *text);
size_t __wrap_strlen(const char *text)
{
    size_t length = __real_strlen(text);
    read_range(text, length + 1);
    return length;
}
