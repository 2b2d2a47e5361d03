/* The same for C++: containers, exceptions, aligned and array new, what static objects free at the end. */
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{
struct alignas(128) wide {
    char bytes[300];
};
struct counted {
    std::string text = std::string(200, 'c');
    ~counted()
    {
    }
};
std::map<int, std::string> at_the_end; /* freed after main */
} // namespace

int main()
{
    for (int i = 0; i < 2000; i++) {
        at_the_end[i * 7 % 1000] = std::string(static_cast<size_t>(i % 90), 'x');
    }
    std::vector<std::unique_ptr<counted[]>> arrays;
    for (size_t i = 0; i < 100; i++) {
        arrays.push_back(std::make_unique<counted[]>(i));
    }
    delete new wide;
    delete[] new wide[7];
    delete[] new (std::nothrow) char[500000];
    for (int i = 0; i < 100; i++) {
        try {
            throw std::runtime_error(std::string(100, 'e'));
        } catch (const std::exception &error) {
            std::ostringstream text;
            text << error.what() << i;
        }
    }
    new std::string(1000, 'l'); /* lost */
    std::cout << "done\n";
    return 0;
}
