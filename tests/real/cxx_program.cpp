// A C++ program that leans on its allocator in the ways C++ does: every form of new and delete, exceptions through
// several frames and between threads, streams and locales, the containers, smart pointers, thread-local destructors.
// Prints only what two runs have in common. Also one of the sources the compilers test compiles.
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <forward_list>
#include <fstream>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <numeric>
#include <queue>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

namespace
{

class Random
{
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 2654435761u + 1)
    {
    }

    std::uint32_t next()
    {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(state_ >> 33);
    }

  private:
    std::uint64_t state_;
};

// FNV-1a: enough to notice a byte that changed.
std::uint64_t digest(const std::string &text, std::uint64_t hash = 14695981039346656037u)
{
    for (unsigned char c : text)
        hash = (hash ^ c) * 1099511628211u;
    return hash;
}

std::string words(Random &random, unsigned count)
{
    std::string text;
    for (unsigned i = 0; i < count; i++) {
        const std::size_t length = 1 + random.next() % 12;
        text.append(length, static_cast<char>('a' + random.next() % 26));
        text += ' ';
    }
    return text;
}

// --- new and delete ---

// A compiler may leave out a new whose result it sees deleted unused: these keep it from seeing that, or that the
// request can never be met.
void *volatile seen;
volatile std::size_t huge = static_cast<std::size_t>(1) << 62;

struct alignas(256) Wide {
    std::array<unsigned char, 700> bytes{};
};

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

struct Square : Shape {
    explicit Square(double side) : side(side)
    {
    }
    double area() const override
    {
        return side * side;
    }
    double side;
};

struct Named : Shape {
    explicit Named(std::string text) : name(std::move(text))
    {
    }
    double area() const override
    {
        return static_cast<double>(name.size());
    }
    std::string name;
};

struct ThrowsInConstructor {
    explicit ThrowsInConstructor(int n) : held(static_cast<std::size_t>(n), 'h')
    {
        if (n % 2)
            throw std::runtime_error("odd " + std::to_string(n));
    }
    std::string held;
};

void every_form_of_new()
{
    unsigned misaligned = 0;
    for (int i = 0; i < 2000; i++) {
        auto wide = std::make_unique<Wide>();
        std::unique_ptr<Wide[]> several(new Wide[3]);
        misaligned += reinterpret_cast<std::uintptr_t>(wide.get()) % alignof(Wide) != 0;
        misaligned += reinterpret_cast<std::uintptr_t>(several.get()) % alignof(Wide) != 0;
    }
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 2000; i++) {
        if (i % 2)
            shapes.push_back(std::make_unique<Square>(i));
        else
            shapes.push_back(std::make_unique<Named>(std::string(static_cast<std::size_t>(i), 'n')));
    }
    double area = 0;
    for (const auto &shape : shapes)
        area += shape->area();

    unsigned odd = 0;
    for (int i = 0; i < 500; i++) {
        try {
            std::unique_ptr<ThrowsInConstructor> one(new ThrowsInConstructor(i));
        } catch (const std::runtime_error &) {
            odd++;
        }
    }
    auto *empty = new char[0];
    seen = empty;
    delete[] empty;
    void *plain = ::operator new(100);
    seen = plain;
    ::operator delete (plain, std::size_t{100});
    void *aligned = ::operator new (100, std::align_val_t{4096});
    misaligned += reinterpret_cast<std::uintptr_t>(aligned) % 4096 != 0;
    ::operator delete (aligned, std::size_t{100}, std::align_val_t{4096});
    std::cout << "new: misaligned " << misaligned << ", area " << area << ", odd " << odd << '\n';
}

int handler_calls;

void failing_allocations()
{
    try {
        char *p = new char[huge];
        seen = p;
        delete[] p;
        std::cout << "failure: no exception\n";
    } catch (const std::bad_alloc &) {
        std::cout << "failure: bad_alloc\n";
    }
    char *none = new (std::nothrow) char[huge];
    seen = none;
    std::cout << "failure: nothrow " << (none == nullptr) << '\n';
    delete[] none;

    std::set_new_handler([] {
        if (++handler_calls == 3)
            std::set_new_handler(nullptr);
    });
    try {
        void *p = ::operator new(huge);
        seen = p;
        ::operator delete(p);
    } catch (const std::bad_alloc &) {
        std::cout << "failure: handler ran " << handler_calls << " times\n";
    }
    try {
        std::vector<int> numbers;
        numbers.reserve(numbers.max_size() + 1);
    } catch (const std::length_error &) {
        std::cout << "failure: length_error\n";
    }
}

// --- exceptions ---

struct Deep : std::exception {
    explicit Deep(std::string text) : message(std::move(text))
    {
    }
    const char *what() const noexcept override
    {
        return message.c_str();
    }
    std::string message;
};

[[noreturn]] void descend(int depth, std::string carried)
{
    std::vector<std::string> held(3, carried + std::to_string(depth));
    if (depth == 0)
        throw Deep(held[0]);
    try {
        descend(depth - 1, held[1]);
    } catch (...) {
        if (depth % 4 == 0)
            std::throw_with_nested(Deep("level " + std::to_string(depth)));
        throw;
    }
}

unsigned count_nested(const std::exception &error)
{
    try {
        std::rethrow_if_nested(error);
    } catch (const std::exception &inner) {
        return 1 + count_nested(inner);
    }
    return 1;
}

void exceptions()
{
    unsigned nested = 0;
    for (int i = 0; i < 300; i++) {
        try {
            descend(i % 20, "x");
        } catch (const std::exception &error) {
            nested += count_nested(error);
        }
    }
    std::exception_ptr carried;
    std::thread([&carried] {
        try {
            throw Deep(std::string(5000, 'e'));
        } catch (...) {
            carried = std::current_exception();
        }
    }).join();
    std::size_t length = 0;
    try {
        std::rethrow_exception(carried);
    } catch (const Deep &error) {
        length = error.message.size();
    }
    auto future = std::async(std::launch::async, []() -> int { throw std::out_of_range("from a task"); });
    std::string from_task;
    try {
        future.get();
    } catch (const std::out_of_range &error) {
        from_task = error.what();
    }
    std::cout << "exceptions: nested " << nested << ", carried " << length << ", " << from_task << '\n';
}

// --- streams ---

void streams()
{
    std::ostringstream out;
    for (int i = 0; i < 20000; i++)
        out << std::setw(8) << std::setfill('.') << i << ' ' << std::hex << i << std::dec << '\n';
    std::istringstream in(out.str());
    std::string line;
    std::uint64_t hash = 0;
    while (std::getline(in, line))
        hash = digest(line, hash + 1);

    const std::string path = "cxx_program.tmp";
    {
        std::ofstream file(path);
        file.imbue(std::locale::classic());
        for (int i = 0; i < 5000; i++)
            file << std::fixed << std::setprecision(3) << i / 7.0 << ' ';
    }
    std::ifstream file(path);
    double sum = 0, value = 0;
    while (file >> value)
        sum += value;
    std::remove(path.c_str());
    std::cout << "streams: " << hash << ' ' << std::setprecision(10) << sum << '\n';

    std::ifstream missing("no/such/file");
    missing.exceptions(std::ios::goodbit);
    std::cout << "streams: missing file opens " << missing.is_open() << '\n';
}

// --- containers ---

void containers()
{
    Random random(7);
    std::map<std::string, std::vector<int>> by_name;
    std::unordered_map<std::uint32_t, std::string> by_number;
    std::multiset<std::uint32_t> sorted;
    std::deque<std::string> window;
    std::list<std::vector<char>> chain;
    std::forward_list<int> forward;
    std::priority_queue<std::pair<std::uint32_t, std::string>> queue;
    std::vector<std::variant<int, std::string, std::vector<double>>> mixed;
    for (int i = 0; i < 20000; i++) {
        std::uint32_t n = random.next();
        by_name["key" + std::to_string(n % 3000)].push_back(i);
        by_number[n % 9000] += static_cast<char>('a' + n % 26);
        sorted.insert(n % 5000);
        if (sorted.size() > 4000)
            sorted.erase(sorted.begin());
        window.push_back(std::string(n % 200, 'w'));
        if (window.size() > 500)
            window.pop_front();
        chain.emplace_back(n % 3000);
        if (chain.size() > 300)
            chain.erase(std::next(chain.begin(), 150));
        forward.push_front(i);
        queue.emplace(n, "queued");
        if (n % 3 == 0)
            mixed.emplace_back(i);
        else if (n % 3 == 1)
            mixed.emplace_back(std::string(n % 100, 'v'));
        else
            mixed.emplace_back(std::vector<double>(n % 50, 1.5));
    }
    std::uint64_t hash = 0;
    for (const auto &[name, values] : by_name)
        hash = digest(name, hash + values.size());
    std::vector<std::string> texts;
    for (auto &[number, text] : by_number)
        texts.push_back(std::to_string(number) + text);
    std::sort(texts.begin(), texts.end());
    for (const auto &text : texts)
        hash = digest(text, hash);
    for (std::uint32_t n : sorted)
        hash += n;
    for (const auto &text : window)
        hash += text.size();
    for (const auto &item : chain)
        hash += item.size();
    for (int i = 0; i < 1000; i++, queue.pop())
        hash += queue.top().first;
    for (const auto &item : mixed)
        hash += item.index();
    std::cout << "containers: " << hash << ' ' << std::distance(forward.begin(), forward.end()) << '\n';

    std::array<std::byte, 4096> buffer;
    std::pmr::monotonic_buffer_resource pool(buffer.data(), buffer.size());
    std::pmr::unsynchronized_pool_resource pools;
    std::pmr::vector<std::pmr::string> from_pool(&pool);
    std::pmr::list<int> from_pools(&pools);
    for (int i = 0; i < 2000; i++) {
        from_pool.emplace_back("a string too long to be stored in place");
        from_pools.push_back(i);
    }
    std::cout << "pmr: " << from_pool.size() << ' ' << std::accumulate(from_pools.begin(), from_pools.end(), 0) << '\n';

    const std::string text = words(random, 2000);
    const std::regex pattern("([a-e])\\1+ ");
    std::cout << "regex: "
              << std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()) << ' '
              << digest(std::regex_replace(text, pattern, "<$1>")) << '\n';
}

// --- threads ---

std::atomic<int> destroyed{0};

// Its destructor allocates and frees while the thread is already going down.
struct PerThread {
    std::vector<std::string> kept;
    ~PerThread()
    {
        std::string last(1000, 'l');
        kept.push_back(last);
        destroyed += kept.empty() ? 0 : 1;
    }
};

thread_local PerThread per_thread;

class Channel
{
  public:
    void put(std::unique_ptr<std::string> item)
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            items_.push(std::move(item));
        }
        ready_.notify_one();
    }

    std::unique_ptr<std::string> take()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        ready_.wait(lock, [this] { return !items_.empty(); });
        auto item = std::move(items_.front());
        items_.pop();
        return item;
    }

  private:
    std::mutex mutex_;
    std::condition_variable ready_;
    std::queue<std::unique_ptr<std::string>> items_;
};

// Memory is allocated on one thread and freed on another; the digest of each item is checked on arrival.
void producers_and_consumers()
{
    Channel channel;
    std::atomic<std::uint64_t> total{0};
    std::vector<std::thread> producers, consumers;
    for (unsigned id = 0; id < 4; id++) {
        producers.emplace_back([&channel, id] {
            Random random(id);
            for (int i = 0; i < 10000; i++) {
                per_thread.kept.resize(static_cast<std::size_t>(i % 10));
                channel.put(std::make_unique<std::string>(words(random, 1 + random.next() % 10)));
            }
        });
        consumers.emplace_back([&channel, &total] {
            per_thread.kept.emplace_back("consumer");
            while (auto item = channel.take())
                total += digest(*item);
        });
    }
    for (auto &thread : producers)
        thread.join();
    for (std::size_t i = 0; i < consumers.size(); i++)
        channel.put(nullptr);
    for (auto &thread : consumers)
        thread.join();
    std::cout << "threads: " << total << ", destroyed " << destroyed << '\n';
}

void many_short_threads()
{
    std::vector<std::shared_ptr<std::string>> results(400);
    for (std::size_t i = 0; i < results.size(); i += 8) {
        std::vector<std::thread> batch;
        for (std::size_t j = i; j < i + 8; j++)
            batch.emplace_back([&results, j] { results[j] = std::make_shared<std::string>(j + 1, 's'); });
        for (auto &thread : batch)
            thread.join();
    }
    std::size_t length = 0;
    for (const auto &result : results)
        length += result->size();
    std::vector<std::future<std::size_t>> tasks;
    for (unsigned i = 0; i < 16; i++)
        tasks.push_back(std::async(std::launch::async, [i] {
            Random random(i);
            return words(random, 5000).size();
        }));
    for (auto &task : tasks)
        length += task.get();
    std::cout << "short threads: " << length << '\n';
}

struct AtExit {
    std::string text = std::string(200, 'q');
    ~AtExit()
    {
        std::cout << "static destructor: " << digest(text) << std::endl;
    }
} at_exit;

} // namespace

int main(int argc, char **argv)
{
    const std::string how = argc > 1 ? argv[1] : "";
    every_form_of_new();
    if (how == "short")
        return 0;
    failing_allocations();
    exceptions();
    streams();
    containers();
    producers_and_consumers();
    many_short_threads();
    std::cerr << "to the error stream\n";
    if (how == "terminate")
        throw Deep("nobody catches this");
    return 3;
}
