/* What the library and an instrumented module (a program or shared object built by profalloc-cc) know of each other.
 *
 * Each module has its callbacks linked into it (libprofalloc_access.a), and with them a view: a copy of what they must know
 * of the profiled range, at hand without the detour of a shared symbol. The module's constructor attaches the view; the
 * library fills it when recording with accesses begins, and it stays as it is from then on, but for `span`.
 *
 * Most modules look at addresses in the window alone (alloc/slice.h): nothing need be loaded to know that most addresses
 * are not ones to look at. Where the window cannot be had (39 bits of address, a program that uses it itself), modules are
 * built with PFA_ACCESS_ANYWHERE and compare with base and span.
 *
 * Layout and meaning are an interface between separately built binaries: PFA_ACCESS_VERSION (export/format/note.h) counts its
 * changes, and a view of another version is not filled. */
#ifndef PFA_HOOKS_ACCESS_VIEW_H
#define PFA_HOOKS_ACCESS_VIEW_H

#include "alloc/slice.h"
#include "base/compiler.h"
#include "export/format/note.h"
#include "meta/accessthread.h"
#include "meta/reading.h"

#include <stddef.h>
#include <stdint.h>

/* What an access adds to a record's counters (meta/record.h): n reads and m writes are n * READ + m * WRITE. */
#define PFA_ACCESS_READ ((uint64_t)1)
#define PFA_ACCESS_WRITE ((uint64_t)1 << 32)

/* An access that changes one of these bits of a record's counters came to where the time is asked for (export/format/live.h). */
#define PFA_ACCESS_SELDOM (~((uint64_t)(PFA_ACCESS_TICKS - 1) << 32 | (PFA_ACCESS_TICKS - 1)))

/* The upper bits of no address. */
#define PFA_NO_CELL UINTPTR_MAX

typedef struct pfa_access_view {
    uintptr_t base; /* addresses with address - base < span are looked at */
    uint64_t span;
    uintptr_t cell;   /* upper bits (PFA_CELL_SHIFT) of addresses in R and L, or with empty slices as if they were */
    uintptr_t slices; /* the slice that the address 0 would have */
    uintptr_t region_end; /* the end of R, where L begins, */
    uint64_t large_span;  /* and the length of L. Beyond that only `rare` knows */
    uint32_t version;     /* PFA_ACCESS_VERSION, set by the module */
    uint32_t size;        /* of this, likewise */
    uintptr_t window; /* likewise: where alone the module's callbacks look (PFA_WINDOW_BASE); 0: wherever `base` says */
    uint64_t merged;  /* likewise: was it compiled by the Clang pass, which tells several accesses as one range? */
    /* Does all that an access can ask for, and refreshes the thread's clock. */
    void (*rare)(uintptr_t address, uint64_t size, uint64_t counts, pfa_access_thread_t *thread);
    uint64_t *usual;         /* how often chunks are touched, by call site (meta/usual.h) */
    pfa_reading_t *readings; /* of the clock, by chunk (meta/reading.h) */
    struct pfa_access_view *next;
} pfa_access_view_t;
_Static_assert(offsetof(pfa_access_view_t, version) == 48 && offsetof(pfa_access_view_t, size) == 52,
               "these stay where they are in every version");
_Static_assert(offsetof(pfa_access_view_t, base) == 0 && offsetof(pfa_access_view_t, span) == 8,
               "hooks/pass knows these two places");

/* A module's view goes by a name with the version in it (hooks/pass knows it too): objects of an older pass, which bring
 * their callback along, do not link with this one's archive. */
#define pfa_access_view pfa_access_view_9

/* Of the library: each thread's state (meta/accessthread.h), and what modules' constructors and destructors call. */
void profalloc_access_attach(pfa_access_view_t *view);
void profalloc_access_detach(pfa_access_view_t *view);

/* Defined by every instrumented module, so that the library knows of one before any constructor has run. */
extern const char profalloc_instrumented __attribute__((weak));

#endif
