/* Destructors of thread_local objects allocate and free; they run before ours or after, in every thread and in main. */
#include "trap.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

struct Holder {
    std::map<int, std::string> words;
    std::vector<char> large;
    Holder()
    {
        for (int i = 0; i < 100; i++) {
            words[i] = std::string(static_cast<std::size_t>(i * 10), 'a');
        }
        large.assign(300000, 'b');
    }
    ~Holder()
    {
        std::map<int, std::string> copy = words; /* allocates where only frees are expected */
        std::vector<char> more(large);
        for (int i = 0; i < 100; i++) {
            CHECK(copy[i] == std::string(static_cast<std::size_t>(i * 10), 'a'));
        }
        CHECK(more == large && more.size() == 300000);
    }
};

static thread_local Holder holder;

int main()
{
    profalloc_counters_t before = counters();
    for (int round = 0; round < 20; round++) {
        std::thread threads[5];
        for (std::thread &thread : threads) {
            thread = std::thread([] { CHECK(holder.words[99].size() == 990); });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    }
    CHECK(!mode_is("full") || counters().live_chunks < before.live_chunks + 64); /* threads' own, cached by libc */
    CHECK(holder.words.size() == 100);
    return 0;
}
