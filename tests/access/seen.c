/* Part of a test build of the callbacks: reads the clock at each access to a chunk, and writes for each chunk when it was born, and
 * when it was touched first and last, as three numbers of 64 bits in the file that SEEN_LOG names. The schedule that the callbacks go
 * by is at work in the same run, on the same lives. */
#include "base/clock.h"
#include "hooks/access/access.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 1 << 18, ROWS = 1 << 23 };

typedef struct seen {
    uint64_t born;
    uint64_t first;
    uint64_t last;
} seen_t;

/* By the record's address; a record has one chunk after the other, which several threads may be the first to touch. */
typedef struct slot {
    _Atomic uintptr_t record;
    _Atomic bool taken; /* by the thread that begins with the next chunk */
    seen_t now;
} slot_t;

static slot_t *slots;
static seen_t *rows;
static _Atomic uint64_t row_count;

static void keep(const seen_t *seen)
{
    uint64_t at = pfa_add_relaxed(&row_count, 1);
    if (at < ROWS && seen->born != 0) {
        rows[at] = *seen;
    }
}

static slot_t *find(uintptr_t record)
{
    for (uintptr_t i = (record >> 6) * 0x9e3779b1u;; i++) {
        slot_t *slot = &slots[i % SLOTS];
        uintptr_t there = pfa_load_relaxed(&slot->record);
        if (there == record || (there == 0 && pfa_cas_acq_rel(&slot->record, &there, record)) || there == record) {
            return slot;
        }
    }
}

static void begin_next(slot_t *slot, uint64_t born)
{
    seen_t *seen = &slot->now;
    while (pfa_swap_acq_rel(&slot->taken, true)) {
    }
    if (seen->born != born) {
        keep(seen);
        seen->first = 0;
        seen->last = 0;
        __atomic_store_n(&seen->born, born, __ATOMIC_RELEASE);
    }
    pfa_store_release(&slot->taken, false); /* partner: the swap above */
}

/* The time is read last, so that what is done here is not between it and the reading of the schedule. */
void seen_access(const void *record)
{
    const pfa_wide_record_t *wide = record;
    if (rows == NULL || !pfa_is_live(pfa_load_relaxed(&wide->record.size_flags))) {
        return;
    }
    slot_t *slot = find((uintptr_t)record);
    seen_t *seen = &slot->now;
    uint64_t born = wide->record.alloc_time;
    if (__atomic_load_n(&seen->born, __ATOMIC_ACQUIRE) != born) { /* partner: the store in begin_next */
        begin_next(slot, born);
    }
    uint64_t now = pfa_counter();
    seen->first = seen->first != 0 ? seen->first : now;
    seen->last = seen->last < now ? now : seen->last; /* another thread may have come later, and been faster */
}

__attribute__((constructor(102))) static void begin(void)
{
    if (getenv("SEEN_LOG") != NULL) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS;
        slots = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, -1, 0);
        rows = mmap(NULL, ROWS * sizeof *rows, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, -1, 0);
        if (slots == MAP_FAILED || rows == MAP_FAILED) {
            abort();
        }
    }
}

__attribute__((destructor(102))) static void end(void)
{
    seen_t *all = rows;
    if (all == NULL) {
        return;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        keep(&slots[i].now);
    }
    rows = NULL;
    uint64_t count = row_count < ROWS ? row_count : ROWS;
    int file = open(getenv("SEEN_LOG"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (const char *at = (const char *)all, *to = (const char *)(all + count); at < to;) {
        ssize_t done = write(file, at, (size_t)(to - at));
        if (done <= 0) {
            abort();
        }
        at += done;
    }
    close(file);
}
