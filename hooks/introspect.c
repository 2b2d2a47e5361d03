/* Owns glibc's calls for asking and tuning. The numbers are mimalloc's: bytes it holds process-wide, and what is in use in
 * the calling thread's heaps (other threads' heaps cannot be looked into without stopping them). */
#define _GNU_SOURCE 1
#include "base/message.h"
#include "hooks/hooks.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

static pfa_backing_stats_t stats_now(void)
{
    pfa_backing_stats_t stats;
    pfa_backing_stats(&stats);
    return stats;
}

PFA_EXPORT struct mallinfo2 mallinfo2(void)
{
    pfa_backing_stats_t stats = stats_now();
    struct mallinfo2 info = {.arena = stats.committed,
                             .ordblks = 1,
                             .uordblks = stats.used,
                             .fordblks = stats.committed > stats.used ? stats.committed - stats.used : 0};
    return info;
}

static int clamp(size_t value)
{
    return value > INT32_MAX ? INT32_MAX : (int)value;
}

PFA_EXPORT struct mallinfo mallinfo(void)
{
    struct mallinfo2 wide = mallinfo2();
    struct mallinfo info = {
        .arena = clamp(wide.arena), .ordblks = 1, .uordblks = clamp(wide.uordblks), .fordblks = clamp(wide.fordblks)};
    return info;
}

PFA_EXPORT int malloc_trim(size_t pad)
{
    (void)pad;
    int kept = errno;
    bool shrank = pfa_backing_trim();
    errno = kept;
    return shrank;
}

PFA_EXPORT void malloc_stats(void)
{
    pfa_backing_stats_t stats = stats_now();
    pfa_say_asked("held %lu bytes; this thread uses %lu bytes in %lu chunks", (unsigned long)stats.committed,
                  (unsigned long)stats.used, (unsigned long)stats.chunks);
}

PFA_EXPORT int malloc_info(int options, FILE *stream)
{
    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    char buf[512];
    pfa_text_t text = {buf, sizeof buf, 0};
    pfa_backing_stats_t stats = stats_now();
    pfa_text_add(&text,
                 "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n"
                 "<total type=\"used\" count=\"%lu\" size=\"%lu\"/>\n"
                 "<system type=\"current\" size=\"%lu\"/>\n</heap>\n"
                 "<system type=\"current\" size=\"%lu\"/>\n</malloc>\n",
                 (unsigned long)stats.chunks, (unsigned long)stats.used, (unsigned long)stats.committed,
                 (unsigned long)stats.committed);
    return fwrite(buf, 1, text.used, stream) == text.used ? 0 : -1;
}

/* glibc's tunables have no counterpart here. Known ones are accepted, so that programs that insist go on. */
PFA_EXPORT int mallopt(int parameter, int value)
{
    (void)value;
    switch (parameter) {
    case M_MXFAST:
    case M_TRIM_THRESHOLD:
    case M_TOP_PAD:
    case M_MMAP_THRESHOLD:
    case M_MMAP_MAX:
    case M_CHECK_ACTION:
    case M_PERTURB:
    case M_ARENA_TEST:
    case M_ARENA_MAX:
        return 1;
    default:
        return 0;
    }
}
