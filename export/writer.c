/* Owns the making of blocks from what the threads left. See export/writer.h. */
#include "export/writer.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/options.h"
#include "base/sys.h"
#include "export/block.h"
#include "export/format/batch.h"
#include "export/modules.h"
#include "meta/accesses.h"
#include "meta/depot.h"
#include "meta/extents.h"
#include "meta/fold.h"
#include "meta/names.h"
#include "meta/ring.h"
#include "meta/stack.h"
#include "meta/thread.h"
#include "meta/types.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* While deaths come fast, not as many rows as a batch may have: what is looked at for each should stay in the cache. */
enum { ROWS_WHEN_FAST = 8192, FAST_NS = 250, EFFORT = 3, SOURCES = 512, WORTH_A_FORM = 1024, FORM_KEPT = 63 };

static struct {
    pfa_batch_t *batch; /* two: of deaths, and of pictures */
    uint32_t nodes_written;
    uint32_t types_written;
    uint64_t rows_written;
    uint64_t start; /* of the trace, as the live table has it */
    uint32_t shift;
    bool fast; /* less than FAST_NS for each death since the last drain? */
    uint64_t drained_ns;
    uint64_t urgent_rows; /* how many deaths were in the rings that had asked for it, the last time */
    uint32_t rows_max;    /* of the batch that is being filled */
    uint32_t sizes_apart; /* how many batches more are to have sizes in a column of their own */
    pfa_figures_t before; /* what was counted before the trace began: by a parent, or for another trace */
    uint64_t bad_frees_before;
    pfa_trace_times_t times_before;
} writer;

/* Segments of the batch that is being filled, to be told to their rings once it is written. */
static struct {
    pfa_ring_t *ring;
    uint64_t to;
} sources[SOURCES];
static uint32_t source_count;

/* A step of 1 ns keeps times whole, also where a tick is less. */
static uint32_t shift_of(uint64_t nanoseconds)
{
    uint64_t ticks =
        nanoseconds <= 1 ? 0 : nanoseconds * pfa_counter_moment() / 2000; /* a moment is two microseconds */
    return ticks == 0 ? 0 : 63u - (uint32_t)__builtin_clzll(ticks);
}

uint32_t pfa_writer_shift(void)
{
    return writer.shift;
}

pfa_batch_t *pfa_writer_picture_batch(void)
{
    return writer.batch + 1;
}

static pfa_counters_t sum; /* too long for a stack; under the writer's lock */

static void remember_counters(void)
{
    pfa_counters_sum(&sum);
    writer.before = pfa_counters_figures(&sum, 0, PFA_CLASS_COUNT);
    writer.bad_frees_before = pfa_read_counter(&sum.bad_frees);
    writer.times_before = sum.times;
}

int pfa_writer_reset(void)
{
    void *memory = writer.batch;
    /* That of pictures too, at the start: a program that has used up its mappings still has a last picture. */
    if (memory == NULL &&
        pfa_sys_map(NULL, 2 * sizeof(pfa_batch_t), PROT_READ | PROT_WRITE, MAP_NORESERVE, &memory) != 0) {
        return ENOMEM;
    }
    writer.batch = memory;
    writer.nodes_written = PFA_NODE_FIRST; /* the roots are known */
    writer.types_written = 0;
    writer.rows_written = 0;
    writer.sizes_apart = 0;
    source_count = 0; /* a parent's writer may have been in the middle */
    writer.shift = shift_of(pfa_options.time_step);
    pfa_modules_reset();
    remember_counters();
    return 0;
}

static void say_failed(int err)
{
    static _Atomic bool said;
    if (err != 0 && !atomic_exchange(&said, true)) {
        pfa_say("the trace cannot be written any more (%s): from here on only totals are kept", pfa_sys_why(err));
    }
}

int pfa_writer_block(pfa_block_kind_t kind, const void *payload, size_t size)
{
    int err = pfa_block_write(kind, payload, size);
    say_failed(err);
    return err;
}

void pfa_writer_modules(void)
{
    size_t size;
    while ((size = pfa_modules_next(pfa_block_scratch(), PFA_BLOCK_SCRATCH)) != 0) {
        (void)pfa_writer_block(PFA_BLOCK_MODULES, pfa_block_scratch(), size);
    }
}

void pfa_writer_modules_again(void)
{
    size_t size = pfa_modules_write_again(pfa_block_scratch(), PFA_BLOCK_SCRATCH, 0);
    (void)pfa_writer_block(PFA_BLOCK_MODULES, pfa_block_scratch(), size);
}

/* Up to 65536 nodes at a time. */
static int write_some_nodes(uint32_t count)
{
    char *payload = pfa_block_scratch();
    pfa_trace_nodes_t head = {.first = writer.nodes_written, .count = count};
    memcpy(payload, &head, sizeof head);
    char *parents = payload + sizeof head;
    memset(parents, 0, (count + 1) * sizeof(uint32_t)); /* what is left of the last 8 bytes */
    char *pcs = parents + ((count * sizeof(uint32_t) + 7) & ~(size_t)7);
    for (uint32_t i = 0; i < count; i++) {
        const pfa_live_node_t *node = pfa_depot_node(head.first + i);
        memcpy(parents + i * sizeof(uint32_t), &node->parent, sizeof(uint32_t));
        memcpy(pcs + i * sizeof(uint64_t), &node->pc, sizeof(uint64_t));
    }
    return pfa_writer_block(PFA_BLOCK_NODES, payload, (size_t)(pcs - payload) + count * sizeof(uint64_t));
}

/* Lists of modules come before the nodes that they hold for: one that is noted after this holds for none of those known. */
void pfa_writer_nodes(void)
{
    enum { AT_ONCE = 65536 };
    uint32_t known = pfa_depot_count();
    size_t size;
    while (writer.nodes_written < known &&
           (size = pfa_modules_next_noted(pfa_block_scratch(), PFA_BLOCK_SCRATCH)) != 0) {
        (void)pfa_writer_block(PFA_BLOCK_MODULES, pfa_block_scratch(), size);
    }
    while (writer.nodes_written < known) {
        uint32_t count = known - writer.nodes_written < AT_ONCE ? known - writer.nodes_written : AT_ONCE;
        if (write_some_nodes(count) != 0) {
            return;
        }
        writer.nodes_written += count;
    }
}

static void fold_sources(void)
{
    for (uint32_t i = 0; i < source_count; i++) {
        pfa_fold_pending(sources[i].ring, sources[i].to);
    }
}

/* By the last batch of the usual form; which is tried again now and then. */
static void choose_form(const pfa_batch_head_t *head)
{
    if (writer.sizes_apart != 0) {
        writer.sizes_apart--;
    } else if (head->rows >= WORTH_A_FORM && head->kinds > head->rows / 4) {
        writer.sizes_apart = FORM_KEPT;
    }
}

static void flush_batch(void)
{
    if (writer.batch->head.rows == 0) {
        return;
    }
    pfa_writer_nodes();
    size_t size = pfa_batch_finish(writer.batch, pfa_block_scratch());
    if (pfa_writer_block(PFA_BLOCK_EVENTS, pfa_block_scratch(), size) != 0) {
        fold_sources();
    }
    writer.rows_written += writer.batch->head.rows;
    choose_form(&writer.batch->head);
    for (uint32_t i = 0; i < source_count; i++) {
        pfa_ring_done(sources[i].ring, sources[i].to);
    }
    source_count = 0;
}

static void begin_batch(uint32_t flags)
{
    bool exact = writer.rows_written < PFA_BATCH_EXACT_ROWS || (flags & PFA_BATCH_AFTER_LIVE) != 0;
    uint32_t most = writer.fast ? ROWS_WHEN_FAST : PFA_BATCH_ROWS;
    writer.rows_max = writer.rows_written < PFA_BATCH_EXACT_ROWS ? PFA_BATCH_EXACT_ROWS : most;
    flags |= writer.sizes_apart != 0 ? PFA_BATCH_SIZES : 0;
    flags |= pfa_accesses_kept ? PFA_BATCH_ACCESSES : 0;
    flags |= pfa_options.addresses ? PFA_BATCH_ADDRESSES : 0;
    pfa_batch_begin(writer.batch, exact ? 0 : writer.shift, flags);
}

static bool add_event(const pfa_event_t *event, const pfa_event_accesses_t *accesses, uint64_t address)
{
    if (PFA_LIKELY(event->alloc_time >= writer.start)) {
        return pfa_batch_add(writer.batch, event, accesses, address);
    }
    pfa_event_t marked = *event;
    marked.size_flags |= PFA_EVENT_BEFORE;
    bool added = pfa_batch_add(writer.batch, &marked, accesses, address);
    pfa_add_relaxed(&pfa_extents_head->inherited, added);
    return added;
}

/* The entries of one ring but for the last `kept` of them; batches that get full on the way are written. */
static void drain_ring(uint32_t number, uint32_t flags, uint64_t kept)
{
    uint64_t at;
    uint64_t to;
    pfa_ring_t *ring = pfa_ring_pending(number, &at, &to);
    to = to - at > kept ? to - kept : at;
    while (at < to) {
        if (source_count == SOURCES || writer.batch->head.rows >= writer.rows_max ||
            !pfa_batch_segment(writer.batch, number, at - ring->shared->base)) {
            flush_batch();
            begin_batch(flags);
            continue;
        }
        while (at < to && writer.batch->head.rows < writer.rows_max &&
               add_event(&ring->entries[at & ring->mask],
                         ring->accesses != NULL ? &ring->accesses[at & ring->mask] : NULL,
                         ring->addresses != NULL ? ring->addresses[at & ring->mask] : 0)) {
            at++;
        }
        sources[source_count].ring = ring;
        sources[source_count++].to = at;
    }
}

static void drain(uint32_t flags, uint64_t kept)
{
    writer.start = pfa_extents_head->start_counter;
    pfa_ring_forget_urgent();
    begin_batch(flags);
    for (uint32_t i = 0; i < pfa_ring_count(); i++) {
        drain_ring(i, flags, kept);
    }
    flush_batch();
}

/* By how many deaths there are since the last time. Those of a sample are few, and whoever samples wants the processors for the
 * program: more effort makes the blocks of such a trace no smaller. Level 6 instead of 3 makes the trace of redis-server a tenth
 * smaller and takes twice the time of the whole writer; with accesses it is 9 %, and three times. */
static void choose_effort(uint64_t deaths)
{
    uint64_t now = pfa_sys_nanoseconds();
    bool is_sampled = pfa_extents_head->weights[1] != 0;
    writer.fast = now - writer.drained_ns < deaths * FAST_NS;
    writer.drained_ns = now;
    pfa_block_effort(writer.fast || is_sampled ? 1 : EFFORT);
}

void pfa_writer_drain(uint32_t flags)
{
    bool urgent;
    choose_effort(pfa_ring_backlog(&urgent));
    pfa_fold_prepare();
    drain(flags, 0);
}

void pfa_writer_drain_urgent(uint32_t flags)
{
    uint64_t before = writer.rows_written;
    writer.start = pfa_extents_head->start_counter;
    choose_effort(writer.urgent_rows);
    pfa_fold_prepare();
    begin_batch(flags);
    pfa_ring_take_urgent();
    for (const pfa_ring_t *ring = pfa_ring_next_urgent(); ring != NULL; ring = pfa_ring_next_urgent()) {
        drain_ring(ring->number, flags, 0);
    }
    flush_batch();
    writer.urgent_rows = writer.rows_written - before;
}

void pfa_writer_drain_before_final(void)
{
    drain(0, 1);
}

static void refresh_name(pfa_trace_thread_t *thread)
{
    char path[64];
    pfa_text_t text = {path, sizeof path, 0};
    pfa_text_add(&text, "/proc/self/task/%u/comm", thread->tid);
    int fd = pfa_sys_open_read(path);
    if (fd < 0) {
        return; /* it has ended, and said its name itself */
    }
    char name[sizeof thread->name] = "";
    long got = pfa_sys_read(fd, name, sizeof name);
    (void)pfa_sys_close(fd);
    if (got > 0) {
        name[got - 1] = '\0';
        memcpy(thread->name, name, sizeof name);
    }
}

static void write_threads(void)
{
    char *at = pfa_block_scratch();
    for (uint32_t number = 1; number <= UINT16_MAX; number++) {
        pfa_trace_thread_t *thread = pfa_names_thread_at(number);
        if (thread == NULL || thread->number == 0) {
            continue;
        }
        if (!pfa_names_has_ended((uint16_t)number)) {
            refresh_name(thread);
        }
        memcpy(at, thread, sizeof *thread);
        at += sizeof *thread;
    }
    (void)pfa_writer_block(PFA_BLOCK_THREADS, pfa_block_scratch(), (size_t)(at - (char *)pfa_block_scratch()));
}

static void write_tags(void)
{
    char *at = pfa_block_scratch();
    for (uint32_t i = 1; i <= pfa_names_tag_count(); i++) {
        const char *name = pfa_names_tag_at(i);
        pfa_trace_tag_t tag = {.number = i, .name_size = (uint32_t)strlen(name)};
        memcpy(at, &tag, sizeof tag);
        memcpy(at + sizeof tag, name, tag.name_size);
        at += sizeof tag + tag.name_size;
    }
    (void)pfa_writer_block(PFA_BLOCK_TAGS, pfa_block_scratch(), (size_t)(at - (char *)pfa_block_scratch()));
}

/* Those that are new, as many as a block takes. False: there is nothing more to write, or it could not be written. */
static bool write_some_types(void)
{
    char *at = pfa_block_scratch();
    const char *last = at + PFA_BLOCK_SCRATCH - sizeof(pfa_trace_type_t) - sizeof((pfa_live_type_t *)NULL)->name;
    uint32_t number = writer.types_written;
    while (number < pfa_types_count() && at <= last) {
        const pfa_live_type_t *type = pfa_types_at(++number);
        pfa_trace_type_t head = {.number = number, .name_size = type->name_size, .size = type->size};
        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, type->name, head.name_size);
        at += sizeof head + head.name_size;
    }
    size_t size = (size_t)(at - (char *)pfa_block_scratch());
    if (size == 0 || pfa_writer_block(PFA_BLOCK_TYPES, pfa_block_scratch(), size) != 0) {
        return false;
    }
    writer.types_written = number;
    return true;
}

static void write_types(void)
{
    while (write_some_types()) {
    }
}

static void flush_folds(const char *end)
{
    const char *start = pfa_block_scratch();
    if (end != start) {
        (void)pfa_writer_block(PFA_BLOCK_FOLDS, start, (size_t)(end - start));
    }
}

static void write_folds(void)
{
    char *at = pfa_block_scratch();
    const char *last = at + PFA_BLOCK_SCRATCH - sizeof(pfa_trace_fold_t);
    for (uint32_t stack = 0; stack < pfa_depot_count(); stack++) {
        const pfa_live_fold_t *fold = pfa_fold_at(stack);
        if (fold == NULL) {
            stack |= PFA_LIVE_NODES - 1; /* nor of its neighbours */
        } else if (fold->chunks != 0) {
            pfa_trace_fold_t entry = {.stack = stack, .chunks = fold->chunks, .bytes = fold->bytes};
            memcpy(at, &entry, sizeof entry);
            at += sizeof entry;
        }
        if (at > last) {
            flush_folds(at);
            at = pfa_block_scratch();
        }
    }
    flush_folds(at);
}

static void flush_maps(size_t size)
{
    if (size != 0) {
        (void)pfa_writer_block(PFA_BLOCK_MAPS, pfa_block_scratch(), size);
    }
}

static void add_map(const pfa_access_map_t *map, void *context)
{
    size_t *used = context;
    size_t size = pfa_access_map_size(map->words);
    if (*used + size > PFA_BLOCK_SCRATCH) {
        flush_maps(*used);
        *used = 0;
    }
    memcpy((char *)pfa_block_scratch() + *used, map, size);
    *used += size;
}

static void write_maps(void)
{
    size_t used = 0;
    pfa_access_maps(add_map, &used);
    flush_maps(used);
    if (pfa_access_maps_dropped() != 0) {
        static _Atomic bool said;
        pfa_say_once(&said, "there was no room for some maps of words: they are not complete");
    }
}

/* All members are counters of one type. */
static void count_from_start(pfa_trace_times_t *times)
{
    uint64_t *counts = (uint64_t *)times;
    const uint64_t *before = (const uint64_t *)&writer.times_before;
    for (size_t i = 0; i < sizeof *times / sizeof *counts; i++) {
        counts[i] -= before[i];
    }
}

static void write_counters(void)
{
    pfa_counters_sum(&sum);
    pfa_figures_t total = pfa_counters_figures(&sum, 0, PFA_CLASS_COUNT);
    const pfa_figures_t *before = &writer.before;
    pfa_trace_times_t times = sum.times;
    count_from_start(&times);
    pfa_trace_counters_t counters = {.allocations = total.allocations - before->allocations,
                                     .frees = total.frees - before->frees,
                                     .bytes_allocated = total.bytes - before->bytes,
                                     .bytes_freed = total.freed_bytes - before->freed_bytes,
                                     .peak_bytes = before->allocations == 0 ? pfa_live_peak() : 0,
                                     .unrecorded = pfa_load_relaxed(&pfa_extents_head->unrecorded),
                                     .bad_frees = pfa_read_counter(&sum.bad_frees) - writer.bad_frees_before,
                                     .folded = pfa_load_relaxed(&pfa_extents_head->folded),
                                     .inherited = pfa_load_relaxed(&pfa_extents_head->inherited),
                                     .instrumented = pfa_load_relaxed(&pfa_accesses_modules),
                                     .merged = pfa_load_relaxed(&pfa_accesses_merged),
                                     .times = times};
    (void)pfa_writer_block(PFA_BLOCK_COUNTERS, &counters, sizeof counters);
}

void pfa_writer_clock(void)
{
    pfa_extents_head->last_counter = pfa_counter();
    pfa_extents_head->last_monotonic_ns = pfa_sys_nanoseconds();
    pfa_store_relaxed(&pfa_extents_head->instrumented, pfa_load_relaxed(&pfa_accesses_modules));
    pfa_store_relaxed(&pfa_extents_head->merged, pfa_load_relaxed(&pfa_accesses_merged));
    pfa_trace_times_t times;
    if (pfa_times_try_sum(&times)) {
        count_from_start(&times);
        pfa_extents_head->times = times;
    }
}

void pfa_writer_particulars(void)
{
    pfa_writer_clock();
    pfa_trace_clock_t clock = {pfa_extents_head->last_counter, pfa_extents_head->last_monotonic_ns};
    pfa_writer_nodes();
    write_threads();
    write_tags();
    write_types();
    write_folds();
    write_maps();
    write_counters();
    (void)pfa_writer_block(PFA_BLOCK_WEIGHTS, pfa_extents_head->weights, sizeof pfa_extents_head->weights);
    (void)pfa_writer_block(PFA_BLOCK_CLOCK, &clock, sizeof clock);
}
