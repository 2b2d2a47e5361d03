/* Owns the sums of accesses. See analyze/report/access.h. */
#include "analyze/report/access.h"

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

pfa_access_scale_t pfa_access_scale(const pfa_trace_t *trace)
{
    enum { TICKS = 1 << 30 };
    double ns = pfa_trace_seconds(trace, trace->start.counter + TICKS) * 1e9;
    return (pfa_access_scale_t){.start = trace->start.counter,
                                .ns_per_tick = ns / TICKS,
                                .full = UINT32_MAX >> (32 - counter_bits(trace->options))};
}

void pfa_access_bytes(const pfa_event_accesses_t *accesses, uint64_t size, uint64_t *low, uint64_t *behind)
{
    uint32_t unit = pfa_access_unit(size);
    *low = (uint64_t)accesses->low << unit;
    *behind = ((uint64_t)accesses->low + accesses->length) << unit;
    *behind = *behind < size ? *behind : size;
    *low = *low < *behind ? *low : *behind;
}

/* Ticks from one time to a later one. */
static double between(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) : 0;
}

static void add_times(pfa_access_total_t *total, const pfa_access_scale_t *scale, const pfa_event_t *event,
                      const pfa_event_accesses_t *accesses, double weight)
{
    double scaled = weight * scale->ns_per_tick;
    total->idle_before += scaled * between(event->alloc_time, accesses->first);
    if (event->free_time == UINT64_MAX) {
        total->open_chunks += weight;
        total->open_born += scaled * between(scale->start, event->alloc_time);
        total->open_last += scaled * between(scale->start, accesses->last);
    } else {
        total->idle_after += scaled * between(accesses->last, event->free_time);
        total->lifetime += scaled * between(event->alloc_time, event->free_time);
    }
}

void pfa_access_add(pfa_access_total_t *total, const pfa_access_scale_t *scale, const pfa_event_t *event,
                    const pfa_event_accesses_t *accesses, double weight)
{
    uint64_t size = event->size_flags >> PFA_RECORD_SIZE_SHIFT;
    double bytes = weight * (double)size;
    bool touched = accesses->length != 0 || accesses->reads != 0 || accesses->writes != 0;
    bool unread = accesses->reads == 0 && accesses->writes != 0;
    uint64_t low;
    uint64_t behind;
    pfa_access_bytes(accesses, size, &low, &behind);
    total->chunks += weight;
    total->bytes += bytes;
    total->reads += weight * accesses->reads;
    total->writes += weight * accesses->writes;
    total->bytes_touched += weight * (double)(behind - low);
    total->never_read += accesses->reads == 0 ? weight : 0;
    total->never_written += accesses->writes == 0 ? weight : 0;
    total->never_touched += touched ? 0 : weight;
    total->untouched_bytes += touched ? 0 : bytes;
    total->unread_chunks += unread ? weight : 0;
    total->unread_bytes += unread ? bytes : 0;
    total->saturated += accesses->reads >= scale->full || accesses->writes >= scale->full ? weight : 0;
    total->shared += (event->size_flags & PFA_RECORD_SHARED) != 0 ? weight : 0;
    if (accesses->length != 0) {
        add_times(total, scale, event, accesses, weight);
    }
}

void pfa_access_settle(pfa_access_total_t *total, const pfa_access_scale_t *scale, uint64_t end)
{
    double all = total->open_chunks * between(scale->start, end) * scale->ns_per_tick;
    total->idle_after += all > total->open_last ? all - total->open_last : 0;
    total->lifetime += all > total->open_born ? all - total->open_born : 0;
    total->open_chunks = total->open_born = total->open_last = 0;
}

void pfa_access_sum(pfa_access_total_t *to, const pfa_access_total_t *from)
{
    to->chunks += from->chunks;
    to->bytes += from->bytes;
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
