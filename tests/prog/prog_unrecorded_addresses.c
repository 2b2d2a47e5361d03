/* Chunks that are not recorded lie where instrumented code sees by one bit of an address that it is of no concern (base/compiler.h):
 * else each access to them takes the way of those that are counted. LevelDB's sampled runs took 1.6 times as long for that.
 *
 * run: modes=off */
#include "trap.h"

#include "../../base/compiler.h"

int main(void)
{
    static const size_t sizes[] = {1, 100, 5000, 100000, 3000000};
    char here;
    if (((uintptr_t)&here & PFA_ADDRESS_USUAL_BIT) == 0) { /* a kernel with fewer bits in addresses */
        return 0;
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (unsigned n = 0; n < 100; n++) {
            uintptr_t chunk = (uintptr_t)malloc(sizes[i]);
            CHECK(chunk != 0 && (chunk & PFA_ADDRESS_USUAL_BIT) != 0, "%zu bytes at %#zx", sizes[i], chunk);
        }
    }
    return 0;
}
