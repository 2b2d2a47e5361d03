/* What the files wraps_*.c share: noting ranges, and time that went by.
 *
 * A wrapped function counts as one read of each range it reads and one write of each it writes, however libc goes about it,
 * and the range is what the function has to look at to do what its manual page says: a search ends with what it found, a
 * comparison with the first difference, a transfer with what was transferred. Where none of its memory is in the profiled
 * range it is a compare and a jump. errno stays as libc left it: noting an access does not touch it.
 *
 * --wrap turns all calls of a link: where libc.a is part of it, libc's own count, too, and come from before there are threads:
 * nothing of a thread may be touched before an address was found to be one of the profiled range, but by functions that wait,
 * which libc does not call that early. */
#ifndef PFA_HOOKS_ACCESS_WRAPS_H
#define PFA_HOOKS_ACCESS_WRAPS_H

#include "base/clock.h"
#include "hooks/access/access.h"
#include "hooks/access/interface.h"

/* A range that may be empty, of an address that concerns us. */
PFA_MODULE void pfa_wraps_note(const void *address, size_t size, uint64_t counts);

PFA_INLINE bool concerns(const void *address)
{
    return pfa_access_concerns((uintptr_t)address);
}

/* One look at both. */
PFA_INLINE bool either_concerns(const void *one, const void *other)
{
    if (PFA_ACCESS_ANYWHERE) {
        return concerns(one) || concerns(other);
    }
    return concerns((const void *)((uintptr_t)one & (uintptr_t)other));
}

PFA_INLINE void note_read(const void *address, size_t size)
{
    if (concerns(address)) {
        pfa_wraps_note(address, size, PFA_ACCESS_READ);
    }
}

PFA_INLINE void note_write(const void *address, size_t size)
{
    if (concerns(address)) {
        pfa_wraps_note(address, size, PFA_ACCESS_WRITE);
    }
}

/* gcc tells the assignment of a big struct as ranges, and then may call memcpy or memset for it. What was told is not noted
 * again. (Nor is a memcpy of the program's own to the same bytes as the last such assignment: that is rare.) */
PFA_INLINE uint32_t range_hash(const void *address, size_t size)
{
    return (uint32_t)((((uint64_t)(uintptr_t)address ^ (uint64_t)size << 48) * 0x9e3779b97f4a7c15u) >> 32);
}

enum { PFA_TOLD_ABOVE = 256 }; /* up to here gcc makes no calls, with the options of hooks/cc/compile.c */

PFA_INLINE bool can_be_told(const void *address, size_t size)
{
    return size > PFA_TOLD_ABOVE && (uintptr_t)address - pfa_access_view.base < pfa_access_view.span;
}

PFA_INLINE void note_told(const void *address, size_t size)
{
    if (can_be_told(address, size)) {
        pfa_access_thread.told = pfa_access_thread.told << 32 | range_hash(address, size);
    }
}

PFA_INLINE bool was_told(const void *address, size_t size)
{
    if (!can_be_told(address, size)) {
        return false;
    }
    uint64_t told = pfa_access_thread.told;
    uint64_t hash = range_hash(address, size);
    uint64_t mask = (told & UINT32_MAX) == hash ? UINT32_MAX : told >> 32 == hash ? (uint64_t)UINT32_MAX << 32 : 0;
    if (mask == 0) {
        return false;
    }
    pfa_access_thread.told = told & ~mask;
    return true;
}

/* The thread may have slept. */
PFA_INLINE void note_wait(void)
{
    pfa_access_thread.clock = pfa_counter();
}

PFA_INLINE size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How far behind start a pointer that libc returned is. */
PFA_INLINE size_t distance(const void *start, const void *found)
{
    return (size_t)((const char *)found - (const char *)start);
}

size_t __real_strlen(const char *text);
size_t __real_strnlen(const char *text, size_t size);

/* How much of a text is looked at by who takes at most `limit` bytes of it. */
PFA_INLINE size_t until_end(const char *text, size_t limit)
{
    size_t length = __real_strnlen(text, limit);
    return length < limit ? length + 1 : limit;
}

#endif
