/* What the corpus of tests/fuzz/fuzz_names.c is compiled from: small, with what debug information has words for. Functions that
 * are inlined into each other, in a class inside of a function, in namespaces and templates; types of all kinds. Needs no header
 * and no library. */
namespace outer
{
namespace
{
struct hidden {
    int first;
    union {
        char text[8];
        double number;
    };
};
} // namespace

template <typename T, int N> struct box {
    T items[N];
    class inner
    {
      public:
        long total = 0;
        __attribute__((always_inline)) inline long add(T value)
        {
            return total += value;
        }
    };
    __attribute__((always_inline)) inline long sum() const
    {
        inner all;
        for (const T &item : items) {
            all.add(item);
        }
        return all.total;
    }
};

typedef box<short, 5> shorts;
enum class colour : unsigned char { red, green };
} // namespace outer

typedef struct plain {
    struct plain *next;
    int (*call)(int, ...);
    unsigned bits : 3;
} plain_t;

static __attribute__((always_inline)) inline int twice(int value)
{
    return 2 * value;
}

static __attribute__((always_inline)) inline int four_times(int value)
{
    return twice(twice(value));
}

extern "C" __attribute__((noinline)) int use(plain_t *list, outer::shorts *numbers)
{
    struct local {
        int count;
        __attribute__((noinline)) static int deep(int value)
        {
            return value < 1 ? value : deep(value / 2) + 1;
        }
    };
    local counted = {0};
    outer::hidden kept = {1, {{0}}};
    for (; list != nullptr; list = list->next) {
        int here = four_times(counted.count);
        {
            int block = here + kept.first;
            counted.count += list->call(block, local::deep(block));
        }
    }
    return counted.count + (int)numbers->sum();
}

extern "C" int start(plain_t *list, outer::colour shade)
{
    outer::shorts numbers = {{1, 2, 3, 4, (short)shade}};
    return use(list, &numbers) + four_times((int)shade);
}
