/* Owns the registry of readers and the grace periods. See alloc/rcu.h. */
#include "alloc/rcu.h"
#include "base/sys.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

enum { CHUNK_SIZE = 64 * 1024, WAIT_NS = 1000000 };

typedef struct chunk {
    struct chunk *next;
    _Atomic uint32_t hint; /* where the search for a free reader begins */
    _Atomic uint32_t taken;
    _Atomic uint32_t used; /* none from here on was ever taken */
    pfa_rcu_reader_t readers[];
} chunk_t;

enum { READERS = (CHUNK_SIZE - offsetof(chunk_t, readers)) / sizeof(pfa_rcu_reader_t) };

_Atomic uint64_t pfa_rcu_period = PFA_RCU_ONE;
bool pfa_rcu_fences = true; /* until it is known that they are not needed */

static _Atomic(chunk_t *) chunks;
static _Atomic(pfa_rcu_grace_t *) under_way;
static pthread_key_t key;
static bool has_key;

static void give(pfa_rcu_reader_t *reader)
{
    chunk_t *chunk = (chunk_t *)((uintptr_t)reader & ~(uintptr_t)(CHUNK_SIZE - 1));
    pfa_store_relaxed(&chunk->hint, (uint32_t)(reader - chunk->readers));
    pfa_sub_relaxed(&chunk->taken, 1);
    pfa_store_release(&reader->taken, false); /* partner: the exchange in take */
}

/* The end of a thread. A destructor that comes later may register it again. */
static void leave(void *reader)
{
    pfa_tls.reader = NULL;
    give(reader);
}

void pfa_rcu_open(bool may_use_membarrier)
{
    static _Atomic bool opened;
    if (!pfa_swap_acq_rel(&opened, true)) {
        has_key = pthread_key_create(&key, leave) == 0;
        pfa_rcu_fences = !may_use_membarrier || !pfa_sys_try_fence_all();
    }
}

/* Partner: has_old_reader. Who does not see it yet began before its first section. */
static void note_use(chunk_t *chunk, uint32_t used)
{
    uint32_t seen = pfa_load_relaxed(&chunk->used);
    while (seen < used && !pfa_cas_weak_acq_rel(&chunk->used, &seen, used)) {
    }
}

static pfa_rcu_reader_t *take(chunk_t *chunk)
{
    if (pfa_load_relaxed(&chunk->taken) >= READERS) {
        return NULL;
    }
    uint32_t at = pfa_load_relaxed(&chunk->hint);
    for (uint32_t i = 0; i < READERS; i++, at++) {
        pfa_rcu_reader_t *reader = &chunk->readers[at % READERS];
        if (!pfa_load_relaxed(&reader->taken)) {
            note_use(chunk, at % READERS + 1); /* before: a fork child looks at those alone */
            if (pfa_swap_acq_rel(&reader->taken, true)) {
                continue;
            }
            pfa_store_relaxed(&chunk->hint, at % READERS + 1);
            pfa_add_relaxed(&chunk->taken, 1);
            return reader;
        }
    }
    return NULL;
}

/* Aligned to its size. Its first reader is the caller's. */
static pfa_rcu_reader_t *take_of_another_chunk(void)
{
    void *memory;
    if (pfa_sys_map(NULL, 2 * (size_t)CHUNK_SIZE, PROT_READ | PROT_WRITE, 0, &memory) != 0) {
        return NULL;
    }
    uintptr_t start = ((uintptr_t)memory + CHUNK_SIZE - 1) & ~(uintptr_t)(CHUNK_SIZE - 1);
    if (start != (uintptr_t)memory) {
        (void)pfa_sys_unmap(memory, start - (uintptr_t)memory);
    }
    (void)pfa_sys_unmap((void *)(start + CHUNK_SIZE), (uintptr_t)memory + CHUNK_SIZE - start);
    chunk_t *chunk = (chunk_t *)start;
    pfa_store_relaxed(&chunk->readers[0].taken, true);
    pfa_store_relaxed(&chunk->taken, 1);
    pfa_store_relaxed(&chunk->hint, 1);
    pfa_store_relaxed(&chunk->used, 1);
    chunk->next = pfa_load_relaxed(&chunks);
    while (!pfa_cas_weak_acq_rel(&chunks, &chunk->next, chunk)) { /* partner: the acquire loads of `chunks` */
    }
    return &chunk->readers[0];
}

static pfa_rcu_reader_t *take_any(void)
{
    for (chunk_t *chunk = pfa_load_acquire(&chunks); chunk != NULL; chunk = chunk->next) {
        pfa_rcu_reader_t *reader = take(chunk);
        if (reader != NULL) {
            return reader;
        }
    }
    return take_of_another_chunk();
}

bool pfa_rcu_register(pfa_tls_t *tls)
{
    int kept = errno;
    pfa_rcu_reader_t *reader = take_any();
    if (reader == NULL || tls->reader != NULL) { /* a handler that came meanwhile has done it */
        if (reader != NULL) {
            give(reader);
        }
        return tls->reader != NULL;
    }
    tls->reader = reader;
    /* May allocate, and so enter a section. Should it fail, the reader stays taken when its thread has ended, and idle. */
    if (has_key) {
        (void)pthread_setspecific(key, reader);
    }
    errno = kept;
    return true;
}

void pfa_rcu_rest(pfa_tls_t *tls)
{
    pfa_rcu_reader_t *reader = tls->reader;
    if (reader == NULL || (pfa_load_relaxed(&reader->counter) & PFA_RCU_NESTED) != 0) {
        return; /* a handler, perhaps: who it came into will */
    }
    int kept = errno;
    tls->reader = NULL;
    if (has_key) {
        (void)pthread_setspecific(key, NULL);
    }
    give(reader);
    errno = kept;
}

uint32_t pfa_rcu_taken(void)
{
    uint32_t taken = 0;
    for (const chunk_t *chunk = pfa_load_acquire(&chunks); chunk != NULL; chunk = chunk->next) {
        taken += pfa_load_relaxed(&chunk->taken);
    }
    return taken;
}

/* Is one of them in a section that it entered in the other phase? */
static bool has_old_reader(void)
{
    uint64_t period = pfa_load_relaxed(&pfa_rcu_period);
    for (chunk_t *chunk = pfa_load_acquire(&chunks); chunk != NULL; chunk = chunk->next) {
        uint32_t used = pfa_load_acquire(&chunk->used);
        for (uint32_t i = 0; i < used; i++) {
            uint64_t counter =
                pfa_load_acquire(&chunk->readers[i].counter); /* partner: the store in pfa_rcu_leave_as */
            if ((counter & PFA_RCU_NESTED) != 0 && ((counter ^ period) & PFA_RCU_PHASE) != 0) {
                return true;
            }
        }
    }
    return false;
}

/* Partner: pfa_rcu_reader_fence. Afterwards a section of which nothing is seen yet sees what we have stored before. False:
 * the system call is forbidden by now. */
static bool fence_readers(void)
{
    if (!pfa_rcu_fences) {
        return pfa_sys_try_fence_all();
    }
    pfa_fence_seq_cst();
    return true;
}

bool pfa_rcu_poll(pfa_rcu_grace_t *grace)
{
    enum { NOT_BEGUN, BEFORE_CHANGE, AFTER_CHANGE };
    if (grace->progress == NOT_BEGUN) {
        pfa_rcu_grace_t *none = NULL;
        if (!pfa_cas_acq_rel(&under_way, &none, grace)) {
            return false;
        }
        if (!fence_readers()) {
            pfa_store_release(&under_way, (pfa_rcu_grace_t *)NULL);
            return false; /* each time: what is retired stays */
        }
        grace->progress = BEFORE_CHANGE;
    }
    if (grace->progress == BEFORE_CHANGE) {
        if (has_old_reader()) {
            return false;
        }
        pfa_fence_seq_cst();
        pfa_store_relaxed(&pfa_rcu_period, pfa_load_relaxed(&pfa_rcu_period) ^ PFA_RCU_PHASE);
        pfa_fence_seq_cst();
        grace->progress = AFTER_CHANGE;
    }
    if (has_old_reader() || !fence_readers()) {
        return false;
    }
    grace->progress = NOT_BEGUN;
    pfa_store_release(&under_way, (pfa_rcu_grace_t *)NULL); /* partner: the exchange above */
    return true;
}

void pfa_rcu_wait(void)
{
    pfa_rcu_grace_t grace = {0};
    while (!pfa_rcu_poll(&grace)) {
        pfa_sys_pause(WAIT_NS);
    }
}

void pfa_rcu_after_fork(void)
{
    pfa_store_relaxed(&under_way, (pfa_rcu_grace_t *)NULL);
    for (chunk_t *chunk = pfa_load_acquire(&chunks); chunk != NULL; chunk = chunk->next) {
        uint32_t taken = 0;
        for (uint32_t i = 0; i < pfa_load_relaxed(&chunk->used); i++) {
            pfa_rcu_reader_t *reader = &chunk->readers[i];
            if (reader == pfa_tls.reader) {
                taken++;
            } else if (pfa_load_relaxed(&reader->taken)) {
                pfa_store_relaxed(&reader->counter, 0);
                pfa_store_relaxed(&reader->taken, false);
            }
        }
        pfa_store_relaxed(&chunk->taken, taken);
    }
}
