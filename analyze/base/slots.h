/* Which thing of a list is the one that is looked for: a hash table of their numbers, whatever they are. Who keeps the list
 * compares:
 *
 *   pfa_probe_t probe = pfa_slots_probe(&slots, hash);
 *   while (pfa_slots_next(&slots, &probe)) {
 *       if (list[probe.number] is it) return probe.number;
 *   }
 *   pfa_slots_put(&slots, hash, count);
 *
 * One that is all zeros is empty. */
#ifndef PFA_ANALYZE_BASE_SLOTS_H
#define PFA_ANALYZE_BASE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pfa_slot {
    uint32_t hash;
    uint32_t number; /* and one; 0: free */
} pfa_slot_t;

typedef struct pfa_slots {
    pfa_slot_t *list;
    size_t room; /* a power of two, at least twice what is used; or 0 */
    size_t used;
} pfa_slots_t;

typedef struct pfa_probe {
    uint32_t hash;
    uint32_t number; /* of what may be the one */
    size_t at;
} pfa_probe_t;

/* A number that is not there yet. */
void pfa_slots_put(pfa_slots_t *slots, uint64_t hash, uint32_t number);
void pfa_slots_free(pfa_slots_t *slots);

/* One word of a hash after the other; begin with any, also with the first word. The word is spread over all bits first: of small
 * numbers, many pairs have the same xor. */
static inline uint64_t pfa_hash_mix(uint64_t hash, uint64_t word)
{
    word *= 0xd6e8feb86659fd93u;
    hash = (hash ^ word ^ word >> 32) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Of a text: FNV-1a. */
static inline uint64_t pfa_hash_text(const char *text, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    }
    return hash ^ hash >> 29;
}

/* What is kept of a hash: its low bits may be poor. */
static inline uint32_t pfa_slots_fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

static inline pfa_probe_t pfa_slots_probe(const pfa_slots_t *slots, uint64_t hash)
{
    uint32_t folded = pfa_slots_fold(hash);
    return (pfa_probe_t){.hash = folded, .at = folded & (slots->room - 1)};
}

/* The next thing of this hash; false: there is none. */
static inline bool pfa_slots_next(const pfa_slots_t *slots, pfa_probe_t *probe)
{
    while (slots->room != 0 && slots->list[probe->at].number != 0) {
        const pfa_slot_t *slot = &slots->list[probe->at];
        probe->at = (probe->at + 1) & (slots->room - 1);
        if (slot->hash == probe->hash) {
            probe->number = slot->number - 1;
            return true;
        }
    }
    return false;
}

#endif
