/* A program that allocates what it needs and no more: an index of words, each kept until the end, with buffers that are made
 * once. There is nothing excessive in it.
 *
 *   index WORDS
 *
 * Prints what the index has in it. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(random_state >> 33) % limit;
}

/* Into a buffer that has room already. */
static void make_word(std::string &word)
{
    word.clear();
    for (uint32_t letters = 4 + random_below(20); letters > 0; letters--) {
        word.push_back(static_cast<char>('a' + random_below(letters > 3 ? 4 : 26)));
    }
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? std::atol(argv[1]) : 200000;
    std::unordered_map<std::string, uint32_t> index;
    std::string word;
    word.reserve(64);
    index.reserve(static_cast<size_t>(count));
    for (long i = 0; i < count; i++) {
        make_word(word);
        index[word]++;
    }
    std::vector<const std::pair<const std::string, uint32_t> *> order;
    order.reserve(index.size());
    for (const auto &entry : index) {
        order.push_back(&entry);
    }
    std::sort(order.begin(), order.end(),
              [](auto a, auto b) { return a->second != b->second ? a->second > b->second : a->first < b->first; });
    std::printf("%zu words, most often %s\n", index.size(), order.empty() ? "" : order[0]->first.c_str());
}
