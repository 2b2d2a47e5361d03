/* Owns the cache of names and the list of modules. See analyze/names/symbols.h. */
#include "analyze/names/symbols.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/slots.h"
#include "analyze/names/debuginfod.h"
#include "analyze/names/dwarf.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From packed traces, which may be anybody's. A process has some hundreds. */
enum { MODULES_MAX = 4096 };

typedef struct module {
    char *identity;
    uint64_t hash; /* of it */
    char *path;    /* for people to read */
    char *found;   /* as the program had it */
    uint8_t *build_id;
    size_t build_id_size;
    uint32_t flags; /* PFA_MODULE_..., of all its lists */
    bool asked;
    const char *why;
    pfa_dwarf_t *dwarf;
} module_t;

typedef struct entry {
    uint64_t address;
    uint32_t module;
    uint32_t count;
    pfa_symbol_t *list; /* NULL: a free slot */
    bool missed;        /* it was wanted, and the module could not be asked */
} entry_t;

struct pfa_symbols {
    pfa_memory_t *memory; /* of all below */
    pthread_mutex_t lock; /* of all below; libdw allocates and reads files under it, nothing of ours is locked */
    int error;            /* what a call was left with: all is left then */
    pfa_debuginfod_t *servers;
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
        pfa_memory_free(symbols->texts);
        symbols->texts = texts;
        symbols->text_slots = slots;
    }
    char **slot = text_slot(symbols->texts, symbols->text_slots, text);
    if (*slot != NULL) {
        return *slot;
    }
    char *kept = pfa_memory_text(text, strlen(text));
    slot = text_slot(symbols->texts, symbols->text_slots, kept); /* of what it became, which may be there */
    if (*slot != NULL) {
        pfa_memory_free(kept);
        return *slot;
    }
    symbols->text_count++;
    return *slot = kept;
}

static entry_t *entry_slot(entry_t *entries, size_t slots, uint32_t module, uint64_t address)
{
    size_t at = pfa_slots_fold(pfa_hash_mix(module, address)) & (slots - 1);
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
        pfa_memory_free(symbols->entries);
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
    pfa_memory_free(symbols->module_slots);
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

/* Does work under the lock, in the arena of the names. */
static void do_locked(pfa_symbols_t *symbols, void (*work)(void *to), void *to)
{
    pthread_mutex_lock(&symbols->lock);
    int error = symbols->error != 0 ? symbols->error : pfa_memory_work(symbols->memory, work, to);
    symbols->error = error != 0 ? error : symbols->error;
    pthread_mutex_unlock(&symbols->lock);
    if (error != 0) {
        pfa_memory_leave(error);
    }
}

static void end_symbols(void *object)
{
    pfa_symbols_t *symbols = object;
    pfa_memory_delete(symbols->memory);
    pthread_mutex_destroy(&symbols->lock);
}

static void begin(void *to)
{
    pfa_symbols_t *symbols = to;
    (void)find_module(symbols, "");
    symbols->modules[0].asked = true;
}

pfa_symbols_t *pfa_symbols_new(void)
{
    pfa_symbols_t *symbols = pfa_memory_object(sizeof *symbols, end_symbols);
    pthread_mutex_init(&symbols->lock, NULL);
    symbols->memory = pfa_memory_new();
    if (symbols->memory == NULL) {
        pfa_memory_leave(ENOMEM);
    }
    do_locked(symbols, begin, symbols);
    return symbols;
}

void pfa_symbols_free(pfa_symbols_t *symbols)
{
    pfa_memory_free(symbols);
}

/* What a call is about, and its answer. */
typedef struct asked {
    pfa_symbols_t *symbols;
    const pfa_module_t *module;
    const char *text;
    uint32_t number;
    uint64_t address;
    const pfa_symbol_t *list;
    size_t count;
    bool missed;
    double seconds;
    const pfa_watch_t *watch;
} asked_t;

static void serve(void *to)
{
    asked_t *asked = to;
    asked->symbols->servers = pfa_debuginfod_new(asked->text, asked->seconds, asked->watch);
}

void pfa_symbols_serve(pfa_symbols_t *symbols, const char *urls, double seconds, const pfa_watch_t *watch)
{
    asked_t asked = {.symbols = symbols, .text = urls, .seconds = seconds, .watch = watch};
    do_locked(symbols, serve, &asked);
}

static void take_text(void *to)
{
    asked_t *asked = to;
    asked->text = keep_text(asked->symbols, asked->text);
}

const char *pfa_symbols_text(pfa_symbols_t *symbols, const char *text)
{
    asked_t asked = {.symbols = symbols, .text = text};
    do_locked(symbols, take_text, &asked);
    return asked.text;
}

static void take_module(void *to)
{
    asked_t *asked = to;
    pfa_symbols_t *symbols = asked->symbols;
    const pfa_module_t *module = asked->module;
    char id[2 * 64 + 1] = "";
    for (size_t i = 0; i < module->build_id_size && i < 64; i++) {
        snprintf(id + 2 * i, 3, "%02x", module->build_id[i]);
    }
    asked->number = find_module(symbols, id[0] != '\0' ? id : module->path);
    module_t *known = &symbols->modules[asked->number];
    if (asked->number != 0 && known->path == NULL) {
        known->path = pfa_memory_text(module->path, strlen(module->path));
        known->found = pfa_memory_copy(module->path, strlen(module->path));
        known->build_id = pfa_memory_copy(module->build_id, module->build_id_size);
        known->build_id_size = module->build_id_size;
    }
    known->flags |= module->flags;
}

uint32_t pfa_symbols_module(pfa_symbols_t *symbols, const pfa_module_t *module)
{
    asked_t asked = {.symbols = symbols, .module = module};
    do_locked(symbols, take_module, &asked);
    return asked.number;
}

/* A module as it is now: what it points to stays. */
static module_t module_at(pfa_symbols_t *symbols, uint32_t number)
{
    pthread_mutex_lock(&symbols->lock);
    module_t module = symbols->modules[number];
    pthread_mutex_unlock(&symbols->lock);
    return module;
}

uint32_t pfa_symbols_flags(pfa_symbols_t *symbols, uint32_t module)
{
    return module_at(symbols, module).flags;
}

const char *pfa_symbols_path(pfa_symbols_t *symbols, uint32_t module)
{
    return module_at(symbols, module).path;
}

const char *pfa_symbols_identity(pfa_symbols_t *symbols, uint32_t module)
{
    return module_at(symbols, module).identity;
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
        pfa_memory_free(found->list);
        return;
    }
    *entry = (entry_t){.address = address, .module = module, .count = (uint32_t)found->count, .list = found->list};
    symbols->entry_count++;
}

static void open_module(pfa_symbols_t *symbols, module_t *module)
{
    if (!module->asked && module->path != NULL) {
        module->dwarf =
            pfa_dwarf_open(module->found, module->build_id, module->build_id_size, symbols->servers, &module->why);
        module->asked = true;
    }
}

/* In the arena of who asks, and under the lock. */
typedef struct looking {
    pfa_dwarf_t *dwarf;
    void (*look)(void *to, pfa_dwarf_t *dwarf);
    void *to;
    pfa_memory_t *arena;
    pfa_symbols_t *symbols;
    uint32_t module;
    int error;
} looking_t;

static void look(void *to)
{
    const looking_t *looking = to;
    looking->look(looking->to, looking->dwarf);
}

static void look_locked(void *to)
{
    looking_t *looking = to;
    module_t *module = &looking->symbols->modules[looking->module];
    open_module(looking->symbols, module);
    looking->dwarf = module->dwarf;
    looking->error = module->dwarf != NULL ? pfa_memory_work(looking->arena, look, looking) : 0;
    looking->symbols->error = looking->error; /* libdw may have been left in the middle */
}

bool pfa_symbols_dwarf(pfa_symbols_t *symbols, uint32_t module, void (*called)(void *to, pfa_dwarf_t *dwarf), void *to)
{
    looking_t looking = {.look = called, .to = to, .arena = pfa_memory_arena(), .symbols = symbols, .module = module};
    do_locked(symbols, look_locked, &looking);
    if (looking.error != 0) {
        pfa_memory_leave(looking.error);
    }
    return looking.dwarf != NULL;
}

static void find(void *to)
{
    asked_t *asked = to;
    pfa_symbols_t *symbols = asked->symbols;
    entry_t *entry = make_entry(symbols, asked->number, asked->address);
    module_t *module = &symbols->modules[asked->number];
    if (entry->list == NULL) {
        found_t found = {.symbols = symbols};
        open_module(symbols, module);
        if (module->dwarf != NULL) {
            pfa_dwarf_find(module->dwarf, asked->address - 1, add_symbol, &found);
        }
        if (pfa_debuginfod_is_given_up(symbols->servers)) {
            pfa_memory_leave(ECANCELED); /* what is known now is not what would be */
        }
        store(symbols, asked->number, asked->address, &found);
        entry = make_entry(symbols, asked->number, asked->address);
        entry->missed = module->dwarf == NULL;
    }
    asked->list = entry->list;
    asked->count = entry->count;
    asked->missed = entry->missed;
}

const pfa_symbol_t *pfa_symbols_find(pfa_symbols_t *symbols, uint32_t number, uint64_t address, size_t *count,
                                     bool *missed)
{
    asked_t asked = {.symbols = symbols, .number = number, .address = address};
    do_locked(symbols, find, &asked);
    *count = asked.count;
    *missed = asked.missed;
    return asked.list;
}

static void put(void *to)
{
    const asked_t *asked = to;
    found_t found = {.symbols = asked->symbols};
    if (asked->symbols->module_count == MODULES_MAX) {
        return;
    }
    for (size_t i = 0; i < asked->count; i++) {
        add_symbol(&found, &asked->list[i]);
    }
    store(asked->symbols, find_module(asked->symbols, asked->text), asked->address, &found);
}

void pfa_symbols_put(pfa_symbols_t *symbols, const char *identity, uint64_t address, const pfa_symbol_t *list,
                     size_t count)
{
    asked_t asked = {.symbols = symbols, .text = identity, .address = address, .list = list, .count = count};
    do_locked(symbols, put, &asked);
}

size_t pfa_symbols_modules(pfa_symbols_t *symbols)
{
    pthread_mutex_lock(&symbols->lock);
    size_t count = symbols->module_count;
    pthread_mutex_unlock(&symbols->lock);
    return count;
}

void pfa_symbols_tell(pfa_symbols_t *symbols, const bool *missed, size_t count, pfa_notes_t *remarks)
{
    for (uint32_t i = 1; i < count; i++) {
        module_t module = module_at(symbols, i);
        if (missed[i] && module.path != NULL) {
            pfa_notes_add(remarks, "no names for %s: %s", module.path, module.why != NULL ? module.why : "unknown");
        }
    }
    char trouble[PFA_DEBUGINFOD_TROUBLE] = "";
    pthread_mutex_lock(&symbols->lock);
    pfa_debuginfod_trouble(symbols->servers, trouble);
    pthread_mutex_unlock(&symbols->lock);
    if (trouble[0] != '\0') {
        pfa_notes_add(remarks, "%s", trouble);
    }
}
