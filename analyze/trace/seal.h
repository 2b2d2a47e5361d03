/* Ends a trace whose process is gone, from its live table. */
#ifndef PFA_ANALYZE_TRACE_SEAL_H
#define PFA_ANALYZE_TRACE_SEAL_H

#include "analyze/base/progress.h"

typedef enum pfa_sealed {
    PFA_SEALED,        /* the trace has its end now, the live table is removed */
    PFA_SEALED_BEFORE, /* it had it already */
    PFA_SEAL_RUNNING,  /* its process goes on */
    PFA_SEAL_FAILED,   /* the live table stays as it was */
    PFA_SEAL_NO_TRACE, /* the file is no trace */
} pfa_sealed_t;

/* *why says what is wrong if something is; the caller frees it. */
pfa_sealed_t pfa_seal(const char *path, const pfa_watch_t *watch, char **why);

#endif
