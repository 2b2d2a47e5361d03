// What LevelDB's own db_bench calls fillrandom and readrandom, with the library as it is installed: so many entries of
// 16 + 100 bytes written in random order to a fresh database, then as many reads of random keys.
//
// Prints a checksum of what was read, the same under any allocator.
#include <leveldb/db.h>
#include <leveldb/options.h>
#include <leveldb/write_batch.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace
{

constexpr std::size_t value_size = 100;

class Random
{
  public:
    explicit Random(std::uint64_t seed) : state_(seed)
    {
    }
    std::uint64_t below(std::uint64_t bound)
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return (state_ * UINT64_C(0x2545F4914F6CDD1D) >> 32) * bound >> 32;
    }

  private:
    std::uint64_t state_;
};

void need(const leveldb::Status &status)
{
    if (!status.ok()) {
        std::fprintf(stderr, "leveldb_bench: %s\n", status.ToString().c_str());
        std::exit(3);
    }
}

std::string key_of(std::uint64_t number)
{
    char text[32];
    std::snprintf(text, sizeof text, "%016" PRIu64, number);
    return text;
}

std::string value_of(std::uint64_t number)
{
    std::string value(value_size, ' ');
    Random letters(number * 2 + 1);
    for (char &letter : value) {
        letter = static_cast<char>('a' + letters.below(26));
    }
    return value;
}

void fill(leveldb::DB &db, std::uint64_t entries)
{
    Random numbers(301);
    for (std::uint64_t i = 0; i < entries; i++) {
        std::uint64_t number = numbers.below(entries);
        leveldb::WriteBatch batch;
        batch.Put(key_of(number), value_of(number));
        need(db.Write(leveldb::WriteOptions(), &batch));
    }
}

std::uint64_t read(leveldb::DB &db, std::uint64_t entries, std::uint64_t *found)
{
    Random numbers(1301);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < entries; i++) {
        std::string value;
        leveldb::Status status = db.Get(leveldb::ReadOptions(), key_of(numbers.below(entries)), &value);
        if (status.IsNotFound()) {
            continue;
        }
        need(status);
        ++*found;
        sum = sum * 31 + static_cast<unsigned char>(value[i % value_size]);
    }
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: leveldb_bench FOLDER ENTRIES\n");
        return 2;
    }
    std::uint64_t entries = std::strtoull(argv[2], nullptr, 10);
    leveldb::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    leveldb::DB *opened = nullptr;
    need(leveldb::DB::Open(options, argv[1], &opened));
    std::unique_ptr<leveldb::DB> db(opened);
    std::uint64_t found = 0;
    fill(*db, entries);
    std::uint64_t sum = read(*db, entries, &found);
    std::printf("entries=%" PRIu64 " found=%" PRIu64 " checksum=%016" PRIx64 "\n", entries, found, sum);
    return 0;
}
