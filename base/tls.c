/* Owns the one thread-local object of the runtime (beside the vendored allocator's heap pointer). */
#include "base/tls.h"

_Static_assert(sizeof(pfa_tls_t) <= 224, "static TLS is scarce: keep the block small");

/* Below zero, so that even a first malloc(0) finds the way to its set-up. */
PFA_THREAD_LOCAL pfa_tls_t pfa_tls = {.countdown = -1};
