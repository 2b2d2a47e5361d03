/* Puts the allocator together as hooks/ does in a process, without its entry points: for tests of alloc/. */
#ifndef PFA_TESTS_ALLOCATOR_H
#define PFA_TESTS_ALLOCATOR_H

#include "alloc/chunk.h"
#include "alloc/life.h"
#include "base/sys.h"
#include "meta/thread.h"
#include "tests/unit/unit.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* The calling thread comes to life for the allocator. False: no memory for its block. */
static inline bool thread_begin(void)
{
    pfa_tls = (pfa_tls_t){.heap = pfa_tls.heap};
    pfa_tls.thread = pfa_thread_list_join(&pfa_tls);
    if (pfa_tls.thread == NULL) {
        return false;
    }
    pfa_tls.record_tail = pfa_record_tail(pfa_tls.thread->number, 0);
    pfa_tls.random = 0x123456789;
    pfa_tls.is_main = pfa_sys_tid() == pfa_sys_pid();
    pfa_tls.state = PFA_THREAD_READY;
    return true;
}

static inline void thread_end(void)
{
    pfa_thread_t *thread = pfa_tls.thread;
    pfa_live_settle(&pfa_tls);
    pfa_tls.state = PFA_THREAD_GONE;
    pfa_tls.thread = NULL;
    pfa_chunk_thread_end(&pfa_tls);
    pfa_thread_list_leave(thread);
    pfa_backing_thread_end();
}

/* All of it, with a profiled range of the given sizes. Once in a process. */
static inline void allocator_start(uint64_t region_size, uint64_t large_size)
{
    pfa_message_init();
    pfa_backing_init();
    pfa_range_open_plain();
    must(pfa_range_open_profiled(region_size, large_size, wide_records()) == 0);
    must(thread_begin());
}

/* What a program asks for; an alignment of 0 is the usual one. */
typedef struct request {
    size_t size;
    size_t align;
    uint64_t flags; /* PFA_FLAG_* and a weight class */
} request_t;

/* A recorded chunk the way the entry points get it when everything is recorded: what is at hand first. */
static inline void *recorded(const request_t *request)
{
    void *chunk = pfa_tls.region_heap != NULL && request->align == 0 && request->flags == 0
                      ? pfa_backing_heap_pop(pfa_tls.region_heap, pfa_life_slot_size(request->size))
                      : NULL;
    if (chunk == NULL) {
        return pfa_chunk_alloc(&pfa_tls, request->size, request->align, request->flags);
    }
    if (pfa_life_begin(&pfa_tls, (uintptr_t)chunk, pfa_size_flags(request->size, 0), pfa_clock_now(&pfa_tls))) {
        pfa_live_settle(&pfa_tls);
    }
    return chunk;
}

static inline void *chunk_of(size_t size)
{
    request_t request = {size, 0, 0};
    return recorded(&request);
}

static inline void *aligned_chunk_of(size_t size, size_t align)
{
    request_t request = {size, align, PFA_FLAG_ALIGNED};
    return recorded(&request);
}

/* Frees as the entry points do: the frequent case first. */
static inline pfa_verdict_t free_chunk(void *chunk)
{
    pfa_finding_t finding;
    pfa_ending_t ending = pfa_life_end(&pfa_tls, (uintptr_t)chunk);
    if (ending == PFA_LIFE_NOT) {
        return pfa_chunk_free(&pfa_tls, (uintptr_t)chunk, &finding);
    }
    if (ending == PFA_LIFE_ENDED_SETTLE) {
        pfa_live_settle(&pfa_tls);
    }
    pfa_backing_free_first_here(chunk);
    return PFA_CHUNK_LIVE;
}

static inline pfa_verdict_t verdict_on(const void *address)
{
    pfa_finding_t finding;
    pfa_chunk_find((uintptr_t)address, &finding);
    return finding.verdict;
}

/* Bytes the program may use of a recorded or plain chunk. */
static inline size_t usable_of(const void *chunk)
{
    pfa_finding_t finding;
    pfa_chunk_find((uintptr_t)chunk, &finding);
    return finding.usable != 0 ? finding.usable : pfa_backing_usable(chunk);
}

static inline bool in_regions(uintptr_t address)
{
    return address - pfa_range.base < pfa_range.region_span;
}

/* Where the slot of an address in R begins and its record is, by the words that were published. */
typedef struct slot {
    bool covered; /* false in the lead of a region */
    uintptr_t start;
    pfa_record_t *record;
} slot_t;

static inline slot_t slot_of(uintptr_t address)
{
    pfa_place_t place = pfa_region_place(address - pfa_range.base);
    return (slot_t){place.distance >= 0, address - pfa_place_within(&place), place.record};
}

/* For qsort of uintptr_t. */
static inline int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a;
    uintptr_t y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

/* Fills a chunk with bytes that follow from its address and a number, and checks them later. */
static inline unsigned char pattern_byte(uintptr_t address, uint64_t salt)
{
    return (unsigned char)((address >> 4) * 0x9d + salt * 0x35 + 1);
}

/* Whole if short, else its ends and one byte of each page. */
static inline size_t pattern_step(size_t at, size_t size)
{
    return size <= 4096 || at < 64 || at + 64 >= size ? 1 : at + 4096 < size - 64 ? 4096 : size - 64 - at;
}

static inline void fill_pattern(void *chunk, size_t size, uint64_t salt)
{
    unsigned char *bytes = chunk;
    for (size_t i = 0; i < size; i += pattern_step(i, size)) {
        bytes[i] = pattern_byte((uintptr_t)&bytes[i], salt);
    }
}

static inline bool has_pattern(const void *chunk, size_t size, uint64_t salt)
{
    const unsigned char *bytes = chunk;
    for (size_t i = 0; i < size; i += pattern_step(i, size)) {
        if (bytes[i] != pattern_byte((uintptr_t)&bytes[i], salt)) {
            return false;
        }
    }
    return true;
}

#endif
