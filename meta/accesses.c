/* Owns what is known of accesses beside the records. See meta/accesses.h. */
#include "meta/accesses.h"

bool pfa_accesses_kept;
