/* Re-entrancy injection: what happens when the allocator is used again while it is in the middle of something.
 *
 * Two kinds are promised and tried here at every system call of a workload, in turn:
 *   1. By another thread: one that is stopped inside any system call of the allocator holds nobody up. It may be in the
 *      middle of a page, a region's words or a segment; the others allocate, free and look up as if it were not there.
 *   2. By the same thread, where the runtime itself calls out: when it asks for a reclaim (which may create a thread, and
 *      that allocates), and when it says something.
 * Not promised is the same thread from inside the system calls that get and give back memory: mimalloc has a span in its
 * hands then. Nothing does that, since the floor never calls back and malloc in a signal handler is not allowed.
 * Each case has a process of its own. */
#define _GNU_SOURCE 1
#include "tests/unit/allocator.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

enum { LIVE = 200, STEPS = 500, KEPT = 40, PATIENCE_SECONDS = 20 };

typedef struct item {
    void *chunk;
    size_t size;
    bool is_plain;
} item_t;

static item_t live[LIVE]; /* of the thread that is stopped */
static item_t kept[KEPT]; /* of who uses the allocator meanwhile */

static void obtain(item_t *item, size_t size, size_t align, bool want_plain)
{
    request_t request = {size, align, align != 0 ? PFA_FLAG_ALIGNED : 0};
    void *chunk = want_plain ? NULL : recorded(&request);
    item->is_plain = chunk == NULL;
    if (chunk == NULL) {
        chunk = align != 0 ? pfa_backing_aligned(size, align, false) : pfa_backing_malloc(size);
    }
    must(chunk != NULL && verdict_on(chunk) == (item->is_plain ? PFA_CHUNK_PLAIN : PFA_CHUNK_LIVE));
    item->chunk = chunk;
    item->size = size;
    fill_pattern(chunk, size, size);
}

static void give_back(item_t *item)
{
    void *chunk = item->chunk;
    must(has_pattern(chunk, item->size, item->size));
    item->chunk = NULL; /* from here on nobody else may free it */
    if (item->is_plain) {
        pfa_backing_free(chunk);
    } else {
        must(free_chunk(chunk) == PFA_CHUNK_LIVE);
    }
}

static void give_back_all(item_t *items, int count)
{
    for (int i = 0; i < count; i++) {
        if (items[i].chunk != NULL) {
            give_back(&items[i]);
        }
    }
}

/* A bit of everything, some of which stays. */
static void use_meanwhile(void)
{
    static const size_t sizes[] = {1, 24, 100, 700, 3000, 20000, 100000, 300000, 3000000};
    unsigned at = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int is_plain = 0; is_plain < 2; is_plain++) {
            item_t passing;
            obtain(&passing, sizes[i], 0, is_plain != 0);
            obtain(&kept[at++], sizes[i], 0, is_plain != 0);
            give_back(&passing);
            obtain(&kept[at++], sizes[i] / 2, 128, is_plain != 0);
        }
    }
    must(at <= KEPT);
}

static void churn(uint64_t *seed)
{
    for (int step = 0; step < STEPS; step++) {
        item_t *item = &live[random_below(seed, LIVE)];
        if (item->chunk != NULL) {
            give_back(item);
        } else {
            size_t align = random_below(seed, 6) == 0 ? (size_t)32 << random_below(seed, 8) : 0;
            obtain(item, random_below(seed, (uint64_t)32 << random_below(seed, 15)), align, random_below(seed, 3) == 0);
        }
    }
}

static void *churn_elsewhere(void *seed)
{
    must(thread_begin());
    churn(seed);
    thread_end();
    return NULL;
}

static void run_workload(void)
{
    uint64_t seed = 161;
    pthread_t thread;
    churn(&seed);
    must(pthread_create(&thread, NULL, churn_elsewhere, &seed) == 0);
    must(pthread_join(thread, NULL) == 0);
    (void)pfa_backing_trim();
    churn(&seed);
}

static void check_counts_balance(void)
{
    static pfa_counters_t sum;
    pfa_counters_sum(&sum);
    for (unsigned class = 0; class < PFA_CLASS_COUNT; class ++) {
        must(pfa_read_counter(&sum.by_class[class].allocations) == pfa_read_counter(&sum.by_class[class].frees));
        must(pfa_read_counter(&sum.by_class[class].bytes) == pfa_read_counter(&sum.by_class[class].freed_bytes));
    }
}

/* --- 1. another thread --------------------------------------------------------------------------------------------- */

static unsigned stop_at; /* the number of the call; 0: none */
static _Atomic unsigned calls;
static _Atomic bool stopped; /* a thread is inside that call */
static _Atomic bool released;
static sem_t go;
static sem_t done;
static unsigned *calls_in_all; /* of a run without a stop; shared with the children */

/* The other thread: sees what the stopped one holds, frees some of it, and allocates its own. */
static void *use_when_told(void *unused)
{
    must(thread_begin());
    for (int i = 0; i < 20; i++) {
        item_t warm;
        obtain(&warm, 100, 0, i % 2 == 0); /* its heaps exist, as in a process that has been running */
        give_back(&warm);
    }
    must(sem_post(&done) == 0);
    while (sem_wait(&go) != 0) {
    }
    if (!atomic_load(&released)) {
        use_meanwhile();
        for (int i = 0; i < LIVE; i += 3) {
            if (live[i].chunk != NULL) {
                give_back(&live[i]); /* the stopped thread's */
            }
        }
        give_back_all(kept, KEPT / 2);
        must(sem_post(&done) == 0);
        while (sem_wait(&go) != 0) {
        }
    }
    give_back_all(kept, KEPT);
    thread_end();
    return unused;
}

static int stop_here(pfa_sys_call_t call)
{
    (void)call;
    if (!atomic_load(&stopped) && atomic_fetch_add(&calls, 1) + 1 == stop_at) {
        atomic_store(&stopped, true);
        struct timespec limit;
        must(clock_gettime(CLOCK_REALTIME, &limit) == 0);
        limit.tv_sec += PATIENCE_SECONDS;
        must(sem_post(&go) == 0);
        must(sem_timedwait(&done, &limit) == 0); /* or the other waits for us */
    }
    return 0;
}

static void run_with_a_stop(void)
{
    pthread_t other;
    allocator_start(256 * MIB, 256 * MIB);
    must(sem_init(&go, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
    must(pthread_create(&other, NULL, use_when_told, NULL) == 0);
    must(sem_wait(&done) == 0);
    pfa_sys_fault = stop_here;
    run_workload();
    pfa_sys_fault = NULL;
    atomic_store(&released, true);
    must(sem_post(&go) == 0);
    must(pthread_join(other, NULL) == 0);
    run_workload();
    give_back_all(live, LIVE);
    check_counts_balance();
    (void)pfa_chunk_reclaim();
    if (stop_at == 0) {
        *calls_in_all = atomic_load(&calls);
    }
}

static void a_thread_stopped_in_any_call_holds_nobody_up(void **state)
{
    (void)state;
    calls_in_all = mmap(NULL, sizeof *calls_in_all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(calls_in_all != MAP_FAILED);
    in_child(run_with_a_stop);
    assert_true(*calls_in_all >= 20);
    for (stop_at = 1; stop_at <= *calls_in_all; stop_at++) {
        int status = status_of_child(run_with_a_stop);
        if (status != 0) {
            fail_msg("stopped in call %u of %u: status %x", stop_at, *calls_in_all, (unsigned)status);
        }
    }
}

/* --- 2. the same thread -------------------------------------------------------------------------------------------- */

static unsigned depth;
static unsigned reentries;

static void use_inside(void)
{
    if (depth++ == 0) {
        use_meanwhile();
        give_back_all(kept, KEPT); /* frees large chunks, and so comes here again */
        reentries++;
    }
    depth--;
}

static void reenter_when_asked_to_reclaim(void)
{
    allocator_start(256 * MIB, 256 * MIB);
    pfa_chunk_want_reclaim = use_inside;
    run_workload();
    give_back_all(live, LIVE);
    must(reentries > 10);
    check_counts_balance();
    (void)pfa_chunk_reclaim();
    must(pfa_intervalmap_retired() == 0);
}

static void asking_for_a_reclaim_may_allocate(void **state)
{
    (void)state;
    in_child(reenter_when_asked_to_reclaim);
}

static int reenter_write(pfa_sys_call_t call)
{
    if (call == PFA_SYS_WRITE) {
        use_inside();
    }
    return 0;
}

static void reenter_when_something_is_said(void)
{
    enum { MANY = 40000 };
    static void *chunks[MANY];
    capture_t said;
    size_t count = 0;
    allocator_start(64 * MIB, 64 * MIB);
    capture_begin(&said);
    pfa_sys_fault = reenter_write;
    while (count < MANY && (chunks[count] = chunk_of(4000)) != NULL) { /* until it says that there is no more room */
        count++;
    }
    pfa_sys_fault = NULL;
    (void)capture_end(&said);
    must(count < MANY && reentries == 1 && lines_in(said.text) == 1);
    while (count > 0) {
        must(free_chunk(chunks[--count]) == PFA_CHUNK_LIVE);
    }
    check_counts_balance();
}

static void saying_something_may_allocate(void **state)
{
    (void)state;
    in_child(reenter_when_something_is_said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_stopped_in_any_call_holds_nobody_up),
        cmocka_unit_test(asking_for_a_reclaim_may_allocate),
        cmocka_unit_test(saying_something_may_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
