/* Owns the names of threads and tags. See meta/names.h. */
#include "meta/names.h"
#include "base/atomic.h"
#include "base/lock.h"
#include "base/sys.h"
#include "meta/extents.h"

#include <stdbool.h>
#include <string.h>

enum { EXTENTS = 65536 / PFA_LIVE_THREADS, TAGS_MAX = PFA_LIVE_TAGS };
#define THREADS_SIZE (PFA_LIVE_THREADS * sizeof(pfa_trace_thread_t))
#define TAGS_SIZE ((size_t)PFA_LIVE_TAGS * PFA_LIVE_TAG_SIZE)
_Static_assert(THREADS_SIZE % PFA_LIVE_PAGE == 0 && TAGS_SIZE % PFA_LIVE_PAGE == 0, "extents are whole pages");

static _Atomic(pfa_trace_thread_t *) threads[EXTENTS];
static _Atomic bool ended[65536]; /* has the thread that last had this number? */
static char *tags;
static _Atomic uint32_t tag_count;

static void *new_extent(pfa_extent_kind_t kind, uint32_t index, size_t size)
{
    void *memory;
    uint32_t number;
    if (pfa_extents_head == NULL || pfa_extents_add(kind, index, size, NULL, &memory, &number) != 0 ||
        pfa_extents_make_room(number, 0, size) != 0) {
        return NULL;
    }
    return memory;
}

pfa_trace_thread_t *pfa_names_thread_at(uint32_t number)
{
    pfa_trace_thread_t *extent =
        number / PFA_LIVE_THREADS < EXTENTS ? pfa_load_acquire(&threads[number / PFA_LIVE_THREADS]) : NULL;
    return extent != NULL ? &extent[number % PFA_LIVE_THREADS] : NULL;
}

static pfa_trace_thread_t *make_entry(uint32_t number)
{
    uint32_t extent = number / PFA_LIVE_THREADS;
    pfa_lock(PFA_LOCK_TAGS);
    if (pfa_load_relaxed(&threads[extent]) == NULL) {
        pfa_store_release(&threads[extent], (pfa_trace_thread_t *)new_extent(PFA_EXTENT_THREADS, extent, THREADS_SIZE));
    }
    pfa_unlock(PFA_LOCK_TAGS);
    return pfa_names_thread_at(number);
}

void pfa_names_thread(uint16_t number, uint64_t start)
{
    pfa_trace_thread_t *thread = pfa_names_thread_at(number);
    thread = thread != NULL ? thread : make_entry(number);
    if (thread != NULL) {
        thread->tid = (uint32_t)pfa_sys_tid();
        thread->start = start;
        pfa_sys_thread_name(thread->name);
        thread->number = number;
        pfa_store_relaxed(&ended[number], false);
    }
}

bool pfa_names_has_ended(uint16_t number)
{
    return pfa_load_relaxed(&ended[number]);
}

void pfa_names_thread_again(uint16_t number)
{
    pfa_trace_thread_t *thread = pfa_names_thread_at(number);
    if (thread != NULL && thread->number == number) {
        pfa_sys_thread_name(thread->name);
        pfa_store_relaxed(&ended[number], true);
    }
}

const char *pfa_names_tag_at(uint32_t number)
{
    return tags + (size_t)number * PFA_LIVE_TAG_SIZE;
}

uint32_t pfa_names_tag_count(void)
{
    return pfa_load_acquire(&tag_count);
}

static uint32_t find_or_add(const char *name, size_t length)
{
    uint32_t count = pfa_load_relaxed(&tag_count);
    for (uint32_t i = 1; i <= count; i++) {
        if (strncmp(pfa_names_tag_at(i), name, PFA_LIVE_TAG_SIZE - 1) == 0) {
            return i;
        }
    }
    if (tags == NULL) {
        tags = new_extent(PFA_EXTENT_TAGS, 0, TAGS_SIZE);
    }
    if (tags == NULL || count + 1 == TAGS_MAX) {
        return 0;
    }
    memcpy(tags + (size_t)(count + 1) * PFA_LIVE_TAG_SIZE, name, length);
    pfa_store_release(&tag_count, count + 1);
    return count + 1;
}

uint16_t pfa_names_tag(const char *name)
{
    size_t length = strnlen(name, PFA_LIVE_TAG_SIZE - 1);
    if (length == 0) {
        return 0;
    }
    pfa_lock(PFA_LOCK_TAGS);
    uint32_t number = find_or_add(name, length);
    pfa_unlock(PFA_LOCK_TAGS);
    return (uint16_t)number;
}

void pfa_names_after_fork(void)
{
    for (uint32_t i = 0; i < EXTENTS; i++) {
        pfa_trace_thread_t *extent = pfa_load_relaxed(&threads[i]);
        if (extent != NULL) {
            memset(extent, 0, THREADS_SIZE);
        }
    }
}

void pfa_names_forget(void)
{
    for (uint32_t i = 0; i < EXTENTS; i++) {
        pfa_store_relaxed(&threads[i], (pfa_trace_thread_t *)NULL);
    }
    pfa_store_relaxed(&tag_count, 0);
    tags = NULL;
}
