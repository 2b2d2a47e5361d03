/* For prog_dlopen_cxx_local: C++ in a library that a C program opens without showing its symbols to others. */
#include <new>
#include <string>
#include <vector>

static bool handled;

static void handler()
{
    handled = true;
    std::set_new_handler(nullptr);
}

/* 0 if operator new fails as it should. */
extern "C" int use_cxx(std::size_t huge)
{
    std::vector<std::string> words;
    for (int i = 0; i < 1000; i++) {
        words.emplace_back(static_cast<std::size_t>(i), 'y');
    }
    if (words[999].size() != 999) {
        return 1;
    }
    std::set_new_handler(handler);
    try {
        void *chunk = operator new(huge);
        operator delete(chunk);
        return 2;
    } catch (const std::bad_alloc &) {
    }
    if (!handled) {
        return 3;
    }
    return operator new(huge, std::nothrow) == nullptr ? 0 : 4;
}
