/* A static C++ program that uses nothing of the C++ library but new: bad_alloc must be thrown all the same, though
 * nothing but us asks the linker for what throws it, and the new-handler must be found.
 *
 * run:
 * run: arg=handler */
#define TRAP_LINKED 1
#include "trap.h"

#include <new>

static int calls;

static void handler()
{
    if (++calls == 3) {
        std::set_new_handler(nullptr);
    }
}

static bool throws(std::size_t size)
{
    try {
        delete[] static_cast<char *>(opaque(new char[size]));
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    std::size_t huge = opaque_size(std::size_t{1} << 60);
    bool with_handler = argc > 1 && strcmp(argv[1], "handler") == 0;
    if (with_handler) {
        std::set_new_handler(handler);
    }
    CHECK(!throws(1000) && throws(huge) && calls == (with_handler ? 3 : 0), "%d calls", calls);
    CHECK(opaque(operator new(huge, std::nothrow)) == nullptr);
    CHECK(opaque(operator new (huge, std::align_val_t{64}, std::nothrow)) == nullptr);
    return 0;
}
