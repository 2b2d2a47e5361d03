/* Every form of operator new and delete, called outright and by expressions: contents, alignment, counts. */
#include "trap.h"

#include <memory>
#include <new>
#include <string>
#include <vector>

/* Some compilers declare these only on request. */
void operator delete(void *, std::size_t) noexcept;
void operator delete[](void *, std::size_t) noexcept;
void operator delete(void *, std::size_t, std::align_val_t) noexcept;
void operator delete[](void *, std::size_t, std::align_val_t) noexcept;

static void check(void *chunk, std::size_t size, std::size_t align)
{
    CHECK(chunk != nullptr && reinterpret_cast<std::uintptr_t>(chunk) % align == 0, "%zu bytes", size);
    CHECK(malloc_usable_size(chunk) >= size);
    fill(chunk, size, 5);
    CHECK(verify(chunk, size, 5));
}

static void outright(std::size_t size, std::size_t align)
{
    std::align_val_t wanted{align};
    std::size_t usual = size <= 8 ? 8 : 16;
    void *chunks[] =
        {
            operator new(size),
            operator new[](size),
            operator new(size, std::nothrow),
            operator new[](size, std::nothrow),
            operator new(size),
            operator new[](size),
        };
    for (void *chunk : chunks) {
        check(chunk, size, usual);
    }
    operator delete(chunks[0]);
    operator delete[](chunks[1]);
    operator delete(chunks[2], std::nothrow);
    operator delete[](chunks[3], std::nothrow);
    operator delete(chunks[4], size);
    operator delete[](chunks[5], size);
    void *aligned[] = {
        operator new(size, wanted),
        operator new[](size, wanted),
        operator new(size, wanted, std::nothrow),
        operator new[](size, wanted, std::nothrow),
        operator new(size, wanted),
        operator new[](size, wanted),
    };
    for (void *chunk : aligned) {
        check(chunk, size, align);
    }
    operator delete(aligned[0], wanted);
    operator delete[](aligned[1], wanted);
    operator delete(aligned[2], wanted, std::nothrow);
    operator delete[](aligned[3], wanted, std::nothrow);
    operator delete(aligned[4], size, wanted);
    operator delete[](aligned[5], size, wanted);
}

struct alignas(128) Wide {
    unsigned char bytes[128];
};

static void by_expressions()
{
    std::vector<std::unique_ptr<Wide>> wide;
    std::vector<std::string> words;
    for (int i = 0; i < 1000; i++) {
        wide.push_back(std::make_unique<Wide>());
        fill(wide.back()->bytes, sizeof(Wide), static_cast<unsigned>(i));
        words.emplace_back(static_cast<std::size_t>(i * 3), 'x');
    }
    for (int i = 0; i < 1000; i++) {
        CHECK(reinterpret_cast<std::uintptr_t>(wide[i].get()) % 128 == 0);
        CHECK(verify(wide[i]->bytes, sizeof(Wide), static_cast<unsigned>(i)));
        CHECK(words[i] == std::string(static_cast<std::size_t>(i * 3), 'x'));
    }
}

int main()
{
    profalloc_counters_t before = counters();
    for (std::size_t size = 0; size < 400000; size = size * 2 + 3) {
        for (std::size_t align = 1; align <= 16384; align *= 4) {
            outright(size, align);
        }
    }
    by_expressions();
    CHECK(counters().live_chunks == before.live_chunks);
    return 0;
}
