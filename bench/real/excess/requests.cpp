/* An echo service as in EMAD's case of TAO: each request that is decoded has a list of service contexts, which is empty, and
 * its buffer of length 0 is allocated all the same. Built with RETURN_EARLY it is not, as the paper fixed it.
 *
 *   requests COUNT
 *
 * Prints a checksum, the same for both builds. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

struct ServiceContext {
    uint32_t id;
    uint32_t length;
    unsigned char data[24];
};

class ServiceContextList
{
  public:
    ServiceContextList() = default;
    ServiceContextList(const ServiceContextList &) = delete;
    ServiceContextList &operator=(const ServiceContextList &) = delete;
    __attribute__((noinline)) ~ServiceContextList()
    {
        delete[] buffer_;
    }
    __attribute__((noinline)) void length(uint32_t count)
    {
#ifdef RETURN_EARLY
        if (count == 0) {
            return;
        }
#endif
        buffer_ = new ServiceContext[count];
        length_ = count;
    }
    uint32_t length() const
    {
        return length_;
    }
    ServiceContext &operator[](uint32_t i)
    {
        return buffer_[i];
    }

  private:
    ServiceContext *buffer_ = nullptr;
    uint32_t length_ = 0;
};

/* A message as it came over the wire. */
class Message
{
  public:
    explicit Message(const std::vector<unsigned char> &bytes) : at_(bytes.data())
    {
    }
    uint32_t number()
    {
        uint32_t value;
        std::memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    void bytes(unsigned char *to, uint32_t count)
    {
        std::memcpy(to, at_, count);
        at_ += count;
    }

  private:
    const unsigned char *at_;
};

__attribute__((noinline)) Message &operator>>(Message &message, ServiceContextList &list)
{
    uint32_t count = message.number();
    list.length(count);
    for (uint32_t i = 0; i < count; i++) {
        list[i].id = message.number();
        list[i].length = message.number() % sizeof list[i].data;
        message.bytes(list[i].data, list[i].length);
    }
    return message;
}

static std::vector<unsigned char> make_message(uint32_t number)
{
    std::vector<unsigned char> bytes(64);
    uint32_t words[16] = {0, number, 48};
    for (uint32_t i = 3; i < 16; i++) {
        words[i] = number * 2654435761u + i;
    }
    std::memcpy(bytes.data(), words, sizeof words);
    return bytes;
}

/* Decodes, answers, and forgets the request. */
__attribute__((noinline)) static uint32_t serve(const std::vector<unsigned char> &bytes, unsigned char *reply)
{
    Message message(bytes);
    ServiceContextList contexts;
    message >> contexts;
    uint32_t sum = message.number() + contexts.length();
    uint32_t size = message.number();
    message.bytes(reply, size);
    for (uint32_t i = 0; i < size; i++) {
        sum = sum * 31 + reply[i];
    }
    return sum;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? std::atol(argv[1]) : 100000;
    std::vector<std::vector<unsigned char>> messages;
    std::vector<std::string> names;
    unsigned char reply[64];
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 64; i++) {
        messages.push_back(make_message(i));
        names.push_back("interface number " + std::to_string(i) + " of the service");
    }
    for (long i = 0; i < count; i++) {
        sum += serve(messages[static_cast<size_t>(i) % messages.size()], reply);
    }
    std::printf("%08x %zu\n", static_cast<unsigned>(sum), names.size());
}
