/* Failure injection: every system call of the allocator is made to fail, one at a time at each of its occurrences, from
 * one on, and at random, while a workload of all kinds of chunks runs, from the start of the allocator on. Allocation
 * then works or returns NULL, contents stay, recording degrades and says so, the counts stay consistent; and once calls
 * work again so does everything. Each case has a process of its own. */
#define _GNU_SOURCE 1
#include "alloc/places.h"
#include "tests/unit/allocator.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* --- which calls fail --------------------------------------------------------------------------------------------- */

typedef struct plan {
    pfa_sys_call_t call; /* PFA_SYS_COUNT: any */
    unsigned from;       /* the first that fails, counted from 1 */
    unsigned to;         /* the last */
    unsigned one_in;     /* of those, one in so many, at random */
    int err;
} plan_t;

static plan_t plan;
static _Atomic bool active;
static _Atomic unsigned seen[PFA_SYS_COUNT + 1];
static _Atomic unsigned injected;
static _Atomic uint64_t random_state;

static int fault(pfa_sys_call_t call)
{
    if (!atomic_load(&active)) {
        return 0;
    }
    unsigned of_call = atomic_fetch_add(&seen[call], 1) + 1;
    unsigned of_all = atomic_fetch_add(&seen[PFA_SYS_COUNT], 1) + 1;
    unsigned number = plan.call == PFA_SYS_COUNT ? of_all : of_call;
    if ((plan.call != PFA_SYS_COUNT && plan.call != call) || number < plan.from || number > plan.to) {
        return 0;
    }
    if (plan.one_in > 1) {
        uint64_t state = atomic_fetch_add(&random_state, 0x632be59bd9b4e019ull);
        if (random_below(&state, plan.one_in) != 0) {
            return 0;
        }
    }
    atomic_fetch_add(&injected, 1);
    return plan.err;
}

/* --- the workload ------------------------------------------------------------------------------------------------- */

enum { LIVE = 300, STEPS = 1000, LEFT_BEHIND = 60 };

typedef struct item {
    void *chunk;
    size_t size;
    uint64_t salt;
} item_t;

static item_t live[LIVE];
static item_t left_behind[LEFT_BEHIND];
static unsigned refused; /* allocations that gave nothing at all */
static unsigned missed;  /* chunks that should have been recorded and were not */
static uint64_t salts;

static void *plain(const request_t *request)
{
    bool zero = (request->flags & PFA_FLAG_ZEROED) != 0;
    if (request->align != 0) {
        return pfa_backing_aligned(request->size, request->align, zero);
    }
    return zero ? pfa_backing_calloc(request->size) : pfa_backing_malloc(request->size);
}

/* As the entry points do it: recorded if possible, plain if not. */
static void obtain(item_t *item, const request_t *request)
{
    void *chunk = pfa_tls.thread != NULL && pfa_range.total_span != 0 ? recorded(request) : NULL;
    if (chunk != NULL) {
        must(verdict_on(chunk) == PFA_CHUNK_LIVE);
    } else if (errno = 0, (chunk = plain(request)) != NULL) {
        missed++;
        pfa_chunk_missed(&pfa_tls);
        must(verdict_on(chunk) == PFA_CHUNK_PLAIN);
        must(!pfa_range_profiled((uintptr_t)chunk));
    } else {
        must(errno == ENOMEM);
        refused++;
        return;
    }
    must(request->align == 0 || (uintptr_t)chunk % request->align == 0);
    must(usable_of(chunk) >= request->size);
    const unsigned char *bytes = chunk;
    for (size_t i = 0; (request->flags & PFA_FLAG_ZEROED) != 0 && i < request->size; i += 1 + request->size / 500) {
        must(bytes[i] == 0);
    }
    *item = (item_t){chunk, request->size, ++salts};
    fill_pattern(chunk, request->size, item->salt);
}

static void give_back(item_t *item)
{
    pfa_finding_t finding;
    must(has_pattern(item->chunk, item->size, item->salt));
    pfa_verdict_t verdict = pfa_chunk_free(&pfa_tls, (uintptr_t)item->chunk, &finding);
    if (verdict == PFA_CHUNK_PLAIN) {
        pfa_backing_free(item->chunk);
    } else {
        must(verdict == PFA_CHUNK_LIVE);
        must(verdict_on(item->chunk) != PFA_CHUNK_LIVE);
    }
    item->chunk = NULL;
}

static request_t some_request(uint64_t *seed)
{
    request_t request = {random_below(seed, (uint64_t)32 << random_below(seed, 16)), 0, 0};
    if (random_below(seed, 6) == 0) {
        request.align = (size_t)16 << random_below(seed, 14);
        request.flags = PFA_FLAG_ALIGNED;
    }
    if (random_below(seed, 4) == 0) {
        request.flags |= PFA_FLAG_ZEROED;
    }
    return request;
}

static void churn(item_t *items, size_t count, int steps, uint64_t *seed)
{
    for (int step = 0; step < steps; step++) {
        item_t *item = &items[random_below(seed, count)];
        if (item->chunk != NULL) {
            give_back(item);
        } else {
            request_t request = some_request(seed);
            obtain(item, &request);
        }
    }
}

/* A short life: all of it on the way to a set of chunks that outlive the thread. */
static void *live_and_die(void *arg)
{
    uint64_t *seed = arg;
    bool known = thread_begin();
    churn(left_behind, LEFT_BEHIND, 200, seed);
    if (known) {
        thread_end();
    } else {
        pfa_backing_thread_end();
    }
    return NULL;
}

static void run_thread(void *(*function)(void *), void *arg)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, function, arg) == 0);
    must(pthread_join(thread, NULL) == 0);
}

static void work(uint64_t seed)
{
    pfa_backing_init();
    pfa_range_open_plain();
    (void)pfa_range_open_profiled(256 * MIB, 256 * MIB, wide_records());
    (void)thread_begin();
    churn(live, LIVE, STEPS, &seed);
    for (int i = 0; i < 3; i++) {
        run_thread(live_and_die, &seed);
        churn(live, LIVE, STEPS / 10, &seed);
    }
    (void)pfa_backing_trim();
    for (int i = 0; i < LIVE; i++) {
        if (live[i].chunk != NULL && i % 2 == 0) {
            give_back(&live[i]);
        }
    }
    (void)pfa_chunk_reclaim();
    (void)pfa_backing_trim();
    churn(live, LIVE, STEPS / 3, &seed);
}

/* --- afterwards ---------------------------------------------------------------------------------------------------- */

static bool recording_comes_back(size_t size)
{
    enum {
        PATIENCE = 16 << 20
    }; /* each failure makes the next pause twice as long (alloc/chunk.c), and calls fail at random */
    for (int i = 0; i < PATIENCE; i++) {
        void *chunk = chunk_of(size);
        if (chunk != NULL) {
            must(verdict_on(chunk) == PFA_CHUNK_LIVE);
            must(in_regions((uintptr_t)chunk) || size > PFA_REGION_CHUNK_MAX);
            must(free_chunk(chunk) == PFA_CHUNK_LIVE);
            return true;
        }
    }
    return false;
}

/* A range that was opened while calls failed may be as small as one segment, and a heap that was given up keeps its segment: then
 * there may be no room for another. */
static bool regions_may_be_full(void)
{
    return pfa_range.region_span < 256 * MIB;
}

/* Of every class: none remembers the trouble. */
static void check_regions_are_back(void)
{
    for (size_t size = 8; size <= PFA_REGION_CHUNK_MAX; size += size < 1024 ? 16 : size / 4) {
        if (!recording_comes_back(size)) {
            must(regions_may_be_full());
            return;
        }
    }
}

static void check_counts_balance(unsigned missed_in_all)
{
    static pfa_counters_t sum;
    pfa_counters_sum(&sum);
    for (unsigned class = 0; class < PFA_CLASS_COUNT; class ++) {
        const pfa_class_counters_t *one = &sum.by_class[class];
        must(pfa_read_counter(&one->allocations) == pfa_read_counter(&one->frees));
        must(pfa_read_counter(&one->bytes) == pfa_read_counter(&one->freed_bytes));
    }
    must(pfa_read_counter(&sum.unrecorded) <= missed_in_all);
}

static void check_all_is_well(uint64_t seed)
{
    must(pfa_range_open_profiled(256 * MIB, 256 * MIB, wide_records()) == 0);
    must(pfa_tls.thread != NULL || thread_begin());
    check_regions_are_back();
    must(recording_comes_back(1 * MIB));
    unsigned missed_before = missed;
    refused = missed = 0;
    churn(live, LIVE, STEPS, &seed);
    run_thread(live_and_die, &seed);
    must(refused == 0);
    must(missed == 0 || regions_may_be_full());
    for (int i = 0; i < LIVE; i++) {
        if (live[i].chunk != NULL) {
            give_back(&live[i]);
        }
    }
    for (int i = 0; i < LEFT_BEHIND; i++) {
        if (left_behind[i].chunk != NULL) {
            give_back(&left_behind[i]);
        }
    }
    check_counts_balance(missed_before + missed);
    (void)pfa_chunk_reclaim();
    must(pfa_intervalmap_retired() == 0);
}

/* Recording that degraded was told: in lines of ours, and few of them. */
static void check_was_said(const capture_t *said, bool must_say)
{
    unsigned lines = lines_in(said->text);
    must(lines <= 8);
    must(!must_say || lines > 0);
    for (const char *line = said->text; *line != '\0'; line = strchr(line, '\n') + 1) {
        must(strncmp(line, "profalloc: ", 11) == 0);
    }
}

/* Whatever goes wrong in here shall not take the machine's memory with it. */
static void limit_memory(void)
{
    unsigned long data = 0; /* pages of it so far: a sanitizer has many */
    FILE *statm = fopen("/proc/self/statm", "r");
    must(statm != NULL && fscanf(statm, "%*s %*s %*s %*s %*s %lu", &data) == 1);
    fclose(statm);
    rlim_t most = data * (rlim_t)sysconf(_SC_PAGESIZE) + 2 * GIB;
    must(setrlimit(RLIMIT_DATA, &(struct rlimit){most, most}) == 0);
}

static void run_case(void)
{
    static capture_t said;
    limit_memory();
    capture_begin(&said);
    pfa_sys_fault = fault;
    atomic_store(&random_state, plan.from * 77u + plan.one_in);
    atomic_store(&active, true);
    work(141);
    atomic_store(&active, false);
    pfa_sys_fault = NULL;
    /* Without a range or a thread block nothing could have been recorded, and hooks/ is who says that. */
    bool must_say = missed > 0 && pfa_range.total_span != 0 && pfa_tls.thread != NULL && plan.call != PFA_SYS_WRITE &&
                    plan.call != PFA_SYS_COUNT && atomic_load(&seen[PFA_SYS_MMAP]) > 0;
    (void)capture_end(&said);
    check_was_said(&said, must_say);
    check_all_is_well(142);
}

/* --- the cases ----------------------------------------------------------------------------------------------------- */

static const char *const names[PFA_SYS_COUNT + 1] = {
    "mmap",      "munmap",    "mprotect",       "madvise", "open",   "read",      "write",      "close",
    "sysinfo",   "prlimit",   "getrandom",      "clock",   "futex",  "faccessat", "membarrier", "create",
    "ftruncate", "fallocate", "mmap of a file", "pwrite",  "unlink", "any"};

static unsigned *occurrences; /* of each call in a run without faults; shared with the children */

static void try_case(pfa_sys_call_t call, unsigned from, unsigned to, unsigned one_in, int err)
{
    plan = (plan_t){call, from, to, one_in, err};
    int status = status_of_child(run_case);
    if (status != 0) {
        fail_msg("%s failing with %s from occurrence %u to %u, one in %u: status %x", names[call], strerrorname_np(err),
                 from, to, one_in, (unsigned)status);
    }
}

static void count_occurrences(void)
{
    plan = (plan_t){PFA_SYS_COUNT, UINT32_MAX, UINT32_MAX, 1, 0};
    run_case();
    must(refused == 0 && missed == 0);
    for (int call = 0; call <= PFA_SYS_COUNT; call++) {
        occurrences[call] = atomic_load(&seen[call]);
    }
}

static int start(void **state)
{
    (void)state;
    occurrences = mmap(NULL, sizeof *occurrences * (PFA_SYS_COUNT + 1), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return occurrences == MAP_FAILED || status_of_child(count_occurrences) != 0;
}

static int likely_error(pfa_sys_call_t call)
{
    switch (call) {
    case PFA_SYS_OPEN:
        return EMFILE;
    case PFA_SYS_READ:
    case PFA_SYS_WRITE:
    case PFA_SYS_CLOSE:
        return EIO;
    case PFA_SYS_FUTEX:
        return EAGAIN;
    case PFA_SYS_GETRANDOM:
    case PFA_SYS_SYSINFO:
    case PFA_SYS_ACCESS:
    case PFA_SYS_MEMBARRIER:
        return ENOSYS;
    case PFA_SYS_PRLIMIT:
        return EPERM;
    default:
        return ENOMEM;
    }
}

/* Every one of the first, then ever fewer. */
static unsigned next_occurrence(unsigned n)
{
    return n < 24 ? n + 1 : n + n / 6;
}

static void the_workload_makes_the_calls_that_matter(void **state)
{
    (void)state;
    for (int call = 0; call <= PFA_SYS_COUNT; call++) {
        print_message("  %s: %u calls\n", names[call], occurrences[call]);
    }
    assert_true(occurrences[PFA_SYS_MMAP] >= 8);
    assert_true(occurrences[PFA_SYS_MPROTECT] >= 10);
    assert_true(occurrences[PFA_SYS_MUNMAP] >= 1);
    assert_true(occurrences[PFA_SYS_MADVISE] >= 5);
    assert_true(occurrences[PFA_SYS_GETRANDOM] >= 1);
}

static size_t stubborn_size;

/* One size only, so that the page that was made when there was no memory for its records is the one at hand when recording
 * comes back. */
static void insist_on_one_size(void)
{
    enum { CHUNKS = 200 };
    void *chunks[CHUNKS];
    static capture_t said;
    capture_begin(&said);
    allocator_start(256 * MIB, 256 * MIB);
    pfa_sys_fault = fault;
    atomic_store(&active, true);
    (void)chunk_of(stubborn_size);
    atomic_store(&active, false);
    must(recording_comes_back(stubborn_size));
    for (int i = 0; i < CHUNKS; i++) {
        chunks[i] = chunk_of(stubborn_size);
        must(chunks[i] != NULL && verdict_on(chunks[i]) == PFA_CHUNK_LIVE);
    }
    for (int i = 0; i < CHUNKS; i++) {
        must(free_chunk(chunks[i]) == PFA_CHUNK_LIVE);
    }
}

static void a_page_without_records_is_not_at_hand_later(void **state)
{
    (void)state;
    for (stubborn_size = 16; stubborn_size <= 128 * KIB; stubborn_size += stubborn_size / 2) {
        for (unsigned n = 1; n <= 3; n++) {
            plan = (plan_t){PFA_SYS_MPROTECT, n, n, 1, ENOMEM};
            int status = status_of_child(insist_on_one_size);
            if (status != 0) {
                fail_msg("%zu bytes, mprotect number %u failing: status %x", stubborn_size, n, (unsigned)status);
            }
        }
    }
}

static _Atomic unsigned mapped;
static _Atomic unsigned unmapped;
static unsigned map_to_fail;

static int refuse_maps(pfa_sys_call_t call)
{
    return call == PFA_SYS_MMAP ? ENOMEM : 0;
}

static int fail_one_map(pfa_sys_call_t call)
{
    if (call == PFA_SYS_MUNMAP) {
        atomic_fetch_add(&unmapped, 1);
    }
    if (call != PFA_SYS_MMAP) {
        return 0;
    }
    return atomic_fetch_add(&mapped, 1) + 1 == map_to_fail ? ENOMEM : 0;
}

/* A large chunk beyond the range has memory and no place in the map yet: without memory for that, it is all given back. */
static void overflow_without_a_map(void)
{
    static capture_t said;
    capture_begin(&said);
    allocator_start(64 * MIB, 64 * MIB);
    while (pfa_range_profiled((uintptr_t)chunk_of(16 * MIB - 200 * KIB))) { /* until L is full; the last is outside */
    }
    pfa_intervalmap_t *map = &pfa_range.large;
    for (size_t i = 0; i < PFA_ROOT_ENTRIES; i++) {
        pfa_store_relaxed(&map->root[i], (pfa_granule_t *)NULL); /* as if nothing had been outside before */
    }
    map_to_fail = 2; /* the chunk's own is the first */
    pfa_sys_fault = fail_one_map;
    void *chunk = chunk_of(20 * MIB);
    pfa_sys_fault = NULL;
    (void)capture_end(&said);
    must(chunk == NULL);
    must(atomic_load(&mapped) == 2 && atomic_load(&unmapped) == 1);
    must(strstr(said.text, "no memory for the map of large chunks: some are not recorded") != NULL);
}

static void what_cannot_be_tracked_is_given_back(void **state)
{
    (void)state;
    in_child(overflow_without_a_map);
}

static void open_without_memory(void)
{
    pfa_record_t *records = NULL;
    pfa_message_init();
    pfa_backing_init();
    map_to_fail = 1;
    pfa_sys_fault = fail_one_map;
    pfa_range_open_plain(); /* a smaller space then */
    pfa_sys_fault = refuse_maps;
    must(pfa_range_open_profiled(0, 0, wide_records()) == ENOMEM && pfa_range.total_span == 0);
    must(pfa_range_open_profiled(256 * MIB, 256 * MIB, wide_records()) == ENOMEM);
    pfa_sys_fault = NULL;
    must(pfa_range_open_profiled(256 * MIB, 256 * MIB, wide_records()) == 0);
    must(pfa_range_open_profiled(512 * MIB, 0, wide_records()) == 0 &&
         pfa_range.region_span == 256 * MIB); /* the first call counts */
    pfa_sys_fault = refuse_maps;
    must(pfa_places_get(0, (pfa_need_t){0, 1}, &records) == ENOMEM);
    pfa_sys_fault = NULL;
    must(pfa_places_get(0, (pfa_need_t){0, 1}, &records) == 0 && records != NULL);
}

static void opening_without_memory_says_so(void **state)
{
    (void)state;
    in_child(open_without_memory);
}

static void each_call_fails_once_at_each_place(void **state)
{
    (void)state;
    for (int call = 0; call < PFA_SYS_COUNT; call++) {
        for (unsigned n = 1; n <= occurrences[call]; n = next_occurrence(n)) {
            try_case((pfa_sys_call_t)call, n, n, 1, likely_error((pfa_sys_call_t)call));
        }
    }
}

static void each_call_fails_from_some_place_on(void **state)
{
    (void)state;
    for (int call = 0; call < PFA_SYS_COUNT; call++) {
        for (unsigned n = 1; n <= occurrences[call] + 1; n = n < 4 ? n + 1 : n * 3 / 2) {
            try_case((pfa_sys_call_t)call, n, UINT32_MAX, 1, likely_error((pfa_sys_call_t)call));
        }
    }
}

static void each_call_fails_a_few_times_in_a_row(void **state)
{
    (void)state;
    for (int call = 0; call < PFA_SYS_COUNT; call++) {
        for (unsigned n = 1; n <= occurrences[call]; n = n < 8 ? n + 2 : n * 3 / 2) {
            try_case((pfa_sys_call_t)call, n, n + 2, 1, EINVAL);
        }
    }
}

static void calls_fail_at_random(void **state)
{
    (void)state;
    static const unsigned rates[] = {2, 3, 5, 10, 30, 100};
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        for (unsigned from = 1; from <= 2; from++) { /* each a different stream of chances */
            try_case(PFA_SYS_COUNT, from, UINT32_MAX, rates[r], ENOMEM);
            try_case(PFA_SYS_MPROTECT, from, UINT32_MAX, rates[r], ENOMEM);
            try_case(PFA_SYS_MMAP, from, UINT32_MAX, rates[r], ENOMEM);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_workload_makes_the_calls_that_matter),
        cmocka_unit_test(a_page_without_records_is_not_at_hand_later),
        cmocka_unit_test(what_cannot_be_tracked_is_given_back),
        cmocka_unit_test(opening_without_memory_says_so),
        cmocka_unit_test(each_call_fails_once_at_each_place),
        cmocka_unit_test(each_call_fails_from_some_place_on),
        cmocka_unit_test(each_call_fails_a_few_times_in_a_row),
        cmocka_unit_test(calls_fail_at_random),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
