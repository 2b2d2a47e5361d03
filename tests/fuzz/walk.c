/* Owns the walks through traces. See tests/fuzz/walk.h. */
#include "tests/fuzz/walk.h"
#include "analyze/names/symbolblock.h"
#include "analyze/query/answer.h"
#include "analyze/trace/rows.h"
#include "analyze/trace/tally.h"
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <string.h>

typedef struct walk {
    const char *path;
    pfa_trace_t *trace;
    pfa_died_t died;
    pfa_fuzz_walked_t walked;
} walk_t;

static volatile uint64_t seen; /* so that all is read */

static void see(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        seen += ((const uint8_t *)bytes)[i];
    }
}

/* Whether it is known what it holds. */
static bool see_type(const pfa_trace_t *trace, const pfa_event_t *event)
{
    const pfa_declared_type_t *type = pfa_trace_type(trace, event->type_link & PFA_TYPE_MASK);
    if (type != NULL) {
        pfa_fuzz_hear(type->name);
    }
    return type != NULL;
}

static void see_row(void *to, uint32_t kind, const pfa_row_t *row, double weight, bool live)
{
    walk_t *walk = to;
    uint64_t size = row->event.size_flags >> PFA_RECORD_SIZE_SHIFT;
    (void)kind;
    pfa_fuzz_expect(weight > 0, "a row stands for %f chunks", weight);
    see(&row->event, sizeof row->event);
    if (row->told && row->accesses.length != 0) {
        uint64_t low;
        uint64_t behind;
        pfa_access_bytes(&row->accesses, size, &low, &behind);
        pfa_fuzz_expect(low <= behind && behind <= size, "touched from %" PRIu64 " to %" PRIu64, low, behind);
    }
    walk->walked.rows++;
    walk->walked.live += live;
    walk->walked.told += row->told;
    walk->walked.placed += row->place.address != 0;
    walk->walked.slotted += row->place.region != 0;
    walk->walked.typed += see_type(walk->trace, &row->event);
}

/* What a block of live chunks is the picture of. */
static void see_picture(const pfa_trace_t *trace, const pfa_block_t *block)
{
    enum { NAME = 256 };
    pfa_bytes_t start = {.bytes = NULL};
    if (pfa_block_load_start(trace->loader, block, sizeof(pfa_trace_live_t) + NAME, &start) == 0) {
        see(start.bytes, start.size);
    }
    pfa_bytes_free(&start);
}

static void walk_blocks(walk_t *walk)
{
    const pfa_blocks_t *blocks = &walk->trace->blocks;
    pfa_visitor_t visitor = {.to = walk, .accesses = true, .places = true, .row = see_row};
    pfa_rows_t *rows = pfa_rows_begin(walk->trace, &visitor, true);
    for (size_t i = 0; i < blocks->count; i++) {
        const pfa_block_t *block = &blocks->list[i];
        pfa_fuzz_hear(pfa_block_name(block->kind));
        if (block->kind == PFA_BLOCK_LIVE) {
            see_picture(walk->trace, block);
        }
        if (block->kind == PFA_BLOCK_EVENTS || block->kind == PFA_BLOCK_LIVE || block->kind == PFA_BLOCK_REGIONS) {
            (void)pfa_rows_block(rows, block);
        }
    }
    pfa_rows_end(rows);
}

static void walk_names(const pfa_trace_t *trace)
{
    for (size_t i = 0; i < trace->module_list_count; i++) {
        for (size_t j = 0; j < trace->module_lists[i].count; j++) {
            const pfa_module_t *module = &trace->module_lists[i].modules[j];
            pfa_fuzz_hear(module->path);
            see(module->build_id, module->build_id_size);
        }
    }
    for (size_t i = 0; i < trace->thread_count; i++) {
        pfa_fuzz_hear(trace->threads[i].name);
    }
    for (size_t i = 0; i < trace->tag_count; i++) {
        pfa_fuzz_hear(trace->tags[i].name);
    }
    for (size_t i = 0; i < trace->type_count; i++) {
        pfa_fuzz_hear(trace->types[i].name);
    }
}

static void walk_nodes(walk_t *walk)
{
    const pfa_trace_t *trace = walk->trace;
    for (uint32_t i = PFA_NODE_FIRST; i < trace->node_count; i++) {
        const pfa_module_t *module = pfa_trace_module(trace, i);
        seen += trace->pcs[i] + trace->parents[i] + (module != NULL ? module->bias : 0);
        walk->walked.nodes++;
    }
}

static void see_span(void *to, const pfa_live_span_t *span)
{
    walk_t *walk = to;
    for (size_t i = 0; i < span->count; i++) {
        pfa_row_t row = pfa_row_of_span(walk->trace, span, i);
        see_row(walk, 0, &row, pfa_trace_weight(walk->trace, row.event.size_flags), false);
    }
}

static void see_record(void *to, const pfa_live_record_t *record, const pfa_event_accesses_t *accesses,
                       const pfa_live_place_t *place)
{
    walk_t *walk = to;
    pfa_event_t event = pfa_live_event(record);
    if (!pfa_died_has(&walk->died, record)) {
        pfa_row_t row = pfa_row_of(walk->trace, &event, accesses, true);
        row.place = *place;
        see_row(walk, 0, &row, pfa_trace_weight(walk->trace, event.size_flags), true);
    }
}

static void walk_live_table(walk_t *walk)
{
    if (walk->trace->live != NULL) {
        pfa_rows_walk_rings(walk->trace, see_span, walk);
        walk->died = pfa_died_begin(walk->trace);
        (void)pfa_livetable_records(walk->trace->live, see_record, walk);
        pfa_died_end(&walk->died);
    }
}

static void hear_notes(const pfa_notes_t *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        pfa_fuzz_hear(notes->list[i]);
    }
}

/* What `profalloc check` looks at. */
static void check(walk_t *walk)
{
    pfa_tally_t tally;
    pfa_account_t account = {.bad_blocks = 0};
    pfa_symbols_t *symbols = pfa_symbols_new();
    (void)pfa_tally_check(&tally, walk->trace, &account);
    account.bad_blocks += !pfa_symbolblock_read(walk->trace, symbols);
    pfa_symbols_free(symbols);
    pfa_tally_tell_missing(&tally, walk->trace, &account);
    hear_notes(&account.missing);
    hear_notes(&account.remarks);
    pfa_account_free(&account);
    walk->walked.frees = tally.frees;
    walk->walked.live_chunks = tally.live_chunks;
}

static void tell_missing(const pfa_trace_t *trace)
{
    pfa_account_t account = {.bad_blocks = 0};
    pfa_trace_tell_opened(trace, &account);
    pfa_trace_tell_missing(trace, &account);
    hear_notes(&account.missing);
    hear_notes(&account.remarks);
    pfa_account_free(&account);
}

static void walk_all(void *to)
{
    walk_t *walk = to;
    char *why = NULL;
    walk->trace = pfa_trace_open(walk->path, NULL, &why);
    pfa_fuzz_hear(why);
    pfa_memory_free(why);
    if (walk->trace != NULL) {
        walk_blocks(walk);
        walk_names(walk->trace);
        walk_nodes(walk);
        walk_live_table(walk);
        tell_missing(walk->trace);
        check(walk);
        pfa_trace_close(walk->trace);
    }
}

pfa_fuzz_walked_t pfa_fuzz_walk(const char *path)
{
    walk_t walk = {.path = path};
    pfa_fuzz_work(walk_all, &walk);
    return walk.walked;
}

typedef struct asked {
    pfa_answer_t answer;
    FILE *to;
} asked_t;

static void tell_chunk(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    asked_t *asked = to;
    char thread[PFA_THREAD_TEXT];
    pfa_fuzz_hear(pfa_source_tag(kind->source, kind->tag));
    fprintf(asked->to, "%s of %" PRIu64 " bytes by %s: lived %.0f ns", kind->live ? "alive" : "freed", kind->size,
            pfa_source_thread(kind->source, kind->thread, thread), chunk->life);
    if (chunk->accesses != NULL) {
        fprintf(asked->to, ", touched %.0f bytes", chunk->touched);
    }
    if (chunk->whole->place.address != 0) {
        fprintf(asked->to, ", at %" PRIx64, chunk->whole->place.address);
    }
    fputc('\n', asked->to);
}

static int collect(void *answer, const void *options)
{
    asked_t *asked = answer;
    pfa_look_t look = {.to = asked, .accesses = true, .whole = true, .chunk = tell_chunk};
    pfa_query_t *query = &asked->answer.query;
    asked->to = (FILE *)(uintptr_t)options;
    for (size_t sources = query->source_count; pfa_query_walk(query, &look, "reading") != 0;
         sources = query->source_count) {
        int error = pfa_answer_again(query, sources);
        if (error != 0) {
            return error;
        }
    }
    pfa_query_tell(query, asked->to);
    return 0;
}

int pfa_fuzz_walk_asked(pfa_session_t *session, const pfa_question_t *question, FILE *to)
{
    void *answer;
    int error = pfa_answer_make(&answer, sizeof(asked_t), session, question, collect, to);
    pfa_answer_free(answer);
    return error;
}
