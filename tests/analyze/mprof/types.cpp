// Types of all kinds, each of a size of its own, and a chunk of each of these sizes.
#include <cstdlib>
#include <vector>

namespace shop
{
struct item { // also under another name
    char bytes[101];
};
using thing = item;

namespace
{
struct hidden {
    char bytes[103];
};
} // namespace

class basket
{
  public:
    struct slot {
        char bytes[105];
    };
    struct impl; // defined elsewhere
    impl *own = nullptr;
    slot first;
};

struct basket::impl {
    char bytes[107];
};

template <typename T, int n> struct box {
    T bytes[n];
};
} // namespace shop

union either {
    char bytes[111];
    char other[3];
};

typedef struct {
    char bytes[113];
} unnamed;

typedef char buffer[115];
struct undefined;

template <typename T> void *take()
{
    static T one;
    (void)one;
    return malloc(sizeof(T));
}

void *last;
shop::thing spare;
buffer room;
unnamed one_more;

int main()
{
    struct local {
        char bytes[117];
    };
    last = take<shop::item>();
    last = take<shop::hidden>();
    last = take<shop::basket::slot>();
    last = take<shop::basket::impl>();
    last = take<shop::box<char, 109>>();
    last = take<either>();
    last = take<unnamed>();
    last = take<buffer>();
    last = take<local>();
    last = malloc(119);
    undefined *none = nullptr;
    std::vector<std::vector<char>> many(3);
    return none != nullptr || many.empty();
}
