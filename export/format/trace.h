/* The trace: an append-only file of blocks, `*.pa`. This file is the one description of it that both sides compile.
 *
 *   +--------------+-----------------+--------------+-----------------+---
 *   | block header | stored payload  | block header | stored payload  | ...
 *   +--------------+-----------------+--------------+-----------------+---
 *
 * All numbers are little-endian. A block says how long it is and carries a checksum, so any prefix of whole blocks is a
 * valid trace, and a reader that meets damage can look for the next magic number. Kinds that a reader does not know are
 * skipped. The first block is PFA_BLOCK_START. A trace that was ended has a PFA_BLOCK_END as its last one; one that was
 * not has a live table beside it (export/format/live.h), with what was still in flight.
 *
 * Times are readings of the CPU counter; pfa_trace_clock_t says what they are in nanoseconds. Stacks are nodes: a number
 * stands for a return address and the node of its caller, down to one of the roots. */
#ifndef PFA_EXPORT_FORMAT_TRACE_H
#define PFA_EXPORT_FORMAT_TRACE_H

#include "times.h"

#include <stdint.h>

/* 3: batches may have addresses (PFA_BATCH_ADDRESSES of batch.h), those of pictures always have. 2: batches have lengths beside
 * their times (PFA_BATCH_LENGTHS). Versions 1 and 2 are still read. */
#define PFA_TRACE_VERSION 3u
#define PFA_TRACE_SUFFIX ".pa"
#define PFA_BLOCK_MAGIC 0x4b414650u /* "PFAK" */

typedef enum pfa_block_kind {
    PFA_BLOCK_START = 1,   /* pfa_trace_start_t, then its strings */
    PFA_BLOCK_NODES = 2,   /* pfa_trace_nodes_t, then `count` parents (u32), then, 8-byte aligned, `count` pcs (u64) */
    PFA_BLOCK_MODULES = 3, /* pfa_trace_modules_t, then `count` times pfa_trace_module_t, build-id, path */
    PFA_BLOCK_THREADS = 4, /* pfa_trace_thread_t each; a later one of the same number replaces the earlier */
    PFA_BLOCK_EVENTS = 5,  /* deaths: export/format/batch.h */
    PFA_BLOCK_LIVE = 6,    /* chunks alive: pfa_trace_live_t, its name, then a batch without free times */
    PFA_BLOCK_FOLDS = 7,   /* pfa_trace_fold_t each, by stack: totals since the start. The last block counts, with those
                             * before it that it goes on from, with higher stacks */
    PFA_BLOCK_COUNTERS = 8, /* pfa_trace_counters_t: since the start, the last block counts */
    PFA_BLOCK_CLOCK = 9,    /* pfa_trace_clock_t: the first and the last give the speed of the counter */
    PFA_BLOCK_TAGS = 10,    /* pfa_trace_tag_t each, with its name */
    PFA_BLOCK_WEIGHTS = 11, /* u64 each: the mean bytes between samples, by weight class; 0: every chunk */
    PFA_BLOCK_MARK = 12,    /* pfa_trace_mark_t and a text: something was said (recording stopped, disk full, ...) */
    PFA_BLOCK_END =
        13, /* pfa_trace_end_t, then pfa_trace_index_t for each block before it, or for none if that is too long */
    PFA_BLOCK_SYMBOLS = 14, /* of `profalloc pack`: the tool's own (analyze/) */
    PFA_BLOCK_MAPS = 15,    /* pfa_access_map_t (live.h) each with its counters: since the start. The last block of a
                             * stack and length counts */
    PFA_BLOCK_TABLE = 20,   /* where the live table lies, if not beside the trace: a path, not terminated */
    PFA_BLOCK_REGIONS =
        21, /* pfa_trace_regions_t, then `count` times pfa_trace_region_t, before the LIVE blocks with their chunks */
    PFA_BLOCK_TYPES = 22 /* pfa_trace_type_t each, with its name */
} pfa_block_kind_t;

#define PFA_BLOCK_COMPRESSED 1u /* flag: the payload is a zstd frame */
#define PFA_BLOCK_RAW_MAX ((uint32_t)64 << 20)

typedef struct pfa_block_header {
    uint32_t magic;
    uint16_t kind; /* pfa_block_kind_t */
    uint16_t flags;
    uint32_t raw_size;    /* of the payload, unpacked */
    uint32_t stored_size; /* in the file, behind this header */
    uint64_t time;        /* when the block was made, by the counter */
    uint64_t checksum;    /* pfa_checksum of this header with 0 here, then of the stored payload */
} pfa_block_header_t;
_Static_assert(sizeof(pfa_block_header_t) == 32, "layout as written");

#define PFA_ARCH_X86_64 1u
#define PFA_ARCH_ARM64 2u

typedef enum pfa_trace_origin {
    PFA_ORIGIN_FIRST = 0,
    PFA_ORIGIN_FORK = 1, /* a fork child goes on in a trace of its own */
    PFA_ORIGIN_NEXT =
        2 /* the process had another before (mprof_restart); its threads may have been at work meanwhile */
} pfa_trace_origin_t;

typedef struct pfa_trace_start {
    uint32_t version;
    uint32_t arch;
    uint64_t session; /* a random number; the live table of the same session has it too */
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t counter;      /* readings at the start: the CPU counter, */
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC, */
    uint64_t unix_ns;      /* CLOCK_REALTIME */
    uint64_t counter_hz;   /* as far as known at the start; clock blocks tell better */
    uint32_t record_size;  /* 32, or 64 with accesses */
    uint32_t stack_depth;
    uint64_t sample;       /* mean bytes between samples, 1: every chunk */
    uint32_t origin;       /* pfa_trace_origin_t */
    uint32_t program_size; /* then follow the program's path, */
    uint32_t command_size; /* its arguments, each with a 0 behind, */
    uint32_t options_size; /* and the options in force, as text */
    uint64_t run;          /* which `profalloc run` it is of; 0: none */
} pfa_trace_start_t;
_Static_assert(sizeof(pfa_trace_start_t) == 96, "layout as written");

/* Nodes below this are roots: what lies beyond the outermost frame that was recorded. */
#define PFA_NODE_COMPLETE 0u  /* nothing: it is the outermost */
#define PFA_NODE_TRUNCATED 1u /* more frames than stack_depth */
#define PFA_NODE_BROKEN 2u    /* the unwinder found no way on */
#define PFA_NODE_UNKNOWN 3u   /* a stack that was not taken at all */
#define PFA_NODE_FIRST 4u

/* A pc is a return address: the call is at pc - 1. */
typedef struct pfa_trace_nodes {
    uint32_t first; /* number of the first of them */
    uint32_t count;
} pfa_trace_nodes_t;

/* The modules that the nodes from first_node on are to be looked up in, up to the next such block's. */
typedef struct pfa_trace_modules {
    uint32_t first_node;
    uint32_t count;
} pfa_trace_modules_t;

/* Flags of a module: whether its accesses are told (export/format/note.h). Older traces have neither. */
#define PFA_MODULE_TOLD 1u         /* it is known whether, */
#define PFA_MODULE_INSTRUMENTED 2u /* and they are */

typedef struct pfa_trace_module {
    uint64_t bias;  /* address in memory less address in the file's own terms */
    uint64_t start; /* the mapped range */
    uint64_t end;
    uint16_t build_id_size;
    uint16_t path_size;
    uint32_t flags; /* PFA_MODULE_... The next one starts right behind the path */
} pfa_trace_module_t;
_Static_assert(sizeof(pfa_trace_module_t) == 32, "layout as written");

typedef struct pfa_trace_thread {
    uint32_t number; /* as in events; numbers are reused only after 65535 threads */
    uint32_t tid;
    uint64_t start; /* time of its first allocation */
    char name[16];
} pfa_trace_thread_t;
_Static_assert(sizeof(pfa_trace_thread_t) == 32, "layout as written");

/* A picture of all live chunks, in one or several blocks. */
#define PFA_LIVE_LAST 1u  /* the last block of this picture */
#define PFA_LIVE_FINAL 2u /* the picture at the end of the trace, else one that was asked for */
typedef struct pfa_trace_live {
    uint32_t number; /* of the picture, 1 and up */
    uint32_t flags;
    uint64_t time; /* when it was begun */
    uint32_t name_size;
    uint32_t padding;
} pfa_trace_live_t; /* then the name, then from the next multiple of 8 the batch */
_Static_assert(sizeof(pfa_trace_live_t) == 24, "layout as written");

/* Of the chunks of a picture, where the small ones lie: in slots of one size, one behind the other. Each region is told once, if
 * it has a chunk in the picture. Large chunks are in none. */
typedef struct pfa_trace_regions {
    uint32_t picture; /* as in pfa_trace_live_t */
    uint32_t count;
} pfa_trace_regions_t;

typedef struct pfa_trace_region {
    uint64_t start; /* address of the first slot */
    uint32_t slot_size;
    uint32_t slots; /* at most */
} pfa_trace_region_t;
_Static_assert(sizeof(pfa_trace_region_t) == 16, "layout as written");

/* Deaths that were not written one by one, because the writer could not keep up. */
typedef struct pfa_trace_fold {
    uint32_t stack;
    uint32_t padding;
    uint64_t chunks; /* in 1/1024, with their weights if sampled */
    uint64_t bytes;
} pfa_trace_fold_t;
_Static_assert(sizeof(pfa_trace_fold_t) == 24, "layout as written");

typedef struct pfa_trace_counters {
    uint64_t allocations; /* as the runtime counted them, weighted if sampled; for checking */
    uint64_t frees;
    uint64_t bytes_allocated;
    uint64_t bytes_freed;
    uint64_t peak_bytes;
    uint64_t unrecorded; /* chunks that should have been recorded, and there was no room */
    uint64_t bad_frees;
    uint64_t folded;    /* deaths in folds */
    uint64_t inherited; /* deaths of chunks that are another process's, before a fork */
    /* These two are not in older traces: */
    uint64_t instrumented; /* modules with access callbacks that were there; 0: nothing is known of accesses */
    uint64_t merged; /* of these, modules whose accesses came joined to ranges: maps of words may have words between */
    /* Nor is this: */
    pfa_trace_times_t times; /* zeros: nothing was measured */
    /* Nor this, which only `profalloc seal` writes: */
    uint64_t lost; /* deaths that rings once had, and that are neither in EVENTS blocks nor in folds */
} pfa_trace_counters_t;

typedef struct pfa_trace_clock {
    uint64_t counter;
    uint64_t monotonic_ns;
} pfa_trace_clock_t;

typedef struct pfa_trace_tag {
    uint32_t number;
    uint32_t name_size; /* the name follows, and no padding */
} pfa_trace_tag_t;

typedef struct pfa_trace_type {
    uint32_t number; /* as in events, from 1 on */
    uint32_t name_size;
    uint64_t size; /* of one element, in bytes; 0: not known. The name follows, and no padding */
} pfa_trace_type_t;

typedef enum pfa_mark {
    PFA_MARK_STARTED = 1, /* recording went on (profalloc_start) */
    PFA_MARK_STOPPED = 2, /* profalloc_stop */
    PFA_MARK_LOST = 3     /* something could not be recorded or written from here on: the text says what */
} pfa_mark_t;

typedef struct pfa_trace_mark {
    uint64_t time;
    uint32_t what; /* pfa_mark_t */
    uint32_t text_size;
} pfa_trace_mark_t;

typedef enum pfa_end {
    PFA_END_EXIT = 1,    /* by the process itself */
    PFA_END_SEALED = 2,  /* by the tool, after the process was gone */
    PFA_END_STOPPED = 3, /* the process went on, recording did not (mprof_stop, another trace) */
    PFA_END_EXEC = 4     /* by the process itself, before it became another program */
} pfa_end_t;

typedef struct pfa_trace_end {
    uint32_t how; /* pfa_end_t */
    uint32_t blocks;
} pfa_trace_end_t;

typedef struct pfa_trace_index {
    uint64_t offset;
    uint32_t kind;
    uint32_t size; /* header and stored payload */
} pfa_trace_index_t;

/* Of a header or payload, continued from another with `seed`. Four lanes of multiply and rotate. */
static inline uint64_t pfa_checksum_mix(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * 0x9e3779b97f4a7c15u;
    return lane ^ lane >> 29;
}

static inline uint64_t pfa_checksum(uint64_t seed, const void *data, uint64_t size)
{
    const unsigned char *bytes = (const unsigned char *)data;
    uint64_t lanes[4] = {seed ^ 0x243f6a8885a308d3u, seed ^ 0x13198a2e03707344u, seed ^ 0xa4093822299f31d0u,
                         seed ^ size};
    uint64_t i = 0;
    for (; i + 32 <= size; i += 32) {
        for (uint64_t lane = 0; lane < 4; lane++) {
            uint64_t word;
            __builtin_memcpy(&word, bytes + i + 8 * lane, 8);
            lanes[lane] = pfa_checksum_mix(lanes[lane], word);
        }
    }
    for (uint64_t lane = 0; i < size; i += 8, lane++) {
        uint64_t word = 0;
        __builtin_memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
        lanes[lane & 3] = pfa_checksum_mix(lanes[lane & 3], word);
    }
    uint64_t sum = pfa_checksum_mix(lanes[0], lanes[1]);
    return pfa_checksum_mix(pfa_checksum_mix(sum, lanes[2]), lanes[3]);
}

static inline uint64_t pfa_block_checksum(const pfa_block_header_t *header, const void *stored)
{
    pfa_block_header_t copy = *header;
    copy.checksum = 0;
    return pfa_checksum(pfa_checksum(0, &copy, sizeof copy), stored, header->stored_size);
}

#endif
