/* The live table: a file, mapped into the process, with all that is not in the trace yet. It is there when the process was
 * killed, and it is what the tool reads of a running one. It lies beside the trace, or in memory, with a link to it there.
 *
 *   page 0 and on: pfa_live_head_t, with the table of extents
 *   extents, each of one kind, anywhere behind the head; a file can be longer than its extents
 *   extents whose offset has PFA_LIVE_MORE lie in a second file beside the trace. Two extents of records can be for the same
 *   regions, one in each file; where one has data the other has a hole
 *
 * What the reader does with it once the process is gone:
 *   - nodes from the trace's last on, out of the extents of nodes up to node_count;
 *   - ring entries from where the trace's EVENTS blocks for that ring end, or from its tail if that is further (blocks that
 *     could not be written have their deaths in the folds), up to its head: deaths;
 *   - records and large cells that are live: chunks alive. A thread killed in the middle of a free leaves its last entry
 *     in its ring and the record still live: a live record with the thread and time of the last entry of a ring is dead,
 *     and so is one that was the last to be folded (of a ring, or of those without), or is in the fold log;
 *   - folds, in place of the trace's, with what the fold log says;
 *   - thread names, tags, types, weights;
 *   - where the chunks lie: of regions by their descriptions, of large chunks by the addresses behind their cells. */
#ifndef PFA_EXPORT_FORMAT_LIVE_H
#define PFA_EXPORT_FORMAT_LIVE_H

#include "times.h"

#include <stdint.h>

#define PFA_LIVE_MAGIC 0x324556494c414650u /* "PFALIVE2" */
#define PFA_LIVE_SUFFIX ".live"            /* behind the whole name of the trace */
#define PFA_LIVE_MORE_SUFFIX ".more"       /* behind that, for the second file */
#define PFA_LIVE_MORE ((uint64_t)1 << 63)
#define PFA_LIVE_EXTENTS 32768u
#define PFA_LIVE_WEIGHTS 64u
#define PFA_LIVE_PAGE 65536u /* extents start and end on multiples of this */

typedef enum pfa_extent_kind {
    PFA_EXTENT_NONE = 0,
    PFA_EXTENT_RECORDS = 1, /* pfa_live_record_t every record_size bytes; most are zeros; some describe a region, before
                              * all records of it (PFA_RECORD_REGION) */
    PFA_EXTENT_LARGES = 2,  /* cells of PFA_LIVE_LARGE_CELL bytes that begin with a record (64 bytes, with accesses);
                              * then, from version 3 on, the address (u64) of the chunk of each cell: pfa_live_cells */
    PFA_EXTENT_NODES = 3,   /* pfa_live_node_t; index says which PFA_LIVE_NODES of them */
    PFA_EXTENT_FOLDS = 4,   /* pfa_live_fold_t by node number; index as for nodes */
    PFA_EXTENT_RING = 5,    /* one pfa_live_ring_t, entries from PFA_LIVE_RING_ENTRIES on; index: the ring's number */
    PFA_EXTENT_THREADS = 6, /* pfa_trace_thread_t; index says which PFA_LIVE_THREADS of them; number 0: none */
    PFA_EXTENT_TAGS = 7,  /* PFA_LIVE_TAG_SIZE bytes each, a text with a 0 behind; index: which PFA_LIVE_TAGS of them */
    PFA_EXTENT_MAPS = 8,  /* pfa_access_map_t one behind the other, each with its counters; words 0: no more */
    PFA_EXTENT_RINGS = 9, /* up to PFA_LIVE_RINGS_MAX rings, each with its entries behind it; index: the first number */
    PFA_EXTENT_TYPES = 10 /* pfa_live_type_t; index says which PFA_LIVE_TYPES of them */
} pfa_extent_kind_t;

typedef struct pfa_live_extent {
    uint32_t kind; /* pfa_extent_kind_t; written last */
    uint32_t index;
    uint64_t offset; /* in the file */
    uint64_t size;
} pfa_live_extent_t;

typedef enum pfa_live_ended {
    PFA_LIVE_RUNNING = 0, /* or gone without a word */
    PFA_LIVE_ENDED = 1,   /* the trace has its end, this file is no longer needed */
    PFA_LIVE_LEFT = 2     /* the process came to its exit, and left the end to the tool */
} pfa_live_ended_t;

/* A chunk whose death was folded for want of room. */
typedef struct pfa_live_folded {
    uint64_t alloc_time; /* 0: none was */
    uint64_t size_flags;
    uint32_t stack;
    uint32_t thread;
} pfa_live_folded_t;

/* The fold that is being added: while `state` is 1 it counts, whatever of it has been stored where it belongs. */
typedef struct pfa_live_fold_log {
    _Atomic uint32_t state;
    uint32_t stack;
    uint64_t chunks; /* what the stack's totals become */
    uint64_t bytes;
    pfa_live_folded_t chunk;
    uint32_t ring; /* if it was in a ring: which one, and what its tail becomes; else 0 */
    uint32_t padding;
    uint64_t tail;
} pfa_live_fold_log_t;
_Static_assert(sizeof(pfa_live_fold_log_t) == 64, "layout as written");

typedef struct pfa_live_head {
    uint64_t magic;
    uint32_t version; /* PFA_TRACE_VERSION */
    uint32_t pid;
    uint64_t session; /* as in the trace's first block */
    uint32_t record_size;
    uint32_t ended;         /* pfa_live_ended_t */
    uint64_t start_counter; /* records and entries of chunks from before are of another trace of the process */
    uint64_t last_counter;  /* a later reading of both clocks, refreshed now and then */
    uint64_t last_monotonic_ns;
    _Atomic uint32_t node_count; /* nodes stored so far, roots included */
    _Atomic uint32_t extent_count;
    _Atomic uint64_t file_size;
    _Atomic uint64_t unrecorded;
    _Atomic uint64_t folded; /* deaths in folds */
    _Atomic uint64_t inherited;
    pfa_live_fold_log_t fold_log;
    pfa_live_folded_t folded_last; /* of threads without a ring */
    uint64_t start_ticks;          /* when the process began, as /proc/PID/stat says; 0: not known */
    uint64_t boot;                 /* pfa_live_hash of PFA_LIVE_BOOT_PATH; 0: not known */
    _Atomic uint64_t instrumented; /* modules with access callbacks that were there, */
    _Atomic uint64_t merged;       /* and those whose accesses came joined, as in pfa_trace_counters_t */
    uint64_t pid_namespace;        /* pfa_live_hash of PFA_LIVE_PID_NAMESPACE_PATH, and PFA_LIVE_LOCKED; 0: not known */
    uint64_t weights[PFA_LIVE_WEIGHTS]; /* mean bytes between samples, by weight class */
    pfa_live_extent_t extents[PFA_LIVE_EXTENTS];
    /* Older tables end here, or are zeros up to the first extent: */
    pfa_trace_times_t times; /* refreshed now and then */
    uint64_t trace_identity; /* of the trace's file, so that it is known from another of its name: pfa_live_identity */
    char trace[4096];        /* its name, with a 0 behind */
} pfa_live_head_t;
_Static_assert(sizeof(pfa_live_head_t) == 736 + 24 * PFA_LIVE_EXTENTS + 144 + 8 + 4096, "layout as written");

/* A number may be another process's by now: it is the same one if it began at the same time of the same boot. The text of
 * /proc/PID/stat has that time in its field 22; the name in field 2 may have anything in it, but is in brackets. */
static inline uint64_t pfa_live_ticks(const char *stat)
{
    const char *at = stat;
    uint64_t ticks = 0;
    for (const char *next = stat; *next != '\0'; next++) {
        at = *next == ')' ? next : at;
    }
    for (int field = 2; field < 22 && *at != '\0'; at++) {
        field += *at == ' ';
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        ticks = ticks * 10 + (uint64_t)(*at - '0');
    }
    return ticks;
}

#define PFA_LIVE_BOOT_PATH "/proc/sys/kernel/random/boot_id"
#define PFA_LIVE_PID_NAMESPACE_PATH "/proc/self/ns/pid"
#define PFA_LIVE_LOCKED ((uint64_t)1) /* the process has the file locked for as long as it is there */
/* Of a text up to its first blank or end of line. */
static inline uint64_t pfa_live_hash(const char *id)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *id > ' '; id++) {
        hash = (hash ^ (unsigned char)*id) * 0x100000001b3u;
    }
    return hash;
}

/* A record as the runtime has it (meta/record.h), the 32 bytes that are always there. */
typedef struct pfa_live_record {
    uint64_t alloc_time;
    uint64_t size_flags; /* size << 16 | flags */
    uint32_t stack;
    uint32_t type_link; /* the type, and above it, if realloc made the chunk, the number of that realloc */
    uint16_t thread;
    uint16_t tag;
    uint16_t last_thread;
    uint16_t lead;
} pfa_live_record_t;
_Static_assert(sizeof(pfa_live_record_t) == 32, "layout as written");

/* Each thread numbers its reallocs. A number comes again after 4096 of them, which take longer than the steps that times
 * are cut to (unless the option time_step asks for long ones): thread, number and time link a life that realloc ended with the one that it began. */
#define PFA_ADDRESS_UNIT 8u /* chunks start at multiples of this */
#define PFA_TYPE_BITS 20
#define PFA_TYPE_MASK ((1u << PFA_TYPE_BITS) - 1)
#define PFA_LINK_MASK (UINT32_MAX >> PFA_TYPE_BITS)

/* Bits of size_flags, the same in records and in events (in events the low two mean what pfa_event_t says). */
#define PFA_RECORD_STATE 3u /* the two low bits */
#define PFA_RECORD_LIVE 1u  /* their value for a chunk that is live and recorded */
#define PFA_RECORD_ALIGNED (1u << 2)
#define PFA_RECORD_REALLOC (1u << 3)
#define PFA_RECORD_ZEROED (1u << 4)
#define PFA_RECORD_NEW (1u << 5)
#define PFA_RECORD_ARRAY (1u << 6)
#define PFA_RECORD_LARGE (1u << 7)
#define PFA_RECORD_SHARED (1u << 8)
#define PFA_RECORD_WEIGHT_SHIFT 9
#define PFA_RECORD_WEIGHT_MASK 63u
#define PFA_RECORD_SIZE_SHIFT 16

#define PFA_LIVE_LARGE_CELL 64u

/* How many cells an extent of so many bytes has. */
static inline uint64_t pfa_live_cells(uint64_t size, uint32_t version)
{
    return size / (PFA_LIVE_LARGE_CELL + (version >= 3 ? sizeof(uint64_t) : 0));
}

/* Flags of a record that is no chunk's, but describes a region: chunks of one slot size, one behind the other. It says in
 *   alloc_time   the address of the first slot
 *   size_flags   the size of a slot << 16 | PFA_RECORD_REGION
 *   stack        how many slots there are, at most
 *   type_link    how many records further on the first slot's is
 * Its state is that of no chunk. A region that comes where another was has the same or another description; then all chunks of the
 * old one are dead. */
#define PFA_RECORD_REGION 0xfffcu
static inline int pfa_live_is_region(uint64_t size_flags)
{
    return (uint16_t)size_flags == PFA_RECORD_REGION;
}

typedef struct pfa_live_node {
    uint64_t pc;
    uint32_t parent;
    uint32_t ready; /* 1 once the others are stored */
} pfa_live_node_t;
#define PFA_LIVE_NODES 16384u

typedef struct pfa_live_fold {
    uint64_t chunks; /* in 1/1024 */
    uint64_t bytes;
} pfa_live_fold_t;

/* One death. */
#define PFA_EVENT_MOVED 1u  /* in size_flags: realloc ended this life; the next one has its free_time and its link */
#define PFA_EVENT_BEFORE 2u /* of a chunk from before this trace: another's to tell, not counted */
#define PFA_EVENT_FLAGS 0xffffu
typedef struct pfa_event {
    uint64_t alloc_time;
    uint64_t free_time;
    uint64_t size_flags;
    uint32_t stack;
    uint32_t free_stack;
    uint32_t type_link;
    uint16_t thread;
    uint16_t tag;
    uint16_t free_thread;
    uint16_t last_thread;
    uint32_t moved_link; /* number of the realloc that ended it; else 0 */
} pfa_event_t;
_Static_assert(sizeof(pfa_event_t) == 48, "layout as written");

/* What was done with a chunk, as its record has it where record_size is 64: behind the 32 bytes above. */
typedef struct pfa_live_accesses {
    uint64_t first; /* start / 8 << PFA_FIRST_BITS | pfa_first_code(time of the first access - alloc_time) */
    uint64_t last;
    uint32_t low; /* lowest and highest byte touched, counted from where `start` is; low > high: none was */
    uint32_t high;
    uint32_t reads; /* both as pfa_access_counter has them */
    uint32_t writes;
} pfa_live_accesses_t;
_Static_assert(sizeof(pfa_live_accesses_t) == 32, "layout as written");
#define PFA_FIRST_BITS 48
#define PFA_FIRST_EXACT ((uint64_t)1 << 47) /* in ticks; else in units of 16 */
#define PFA_FIRST_SHIFT 4

/* The time from a chunk's birth to its first access: in ticks for the first day and a half of its life, if a tick is a nanosecond. Tables
 * from before there was PFA_FIRST_EXACT are read as they are meant. */
static inline uint64_t pfa_first_code(uint64_t late)
{
    uint64_t units = late >> PFA_FIRST_SHIFT;
    return late < PFA_FIRST_EXACT ? PFA_FIRST_EXACT | late : units < PFA_FIRST_EXACT ? units : PFA_FIRST_EXACT - 1;
}

static inline uint64_t pfa_first_time(uint64_t first)
{
    uint64_t time = first & (PFA_FIRST_EXACT - 1);
    return (first & PFA_FIRST_EXACT) != 0 ? time : time << PFA_FIRST_SHIFT;
}

/* When a thread asks for the time: whenever the number of a chunk's reads, or that of its writes, comes to a number that was chosen
 * when it was asked for last (hooks/access/schedule.h). That costs the usual access nothing: a counter carries, where it comes
 * there, into the bits that are looked at.
 *
 *   bit 31 is 0:  bits 10-30  the number at which the time is asked for
 *                 bits 0-9    PFA_ACCESS_TICKS less how many are missing until then, 1 to PFA_ACCESS_TICKS of them
 *   bit 31 is 1:  bits 0-30   the count itself; the time is asked for at multiples of PFA_ACCESS_TICKS. Of high counts */
#define PFA_ACCESS_TICKS 1024u
#define PFA_ACCESS_TICK_BITS 10u
#define PFA_ACCESS_FAR (1u << 31)
#define PFA_ACCESS_NEAR_MAX ((1u << (31 - PFA_ACCESS_TICK_BITS)) - 1)
#define PFA_ACCESS_NONE (1u << PFA_ACCESS_TICK_BITS | (PFA_ACCESS_TICKS - 1)) /* 0, and the time is asked for at 1 */
#define PFA_ACCESS_FULL (INT32_MAX & ~(PFA_ACCESS_TICKS - 1))                 /* more are counted no more */

/* The counter that says so many, and asks for the time after as many more as `until` says, 1 to PFA_ACCESS_TICKS. */
static inline uint32_t pfa_access_counter(uint32_t count, uint32_t until)
{
    if (count > PFA_ACCESS_NEAR_MAX - until) {
        return PFA_ACCESS_FAR | (count < PFA_ACCESS_FULL ? count : PFA_ACCESS_FULL);
    }
    return ((count + until) << PFA_ACCESS_TICK_BITS) + PFA_ACCESS_TICKS - until;
}

/* What a counter says; 0 of one that is none. */
static inline uint32_t pfa_access_count(uint32_t counter)
{
    uint32_t asked = counter >> PFA_ACCESS_TICK_BITS;
    uint32_t missing = PFA_ACCESS_TICKS - (counter & (PFA_ACCESS_TICKS - 1));
    if ((counter & PFA_ACCESS_FAR) != 0) {
        return (counter & INT32_MAX) < PFA_ACCESS_FULL ? counter & INT32_MAX : INT32_MAX;
    }
    return asked > missing ? asked - missing : 0;
}

/* The same of a live table of version 2: bit 31 says whether intervals are a 16th of the count or all of it, bits 10-30 number them, bits
 * 0-9 count within; an interval is 1 long for the first 32 counts, or 2, then 2 for as many again, and so on up to 1024. */
static inline uint32_t pfa_access_count_2(uint32_t counter)
{
    uint32_t part_bits = counter >> 31 != 0 ? 4 : 0;
    uint32_t interval = (counter & INT32_MAX) >> 10;
    uint32_t parts = interval >> part_bits;
    uint32_t bits = parts < 2 ? 0 : parts - 1 < 10 ? parts - 1 : 10;
    uint32_t start = (interval - (bits << part_bits)) << bits;
    uint32_t low = counter & 1023;
    uint32_t before = 1024 - (1u << bits);
    uint32_t count = start + (low > before ? low - before : 0);
    return count < INT32_MAX - (256u << 10) ? count : INT32_MAX;
}

/* The same of a live table of version 1. */
static inline uint32_t pfa_access_count_1(uint32_t counter, uint64_t alloc_time)
{
    uint32_t phase = (uint32_t)alloc_time % PFA_ACCESS_TICKS;
    uint32_t count = counter > phase ? counter - phase : 0;
    return count < INT32_MAX ? count : INT32_MAX;
}

/* The same as it is told of a death. */
typedef struct pfa_event_accesses {
    uint64_t first; /* times; 0 if it was never touched */
    uint64_t last;
    uint32_t low;    /* the first byte touched, from the chunk's start, and */
    uint32_t length; /* how many from there to the last, both in units of 1 << pfa_access_unit(size); 0: none */
    uint32_t reads;
    uint32_t writes;
} pfa_event_accesses_t;
_Static_assert(sizeof(pfa_event_accesses_t) == 32, "layout as written");

/* Places in a chunk of 2 GiB or more are told in coarser units. */
static inline uint32_t pfa_access_unit(uint64_t size)
{
    return size >> 31 == 0 ? 0 : 33u - (uint32_t)__builtin_clzll(size);
}

/* So many of them are a chunk. */
static inline uint64_t pfa_access_units(uint64_t size)
{
    uint32_t unit = pfa_access_unit(size);
    return (size + ((uint64_t)1 << unit) - 1) >> unit;
}

static inline pfa_event_accesses_t pfa_live_accesses(const pfa_live_accesses_t *live, uint64_t alloc_time,
                                                     uint64_t size)
{
    uint64_t start = (live->first >> PFA_FIRST_BITS) << 3;
    uint64_t end = pfa_access_units(size);
    uint64_t low = live->low > start ? live->low - start : 0;
    uint64_t behind = live->high + 1ull > start ? live->high + 1ull - start : 0;
    /* What the program did beyond the size it asked for is not of this chunk; and a record may be read while it is written. */
    behind = behind < end ? behind : end;
    pfa_event_accesses_t told = {.reads = pfa_access_count(live->reads), .writes = pfa_access_count(live->writes)};
    if (live->low > live->high || low >= behind) {
        return told;
    }
    told.low = (uint32_t)low;
    told.length = (uint32_t)(behind - low);
    told.first = alloc_time + pfa_first_time(live->first);
    told.last = live->last > told.first ? live->last : told.first;
    return told;
}

/* The entries of a ring, then, where record_size is 64, the pfa_event_accesses_t of each, in the same order, then, where
 * has_addresses is 1, the address (u64) of each one's chunk. */
#define PFA_LIVE_RING_ENTRIES 4096u
#define PFA_LIVE_RINGS_MAX 64u
typedef struct pfa_live_ring {
    uint32_t number;
    uint32_t entry_size; /* sizeof(pfa_event_t); accesses are in an array behind the entries */
    uint64_t capacity;   /* entries, a power of two; entry n is at n mod capacity */
    uint64_t base;       /* the entry that the trace began with: EVENTS blocks count from it */
    uint64_t stride;     /* of several in an extent: bytes from one to the next, the same for all; else 0 */
    uint64_t has_addresses;
    uint64_t padding0[3];
    _Atomic uint64_t head; /* entries stored so far; the owner's */
    pfa_live_folded_t folded_last;
    uint64_t padding1[4];
    _Atomic uint64_t tail; /* entries that are in the trace or in folds; the writer's */
    uint64_t folded_from;  /* 1 and the first entry that could not be written and is in folds; 0: none was */
    uint64_t padding2[6];
} pfa_live_ring_t;
_Static_assert(sizeof(pfa_live_ring_t) == 192, "each side has its own cache line");

/* Which words of the chunks of an allocation point were touched how often; only with the option access_map. A point may
 * have several of these, of different lengths: their sum counts. Behind it `words` times uint64_t reads, by 8-byte words
 * from the start of the chunk, then `words` times uint64_t writes. A word is counted once for each access that touches it; of a
 * loop that the Clang pass told as one range, each word has its share, rounded down. */
typedef struct pfa_access_map {
    uint32_t words;
    uint32_t stack;
} pfa_access_map_t;
_Static_assert(sizeof(pfa_access_map_t) == 8, "layout as written");

#define PFA_LIVE_THREADS 2048u
#define PFA_LIVE_TAG_SIZE 64u
#define PFA_LIVE_TAGS 1024u

/* A type of which the program said that chunks hold it. Types are numbered from 1. */
typedef struct pfa_live_type {
    uint64_t size;      /* of one element */
    uint32_t name_size; /* 0: there is none of this number; written last */
    uint32_t next;      /* the runtime's own */
    char name[240];     /* not terminated */
} pfa_live_type_t;
_Static_assert(sizeof(pfa_live_type_t) == 256, "layout as written");
#define PFA_LIVE_TYPES 256u
#define PFA_LIVE_TYPES_MAX 65536u

#endif
