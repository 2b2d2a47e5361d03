/* Owns the cache of names and the list of modules. See analyze/names/symbols.h. */
#include "analyze/names/symbols.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/slots.h"
#include "analyze/base/texts.h"
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
    char *path;  /* for people to read */
    char *found; /* as the program had it */
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
    pfa_symbol_t *list;
    bool missed; /* it was wanted, and the module could not be asked */
} entry_t;

struct pfa_symbols {
    pfa_memory_t *memory; /* of all below */
    pthread_mutex_t lock; /* of all below; libdw allocates and reads files under it, nothing of ours is locked */
    int error;            /* what a call was left with: all is left then */
    pfa_debuginfod_t *servers;
    module_t *modules; /* number 0 is none */
    size_t module_count;
    size_t module_room;
    pfa_slots_t module_slots; /* by identity */
    entry_t *entries;
    size_t entry_count;
    size_t entry_room;
    pfa_slots_t entry_slots; /* by module and address */
    pfa_texts_t texts;
};

static const char *keep_text(pfa_symbols_t *symbols, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    uint32_t number = pfa_texts_find(&symbols->texts, text, strlen(text));
    if (number == UINT32_MAX) {
        char *clean = pfa_memory_text(text, strlen(text)); /* which may be there */
        number = pfa_texts_put(&symbols->texts, clean, strlen(clean));
        pfa_memory_free(clean);
    }
    return symbols->texts.list[number];
}

/* NULL: there is none. */
static entry_t *find_entry(const pfa_symbols_t *symbols, uint32_t module, uint64_t address)
{
    pfa_probe_t probe = pfa_slots_probe(&symbols->entry_slots, pfa_hash_mix(module, address));
    while (pfa_slots_next(&symbols->entry_slots, &probe)) {
        entry_t *entry = &symbols->entries[probe.number];
        if (entry->module == module && entry->address == address) {
            return entry;
        }
    }
    return NULL;
}

static uint32_t find_module(pfa_symbols_t *symbols, const char *identity)
{
    uint64_t hash = pfa_hash_text(identity, strlen(identity));
    pfa_probe_t probe = pfa_slots_probe(&symbols->module_slots, hash);
    while (pfa_slots_next(&symbols->module_slots, &probe)) {
        if (strcmp(symbols->modules[probe.number].identity, identity) == 0) {
            return probe.number;
        }
    }
    symbols->modules =
        pfa_memory_grow(symbols->modules, &symbols->module_room, symbols->module_count + 1, sizeof *symbols->modules);
    symbols->modules[symbols->module_count].identity = pfa_memory_copy(identity, strlen(identity));
    pfa_slots_put(&symbols->module_slots, hash, (uint32_t)symbols->module_count);
    return (uint32_t)symbols->module_count++;
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

/* An address that has no entry. */
static entry_t *store(pfa_symbols_t *symbols, uint32_t module, uint64_t address, found_t *found)
{
    static const pfa_symbol_t unknown = {.function = NULL};
    if (found->count == 0) {
        add_symbol(found, &unknown);
    }
    symbols->entries =
        pfa_memory_grow(symbols->entries, &symbols->entry_room, symbols->entry_count + 1, sizeof *symbols->entries);
    entry_t *entry = &symbols->entries[symbols->entry_count];
    *entry = (entry_t){.address = address, .module = module, .count = (uint32_t)found->count, .list = found->list};
    pfa_slots_put(&symbols->entry_slots, pfa_hash_mix(module, address), (uint32_t)symbols->entry_count++);
    return entry;
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
    entry_t *entry = find_entry(symbols, asked->number, asked->address);
    module_t *module = &symbols->modules[asked->number];
    if (entry == NULL) {
        found_t found = {.symbols = symbols};
        open_module(symbols, module);
        if (module->dwarf != NULL) {
            pfa_dwarf_find(module->dwarf, asked->address - 1, add_symbol, &found);
        }
        if (pfa_debuginfod_is_given_up(symbols->servers)) {
            pfa_memory_leave(ECANCELED); /* what is known now is not what would be */
        }
        entry = store(symbols, asked->number, asked->address, &found);
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
    uint32_t module = find_module(asked->symbols, asked->text);
    if (find_entry(asked->symbols, module, asked->address) != NULL) {
        return;
    }
    for (size_t i = 0; i < asked->count; i++) {
        add_symbol(&found, &asked->list[i]);
    }
    (void)store(asked->symbols, module, asked->address, &found);
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
