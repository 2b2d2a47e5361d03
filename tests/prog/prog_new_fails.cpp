/* operator new that finds no memory: the new-handler is asked, again and again, until it has helped, gives up or
 * throws; without one bad_alloc is thrown, and the nothrow forms return NULL whatever the handler does. */
#include "trap.h"

#include <new>
#include <stdexcept>

static int calls;
static const std::size_t huge = opaque_size(std::size_t{1} << 60);
static const std::align_val_t wide{256};

template <typename Exception, typename Function> static bool throws(Function function)
{
    try {
        opaque(function());
    } catch (const Exception &) {
        return true;
    }
    return false;
}

static void check_thrown()
{
    CHECK(throws<std::bad_alloc>([] { return operator new(huge); }));
    CHECK(throws<std::bad_alloc>([] { return operator new[](huge); }));
    CHECK(throws<std::bad_alloc>([] { return operator new(huge, wide); }));
    CHECK(throws<std::bad_alloc>([] { return operator new[](huge, wide); }));
    CHECK(throws<std::bad_alloc>([] { return operator new(opaque_size(SIZE_MAX)); }));
    CHECK(throws<std::bad_alloc>([] { return operator new(opaque_size(SIZE_MAX), wide); }));
    CHECK(throws<std::bad_alloc>([] { return new char[opaque_size(std::size_t{1} << 62)]; }));
    CHECK(throws<std::bad_alloc>([] { return new double[opaque_size(SIZE_MAX / 4)]; }));
}

static void check_nothrow()
{
    CHECK(operator new(huge, std::nothrow) == nullptr);
    CHECK(operator new[](huge, std::nothrow) == nullptr);
    CHECK(operator new(huge, wide, std::nothrow) == nullptr);
    CHECK(operator new[](huge, wide, std::nothrow) == nullptr);
    CHECK(operator new(opaque_size(SIZE_MAX), wide, std::nothrow) == nullptr);
}

static void give_up_at_third()
{
    if (++calls % 3 == 0) {
        std::set_new_handler(nullptr);
    }
}

static void throw_own()
{
    calls++;
    throw std::runtime_error("no");
}

static void throw_bad_alloc()
{
    calls++;
    throw std::bad_alloc();
}

int main()
{
    check_thrown();
    check_nothrow();
    for (int form = 0; form < 4; form++) {
        std::set_new_handler(give_up_at_third);
        CHECK(throws<std::bad_alloc>([form] {
            return form == 0   ? operator new(huge)
                   : form == 1 ? operator new[](huge)
                   : form == 2 ? operator new(huge, wide)
                               :
                               operator new[](huge, wide);
        }));
        CHECK(calls == 3 * (form + 1), "%d calls", calls);
    }
    std::set_new_handler(give_up_at_third);
    CHECK(operator new(huge, std::nothrow) == nullptr &&calls == 15, "%d calls", calls);
    std::set_new_handler(throw_own);
    CHECK(throws<std::runtime_error>([] { return operator new(huge); }) && calls == 16);
    std::set_new_handler(throw_bad_alloc);
    CHECK(throws<std::bad_alloc>([] { return operator new(huge, wide); }) && calls == 17);
    check_nothrow();
    CHECK(calls > 17);
    return 0;
}
