/* Call stacks of all traces of a report, told by what does not change from run to run: the module and the address in it.
 * Two stacks are the same if all their frames are. */
#ifndef PFA_ANALYZE_NAMES_STACKS_H
#define PFA_ANALYZE_NAMES_STACKS_H

#include "analyze/base/notes.h"
#include "analyze/base/slots.h"
#include "analyze/names/symbols.h"

typedef struct pfa_frame {
    uint64_t address; /* the return address in the module's own terms, or as it was if in no module */
    uint64_t hash;    /* of this frame and all its callers: the same in all runs */
    uint32_t module;
    uint32_t caller; /* a frame, or a root as in export/format/trace.h */
} pfa_frame_t;

typedef struct pfa_stacks {
    pfa_symbols_t *symbols;
    pfa_frame_t *frames; /* by number; the first ones are the roots */
    size_t count;
    size_t room;
    pfa_slots_t slots; /* of frames, but for the roots */
    bool *missed;      /* by module: a name was wanted and could not be had */
    size_t missed_room;
} pfa_stacks_t;

void pfa_stacks_begin(pfa_stacks_t *stacks, pfa_symbols_t *symbols);
void pfa_stacks_free(pfa_stacks_t *stacks);
/* The number of a trace's stack here. `known` has a place for each node of the trace, zeros at first. */
uint32_t pfa_stacks_add(pfa_stacks_t *stacks, const pfa_trace_t *trace, uint32_t node, uint32_t *known);

/* What is at a frame: as pfa_symbols_find. */
const pfa_symbol_t *pfa_stacks_find(pfa_stacks_t *stacks, const pfa_frame_t *frame, size_t *count);
/* Modules whose names were wanted and could not be had, and why. */
void pfa_stacks_tell(const pfa_stacks_t *stacks, pfa_notes_t *remarks);

/* One line of a stack as people see it: a function, maybe inlined into the next. */
typedef struct pfa_line {
    const pfa_symbol_t *symbol;
    const char *module; /* NULL: none */
    const char *build;  /* the same for all that are of one build of the module; NULL: not known */
    uint64_t address;
} pfa_line_t;

/* Whether it is the allocator's own, or a function by that name. */
bool pfa_line_is_allocator(const pfa_line_t *line);

typedef struct pfa_lines {
    pfa_line_t *list;
    size_t count;
    size_t room;
    uint32_t root; /* PFA_NODE_TRUNCATED, ...: what is beyond the last */
} pfa_lines_t;

/* The lines of a stack, without the allocator's own at the top. Replaces what was in `lines`. */
void pfa_stacks_lines(pfa_stacks_t *stacks, uint32_t stack, pfa_lines_t *lines);
void pfa_lines_free(pfa_lines_t *lines);

#endif
