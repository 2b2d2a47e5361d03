#!/usr/bin/env python3
"""Symbols and functions are found by indexes: the same ones as by going through all of them, in real programs and in made-up ones
whose symbols overlap in every way."""
import os
import random
import subprocess
import sys

import support
from support import MAKER, TOOL, check

PROGRAM = os.path.join(os.environ["PROFALLOC_BUILD_DIR"], "tests/analyze/compare_names")
CC, CXX = os.environ["CC"], os.environ.get("CXX", "c++")


def compare(count, seed, *files):
    """How many addresses, symbols and functions there were, by file."""
    done = subprocess.run([PROGRAM, str(count), str(seed), *map(str, files)], capture_output=True, text=True)
    check(done.returncode == 0, f"{done.stdout}{done.stderr}")
    return {path: tuple(map(int, numbers)) for *numbers, path in map(str.split, done.stdout.splitlines())}


def library(name):
    path = subprocess.run([CC, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    check(os.path.isabs(path), f"{name} is {path}")
    return os.path.realpath(path)


def real(_):
    """The C library has many names for one function, the C++ library weak ones, and stripped programs few."""
    files = [library("libc.so.6"), library("libstdc++.so.6"), os.path.realpath(sys.executable), TOOL, MAKER]
    for path, (asked, named, _) in compare(2500, 1, *files).items():
        check(asked > 1000 and named > asked / 20, f"{path}: of {asked} addresses {named} had symbols")


KINDS = ("function", "function", "object", "notype", "gnu_indirect_function", "gnu_unique_object")


def assembler(chance):
    """Symbols of all bindings and sizes, many without one, in two sections with code and one without; some absolute."""
    lines = []
    for number, section in enumerate((".text", '.section .text.other, "ax"', ".data")):
        lines += [section, f"base{number}:", ".zero 2000"]
        for i in range(chance.choice((5, 60, 300))):
            name = f"s{number}_{i}"
            start = chance.choice((chance.randrange(2000), chance.randrange(0, 2000, 50)))
            size = chance.choice((0, 0, 1, 50, chance.randrange(1, 100), chance.randrange(1, 1500)))
            lines += [f".set {name}, base{number} + {start}", f".type {name}, %{chance.choice(KINDS)}", f".size {name}, {size}",
                      chance.choice(("", f".globl {name}", f".weak {name}", f".globl {name}\n.hidden {name}"))]
    lines += [f".globl absolute{i}\n.set absolute{i}, {chance.randrange(0x1000, 0x4000)}" for i in range(3)]
    return "\n".join(lines) + '\n.section .note.GNU-stack, "", %progbits\n'


def made(folder):
    named = 0
    for seed in support.rounds(30):
        (folder / "made.s").write_text(assembler(random.Random(seed)))
        options = ["-Wl,--build-id=none", *(["-s"] if seed % 10 == 9 else [])]
        subprocess.run([CC, "-shared", "-nostdlib", *options, "-o", folder / "made.so", folder / "made.s"], check=True)
        named += sum(n for _, n, _ in compare(3000, seed, folder / "made.so").values())
    check(named > len(support.rounds(30)) * 1000, f"{named} addresses had symbols")


NESTED = """#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>
void *volatile sink;
namespace outer { namespace {
template <int N> struct Box {
    static int fill(int k)
    {
        std::vector<int> v(static_cast<unsigned>(N + k));
        std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
        sink = v.data();
        return v.back();
    }
};
} }
int main(int count, char **)
{
    for (int i = 0; i < count; i++) {
        auto run = [&](int k) { // a function inside a block of another
            struct Inside {
                static void go(int m) { std::string s(static_cast<unsigned>(m) + 40, 'x'); sink = &s[0]; }
            };
            Inside::go(k + i);
        };
        std::function<void(int)> copy = run;
        copy(outer::Box<3>::fill(i) + outer::Box<4>::fill(i));
    }
    if (count > 5) {
        std::map<int, std::string> m;
        m[count] = "text";
        throw m;
    }
    return 0;
}
"""


def functions(folder):
    (folder / "nested.cc").write_text(NESTED)
    for options in (["-O0"], ["-O1"], ["-O2"], ["-O3", "-ffunction-sections", "-Wl,--gc-sections"], ["-O2", "-gdwarf-4"],
                    *([] if "clang" in CC else [["-O2", "-flto"]])):
        arranged = ["-gdwarf-aranges"] if "clang" in CXX else []
        subprocess.run([CXX, "-g", *arranged, *options, "-o", folder / "nested", folder / "nested.cc"], check=True)
        for asked, _, around in compare(3000, 1, folder / "nested").values():
            check(around > asked / 2, f"{options}: {around} functions around {asked} addresses")


support.main(real=real, made=made, functions=functions)
