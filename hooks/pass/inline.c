/* What the Clang pass (hooks/pass) calls where an access lies in the profiled range. It is compiled to bitcode when the
 * pass is built, and the pass puts it into each module that it instruments, one copy per program or shared object being
 * kept: so the call is direct, and of a convention that leaves the caller nearly all of its registers.
 *
 * Hot: the body of pfa_access_at, no call, on arm64 no use of the stack. Being of that convention itself, what is rare can
 * be a call at the end, and only there the registers are saved that an ordinary function may use. */
#include "base/compiler.h"

#include <stdint.h>

#define PFA_KEEPS_REGISTERS __attribute__((preserve_most, noinline))

#define PFA_ACCESS_OTHER PFA_KEEPS_REGISTERS __attribute__((unused)) static

/* Seen before its definition in access.h, which takes over the convention, and is not inline. */
PFA_KEEPS_REGISTERS static void pfa_access_rare(uintptr_t address, uint64_t last, uint64_t counts);

#include "hooks/access/access.h"

/* The bytes from `address` to `address + last`. */
PFA_KEEPS_REGISTERS PFA_MODULE void __profalloc_at(uintptr_t address, uint64_t last, uint64_t counts);

void __profalloc_at(uintptr_t address, uint64_t last, uint64_t counts)
{
    pfa_access_at(address, last, counts);
}
