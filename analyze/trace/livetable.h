/* The live table beside a trace (export/format/live.h), as the tool reads it: of a process that is gone, or of one that
 * goes on meanwhile. It is read with pread, since the process may cut or remove it; what lies outside the file is
 * ignored. */
#ifndef PFA_ANALYZE_TRACE_LIVETABLE_H
#define PFA_ANALYZE_TRACE_LIVETABLE_H

#include "analyze/trace/regions.h"
#include "export/format/live.h"
#include "export/format/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Entries of one ring that are there to be read. */
typedef struct pfa_live_span {
    uint32_t ring;
    uint64_t first;   /* number of events[0] */
    uint64_t head;    /* entries stored in all */
    uint64_t missing; /* between the asked first and this one, and not in folds */
    uint64_t folded_from;
    uint64_t folded_to; /* entries between these two could not be written and are in folds; equal: none */
    pfa_event_t *events;
    pfa_event_accesses_t *accesses; /* of each; NULL: the ring has none */
    uint64_t *addresses;            /* likewise */
    size_t count;
    pfa_event_t last; /* the newest entry */
    bool has_last;
    pfa_live_folded_t folded;
} pfa_live_span_t;

typedef struct pfa_livetable {
    int fd;
    int more_fd; /* of the second file; -1: there is none */
    char *path;  /* of the file, not of a link to it */
    uint64_t size;
    uint64_t more_size;
    uint64_t data; /* bytes that are not holes, about */
    pfa_live_head_t *head;
    pfa_live_extent_t *extents; /* that lie in the file */
    size_t extent_count;
    size_t ignored; /* extents that do not, or overlap with another */
} pfa_livetable_t;

/* The table of this session. `path` is where it is beside the trace, which may be a link; `named`, if not NULL, is what the
 * trace itself says, in case that there is nothing. 0; ENOENT: there is none; ESTALE: it is of another session;
 * EBADMSG: it is none; EPERM: it is neither the trace's owner's, whom the caller tells, nor ours, and whoever made the link may
 * mean to show us what is a third one's; or another error number. */
int pfa_livetable_open(const char *path, const char *named, uint64_t session, uid_t owner, pfa_livetable_t **table);
/* Removes its files, and a link at `path`. 0 or the error number of the first that could not be removed. */
int pfa_livetable_remove(const pfa_livetable_t *table, const char *path);
void pfa_livetable_close(pfa_livetable_t *table);
/* Whether the process that writes it is still there. */
bool pfa_livetable_in_use(const pfa_livetable_t *table, const char *path);

/* Where an extent lies. */
static inline int pfa_livetable_fd(const pfa_livetable_t *table, const pfa_live_extent_t *extent)
{
    return (extent->offset & PFA_LIVE_MORE) != 0 ? table->more_fd : table->fd;
}

static inline uint64_t pfa_livetable_offset(const pfa_live_extent_t *extent)
{
    return extent->offset & ~PFA_LIVE_MORE;
}

/* Each calls `visit` for what the table holds. */
/* Accesses are NULL where records have no room for them. Where the chunk lies is told as far as it is known. */
typedef void pfa_live_record_visit_t(void *to, const pfa_live_record_t *record, const pfa_event_accesses_t *accesses,
                                     const pfa_live_place_t *place);
typedef void pfa_live_node_visit_t(void *to, uint32_t number, const pfa_live_node_t *node);
typedef void pfa_live_fold_visit_t(void *to, uint32_t number, const pfa_live_fold_t *fold);
typedef void pfa_live_thread_visit_t(void *to, const pfa_trace_thread_t *thread);
typedef void pfa_live_tag_visit_t(void *to, uint32_t number, const char *name);
typedef void pfa_live_type_visit_t(void *to, uint32_t number, const pfa_live_type_t *type);
/* False: no more of this extent. */
typedef bool pfa_live_map_visit_t(void *to, const pfa_access_map_t *head, const void *counters);
/* Calls `visit` with some bytes at a time of the parts of an extent that are no holes, each starting at a multiple of `unit` from the
 * extent's start and whole units long. */
typedef void pfa_live_bytes_visit_t(void *to, const uint8_t *bytes, size_t size, uint64_t at);
int pfa_livetable_walk_extent(const pfa_livetable_t *table, const pfa_live_extent_t *extent, size_t unit,
                              pfa_live_bytes_visit_t *visit, void *to);
/* (analyze/trace/livetable_records.c) */
int pfa_livetable_records(const pfa_livetable_t *table, pfa_live_record_visit_t *visit, void *to);
int pfa_livetable_nodes(const pfa_livetable_t *table, pfa_live_node_visit_t *visit, void *to);
int pfa_livetable_folds(const pfa_livetable_t *table, pfa_live_fold_visit_t *visit, void *to);
int pfa_livetable_threads(const pfa_livetable_t *table, pfa_live_thread_visit_t *visit, void *to);
int pfa_livetable_tags(const pfa_livetable_t *table, pfa_live_tag_visit_t *visit, void *to);
int pfa_livetable_types(const pfa_livetable_t *table, pfa_live_type_visit_t *visit, void *to);
/* EBADMSG: there are maps that make no sense. (analyze/trace/livetable_maps.c) */
int pfa_livetable_maps(const pfa_livetable_t *table, pfa_live_map_visit_t *visit, void *to);
bool pfa_livetable_has_maps(const pfa_livetable_t *table);
/* Whether there is room for accesses in records, and in rings. */
bool pfa_livetable_has_accesses(const pfa_livetable_t *table);

/* How many rings an extent holds; and one of them, as if it had an extent of its own. */
size_t pfa_livetable_rings_in(const pfa_livetable_t *table, size_t extent);
pfa_live_extent_t pfa_livetable_ring_at(const pfa_livetable_t *table, size_t extent, size_t i);
/* Its entries from `first` on: where the trace's end for the ring, whose number is the extent's index. The caller calls
 * pfa_live_span_free. */
int pfa_livetable_ring(const pfa_livetable_t *table, const pfa_live_extent_t *ring, uint64_t first,
                       pfa_live_span_t *span);
void pfa_live_span_free(pfa_live_span_t *span);

/* Of a record with room for accesses, which are behind it in these bytes. */
pfa_event_accesses_t pfa_live_accesses_of(const pfa_live_head_t *head, const pfa_live_record_t *record,
                                          const uint8_t *bytes);
/* A chunk that is alive as a row: with the free time UINT64_MAX. */
pfa_event_t pfa_live_event(const pfa_live_record_t *record);

#endif
