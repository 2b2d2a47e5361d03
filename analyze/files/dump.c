/* Owns `profalloc dump`: what is in a trace, block by block, and row by row where asked. For other programs, and for
 * looking closely; the report is for people. */
#include "analyze/report/access.h"
#include "analyze/tool/commands.h"
#include "analyze/tool/json.h"
#include "analyze/trace/rows.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct dump {
    pfa_trace_t *trace;
    pfa_json_t json;
    bool as_json;
    bool events;
    bool nodes;
    bool live_table; /* rows are from there */
} dump_t;

static const char usage[] =
    "usage: profalloc dump [--json] [--events] [--nodes] FILE\n\n"
    "Lists the blocks of a trace: kind, place, sizes, time.\n\n"
    "  --events   the rows too: one line for each chunk that died, and for each that was alive at the end or in a picture\n"
    "  --nodes    the nodes of stacks, modules and threads too\n"
    "  --json     one JSON object in each line\n\n"
    "A chunk that realloc ended says moved_to THREAD/NUMBER of that realloc, and the one that it became says moved_from the\n"
    "same, at the same time. Numbers go round after 4096.\n\n"
    "Where accesses were recorded, a chunk says how often it was read and written, the first and the last byte touched, the\n"
    "times of the first and the last access, and whether several threads touched it.\n\nExit status: 0 done, 1 the output could not be written, 2 the file is no trace.\n";

/* Nulls are for what is not known, or never was. */
static void put_accesses(pfa_json_t *json, const pfa_trace_t *trace, const pfa_event_t *event,
                         const pfa_event_accesses_t *accesses)
{
    uint64_t low;
    uint64_t behind;
    if (accesses != NULL) {
        pfa_json_whole(json, "reads", accesses->reads);
        pfa_json_whole(json, "writes", accesses->writes);
        pfa_json_bool(json, "shared", (event->size_flags & PFA_RECORD_SHARED) != 0);
    } else {
        pfa_json_text(json, "reads", NULL);
        pfa_json_text(json, "writes", NULL);
        pfa_json_text(json, "shared", NULL);
    }
    if (accesses != NULL && accesses->length != 0) {
        pfa_access_bytes(accesses, event->size_flags >> PFA_RECORD_SIZE_SHIFT, &low, &behind);
        pfa_json_whole(json, "low", low);
        pfa_json_whole(json, "high", behind - 1);
        pfa_json_whole(json, "first_time", accesses->first);
        pfa_json_number(json, "first", pfa_trace_seconds(trace, accesses->first));
        pfa_json_whole(json, "last_time", accesses->last);
        pfa_json_number(json, "last", pfa_trace_seconds(trace, accesses->last));
        return;
    }
    static const char *const keys[] = {"low", "high", "first_time", "first", "last_time", "last"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        pfa_json_text(json, keys[i], NULL);
    }
}

static void print_accesses(const pfa_trace_t *trace, const pfa_event_t *event, const pfa_event_accesses_t *accesses)
{
    uint64_t low;
    uint64_t behind;
    if (accesses == NULL) {
        return;
    }
    printf(" reads %" PRIu32 " writes %" PRIu32, accesses->reads, accesses->writes);
    if (accesses->length != 0) {
        pfa_access_bytes(accesses, event->size_flags >> PFA_RECORD_SIZE_SHIFT, &low, &behind);
        printf(" bytes %" PRIu64 "-%" PRIu64 " first %.9f last %.9f", low, behind - 1,
               pfa_trace_seconds(trace, accesses->first), pfa_trace_seconds(trace, accesses->last));
    }
    printf("%s", (event->size_flags & PFA_RECORD_SHARED) != 0 ? " shared" : "");
}

static void dump_row(void *to, uint32_t kind, const pfa_event_t *event, const pfa_event_accesses_t *accesses,
                     double weight, bool live)
{
    dump_t *dump = to;
    (void)kind;
    pfa_json_t *json = &dump->json;
    uint64_t flags = event->size_flags & PFA_EVENT_FLAGS;
    bool moved = !live && (flags & PFA_EVENT_MOVED) != 0;
    bool made = (flags & PFA_RECORD_REALLOC) != 0;
    char from[48] = "";
    char next[48] = "";
    if (made) {
        snprintf(from, sizeof from, "%u/%" PRIu32, event->thread, event->type_link >> PFA_TYPE_BITS);
    }
    if (moved) {
        snprintf(next, sizeof next, "%u/%" PRIu32, event->free_thread, event->moved_link);
    }
    double born = pfa_trace_seconds(dump->trace, event->alloc_time);
    double died = live ? 0 : pfa_trace_seconds(dump->trace, event->free_time);
    uint64_t size = event->size_flags >> PFA_RECORD_SIZE_SHIFT;
    if (!dump->as_json) {
        printf("    %-5s thread %u size %" PRIu64 " weight %.3f stack %" PRIu32 " flags 0x%" PRIx64
               " tag %u at %.9f%s%s",
               live ? "live" : "death", event->thread, size, weight, event->stack, flags, event->tag, born,
               made ? " moved_from " : "", from);
        if (!live) {
            printf(" freed %.9f by thread %u stack %" PRIu32 "%s%s", died, event->free_thread, event->free_stack,
                   moved ? " moved_to " : "", next);
        }
        print_accesses(dump->trace, event, accesses);
        putchar('\n');
        return;
    }
    pfa_json_begin(json, NULL, '{');
    pfa_json_text(json, "type", live ? "live" : "death");
    pfa_json_whole(json, "size", size);
    pfa_json_number(json, "weight", weight);
    pfa_json_whole(json, "stack", event->stack);
    pfa_json_whole(json, "thread", event->thread);
    pfa_json_whole(json, "tag", event->tag);
    pfa_json_whole(json, "type_id", event->type_link & PFA_TYPE_MASK);
    pfa_json_whole(json, "flags", flags);
    pfa_json_text(json, "moved_from", made ? from : NULL);
    pfa_json_whole(json, "alloc_time", event->alloc_time);
    pfa_json_number(json, "allocated", born);
    if (!live) {
        pfa_json_whole(json, "free_time", event->free_time);
        pfa_json_number(json, "freed", died);
        pfa_json_whole(json, "free_thread", event->free_thread);
        pfa_json_whole(json, "free_stack", event->free_stack);
        pfa_json_text(json, "moved_to", moved ? next : NULL);
    }
    put_accesses(json, dump->trace, event, accesses);
    pfa_json_text(json, "from", dump->live_table ? "live table" : "trace");
    pfa_json_end(json, '}');
}

/* What a block of live chunks is the picture of: "" at the end of the trace, else the reason or the name it was given. */
static bool read_picture(const pfa_trace_t *trace, const pfa_block_t *block, uint32_t *number, char *name, size_t size)
{
    pfa_bytes_t payload = {.bytes = NULL};
    pfa_trace_live_t live;
    bool read = block->kind == PFA_BLOCK_LIVE &&
                pfa_block_load_start(trace->fd, block, sizeof live + size - 1, &payload) == 0 &&
                payload.size >= sizeof live;
    if (read) {
        memcpy(&live, payload.bytes, sizeof live);
        size_t length = live.name_size < payload.size - sizeof live ? live.name_size : payload.size - sizeof live;
        memcpy(name, payload.bytes + sizeof live, length);
        name[length] = '\0';
        *number = live.number;
    }
    pfa_bytes_free(&payload);
    return read;
}

static void dump_block(dump_t *dump, size_t number)
{
    const pfa_block_t *block = &dump->trace->blocks.list[number];
    pfa_visitor_t visitor = {.to = dump, .accesses = true, .row = dump_row};
    double seconds = pfa_trace_seconds(dump->trace, block->time);
    char name[256];
    uint32_t picture;
    bool has_picture = read_picture(dump->trace, block, &picture, name, sizeof name);
    if (dump->as_json) {
        pfa_json_t *json = &dump->json;
        pfa_json_begin(json, NULL, '{');
        pfa_json_text(json, "type", "block");
        pfa_json_whole(json, "number", number);
        pfa_json_text(json, "kind", pfa_block_name(block->kind));
        pfa_json_whole(json, "kind_number", block->kind);
        pfa_json_whole(json, "offset", block->offset);
        pfa_json_whole(json, "stored_size", block->stored_size);
        pfa_json_whole(json, "raw_size", block->raw_size);
        pfa_json_number(json, "seconds", seconds);
        if (has_picture) {
            pfa_json_whole(json, "picture", picture);
            pfa_json_text(json, "name", name);
        }
        pfa_json_end(json, '}');
    } else {
        printf("%6zu %-8s at %12" PRIu64 " stored %9" PRIu32 " raw %9" PRIu32 " time %.6f", number,
               pfa_block_name(block->kind), block->offset, block->stored_size, block->raw_size, seconds);
        if (has_picture) {
            pfa_text_clean(name, strlen(name));
            printf(" picture %" PRIu32 " %s", picture, name[0] != '\0' ? name : "at the end");
        }
        putchar('\n');
    }
    bool rows = block->kind == PFA_BLOCK_EVENTS || block->kind == PFA_BLOCK_LIVE;
    if (dump->events && rows && !pfa_rows_walk_block(dump->trace, block, &visitor)) {
        pfa_tool_say("dump", "the rows of block %zu make no sense", number);
    }
}

/* A path for people to read; it stays as it is in JSON, which has its own way with such characters. */
static const char *clean_path(const pfa_module_t *module)
{
    static char *path;
    static size_t room;
    size_t size = strlen(module->path);
    path = pfa_memory_grow(path, &room, size + 1, 1);
    memcpy(path, module->path, size + 1);
    pfa_text_clean(path, size);
    return path;
}

static void dump_node(dump_t *dump, uint32_t number)
{
    const pfa_trace_t *trace = dump->trace;
    const pfa_module_t *module = pfa_trace_module(trace, number);
    uint64_t address = trace->pcs[number] - (module != NULL ? module->bias : 0);
    if (!dump->as_json) {
        printf("  node %" PRIu32 " caller %" PRIu32 " pc 0x%" PRIx64 " %s+0x%" PRIx64 "\n", number,
               trace->parents[number], trace->pcs[number], module != NULL ? clean_path(module) : "?", address);
        return;
    }
    pfa_json_begin(&dump->json, NULL, '{');
    pfa_json_text(&dump->json, "type", "node");
    pfa_json_whole(&dump->json, "number", number);
    pfa_json_whole(&dump->json, "caller", trace->parents[number]);
    pfa_json_whole(&dump->json, "pc", trace->pcs[number]);
    pfa_json_text(&dump->json, "module", module != NULL ? module->path : NULL);
    pfa_json_whole(&dump->json, "address", address);
    pfa_json_end(&dump->json, '}');
}

static void dump_module(dump_t *dump, const pfa_module_list_t *list, const pfa_module_t *module)
{
    char id[2 * 64 + 1] = "";
    for (size_t i = 0; i < module->build_id_size && i < 64; i++) {
        snprintf(id + 2 * i, 3, "%02x", module->build_id[i]);
    }
    if (!dump->as_json) {
        printf("  module %s 0x%" PRIx64 "-0x%" PRIx64 " bias 0x%" PRIx64 " build-id %s from node %" PRIu32 "%s\n",
               clean_path(module), module->start, module->end, module->bias, id, list->first_node,
               (module->flags & PFA_MODULE_INSTRUMENTED) != 0 ? " instrumented" : "");
        return;
    }
    pfa_json_begin(&dump->json, NULL, '{');
    pfa_json_text(&dump->json, "type", "module");
    pfa_json_text(&dump->json, "path", module->path);
    pfa_json_text(&dump->json, "build_id", id);
    pfa_json_whole(&dump->json, "start", module->start);
    pfa_json_whole(&dump->json, "end", module->end);
    pfa_json_whole(&dump->json, "bias", module->bias);
    pfa_json_whole(&dump->json, "first_node", list->first_node);
    if ((module->flags & PFA_MODULE_TOLD) != 0) {
        pfa_json_bool(&dump->json, "instrumented", (module->flags & PFA_MODULE_INSTRUMENTED) != 0);
    } else {
        pfa_json_text(&dump->json, "instrumented", NULL);
    }
    pfa_json_end(&dump->json, '}');
}

static void dump_thread(dump_t *dump, const pfa_trace_thread_t *thread)
{
    double seconds = pfa_trace_seconds(dump->trace, thread->start);
    if (!dump->as_json) {
        printf("  thread %" PRIu32 " tid %" PRIu32 " '%s' from %.6f\n", thread->number, thread->tid, thread->name,
               seconds);
        return;
    }
    pfa_json_begin(&dump->json, NULL, '{');
    pfa_json_text(&dump->json, "type", "thread");
    pfa_json_whole(&dump->json, "number", thread->number);
    pfa_json_whole(&dump->json, "tid", thread->tid);
    pfa_json_text(&dump->json, "name", thread->name);
    pfa_json_number(&dump->json, "start", seconds);
    pfa_json_end(&dump->json, '}');
}

static void dump_nodes(dump_t *dump)
{
    const pfa_trace_t *trace = dump->trace;
    for (size_t i = 0; i < trace->module_list_count; i++) {
        for (size_t j = 0; j < trace->module_lists[i].count; j++) {
            dump_module(dump, &trace->module_lists[i], &trace->module_lists[i].modules[j]);
        }
    }
    for (size_t i = 0; i < trace->thread_count; i++) {
        dump_thread(dump, &trace->threads[i]);
    }
    for (uint32_t i = PFA_NODE_FIRST; i < trace->node_count; i++) {
        dump_node(dump, i);
    }
}

static void dump_span(void *to, const pfa_live_span_t *span)
{
    dump_t *dump = to;
    bool told = span->accesses != NULL && pfa_trace_has_accesses(dump->trace);
    for (size_t i = 0; i < span->count; i++) {
        if ((span->events[i].size_flags & PFA_EVENT_BEFORE) == 0) {
            dump_row(dump, 0, &span->events[i], told ? &span->accesses[i] : NULL,
                     pfa_trace_weight(dump->trace, span->events[i].size_flags), false);
        }
    }
}

static void dump_record(void *to, const pfa_live_record_t *record, const pfa_event_accesses_t *accesses)
{
    dump_t *dump = to;
    pfa_event_t event = pfa_live_event(record);
    if (!pfa_trace_has_died(dump->trace, record)) {
        accesses = pfa_trace_has_accesses(dump->trace) ? accesses : NULL;
        dump_row(dump, 0, &event, accesses, pfa_trace_weight(dump->trace, event.size_flags), true);
    }
}

static void dump_trace(dump_t *dump)
{
    pfa_trace_t *trace = dump->trace;
    for (size_t i = 0; i < trace->blocks.count; i++) {
        dump_block(dump, i);
    }
    if (dump->nodes) {
        dump_nodes(dump);
    }
    if (trace->live != NULL && dump->events) {
        if (!dump->as_json) {
            printf("       live table %s\n", trace->live_path);
        }
        dump->live_table = true;
        pfa_rows_walk_rings(trace, dump_span, dump);
        pfa_trace_forget_died(trace);
        if (pfa_livetable_records(trace->live, dump_record, dump) != 0) {
            pfa_tool_say("dump", "%s cannot be read to its end", trace->live_path);
        }
    }
    pfa_trace_tell_missing(trace);
    for (size_t i = 0; i < trace->missing.count; i++) {
        pfa_tool_say("dump", "missing: %s", trace->missing.list[i]);
    }
}

int pfa_command_dump(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"events", no_argument, NULL, 'e'},
                                            {"nodes", no_argument, NULL, 'n'},
                                            {NULL, 0, NULL, 0}};
    dump_t dump = {.json = {.to = stdout, .lines = true}};
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h' || option == '?') {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : PFA_EXIT_USAGE;
        }
        dump.as_json = dump.as_json || option == 'j';
        dump.events = dump.events || option == 'e';
        dump.nodes = dump.nodes || option == 'n';
    }
    if (optind + 1 != argc) {
        fputs(usage, stderr);
        return PFA_EXIT_USAGE;
    }
    char *why = NULL;
    dump.trace = pfa_trace_open(argv[optind], &why);
    if (dump.trace == NULL) {
        pfa_tool_say("dump", "%s", why != NULL ? why : argv[optind]);
        free(why);
        return PFA_EXIT_USAGE;
    }
    dump_trace(&dump);
    pfa_trace_close(dump.trace);
    return pfa_tool_finish("dump", 0);
}
