/* Accesses as far as everyone must know of them: are they recorded? */
#ifndef PFA_META_ACCESSES_H
#define PFA_META_ACCESSES_H

#include <stdbool.h>

/* Do records have room for accesses? Set when the profiled range is made, and never changed. */
extern bool pfa_accesses_kept;

#endif
