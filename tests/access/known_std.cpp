/* What the C++ library's headers do to the heap in the program's own code: they call compilers' builtins by name. */
#include "known.h"

#include <algorithm>
#include <vector>

namespace
{

template <typename T> T *chunk(size_t size)
{
    return static_cast<T *>(hide(malloc(size)));
}

void algorithms()
{
    int *from = chunk<int>(1001);
    int *to = chunk<int>(1002);
    std::fill(reinterpret_cast<char *>(from), reinterpret_cast<char *>(from) + 64, 'x');
    STEP();
    std::copy(from, from + 16, to);
    STEP();
    USE(std::equal(from, from + 16, to));
    std::copy_backward(to, to + 4, to + 20);
    STEP();
    free(from);
    free(to);
    expect("algorithms from", 1001, 2, 1, 0, 63, 0);
    expect("algorithms to", 1002, 2, 2, 0, 79, 0);
}

/* Each vector's memory is a chunk of its own size. */
void vectors()
{
    {
        std::vector<short> first{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
        STEP();
        std::vector<short> part(first.begin(), first.begin() + 21);
        STEP();
        part.insert(part.end(), first.begin(), first.begin() + 19);
        STEP();
        USE(std::equal(first.begin(), first.end(), part.begin()));
    }
    expect("the first vector", 46, 3, 1, 0, 45, 0); /* copied from twice, compared */
    expect("one with a part", 42, 1, 1, 0, 41, 0);  /* filled, and moved to where there is room */
    expect("the longer one", 84, 1, 2, 0, 79, 0);   /* filled from both, and compared */
}

} // namespace

int main()
{
    algorithms();
    vectors();
    return 0;
}
