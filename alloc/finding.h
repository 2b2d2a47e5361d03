/* What is known of an address that the program says is a chunk, and how it is judged. Inside alloc/. */
#ifndef PFA_ALLOC_FINDING_H
#define PFA_ALLOC_FINDING_H

#include "alloc/chunk.h"

static inline void pfa_finding_describe(pfa_finding_t *finding, pfa_verdict_t verdict, uintptr_t start,
                                        const pfa_record_t *record)
{
    *finding = (pfa_finding_t){.verdict = verdict, .start = start};
    if (record != NULL) {
        finding->size_flags = pfa_load_relaxed(&record->size_flags);
        finding->alloc_time = record->alloc_time;
        finding->thread = record->thread;
    }
}

/* By the state of a record, of the chunk whose start this is or is not. */
static inline pfa_verdict_t pfa_finding_verdict(uint64_t size_flags, bool at_start)
{
    static const pfa_verdict_t by_state[] = {PFA_CHUNK_FOREIGN, PFA_CHUNK_LIVE, PFA_CHUNK_FREED, PFA_CHUNK_SILENT};
    pfa_verdict_t verdict = by_state[size_flags & PFA_FLAGS_SILENT];
    if (verdict == PFA_CHUNK_FOREIGN && pfa_range.inherited) {
        return PFA_CHUNK_SILENT;
    }
    return at_start || verdict == PFA_CHUNK_FOREIGN ? verdict : PFA_CHUNK_INTERIOR;
}

/* Not a recorded chunk's start: is it at least a place where mimalloc may have put one? */
static inline pfa_verdict_t pfa_finding_unrecorded(uintptr_t address)
{
    if (address % 8 != 0) {
        return pfa_range_plain(address) ? PFA_CHUNK_INTERIOR : PFA_CHUNK_FOREIGN;
    }
    if (pfa_range_plain(address) || pfa_backing_owns((const void *)address)) {
        return PFA_CHUNK_PLAIN;
    }
    return PFA_CHUNK_FOREIGN;
}

/* Is it the record of a chunk that this process was born with, or of none? */
static inline bool pfa_finding_is_inherited(const pfa_record_t *record)
{
    return pfa_range.blind || (pfa_range.inherited && (pfa_load_relaxed(&record->size_flags) & PFA_FLAGS_SILENT) == 0);
}

#endif
