// What ordinary C++ allocates: an index of words over generated documents, shared nodes of a graph, a queue of closures
// and a table of records that is sorted and grouped. Every container is the standard library's.
//
// Prints checksums only, the same under any allocator.
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

class Random
{
  public:
    explicit Random(std::uint64_t seed) : state_(seed)
    {
    }
    std::uint32_t below(std::uint32_t bound)
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<std::uint32_t>((state_ * UINT64_C(0x2545F4914F6CDD1D) >> 32) * bound >> 32);
    }

  private:
    std::uint64_t state_;
};

std::string document(Random &random)
{
    std::ostringstream text;
    unsigned words = 20 + random.below(60);
    for (unsigned i = 0; i < words; i++) {
        text << "a-word-of-the-text-" << random.below(5000) << ' ';
    }
    return text.str();
}

std::uint64_t word_index(unsigned documents)
{
    Random random(7);
    std::unordered_map<std::string, std::vector<unsigned>> index;
    for (unsigned i = 0; i < documents; i++) {
        std::istringstream text(document(random));
        for (std::string word; text >> word;) {
            index[word].push_back(i);
        }
    }
    std::map<std::string, std::size_t> longest;
    for (const auto &[word, places] : index) {
        longest[word.substr(0, 22)] += places.size();
    }
    std::uint64_t sum = 0;
    for (const auto &[word, places] : longest) {
        sum = sum * 31 + places + word.size();
    }
    return sum;
}

struct Node {
    std::uint32_t value;
    std::vector<std::shared_ptr<Node>> next;
};

std::uint64_t graph(unsigned steps)
{
    Random random(11);
    std::vector<std::shared_ptr<Node>> nodes(2000);
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < steps; i++) {
        auto node = std::make_shared<Node>();
        node->value = random.below(1000);
        for (unsigned j = random.below(4); j > 0; j--) {
            const auto &other = nodes[random.below(2000)];
            if (other != nullptr) {
                auto leaf = std::make_shared<Node>(Node{other->value, {}});
                node->next.push_back(leaf);
                sum += leaf->value;
            }
        }
        nodes[random.below(2000)] = std::move(node);
    }
    return sum;
}

std::uint64_t closures(unsigned steps)
{
    std::deque<std::function<std::uint64_t()>> queue;
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < steps; i++) {
        std::string name = "a closure that carries a name of its own, " + std::to_string(i);
        queue.emplace_back([name, i] { return name.size() + i % 13; });
        if (queue.size() > 500) {
            sum += queue.front()();
            queue.pop_front();
        }
    }
    return sum;
}

struct Record {
    std::string name;
    std::string city;
    std::list<unsigned> amounts;
};

std::uint64_t records(unsigned count)
{
    Random random(13);
    std::vector<Record> table;
    for (unsigned i = 0; i < count; i++) {
        Record record{"the name of customer " + std::to_string(random.below(100000)),
                      "a city with number " + std::to_string(random.below(300)),
                      {}};
        for (unsigned j = random.below(6); j > 0; j--) {
            record.amounts.push_back(random.below(10000));
        }
        table.push_back(std::move(record));
    }
    std::stable_sort(table.begin(), table.end(), [](const Record &a, const Record &b) { return a.name < b.name; });
    std::map<std::string, std::vector<std::string>> by_city;
    std::uint64_t sum = 0;
    for (const Record &record : table) {
        by_city[record.city].push_back(record.name);
        for (unsigned amount : record.amounts) {
            sum = sum * 7 + amount;
        }
    }
    for (const auto &[city, names] : by_city) {
        sum = sum * 31 + names.front().size() * names.size() + city.size();
    }
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: containers THOUSANDS\n");
        return 2;
    }
    auto thousands = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
    std::printf("%016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", word_index(thousands * 40),
                graph(thousands * 1000), closures(thousands * 1000), records(thousands * 300));
    return 0;
}
