/* Numbers by 64-bit keys that are hashes already. */
#ifndef PFA_ANALYZE_DIFF_INDEX_H
#define PFA_ANALYZE_DIFF_INDEX_H

#include <stddef.h>
#include <stdint.h>

typedef struct pfa_index {
    struct pfa_index_slot {
        uint64_t key;
        uint32_t number; /* and one; 0: free */
    } * slots;
    size_t slot_count;
    size_t count;
} pfa_index_t;

enum { PFA_INDEX_NONE = UINT32_MAX };

uint32_t pfa_index_find(const pfa_index_t *index, uint64_t key);
/* The key's number, or, if it is not there, `number`, which is its number from now on. */
uint32_t pfa_index_put(pfa_index_t *index, uint64_t key, uint32_t number);
void pfa_index_free(pfa_index_t *index);

#endif
