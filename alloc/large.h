/* Large chunks with records: their memory, their map nodes, their lives. Inside alloc/; the rest of the runtime goes
 * through alloc/chunk.h, whose rules hold here too. */
#ifndef PFA_ALLOC_LARGE_H
#define PFA_ALLOC_LARGE_H

#include "alloc/chunk.h"

void *pfa_large_alloc(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags);
/* As pfa_chunk_free, for an address outside R. */
pfa_verdict_t pfa_large_free(pfa_tls_t *tls, uintptr_t address, pfa_finding_t *finding);
/* As pfa_chunk_find, for an address outside R; inside an RCU read section. */
void pfa_large_judge(uintptr_t address, pfa_finding_t *finding);
/* The class that large chunks of this size are counted in. */
unsigned pfa_large_class(uint64_t size);

#endif
