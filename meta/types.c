/* Owns the table of types. See meta/types.h. */
#include "meta/types.h"
#include "base/atomic.h"
#include "base/lock.h"
#include "meta/extents.h"

#include <string.h>

enum { EXTENTS = PFA_LIVE_TYPES_MAX / PFA_LIVE_TYPES, BUCKETS = 1024 };
#define EXTENT_SIZE ((size_t)PFA_LIVE_TYPES * sizeof(pfa_live_type_t))
_Static_assert(EXTENT_SIZE % PFA_LIVE_PAGE == 0, "extents are whole pages");

static _Atomic(pfa_live_type_t *) extents[EXTENTS];
static _Atomic uint32_t type_count;
static uint32_t buckets[BUCKETS]; /* the last type of each hash; pfa_live_type_t.next is the one before */

static pfa_live_type_t *type_at(uint32_t number)
{
    return &pfa_load_acquire(&extents[number / PFA_LIVE_TYPES])[number % PFA_LIVE_TYPES];
}

const pfa_live_type_t *pfa_types_at(uint32_t number)
{
    return type_at(number);
}

uint32_t pfa_types_count(void)
{
    return pfa_load_acquire(&type_count); /* partner: the release in add */
}

static uint32_t hash_of(const char *name, size_t length, uint64_t size)
{
    uint64_t hash = size * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    }
    return (uint32_t)(hash >> 32) % BUCKETS;
}

static bool make_extent(uint32_t index)
{
    void *memory;
    uint32_t number;
    if (pfa_load_relaxed(&extents[index]) != NULL) {
        return true;
    }
    if (pfa_extents_head == NULL ||
        pfa_extents_add(PFA_EXTENT_TYPES, index, EXTENT_SIZE, NULL, &memory, &number) != 0 ||
        pfa_extents_make_room(number, 0, EXTENT_SIZE) != 0) {
        return false;
    }
    pfa_store_release(&extents[index], (pfa_live_type_t *)memory);
    return true;
}

static uint32_t add(const char *name, size_t length, uint64_t size, uint32_t *bucket)
{
    uint32_t number = pfa_load_relaxed(&type_count) + 1;
    if (number >= PFA_LIVE_TYPES_MAX || !make_extent(number / PFA_LIVE_TYPES)) {
        return 0;
    }
    pfa_live_type_t *type = type_at(number);
    type->size = size;
    type->next = *bucket;
    memcpy(type->name, name, length);
    __atomic_store_n(&type->name_size, (uint32_t)length, __ATOMIC_RELEASE); /* for readers of the live table */
    pfa_store_release(&type_count, number);
    *bucket =
        number; /* after the count: a fork in between leaves a type that is not found, never one that is its own next */
    return number;
}

static uint32_t find_or_add(const char *name, size_t length, uint64_t size)
{
    uint32_t *bucket = &buckets[hash_of(name, length, size)];
    for (uint32_t number = *bucket; number != 0; number = type_at(number)->next) {
        const pfa_live_type_t *type = type_at(number);
        if (type->size == size && type->name_size == length && memcmp(type->name, name, length) == 0) {
            return number;
        }
    }
    return add(name, length, size, bucket);
}

uint32_t pfa_types_number(const char *name, uint64_t size)
{
    size_t length = strnlen(name, sizeof((pfa_live_type_t *)NULL)->name);
    if (length == 0) {
        return 0;
    }
    pfa_lock(PFA_LOCK_TAGS);
    uint32_t number = find_or_add(name, length, size);
    pfa_unlock(PFA_LOCK_TAGS);
    return number;
}

void pfa_types_forget(void)
{
    for (uint32_t i = 0; i < EXTENTS; i++) {
        pfa_store_relaxed(&extents[i], (pfa_live_type_t *)NULL);
    }
    memset(buckets, 0, sizeof buckets);
    pfa_store_relaxed(&type_count, 0);
}
