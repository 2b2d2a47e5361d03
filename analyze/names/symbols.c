/* Owns the cache of names and the list of modules. See analyze/names/symbols.h. */
#include "analyze/names/symbols.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/names/debuginfod.h"
#include "analyze/names/dwarf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From packed traces, which may be anybody's. A process has some hundreds. */
enum { MODULES_MAX = 4096 };

typedef struct module {
    char *identity;
    uint64_t hash; /* of it */
    char *path;
    uint8_t *build_id;
    size_t build_id_size;
    uint32_t flags; /* PFA_MODULE_..., of all its lists */
    bool asked;
    bool missed; /* a name was wanted and could not be had */
    const char *why;
    pfa_dwarf_t *dwarf;
} module_t;

typedef struct entry {
    uint64_t address;
    uint32_t module;
    uint32_t count;
    pfa_symbol_t *list; /* NULL: a free slot */
} entry_t;

struct pfa_symbols {
    module_t *modules; /* number 0 is none */
    size_t module_count;
    size_t module_room;
    uint32_t *module_slots; /* 1 and the number, by identity; 0: a free slot */
    size_t module_slot_count;
    entry_t *entries;
    size_t entry_count;
    size_t entry_slots; /* a power of two */
    char **texts;       /* every text once; a hash table */
    size_t text_count;
    size_t text_slots;
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    }
    return hash ^ hash >> 29;
}

static char **text_slot(char **texts, size_t slots, const char *text)
{
    size_t at = hash_text(text) & (slots - 1);
    while (texts[at] != NULL && strcmp(texts[at], text) != 0) {
        at = (at + 1) & (slots - 1);
    }
    return &texts[at];
}

static const char *keep_text(pfa_symbols_t *symbols, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    if (2 * (symbols->text_count + 1) > symbols->text_slots) {
        size_t slots = symbols->text_slots != 0 ? 2 * symbols->text_slots : 1024;
        char **texts = pfa_memory_get(slots, sizeof *texts);
        for (size_t i = 0; i < symbols->text_slots; i++) {
            if (symbols->texts[i] != NULL) {
                *text_slot(texts, slots, symbols->texts[i]) = symbols->texts[i];
            }
        }
        free(symbols->texts);
        symbols->texts = texts;
        symbols->text_slots = slots;
    }
    char **slot = text_slot(symbols->texts, symbols->text_slots, text);
    if (*slot == NULL) {
        *slot = pfa_memory_text(text, strlen(text));
        symbols->text_count++;
    }
    return *slot;
}

const char *pfa_symbols_text(pfa_symbols_t *symbols, const char *text)
{
    return keep_text(symbols, text);
}

static entry_t *entry_slot(entry_t *entries, size_t slots, uint32_t module, uint64_t address)
{
    uint64_t hash = (address ^ (uint64_t)module << 48) * 0x9e3779b97f4a7c15u;
    size_t at = (hash ^ hash >> 32) & (slots - 1);
    while (entries[at].list != NULL && (entries[at].module != module || entries[at].address != address)) {
        at = (at + 1) & (slots - 1);
    }
    return &entries[at];
}

static entry_t *make_entry(pfa_symbols_t *symbols, uint32_t module, uint64_t address)
{
    if (2 * (symbols->entry_count + 1) > symbols->entry_slots) {
        size_t slots = symbols->entry_slots != 0 ? 2 * symbols->entry_slots : 1024;
        entry_t *entries = pfa_memory_get(slots, sizeof *entries);
        for (size_t i = 0; i < symbols->entry_slots; i++) {
            const entry_t *old = &symbols->entries[i];
            if (old->list != NULL) {
                *entry_slot(entries, slots, old->module, old->address) = *old;
            }
        }
        free(symbols->entries);
        symbols->entries = entries;
        symbols->entry_slots = slots;
    }
    return entry_slot(symbols->entries, symbols->entry_slots, module, address);
}

/* The slot of the module with this identity, or, without one, the free slot that it belongs in. */
static uint32_t *module_slot(pfa_symbols_t *symbols, const char *identity, uint64_t hash)
{
    size_t at = hash & (symbols->module_slot_count - 1);
    for (; symbols->module_slots[at] != 0; at = (at + 1) & (symbols->module_slot_count - 1)) {
        const module_t *module = &symbols->modules[symbols->module_slots[at] - 1];
        if (identity != NULL && module->hash == hash && strcmp(module->identity, identity) == 0) {
            break;
        }
    }
    return &symbols->module_slots[at];
}

static void grow_module_slots(pfa_symbols_t *symbols)
{
    if (2 * (symbols->module_count + 1) <= symbols->module_slot_count) {
        return;
    }
    free(symbols->module_slots);
    symbols->module_slot_count = symbols->module_slot_count != 0 ? 2 * symbols->module_slot_count : 1024;
    symbols->module_slots = pfa_memory_get(symbols->module_slot_count, sizeof *symbols->module_slots);
    for (size_t i = 0; i < symbols->module_count; i++) {
        *module_slot(symbols, NULL, symbols->modules[i].hash) = (uint32_t)i + 1;
    }
}

static uint32_t find_module(pfa_symbols_t *symbols, const char *identity)
{
    uint64_t hash = hash_text(identity);
    grow_module_slots(symbols);
    uint32_t *slot = module_slot(symbols, identity, hash);
    if (*slot != 0) {
        return *slot - 1;
    }
    symbols->modules =
        pfa_memory_grow(symbols->modules, &symbols->module_room, symbols->module_count + 1, sizeof *symbols->modules);
    symbols->modules[symbols->module_count].identity = pfa_memory_copy(identity, strlen(identity));
    symbols->modules[symbols->module_count].hash = hash;
    *slot = (uint32_t)++symbols->module_count;
    return *slot - 1;
}

pfa_symbols_t *pfa_symbols_new(void)
{
    pfa_symbols_t *symbols = pfa_memory_get(1, sizeof *symbols);
    (void)find_module(symbols, "");
    symbols->modules[0].asked = true;
    return symbols;
}

void pfa_symbols_free(pfa_symbols_t *symbols)
{
    for (size_t i = 0; i < symbols->module_count; i++) {
        pfa_dwarf_close(symbols->modules[i].dwarf);
        free(symbols->modules[i].identity);
        free(symbols->modules[i].path);
        free(symbols->modules[i].build_id);
    }
    for (size_t i = 0; i < symbols->entry_slots; i++) {
        free(symbols->entries[i].list);
    }
    for (size_t i = 0; i < symbols->text_slots; i++) {
        free(symbols->texts[i]);
    }
    free(symbols->modules);
    free(symbols->module_slots);
    free(symbols->entries);
    free(symbols->texts);
    free(symbols);
}

uint32_t pfa_symbols_module(pfa_symbols_t *symbols, const pfa_module_t *module)
{
    char id[2 * 64 + 1] = "";
    for (size_t i = 0; i < module->build_id_size && i < 64; i++) {
        snprintf(id + 2 * i, 3, "%02x", module->build_id[i]);
    }
    uint32_t number = find_module(symbols, id[0] != '\0' ? id : module->path);
    module_t *known = &symbols->modules[number];
    if (number != 0 && known->path == NULL) {
        known->path = pfa_memory_text(module->path, strlen(module->path));
        known->build_id = pfa_memory_copy(module->build_id, module->build_id_size);
        known->build_id_size = module->build_id_size;
    }
    known->flags |= module->flags;
    return number;
}

uint32_t pfa_symbols_flags(const pfa_symbols_t *symbols, uint32_t module)
{
    return symbols->modules[module].flags;
}

const char *pfa_symbols_path(const pfa_symbols_t *symbols, uint32_t module)
{
    return symbols->modules[module].path;
}

const char *pfa_symbols_identity(const pfa_symbols_t *symbols, uint32_t module)
{
    return symbols->modules[module].identity;
}

typedef struct found {
    pfa_symbols_t *symbols;
    pfa_symbol_t *list;
    size_t count;
    size_t room;
} found_t;

static void add_symbol(void *to, const pfa_symbol_t *symbol)
{
    found_t *found = to;
    found->list = pfa_memory_grow(found->list, &found->room, found->count + 1, sizeof *found->list);
    found->list[found->count++] = (pfa_symbol_t){.function = keep_text(found->symbols, symbol->function),
                                                 .file = keep_text(found->symbols, symbol->file),
                                                 .line = symbol->line,
                                                 .offset = symbol->offset,
                                                 .inlined = symbol->inlined};
}

static void store(pfa_symbols_t *symbols, uint32_t module, uint64_t address, found_t *found)
{
    static const pfa_symbol_t unknown = {.function = NULL};
    if (found->count == 0) {
        add_symbol(found, &unknown);
    }
    entry_t *entry = make_entry(symbols, module, address);
    if (entry->list != NULL) {
        free(found->list);
        return;
    }
    *entry = (entry_t){.address = address, .module = module, .count = (uint32_t)found->count, .list = found->list};
    symbols->entry_count++;
}

static void open_module(module_t *module)
{
    if (!module->asked && module->path != NULL) {
        module->dwarf = pfa_dwarf_open(module->path, module->build_id, module->build_id_size, &module->why);
        module->asked = true;
    }
}

pfa_dwarf_t *pfa_symbols_dwarf(pfa_symbols_t *symbols, uint32_t module)
{
    open_module(&symbols->modules[module]);
    return symbols->modules[module].dwarf;
}

const pfa_symbol_t *pfa_symbols_find(pfa_symbols_t *symbols, uint32_t number, uint64_t address, size_t *count)
{
    entry_t *entry = make_entry(symbols, number, address);
    module_t *module = &symbols->modules[number];
    if (entry->list == NULL) {
        found_t found = {.symbols = symbols};
        open_module(module);
        module->missed = module->missed || module->dwarf == NULL;
        if (module->dwarf != NULL) {
            pfa_dwarf_find(module->dwarf, address - 1, add_symbol, &found);
        }
        store(symbols, number, address, &found);
        entry = make_entry(symbols, number, address);
    }
    *count = entry->count;
    return entry->list;
}

void pfa_symbols_put(pfa_symbols_t *symbols, const char *identity, uint64_t address, const pfa_symbol_t *list,
                     size_t count)
{
    found_t found = {.symbols = symbols};
    if (symbols->module_count == MODULES_MAX) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        add_symbol(&found, &list[i]);
    }
    store(symbols, find_module(symbols, identity), address, &found);
}

void pfa_symbols_tell(const pfa_symbols_t *symbols, pfa_notes_t *remarks)
{
    for (size_t i = 1; i < symbols->module_count; i++) {
        const module_t *module = &symbols->modules[i];
        if (module->missed && module->path != NULL) {
            pfa_notes_add(remarks, "no names for %s: %s", module->path, module->why != NULL ? module->why : "unknown");
        }
    }
    pfa_debuginfod_tell(remarks);
}
