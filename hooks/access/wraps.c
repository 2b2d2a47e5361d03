/* Owns what all wrapped functions note their ranges with (wraps.h): one copy. A program that goes into the kernel between two
 * calls finds little of our code in its cache, so there should be little of it. */
#include "hooks/access/wraps.h"

PFA_SIDE_BY_SIDE void pfa_wraps_note(const void *address, size_t size, uint64_t counts)
{
    if (size != 0) {
        pfa_access_at((uintptr_t)address, size - 1, counts);
    }
}
