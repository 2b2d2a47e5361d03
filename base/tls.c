/* Owns the one thread-local object of the runtime (beside the vendored allocator's heap pointer). */
#include "base/tls.h"

_Static_assert(sizeof(pfa_tls_t) <= 160, "static TLS is scarce: keep the block small");

PFA_THREAD_LOCAL pfa_tls_t pfa_tls;
