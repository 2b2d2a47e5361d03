/* Makes traces for the tests of the tool, and tells the truth about them on standard output: a line for each chunk,
 * "thread allocated freed size stack weighted", freed 0 for one that is alive.
 *
 *   make_trace FORM FILE CHUNKS SEED [WORD...]
 *   FORM   ended    with a final picture
 *          killed   not ended, with a live table: the last deaths are only in rings
 *          big      ended, CHUNKS chunks in order, some of them alive at the end
 *          many     ended, CHUNKS chunks of many points, in order of their deaths, some of them alive at the end
 *   WORD   given     its CHUNKS chunks are read from standard input, as make_given.c has them, in place of random ones
 *          after     (ended) some deaths are of chunks in the final picture
 *          dying     (killed) each thread was killed in the middle of a free
 *          torn      (killed) the last block is cut in two
 *          unwritten (killed) a block of deaths could not be written: they are in totals, and in a ring before its tail
 *          settled   (killed) tails of rings are where their deaths in the trace end, not behind
 *          folds=N   (killed) so many more deaths, which never were in a ring, are only in totals
 *          folded    some deaths are only in totals
 *          sampled   half of the chunks are samples
 *          shift     times are cut by 6 bits
 *          shift=N   or by so many
 *          sizes     batches of deaths have a column of sizes
 *          bare      without COUNTERS
 *          roots     nodes are written from 0 on
 *          plain     blocks are not compressed
 *          now       it began now, not in 2023
 *          pid=N     of the process
 *          run=N     of the profalloc run
 *          later=N   it began so many nanoseconds later than others; times on standard output do not tell that
 *          accesses  what was done with chunks is told; lines of standard output have it too: "reads writes low length first
 *                    last shared moved free_thread last_thread" (length 0: not touched; moved: by realloc)
 *          idle      there is room for accesses, but no instrumented module
 *          maps      with maps of accesses
 *          merged    one of two modules joins accesses to ranges
 *          told      which modules are instrumented: stacks with even numbers, and the last, are of code that is not
 *          gap       (ended) the final picture has no accesses
 *          bits=N    of counters of accesses
 *          old       COUNTERS do not tell of instrumented modules
 *          unmerged  COUNTERS do not tell whether these join accesses
 *          timed     calls were measured: as tests/analyze/spent.py has it
 *          untimed   COUNTERS do not tell of measured calls
 *          points=N  (many) so many points; 1000
 *          boot=N    the machine had been up for so many nanoseconds more
 *          slow=N    (ended) a tick takes so many nanoseconds, and not one
 *          size=N    all chunks are of this size
 *          alive     no chunk dies
 *          dense     (killed) live chunks lie in regions, one behind the other; for large tables
 *          wide      (big) sizes of up to 64 MiB, hardly any of them twice
 *
 * For the big form the truth is one line: chunks, bytes, chunks alive, bytes alive, bytes at the peak, reads; for many: chunks,
 * bytes, chunks alive. */
/* sources: tests/analyze/make_live.c tests/analyze/make_access.c tests/analyze/make_big.c tests/analyze/make_many.c tests/analyze/make_given.c tests/analyze/make_sites.c analyze/trace/tracefile.c analyze/trace/blocks.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c export/format/batch.c */
#include "tests/analyze/make_trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <time.h>

static const pfa_trace_times_t measured = {
    .calls = 1000000,
    .waited = 5000000,
    .whole = {{.measured = 1000, .ticks = 1000 * 80 * PFA_TIMES_PART, .squares = 9000000, .capped = 3},
              {.measured = 900, .ticks = 900 * 40 * PFA_TIMES_PART, .squares = 2000000}},
    .own = {{.measured = 1100, .ticks = 1100 * 20 * PFA_TIMES_PART, .squares = 600000},
            {.measured = 800, .ticks = (uint64_t) - (800 * 1 * PFA_TIMES_PART), .squares = 10000, .capped = 1}},
};

static bool has(char **words, const char *word)
{
    for (; *words != NULL; words++) {
        if (strcmp(*words, word) == 0) {
            return true;
        }
    }
    return false;
}

static int compare_deaths(const void *a, const void *b)
{
    const life_t *left = a;
    const life_t *right = b;
    if (left->ring != right->ring) {
        return left->ring < right->ring ? -1 : 1;
    }
    return left->event.free_time < right->event.free_time ? -1 : left->event.free_time > right->event.free_time;
}

static pfa_event_t random_event(uint64_t *random, uint64_t now, bool sampled)
{
    uint64_t size = random_below(random, 10) == 0 ? random_below(random, 200000) : random_below(random, 300);
    pfa_event_t event = {.alloc_time = now};
    uint64_t flags = sampled && random_below(random, 2) == 0 ? (uint64_t)CLASS << PFA_RECORD_WEIGHT_SHIFT : 0;
    event.size_flags = size << PFA_RECORD_SIZE_SHIFT | flags;
    event.stack = (uint32_t)(PFA_NODE_FIRST + random_below(random, STACKS));
    event.free_stack = (uint32_t)(PFA_NODE_FIRST + random_below(random, STACKS));
    event.thread = (uint16_t)(1 + random_below(random, RINGS));
    event.tag = random_below(random, 8) == 0;
    if (random_below(random, 8) == 0) {
        event.size_flags |= PFA_RECORD_REALLOC;
        event.type_link = (uint32_t)random_below(random, PFA_LINK_MASK + 1) << PFA_TYPE_BITS;
    }
    return event;
}

/* What the words of the command line ask for; what is random stays as it is. */
static void change_event(const made_t *made, pfa_event_t *event)
{
    if (made->sized) {
        event->size_flags &= ((uint64_t)1 << PFA_RECORD_SIZE_SHIFT) - 1;
        event->size_flags |= made->size << PFA_RECORD_SIZE_SHIFT;
    }
}

static void fill_heap(const made_t *made, heap_t *heap, size_t chunks, uint64_t seed)
{
    uint64_t now = heap->start;
    for (size_t i = 0; i < chunks; i++) {
        now += 1 + random_below(&seed, 40);
        life_t life = {.event = random_event(&seed, now, made->sampled)};
        change_event(made, &life.event);
        if (random_below(&seed, 20) == 0 || made->alive) {
            heap->lives[heap->live_count++] = life;
            continue;
        }
        life.event.free_time = now + 1 + random_below(&seed, 1 + random_below(&seed, 20000));
        life.event.free_thread = (uint16_t)(1 + random_below(&seed, RINGS));
        life.ring = life.event.free_thread - 1u;
        if (random_below(&seed, 8) == 0) {
            life.event.size_flags |= PFA_EVENT_MOVED;
            life.event.moved_link = (uint32_t)random_below(&seed, PFA_LINK_MASK + 1);
        }
        heap->deaths[heap->death_count++] = life;
    }
    heap->end = now + 30000;
}

static void make_heap(const made_t *made, heap_t *heap, size_t chunks, uint64_t seed)
{
    heap->deaths = calloc(chunks + 1, sizeof *heap->deaths);
    heap->lives = calloc(chunks + 1, sizeof *heap->lives);
    must(heap->deaths != NULL && heap->lives != NULL);
    if (made->given) {
        read_heap(made, heap, chunks);
    } else {
        fill_heap(made, heap, chunks, seed);
    }
    qsort(heap->deaths, heap->death_count, sizeof *heap->deaths, compare_deaths);
    for (size_t i = heap->death_count; i-- > 0;) {
        heap->ring_start[heap->deaths[i].ring] = i;
    }
    heap->ring_start[RINGS] = heap->death_count;
    for (uint32_t i = RINGS; i-- > 0;) { /* rings without deaths are empty, not in front of all others */
        bool empty = heap->ring_start[i] >= heap->death_count || heap->deaths[heap->ring_start[i]].ring != i;
        heap->ring_start[i] = empty ? heap->ring_start[i + 1] : heap->ring_start[i];
    }
}

static uint64_t now(void)
{
    struct timespec time;
    must(clock_gettime(CLOCK_REALTIME, &time) == 0);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void write_start(made_t *made, const heap_t *heap)
{
    struct {
        pfa_trace_start_t start;
        char strings[96];
    } payload = {.start = {.version = PFA_TRACE_VERSION,
                           .arch = PFA_ARCH_ARM64,
                           .session = made->session,
                           .pid = (uint32_t)made->pid,
                           .run = made->run,
                           .counter = heap->start,
                           .monotonic_ns = heap->start + made->later + made->boot,
                           .unix_ns = made->now ? now() : 1700000000000000000 + made->later,
                           .counter_hz = 1000000000 / made->slow,
                           .record_size = made->accesses ? 64 : 32,
                           .stack_depth = 64,
                           .sample = made->sampled ? PERIOD : 1,
                           .program_size = 9,
                           .command_size = 11}};
    memcpy(payload.strings, "/bin/made", 9);
    memcpy(payload.strings + 9, "made\0--all", 11);
    int length = snprintf(payload.strings + 20, sizeof payload.strings - 20, "prof:true");
    if (made->bits != 31) {
        length += snprintf(payload.strings + 20 + length, 40, ",access_counter_bits:%u,sample:1", made->bits);
    }
    payload.start.options_size = (uint32_t)length;
    pfa_tracefile_block(&made->writer, PFA_BLOCK_START, heap->start, &payload,
                        sizeof payload.start + 20 + (size_t)length);
}

void flush_events(made_t *made, uint64_t time, uint32_t flags)
{
    if (made->batch->head.rows != 0) {
        size_t size = pfa_batch_finish(made->batch, made->bytes);
        pfa_tracefile_block(&made->writer, PFA_BLOCK_EVENTS, time, made->bytes, size);
    }
    pfa_batch_begin(made->batch, made->shift, flags | made->form);
}

/* Deaths of each ring from from[] to before to[], in turns, `step` rows of each. */
static void write_deaths(made_t *made, const heap_t *heap, size_t from[RINGS], const size_t to[RINGS], size_t step,
                         uint32_t flags)
{
    bool more = true;
    pfa_batch_begin(made->batch, made->shift, flags | made->form);
    while (more) {
        more = false;
        for (uint32_t ring = 0; ring < RINGS; ring++) {
            size_t end = to[ring] - from[ring] < step ? to[ring] : from[ring] + step;
            if (end > from[ring]) {
                must(pfa_batch_segment(made->batch, ring, from[ring]));
            }
            for (; from[ring] < end; from[ring]++) {
                const life_t *life = &heap->deaths[heap->ring_start[ring] + from[ring]];
                must(pfa_batch_add(made->batch, &life->event, &life->accesses, 0));
            }
            more = more || from[ring] < to[ring];
        }
        flush_events(made, heap->end, flags);
    }
}

void write_picture(made_t *made, const life_t *lives, size_t count, uint64_t time, uint32_t flags)
{
    pfa_trace_live_t live = {.number = flags != 0 ? 2 : 1, .flags = flags, .time = time, .name_size = 3};
    size_t done = 0;
    do {
        size_t end = count - done < 1000 ? count : done + 1000;
        pfa_batch_begin(made->batch, 0, PFA_BATCH_LIVE | (made->gap ? 0 : made->form & PFA_BATCH_ACCESSES));
        for (; done < end; done++) {
            must(pfa_batch_add(made->batch, &lives[done].event, &lives[done].accesses, 0));
        }
        live.flags = flags | (done == count ? PFA_LIVE_LAST : 0);
        memset(made->bytes, 0, 32);
        memcpy(made->bytes, &live, sizeof live);
        memcpy(made->bytes + sizeof live, "end", 3);
        size_t size = pfa_batch_finish(made->batch, made->bytes + 32);
        pfa_tracefile_block(&made->writer, PFA_BLOCK_LIVE, time, made->bytes, 32 + size);
    } while (done < count);
}

static void write_names(made_t *made, const heap_t *heap)
{
    pfa_trace_thread_t threads[RINGS];
    memset(threads, 0, sizeof threads);
    for (uint32_t i = 0; i < RINGS; i++) {
        threads[i].number = i + 1;
        threads[i].tid = 1001 + i;
        threads[i].start = heap->start + i;
        snprintf(threads[i].name, sizeof threads[i].name, "worker-%u", i + 1);
    }
    pfa_tracefile_block(&made->writer, PFA_BLOCK_THREADS, heap->start, threads, sizeof threads);
    uint64_t weights[PFA_LIVE_WEIGHTS] = {0};
    weights[CLASS] = made->sampled ? PERIOD : 0;
    pfa_tracefile_block(&made->writer, PFA_BLOCK_WEIGHTS, heap->start, weights, sizeof weights);
}

static double weight_of(const pfa_event_t *event)
{
    uint64_t size = event->size_flags >> PFA_RECORD_SIZE_SHIFT;
    bool sample = (event->size_flags >> PFA_RECORD_WEIGHT_SHIFT & PFA_RECORD_WEIGHT_MASK) != 0;
    return sample && size != 0 ? 1 / (1 - exp(-(double)size / PERIOD)) : 1;
}

void write_totals(made_t *made, const heap_t *heap, char **words)
{
    double chunks[2] = {made->folded ? 7 : 0, 0};
    double bytes[2] = {made->folded ? 700 : 0, 0};
    for (size_t i = 0; i < heap->death_count + heap->live_count; i++) {
        bool live = i >= heap->death_count;
        const life_t *life = live ? &heap->lives[i - heap->death_count] : &heap->deaths[i];
        chunks[live] += weight_of(&life->event);
        bytes[live] += weight_of(&life->event) * (double)(life->event.size_flags >> PFA_RECORD_SIZE_SHIFT);
    }
    if (made->folded) {
        static const pfa_trace_fold_t folds[] = {
            {.stack = PFA_NODE_FIRST + 1, .chunks = 2 * 1024, .bytes = 200}, /* those before count no more, */
            {.stack = PFA_NODE_FIRST + 1, .chunks = 4 * 1024, .bytes = 400},
            {.stack = PFA_NODE_FIRST + 3, .chunks = 3 * 1024, .bytes = 300}, /* and this block goes on from the last */
        };
        for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++) {
            pfa_tracefile_block(&made->writer, PFA_BLOCK_FOLDS, heap->end, &folds[i], sizeof folds[i]);
        }
    }
    pfa_trace_counters_t counters = {.allocations = (uint64_t)(chunks[0] + chunks[1] + 0.5),
                                     .frees = (uint64_t)(chunks[0] + 0.5),
                                     .bytes_allocated = (uint64_t)(bytes[0] + bytes[1] + 0.5),
                                     .bytes_freed = (uint64_t)(bytes[0] + 0.5),
                                     .folded = made->folded ? 7 : 0,
                                     .instrumented = made->instrumented ? 2 : 0,
                                     .merged = made->merged,
                                     .times = made->times};
    if (!has(words, "bare")) {
        size_t size = has(words, "old")        ? offsetof(pfa_trace_counters_t, instrumented)
                      : has(words, "unmerged") ? offsetof(pfa_trace_counters_t, merged)
                      : has(words, "untimed")  ? offsetof(pfa_trace_counters_t, times)
                                               : sizeof counters;
        pfa_tracefile_block(&made->writer, PFA_BLOCK_COUNTERS, heap->end, &counters, size);
    }
    if (made->maps) {
        write_maps(made, heap->end, false);
    }
    pfa_trace_clock_t clock = {.counter = heap->end,
                               .monotonic_ns =
                                   heap->start + made->slow * (heap->end - heap->start) + made->later + made->boot};
    pfa_tracefile_block(&made->writer, PFA_BLOCK_CLOCK, heap->end, &clock, sizeof clock);
}

static void tell_truth(const made_t *made, const heap_t *heap)
{
    for (size_t i = 0; i < heap->death_count + heap->live_count; i++) {
        bool live = i >= heap->death_count;
        const life_t *life = live ? &heap->lives[i - heap->death_count] : &heap->deaths[i];
        const pfa_event_t *e = &life->event;
        printf("%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %.17g", e->thread, e->alloc_time, e->free_time,
               e->size_flags >> PFA_RECORD_SIZE_SHIFT, e->stack, weight_of(e));
        if (made->instrumented) {
            tell_accesses(life);
        }
        putchar('\n');
    }
}

static void make_ended(made_t *made, heap_t *heap, char **words)
{
    size_t from[RINGS] = {0};
    size_t before[RINGS];
    size_t all[RINGS];
    life_t *picture = calloc(heap->live_count + heap->death_count + 1, sizeof *picture);
    must(picture != NULL);
    memcpy(picture, heap->lives, heap->live_count * sizeof *picture);
    size_t count = heap->live_count;
    for (uint32_t i = 0; i < RINGS; i++) {
        all[i] = heap->ring_start[i + 1] - heap->ring_start[i];
        before[i] = has(words, "after") ? all[i] - all[i] / 20 : all[i];
        for (size_t j = before[i]; j < all[i]; j += 2) { /* the others were born later */
            picture[count++] = heap->deaths[heap->ring_start[i] + j];
        }
    }
    write_deaths(made, heap, from, before, 997, 0);
    write_picture(made, picture, count / 2, heap->end - 20000, 0); /* one that was asked for, and counts for nothing */
    write_picture(made, picture, count, heap->end - 10000, PFA_LIVE_FINAL);
    made->shift = 0;
    write_deaths(made, heap, from, all, 997, PFA_BATCH_AFTER_LIVE);
    write_totals(made, heap, words);
    pfa_tracefile_end(&made->writer, PFA_END_EXIT, heap->end);
    free(picture);
}

static void make_killed(made_t *made, heap_t *heap, char **words)
{
    size_t from[RINGS] = {0};
    size_t in_trace[RINGS];
    for (uint32_t i = 0; i < RINGS; i++) {
        size_t all = heap->ring_start[i + 1] - heap->ring_start[i];
        in_trace[i] = all > 1000 ? all - 1000 + 10 * i : all / 2;
    }
    write_deaths(made, heap, from, in_trace, 997, 0);
    write_live_table(made, heap, in_trace, has(words, "dying"));
    if (has(words, "torn")) { /* half of a block with the next deaths */
        uint64_t end = made->writer.at;
        size_t all = heap->ring_start[1] - heap->ring_start[0];
        size_t next[RINGS] = {in_trace[0] + 100 < all ? in_trace[0] + 100 : all, in_trace[1], in_trace[2]};
        write_deaths(made, heap, from, next, 997, 0);
        must(ftruncate(made->writer.fd, (off_t)(end + (made->writer.at - end) / 2)) == 0);
    }
}

int main(int argc, char **argv)
{
    must(argc >= 5);
    heap_t heap = {.start = 1000000};
    made_t made = {.path = argv[2], .pid = 1u << 30, .bits = 31, .slow = 1}; /* no process has that one */
    char **words = argv + 5;
    uint64_t chunks = strtoull(argv[3], NULL, 0);
    uint32_t points = 1000;
    for (char **word = words; *word != NULL; word++) {
        made.pid = strncmp(*word, "pid=", 4) == 0 ? strtoull(*word + 4, NULL, 0) : made.pid;
        made.run = strncmp(*word, "run=", 4) == 0 ? strtoull(*word + 4, NULL, 0) : made.run;
        made.later = strncmp(*word, "later=", 6) == 0 ? strtoull(*word + 6, NULL, 0) : made.later;
        made.shift = strncmp(*word, "shift=", 6) == 0 ? (uint32_t)strtoull(*word + 6, NULL, 0) : made.shift;
        made.bits = strncmp(*word, "bits=", 5) == 0 ? (unsigned)strtoull(*word + 5, NULL, 0) : made.bits;
        made.folds = strncmp(*word, "folds=", 6) == 0 ? strtoull(*word + 6, NULL, 0) : made.folds;
        points = strncmp(*word, "points=", 7) == 0 ? (uint32_t)strtoull(*word + 7, NULL, 0) : points;
        made.boot = strncmp(*word, "boot=", 5) == 0 ? strtoull(*word + 5, NULL, 0) : made.boot;
        made.slow = strncmp(*word, "slow=", 5) == 0 ? strtoull(*word + 5, NULL, 0) : made.slow;
        made.sized = made.sized || strncmp(*word, "size=", 5) == 0;
        made.size = strncmp(*word, "size=", 5) == 0 ? strtoull(*word + 5, NULL, 0) : made.size;
    }
    const char *slash = strrchr(made.path, '/');
    const char *name = slash != NULL ? slash + 1 : made.path;
    made.session = pfa_checksum(SESSION, name, strlen(name));
    made.given = has(words, "given");
    made.folded = has(words, "folded");
    made.sampled = has(words, "sampled");
    made.now = has(words, "now");
    made.unwritten = has(words, "unwritten");
    made.settled = has(words, "settled");
    made.shift = has(words, "shift") ? 6 : made.shift;
    made.instrumented = has(words, "accesses");
    made.accesses = made.instrumented || has(words, "idle");
    made.maps = has(words, "maps");
    made.merged = has(words, "merged");
    made.told = has(words, "told");
    made.gap = has(words, "gap");
    made.times = has(words, "timed") ? measured : made.times;
    made.alive = has(words, "alive");
    made.wide = has(words, "wide");
    made.dense = has(words, "dense");
    made.form = (has(words, "sizes") ? PFA_BATCH_SIZES : 0) | (made.accesses ? PFA_BATCH_ACCESSES : 0);
    made.batch = calloc(1, sizeof *made.batch);
    made.bytes = malloc(PFA_BATCH_SIZE_MAX + 64);
    int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(fd >= 0 && made.batch != NULL && made.bytes != NULL);
    bool many = strcmp(argv[1], "many") == 0;
    bool big = many || strcmp(argv[1], "big") == 0;
    make_heap(&made, &heap, big ? 0 : (size_t)chunks, strtoull(argv[4], NULL, 0));
    if (made.instrumented && !made.given) {
        make_accesses(&made, &heap, strtoull(argv[4], NULL, 0));
    }
    make_nodes(&heap);
    pfa_tracefile_begin(&made.writer, fd, NULL);
    made.writer.plain = has(words, "plain");
    write_start(&made, &heap);
    write_modules(&made, heap.start);
    if (made.maps) {
        write_maps(&made, heap.start, true);
    }
    bool ended = strcmp(argv[1], "ended") == 0;
    uint32_t nodes = ended || big ? STACKS : STACKS / 2; /* the others are only in the live table */
    uint32_t first = has(words, "roots") ? 0 : PFA_NODE_FIRST;
    if (!many) {
        pfa_tracefile_nodes(&made.writer, heap.start, first, PFA_NODE_FIRST - first + nodes, heap.parents + first,
                            heap.pcs + first);
    }
    if (ended || big) {
        write_names(&made, &heap);
    }
    if (many) {
        make_many(&made, &heap, chunks, strtoull(argv[4], NULL, 0), points);
    } else if (big) {
        make_big(&made, &heap, chunks, strtoull(argv[4], NULL, 0));
    } else {
        (ended ? make_ended : make_killed)(&made, &heap, words);
        tell_truth(&made, &heap);
    }
    must(made.writer.error == 0);
    close(fd);
    return 0;
}
