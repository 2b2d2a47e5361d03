/* Owns chunks as `profalloc dump` tells them: a line each. */
#include "cli/dump.h"
#include "analyze/base/json.h"
#include "analyze/base/text.h"
#include "analyze/points/access.h"
#include "cli/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Both ends of what realloc did, as THREAD/NUMBER; "" for none. */
typedef struct moves {
    char from[48];
    char to[48];
} moves_t;

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
        pfa_json_whole(json, "high", behind > low ? behind - 1 : low);
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
        printf(" bytes %" PRIu64 "-%" PRIu64 " first %.9f last %.9f", low, behind > low ? behind - 1 : low,
               pfa_trace_seconds(trace, accesses->first), pfa_trace_seconds(trace, accesses->last));
    }
    printf("%s", (event->size_flags & PFA_RECORD_SHARED) != 0 ? " shared" : "");
}

static double seconds_of(const pfa_trace_t *trace, uint64_t ticks)
{
    return pfa_trace_seconds(trace, trace->start.counter + ticks);
}

static moves_t moves_of(const pfa_event_t *event, bool live)
{
    moves_t moves = {.from = ""};
    if ((event->size_flags & PFA_RECORD_REALLOC) != 0) {
        snprintf(moves.from, sizeof moves.from, "%u/%" PRIu32, event->thread, event->type_link >> PFA_TYPE_BITS);
    }
    if (!live && (event->size_flags & PFA_EVENT_MOVED) != 0) {
        snprintf(moves.to, sizeof moves.to, "%u/%" PRIu32, event->free_thread, event->moved_link);
    }
    return moves;
}

static const pfa_declared_type_t *type_of(const pfa_dump_t *dump, const pfa_event_t *event)
{
    uint32_t number = event->type_link & PFA_TYPE_MASK;
    return number != 0 ? pfa_trace_type(dump->trace, number) : NULL;
}

/* How many whole elements of the type the chunk has room for. */
static uint64_t elements_of(const pfa_declared_type_t *type, const pfa_event_t *event)
{
    return type->size != 0 ? (event->size_flags >> PFA_RECORD_SIZE_SHIFT) / type->size : 0;
}

static void put_number_or_null(pfa_json_t *json, const char *key, uint64_t value)
{
    if (value != 0) {
        pfa_json_whole(json, key, value);
    } else {
        pfa_json_text(json, key, NULL);
    }
}

static void put_type(pfa_dump_t *dump, const pfa_event_t *event)
{
    const pfa_declared_type_t *type = type_of(dump, event);
    pfa_json_whole(&dump->json, "type_id", event->type_link & PFA_TYPE_MASK);
    pfa_json_text(&dump->json, "type_name", type != NULL ? type->name : NULL);
    if (type != NULL && type->size != 0) {
        pfa_json_whole(&dump->json, "elements", elements_of(type, event));
    } else {
        pfa_json_text(&dump->json, "elements", NULL);
    }
}

static void put_place(pfa_json_t *json, const pfa_live_place_t *place, bool live)
{
    put_number_or_null(json, "address", place->address);
    if (live) {
        put_number_or_null(json, "region", place->region);
        put_number_or_null(json, "slot_size", place->slot_size);
    }
}

static void print_type(const pfa_dump_t *dump, const pfa_event_t *event)
{
    const pfa_declared_type_t *type = type_of(dump, event);
    if (type != NULL) {
        pfa_text_clean(type->name, strlen(type->name));
        printf(" type '%s'", type->name);
    }
    if (type != NULL && type->size != 0) {
        printf(" elements %" PRIu64, elements_of(type, event));
    }
}

static void print_place(const pfa_live_place_t *place)
{
    if (place->address != 0) {
        printf(" address 0x%" PRIx64, place->address);
    }
    if (place->region != 0) {
        printf(" region 0x%" PRIx64 " slots of %" PRIu32, place->region, place->slot_size);
    }
}

static void print_row(const pfa_dump_t *dump, const pfa_row_t *row, double weight, bool live)
{
    const pfa_event_t *event = &row->event;
    moves_t moves = moves_of(event, live);
    printf("    %-5s thread %u size %" PRIu64 " weight %.3f stack %" PRIu32 " flags 0x%" PRIx64 " tag %u at %.9f%s%s",
           live ? "live" : "death", event->thread, event->size_flags >> PFA_RECORD_SIZE_SHIFT, weight, event->stack,
           event->size_flags & PFA_EVENT_FLAGS, event->tag, pfa_trace_seconds(dump->trace, event->alloc_time),
           moves.from[0] != '\0' ? " moved_from " : "", moves.from);
    if (!live) {
        printf(" freed %.9f after %.9f by thread %u stack %" PRIu32 "%s%s",
               pfa_trace_seconds(dump->trace, event->free_time), seconds_of(dump->trace, row->life), event->free_thread,
               event->free_stack, moves.to[0] != '\0' ? " moved_to " : "", moves.to);
    }
    print_accesses(dump->trace, event, row->told ? &row->accesses : NULL);
    print_type(dump, event);
    print_place(&row->place);
    putchar('\n');
}

static void put_row(pfa_dump_t *dump, const pfa_row_t *row, double weight, bool live)
{
    pfa_json_t *json = &dump->json;
    const pfa_event_t *event = &row->event;
    moves_t moves = moves_of(event, live);
    pfa_json_begin(json, NULL, '{');
    pfa_json_text(json, "type", live ? "live" : "death");
    pfa_json_whole(json, "size", event->size_flags >> PFA_RECORD_SIZE_SHIFT);
    pfa_json_number(json, "weight", weight);
    pfa_json_whole(json, "stack", event->stack);
    pfa_json_whole(json, "thread", event->thread);
    pfa_json_whole(json, "tag", event->tag);
    put_type(dump, event);
    pfa_json_whole(json, "flags", event->size_flags & PFA_EVENT_FLAGS);
    pfa_json_text(json, "moved_from", moves.from[0] != '\0' ? moves.from : NULL);
    pfa_json_whole(json, "alloc_time", event->alloc_time);
    pfa_json_number(json, "allocated", pfa_trace_seconds(dump->trace, event->alloc_time));
    if (!live) {
        pfa_json_whole(json, "free_time", event->free_time);
        pfa_json_number(json, "freed", pfa_trace_seconds(dump->trace, event->free_time));
        pfa_json_whole(json, "life", row->life);
        pfa_json_number(json, "lifetime", seconds_of(dump->trace, row->life));
        pfa_json_whole(json, "free_thread", event->free_thread);
        pfa_json_whole(json, "free_stack", event->free_stack);
        pfa_json_text(json, "moved_to", moves.to[0] != '\0' ? moves.to : NULL);
    }
    put_accesses(json, dump->trace, event, row->told ? &row->accesses : NULL);
    put_place(json, &row->place, live);
    pfa_json_text(json, "from", dump->asked ? NULL : dump->live_table ? "live table" : "trace");
    pfa_json_end(json, '}');
}

void pfa_dump_row(void *to, uint32_t kind, const pfa_row_t *row, double weight, bool live)
{
    pfa_dump_t *dump = to;
    (void)kind;
    if (dump->as_json) {
        put_row(dump, row, weight, live);
    } else {
        print_row(dump, row, weight, live);
    }
}

static void dump_chunk(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_dump_row(to, 0, chunk->whole, kind->weight, kind->live);
}

int pfa_dump_asked(pfa_dump_t *dump, pfa_query_t *query)
{
    pfa_look_t look = {.to = dump, .accesses = true, .whole = true, .chunk = dump_chunk};
    dump->asked = true;
    int error = pfa_query_walk(query, &look, "reading");
    pfa_query_tell(query, stderr);
    return query->trouble == PFA_TROUBLE_NO_TRACE             ? PFA_EXIT_USAGE
           : query->trouble != PFA_TROUBLE_NONE || error != 0 ? PFA_EXIT_FAILED
                                                              : 0;
}
