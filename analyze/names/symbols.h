/* Names of program addresses: function, file and line, with the functions that were inlined there, from the debug
 * information of modules (their own, separate files, debuginfod if configured) or from a trace that was packed.
 *
 * A module is the same everywhere if it has the same build-id, or, without one, the same path. Addresses are the module's
 * own. A file that is no longer the one that ran is not asked. */
#ifndef PFA_ANALYZE_NAMES_SYMBOLS_H
#define PFA_ANALYZE_NAMES_SYMBOLS_H

#include "analyze/base/notes.h"
#include "analyze/trace/trace.h"

typedef struct pfa_symbol {
    const char *function; /* demangled; NULL if not known */
    const char *file;     /* NULL if not known */
    uint32_t line;
    uint32_t offset; /* of the return address from the start of the function; 0 if not known, and of inlined ones */
    bool inlined;    /* into the next one */
} pfa_symbol_t;

typedef struct pfa_symbols pfa_symbols_t;

struct pfa_dwarf;

/* Names with an arena of their own, for any number of threads: what they call is done under one lock, since libdw has to be asked by one
 * thread at a time. If there is no memory for a name, there is none for the next: each call leaves its work from then on. They are
 * freed with the arena of who made them, too */
pfa_symbols_t *pfa_symbols_new(void);
void pfa_symbols_free(pfa_symbols_t *symbols);
/* Servers to ask for debug information, before anything was asked for: as pfa_debuginfod_new. */
void pfa_symbols_serve(pfa_symbols_t *symbols, const char *urls, double seconds, const pfa_watch_t *watch);

/* The number of a module; 0 stands for no module. */
uint32_t pfa_symbols_module(pfa_symbols_t *symbols, const pfa_module_t *module);
/* So many there are, with number 0. */
size_t pfa_symbols_modules(pfa_symbols_t *symbols);
const char *pfa_symbols_path(pfa_symbols_t *symbols, uint32_t module);
/* PFA_MODULE_... (export/format/trace.h), as far as any trace tells. */
uint32_t pfa_symbols_flags(pfa_symbols_t *symbols, uint32_t module);
/* The same in all traces and on all machines: of the build-id or the path. */
const char *pfa_symbols_identity(pfa_symbols_t *symbols, uint32_t module);

/* What is at the call before the return address, the innermost first; at least one. They stay until the end. *missed: the module could not be
 * asked for it. */
const pfa_symbol_t *pfa_symbols_find(pfa_symbols_t *symbols, uint32_t module, uint64_t address, size_t *count,
                                     bool *missed);
/* Calls `look` with the debug information of a module, under the lock, in the arena of the caller. False: there is none. */
bool pfa_symbols_dwarf(pfa_symbols_t *symbols, uint32_t module, void (*look)(void *to, struct pfa_dwarf *dwarf),
                       void *to);
/* Makes known what is there. Texts are copied. */
void pfa_symbols_put(pfa_symbols_t *symbols, const char *identity, uint64_t address, const pfa_symbol_t *list,
                     size_t count);
/* A text as it is kept here, once: equal texts have the same address. */
const char *pfa_symbols_text(pfa_symbols_t *symbols, const char *text);
/* Of these modules, by number, that they could not be asked, with the reason; and whether servers of debug information did not answer. */
void pfa_symbols_tell(pfa_symbols_t *symbols, const bool *missed, size_t count, pfa_notes_t *remarks);

#endif
