/* The evidence of a finding, as people read it. */
#ifndef PFA_ANALYZE_LEAKS_EVIDENCE_H
#define PFA_ANALYZE_LEAKS_EVIDENCE_H

#include "analyze/leaks/leaks.h"

#include <stdio.h>

/* Lines of text: how survivors grow, how siblings end, what is overdue, what is used. */
void pfa_evidence_print(FILE *to, pfa_leaks_t *leaks, const pfa_leak_finding_t *finding);
/* Adds to the query's remarks what all evidence suffers from. */
void pfa_evidence_note(pfa_leaks_t *leaks);

#endif
