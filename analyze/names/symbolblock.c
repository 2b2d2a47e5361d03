/* Owns the SYMBOLS block. See analyze/names/symbolblock.h. */
#include "analyze/names/symbolblock.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, ADDRESSES_MAX = 1 << 16, TEXTS_MAX = 24 << 20, CHAIN_MAX = 4096 };
/* All blocks together unpack to at most so many times the file, and some more; so do names, which frames share. */
enum { RATIO_MAX = 64, RATIO_FREE = 64 << 20, TEXTS_RATIO = 1024, TEXTS_FREE = 256 << 20 };

typedef struct building {
    pfa_symbolblock_address_t *addresses;
    size_t address_count;
    size_t address_room;
    pfa_symbolblock_frame_t *frames;
    size_t frame_count;
    size_t frame_room;
    uint32_t *offsets; /* of the frames */
    size_t offset_room;
    char *texts;
    size_t texts_size;
    size_t texts_room;
    struct kept {
        const char *text;
        uint32_t at;
    } * kept; /* by the pointer: the cache of names has each text once */
    size_t kept_slots;
    size_t kept_count;
} building_t;

static struct kept *find_kept(struct kept *kept, size_t slots, const char *text)
{
    size_t at = ((uintptr_t)text >> 4) * 0x9e3779b97f4a7c15u >> 20 & (slots - 1);
    while (kept[at].text != NULL && kept[at].text != text) {
        at = (at + 1) & (slots - 1);
    }
    return &kept[at];
}

static void make_room(building_t *building)
{
    if (2 * (building->kept_count + 1) <= building->kept_slots) {
        return;
    }
    size_t slots = building->kept_slots != 0 ? 2 * building->kept_slots : 4096;
    struct kept *kept = pfa_memory_get(slots, sizeof *kept);
    for (size_t i = 0; i < building->kept_slots; i++) {
        if (building->kept[i].text != NULL) {
            *find_kept(kept, slots, building->kept[i].text) = building->kept[i];
        }
    }
    pfa_memory_free(building->kept);
    building->kept = kept;
    building->kept_slots = slots;
}

static uint32_t put_text(building_t *building, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    make_room(building);
    struct kept *kept = find_kept(building->kept, building->kept_slots, text);
    if (kept->text == NULL) {
        size_t size = strlen(text) + 1;
        building->texts =
            pfa_memory_grow(building->texts, &building->texts_room, building->texts_size + size, sizeof(char));
        memcpy(building->texts + building->texts_size, text, size);
        *kept = (struct kept){.text = text, .at = (uint32_t)building->texts_size};
        building->texts_size += size;
        building->kept_count++;
    }
    return kept->at;
}

static void begin(building_t *building)
{
    building->address_count = building->frame_count = building->kept_count = 0;
    if (building->kept_slots != 0) {
        memset(building->kept, 0, building->kept_slots * sizeof *building->kept);
    }
    building->texts = pfa_memory_grow(building->texts, &building->texts_room, 1, sizeof(char));
    building->texts[0] = '\0';
    building->texts_size = 1;
}

static void finish(building_t *building, pfa_tracefile_t *writer, uint64_t time)
{
    pfa_symbolblock_head_t head = {.version = VERSION,
                                   .addresses = (uint32_t)building->address_count,
                                   .frames = (uint32_t)building->frame_count,
                                   .texts_size = (uint32_t)building->texts_size};
    size_t addresses = building->address_count * sizeof *building->addresses;
    size_t frames = building->frame_count * sizeof *building->frames;
    size_t offsets = building->frame_count * sizeof *building->offsets;
    size_t size = sizeof head + addresses + frames + building->texts_size + offsets;
    if (building->address_count == 0) {
        return;
    }
    char *payload = pfa_memory_get(size, 1);
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, building->addresses, addresses);
    memcpy(payload + sizeof head + addresses, building->frames, frames);
    memcpy(payload + sizeof head + addresses + frames, building->texts, building->texts_size);
    memcpy(payload + size - offsets, building->offsets, offsets);
    pfa_tracefile_block(writer, PFA_BLOCK_SYMBOLS, time, payload, size);
    pfa_memory_free(payload);
    begin(building);
}

static void put_address(building_t *building, pfa_stacks_t *stacks, const pfa_frame_t *frame)
{
    size_t count;
    const pfa_symbol_t *symbols = pfa_stacks_find(stacks, frame, &count);
    if (symbols[0].function == NULL && symbols[0].file == NULL) {
        return; /* another machine may know */
    }
    building->addresses = pfa_memory_grow(building->addresses, &building->address_room, building->address_count + 1,
                                          sizeof *building->addresses);
    building->addresses[building->address_count++] =
        (pfa_symbolblock_address_t){.address = frame->address,
                                    .module = put_text(building, pfa_symbols_identity(stacks->symbols, frame->module)),
                                    .first = (uint32_t)building->frame_count,
                                    .count = (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        building->frames = pfa_memory_grow(building->frames, &building->frame_room, building->frame_count + 1,
                                           sizeof *building->frames);
        building->offsets = pfa_memory_grow(building->offsets, &building->offset_room, building->frame_count + 1,
                                            sizeof *building->offsets);
        building->offsets[building->frame_count] = symbols[i].offset;
        building->frames[building->frame_count++] =
            (pfa_symbolblock_frame_t){.function = put_text(building, symbols[i].function),
                                      .file = put_text(building, symbols[i].file),
                                      .line = symbols[i].line,
                                      .inlined = symbols[i].inlined};
    }
}

static int compare_places(const void *a, const void *b, void *to)
{
    const pfa_stacks_t *stacks = to;
    const pfa_frame_t *left = &stacks->frames[*(const uint32_t *)a];
    const pfa_frame_t *right = &stacks->frames[*(const uint32_t *)b];
    if (left->module != right->module) {
        return left->module < right->module ? -1 : 1;
    }
    return left->address < right->address ? -1 : left->address > right->address;
}

void pfa_symbolblock_write(pfa_tracefile_t *writer, uint64_t time, pfa_stacks_t *stacks)
{
    building_t building = {.addresses = NULL};
    size_t count = stacks->count - PFA_NODE_FIRST;
    uint32_t *order = pfa_memory_get(count, sizeof *order);
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)(PFA_NODE_FIRST + i);
    }
    qsort_r(order, count, sizeof *order, compare_places, stacks);
    begin(&building);
    for (size_t i = 0; i < count; i++) {
        const pfa_frame_t *frame = &stacks->frames[order[i]];
        if (frame->module != 0 && (i == 0 || compare_places(&order[i - 1], &order[i], stacks) != 0)) {
            put_address(&building, stacks, frame);
        }
        if (building.address_count == ADDRESSES_MAX || building.texts_size > TEXTS_MAX) {
            finish(&building, writer, time);
        }
    }
    finish(&building, writer, time);
    pfa_memory_free(order);
    pfa_memory_free(building.addresses);
    pfa_memory_free(building.frames);
    pfa_memory_free(building.offsets);
    pfa_memory_free(building.texts);
    pfa_memory_free(building.kept);
}

typedef struct reading {
    pfa_symbolblock_head_t head;
    const uint8_t *addresses;
    const uint8_t *frames;
    const uint8_t *offsets; /* NULL: there are none */
    const char *texts;
    uint64_t *texts_left; /* characters that may still be read of texts */
    pfa_symbol_t *list;   /* room for those of an address */
    uint64_t frames_read; /* each address has its own: never more than there are */
} reading_t;

/* What many frames share is read again for each: within limits. */
static const char *text_at(reading_t *reading, uint32_t at)
{
    if (at == 0 || at >= reading->head.texts_size) {
        return NULL;
    }
    size_t size = strnlen(reading->texts + at, *reading->texts_left + 1);
    if (size > *reading->texts_left) {
        return NULL;
    }
    *reading->texts_left -= size;
    return reading->texts + at;
}

static bool read_address(reading_t *reading, uint32_t number, pfa_symbols_t *symbols)
{
    pfa_symbol_t *list = reading->list;
    pfa_symbolblock_address_t address;
    memcpy(&address, reading->addresses + number * sizeof address, sizeof address);
    const char *module = text_at(reading, address.module);
    if (module == NULL || address.count == 0 || address.count > CHAIN_MAX || address.first > reading->head.frames ||
        address.count > reading->head.frames - address.first ||
        (reading->frames_read += address.count) > reading->head.frames) {
        return false;
    }
    for (uint32_t i = 0; i < address.count; i++) {
        pfa_symbolblock_frame_t frame;
        memcpy(&frame, reading->frames + (address.first + i) * sizeof frame, sizeof frame);
        uint32_t offset = 0;
        if (reading->offsets != NULL) {
            memcpy(&offset, reading->offsets + (address.first + i) * sizeof offset, sizeof offset);
        }
        list[i] = (pfa_symbol_t){.function = text_at(reading, frame.function),
                                 .file = text_at(reading, frame.file),
                                 .line = frame.line,
                                 .offset = offset,
                                 .inlined = frame.inlined != 0};
    }
    pfa_symbols_put(symbols, module, address.address, list, address.count);
    return true;
}

static bool read_block(const pfa_bytes_t *payload, pfa_symbols_t *symbols, pfa_symbol_t *room, uint64_t *texts_left)
{
    pfa_cursor_t cursor = {.at = payload->bytes, .left = payload->size};
    reading_t reading = {.texts_left = texts_left, .list = room};
    if (!pfa_cursor_copy(&cursor, &reading.head, sizeof reading.head)) {
        return false;
    }
    if (reading.head.version != VERSION) {
        return true; /* of a later profalloc: do without */
    }
    reading.addresses = pfa_cursor_take(&cursor, reading.head.addresses * sizeof(pfa_symbolblock_address_t));
    reading.frames = pfa_cursor_take(&cursor, reading.head.frames * sizeof(pfa_symbolblock_frame_t));
    reading.texts = pfa_cursor_take(&cursor, reading.head.texts_size);
    if (reading.addresses == NULL || reading.frames == NULL || reading.texts == NULL || reading.head.texts_size == 0 ||
        reading.texts[reading.head.texts_size - 1] != '\0') {
        return false;
    }
    reading.offsets = pfa_cursor_take(&cursor, reading.head.frames * sizeof(uint32_t));
    for (uint32_t i = 0; i < reading.head.addresses; i++) {
        if (!read_address(&reading, i, symbols)) {
            return false;
        }
    }
    return true;
}

bool pfa_symbolblock_read(const pfa_trace_t *trace, pfa_symbols_t *symbols)
{
    pfa_bytes_t payload = {.bytes = NULL};
    uint64_t budget = RATIO_MAX * trace->blocks.size + RATIO_FREE;
    uint64_t texts_left = TEXTS_RATIO * trace->blocks.size + TEXTS_FREE;
    pfa_symbol_t *room = NULL;
    pfa_loader_t *loader = pfa_loader_new(trace->fd);
    bool fine = true;
    for (size_t i = 0; i < trace->blocks.count; i++) {
        const pfa_block_t *block = &trace->blocks.list[i];
        if (block->kind != PFA_BLOCK_SYMBOLS) {
            continue;
        }
        room = room != NULL ? room : pfa_memory_get(CHAIN_MAX, sizeof *room);
        bool affordable = block->raw_size <= budget;
        budget -= affordable ? block->raw_size : 0;
        fine = affordable && pfa_block_load(loader, block, &payload) == 0 &&
               read_block(&payload, symbols, room, &texts_left) && fine;
    }
    pfa_bytes_free(&payload);
    pfa_memory_free(room);
    pfa_loader_free(loader);
    return fine;
}
