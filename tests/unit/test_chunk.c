/* The life of recorded chunks: verdicts, contents, counters, and what happens when one of the spaces is full. Each test
 * has a process of its own, since a process has one profiled range. */
#define _GNU_SOURCE 1
#include "alloc/life.h"
#include "alloc/places.h"
#include "alloc/sampler.h"
#include "meta/reading.h"
#include "meta/usual.h"
#include "tests/records.h"
#include "tests/unit/allocator.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static pfa_finding_t finding_on(const void *address)
{
    pfa_finding_t finding;
    pfa_chunk_find((uintptr_t)address, &finding);
    return finding;
}

/* Freeing what must not be freed: says why, and changes nothing. */
static void check_refused(void *address, pfa_verdict_t expected)
{
    pfa_finding_t before = finding_on(address);
    pfa_finding_t finding;
    memset(&finding, 0xaa, sizeof finding);
    must(before.verdict == expected);
    must(pfa_life_end(&pfa_tls, (uintptr_t)address) == PFA_LIFE_NOT); /* nor by free's short way */
    must(pfa_chunk_free(&pfa_tls, (uintptr_t)address, &finding) == expected);
    must(finding.verdict == expected);
    must(finding.start == before.start && finding.size_flags == before.size_flags);
    must(finding.alloc_time == before.alloc_time && finding.thread == before.thread);
    must(finding_on(address).verdict == expected);
}

static const size_t sizes[] = {0,      1,       7,       8,        15,       16,      17,         64,
                               100,    1024,    1025,    16384,    16385,    100000,  128 * 1024, 131073,
                               200000, 1 << 20, 5000000, 16 << 20, 16777217, 40 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* --- verdicts ----------------------------------------------------------------------------------------------------- */

static void live_then_freed(void)
{
    allocator_start(2 * GIB, 2 * GIB);
    for (int i = 0; i < SIZES; i++) {
        char *chunk = chunk_of(sizes[i]);
        must(chunk != NULL && pfa_range_profiled((uintptr_t)chunk));
        must(in_regions((uintptr_t)chunk) == (sizes[i] <= PFA_REGION_CHUNK_MAX));
        pfa_finding_t finding = finding_on(chunk);
        must(finding.verdict == PFA_CHUNK_LIVE);
        must(finding.start == (uintptr_t)chunk);
        must(pfa_size_of(finding.size_flags) == sizes[i]);
        must(((finding.size_flags & PFA_FLAG_LARGE) != 0) == (sizes[i] > PFA_REGION_CHUNK_MAX));
        must(finding.thread == pfa_tls.thread->number);
        must(finding.alloc_time != 0);
        /* Every pointer into it but the first is not the chunk. */
        size_t usable = usable_of(chunk);
        for (size_t at = 1; at < usable; at += 1 + usable / 50) {
            check_refused(chunk + at, PFA_CHUNK_INTERIOR);
        }
        must(finding_on(chunk + usable / 2).start == (uintptr_t)chunk || usable == 1);
        must(free_chunk(chunk) == PFA_CHUNK_LIVE);
        check_refused(chunk, PFA_CHUNK_FREED);
        if (sizes[i] <= PFA_REGION_CHUNK_MAX) {
            pfa_finding_t dead = finding_on(chunk); /* which chunk it was is still known */
            must(dead.start == (uintptr_t)chunk && pfa_size_of(dead.size_flags) == sizes[i]);
            must(dead.alloc_time == finding.alloc_time && dead.thread == finding.thread);
        }
    }
    (void)pfa_chunk_reclaim();
}
RUN_IN_CHILD(live_then_freed)

static int global;

static void neither_ours_nor_chunks(void)
{
    int local = 0;
    allocator_start(2 * GIB, 2 * GIB);
    char *mapped = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(mapped != MAP_FAILED);
    check_refused(NULL, PFA_CHUNK_FOREIGN);
    check_refused((void *)8, PFA_CHUNK_FOREIGN);
    check_refused(&local, PFA_CHUNK_FOREIGN);
    check_refused(&global, PFA_CHUNK_FOREIGN);
    check_refused(mapped + 4096, PFA_CHUNK_FOREIGN);
    check_refused(mapped + 4099, PFA_CHUNK_FOREIGN);
    check_refused((void *)(uintptr_t)&neither_ours_nor_chunks, PFA_CHUNK_FOREIGN);
    check_refused((void *)UINTPTR_MAX, PFA_CHUNK_FOREIGN);
    check_refused((void *)0xffff800000000000, PFA_CHUNK_FOREIGN);
    check_refused((void *)(pfa_range.base + 1 * GIB), PFA_CHUNK_FOREIGN); /* in R, where no region ever was */
    check_refused((void *)(pfa_range.base + pfa_range.region_span - 8), PFA_CHUNK_FOREIGN);
    check_refused(pfa_range.units, PFA_CHUNK_FOREIGN);
    /* In L only recorded chunks live: what is not there any more was freed. */
    check_refused((void *)(pfa_range.base + pfa_range.region_span + 64 * KIB), PFA_CHUNK_FREED);
    munmap(mapped, 64 * MIB);
}
RUN_IN_CHILD(neither_ours_nor_chunks)

static void chunks_without_a_record(void)
{
    allocator_start(2 * GIB, 2 * GIB);
    for (int i = 0; i < SIZES; i++) {
        char *plain = pfa_backing_malloc(sizes[i]);
        must(plain != NULL);
        check_refused(plain, PFA_CHUNK_PLAIN);
        check_refused(plain + 1, PFA_CHUNK_INTERIOR); /* chunks start at multiples of 8 */
        check_refused(plain + 4, PFA_CHUNK_INTERIOR);
        pfa_backing_free(plain);
    }
}
RUN_IN_CHILD(chunks_without_a_record)

/* The lead of a region, the rest behind its last slot, slots never used: no place for a chunk. */
static void gaps_of_a_region(void)
{
    allocator_start(2 * GIB, 2 * GIB);
    static const size_t slots[] = {16, 48, 896, 1024, 5120, 40960, 114688};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        void *chunk = chunk_of(slots[i]);
        pfa_page_geometry_t page;
        must(chunk != NULL);
        pfa_backing_geometry(chunk, &page);
        uintptr_t begin = page.start & ~(uintptr_t)(64 * KIB - 1);
        uintptr_t end = begin + page.slices * 64 * KIB;
        for (uintptr_t at = begin; at < end; at++) {
            pfa_verdict_t verdict = verdict_on((void *)at);
            bool is_chunk = at - (uintptr_t)chunk < page.slot_size;
            pfa_hit_t hit;
            must(pfa_lookup(at, &hit) == is_chunk);
            must(at == (uintptr_t)chunk || pfa_life_end(&pfa_tls, at) == PFA_LIFE_NOT);
            must(is_chunk ? verdict == (at == (uintptr_t)chunk ? PFA_CHUNK_LIVE : PFA_CHUNK_INTERIOR)
                          : verdict == PFA_CHUNK_FOREIGN || verdict == PFA_CHUNK_INTERIOR);
        }
    }
}
RUN_IN_CHILD(gaps_of_a_region)

static void aligned_chunks(void)
{
    allocator_start(2 * GIB, 2 * GIB);
    for (size_t align = 16; align <= 32 * MIB; align *= 2) {
        for (size_t size = 0; size <= 300000; size = size * 7 + 1) {
            char *chunk[3];
            for (int i = 0; i < 3; i++) {
                chunk[i] = aligned_chunk_of(size, align);
                must(chunk[i] != NULL && (uintptr_t)chunk[i] % align == 0);
                fill_pattern(chunk[i], size, align);
            }
            for (int i = 0; i < 3; i++) {
                pfa_finding_t finding = finding_on(chunk[i]);
                must(finding.verdict == PFA_CHUNK_LIVE && pfa_size_of(finding.size_flags) == size);
                must((finding.size_flags & PFA_FLAG_ALIGNED) != 0);
                must(has_pattern(chunk[i], size, align));
                if (in_regions((uintptr_t)chunk[i]) && slot_of((uintptr_t)chunk[i]).start != (uintptr_t)chunk[i]) {
                    check_refused((void *)slot_of((uintptr_t)chunk[i]).start, PFA_CHUNK_INTERIOR);
                }
                must(size == 0 || verdict_on(chunk[i] + size / 2 + 1) == PFA_CHUNK_INTERIOR || size < 3);
            }
            for (int i = 0; i < 3; i++) {
                must(free_chunk(chunk[i]) == PFA_CHUNK_LIVE);
                must(verdict_on(chunk[i]) != PFA_CHUNK_LIVE);
            }
        }
    }
    (void)pfa_chunk_reclaim();
}
RUN_IN_CHILD(aligned_chunks)

/* A slot that held an aligned chunk and then a usual one, and the other way round: the start moves. */
static void slots_change_between_aligned_and_usual(void)
{
    enum { CHUNKS = 3000 };
    static void *chunks[CHUNKS];
    uint64_t seed = 131;
    allocator_start(2 * GIB, 2 * GIB);
    for (int step = 0; step < 300000; step++) {
        size_t i = random_below(&seed, CHUNKS);
        if (chunks[i] != NULL) {
            must(verdict_on(chunks[i]) == PFA_CHUNK_LIVE);
            must(free_chunk(chunks[i]) == PFA_CHUNK_LIVE);
        }
        size_t size = random_below(&seed, 300);
        chunks[i] =
            random_below(&seed, 2) == 0 ? chunk_of(size) : aligned_chunk_of(size, 64u << random_below(&seed, 3));
        must(chunks[i] != NULL && finding_on(chunks[i]).start == (uintptr_t)chunks[i]);
    }
}
RUN_IN_CHILD(slots_change_between_aligned_and_usual)

static void zeroed_and_flagged(void)
{
    allocator_start(2 * GIB, 2 * GIB);
    static const uint64_t flags[] = {PFA_FLAG_ZEROED, PFA_FLAG_NEW, PFA_FLAG_NEW | PFA_FLAG_ARRAY, PFA_FLAG_REALLOC};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < SIZES; i++) {
            for (size_t f = 0; f < 4; f++) {
                for (size_t align = 0; align <= 64; align += 64) {
                    request_t request = {sizes[i], align, flags[f] | (align != 0 ? PFA_FLAG_ALIGNED : 0)};
                    unsigned char *chunk = recorded(&request);
                    must(chunk != NULL);
                    uint64_t got = finding_on(chunk).size_flags & PFA_FLAG_MASK;
                    must((got & ~(PFA_FLAG_LARGE | PFA_FLAG_LEAD)) == (request.flags | PFA_FLAG_LIVE));
                    for (size_t at = 0; f == 0 && at < sizes[i]; at += 1 + sizes[i] / 3000) {
                        must(chunk[at] == 0);
                    }
                    memset(chunk, 0xcc, sizes[i]);
                    must(free_chunk(chunk) == PFA_CHUNK_LIVE);
                }
            }
        }
        (void)pfa_chunk_reclaim();
    }
}
RUN_IN_CHILD(zeroed_and_flagged)

static void absurd_sizes(void)
{
    allocator_start(2 * GIB, 2 * GIB);
    must(chunk_of(SIZE_MAX) == NULL);
    must(chunk_of((size_t)1 << 62) == NULL);
    must(chunk_of(PFA_SIZE_MAX) == NULL);
    must(aligned_chunk_of((size_t)1 << 60, 4096) == NULL);
    must(aligned_chunk_of(SIZE_MAX - 10, 16) == NULL);
    void *chunk = chunk_of(100); /* nothing of that is held against the next */
    must(chunk != NULL && free_chunk(chunk) == PFA_CHUNK_LIVE);
    chunk = chunk_of(1 * MIB);
    must(chunk != NULL && free_chunk(chunk) == PFA_CHUNK_LIVE);
}
RUN_IN_CHILD(absurd_sizes)

static void errno_stays(void)
{
    allocator_start(64 * MIB, 64 * MIB);
    errno = 1234;
    for (int i = 0; i < SIZES; i++) {
        void *chunk = chunk_of(sizes[i]);
        if (chunk != NULL) {
            check_refused((char *)chunk + 1, PFA_CHUNK_INTERIOR);
            must(free_chunk(chunk) == PFA_CHUNK_LIVE);
            check_refused(chunk, pfa_range_profiled((uintptr_t)chunk) ? PFA_CHUNK_FREED : PFA_CHUNK_FOREIGN);
        }
    }
    (void)pfa_chunk_reclaim();
    must(errno == 1234);
}
RUN_IN_CHILD(errno_stays)

/* --- counters ----------------------------------------------------------------------------------------------------- */

typedef struct totals {
    uint64_t allocations;
    uint64_t bytes;
    uint64_t frees;
    uint64_t freed_bytes;
} totals_t;

static totals_t totals_of(unsigned from, unsigned to)
{
    static pfa_counters_t sum;
    totals_t totals = {0, 0, 0, 0};
    pfa_counters_sum(&sum);
    for (unsigned class = from; class < to; class ++) {
        totals.allocations += pfa_read_counter(&sum.by_class[class].allocations);
        totals.bytes += pfa_read_counter(&sum.by_class[class].bytes);
        totals.frees += pfa_read_counter(&sum.by_class[class].frees);
        totals.freed_bytes += pfa_read_counter(&sum.by_class[class].freed_bytes);
    }
    return totals;
}

static unsigned class_of(void *chunk, size_t size)
{
    if (size > PFA_REGION_CHUNK_MAX) {
        unsigned class = PFA_CLASS_LARGE + 1; /* from 128K, one for each power of two */
        for (size_t limit = 256 * KIB; size >= limit; limit *= 2) {
            class ++;
        }
        return class;
    }
    pfa_page_geometry_t page;
    pfa_backing_geometry(chunk, &page);
    return pfa_region_class(page.slot_size);
}

static void births_and_deaths_add_up(void)
{
    enum { LIVE = 500 };
    static void *live[LIVE];
    static size_t size_of[LIVE];
    static totals_t expected[PFA_CLASS_COUNT];
    uint64_t seed = 132;
    int64_t live_bytes = 0;
    int64_t peak = 0;
    allocator_start(2 * GIB, 2 * GIB);
    for (int step = 0; step < 30000; step++) {
        size_t i = random_below(&seed, LIVE);
        if (live[i] != NULL) {
            totals_t *class = &expected[class_of(live[i], size_of[i])];
            class->frees += PFA_COUNT_ONE;
            class->freed_bytes += size_of[i];
            live_bytes -= (int64_t)size_of[i];
            must(has_pattern(live[i], size_of[i], i));
            must(free_chunk(live[i]) == PFA_CHUNK_LIVE);
            must(free_chunk(live[i]) != PFA_CHUNK_LIVE); /* counts nothing */
            live[i] = NULL;
        } else {
            size_of[i] = random_below(&seed, (uint64_t)64 << random_below(&seed, 15));
            live[i] = chunk_of(size_of[i]);
            must(live[i] != NULL);
            totals_t *class = &expected[class_of(live[i], size_of[i])];
            class->allocations += PFA_COUNT_ONE;
            class->bytes += size_of[i];
            live_bytes += (int64_t)size_of[i];
            peak = live_bytes > peak ? live_bytes : peak;
            fill_pattern(live[i], size_of[i], i);
        }
        if (step % 1000 == 0) {
            (void)pfa_chunk_reclaim();
        }
    }
    for (unsigned class = 0; class < PFA_CLASS_COUNT; class ++) {
        totals_t got = totals_of(class, class + 1);
        must(memcmp(&got, &expected[class], sizeof got) == 0);
    }
    pfa_live_settle(&pfa_tls);
    must(pfa_live_peak() == (uint64_t)peak);
}
RUN_IN_CHILD(births_and_deaths_add_up)

/* A sampled chunk counts for as many as it stands for, at birth and at death, whatever the mode is by then. */
static void sampled_chunks_count_for_many(void)
{
    allocator_start(2 * GIB, 2 * GIB);
    must(pfa_sampler_set(4096) == 0);
    unsigned first = pfa_load_relaxed(&pfa_sampling.weight_class);
    must(pfa_sampler_set(1 << 20) == 0);
    unsigned second = pfa_load_relaxed(&pfa_sampling.weight_class);
    static const size_t weighed[] = {1, 100, 4096, 100000, 1 << 20, 100 << 20};
    for (size_t i = 0; i < sizeof weighed / sizeof weighed[0]; i++) {
        for (int s = 0; s < 2; s++) {
            unsigned class = s == 0 ? first : second;
            totals_t before = totals_of(0, PFA_CLASS_COUNT);
            request_t request = {weighed[i], 0, (uint64_t) class << PFA_WEIGHT_SHIFT};
            void *chunk = recorded(&request);
            must(chunk != NULL);
            must(pfa_weight_class_of(finding_on(chunk).size_flags) == class);
            must(pfa_size_of(finding_on(chunk).size_flags) == weighed[i]);
            totals_t born = totals_of(0, PFA_CLASS_COUNT);
            double weight = pfa_sampler_weight(class, weighed[i]);
            double count = (double)(born.allocations - before.allocations) / PFA_COUNT_ONE;
            double bytes = (double)(born.bytes - before.bytes);
            must(count > weight - 0.001 && count < weight + 0.001);
            must(bytes > weight * (double)weighed[i] - 1 && bytes < weight * (double)weighed[i] + 1);
            must(pfa_sampler_set(1) == 0);
            must(free_chunk(chunk) == PFA_CHUNK_LIVE);
            totals_t dead = totals_of(0, PFA_CLASS_COUNT);
            must(dead.frees - before.frees == born.allocations - before.allocations);
            must(dead.freed_bytes - before.freed_bytes == born.bytes - before.bytes);
        }
    }
}
RUN_IN_CHILD(sampled_chunks_count_for_many)

static void resizing_in_place(void)
{
    static const size_t pairs[][2] = {
        {100, 105}, {105, 97}, {20000, 19000}, {1 << 20, (1 << 20) - 5000}, {300000, 290000}};
    allocator_start(2 * GIB, 2 * GIB);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (size_t align = 0; align <= 256; align += 256) {
            void *chunk = align == 0 ? chunk_of(pairs[i][0]) : aligned_chunk_of(pairs[i][0], align);
            must(chunk != NULL && usable_of(chunk) >= pairs[i][1]);
            fill_pattern(chunk, pairs[i][0], 3);
            pfa_finding_t before = finding_on(chunk);
            totals_t old = totals_of(0, PFA_CLASS_COUNT);
            pfa_chunk_resize(&pfa_tls, (uintptr_t)chunk, pairs[i][1], true, 0);
            pfa_finding_t after = finding_on(chunk);
            totals_t new = totals_of(0, PFA_CLASS_COUNT);
            must(after.verdict == PFA_CHUNK_LIVE && after.start == (uintptr_t)chunk);
            must(pfa_size_of(after.size_flags) == pairs[i][1]);
            must((after.size_flags & PFA_FLAG_REALLOC) != 0);
            must(((after.size_flags ^ before.size_flags) & (PFA_FLAG_LARGE | PFA_FLAG_ALIGNED)) == 0);
            must(new.allocations - old.allocations == PFA_COUNT_ONE &&new.frees - old.frees == PFA_COUNT_ONE);
            must(new.bytes - old.bytes == pairs[i][1] && new.freed_bytes - old.freed_bytes == pairs[i][0]);
            must(has_pattern(chunk, pairs[i][0], 3)); /* the bytes stay, also behind the new end */
            must(free_chunk(chunk) == PFA_CHUNK_LIVE);
            must(totals_of(0, PFA_CLASS_COUNT).freed_bytes - new.freed_bytes == pairs[i][1]);
        }
    }
}
RUN_IN_CHILD(resizing_in_place)

/* Resized while it is not to be recorded: the chunk is as one without a record, where recorded ones are. */
static void resizing_into_silence(void)
{
    static const size_t pairs[][2] = {{100, 105}, {20000, 19000}, {1 << 20, (1 << 20) - 5000}};
    allocator_start(2 * GIB, 2 * GIB);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (size_t align = 0; align <= 256; align += 256) {
            pfa_hit_t hit;
            void *chunk = align == 0 ? chunk_of(pairs[i][0]) : aligned_chunk_of(pairs[i][0], align);
            must(chunk != NULL);
            totals_t old = totals_of(0, PFA_CLASS_COUNT);
            pfa_chunk_resize(&pfa_tls, (uintptr_t)chunk, pairs[i][1], false, 0);
            totals_t silent = totals_of(0, PFA_CLASS_COUNT);
            must(verdict_on(chunk) == PFA_CHUNK_SILENT);
            must(verdict_on((char *)chunk + 8) == PFA_CHUNK_INTERIOR);
            (void)pfa_rcu_enter(&pfa_tls);
            must(!pfa_lookup((uintptr_t)chunk, &hit)); /* not a profiled chunk */
            pfa_rcu_leave(true);
            must(silent.frees - old.frees == PFA_COUNT_ONE && silent.freed_bytes - old.freed_bytes == pairs[i][0]);
            must(silent.allocations == old.allocations);
            if (i % 2 == 0) { /* comes back to life, or dies in silence */
                pfa_chunk_resize(&pfa_tls, (uintptr_t)chunk, pairs[i][0], true, 0);
                totals_t again = totals_of(0, PFA_CLASS_COUNT);
                must(verdict_on(chunk) == PFA_CHUNK_LIVE && finding_on(chunk).start == (uintptr_t)chunk);
                must(again.allocations - silent.allocations == PFA_COUNT_ONE && again.frees == silent.frees);
                silent.frees += PFA_COUNT_ONE;
            }
            must(free_chunk(chunk) == PFA_CHUNK_LIVE);
            must(verdict_on(chunk) == PFA_CHUNK_FREED);
            must(free_chunk(chunk) == PFA_CHUNK_FREED);
            must(totals_of(0, PFA_CLASS_COUNT).frees == silent.frees);
        }
    }
}
RUN_IN_CHILD(resizing_into_silence)

/* --- memory of records -------------------------------------------------------------------------------------------- */

static size_t resident_record_pages(void)
{
    static unsigned char resident[1 << 16];
    size_t count = 0;
    for (uint32_t extent = next_records(0); extent != UINT32_MAX; extent = next_records(extent + 1)) {
        size_t size = pfa_extents_head->extents[extent].size;
        must(size / pfa_backing_page_size() <= sizeof resident);
        must(mincore(pfa_extents_at(extent), size, resident) == 0);
        for (size_t i = 0; i < size / pfa_backing_page_size(); i++) {
            count += resident[i] & 1;
        }
    }
    return count;
}

/* Slices of small slots become ones of big slots: of their records few are left. */
static void records_go_when_slots_grow(void)
{
    enum { SMALL = 100000, BIG = 200 };
    static void *chunks[SMALL];
    allocator_start(2 * GIB, 2 * GIB);
    for (int i = 0; i < SMALL; i++) {
        chunks[i] = chunk_of(16);
        must(chunks[i] != NULL);
    }
    size_t before = resident_record_pages();
    must(before * pfa_backing_page_size() >= SMALL * pfa_range_record_size());
    for (int i = 0; i < SMALL; i++) {
        must(free_chunk(chunks[i]) == PFA_CHUNK_LIVE);
    }
    (void)pfa_backing_trim();
    for (int i = 0; i < BIG; i++) {
        chunks[i] = chunk_of(100 * KIB);
        must(chunks[i] != NULL);
    }
    must(resident_record_pages() < before / 4);
    for (int i = 0; i < BIG; i++) {
        must(verdict_on(chunks[i]) == PFA_CHUNK_LIVE);
    }
}
RUN_IN_CHILD(records_go_when_slots_grow)

/* No room for records, for ever: of the heaps that are made to try again there are few. */
static void heaps_left_behind_are_few(void)
{
    enum { TRIES = 5000000, FEW = 16 };
    unsigned failures = 0;
    uint32_t last = 0;
    allocator_start(2 * GIB, 2 * GIB);
    must(chunk_of(48) != NULL);
    atomic_store(&pfa_extents_head->extent_count, PFA_LIVE_EXTENTS / 2);
    for (unsigned i = 0; i < TRIES; i++) {
        (void)chunk_of(i % 2 == 0 ? 48 : 100000); /* of which some need records that are not there */
        failures += pfa_tls.region_backoff > last;
        last = pfa_tls.region_backoff;
    }
    must(failures >= 2 && failures <= FEW);
}
RUN_IN_CHILD(heaps_left_behind_are_few)

/* --- accesses ----------------------------------------------------------------------------------------------------- */

static pfa_wide_record_t record_on(void *chunk)
{
    uintptr_t start = 0;
    pfa_wide_record_t copy;
    must(pfa_lookup_copy((uintptr_t)chunk, &start, &copy) && start == (uintptr_t)chunk);
    return copy;
}

static bool is_untouched(void *chunk)
{
    pfa_wide_record_t copy = record_on(chunk);
    pfa_accesses_t none;
    pfa_accesses_begin(&none);
    return memcmp(&copy.accesses, &none, sizeof none) == 0;
}

/* As an access callback would. */
static void touch(void *chunk, uint32_t salt)
{
    pfa_hit_t hit;
    bool entered = pfa_rcu_enter(&pfa_tls);
    must(pfa_lookup((uintptr_t)chunk, &hit));
    *pfa_record_accesses(hit.record) = (pfa_accesses_t){.first_access = salt,
                                                        .last_access = salt + 1,
                                                        .low = salt + 2,
                                                        .high = salt + 3,
                                                        .reads = salt + 4,
                                                        .writes = salt + 5};
    pfa_rcu_leave(entered);
}

static bool is_touched(void *chunk, uint32_t salt)
{
    pfa_wide_record_t copy = record_on(chunk);
    return copy.accesses.first_access == salt && copy.accesses.writes == salt + 5;
}

static bool has_room_for_accesses(size_t size)
{
    return wide_records() || size > PFA_REGION_CHUNK_MAX;
}

/* Many chunks of each size, so that records lie side by side: what is written to one is in that one alone, and the next
 * chunk with the same record starts from nothing. Where records have no room for accesses, none are seen. */
static void accesses_belong_to_one_life(void)
{
    enum { TOGETHER = 50 };
    void *chunks[TOGETHER];
    allocator_start(2 * GIB, 2 * GIB);
    must(pfa_range_record_size() == (wide_records() ? 64 : 32));
    for (int i = 0; i < SIZES; i++) {
        for (int round = 0; round < 2; round++) {
            for (uint32_t c = 0; c < TOGETHER; c++) {
                chunks[c] = chunk_of(sizes[i]);
                must(chunks[c] != NULL && is_untouched(chunks[c]));
                if (has_room_for_accesses(sizes[i])) {
                    touch(chunks[c], 100 * c);
                }
            }
            for (uint32_t c = 0; c < TOGETHER; c++) {
                pfa_wide_record_t copy = record_on(chunks[c]);
                must(pfa_size_of(copy.record.size_flags) == sizes[i]);
                must(copy.record.thread == pfa_tls.thread->number);
                must(has_room_for_accesses(sizes[i]) ? is_touched(chunks[c], 100 * c) : is_untouched(chunks[c]));
                must(free_chunk(chunks[c]) == PFA_CHUNK_LIVE);
            }
        }
        (void)pfa_chunk_reclaim();
    }
    void *small = chunk_of(100); /* resized in place, a life ends and another begins */
    void *large = chunk_of(300000);
    touch(large, 7);
    if (wide_records()) {
        touch(small, 7);
    }
    pfa_chunk_resize(&pfa_tls, (uintptr_t)small, 101, true, 0);
    pfa_chunk_resize(&pfa_tls, (uintptr_t)large, 290000, true, 0);
    must(is_untouched(small) && is_untouched(large));
}
RUN_IN_CHILD(accesses_belong_to_one_life)

/* What the death of a chunk tells of its last access, with so many reads and the last of them stamped at 2000 after the birth. */
static uint64_t told_last(pfa_record_t *record, uint32_t reads, uint64_t flags)
{
    pfa_event_more_t more;
    uint64_t born = record->alloc_time;
    uint64_t size_flags = pfa_load_relaxed(&record->size_flags) | flags;
    *pfa_record_accesses(record) = (pfa_accesses_t){.first_access = pfa_first_code(1000),
                                                    .last_access = born + 2000,
                                                    .high = 9,
                                                    .reads = pfa_access_counter(reads, 5),
                                                    .writes = PFA_ACCESS_NONE};
    pfa_life_more(&more, record, size_flags, 0, born + 5000);
    must(more.accesses.first == born + 1000 && more.accesses.reads == reads);
    return more.accesses.last - born;
}

static void *tell_last_as_another(void *record)
{
    must(told_last(record, 105, 0) == 2000 + 1000 * 4 / 101);
    return NULL;
}

static void run_thread(void *(*function)(void *), void *arg)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, function, arg) == 0);
    must(pthread_join(thread, NULL) == 0);
}

/* Read at the 101st access, 10 apart. Another chunk's readings may be in its place, or those of an earlier life; nothing is left of its own. */
static void last_accesses_are_estimated_at_the_death(void)
{
    allocator_start(64 * MIB, 64 * MIB);
    if (!wide_records()) {
        return;
    }
    pfa_hit_t hit;
    bool entered = pfa_rcu_enter(&pfa_tls);
    must(pfa_lookup((uintptr_t)chunk_of(100), &hit));
    pfa_rcu_leave(entered);
    pfa_record_t *record = hit.record;
    uint64_t born = record->alloc_time;
    pfa_reading_t *reading = pfa_reading_of(pfa_readings, record);
    must(told_last(record, 105, 0) == 2000);
    for (int i = 0; i < 4; i++) {
        pfa_reading_begin(reading, i == 2 ? record + 1 : record, born + 1000, 1, false);
        pfa_reading_note(reading, i == 2 ? record + 1 : record, born + (i == 3 ? -2000ull : 2000ull), 101);
        uint64_t expected = 2000 + (i == 0 ? 1000 * 4 / 101 : i == 1 ? 1000 * 20 / 101 : 0);
        must(told_last(record, i == 1 ? 121 : 105, i == 1 ? PFA_FLAG_SHARED : 0) == expected);
        must(pfa_reading_is_of(reading, NULL) == (i != 2));
        must(told_last(record, 105, 0) == 2000);
    }
    /* The last access came after the readings: of a shared chunk, another thread's may be exact. */
    for (int i = 0; i < 2; i++) {
        pfa_reading_begin(reading, record, born + 1000, 1, false);
        pfa_reading_note(reading, record, born + 1990, 101);
        must(told_last(record, 105, i == 1 ? PFA_FLAG_SHARED : 0) == (i == 0 ? 1990 + 990 * 4 / 101 : 2000));
    }
    /* Another thread frees it. */
    pfa_reading_begin(reading, record, born + 1000, 1, false);
    pfa_reading_note(reading, record, born + 2000, 101);
    run_thread(tell_last_as_another, record);
    /* It ends its watch, unless the entry is from the life of another. */
    uint64_t *hint = &pfa_usual[pfa_usual_slot(record->stack, record->thread, 100)];
    for (int i = 0; i < 2; i++) {
        *hint = PFA_USUAL_KNOWN | PFA_USUAL_WATCH | PFA_USUAL_TAKEN;
        pfa_reading_begin(reading, record, i == 0 ? born + 1000 : born - 1, 1, true);
        must(told_last(record, 105, 0) == 2000);
        must(pfa_usual_is_watched(*hint) == (i == 1));
    }
}
RUN_IN_CHILD(last_accesses_are_estimated_at_the_death)

static void missed_chunks_are_counted(void)
{
    static pfa_counters_t sum;
    allocator_start(64 * MIB, 64 * MIB);
    for (int i = 0; i < 5; i++) {
        pfa_chunk_missed(&pfa_tls);
    }
    pfa_counters_sum(&sum);
    must(pfa_read_counter(&sum.unrecorded) == 5);
    pfa_tls_t nobody;
    memset(&nobody, 0, sizeof nobody);
    pfa_chunk_missed(&nobody);
}
RUN_IN_CHILD(missed_chunks_are_counted)

/* --- other threads ------------------------------------------------------------------------------------------------ */

/* Who looked a chunk up and still uses its record sees that it dies. */
static void records_show_the_death(void)
{
    allocator_start(2 * GIB, 2 * GIB);
    for (int i = 0; i < SIZES; i++) {
        void *chunk = chunk_of(sizes[i]);
        pfa_hit_t hit = {0, NULL};
        (void)pfa_rcu_enter(&pfa_tls);
        must(pfa_lookup((uintptr_t)chunk, &hit));
        must(pfa_is_live(pfa_load_relaxed(&hit.record->size_flags)));
        must(free_chunk(chunk) == PFA_CHUNK_LIVE);
        must(!pfa_is_live(pfa_load_relaxed(&hit.record->size_flags)));
        must(pfa_size_of(pfa_load_relaxed(&hit.record->size_flags)) == sizes[i]);
        pfa_rcu_leave(true);
    }
}
RUN_IN_CHILD(records_show_the_death)

static void *free_as_another(void *chunk)
{
    must(thread_begin());
    must(free_chunk(chunk) == PFA_CHUNK_LIVE);
    must(free_chunk(chunk) != PFA_CHUNK_LIVE);
    thread_end();
    return NULL;
}

/* After its destructors have run a thread has no counters and still frees. */
static void *free_as_nobody(void *chunk)
{
    must(thread_begin());
    thread_end();
    must(free_chunk(chunk) == PFA_CHUNK_LIVE);
    must(free_chunk(chunk) != PFA_CHUNK_LIVE);
    return NULL;
}

static void frees_by_others(void)
{
    allocator_start(2 * GIB, 2 * GIB);
    totals_t expected = {0, 0, 0, 0};
    for (int i = 0; i < SIZES; i++) {
        run_thread(free_as_another, chunk_of(sizes[i]));
        run_thread(free_as_nobody, chunk_of(sizes[i]));
        expected.allocations += 2 * PFA_COUNT_ONE;
        expected.bytes += 2 * sizes[i];
    }
    expected.frees = expected.allocations;
    expected.freed_bytes = expected.bytes;
    totals_t got = totals_of(0, PFA_CLASS_COUNT);
    must(memcmp(&got, &expected, sizeof got) == 0);
}
RUN_IN_CHILD(frees_by_others)

enum { RIVALS = 3, CONTESTS = 1500 };
static void *_Atomic prize;
static _Atomic int winners;
static pthread_barrier_t line;

static void *race_to_free(void *unused)
{
    must(thread_begin());
    for (int i = 0; i < CONTESTS; i++) {
        pthread_barrier_wait(&line);
        pfa_verdict_t verdict = free_chunk(atomic_load(&prize));
        must(verdict == PFA_CHUNK_LIVE || verdict == PFA_CHUNK_FREED);
        if (verdict == PFA_CHUNK_LIVE) {
            atomic_fetch_add(&winners, 1);
        }
        pthread_barrier_wait(&line);
    }
    thread_end();
    return unused;
}

/* A double free by two threads at once: of a large chunk, one of them does it and the others are told. */
static void large_chunks_die_once(void)
{
    pthread_t thread[RIVALS];
    allocator_start(2 * GIB, 2 * GIB);
    must(pthread_barrier_init(&line, NULL, RIVALS + 1) == 0);
    for (int i = 0; i < RIVALS; i++) {
        must(pthread_create(&thread[i], NULL, race_to_free, NULL) == 0);
    }
    for (int i = 0; i < CONTESTS; i++) {
        atomic_store(&prize, chunk_of(200000));
        atomic_store(&winners, 0);
        pthread_barrier_wait(&line);
        pthread_barrier_wait(&line);
        must(atomic_load(&winners) == 1);
    }
    for (int i = 0; i < RIVALS; i++) {
        must(pthread_join(thread[i], NULL) == 0);
    }
    totals_t got = totals_of(0, PFA_CLASS_COUNT);
    must(got.frees == CONTESTS * PFA_COUNT_ONE && got.frees == got.allocations);
}
RUN_IN_CHILD(large_chunks_die_once)

/* --- full spaces -------------------------------------------------------------------------------------------------- */

enum { BACKOFF_MOST = 100000 };

/* Asks again and again, as a program would, until recording is back; says after how many refusals. */
static unsigned refusals_until_recorded(size_t size, void **chunk)
{
    for (unsigned refused = 0; refused < BACKOFF_MOST; refused++) {
        *chunk = chunk_of(size);
        if (*chunk != NULL) {
            return refused;
        }
    }
    must(false && "recording never came back");
    return 0;
}

static void regions_run_out(void)
{
    enum { MANY = 100000 };
    static void *chunks[MANY];
    capture_t said;
    allocator_start(64 * MIB, 64 * MIB);
    capture_begin(&said);
    size_t count = 0;
    while (count < MANY && (chunks[count] = chunk_of(4000)) != NULL) {
        fill_pattern(chunks[count], 4000, count);
        count++;
    }
    for (int i = 0; i < 20000; i++) {
        must(chunk_of(4000) == NULL); /* through several more attempts */
    }
    (void)capture_end(&said);
    must(count > 10000 && count < 64 * MIB / 4000);
    must(lines_in(said.text) == 1);
    must(strstr(said.text, "the profiled range is full or has no memory: some chunks are not recorded") != NULL);
    void *large = chunk_of(1 * MIB); /* the other space is not concerned */
    must(large != NULL && free_chunk(large) == PFA_CHUNK_LIVE);
    for (size_t i = 0; i < count; i++) {
        must(verdict_on(chunks[i]) == PFA_CHUNK_LIVE && has_pattern(chunks[i], 4000, i));
        must(free_chunk(chunks[i]) == PFA_CHUNK_LIVE);
    }
    void *chunk;
    must(refusals_until_recorded(100, &chunk) < 20000);
    must(verdict_on(chunk) == PFA_CHUNK_LIVE && in_regions((uintptr_t)chunk));
    must(chunk_of(4000) != NULL); /* and not for one chunk only */
}
RUN_IN_CHILD(regions_run_out)

static void large_space_runs_out(void)
{
    enum { CHUNKS = 60 };
    static char *chunks[CHUNKS];
    unsigned outside = 0;
    allocator_start(64 * MIB, 64 * MIB);
    for (int i = 0; i < CHUNKS; i++) {
        size_t size = 200000 + (size_t)i * 70000;
        request_t request = {size, i % 3 == 0 ? 4096 : 0, i % 3 == 0 ? PFA_FLAG_ALIGNED : PFA_FLAG_ZEROED};
        chunks[i] = recorded(&request);
        must(chunks[i] != NULL && (request.align == 0 || (uintptr_t)chunks[i] % request.align == 0));
        for (size_t at = 0; i % 3 != 0 && at < size; at += 777) {
            must(chunks[i][at] == 0);
        }
        fill_pattern(chunks[i], size, 8);
        outside += !pfa_range_profiled((uintptr_t)chunks[i]);
        /* free's short way is for the plain zone, so no recorded chunk may lie there. */
        must((uintptr_t)chunks[i] >> PFA_PLAIN_ZONE_SHIFT != PFA_PLAIN_ZONE >> PFA_PLAIN_ZONE_SHIFT);
    }
    must(outside > 0 && outside < CHUNKS);
    void *plain = pfa_backing_malloc(100);
    void *big_plain = pfa_backing_malloc(3 * MIB);
    check_refused(plain, PFA_CHUNK_PLAIN);
    check_refused(big_plain, PFA_CHUNK_PLAIN);
    for (int i = 0; i < CHUNKS; i++) {
        size_t size = 200000 + (size_t)i * 70000;
        pfa_finding_t finding = finding_on(chunks[i]);
        must(finding.verdict == PFA_CHUNK_LIVE && pfa_size_of(finding.size_flags) == size);
        must(usable_of(chunks[i]) >= size);
        check_refused(chunks[i] + 64, PFA_CHUNK_INTERIOR);
        check_refused(chunks[i] + size - 1, PFA_CHUNK_INTERIOR);
        check_refused(chunks[i] + usable_of(chunks[i]) - 1, PFA_CHUNK_INTERIOR);
        must(has_pattern(chunks[i], size, 8));
        must(free_chunk(chunks[i]) == PFA_CHUNK_LIVE);
        must(verdict_on(chunks[i]) > PFA_CHUNK_PLAIN); /* no chunk any more */
        must(free_chunk(chunks[i]) > PFA_CHUNK_PLAIN);
    }
    pfa_backing_free(plain);
    pfa_backing_free(big_plain);
    (void)pfa_chunk_reclaim();
    char *again = chunk_of(1 * MIB); /* there is room again */
    must(again != NULL && pfa_range_profiled((uintptr_t)again));
    totals_t totals = totals_of(PFA_CLASS_LARGE, PFA_CLASS_COUNT);
    must(totals.allocations == (CHUNKS + 1) * PFA_COUNT_ONE && totals.frees == CHUNKS * PFA_COUNT_ONE);
}
RUN_IN_CHILD(large_space_runs_out)

/* A large chunk from before a fork, whose record says nothing, stays one when it gets another size where it is. */
static void inherited_large_chunk_is_resized(void)
{
    allocator_start(64 * MIB, 64 * MIB);
    char *chunk = chunk_of(1 * MIB);
    totals_t before = totals_of(PFA_CLASS_LARGE, PFA_CLASS_COUNT);
    must(pfa_rcu_enter(&pfa_tls));
    pfa_large_t *node = pfa_intervalmap_find(&pfa_range.large, (uintptr_t)chunk);
    pfa_rcu_leave(true);
    pfa_store_relaxed(&node->record->size_flags, 0); /* as in the child */
    pfa_range.inherited = true;
    pfa_chunk_resize(&pfa_tls, (uintptr_t)chunk, 900000, true, 0);
    pfa_finding_t finding = finding_on(chunk);
    must(finding.verdict == PFA_CHUNK_LIVE && pfa_size_of(finding.size_flags) == 900000);
    must((finding.size_flags & PFA_FLAG_LARGE) != 0);
    totals_t after = totals_of(PFA_CLASS_LARGE, PFA_CLASS_COUNT);
    must(after.allocations == before.allocations + PFA_COUNT_ONE);
    must(free_chunk(chunk) == PFA_CHUNK_LIVE);
    must(totals_of(PFA_CLASS_LARGE, PFA_CLASS_COUNT).frees == before.frees + PFA_COUNT_ONE);
}
RUN_IN_CHILD(inherited_large_chunk_is_resized)

/* A thread whose heap waits after a failure ends, and a later destructor allocates: the heap is gone. */
static void thread_is_born_again(void)
{
    allocator_start(64 * MIB, 64 * MIB);
    char *chunk = chunk_of(100);
    pfa_tls.region_heap_aside = pfa_tls.region_heap;
    pfa_tls.region_heap = NULL;
    pfa_tls.region_backoff = 3;
    pfa_chunk_thread_end(&pfa_tls);
    pfa_backing_thread_end();
    must(pfa_tls.region_heap_aside == NULL && pfa_tls.region_heap == NULL);
    for (int i = 0; i < 10; i++) {
        char *again = chunk_of(100);
        must(again != NULL && verdict_on(again) == PFA_CHUNK_LIVE && free_chunk(again) == PFA_CHUNK_LIVE);
    }
    must(free_chunk(chunk) == PFA_CHUNK_LIVE);
}
RUN_IN_CHILD(thread_is_born_again)

/* In a blind child every chunk is one, whatever a record that is the parent's says. */
static void blind_child_frees(void)
{
    enum { CHUNKS = 30 };
    char *chunks[CHUNKS];
    allocator_start(64 * MIB, 64 * MIB);
    for (int i = 0; i < CHUNKS; i++) {
        request_t aligned = {5000, 256, PFA_FLAG_ALIGNED};
        chunks[i] = i % 5 == 4 ? recorded(&aligned) : chunk_of(i % 3 == 0 ? 300000 : 100 * (size_t)i + 1);
    }
    for (int i = 0; i < CHUNKS; i++) { /* the parent frees them */
        pfa_hit_t hit;
        must(pfa_rcu_enter(&pfa_tls));
        must(pfa_lookup((uintptr_t)chunks[i], &hit));
        pfa_record_end(hit.record, pfa_load_relaxed(&hit.record->size_flags));
        pfa_rcu_leave(true);
        must(verdict_on(chunks[i]) == PFA_CHUNK_FREED);
    }
    pfa_range.blind = true;
    for (int i = 0; i < CHUNKS; i++) {
        must(verdict_on(chunks[i]) == PFA_CHUNK_SILENT);
        must(usable_of(chunks[i]) >= (i % 5 == 4 ? 5000 : i % 3 == 0 ? 300000 : 100 * (size_t)i + 1));
        must(free_chunk(chunks[i]) == PFA_CHUNK_LIVE);
    }
    must(pfa_backing_malloc(100) != NULL);
}
RUN_IN_CHILD(blind_child_frees)

static _Atomic int reader_state; /* 1: it is in its section, 2: it may leave */

static void *stay_inside(void *unused)
{
    must(pfa_rcu_enter(&pfa_tls));
    atomic_store(&reader_state, 1);
    while (atomic_load(&reader_state) == 1) {
        usleep(1000);
    }
    pfa_rcu_leave(true);
    return unused;
}

/* Freed large chunks whose nodes nobody can reclaim, since a reader stays in its section, do not pile up for ever. */
static void nobody_reclaims(void)
{
    enum { LIMIT = 262144 };
    capture_t said;
    void *chunk;
    pthread_t reader;
    allocator_start(64 * MIB, 64 * MIB);
    must(pthread_create(&reader, NULL, stay_inside, NULL) == 0);
    while (atomic_load(&reader_state) == 0) {
        usleep(1000);
    }
    capture_begin(&said);
    size_t freed = 0;
    while ((chunk = chunk_of(150000)) != NULL) {
        must(free_chunk(chunk) == PFA_CHUNK_LIVE);
        freed++;
        must(freed <= LIMIT + 2);
    }
    must(freed >= LIMIT / 2);
    for (int i = 0; i < 10000; i++) {
        must(chunk_of(150000) == NULL);
    }
    (void)capture_end(&said);
    must(lines_in(said.text) == 1);
    must(strstr(said.text, "wait for the background thread: some are not recorded") != NULL);
    atomic_store(&reader_state, 2);
    must(pthread_join(reader, NULL) == 0);
    for (int i = 0; i < 2; i++) { /* those whose grace period had begun, and the others */
        (void)pfa_chunk_reclaim();
    }
    must(pfa_intervalmap_retired() == 0);
    must(refusals_until_recorded(150000, &chunk) < 20000);
    must(verdict_on(chunk) == PFA_CHUNK_LIVE);
}
RUN_IN_CHILD(nobody_reclaims)

/* A thread keeps the memory of one large chunk for the next: of whatever size it can hold, and nobody else's. */
static void *free_elsewhere(void *chunk)
{
    must(thread_begin());
    must(free_chunk(chunk) == PFA_CHUNK_LIVE);
    must(pfa_tls.large_spare == NULL);
    return NULL;
}

static void large_memory_is_used_again(void)
{
    allocator_start(64 * MIB, 256 * MIB);
    char *first = chunk_of(300000);
    char *second = chunk_of(200000);
    must(free_chunk(first) == PFA_CHUNK_LIVE && pfa_tls.large_spare == first);
    must(free_chunk(second) == PFA_CHUNK_LIVE && pfa_tls.large_spare == first); /* one is enough */
    must(verdict_on(first) == PFA_CHUNK_FREED && verdict_on(second) == PFA_CHUNK_FREED);
    must(free_chunk(first) == PFA_CHUNK_FREED);
    char *bigger = chunk_of(1 << 20);
    must(bigger != first && pfa_tls.large_spare == first);
    char *again = chunk_of(150000);
    must(again == first && pfa_tls.large_spare == NULL);
    must(verdict_on(again) == PFA_CHUNK_LIVE && verdict_on(again + 149999) == PFA_CHUNK_INTERIOR);
    must(free_chunk(bigger) == PFA_CHUNK_LIVE && pfa_tls.large_spare == NULL); /* too big to be kept */
    pthread_t thread;
    must(pthread_create(&thread, NULL, free_elsewhere, again) == 0 && pthread_join(thread, NULL) == 0);
    void *aligned = aligned_chunk_of(200000, 1 << 20);
    must(free_chunk(aligned) == PFA_CHUNK_LIVE &&
         pfa_tls.large_spare == NULL); /* perhaps the end of something bigger */
    void *last = chunk_of(200000);
    must(free_chunk(last) == PFA_CHUNK_LIVE && pfa_tls.large_spare == last);
    pfa_chunk_thread_end(&pfa_tls);
    must(pfa_tls.large_spare == NULL);
}
RUN_IN_CHILD(large_memory_is_used_again)

static unsigned reclaims_wanted;

static void want_reclaim(void)
{
    reclaims_wanted++;
}

static void reclaim_is_asked_for(void)
{
    allocator_start(64 * MIB, 64 * MIB);
    pfa_chunk_want_reclaim = want_reclaim;
    for (unsigned i = 1; i <= 10; i++) {
        void *small = chunk_of(100);
        must(free_chunk(small) == PFA_CHUNK_LIVE);
        must(reclaims_wanted == i - 1); /* not for chunks of regions */
        void *large = chunk_of(200000);
        must(free_chunk(large) == PFA_CHUNK_LIVE);
        must(reclaims_wanted == i);
    }
    must(pfa_intervalmap_retired() == 10);
}
RUN_IN_CHILD(reclaim_is_asked_for)

/* --- no profiled range at all ------------------------------------------------------------------------------------- */

static void without_a_range(void)
{
    pfa_message_init();
    pfa_backing_init();
    pfa_range_open_plain();
    must(thread_begin());
    void *plain = pfa_backing_malloc(100);
    check_refused(plain, PFA_CHUNK_PLAIN);
    check_refused(NULL, PFA_CHUNK_FOREIGN);
    check_refused(&plain, PFA_CHUNK_FOREIGN);
    pfa_backing_free(plain);
}
RUN_IN_CHILD(without_a_range)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_then_freed),
        cmocka_unit_test(test_neither_ours_nor_chunks),
        cmocka_unit_test(test_chunks_without_a_record),
        cmocka_unit_test(test_gaps_of_a_region),
        cmocka_unit_test(test_aligned_chunks),
        cmocka_unit_test(test_slots_change_between_aligned_and_usual),
        cmocka_unit_test(test_zeroed_and_flagged),
        cmocka_unit_test(test_absurd_sizes),
        cmocka_unit_test(test_errno_stays),
        cmocka_unit_test(test_births_and_deaths_add_up),
        cmocka_unit_test(test_sampled_chunks_count_for_many),
        cmocka_unit_test(test_resizing_in_place),
        cmocka_unit_test(test_resizing_into_silence),
        cmocka_unit_test(test_records_go_when_slots_grow),
        cmocka_unit_test(test_heaps_left_behind_are_few),
        cmocka_unit_test(test_accesses_belong_to_one_life),
        cmocka_unit_test(test_last_accesses_are_estimated_at_the_death),
        cmocka_unit_test(test_missed_chunks_are_counted),
        cmocka_unit_test(test_records_show_the_death),
        cmocka_unit_test(test_frees_by_others),
        cmocka_unit_test(test_large_chunks_die_once),
        cmocka_unit_test(test_regions_run_out),
        cmocka_unit_test(test_large_space_runs_out),
        cmocka_unit_test(test_inherited_large_chunk_is_resized),
        cmocka_unit_test(test_thread_is_born_again),
        cmocka_unit_test(test_blind_child_frees),
        cmocka_unit_test(test_nobody_reclaims),
        cmocka_unit_test(test_reclaim_is_asked_for),
        cmocka_unit_test(test_large_memory_is_used_again),
        cmocka_unit_test(test_without_a_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
