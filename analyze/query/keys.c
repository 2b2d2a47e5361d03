/* Owns the keys and the numbers of groups. See analyze/query/keys.h. A new key is a line in keys.def and two functions here. */
#include "analyze/query/keys.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"
#include "analyze/names/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pfa_groups {
    uint64_t *values; /* by group */
    char **names;     /* once asked for */
    size_t count;
    size_t value_room;
    size_t name_room;
    pfa_slots_t slots;  /* of groups, by value */
    uint32_t *of_stack; /* 1 and the group, by stack */
    size_t stack_room;
    uint8_t *asked; /* by group: whether it is one of those that were named */
    size_t asked_room;
};

enum { SIZES_EXACT = 1024, SIZE_PARTS = 8 };

static char *format(const char *what, const char *more)
{
    return pfa_memory_format("%s%s", what, more);
}

/* A text that is kept once has one address: that is its value. */
static uint64_t value_of_text(pfa_query_t *query, const char *text)
{
    return text != NULL ? (uint64_t)(uintptr_t)pfa_symbols_text(query->symbols, text) : 0;
}

static char *text_of_value(uint64_t value, const char *none)
{
    return format(value != 0 ? (const char *)(uintptr_t)value : none, "");
}

static uint64_t value_stack(pfa_query_t *query, const pfa_kind_t *kind)
{
    (void)query;
    return kind->stack;
}

static char *name_stack(pfa_query_t *query, uint64_t value)
{
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    pfa_place_print(to, &query->stacks, (uint32_t)value);
    return pfa_memory_stream_close(stream);
}

static uint64_t value_function(pfa_query_t *query, const pfa_kind_t *kind)
{
    pfa_line_t line;
    char address[64];
    if (!pfa_place_find(&query->stacks, kind->stack, &line)) {
        return 0;
    }
    if (line.symbol->function == NULL) {
        snprintf(address, sizeof address, "%.32s+0x%" PRIx64, pfa_place_base_name(line.module), line.address);
    }
    return value_of_text(query, line.symbol->function != NULL ? line.symbol->function : address);
}

static char *name_function(pfa_query_t *query, uint64_t value)
{
    (void)query;
    return text_of_value(value, "(no function is known)");
}

static uint64_t value_file(pfa_query_t *query, const pfa_kind_t *kind)
{
    pfa_line_t line;
    return pfa_place_find(&query->stacks, kind->stack, &line) ? value_of_text(query, line.symbol->file) : 0;
}

static char *name_file(pfa_query_t *query, uint64_t value)
{
    (void)query;
    return text_of_value(value, "(no file is known)");
}

static uint64_t value_module(pfa_query_t *query, const pfa_kind_t *kind)
{
    pfa_line_t line;
    return pfa_place_find(&query->stacks, kind->stack, &line) ? value_of_text(query, line.module) : 0;
}

static char *name_module(pfa_query_t *query, uint64_t value)
{
    (void)query;
    return text_of_value(value, "(no module is known)");
}

/* The largest size of the class. */
static uint64_t value_size(pfa_query_t *query, const pfa_kind_t *kind)
{
    uint64_t size = kind->size;
    (void)query;
    if (size <= SIZES_EXACT) {
        return size;
    }
    unsigned shift = 63 - (unsigned)__builtin_clzll(size - 1) - 3;
    return ((size - 1) >> shift << shift) + ((uint64_t)1 << shift);
}

static char *name_size(pfa_query_t *query, uint64_t value)
{
    char text[64];
    (void)query;
    if (value <= SIZES_EXACT) {
        snprintf(text, sizeof text, "%" PRIu64, value);
    } else {
        unsigned shift = 63 - (unsigned)__builtin_clzll(value - 1) - 3;
        snprintf(text, sizeof text, "%" PRIu64 "-%" PRIu64, value - ((uint64_t)1 << shift) + 1, value);
    }
    return format(text, "");
}

static uint64_t value_thread(pfa_query_t *query, const pfa_kind_t *kind)
{
    (void)query;
    return (uint64_t)kind->source->id << 16 | kind->thread;
}

static const pfa_source_t *find_source(const pfa_query_t *query, uint64_t id)
{
    for (size_t i = 0; i < query->source_count; i++) {
        if (query->sources[i].id == id) {
            return &query->sources[i];
        }
    }
    return NULL; /* its file could no longer be read */
}

static char *name_thread(pfa_query_t *query, uint64_t value)
{
    char text[PFA_THREAD_TEXT];
    const pfa_source_t *source = find_source(query, value >> 16);
    if (source == NULL) {
        return format("?", "");
    }
    char *name = format(pfa_source_thread(source, (uint32_t)(value & 0xffff), text), "");
    if (query->source_count > 1) {
        char *longer = pfa_memory_format("%s of %s", name, pfa_place_base_name(source->path));
        pfa_memory_free(name);
        name = longer;
    }
    return name;
}

static uint64_t value_tag(pfa_query_t *query, const pfa_kind_t *kind)
{
    return kind->tag != 0 ? value_of_text(query, pfa_source_tag(kind->source, kind->tag)) : 0;
}

static char *name_tag(pfa_query_t *query, uint64_t value)
{
    (void)query;
    return text_of_value(value, "(no tag)");
}

const pfa_key_t pfa_keys[] = {
#define PFA_KEY(name, of_stack, meaning) {#name, meaning, of_stack, value_##name, name_##name},
#include "analyze/query/keys.def"
#undef PFA_KEY
};
const size_t pfa_key_count = sizeof pfa_keys / sizeof pfa_keys[0];

const pfa_key_t *pfa_key_find(const char *name)
{
    for (size_t i = 0; i < pfa_key_count; i++) {
        if (strcmp(pfa_keys[i].name, name) == 0) {
            return &pfa_keys[i];
        }
    }
    return NULL;
}

pfa_groups_t *pfa_groups_new(void)
{
    return pfa_memory_get(1, sizeof(pfa_groups_t));
}

void pfa_groups_free(pfa_groups_t *groups)
{
    for (size_t i = 0; i < groups->name_room; i++) {
        pfa_memory_free(groups->names[i]);
    }
    pfa_memory_free(groups->names);
    pfa_memory_free(groups->values);
    pfa_slots_free(&groups->slots);
    pfa_memory_free(groups->of_stack);
    pfa_memory_free(groups->asked);
    pfa_memory_free(groups);
}

static uint32_t group_of(pfa_groups_t *groups, uint64_t value)
{
    uint64_t hash = pfa_hash_mix(0, value);
    pfa_probe_t probe = pfa_slots_probe(&groups->slots, hash);
    while (pfa_slots_next(&groups->slots, &probe)) {
        if (groups->values[probe.number] == value) {
            return probe.number;
        }
    }
    groups->values = pfa_memory_grow(groups->values, &groups->value_room, groups->count + 1, sizeof *groups->values);
    groups->values[groups->count] = value;
    pfa_slots_put(&groups->slots, hash, (uint32_t)groups->count);
    return (uint32_t)groups->count++;
}

static const pfa_key_t *key_of(const pfa_query_t *query)
{
    return query->key != NULL ? query->key : &pfa_keys[0];
}

uint32_t pfa_groups_find(pfa_query_t *query, const pfa_kind_t *kind, bool of_stack)
{
    pfa_groups_t *groups = query->groups;
    const pfa_key_t *key = key_of(query);
    if (!key->of_stack) {
        return group_of(groups, of_stack ? PFA_KEY_UNKNOWN : key->value(query, kind));
    }
    groups->of_stack =
        pfa_memory_grow(groups->of_stack, &groups->stack_room, (size_t)kind->stack + 1, sizeof *groups->of_stack);
    if (groups->of_stack[kind->stack] == 0) {
        groups->of_stack[kind->stack] = group_of(groups, key->value(query, kind)) + 1;
    }
    return groups->of_stack[kind->stack] - 1;
}

bool pfa_groups_are_of_stacks(const pfa_query_t *query)
{
    return key_of(query)->of_stack && (query->question == NULL || query->question->group_count == 0);
}

static bool is_named(pfa_query_t *query, uint32_t group)
{
    const char *name = pfa_query_group_name(query, group);
    for (size_t i = 0; i < query->question->group_count; i++) {
        if (strcmp(query->question->groups[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool pfa_groups_is_asked(pfa_query_t *query, uint32_t group)
{
    enum { UNKNOWN, NO, YES };
    pfa_groups_t *groups = query->groups;
    if (query->question == NULL || query->question->group_count == 0) {
        return true;
    }
    groups->asked = pfa_memory_grow(groups->asked, &groups->asked_room, (size_t)group + 1, sizeof *groups->asked);
    if (groups->asked[group] == UNKNOWN) {
        groups->asked[group] = is_named(query, group) ? YES : NO;
    }
    return groups->asked[group] == YES;
}

size_t pfa_query_groups(const pfa_query_t *query)
{
    return query->groups->count;
}

uint32_t pfa_query_group_stack(const pfa_query_t *query, uint32_t group)
{
    return key_of(query) == &pfa_keys[0] ? (uint32_t)query->groups->values[group] : PFA_NODE_UNKNOWN;
}

uint32_t pfa_query_stack_group(const pfa_query_t *query, uint32_t stack)
{
    const pfa_groups_t *groups = query->groups;
    bool known = key_of(query)->of_stack && stack < groups->stack_room && groups->of_stack[stack] != 0;
    return known ? groups->of_stack[stack] - 1 : UINT32_MAX;
}

const char *pfa_query_group_name(pfa_query_t *query, uint32_t group)
{
    pfa_groups_t *groups = query->groups;
    groups->names = pfa_memory_grow(groups->names, &groups->name_room, (size_t)group + 1, sizeof *groups->names);
    if (groups->names[group] == NULL) {
        uint64_t value = groups->values[group];
        groups->names[group] =
            value == PFA_KEY_UNKNOWN ? format("(not known)", "") : key_of(query)->name_of(query, value);
    }
    return groups->names[group];
}
