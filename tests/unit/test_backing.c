/* The vendored allocator behind its narrow face: the geometry the rest relies on, heaps of exclusive space, and the rule
 * that recorded and plain chunks never share space, whatever threads come and go. */
#define _GNU_SOURCE 1
#include "tests/unit/allocator.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

static int start(void **state)
{
    (void)state;
    allocator_start(2 * GIB, 2 * GIB);
    return 0;
}

/* --- the default heap --------------------------------------------------------------------------------------------- */

static void chunks_hold_what_was_asked_for(void **state)
{
    (void)state;
    for (size_t size = 0; size <= 40 * MIB; size = size * 5 / 4 + 1) {
        void *chunk = pfa_backing_malloc(size);
        assert_non_null(chunk);
        assert_true((uintptr_t)chunk % (size > 8 ? 16 : 8) == 0);
        size_t usable = pfa_backing_usable(chunk);
        assert_true(usable >= size && usable <= 2 * size + 64 * KIB);
        fill_pattern(chunk, usable, size);
        assert_true(has_pattern(chunk, usable, size));
        pfa_backing_free(chunk);
    }
}

static void calloc_gives_zeros_also_of_used_memory(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size <= 20 * MIB; size = size * 3 / 2 + 1) {
            unsigned char *chunk = pfa_backing_calloc(size);
            assert_non_null(chunk);
            for (size_t i = 0; i<size; i += size> 64 * KIB ? 97 : 1) {
                assert_int_equal(chunk[i], 0);
            }
            memset(chunk, 0xee, size);
            pfa_backing_free(chunk);
        }
    }
}

static void every_alignment_is_met(void **state)
{
    (void)state;
    enum { TOGETHER = 3 };
    static const size_t sizes[] = {0, 1, 8, 16, 24, 64, 100, 128, 256, 512, 1000, 1024, 4096, 5000, 65536, 200000};
    for (size_t align = 8; align <= 64 * MIB; align *= 2) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            unsigned char *chunk[TOGETHER];
            for (int t = 0; t < TOGETHER; t++) {
                chunk[t] = pfa_backing_aligned(sizes[i], align, t == 1);
                assert_non_null(chunk[t]);
                if ((uintptr_t)chunk[t] % align != 0) {
                    fail_msg("%zu bytes aligned to %zu: got %p", sizes[i], align, (void *)chunk[t]);
                }
                assert_true(pfa_backing_usable(chunk[t]) >= sizes[i]);
                for (size_t at = 0; t == 1 && at < sizes[i]; at += 101) {
                    assert_int_equal(chunk[t][at], 0);
                }
                memset(chunk[t], 0x77, sizes[i]);
            }
            for (int t = 0; t < TOGETHER; t++) {
                pfa_backing_free(chunk[t]);
            }
        }
    }
}

static void realloc_keeps_the_contents(void **state)
{
    (void)state;
    uint64_t seed = 121;
    unsigned char *chunk = pfa_backing_malloc(1);
    size_t size = 1;
    assert_non_null(chunk);
    chunk[0] = 7;
    for (int i = 0; i < 2000; i++) {
        size_t next = 1 + random_below(&seed, (uint64_t)16 << random_below(&seed, 16));
        chunk = pfa_backing_move(chunk, pfa_backing_usable(chunk), next);
        assert_non_null(chunk);
        size_t kept = size < next ? size : next;
        for (size_t at = 0; at<kept; at += kept> 4096 ? 61 : 1) {
            assert_int_equal(chunk[at], (unsigned char)(at * 13 + 7));
        }
        for (size_t at = 0; at < next; at++) {
            chunk[at] = (unsigned char)(at * 13 + 7);
        }
        size = next;
    }
    pfa_backing_free(chunk);
}

/* The slot that a move leaves behind is the next to be used, in a page that may have held nothing but zeros until now. */
static void what_a_move_leaves_behind_is_zeroed(void **state)
{
    (void)state;
    for (size_t size = 8; size < 3 * MIB; size += size / 5 + 8) {
        unsigned char *chunk = pfa_backing_malloc(size);
        assert_non_null(chunk);
        size_t usable = pfa_backing_usable(chunk);
        memset(chunk, 0xee, usable);
        chunk = pfa_backing_move(chunk, usable, 3 * size + 1);
        assert_non_null(chunk);
        unsigned char *zeros[4];
        for (int i = 0; i < 4; i++) {
            zeros[i] = pfa_backing_calloc(size);
            assert_non_null(zeros[i]);
            for (size_t at = 0; at < size; at++) {
                assert_int_equal(zeros[i][at], 0);
            }
        }
        for (int i = 0; i < 4; i++) {
            pfa_backing_free(zeros[i]);
        }
        pfa_backing_free(chunk);
    }
}

/* errno says ENOMEM after a failure and is left alone otherwise. */
static void errno_is_the_programs(void **state)
{
    (void)state;
    void *chunk;
    errno = 4321;
    for (size_t size = 1; size < 50 * MIB; size *= 3) {
        chunk = pfa_backing_malloc(size);
        assert_non_null(chunk);
        pfa_backing_free(chunk);
    }
    (void)pfa_backing_trim();
    assert_int_equal(errno, 4321);
    assert_null(pfa_backing_malloc((size_t)1 << 62));
    assert_int_equal(errno, ENOMEM);
    errno = 0;
    assert_null(pfa_backing_calloc(PTRDIFF_MAX));
    assert_int_equal(errno, ENOMEM);
    errno = 0;
    assert_null(pfa_backing_aligned((size_t)1 << 62, 4096, false));
    assert_int_equal(errno, ENOMEM);
    errno = 0;
    chunk = pfa_backing_malloc(100);
    assert_null(pfa_backing_move(chunk, pfa_backing_usable(chunk), (size_t)1 << 62));
    assert_int_equal(errno, ENOMEM);
    pfa_backing_free(chunk);
}

static void owns_is_total(void **state)
{
    (void)state;
    int local = 0;
    uint64_t seed = 122;
    void *small = pfa_backing_malloc(10);
    void *big = pfa_backing_malloc(20 * MIB);
    void *recorded = chunk_of(100);
    assert_true(pfa_backing_owns(small) && pfa_backing_owns(big) && pfa_backing_owns(recorded));
    assert_true(pfa_backing_owns(small)); /* also when asked again */
    assert_false(pfa_backing_owns(NULL));
    assert_false(pfa_backing_owns((void *)8));
    assert_false(pfa_backing_owns(&local));
    assert_false(pfa_backing_owns((void *)UINTPTR_MAX));
    assert_false(pfa_backing_owns((void *)0xffff800000000000));
    void *foreign = mmap(NULL, 64 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(foreign != MAP_FAILED);
    for (size_t at = 0; at < 64 * MIB; at += MIB) {
        assert_false(pfa_backing_owns((char *)foreign + at)); /* can be read, and is not ours */
    }
    munmap(foreign, 64 * MIB);
    for (int i = 0; i < 20000; i++) {
        uintptr_t wild = random_next(&seed) & ~((uintptr_t)1 << 63);
        bool ours = pfa_range_plain(wild) || pfa_range_profiled(wild);
        assert_true(ours || !pfa_backing_owns((void *)wild));
    }
    pfa_backing_free(small);
    pfa_backing_free(big);
    assert_int_equal(free_chunk(recorded), PFA_CHUNK_LIVE);
}

/* --- heaps of exclusive space ------------------------------------------------------------------------------------- */

/* What is at hand comes only of pages that a chunk was taken from with one of the other calls before: the page must have
 * been seen then, with the geometry it has now. */
static void what_is_at_hand_is_of_known_pages(void **state)
{
    (void)state;
    enum { LIVE = 3000, STEPS = 200000, SLICES = 2 << 15 };
    static void *live[LIVE];
    static size_t noted[SLICES]; /* slot size by first slice of the page */
    uint64_t seed = 123;
    uint64_t largest = 64;
    unsigned popped = 0;
    void *heap = pfa_backing_heap(pfa_range.region_arena);
    assert_non_null(heap);
    for (int step = 0; step < STEPS; step++) {
        size_t i = random_below(&seed, LIVE);
        if (step % 5000 == 0) {
            largest = (uint64_t)32 << random_below(&seed, 13);
            for (size_t n = 0; step % 20000 == 0 && n < LIVE; n++) {
                pfa_backing_free(live[n]);
                live[n] = NULL;
            }
            (void)pfa_backing_trim();
        }
        pfa_backing_free(live[i]);
        size_t size = 16 + random_below(&seed, largest);
        bool align = random_below(&seed, 8) == 0;
        bool zero = random_below(&seed, 8) == 0;
        live[i] = align || zero ? NULL : pfa_backing_heap_pop(heap, size);
        bool at_hand = live[i] != NULL;
        if (!at_hand) {
            live[i] =
                align ? pfa_backing_heap_aligned(heap, size, 64, zero) : pfa_backing_heap_malloc(heap, size, zero);
        }
        assert_non_null(live[i]);
        pfa_page_geometry_t page;
        pfa_backing_geometry(live[i], &page);
        size_t slice = (page.start - pfa_range.base) >> PFA_SLICE_SHIFT;
        assert_true(slice < SLICES && page.slot_size >= size);
        if (at_hand) {
            assert_true(noted[slice] == page.slot_size);
            popped++;
        } else {
            noted[slice] = page.slot_size;
        }
    }
    assert_true(popped > STEPS / 20); /* or else this tests nothing */
    for (size_t n = 0; n < LIVE; n++) {
        pfa_backing_free(live[n]);
    }
}

static void *give_all(void *chunks)
{
    for (void **each = chunks; *each != NULL; each++) {
        pfa_backing_free(*each);
    }
    return NULL;
}

static size_t chunks_of_this_thread(void)
{
    pfa_backing_stats_t stats;
    pfa_backing_stats(&stats);
    return stats.chunks;
}

/* What other threads free comes back also to a heap whose own slots never run out. */
static void a_heap_that_is_tended_takes_back_what_others_freed(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    static void *chunks[MANY + 1];
    void *heap = pfa_backing_heap(pfa_range.region_arena);
    assert_non_null(heap);
    void *own = pfa_backing_heap_malloc(heap, 128, false);
    for (size_t i = 0; i < MANY; i++) {
        chunks[i] = pfa_backing_heap_malloc(heap, 64, false);
        assert_non_null(chunks[i]);
    }
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, give_all, chunks), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    size_t before = chunks_of_this_thread();
    assert_true(before >= MANY / 2); /* it knows of few of them yet, or else this tests nothing */
    for (int i = 0; i < 20000; i++) {
        pfa_backing_free_first_here(own);
        own = pfa_backing_heap_pop(heap, 128);
        assert_non_null(own);
        if (i >= 10000) {
            pfa_backing_heap_tend(heap);
        } else {
            assert_true(i % 1000 != 0 || chunks_of_this_thread() == before);
        }
    }
    assert_true(chunks_of_this_thread() + MANY * 9 / 10 <= before);
    pfa_backing_free(own);
}

/* One chunk of many, with room for all of them around it. */
static void *leave_one_behind(void *unused)
{
    enum { MANY = 64 };
    void *chunks[MANY];
    for (size_t i = 0; i < MANY; i++) {
        chunks[i] = pfa_backing_malloc(60 * KIB);
        must(chunks[i] != NULL);
        memset(chunks[i], 1, 60 * KIB);
    }
    for (size_t i = 1; i < MANY; i++) {
        pfa_backing_free(chunks[i]);
    }
    pfa_backing_thread_end();
    (void)unused;
    return chunks[0];
}

static _Atomic unsigned advices;

static int count_advices(pfa_sys_call_t call)
{
    (void)pfa_add_relaxed(&advices, call == PFA_SYS_MADVISE);
    return 0;
}

/* A heap that looks for memory of dead threads leaves alone what only others can take: what is free there is not given back
 * to the system, and the next who can take it does. */
static void memory_left_by_threads_stays_with_its_kind(void **state)
{
    (void)state;
    enum { MANY = 600 }; /* more than fits into a segment */
    static void *chunks[MANY];
    void *heap = pfa_backing_heap(pfa_range.region_arena);
    pthread_t thread;
    void *left;
    assert_int_equal(pthread_create(&thread, NULL, leave_one_behind, NULL), 0);
    assert_int_equal(pthread_join(thread, &left), 0);
    pfa_sys_fault = count_advices;
    for (size_t i = 0; i < MANY; i++) {
        chunks[i] = pfa_backing_heap_malloc(heap, 60 * KIB, false);
        assert_non_null(chunks[i]);
    }
    pfa_sys_fault = NULL;
    assert_int_equal(pfa_load_relaxed(&advices), 0);
    void *again;
    assert_int_equal(pthread_create(&thread, NULL, leave_one_behind, NULL), 0);
    assert_int_equal(pthread_join(thread, &again), 0);
    assert_int_equal((uintptr_t)again / PFA_SEGMENT_SIZE, (uintptr_t)left / PFA_SEGMENT_SIZE);
    pfa_backing_free(left);
    pfa_backing_free(again);
    for (size_t i = 0; i < MANY; i++) {
        pfa_backing_free(chunks[i]);
    }
}

static size_t distinct(uintptr_t *addresses, size_t count)
{
    size_t seen = 0;
    qsort(addresses, count, sizeof *addresses, by_address);
    for (size_t i = 0; i < count; i++) {
        seen += i == 0 || addresses[i] != addresses[i - 1];
    }
    return seen;
}

/* Round after round another thread frees all there is, and slots are taken as the allocator takes them, those at hand
 * first: the same ones come back, the heap does not grow with every round. Small slots and medium ones are at hand in
 * different places. */
static void slots_freed_by_others_are_used_again(void **state)
{
    (void)state;
    enum { TOGETHER = 600, ROUNDS = 20 };
    static const size_t sizes[] = {48, 1000, 1100, 8000, 60000};
    static void *chunks[TOGETHER + 1];
    static uintptr_t seen[TOGETHER * ROUNDS];
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        void *heap = pfa_backing_heap(pfa_range.region_arena);
        size_t popped = 0;
        assert_non_null(heap);
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < TOGETHER; i++) {
                chunks[i] = pfa_backing_heap_pop_aligned(heap, sizes[s], 0);
                popped += chunks[i] != NULL;
                if (chunks[i] == NULL) {
                    chunks[i] = pfa_backing_heap_malloc(heap, sizes[s], false);
                }
                assert_non_null(chunks[i]);
                seen[round * TOGETHER + i] = (uintptr_t)chunks[i];
            }
            size_t together = distinct(&seen[round * TOGETHER], TOGETHER);
            assert_true(together == TOGETHER); /* none was given out twice */
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, give_all, chunks), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
            pfa_backing_heap_tend(heap);
        }
        size_t used = distinct(seen, (size_t)TOGETHER * ROUNDS);
        if (used > 3 * TOGETHER || popped < TOGETHER) {
            fail_msg("%zu bytes: %zu slots for %d chunks at a time, %zu at hand", sizes[s], used, TOGETHER, popped);
        }
    }
}

/* A heap of few chunks keeps the one page it has of a size, and gives back any others. */
static void kept_pages_are_used_again(void **state)
{
    (void)state;
    static void *chunks[3000];
    void *heap = pfa_backing_heap(pfa_range.region_arena);
    assert_non_null(heap);
    for (size_t size = 16; size <= 16384; size *= 2) {
        void *chunk = pfa_backing_heap_malloc(heap, size, false);
        assert_non_null(chunk);
        for (int i = 0; i < 10; i++) {
            pfa_backing_free_keeping(chunk);
            for (int n = 0; n < 150; n++) { /* new pages: mimalloc looks for old ones to give up each time */
                chunks[n] = pfa_backing_heap_malloc(heap, 100000, false);
            }
            for (int n = 0; n < 150; n++) {
                pfa_backing_free(chunks[n]);
            }
            assert_ptr_equal(pfa_backing_heap_pop_aligned(heap, size, 0), chunk);
        }
        pfa_backing_free_keeping(chunk);
        size_t before = chunks_of_this_thread();
        for (size_t i = 0; i < 3000; i++) {
            chunks[i] = pfa_backing_heap_malloc(heap, size, false);
            assert_non_null(chunks[i]);
        }
        for (size_t i = 0; i < 3000; i++) {
            pfa_backing_free_keeping(chunks[i]);
        }
        assert_true(chunks_of_this_thread() == before);
    }
}

/* Any power of two, with errno left alone; a failure makes the next allocation set the countdown anew. */
static void aligned_chunks_expanded_in_place(void **state)
{
    (void)state;
    errno = 4321;
    for (size_t align = 1; align <= MIB; align *= 2) {
        for (size_t size = 0; size < 3000; size += 1 + size / 3) {
            void *chunk[3];
            for (int i = 0; i < 3; i++) {
                chunk[i] = pfa_backing_aligned_here(size, align);
                assert_true(chunk[i] != NULL && ((uintptr_t)chunk[i] & (align - 1)) == 0);
                assert_true(pfa_backing_usable(chunk[i]) >= size);
                memset(chunk[i], i, size);
            }
            assert_true(chunk[0] != chunk[1] && chunk[1] != chunk[2]);
            for (int i = 0; i < 3; i++) {
                assert_true(size == 0 || ((unsigned char *)chunk[i])[size - 1] == i);
                pfa_backing_free_here(chunk[i]);
            }
        }
    }
    pfa_tls.countdown = 1000;
    assert_null(pfa_backing_aligned_here((size_t)1 << 62, 64));
    assert_true(errno == 4321 && pfa_tls.countdown < 0);
}

static void an_exclusive_heap_stays_in_its_space_and_ends_with_it(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    static void *chunks[MANY];
    void *heap = pfa_backing_heap(pfa_range.region_arena);
    assert_non_null(heap);
    size_t count = 0;
    for (; count < MANY; count++) {
        chunks[count] = pfa_backing_heap_malloc(heap, 4 * MIB, false);
        if (chunks[count] == NULL) {
            break;
        }
        assert_true(in_regions((uintptr_t)chunks[count]));
    }
    assert_true(count > 300 && count < MANY);  /* 2 GiB of it, less what headers take */
    void *plain = pfa_backing_malloc(4 * MIB); /* which is no reason for the default heap to fail */
    assert_true(plain != NULL && !pfa_range_profiled((uintptr_t)plain));
    pfa_backing_free(plain);
    while (count > 0) {
        pfa_backing_free(chunks[--count]);
    }
    void *again = pfa_backing_heap_malloc(heap, 4 * MIB, false);
    assert_non_null(again);
    pfa_backing_free(again);
}

/* --- heaps that go from thread to thread ------------------------------------------------------------------------- */

static void *take_kept(bool *is_new)
{
    void *anchor;
    void *heap = pfa_backing_kept_heap(pfa_range.region_arena, 16, &anchor);
    must(heap != NULL);
    *is_new = anchor != NULL;
    return heap;
}

static size_t own_among(void *const *chunks, size_t count)
{
    size_t own = 0;
    for (size_t i = 0; i < count; i++) {
        own += pfa_backing_is_own(chunks[i]);
    }
    return own;
}

enum { HANDED = 500 };
typedef struct handing {
    void *chunks[HANDED];
    size_t size;
    void *heap;
    bool was_new;
} handing_t;

static void *take_and_leave(void *arg)
{
    handing_t *handing = arg;
    handing->heap = take_kept(&handing->was_new);
    for (size_t i = 0; i < HANDED && handing->chunks[i] == NULL; i++) {
        handing->chunks[i] = pfa_backing_heap_malloc(handing->heap, handing->size, false);
        must(handing->chunks[i] != NULL);
    }
    must(own_among(handing->chunks, HANDED) == HANDED);
    pfa_backing_leave_heap(handing->heap);
    must(own_among(handing->chunks, HANDED) == 0); /* its number may be another thread's next */
    pfa_backing_thread_end();
    return NULL;
}

static void run_alone(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, body, arg) == 0 && pthread_join(thread, NULL) == 0);
}

/* All of it, of one segment as of several, is the next thread's. What is freed meanwhile comes back to it. */
static void a_heap_that_was_left_is_the_next_threads(void **state)
{
    (void)state;
    static const size_t sizes[] = {64, 1000, 100000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        handing_t first = {.size = sizes[s]};
        run_alone(take_and_leave, &first);
        handing_t second = first;
        run_alone(take_and_leave, &second);
        assert_true(second.heap == first.heap && !second.was_new);
        for (size_t i = 0; i < HANDED; i++) {
            pfa_backing_free(first.chunks[i]);
        }
        bool is_new;
        void *heap = take_kept(&is_new);
        assert_true(heap == first.heap && !is_new);
        static void *all[4 * HANDED]; /* slots that were never used come before those that others have freed */
        unsigned again = 0;
        for (size_t i = 0; i < 4 * HANDED; i++) {
            all[i] = pfa_backing_heap_malloc(heap, sizes[s], false);
            assert_non_null(all[i]);
            for (size_t n = 0; n < HANDED; n++) {
                again += first.chunks[n] == all[i];
            }
        }
        assert_true(again > HANDED / 2);
        for (size_t i = 0; i < 4 * HANDED; i++) {
            pfa_backing_free(all[i]);
        }
        pfa_backing_leave_heap(heap);
    }
}

/* What waits is bounded: so many heaps, and none that is large. Chunks of the others live on. */
static void only_some_heaps_wait(void **state)
{
    (void)state;
    enum { HEAPS = 50, LARGE = 300 }; /* there is room for 64 of them */
    static void *heaps[HEAPS];
    static void *chunks[HEAPS];
    bool is_new;
    for (int i = 0; i < HEAPS; i++) {
        heaps[i] = take_kept(&is_new);
        chunks[i] = pfa_backing_heap_malloc(heaps[i], 100, false);
        memset(chunks[i], i, 100);
    }
    for (int i = 0; i < HEAPS; i++) {
        pfa_backing_leave_heap(heaps[i]);
    }
    int waited = 0;
    for (int i = 0; i < HEAPS; i++) {
        heaps[i] = take_kept(&is_new);
        waited += !is_new;
        assert_int_equal(*(unsigned char *)chunks[i], i);
        pfa_backing_free(chunks[i]);
    }
    assert_true(waited > 0 && waited < HEAPS);
    for (int i = 0; i < HEAPS; i++) {
        pfa_backing_give_up_heap(heaps[i]);
    }
    void *heap = take_kept(&is_new);
    assert_true(is_new);
    static void *large[LARGE * 5];
    for (int i = 0; i < LARGE * 5; i++) { /* pages of 512 KiB */
        large[i] = pfa_backing_heap_malloc(heap, 100000, false);
        assert_non_null(large[i]);
    }
    pfa_backing_leave_heap(heap);
    heap = take_kept(&is_new);
    assert_true(is_new);
    for (int i = 0; i < LARGE * 5; i++) {
        pfa_backing_free(large[i]);
    }
    pfa_backing_leave_heap(heap);
}

enum { HANDS = 6, TURNS = 300, EXCHANGED = 512 };
static _Atomic(uint64_t *) exchanged[EXCHANGED];

/* Whoever gets a chunk fills it with its own address, whoever takes it out finds that there, and frees it. A slot that two have
 * would not have it. */
static void exchange(uint64_t *chunk, size_t words, uint64_t *seed)
{
    for (size_t i = 1; i < words; i++) {
        chunk[i] = (uintptr_t)chunk;
    }
    chunk[0] = words;
    uint64_t *other = pfa_swap_acq_rel(&exchanged[random_below(seed, EXCHANGED)], chunk);
    if (other != NULL) {
        size_t count = other[0];
        for (size_t i = 1; i < count; i++) {
            must(other[i] == (uintptr_t)other);
            other[i] = 0;
        }
        pfa_backing_free(other);
    }
}

static void *have_turn(void *arg)
{
    uint64_t seed = (uintptr_t)arg;
    bool is_new;
    void *heap = take_kept(&is_new);
    for (int i = 0; i < 300; i++) {
        size_t words = 2 + random_below(&seed, 100);
        uint64_t *chunk = pfa_backing_heap_pop(heap, words * 8);
        chunk = chunk != NULL ? chunk : pfa_backing_heap_malloc(heap, words * 8, false);
        must(chunk != NULL);
        exchange(chunk, words, &seed);
    }
    pfa_backing_leave_heap(heap);
    pfa_backing_thread_end();
    return NULL;
}

static void *start_one_after_another(void *arg)
{
    for (uintptr_t turn = 0; turn < TURNS; turn++) {
        run_alone(have_turn, (void *)((uintptr_t)arg * TURNS + turn + 1));
    }
    return NULL;
}

/* Threads come and go, and free each other's chunks, while heaps wait, are taken and are given up. */
static void heaps_change_hands_while_others_free(void **state)
{
    (void)state;
    pthread_t threads[HANDS];
    for (uintptr_t i = 0; i < HANDS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, start_one_after_another, (void *)i), 0);
    }
    for (int i = 0; i < HANDS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < EXCHANGED; i++) {
        pfa_backing_free(pfa_swap_acq_rel(&exchanged[i], (uint64_t *)NULL));
    }
    (void)pfa_backing_trim();
    bool is_new;
    void *heap = take_kept(&is_new);
    assert_true(is_new); /* trimming has given up all that waited */
    pfa_backing_give_up_heap(heap);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum { EACH = 400, KINDS = 3 };

typedef struct cargo {
    void *chunk[EACH];
    size_t size[EACH];
    uint64_t seed;
} cargo_t;

static size_t some_size(uint64_t *seed)
{
    return 1 + random_below(seed, (uint64_t)32 << random_below(seed, 14));
}

/* Fills a cargo with chunks of all kinds and dies. */
static void *load_cargo(void *arg)
{
    cargo_t *cargo = arg;
    must(thread_begin());
    for (int i = 0; i < EACH; i++) {
        cargo->size[i] = some_size(&cargo->seed);
        cargo->chunk[i] = i % KINDS == 0 ? pfa_backing_malloc(cargo->size[i]) : chunk_of(cargo->size[i]);
        must(cargo->chunk[i] != NULL);
        must(pfa_range_profiled((uintptr_t)cargo->chunk[i]) == (i % KINDS != 0));
        fill_pattern(cargo->chunk[i], cargo->size[i], (uint64_t)i);
    }
    thread_end();
    return NULL;
}

static void unload(cargo_t *cargo, int from, int step)
{
    for (int i = from; i < EACH; i += step) {
        must(has_pattern(cargo->chunk[i], cargo->size[i], (uint64_t)i));
        if (i % KINDS == 0) {
            pfa_backing_free(cargo->chunk[i]);
        } else {
            must(free_chunk(cargo->chunk[i]) == PFA_CHUNK_LIVE);
        }
    }
}

static void *unload_elsewhere(void *arg)
{
    must(thread_begin());
    unload(arg, 0, 2);
    thread_end();
    return NULL;
}

/* Each kind keeps to its own space: what dead threads left behind is taken over by heaps of the same space only. */
static void check_spaces(uint64_t *seed)
{
    enum { PROBES = 600 };
    static void *probe[PROBES];
    for (int i = 0; i < PROBES; i++) {
        size_t size = some_size(seed);
        probe[i] = i % 2 == 0 ? pfa_backing_malloc(size) : chunk_of(size);
        must(probe[i] != NULL);
        must(pfa_range_profiled((uintptr_t)probe[i]) == (i % 2 != 0));
        must(i % 2 == 0 || verdict_on(probe[i]) == PFA_CHUNK_LIVE);
        fill_pattern(probe[i], size, 99);
    }
    for (int i = 0; i < PROBES; i++) {
        if (i % 2 == 0) {
            pfa_backing_free(probe[i]);
        } else {
            must(free_chunk(probe[i]) == PFA_CHUNK_LIVE);
        }
    }
}

static void *check_spaces_elsewhere(void *arg)
{
    must(thread_begin());
    check_spaces(arg);
    (void)pfa_backing_trim();
    check_spaces(arg);
    thread_end();
    return NULL;
}

static void run_thread(void *(*function)(void *), void *arg)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, function, arg) == 0);
    must(pthread_join(thread, NULL) == 0);
}

static void abandoned_pages_never_change_sides(void **state)
{
    (void)state;
    enum { ROUNDS = 12, CARGOS = 4 };
    static cargo_t cargo[CARGOS];
    uint64_t seed = 124;
    for (int round = 0; round < ROUNDS; round++) {
        for (int c = 0; c < CARGOS; c++) {
            cargo[c].seed = random_next(&seed);
            run_thread(load_cargo, &cargo[c]);
        }
        run_thread(unload_elsewhere, &cargo[0]); /* freed by a third thread, the owner is dead */
        unload(&cargo[1], 0, 2);
        check_spaces(&seed);
        (void)pfa_backing_trim(); /* the main thread collects: it must not adopt recorded regions */
        check_spaces(&seed);
        run_thread(check_spaces_elsewhere, &seed);
        for (int c = 0; c < CARGOS; c++) {
            unload(&cargo[c], c < 2 ? 1 : 0, c < 2 ? 2 : 1);
        }
        (void)pfa_backing_trim();
        check_spaces(&seed);
    }
    (void)pfa_chunk_reclaim();
}

/* Both directions at once, with the owner alive and allocating. */
typedef struct exchange {
    _Atomic(void *) cell[64];
    _Atomic bool over;
} exchange_t;

static void *receive(void *arg)
{
    exchange_t *exchange = arg;
    must(thread_begin());
    while (!atomic_load(&exchange->over)) {
        for (int i = 0; i < 64; i++) {
            uint64_t *chunk = atomic_exchange(&exchange->cell[i], NULL);
            if (chunk != NULL) {
                must(has_pattern(&chunk[1], chunk[0], 5));
                must(free_chunk(chunk) == PFA_CHUNK_LIVE);
            }
        }
    }
    thread_end();
    return NULL;
}

static void chunks_cross_threads_intact(void **state)
{
    (void)state;
    static exchange_t exchange;
    pthread_t thread[2];
    uint64_t seed = 125;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, receive, &exchange), 0);
    }
    for (int i = 0; i < 60000; i++) {
        uint64_t size = random_below(&seed, (uint64_t)32 << random_below(&seed, 9));
        uint64_t *chunk = chunk_of(size + 8);
        must(chunk != NULL);
        chunk[0] = size;
        fill_pattern(&chunk[1], size, 5);
        void *old = atomic_exchange(&exchange.cell[i % 64], chunk);
        if (old != NULL) {
            must(free_chunk(old) == PFA_CHUNK_LIVE);
        }
    }
    atomic_store(&exchange.over, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    for (int i = 0; i < 64; i++) {
        void *chunk = atomic_load(&exchange.cell[i]);
        assert_true(chunk == NULL || free_chunk(chunk) == PFA_CHUNK_LIVE);
    }
}

static void statistics_count_this_threads_chunks(void **state)
{
    (void)state;
    pfa_backing_stats_t before;
    pfa_backing_stats_t after;
    void *chunk[100];
    (void)pfa_backing_trim(); /* takes in what other threads freed */
    pfa_backing_stats(&before);
    for (int i = 0; i < 100; i++) {
        chunk[i] = i % 2 == 0 ? pfa_backing_malloc(1000) : chunk_of(1000);
    }
    pfa_backing_stats(&after);
    assert_true(after.chunks - before.chunks == 100);
    assert_true(after.used - before.used >= 100000 && after.used - before.used < 110000);
    assert_true(after.committed >= after.used);
    for (int i = 0; i < 100; i++) {
        if (i % 2 == 0) {
            pfa_backing_free(chunk[i]);
        } else {
            (void)free_chunk(chunk[i]);
        }
    }
}

/* --- fork --------------------------------------------------------------------------------------------------------- */

static _Atomic bool stop_churning;
static _Atomic unsigned churning; /* threads that are well under way */

static void *churn(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    void *live[50] = {NULL};
    must(thread_begin());
    for (unsigned step = 0; !atomic_load(&stop_churning); step++) {
        if (step == 1000) {
            atomic_fetch_add(&churning, 1);
        }
        size_t i = random_below(&seed, 50);
        if (live[i] != NULL) {
            must(free_chunk(live[i]) == PFA_CHUNK_LIVE);
        }
        live[i] = chunk_of(some_size(&seed) % 20000);
        must(live[i] != NULL);
    }
    for (int i = 0; i < 50; i++) {
        must(live[i] == NULL || free_chunk(live[i]) == PFA_CHUNK_LIVE);
    }
    thread_end();
    return NULL;
}

static void use_in_child(void)
{
    uint64_t seed = 126;
    pfa_thread_list_after_fork(pfa_tls.thread);
    pfa_backing_after_fork();
    pfa_rcu_after_fork();
    pfa_intervalmap_after_fork();
    for (int i = 0; i < 3; i++) {
        check_spaces(&seed);
        (void)pfa_backing_trim();
    }
    run_thread(check_spaces_elsewhere, &seed); /* and new threads can live in it */
}

static void a_fork_child_allocates_on(void **state)
{
    (void)state;
    pthread_t thread[2];
    for (uintptr_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, churn, (void *)(i + 1)), 0);
    }
    while (atomic_load(&churning) != 2) { /* a thread that starts may hold locks of a sanitizer's malloc */
        usleep(100);
    }
    for (int i = 0; i < 25; i++) {
        usleep(1000);
        fflush(stdout);
        pid_t child = fork();
        must(child >= 0);
        if (child == 0) {
            use_in_child();
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&stop_churning, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
}

/* A thread that only moves chunks between sizes beyond the small ones takes back what others have freed of its full pages. */
static void moves_take_back_what_others_freed(void **state)
{
    (void)state;
    enum { CHUNKS = 2000, SIZE = 3000, OTHER = 6000, SLOT_SIZES = 2 };
    static void *chunks[CHUNKS + 1];
    pthread_t thread;
    for (int i = 0; i < CHUNKS; i++) {
        chunks[i] = pfa_backing_malloc(SIZE);
        assert_non_null(chunks[i]);
    }
    void *mover = pfa_backing_malloc(SIZE);
    for (int i = 0; i < SLOT_SIZES; i++) { /* a free slot of both sizes, so that none runs out */
        mover = pfa_backing_move(mover, pfa_backing_usable(mover), i % 2 == 0 ? OTHER : SIZE);
    }
    size_t before = chunks_of_this_thread();
    assert_int_equal(pthread_create(&thread, NULL, give_all, chunks), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 100; i++) {
        mover = pfa_backing_move(mover, pfa_backing_usable(mover), i % 2 == 0 ? OTHER : SIZE);
    }
    size_t after = chunks_of_this_thread();
    pfa_backing_free(mover);
    assert_true(after + CHUNKS / 4 < before);
}

/* --- threads and modules ------------------------------------------------------------------------------------------ */

enum { MODULES = 40 }; /* more than the C library has room for in a thread's vector of TLS blocks */

/* Loads copies of a module that has thread-local memory, and uses that of each. */
static void load_modules(void)
{
    char source[4096];
    char folder[] = "/tmp/test_backing.XXXXXX";
    must(mkdtemp(folder) != NULL);
    must(getenv("PROFALLOC_BUILD_DIR") != NULL);
    (void)snprintf(source, sizeof source, "%s/tests/prog/lib_thread_local.so", getenv("PROFALLOC_BUILD_DIR"));
    for (int i = 0; i < MODULES; i++) {
        char command[8192];
        char copy[64];
        (void)snprintf(copy, sizeof copy, "%s/%d.so", folder, i);
        (void)snprintf(command, sizeof command, "cp '%s' %s", source, copy);
        must(system(command) == 0);
        void *module = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
        must(module != NULL);
        char *(*find_block)(void) = (char *(*)(void))dlsym(module, "find_block");
        find_block()[0] = 1;
        (void)unlink(copy);
    }
    (void)rmdir(folder);
}

static pthread_barrier_t hemmed_in;

static void *stay_the_same(void *same)
{
    void *chunk = pfa_backing_malloc(100);
    bool before = pfa_backing_is_own(chunk);
    void *const *word = __builtin_thread_pointer();
    void *vector = *word;
    (void)pthread_barrier_wait(&hemmed_in);
    load_modules();
    must(!PFA_THREAD_WORD_MOVES || *word != vector); /* else this tests nothing */
    *(bool *)same = before && pfa_backing_is_own(chunk);
    pfa_backing_free(chunk);
    pfa_backing_thread_end();
    return NULL;
}

/* A thread knows its chunks for its own when modules are loaded, for which the C library moves the vector of its TLS blocks. */
static void a_thread_stays_itself(void **state)
{
    (void)state;
    pthread_t thread;
    bool same = false;
    enum { BEHIND = 10000 };
    static void *behind[BEHIND]; /* so that the vector cannot grow where it is */
    assert_int_equal(pthread_barrier_init(&hemmed_in, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, stay_the_same, &same), 0);
    for (int i = 0; i < BEHIND; i++) {
        behind[i] = malloc(100);
    }
    (void)pthread_barrier_wait(&hemmed_in);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < BEHIND; i++) {
        free(behind[i]);
    }
    assert_int_equal(pthread_barrier_destroy(&hemmed_in), 0);
    assert_true(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: segments that other tests gave up are given back to the system after a while. */
        cmocka_unit_test(memory_left_by_threads_stays_with_its_kind),
        cmocka_unit_test(chunks_hold_what_was_asked_for),
        cmocka_unit_test(calloc_gives_zeros_also_of_used_memory),
        cmocka_unit_test(every_alignment_is_met),
        cmocka_unit_test(realloc_keeps_the_contents),
        cmocka_unit_test(what_a_move_leaves_behind_is_zeroed),
        cmocka_unit_test(a_heap_that_is_tended_takes_back_what_others_freed),
        cmocka_unit_test(slots_freed_by_others_are_used_again),
        cmocka_unit_test(kept_pages_are_used_again),
        cmocka_unit_test(aligned_chunks_expanded_in_place),
        cmocka_unit_test(errno_is_the_programs),
        cmocka_unit_test(owns_is_total),
        cmocka_unit_test(what_is_at_hand_is_of_known_pages),
        cmocka_unit_test(a_heap_that_was_left_is_the_next_threads),
        cmocka_unit_test(only_some_heaps_wait),
        cmocka_unit_test(heaps_change_hands_while_others_free),
        cmocka_unit_test(an_exclusive_heap_stays_in_its_space_and_ends_with_it),
        cmocka_unit_test(abandoned_pages_never_change_sides),
        cmocka_unit_test(chunks_cross_threads_intact),
        cmocka_unit_test(statistics_count_this_threads_chunks),
        cmocka_unit_test(a_fork_child_allocates_on),
        cmocka_unit_test(moves_take_back_what_others_freed),
        cmocka_unit_test(a_thread_stays_itself),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
