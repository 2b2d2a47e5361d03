/* Owns `profalloc dump`: what is in a trace, block by block, and row by row where asked. For other programs, and for
 * looking closely; the report is for people. */
#include "cli/dump.h"
#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/trace/rows.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc dump [--json] [--events] [--nodes] [--where EXPR] FILE\n\n"
    "Lists the blocks of a trace: kind, place, sizes, time.\n\n"
    "  --events           the rows too: one line for each chunk that died, and for each that was alive at the end or in a\n"
    "                     picture\n"
    "  --nodes            the nodes of stacks, modules, threads and types too\n" PFA_REQUEST_WHERE_USAGE
    "                     These chunks are told behind all blocks, each once, and not as they were in pictures\n"
    "  --json             one JSON object in each line\n\n"
    "A chunk that realloc ended says moved_to THREAD/NUMBER of that realloc, and the one that it became says moved_from the\n"
    "same, at the same time. Numbers go round after 4096.\n\n"
    "Moments are those of the trace, in steps where it has many deaths (the option time_step); how long a chunk lived\n"
    "(after), and the times of its accesses less that of its birth, are finer.\n\n"
    "Where accesses were recorded, a chunk says how often it was read and written, the first and the last byte touched, the\n"
    "times of the first and the last access, and whether several threads touched it.\n\n"
    "A chunk that was alive says its address, and, unless it is large, where its region starts and how large the slots in\n"
    "it are. One that died says its address where the option addresses was set.\n\n"
    "Exit status: 0 done, 1 the output could not be written, 2 the file is no trace, or the command line was wrong.\n";

/* What a block of live chunks is the picture of: "" at the end of the trace, else the reason or the name it was given. */
static bool read_picture(const pfa_trace_t *trace, const pfa_block_t *block, uint32_t *number, char *name, size_t size)
{
    pfa_bytes_t payload = {.bytes = NULL};
    pfa_trace_live_t live;
    bool read = block->kind == PFA_BLOCK_LIVE &&
                pfa_block_load_start(trace->loader, block, sizeof live + size - 1, &payload) == 0 &&
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

static void dump_block(pfa_dump_t *dump, size_t number)
{
    const pfa_block_t *block = &dump->trace->blocks.list[number];
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
    bool rows = block->kind == PFA_BLOCK_EVENTS || block->kind == PFA_BLOCK_LIVE || block->kind == PFA_BLOCK_REGIONS;
    if (dump->events && rows && !pfa_rows_block(dump->rows, block)) {
        pfa_tool_say("dump", "the rows of block %zu make no sense", number);
    }
}

/* A path for people to read; it stays as it is in JSON, which has its own way with such characters. */
static const char *clean_path(pfa_dump_t *dump, const char *path)
{
    size_t size = strlen(path);
    dump->path = pfa_memory_grow(dump->path, &dump->path_room, size + 1, 1);
    memcpy(dump->path, path, size + 1);
    pfa_text_clean(dump->path, size);
    return dump->path;
}

static void dump_node(pfa_dump_t *dump, uint32_t number)
{
    const pfa_trace_t *trace = dump->trace;
    const pfa_module_t *module = pfa_trace_module(trace, number);
    uint64_t address = trace->pcs[number] - (module != NULL ? module->bias : 0);
    if (!dump->as_json) {
        printf("  node %" PRIu32 " caller %" PRIu32 " pc 0x%" PRIx64 " %s+0x%" PRIx64 "\n", number,
               trace->parents[number], trace->pcs[number], module != NULL ? clean_path(dump, module->path) : "?",
               address);
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

static void dump_module(pfa_dump_t *dump, const pfa_module_list_t *list, const pfa_module_t *module)
{
    char id[2 * 64 + 1] = "";
    for (size_t i = 0; i < module->build_id_size && i < 64; i++) {
        snprintf(id + 2 * i, 3, "%02x", module->build_id[i]);
    }
    if (!dump->as_json) {
        printf("  module %s 0x%" PRIx64 "-0x%" PRIx64 " bias 0x%" PRIx64 " build-id %s from node %" PRIu32 "%s\n",
               clean_path(dump, module->path), module->start, module->end, module->bias, id, list->first_node,
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

static void pfa_dump_thread(pfa_dump_t *dump, const pfa_trace_thread_t *thread)
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

static void dump_type(pfa_dump_t *dump, const pfa_declared_type_t *type)
{
    if (!dump->as_json) {
        pfa_text_clean(type->name, strlen(type->name));
        printf("  type %" PRIu32 " size %" PRIu64 " '%s'\n", type->number, type->size, type->name);
        return;
    }
    pfa_json_begin(&dump->json, NULL, '{');
    pfa_json_text(&dump->json, "type", "type");
    pfa_json_whole(&dump->json, "number", type->number);
    pfa_json_whole(&dump->json, "size", type->size);
    pfa_json_text(&dump->json, "name", type->name);
    pfa_json_end(&dump->json, '}');
}

static void dump_nodes(pfa_dump_t *dump)
{
    const pfa_trace_t *trace = dump->trace;
    for (size_t i = 0; i < trace->module_list_count; i++) {
        for (size_t j = 0; j < trace->module_lists[i].count; j++) {
            dump_module(dump, &trace->module_lists[i], &trace->module_lists[i].modules[j]);
        }
    }
    for (size_t i = 0; i < trace->thread_count; i++) {
        pfa_dump_thread(dump, &trace->threads[i]);
    }
    for (size_t i = 0; i < trace->type_count; i++) {
        dump_type(dump, &trace->types[i]);
    }
    for (uint32_t i = PFA_NODE_FIRST; i < trace->node_count; i++) {
        dump_node(dump, i);
    }
}

static void dump_span(void *to, const pfa_live_span_t *span)
{
    pfa_dump_t *dump = to;
    bool told = span->accesses != NULL && pfa_trace_has_accesses(dump->trace);
    for (size_t i = 0; i < span->count; i++) {
        if ((span->events[i].size_flags & PFA_EVENT_BEFORE) == 0) {
            pfa_row_t row = pfa_row_of_span(dump->trace, span, i);
            row.told = told;
            pfa_dump_row(dump, 0, &row, pfa_trace_weight(dump->trace, row.event.size_flags), false);
        }
    }
}

static void dump_record(void *to, const pfa_live_record_t *record, const pfa_event_accesses_t *accesses,
                        const pfa_live_place_t *place)
{
    pfa_dump_t *dump = to;
    pfa_event_t event = pfa_live_event(record);
    if (!pfa_died_has(&dump->died, record)) {
        accesses = pfa_trace_has_accesses(dump->trace) ? accesses : NULL;
        pfa_row_t row = pfa_row_of(dump->trace, &event, accesses, true);
        row.place = *place;
        pfa_dump_row(dump, 0, &row, pfa_trace_weight(dump->trace, event.size_flags), true);
    }
}

static void dump_live_table(pfa_dump_t *dump)
{
    pfa_trace_t *trace = dump->trace;
    if (!dump->as_json) {
        printf("       live table %s\n", clean_path(dump, trace->live_path));
    }
    dump->live_table = true;
    pfa_rows_walk_rings(trace, dump_span, dump);
    dump->died = pfa_died_begin(trace);
    if (pfa_livetable_records(trace->live, dump_record, dump) != 0) {
        pfa_tool_say("dump", "%s cannot be read to its end", trace->live_path);
    }
}

static void tell_missing(const pfa_trace_t *trace)
{
    pfa_account_t account = {.bad_blocks = 0};
    pfa_trace_tell_opened(trace, &account);
    pfa_trace_tell_missing(trace, &account);
    for (size_t i = 0; i < account.missing.count; i++) {
        pfa_tool_say("dump", "missing: %s", account.missing.list[i]);
    }
    pfa_account_free(&account);
}

/* `query`: chunks are those it asks for; NULL: all, where they are. */
static int pfa_dump_trace(pfa_dump_t *dump, pfa_query_t *query)
{
    pfa_trace_t *trace = dump->trace;
    pfa_visitor_t visitor = {.to = dump, .accesses = true, .places = true, .row = pfa_dump_row};
    dump->rows = pfa_rows_begin(trace, &visitor, true);
    for (size_t i = 0; i < trace->blocks.count; i++) {
        dump_block(dump, i);
    }
    pfa_rows_end(dump->rows);
    if (dump->nodes) {
        dump_nodes(dump);
    }
    if (query != NULL) {
        return pfa_dump_asked(dump, query);
    }
    if (trace->live != NULL && dump->events) {
        dump_live_table(dump);
    }
    tell_missing(trace);
    return 0;
}

static bool take(void *to, int option, const char *value)
{
    pfa_dump_t *dump = to;
    (void)value;
    dump->events = dump->events || option == 'e';
    dump->nodes = dump->nodes || option == 'n';
    return true;
}

/* Shared options that mean nothing here, and files. */
static bool check(const pfa_request_t *request)
{
    if (request->top != 0) {
        pfa_tool_say("dump", "--top is of no use here: all that is asked for is told");
        return false;
    }
    if (request->file_count != 1) {
        pfa_tool_say("dump", "one trace at a time");
        return false;
    }
    return true;
}

static int open_and_dump(pfa_dump_t *dump, pfa_request_t *request)
{
    char *why = NULL;
    bool asked = request->where_count != 0;
    pfa_query_t query;
    dump->trace = pfa_trace_open_of(request->files_open, request->files[0], &pfa_cli_watch, request->threads, &why);
    if (dump->trace == NULL) {
        pfa_tool_say("dump", "%s", why != NULL ? why : request->files[0]);
        pfa_memory_free(why);
        return PFA_EXIT_USAGE;
    }
    int status = asked ? pfa_request_open(request) : -1;
    if (status < 0 && asked) {
        pfa_query_open(&query, request->session, request->question);
    }
    if (status < 0) {
        dump->events = dump->events && !asked;
        status = pfa_dump_trace(dump, asked ? &query : NULL);
        if (asked) {
            pfa_query_close(&query);
        }
    }
    pfa_trace_close(dump->trace);
    return status;
}

int pfa_command_dump(int argc, char **argv)
{
    static const struct option own[] = {
        {"events", no_argument, NULL, 'e'}, {"nodes", no_argument, NULL, 'n'}, {NULL, 0, NULL, 0}};
    pfa_dump_t dump = {.json = {.to = stdout, .lines = true}};
    pfa_request_t request = {.command = "dump", .usage = usage, .no_by = true, .no_sort = true};
    int status = pfa_request_read(&request, argc, argv, own, take, &dump);
    dump.as_json = request.json;
    if (status >= 0) {
        return pfa_request_finish(&request, status);
    }
    pfa_files_t *files = request.files_open = pfa_files_new();
    status = check(&request) ? open_and_dump(&dump, &request) : PFA_EXIT_USAGE;
    status = pfa_request_finish(&request, status);
    pfa_files_free(files);
    return status;
}
