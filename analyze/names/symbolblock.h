/* The SYMBOLS block of packed traces: names of addresses, so that another machine can tell them without the programs.
 *
 *   pfa_symbolblock_head_t
 *   pfa_symbolblock_address_t each   a return address in a module, and which of the frames are there
 *   pfa_symbolblock_frame_t each     innermost first
 *   texts, each with a 0 behind; texts are told by their place among them, and 0 is the empty one, for "not known"
 *   u32 each                         the offset of each frame in its function; blocks of earlier versions end before */
#ifndef PFA_ANALYZE_NAMES_SYMBOLBLOCK_H
#define PFA_ANALYZE_NAMES_SYMBOLBLOCK_H

#include "analyze/names/stacks.h"
#include "analyze/trace/tracefile.h"

typedef struct pfa_symbolblock_head {
    uint32_t version;
    uint32_t addresses;
    uint32_t frames;
    uint32_t texts_size;
} pfa_symbolblock_head_t;

typedef struct pfa_symbolblock_address {
    uint64_t address;
    uint32_t module; /* a text: the build-id in hexadecimal, or the path */
    uint32_t first;
    uint32_t count;
    uint32_t padding;
} pfa_symbolblock_address_t;

typedef struct pfa_symbolblock_frame {
    uint32_t function;
    uint32_t file;
    uint32_t line;
    uint32_t inlined;
} pfa_symbolblock_frame_t;

/* Writes what is known of all frames of the stacks, in one or several blocks. */
void pfa_symbolblock_write(pfa_tracefile_t *writer, uint64_t time, pfa_stacks_t *stacks);
/* Makes the names of all SYMBOLS blocks of a trace known. False: one makes no sense. */
bool pfa_symbolblock_read(const pfa_trace_t *trace, pfa_symbols_t *symbols);

#endif
