/* A new-handler that gives back a reserve: operator new then succeeds, at a real limit and not at a size that cannot
 * be.
 *
 * run: limit=AS:1G may_say="the profiled range .*" may_say="no (address space|memory) .*" */
#include "trap.h"

#include <new>
#include <vector>

enum { PIECE = 300000 };

static void *reserve;

static void give_back()
{
    if (reserve == nullptr) {
        throw std::bad_alloc();
    }
    operator delete(reserve);
    reserve = nullptr;
}

int main()
{
    std::vector<void *> pieces;
    pieces.reserve(100000);
    reserve = operator new(64 << 20);
    fill(reserve, 64 << 20, 1);
    std::set_new_handler(give_back);
    bool failed = false;
    std::size_t helped_at = 0;
    while (!failed) {
        try {
            pieces.push_back(operator new(PIECE));
            fill(pieces.back(), PIECE, static_cast<unsigned>(pieces.size()));
        } catch (const std::bad_alloc &) {
            failed = true;
        }
        helped_at = helped_at == 0 && reserve == nullptr ? pieces.size() : helped_at;
    }
    CHECK(pieces.size() > (300u << 20) / PIECE, "%zu pieces", pieces.size());
    CHECK(helped_at != 0 && pieces.size() > helped_at, "the reserve was of no use");
    for (std::size_t i = 0; i < pieces.size(); i++) {
        CHECK(verify(pieces[i], PIECE, static_cast<unsigned>(i + 1)));
        operator delete(pieces[i]);
    }
    return 0;
}
