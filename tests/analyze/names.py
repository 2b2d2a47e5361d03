#!/usr/bin/env python3
"""Names of addresses: functions, lines, inlined ones; C++; a program that changed; and a packed trace without the program."""
import os
import resource
import shutil
import subprocess

import support
from support import MAKER, check, equal, report, tool

SITES = ({"plain_site"}, {"inlined_site", "outer_site"})


def frames(data):
    return [f for p in data["points"] for f in p["stack"]]


def local(folder):
    support.make("ended", folder / "t.pa", 2000, 1)
    data = report(folder / "t.pa")
    names = {f["function"] for f in frames(data)}
    equal(names, {"plain_site", "inlined_site", "outer_site", None}, "functions")
    for point in data["points"]:
        for frame, caller in zip(point["stack"], point["stack"][1:] + [None]):
            if frame["function"] is not None:
                check(frame["file"].endswith("make_sites.c") and frame["line"] > 0, f"file and line: {frame}")
                check(frame["inlined"] == (frame["function"] == "inlined_site"), f"inlined: {frame}")
            if frame["function"] == "inlined_site":
                equal(caller["function"], "outer_site", "what it was inlined into")
    source = open(os.path.join(os.environ["PROFALLOC_SOURCE_DIR"], "tests/analyze/make_sites.c")).read().splitlines()
    for frame in frames(data):
        if frame["function"] == "outer_site":
            check("inlined_site()" in "".join(source[frame["line"] - 1:frame["line"] + 1]), f"the line of the call: {frame}")


def copy_of_maker(folder):
    program = folder / "program"
    shutil.copy(MAKER, program)
    subprocess.run([program, "ended", folder / "t.pa", "2000", "1"], check=True, stdout=subprocess.DEVNULL)
    return program


def packed(folder):
    """Packed here, told elsewhere: the program is gone, the names are not."""
    program = copy_of_maker(folder)
    before = report(folder / "t.pa")
    tool("pack", folder / "t.pa")
    tool("pack", folder / "t.pa", "-o", folder / "other.pa")
    program.unlink()
    lost = report(folder / "t.pa")
    check(all(f["function"] is None for f in frames(lost)), "without the program there are no names")
    check(any("no names for" in r for r in lost["remarks"]), f"which is said: {lost['remarks']}")
    for name in ("t.packed.pa", "other.pa"):
        after = report(folder / name)
        equal(after["points"], before["points"], "points of the packed trace")
        tool("check", folder / name)
    tool("pack", folder / "t.packed.pa", "-o", folder / "again.pa")
    equal(report(folder / "again.pa")["points"], before["points"], "packed twice")
    tool("pack", folder / "t.pa", "-o", folder / "absent" / "x.pa", status=1)
    support.make("killed", folder / "k.pa", 100, 1)
    _, said = tool("pack", folder / "k.pa", status=1)
    check("seal" in said, said)


def replaced(folder):
    """Another program in the same place: its names would be wrong, so there are none."""
    program = copy_of_maker(folder)
    program.unlink()
    shutil.copy("/bin/true", program)
    data = report(folder / "t.pa")
    check(all(f["function"] is None for f in frames(data)), "no names of another program")
    check(any("build-id" in r for r in data["remarks"]), f"which is said: {data['remarks']}")


def separate(folder):
    """Debug information in a file beside the program."""
    program = copy_of_maker(folder)
    subprocess.run(["objcopy", "--only-keep-debug", program, folder / "program.debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={folder / 'program.debug'}", program], check=True)
    names = {f["function"] for f in frames(report(folder / "t.pa"))}
    check({"plain_site", "inlined_site", "outer_site"} <= names, f"names from the separate file: {names}")


def source_line(source, mark):
    return next(i for i, line in enumerate(source.splitlines(), 1) if mark in line)


def build(folder, name, text, *options):
    (folder / name).write_text(text)
    compiler = os.environ["CC"] if name.endswith(".c") else os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-O2", "-g", *options, "-o", folder / "program", folder / name], check=True)
    _, said = tool("run", "-o", folder / "t.pa", "--", folder / "program")
    return report(folder / "t.pa"), said


def stack_of(data, size):
    """The frames of the program's own point with chunks of this size."""
    points = [p for p in data["points"] if p["bytes"] == size]
    equal(len(points), 1, f"points of {size} bytes")
    return [f for f in points[0]["stack"] if f["module"] and f["module"].endswith("program")]


INLINED_C = """#include <stdlib.h>
void *volatile sink;
static inline __attribute__((always_inline)) void inner(size_t n)
{
    sink = malloc(n); /* in inner */
}
static inline __attribute__((always_inline)) void middle(size_t n)
{
    inner(n); /* in middle */
}
__attribute__((noinline, noipa)) void outer(size_t n)
{
    middle(n); /* in outer */
    free(sink);
}
int main(void)
{
    outer(12345); /* in main */
    return 0;
}
"""


# Sanitized builds have no library to run programs with; clang needs a plug-in of the linker.
FORMS = [] if not os.path.exists(os.environ["PROFALLOC_LIB"]) else [()] if "clang" in os.environ["CC"] else [(), ("-flto",)]


def link_time(folder):
    """With -flto functions are described in another unit than the one that has their code."""
    for options in FORMS:
        frames_of = stack_of(build(folder, "inlined.c", INLINED_C, *options)[0], 12345)
        expected = [(name, source_line(INLINED_C, f"/* in {name} */"), name in ("inner", "middle"))
                    for name in ("inner", "middle", "outer", "main")]
        equal([(f["function"], f["line"], f["inlined"]) for f in frames_of[:4]], expected, f"frames {options}")


def unaided(folder):
    """Without the table of which unit has which addresses, which Clang does not write."""
    for options in FORMS:
        before, _ = build(folder, "inlined.c", INLINED_C, *options)
        check(any(f["inlined"] for f in frames(before)), f"inlined functions {options}")
        subprocess.run(["objcopy", "--remove-section=.debug_aranges", folder / "program"], check=True)
        equal(report(folder / "t.pa")["points"], before["points"], f"points {options}")


LAMBDA = """#include <cstdlib>
void *volatile sink;
template <class F> void call(F f)
{
    f(12345);
}
int main()
{
    {
        auto take = [](std::size_t n) {
            sink = std::malloc(n); // in the lambda
        };
        call(take);
    }
    std::free(sink);
    return 0;
}
"""


def inside(folder):
    """A function that is described inside a block of another, whose code is elsewhere."""
    for _ in FORMS[:1]:
        first = stack_of(build(folder, "lambda.cc", LAMBDA, "-O0")[0], 12345)[0]
        check("operator()" in first["function"], f"the lambda: {first}")
        equal(first["line"], source_line(LAMBDA, "// in the lambda"), "its line")


MANY = 8000


def many(folder):
    """A program of many functions: each is found by its name, and none costs a look at all the others."""
    functions = "".join(f"void f{i}(void)\n{{\n    free(malloc({16 + i}));\n}}\n" for i in range(MANY))
    table = ", ".join(f"f{i}" for i in range(MANY))
    text = (f"#include <stdlib.h>\n{functions}void (*table[])(void) = {{{table}}};\n"
            f"int main(void)\n{{\n    for (int i = 0; i < {MANY}; i++) {{\n        table[i]();\n    }}\n    return 0;\n}}\n")
    for kind in ("-g", "-g0") if FORMS else ():
        build(folder, "many.c", text, "-O0", "-fno-builtin", kind)
        begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        data = report(folder / "t.pa")
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun
        print(f"{kind}: {seconds:.2f} s")
        lines = {p["bytes"] - 16: (p["stack"][0]["function"], p["stack"][0]["line"]) for p in data["points"]}
        for i in range(MANY):
            equal(lines[i], (f"f{i}", 4 + 4 * i if kind == "-g" else None), f"function {i}")
        check(seconds < (30 if support.SANITIZED else 3), f"{seconds} s")


INLINED_CC = """#include <cstdlib>
#include <vector>
void *volatile sink;
namespace shop {
template <class T> struct Box {
    __attribute__((always_inline)) inline void fill(T n)
    {
        sink = std::malloc(n); // in fill
    }
};
class Till {
public:
    __attribute__((noinline, noipa)) void open(unsigned n)
    {
        Box<unsigned>().fill(n); // in open
        std::free(sink);
    }
};
template <class F> __attribute__((noinline, noipa)) void call(F f)
{
    f(); // in call
}
}
int main()
{
    shop::Till().open(12345); // in main
    shop::call([] { sink = ::operator new(54321); }); // a lambda
    std::vector<char> v(23456); // a vector
    sink = v.data();
    return 0;
}
"""


def cplusplus(folder):
    for options in FORMS:
        data, _ = build(folder, "inlined.cc", INLINED_CC, *options)
        frames_of = stack_of(data, 12345)
        expected = [("shop::Box<unsigned int>::fill(unsigned int)", source_line(INLINED_CC, "// in fill"), True),
                    ("shop::Till::open(unsigned int)", source_line(INLINED_CC, "// in open"), False),
                    ("main", source_line(INLINED_CC, "// in main"), False)]
        equal([(f["function"], f["line"], f["inlined"]) for f in frames_of[:3]], expected, f"frames {options}")
        first, second = stack_of(data, 54321)[:2]
        check("operator()" in first["function"] and first["inlined"], f"a lambda: {first}")
        equal(first["line"], source_line(INLINED_CC, "// a lambda"), "its line")
        check("shop::call<" in second["function"], f"a template: {second}")
        equal(second["line"], source_line(INLINED_CC, "// in call"), "its line")
        names = [f["function"] for f in stack_of(data, 23456)]
        check(any(n.startswith("std::vector<char") for n in names) and "main" in names, f"a vector: {names}")


CONTAINERS = """#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Page {
    char text[3000];
};
#define KEEP __attribute__((noinline, noipa))
namespace book {
template <class T> KEEP std::vector<T> bind(std::size_t n) // returns a type of std
{
    std::vector<T> pages;
    pages.resize(n);
    return pages;
}
KEEP std::size_t other(std::size_t n)
{
#if WHICH == 1
    std::map<int, Page> pages;
    for (std::size_t i = 0; i < n; i++) {
        pages[(int)i].text[0] = 1;
    }
#elif WHICH == 2
    std::list<Page> pages(n);
#elif WHICH == 3
    std::string pages(1000 * n, 'x');
    pages += pages;
#else
    std::vector<std::shared_ptr<Page>> pages;
    for (std::size_t i = 0; i < n; i++) {
        pages.push_back(std::make_shared<Page>());
    }
#endif
    return pages.size();
}
}
int main()
{
#if WHICH == 0
    return (int)book::bind<Page>(100).size() != 100;
#else
    return (int)book::other(100) < 0;
#endif
}
"""


def worst(folder):
    """The summary names the place in the program, not the library's own functions that it allocates through."""
    for which in range(5 if FORMS else 0):
        for level in ("-O0", "-O2"):
            data, said = build(folder, "containers.cc", CONTAINERS, level, f"-DWHICH={which}")
            line = next(line for line in said.splitlines() if line.startswith("  worst "))
            top = [f["function"] for f in data["points"][0]["stack"]]
            check(f" from {'book::other(' if which else 'std::vector<Page, std::allocator<Page> > book::bind<Page>('}" in line,
                  f"{which} {level}: {line} of {top}")
            check("book::" not in top[0], f"the test has a function of the library on top: {top}")


support.main(worst=worst, link_time=link_time, cplusplus=cplusplus, local=local, packed=packed, replaced=replaced, separate=separate, unaided=unaided,
             inside=inside, many=many)
