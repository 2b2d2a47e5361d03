/* What the two halves of the trace maker share: a random heap with its truth, written as a trace by one and as a live table
 * by the other. */
#ifndef PFA_TESTS_MAKE_TRACE_H
#define PFA_TESTS_MAKE_TRACE_H

#include "analyze/trace/tracefile.h"
#include "export/format/batch.h"
#include "tests/checked.h"

enum { RINGS = 3, STACKS = 12, NODE_COUNT = PFA_NODE_FIRST + STACKS, CLASS = 3, PERIOD = 4096, UNWRITTEN = 40 };
enum { MAP_SHORT = 4, MAP_LONG = 64, MAPS_ROOM = 64 << 10 };
enum { SESSION = 0x5e5510 };

/* One chunk's life. */
typedef struct life {
    pfa_event_t event; /* free_time 0: alive at the end */
    pfa_event_accesses_t accesses;
    uint32_t ring;
} life_t;

typedef struct heap {
    life_t *deaths; /* by ring, then in order of death */
    size_t death_count;
    life_t *lives;
    size_t live_count;
    size_t ring_start[RINGS + 1]; /* into deaths */
    uint32_t parents[NODE_COUNT];
    uint64_t pcs[NODE_COUNT];
    uint64_t start;
    uint64_t end; /* in ticks of a nanosecond */
} heap_t;

typedef struct made {
    const char *path;
    pfa_tracefile_t writer;
    pfa_batch_t *batch;
    uint8_t *bytes;
    uint64_t run;
    uint32_t shift;
    uint32_t form; /* flags of all batches of deaths */
    uint64_t pid;
    uint64_t session; /* another for another name of the file */
    bool given;       /* chunks are read from standard input */
    bool folded;
    bool sampled;
    bool now;
    bool unwritten;
    bool settled;
    uint64_t folds;
    bool accesses;     /* there is room for them, */
    bool instrumented; /* and something to tell */
    bool maps;
    bool merged; /* one of two modules joins accesses */
    bool told;   /* which modules are instrumented */
    bool gap;    /* the final picture is without */
    bool alive;  /* no chunk dies */
    bool wide;   /* hardly any size comes twice */
    bool dense;
    bool sized; /* all chunks are of this */
    uint64_t size;
    unsigned bits;  /* of their counters */
    uint64_t later; /* by both clocks, */
    uint64_t boot;  /* and by the one since the boot alone */
    uint64_t slow;  /* nanoseconds that a tick takes */
    pfa_trace_times_t times;
} made_t;

/* The heap's stacks, and the module that their addresses are in. */
void make_nodes(heap_t *heap);
void write_modules(made_t *made, uint64_t time);

/* Blocks of a trace: the deaths that were gathered, with which a batch of others begins; a picture; totals, as the words of the
 * command line ask for. */
void flush_events(made_t *made, uint64_t time, uint32_t flags);
void write_picture(made_t *made, const life_t *lives, size_t count, uint64_t time, uint32_t flags);
void write_totals(made_t *made, const heap_t *heap, char **words);
void make_big(made_t *made, heap_t *heap, uint64_t chunks, uint64_t seed);
void make_many(made_t *made, heap_t *heap, uint64_t chunks, uint64_t seed, uint32_t points);

/* Reads so many chunks from standard input. */
void read_heap(const made_t *made, heap_t *heap, size_t chunks);

/* Gives the chunks of the heap accesses, and tells the truth about those of one; `number` places it somewhere. */
void make_accesses(const made_t *made, heap_t *heap, uint64_t seed);
void tell_accesses(const life_t *life);
pfa_live_accesses_t live_accesses_of(const life_t *life, size_t number);
/* Maps as blocks and live tables have them, of at most MAPS_ROOM bytes; returns their length. */
size_t make_maps(uint8_t *out, bool older);
void write_maps(made_t *made, uint64_t time, bool older);

/* Writes `path`.live: rings with entries up to all deaths of each, of which `in_trace` are said to be in the trace, and
 * records of all live chunks; with `dying`, the last death of each ring still has its record. */
void write_live_table(const made_t *made, const heap_t *heap, const size_t in_trace[RINGS], bool dying);

#endif
