/* Owns the time that several traces have in common. See analyze/points/together.h. */
#include "analyze/points/together.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

/* Moments are so many parts of a nanosecond: more of them than counters have ticks, so that what one trace tells apart stays
 * apart. They count from the first start. */
enum { PARTS = 16 };
static const uint64_t apart_most_ns = (uint64_t)1 << 58;
/* What the two clocks may drift apart from one trace to the next in the same boot. */
static const int64_t same_boot_ns = 1000000000;

typedef struct member {
    uint64_t start;        /* a moment, */
    uint64_t counter;      /* and the trace's counter then */
    double parts_per_tick; /* from the first walk on: a running trace learns to know its clock better */
    uint64_t end;          /* the moment after its last; 0 until that is known */
} member_t;

struct pfa_together {
    pfa_peak_t *peak;
    member_t *members;
    member_t *walked;
    double live; /* of the one that is walked through */
    pfa_peak_result_t result;
};

static bool is_same_boot(const pfa_trace_start_t *starts, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int64_t first = (int64_t)(starts[0].unix_ns - starts[0].monotonic_ns);
        int64_t other = (int64_t)(starts[i].unix_ns - starts[i].monotonic_ns);
        uint64_t apart = other > first ? (uint64_t)other - (uint64_t)first : (uint64_t)first - (uint64_t)other;
        if (apart > (uint64_t)same_boot_ns) {
            return false;
        }
    }
    return true;
}

pfa_together_t *pfa_together_new(const pfa_trace_start_t *starts, size_t count)
{
    bool same_boot = is_same_boot(starts, count);
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t ns = same_boot ? starts[i].monotonic_ns : starts[i].unix_ns;
        first = ns < first ? ns : first;
        last = ns > last ? ns : last;
    }
    if (count == 0 || last - first > apart_most_ns) {
        return NULL;
    }
    pfa_together_t *together = pfa_memory_get(1, sizeof *together);
    together->members = pfa_memory_get(count, sizeof *together->members);
    for (size_t i = 0; i < count; i++) {
        uint64_t ns = same_boot ? starts[i].monotonic_ns : starts[i].unix_ns;
        together->members[i] = (member_t){.start = (ns - first) * PARTS, .counter = starts[i].counter};
    }
    together->peak = pfa_peak_new(0, (last - first) * PARTS);
    return together;
}

void pfa_together_free(pfa_together_t *together)
{
    if (together != NULL) {
        pfa_peak_free(together->peak);
        pfa_memory_free(together->members);
        pfa_memory_free(together);
    }
}

static uint64_t moment_of(const member_t *member, uint64_t time)
{
    double parts = time > member->counter ? (double)(time - member->counter) * member->parts_per_tick : 0;
    return member->start + (!(parts > 0) ? 0 : parts < 0x1p62 ? (uint64_t)parts : (uint64_t)1 << 62);
}

void pfa_together_begin(pfa_together_t *together, size_t number, const pfa_trace_t *trace)
{
    enum { TICKS = 1 << 30 };
    member_t *member = &together->members[number];
    together->walked = member;
    together->live = 0;
    if (member->end == 0) {
        member->parts_per_tick = pfa_trace_seconds(trace, trace->start.counter + TICKS) * (1e9 * PARTS / TICKS);
    }
}

void pfa_together_add(pfa_together_t *together, uint64_t alloc_time, uint64_t free_time, double bytes)
{
    const member_t *member = together->walked;
    bool live = free_time == UINT64_MAX;
    together->live += live ? bytes : 0;
    pfa_peak_add(together->peak, moment_of(member, alloc_time), live ? UINT64_MAX : moment_of(member, free_time),
                 bytes);
}

void pfa_together_end(pfa_together_t *together, uint64_t last_time)
{
    member_t *member = together->walked;
    member->end = member->end != 0 ? member->end : moment_of(member, last_time) + 1;
    pfa_peak_take(together->peak, member->end, together->live);
}

bool pfa_together_again(pfa_together_t *together)
{
    return pfa_peak_again(together->peak);
}

pfa_peak_result_t pfa_together_finish(pfa_together_t *together)
{
    together->result = pfa_peak_finish(together->peak);
    return together->result;
}

bool pfa_together_alive(const pfa_together_t *together, size_t number, uint64_t alloc_time, uint64_t free_time)
{
    const member_t *member = &together->members[number];
    uint64_t end = free_time == UINT64_MAX ? member->end : moment_of(member, free_time);
    return moment_of(member, alloc_time) <= together->result.time && together->result.time < end;
}

double pfa_together_seconds(const pfa_together_t *together)
{
    return (double)together->result.time / (1e9 * PARTS);
}
