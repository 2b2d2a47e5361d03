/* Owns the decoding of all blocks that are not rows: start, nodes, modules, threads, folds, counters, clocks, tags,
 * weights, marks, maps, end. Each decoder takes what is there, and answers false if the payload makes no sense. */
#include "analyze/trace/trace.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of all lists together. A process has some hundreds, and a list for each time that it loaded one. */
enum { MODULES_MAX = 1 << 20 };

static bool take_text(pfa_cursor_t *cursor, size_t size, char **text)
{
    const char *from = pfa_cursor_take(cursor, size);
    if (from != NULL) {
        pfa_memory_free(*text);
        *text = pfa_memory_text(from, size);
    }
    return from != NULL;
}

static bool take_start(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    pfa_trace_start_t start;
    if (trace->has_start || !pfa_cursor_copy(&cursor, &start, sizeof start)) {
        return false;
    }
    trace->start = start;
    trace->has_start = true;
    if (start.version > PFA_TRACE_VERSION) {
        return true; /* the rest may mean something else */
    }
    if (!take_text(&cursor, start.program_size, &trace->program) ||
        !take_text(&cursor, start.command_size, &trace->command) ||
        !take_text(&cursor, start.options_size, &trace->options)) {
        return false;
    }
    for (uint32_t i = 0; i < start.command_size; i++) {
        if (trace->command[i] == '\0') {
            trace->command[i] = i + 1 < start.command_size ? ' ' : '\0';
        }
    }
    return true;
}

void pfa_trace_put_node(pfa_trace_t *trace, uint32_t number, uint32_t parent, uint64_t pc)
{
    trace->parents = pfa_memory_grow(trace->parents, &trace->parent_room, (size_t)number + 1, sizeof *trace->parents);
    trace->pcs = pfa_memory_grow(trace->pcs, &trace->pc_room, (size_t)number + 1, sizeof *trace->pcs);
    for (; trace->node_count < number; trace->node_count++) {
        trace->parents[trace->node_count] = PFA_NODE_UNKNOWN;
        trace->pcs[trace->node_count] = 0;
    }
    trace->node_count = trace->node_count > number ? trace->node_count : number + 1;
    trace->parents[number] = parent < number ? parent : PFA_NODE_BROKEN; /* callers come first: no cycles */
    trace->pcs[number] = pc;
}

static bool take_nodes(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    pfa_trace_nodes_t nodes;
    if (!pfa_cursor_copy(&cursor, &nodes, sizeof nodes) || nodes.count > cursor.left / 12) {
        return false;
    }
    /* A gap is a block that was lost: not longer than a file of this size could be missing. */
    if (nodes.first > trace->nodes_seen + trace->blocks.size + 65536 || nodes.count > UINT32_MAX - nodes.first) {
        return false;
    }
    trace->nodes_seen += nodes.count;
    const uint8_t *parents = pfa_cursor_take(&cursor, ((size_t)nodes.count * 4 + 7) / 8 * 8);
    const uint8_t *pcs = pfa_cursor_take(&cursor, (size_t)nodes.count * 8);
    if (parents == NULL || pcs == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < nodes.count; i++) {
        uint32_t parent;
        uint64_t pc;
        memcpy(&parent, parents + (size_t)i * 4, sizeof parent);
        memcpy(&pc, pcs + (size_t)i * 8, sizeof pc);
        if (nodes.first + i >= PFA_NODE_FIRST) { /* roots are what they are */
            pfa_trace_put_node(trace, nodes.first + i, parent, pc);
            trace->nodes_end = nodes.first + i >= trace->nodes_end ? nodes.first + i + 1 : trace->nodes_end;
        }
    }
    return true;
}

static int compare_modules(const void *a, const void *b)
{
    uint64_t left = ((const pfa_module_t *)a)->start;
    uint64_t right = ((const pfa_module_t *)b)->start;
    return left < right ? -1 : left > right;
}

static bool take_module(pfa_cursor_t *cursor, pfa_module_t *module)
{
    pfa_trace_module_t head;
    if (!pfa_cursor_copy(cursor, &head, sizeof head) || cursor->left < (size_t)head.build_id_size + head.path_size) {
        return false;
    }
    *module = (pfa_module_t){.bias = head.bias, .start = head.start, .end = head.end};
    module->flags = head.flags;
    module->build_id_size = head.build_id_size;
    module->build_id = pfa_memory_copy(pfa_cursor_take(cursor, head.build_id_size), head.build_id_size);
    module->path = pfa_memory_copy(pfa_cursor_take(cursor, head.path_size), head.path_size);
    return true;
}

static void free_modules(pfa_module_list_t *list)
{
    for (size_t i = 0; i < list->count; i++) {
        pfa_memory_free(list->modules[i].build_id);
        pfa_memory_free(list->modules[i].path);
    }
    pfa_memory_free(list->modules);
}

static bool same_modules(const pfa_module_list_t *a, const pfa_module_list_t *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const pfa_module_t *left = &a->modules[i];
        const pfa_module_t *right = &b->modules[i];
        same = left->bias == right->bias && left->start == right->start && left->end == right->end &&
               left->flags == right->flags && left->build_id_size == right->build_id_size &&
               memcmp(left->build_id, right->build_id, left->build_id_size) == 0 &&
               strcmp(left->path, right->path) == 0;
    }
    return same;
}

/* A list that says what the one before said is not kept. */
static void put_modules(pfa_trace_t *trace, pfa_module_list_t *list)
{
    size_t count = trace->module_list_count;
    const pfa_module_list_t *last = count != 0 ? &trace->module_lists[count - 1] : NULL;
    if (last != NULL && last->first_node <= list->first_node && same_modules(last, list)) {
        free_modules(list);
        return;
    }
    trace->module_lists =
        pfa_memory_grow(trace->module_lists, &trace->module_list_room, count + 1, sizeof *trace->module_lists);
    list->order = (uint32_t)count;
    trace->module_lists[trace->module_list_count++] = *list;
    trace->module_count += list->count;
}

static bool take_modules(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    pfa_trace_modules_t head;
    if (!pfa_cursor_copy(&cursor, &head, sizeof head) || head.count > cursor.left / sizeof(pfa_trace_module_t) ||
        head.count > MODULES_MAX - trace->module_count) {
        return false;
    }
    pfa_module_list_t list = {.first_node = head.first_node};
    list.modules = pfa_memory_get(head.count, sizeof *list.modules);
    while (list.count < head.count && take_module(&cursor, &list.modules[list.count])) {
        list.count++;
    }
    bool whole = list.count == head.count;
    qsort(list.modules, list.count, sizeof *list.modules, compare_modules);
    put_modules(trace, &list);
    return whole;
}

static int compare_lists(const void *a, const void *b)
{
    const pfa_module_list_t *left = a;
    const pfa_module_list_t *right = b;
    if (left->first_node != right->first_node) {
        return left->first_node < right->first_node ? -1 : 1;
    }
    return left->order < right->order ? -1 : left->order > right->order;
}

void pfa_trace_sort_modules(pfa_trace_t *trace)
{
    if (trace->module_list_count != 0) {
        qsort(trace->module_lists, trace->module_list_count, sizeof *trace->module_lists, compare_lists);
    }
}

void pfa_trace_put_thread(pfa_trace_t *trace, const pfa_trace_thread_t *thread)
{
    size_t i = 0;
    size_t high = trace->thread_count;
    while (i < high) { /* sorted by number */
        size_t middle = (i + high) / 2;
        if (trace->threads[middle].number < thread->number) {
            i = middle + 1;
        } else {
            high = middle;
        }
    }
    if (i == trace->thread_count || trace->threads[i].number != thread->number) {
        trace->threads =
            pfa_memory_grow(trace->threads, &trace->thread_room, trace->thread_count + 1, sizeof *trace->threads);
        memmove(&trace->threads[i + 1], &trace->threads[i], (trace->thread_count - i) * sizeof *trace->threads);
        trace->thread_count++;
    }
    trace->threads[i] = *thread;
    trace->threads[i].name[sizeof thread->name - 1] = '\0';
    pfa_text_clean(trace->threads[i].name, sizeof thread->name);
}

static bool take_threads(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    pfa_trace_thread_t thread;
    while (pfa_cursor_copy(&cursor, &thread, sizeof thread)) {
        if (thread.number > UINT16_MAX) {
            return false;
        }
        pfa_trace_put_thread(trace, &thread);
    }
    return cursor.left == 0;
}

void pfa_trace_put_fold(pfa_trace_t *trace, uint32_t stack, uint64_t chunks, uint64_t bytes)
{
    trace->folds = pfa_memory_grow(trace->folds, &trace->fold_room, trace->fold_count + 1, sizeof *trace->folds);
    trace->folds[trace->fold_count++] = (pfa_trace_fold_t){.stack = stack, .chunks = chunks, .bytes = bytes};
}

static bool take_folds(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    pfa_trace_fold_t fold;
    for (bool first = true; pfa_cursor_copy(&cursor, &fold, sizeof fold); first = false) {
        bool goes_on = trace->fold_count != 0 && fold.stack > trace->folds[trace->fold_count - 1].stack;
        if (first && !goes_on) {
            trace->fold_count = 0;
        }
        pfa_trace_put_fold(trace, fold.stack, fold.chunks, fold.bytes);
    }
    return cursor.left == 0;
}

void pfa_trace_put_tag(pfa_trace_t *trace, uint32_t number, const char *name, size_t size)
{
    size_t i = 0;
    size_t high = trace->tag_count;
    while (i < high) { /* sorted by number */
        size_t middle = (i + high) / 2;
        if (trace->tags[middle].number < number) {
            i = middle + 1;
        } else {
            high = middle;
        }
    }
    if (i == trace->tag_count || trace->tags[i].number != number) {
        trace->tags = pfa_memory_grow(trace->tags, &trace->tag_room, trace->tag_count + 1, sizeof *trace->tags);
        memmove(&trace->tags[i + 1], &trace->tags[i], (trace->tag_count - i) * sizeof *trace->tags);
        trace->tags[i].name = NULL;
        trace->tag_count++;
    }
    pfa_memory_free(trace->tags[i].name);
    trace->tags[i] = (pfa_tag_t){.number = number, .name = pfa_memory_text(name, size)};
}

static bool take_tags(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    pfa_trace_tag_t tag;
    while (pfa_cursor_copy(&cursor, &tag, sizeof tag)) {
        const char *name = pfa_cursor_take(&cursor, tag.name_size);
        if (name == NULL || tag.number > UINT16_MAX || trace->tag_count > 4096) {
            return false;
        }
        pfa_trace_put_tag(trace, tag.number, name, tag.name_size);
    }
    return cursor.left == 0;
}

/* Where it is, or would be: they are sorted by number. */
static size_t find_type(const pfa_trace_t *trace, uint32_t number)
{
    size_t low = 0;
    size_t high = trace->type_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (trace->types[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const pfa_declared_type_t *pfa_trace_type(const pfa_trace_t *trace, uint32_t number)
{
    size_t i = find_type(trace, number);
    return i < trace->type_count && trace->types[i].number == number ? &trace->types[i] : NULL;
}

void pfa_trace_put_type(pfa_trace_t *trace, uint32_t number, uint64_t type_size, const char *name, size_t size)
{
    size_t i = find_type(trace, number);
    if (i == trace->type_count || trace->types[i].number != number) {
        trace->types = pfa_memory_grow(trace->types, &trace->type_room, trace->type_count + 1, sizeof *trace->types);
        memmove(&trace->types[i + 1], &trace->types[i], (trace->type_count - i) * sizeof *trace->types);
        trace->types[i].name = NULL;
        trace->type_count++;
    }
    pfa_memory_free(trace->types[i].name);
    trace->types[i] = (pfa_declared_type_t){.number = number, .size = type_size, .name = pfa_memory_text(name, size)};
}

static bool take_types(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    pfa_trace_type_t type;
    while (pfa_cursor_copy(&cursor, &type, sizeof type)) {
        const char *name = pfa_cursor_take(&cursor, type.name_size);
        if (name == NULL || type.number >= PFA_LIVE_TYPES_MAX) {
            return false;
        }
        pfa_trace_put_type(trace, type.number, type.size, name, type.name_size);
    }
    return cursor.left == 0;
}

static bool take_weights(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    for (size_t i = 0; i < PFA_LIVE_WEIGHTS && cursor.left >= sizeof trace->weights[i]; i++) {
        (void)pfa_cursor_copy(&cursor, &trace->weights[i], sizeof trace->weights[i]);
    }
    return cursor.left == 0;
}

static bool take_mark(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    pfa_trace_mark_t mark;
    const char *text = NULL;
    if (!pfa_cursor_copy(&cursor, &mark, sizeof mark) || (text = pfa_cursor_take(&cursor, mark.text_size)) == NULL) {
        return false;
    }
    int size = mark.text_size < 4096 ? (int)mark.text_size : 4096;
    double seconds = trace->has_start ? pfa_trace_seconds(trace, mark.time) : 0;
    if (mark.what == PFA_MARK_LOST) {
        pfa_notes_add(&trace->missing, "from %.3f s on: %.*s", seconds, size, text);
    } else {
        const char *what = mark.what == PFA_MARK_STARTED ? "recording went on" : "recording was stopped";
        pfa_notes_add(&trace->remarks, "%s at %.3f s%s%.*s", what, seconds, size != 0 ? ": " : "", size, text);
    }
    return true;
}

static bool take_clock(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    trace->has_clock = pfa_cursor_copy(&cursor, &trace->clock, sizeof trace->clock) || trace->has_clock;
    return cursor.left == 0;
}

static bool take_counters(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    pfa_trace_counters_t counters = {.instrumented = 0}; /* which the block may not have yet, nor what is behind */
    size_t least = offsetof(pfa_trace_counters_t, instrumented);
    if (cursor.left < least) {
        return false;
    }
    (void)pfa_cursor_copy(&cursor, &counters, cursor.left < sizeof counters ? cursor.left : sizeof counters);
    trace->counters = counters;
    trace->has_counters = true;
    return true;
}

static bool take_maps(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    return pfa_maps_take(&trace->maps, cursor, pfa_trace_meta_most(trace));
}

static bool take_table(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    bool is_path = cursor.left != 0 && cursor.left < 4096 && cursor.at[0] == '/' && !memchr(cursor.at, 0, cursor.left);
    if (is_path) {
        pfa_memory_free(trace->table_path);
        trace->table_path = pfa_memory_copy((const char *)cursor.at, cursor.left);
    }
    return is_path;
}

static bool take_end(pfa_trace_t *trace, pfa_cursor_t cursor)
{
    trace->has_end = pfa_cursor_copy(&cursor, &trace->end, sizeof trace->end);
    return trace->has_end;
}

bool pfa_trace_take(pfa_trace_t *trace, const pfa_block_t *block, const pfa_bytes_t *payload)
{
    typedef bool take_t(pfa_trace_t *, pfa_cursor_t);
    static take_t *const takers[] = {
        [PFA_BLOCK_START] = take_start,     [PFA_BLOCK_NODES] = take_nodes, [PFA_BLOCK_MODULES] = take_modules,
        [PFA_BLOCK_THREADS] = take_threads, [PFA_BLOCK_FOLDS] = take_folds, [PFA_BLOCK_COUNTERS] = take_counters,
        [PFA_BLOCK_CLOCK] = take_clock,     [PFA_BLOCK_TAGS] = take_tags,   [PFA_BLOCK_TYPES] = take_types,
        [PFA_BLOCK_WEIGHTS] = take_weights, [PFA_BLOCK_MARK] = take_mark,   [PFA_BLOCK_END] = take_end,
        [PFA_BLOCK_MAPS] = take_maps,       [PFA_BLOCK_TABLE] = take_table};
    if (block->kind >= sizeof takers / sizeof takers[0] || takers[block->kind] == NULL) {
        return true;
    }
    return takers[block->kind](trace, (pfa_cursor_t){.at = payload->bytes, .left = payload->size});
}

void pfa_trace_free_meta(pfa_trace_t *trace)
{
    for (size_t i = 0; i < trace->module_list_count; i++) {
        free_modules(&trace->module_lists[i]);
    }
    for (size_t i = 0; i < trace->tag_count; i++) {
        pfa_memory_free(trace->tags[i].name);
    }
    pfa_maps_free(&trace->maps);
    pfa_memory_free(trace->module_lists);
    pfa_memory_free(trace->tags);
    for (size_t i = 0; i < trace->type_count; i++) {
        pfa_memory_free(trace->types[i].name);
    }
    pfa_memory_free(trace->types);
    pfa_memory_free(trace->threads);
    pfa_memory_free(trace->folds);
    pfa_memory_free(trace->parents);
    pfa_memory_free(trace->pcs);
    pfa_memory_free(trace->table_path);
    pfa_memory_free(trace->program);
    pfa_memory_free(trace->command);
    pfa_memory_free(trace->options);
}
