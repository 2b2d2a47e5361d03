/* Owns the sums of accesses. See analyze/points/access.h. */
#include "analyze/points/access.h"

#include <stdlib.h>
#include <string.h>

enum { BITS = 31, BITS_MAX = 32 }; /* of a chunk's counters, if the trace does not say */

/* The option access_counter_bits, as the trace has it. */
static unsigned counter_bits(const char *options)
{
    static const char name[] = "access_counter_bits:";
    for (const char *at = options; at != NULL && (at = strstr(at, name)) != NULL; at++) {
        if (at == options || at[-1] == ',') {
            unsigned long bits = strtoul(at + strlen(name), NULL, 10);
            return bits >= 1 && bits <= BITS_MAX ? (unsigned)bits : BITS;
        }
    }
    return BITS;
}

uint32_t pfa_access_full(const pfa_trace_t *trace)
{
    return UINT32_MAX >> (32 - counter_bits(trace->options));
}

static void add_times(pfa_access_total_t *total, const pfa_chunk_t *chunk, double weight)
{
    total->idle_before += weight * (chunk->first - chunk->born);
    total->idle_after += weight * (chunk->idle);
    total->lifetime += weight * chunk->life;
}

void pfa_access_add(pfa_access_total_t *total, const pfa_kind_t *kind, const pfa_chunk_t *chunk, uint32_t full)
{
    const pfa_event_accesses_t *accesses = chunk->accesses;
    double weight = kind->weight;
    double bytes = weight * (double)kind->size;
    bool unread = accesses->reads == 0 && accesses->writes != 0;
    total->chunks += weight;
    total->bytes += bytes;
    total->reads += weight * accesses->reads;
    total->writes += weight * accesses->writes;
    total->bytes_touched += weight * chunk->touched;
    total->never_read += accesses->reads == 0 ? weight : 0;
    total->never_written += accesses->writes == 0 ? weight : 0;
    total->never_touched += chunk->is_touched ? 0 : weight;
    total->untouched_bytes += chunk->is_touched ? 0 : bytes;
    total->unread_chunks += unread ? weight : 0;
    total->unread_bytes += unread ? bytes : 0;
    total->saturated += accesses->reads >= full || accesses->writes >= full ? weight : 0;
    total->shared += (kind->flags & PFA_RECORD_SHARED) != 0 ? weight : 0;
    if (accesses->length != 0) {
        add_times(total, chunk, weight);
    }
}

void pfa_access_sum(pfa_access_total_t *to, const pfa_access_total_t *from)
{
    to->chunks += from->chunks;
    to->bytes += from->bytes;
    to->blind += from->blind;
    to->reads += from->reads;
    to->writes += from->writes;
    to->bytes_touched += from->bytes_touched;
    to->never_read += from->never_read;
    to->never_written += from->never_written;
    to->never_touched += from->never_touched;
    to->saturated += from->saturated;
    to->shared += from->shared;
    to->unread_chunks += from->unread_chunks;
    to->unread_bytes += from->unread_bytes;
    to->untouched_bytes += from->untouched_bytes;
    to->idle_before += from->idle_before;
    to->idle_after += from->idle_after;
    to->lifetime += from->lifetime;
}
