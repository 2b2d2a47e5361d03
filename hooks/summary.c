/* Owns the summary at exit: what was recorded, in figures a person can read. */
#define _GNU_SOURCE 1
#include "alloc/region.h"
#include "base/message.h"
#include "base/options.h"
#include "base/sys.h"
#include "hooks/hooks.h"
#include "meta/thread.h"

#include <errno.h>

typedef struct figures {
    uint64_t allocations;
    uint64_t bytes;
    uint64_t frees;
    uint64_t freed_bytes;
} figures_t;

static uint64_t chunks(uint64_t count)
{
    return (count + PFA_COUNT_ONE / 2) / PFA_COUNT_ONE;
}

static figures_t figures_of(const pfa_class_counters_t *counters)
{
    return (figures_t){chunks(pfa_read_counter(&counters->allocations)), pfa_read_counter(&counters->bytes),
                       chunks(pfa_read_counter(&counters->frees)), pfa_read_counter(&counters->freed_bytes)};
}

static void add_size(pfa_text_t *text, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    for (; bytes >= 10240 && unit < 4; unit++) {
        bytes >>= 10;
    }
    pfa_text_add(text, "%lu %s", (unsigned long)bytes, units[unit]);
}

static void print_class(const char *prefix, unsigned class, const figures_t *f)
{
    char line[256];
    char label[64];
    pfa_text_t text = {line, sizeof line, 0};
    pfa_text_t name = {label, sizeof label, 0};
    if (class < PFA_CLASS_REGIONS) {
        pfa_text_add(&name, "<= ");
        add_size(&name, pfa_load_relaxed(&pfa_region_sizes[class]));
    } else {
        pfa_text_add(&name, "< ");
        add_size(&name, (uint64_t)1 << (class - PFA_CLASS_LARGE + 17));
    }
    pfa_text_add(&text, "%s  %-12s %14lu %16lu %14lu %16lu\n", prefix, label, (unsigned long)f->allocations,
                 (unsigned long)f->bytes, (unsigned long)(f->allocations - f->frees),
                 (unsigned long)(f->bytes - f->freed_bytes));
    pfa_say_raw(&text);
}

static void print_line(const char *prefix, const char *label, uint64_t count, uint64_t bytes)
{
    char line[256];
    pfa_text_t text = {line, sizeof line, 0};
    pfa_text_add(&text, "%s  %-12s %14lu chunks %16lu bytes\n", prefix, label, (unsigned long)count,
                 (unsigned long)bytes);
    pfa_say_raw(&text);
}

static void print_head(const char *prefix)
{
    char line[512];
    pfa_text_t text = {line, sizeof line, 0};
    pfa_text_add(&text, "%s%s[%d]", prefix, program_invocation_short_name, pfa_sys_pid());
    if (pfa_options.sample > 1) {
        pfa_text_add(&text, ", estimated from one sample every %lu bytes", (unsigned long)pfa_options.sample);
    }
    pfa_text_add(&text, ":\n");
    pfa_say_raw(&text);
}

static void print_classes(const char *prefix, const pfa_counters_t *sum)
{
    char line[256];
    pfa_text_t text = {line, sizeof line, 0};
    pfa_text_add(&text, "%s  %-12s %14s %16s %14s %16s\n", prefix, "size class", "allocations", "bytes", "live",
                 "live bytes");
    pfa_say_raw(&text);
    for (unsigned class = 0; class < PFA_CLASS_COUNT; class ++) {
        figures_t f = figures_of(&sum->by_class[class]);
        if (f.allocations != 0) {
            print_class(prefix, class, &f);
        }
    }
}

static void print_troubles(pfa_counters_t *sum)
{
    if (pfa_read_counter(&sum->unrecorded) != 0) {
        pfa_say("  %lu chunks could not be recorded and are missing above",
                (unsigned long)pfa_read_counter(&sum->unrecorded));
    }
    pfa_say_kept_troubles();
}

void pfa_summary_print(void)
{
    static const char prefix[] = "profalloc: ";
    static pfa_counters_t sum; /* too big for a signal stack; only one thread runs exit's destructors */
    figures_t total = {0, 0, 0, 0};
    if (pfa_tls.state == PFA_THREAD_READY) {
        pfa_live_settle(&pfa_tls);
    }
    pfa_counters_sum(&sum);
    for (unsigned class = 0; class < PFA_CLASS_COUNT; class ++) {
        figures_t f = figures_of(&sum.by_class[class]);
        total.allocations += f.allocations;
        total.bytes += f.bytes;
        total.frees += f.frees;
        total.freed_bytes += f.freed_bytes;
    }
    if (total.allocations == 0) {
        pfa_say("%s[%d]: no chunk was recorded", program_invocation_short_name, pfa_sys_pid());
        print_troubles(&sum);
        return;
    }
    print_head(prefix);
    print_line(prefix, "allocations", total.allocations, total.bytes);
    print_line(prefix, "frees", total.frees, total.freed_bytes);
    print_line(prefix, "live at exit", total.allocations - total.frees, total.bytes - total.freed_bytes);
    pfa_say("  %-12s %14s        %16lu bytes", "peak", "", (unsigned long)pfa_live_peak());
    print_classes(prefix, &sum);
    print_troubles(&sum);
    if (pfa_read_counter(&sum.bad_frees) != 0) {
        pfa_say("  %lu frees of what was no chunk", (unsigned long)pfa_read_counter(&sum.bad_frees));
    }
}
