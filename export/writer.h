/* What the session's rounds do: from rings, depot and live table to blocks. Under PFA_LOCK_WRITER, all of it. */
#ifndef PFA_EXPORT_WRITER_H
#define PFA_EXPORT_WRITER_H

#include "export/format/batch.h"
#include "export/format/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For a new trace: nothing of it is written yet. 0 or an errno value. */
int pfa_writer_reset(void);
/* Writes the modules if they have changed. */
void pfa_writer_modules(void);
/* Those of the parent, in a fork child. */
void pfa_writer_modules_again(void);
/* Writes the entries of all rings, and the nodes they speak of; with `flags` of batches. What cannot be written is folded. */
void pfa_writer_drain(uint32_t flags);
/* The same of the rings alone that have asked for it: with thousands of them, many times as fast. */
void pfa_writer_drain_urgent(uint32_t flags);
/* The same before the final picture, but for the last entry of each ring: the thread that stored it may not have come to
 * marking the record yet. It is to be written after the picture, with PFA_BATCH_AFTER_LIVE. */
void pfa_writer_drain_before_final(void);
/* Writes what is known besides: threads, tags, weights, folds, counters, clock. */
void pfa_writer_particulars(void);
/* Writes the nodes that are not in the trace yet; uses the scratch memory of export/block.h. */
void pfa_writer_nodes(void);
/* A block, and a word on standard error if it fails. */
int pfa_writer_block(pfa_block_kind_t kind, const void *payload, size_t size);
/* Of its own, since rings are drained while a picture is taken; NULL: there is no memory for it. */
pfa_batch_t *pfa_writer_picture_batch(void);
/* By which times are cut. */
uint32_t pfa_writer_shift(void);
/* Writes all live chunks, and deaths in between (export/picture.c). `flags` are PFA_LIVE_*. A final one with times that are cut
 * is for a process in which nobody else is at work: no deaths are written meanwhile. */
int pfa_writer_picture(const char *name, uint32_t flags, bool whole_times);
/* Notes the time in the live table. */
void pfa_writer_clock(void);

#endif
