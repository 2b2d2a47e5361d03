#!/usr/bin/env python3
"""mprof on recorded programs: the paper's example with the paper's tables, recursion, types of C and C++, programs without
names, and what a packed trace still tells; flame, timeline and dump on the same."""
import json
import os
import re
import subprocess

import support
from support import check, equal, tool

SOURCES = os.path.join(os.environ["PROFALLOC_SOURCE_DIR"], "tests/analyze/mprof")


def build(folder, source, *options, name=None):
    program = folder / (name or source.split(".")[0])
    compiler = os.environ["CXX" if source.endswith("cpp") else "CC"]
    subprocess.run([compiler, "-O0", "-g", "-fno-inline", *options, "-o", program, os.path.join(SOURCES, source)], check=True, cwd=folder)
    return program


def record(folder, program, *arguments, options=()):
    trace = folder / f"{program.name}.pa"
    tool("run", "-o", trace.name, *options, "--", f"./{program.name}", *arguments, cwd=folder)
    return trace


def mprof(*arguments):
    return json.loads(tool("mprof", "--json", *arguments)[0])


def golden(name):
    with open(os.path.join(SOURCES, name)) as file:
        return file.read()


def entries(data):
    return {e.get("function") or f"<cycle {e['cycle']}>": e for e in data["graph"]}


def paper(folder):
    """Figures 2 to 5."""
    trace = record(folder, build(folder, "widgets.c"))
    out, _ = tool("mprof", trace.name, cwd=folder)
    equal(out, golden("widgets.txt"), "the paper's tables")


def offsets(folder):
    """Two call sites in one function are two paths, with the distance that the symbol table tells."""
    (folder / "sites.c").write_text("#include <stdlib.h>\nvoid *a, *b;\nint main(void)\n{\n    a = malloc(5);\n    b = malloc(5);\n    return 0;\n}\n")
    subprocess.run([os.environ["CC"], "-O0", "-g", "-o", folder / "sites", folder / "sites.c"], check=True)
    trace = record(folder, folder / "sites")
    equal([leak["allocs"] for leak in mprof(trace)["leaks"]], [2], "one path")
    leaks = mprof("-offsets", trace)["leaks"]
    equal([leak["allocs"] for leak in leaks], [1, 1], "two paths")
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", folder / "sites"], capture_output=True, text=True, check=True).stdout
    body = code.split("<main>:\n")[1].split("\n\n")[0].splitlines()
    addresses = [int(line.split(":")[0], 16) for line in body]
    calls = [i for i, line in enumerate(body) if "malloc" in line]
    expected = [addresses[i + 1] - addresses[0] for i in calls]
    equal([leak["path"][-1]["offset"] for leak in leaks], expected, "offsets of the instructions after the calls")
    out = tool("mprof", "-offsets", trace)[0]
    check(all(f" main+{offset}\n" in out for offset in expected), f"main+{expected} in\n{out}")
    # A packed trace has them too, when the program is gone.
    tool("pack", trace.name, "-o", "packed.pa", cwd=folder)
    (folder / "sites").unlink()
    equal(mprof("-offsets", folder / "packed.pa")["leaks"], leaks, "paths of the packed trace")
    data = mprof(folder / "packed.pa")
    check(data["bins"][0]["types"] == [] and any("no types of" in r for r in data["remarks"]), f"no types: {data['remarks']}")


def recursion(folder):
    program = build(folder, "recursion.c")
    data = mprof(record(folder, program, "self", "20"))
    found = entries(data)
    equal(list(found), ["main", "itself", "keep"], "no cycle")
    equal((found["itself"]["called"], found["itself"]["recur"]), (1, 20), "called and recur of the function that calls itself")
    equal([a["called"] for a in found["itself"]["ancestors"]], [1], "it is not its own ancestor")
    out = tool("mprof", folder / "recursion.pa")[0]
    check(re.search(r"\| +1/20  itself \[1\]", out), f"called/recur:\n{out}")
    check("... > itself > itself > itself > itself > keep" in out, "a long path is cut")

    data = mprof(record(folder, program, "mutual", "5"))
    found = entries(data)
    equal(list(found), ["main", "<cycle 1>", "even", "odd", "keep"], "the order")
    cycle = found["<cycle 1>"]
    total = 3 * 10 + 3 * 1000
    equal(data["totals"]["bytes"], total, "all")
    names = {e["index"]: name for name, e in found.items()}
    equal([names[i] for i in cycle["members"]], ["odd", "even"], "members, by what they allocate themselves")
    equal((cycle["self"], cycle["self_and_descendents"]), (3000, total), "the cycle")
    # even 5 allocates, then odd 4, even 3 ...: one call deeper each time.
    equal((cycle["called"], cycle["recur"]), (6, sum(range(6))), "calls of the cycle, and within")
    equal([(names[a["index"]], a["bytes"], a["same_cycle"]) for a in cycle["ancestors"]], [("main", total, False)], "who calls it")
    equal([(names[a["index"]], a["bytes"]) for a in cycle["descendents"]], [("keep", 30)], "what it calls")
    equal((found["odd"]["self_and_descendents"], found["even"]["self_and_descendents"]), (total - 10, total), "each stack once")
    within = [a for a in found["odd"]["ancestors"] if a["same_cycle"]]
    equal([sorted(a) for a in within], [["called", "index", "same_cycle"]], "fields within a cycle")
    graph = tool("mprof", folder / "recursion.pa")[0].split("ALLOCATION CALL GRAPH\n\n")[1]
    equal(graph, golden("recursion.txt"), "the graph")


def deep(folder):
    """10 000 frames: more than are recorded. What is beyond has a name of its own."""
    program = build(folder, "recursion.c")
    for depth in (1, 2, 64, 256):
        data = mprof(record(folder, program, "deep", "10000", options=("--depth", str(depth))))
        found = entries(data)
        equal(data["totals"]["bytes"], 100, "all")
        check("<not recorded>" in found and found["<not recorded>"]["self_and_descendents"] == 100, f"callers: {list(found)}")
        equal(data["leaks"][0]["more_callers"], True, "the path goes on")
        equal(found["keep"]["self"], 100, "who allocates")
        out = tool("mprof", folder / "recursion.pa")[0]
        check("... > " in out, out)
        # The other views of the same trace.
        lines = tool("flame", folder / "recursion.pa")[0].splitlines()
        equal(lines, ["(cut_off_here);" + (f"down_(x{depth - 1});" if depth > 4 else "down;" * (depth - 1)) + "keep 100"], "the flame graph")
        tool("flame", "--svg", folder / "deep.svg", folder / "recursion.pa")
        check(len((folder / "deep.svg").read_text()) < 50000, "the picture stays small")
        by = tool("timeline", "--csv", "--by", "stack", "--buckets", 1, folder / "recursion.pa")[0].splitlines()
        check(len(by) == 2 and by[1].startswith('"keep (recursion.c:') and ",100,1," in by[1], f"{by}")


def no_depth(folder):
    data = mprof(record(folder, build(folder, "widgets.c"), options=("--depth", "0")))
    equal([(d["function"], d["calls"]) for d in data["direct"]], [("<not recorded>", 10000)], "without stacks")
    check(re.search(r"\(99\) .* \.\.\.\n", tool("mprof", folder / "widgets.pa")[0]), "the path of nothing")


def stripped(folder):
    program = build(folder, "widgets.c", "-s")
    data = mprof(record(folder, program))
    equal(data["totals"]["kept"], 1023876, "kept")
    names = [d["function"] for d in data["direct"]]
    equal(len(names), 1, "one place that allocates")
    check(re.fullmatch(r"widgets\+0x[0-9a-f]+", names[0]), f"module and address: {names}")
    path = [f["function"] for f in data["leaks"][0]["path"]]
    check(len(path) == 3 and all(n.startswith("widgets+0x") for n in path), f"what starts main is not in it: {path}")
    equal(data["bins"][0]["types"], [], "types")
    check(any(re.fullmatch("no types of .*/widgets are named.*", r) for r in data["remarks"]), f"why there are none: {data['remarks']}")
    trace = folder / "widgets.pa"
    for line in tool("flame", trace)[0].splitlines():
        check(re.search(r";widgets\+0x[0-9a-f]+ \d+$", line), f"frames without names: {line}")
    check(re.search(r"  widgets\+0x[0-9a-f]+\n", tool("mprof", "--by", "function", trace)[0]), "a function without a name")
    check("widgets+0x" in tool("timeline", "--by", "function", trace)[0] and "no file is known" in tool("timeline", "--csv", "--by", "file", trace)[0],
          "groups without names")
    equal(tool("dump", "--where", "module = widgets and live", trace)[0].count("\n    live "), 5019, "chunks of a module without names")


def sizes(folder):
    """Zero-size chunks, all chunks alive, and a large one."""
    (folder / "z.c").write_text("#include <stdlib.h>\nvoid *p[100];\nint main(int c, char **v)\n{\n"
                                "    for (int i = 0; i < 100; i++) p[i] = malloc((size_t)atol(v[1]));\n    return c != 2;\n}\n")
    subprocess.run([os.environ["CC"], "-O0", "-g", "-o", folder / "z", folder / "z.c"], check=True)
    data = mprof(record(folder, folder / "z", "0"))
    equal([(b["size"], b["allocs"], b["bytes"], b["frees"]) for b in data["bins"]], [(0, 100, 0, 0)], "the bin of nothing")
    equal([(d["function"], d["calls"], d["bytes"]) for d in data["direct"]], [("main", 100, 0)], "who allocates nothing")
    equal(len(data["leaks"]), 1, "a path")
    out = tool("mprof", "-verbose", folder / "z.pa")[0]
    check("nan" not in out and re.search(r"100 +0 +main\n", out), out)
    data = mprof(record(folder, folder / "z", str(20 << 20)))
    equal([(b["size"], b["allocs"], b["kept"]) for b in data["bins"]], [(None, 100, 100 * (20 << 20))], "large ones, all alive")
    equal(data["direct"][0]["kept_sizes"], {"s": 0, "m": 0, "l": 0, "x": 100 * (20 << 20)}, "category")
    (folder / "none.c").write_text("int main(void)\n{\n    return 0;\n}\n")
    subprocess.run([os.environ["CC"], "-o", folder / "none", folder / "none.c"], check=True)
    equal(mprof(record(folder, folder / "none"))["graph"], [], "nothing at all")


def check_types(data):
    types = {b["size"]: b["types"] for b in data["bins"]}
    for size, expected in ((101, ["shop::item", "shop::thing"]), (103, ["shop::(anonymous namespace)::hidden"]), (105, ["shop::basket::slot"]),
                           (107, ["shop::basket::impl"]), (109, ["shop::box<char, 109>"]), (111, ["either"]), (113, ["unnamed"]),
                           (115, ["buffer"]), (117, ["local"]), (119, [])):
        equal(types[size], expected, f"types of {size} bytes")


def types(folder):
    for options in ((), ("-gdwarf-4",), ("-fdebug-types-section",), ("-gdwarf-4", "-fdebug-types-section"), ("-gsplit-dwarf",)):
        program = build(folder, "types.cpp", *options)
        data = mprof(record(folder, program))
        check_types(data)
        for item in data["bins"]:
            equal(len(item["types"]), len(set(item["types"])), f"types of {item['size']} bytes, each once")


def many_types(folder):
    """More types of a size than a line is for."""
    lines = [f"struct t{i:02} {{ char bytes[77]; }} v{i};\ntypedef char a{i:02}[77];" for i in range(20)]
    (folder / "many.c").write_text("#include <stdlib.h>\n" + "\n".join(lines) + "\nvoid *p;\n" + "\n".join(f"a{i:02} w{i};" for i in range(20)) +
                                   "\nint main(void)\n{\n    p = malloc(77);\n    return 0;\n}\n")
    subprocess.run([os.environ["CC"], "-O0", "-g", "-o", folder / "many", folder / "many.c"], check=True)
    trace = record(folder, folder / "many")
    equal(mprof(trace)["bins"][0]["types"], [f"t{i:02}" for i in range(20)] + [f"a{i:02}" for i in range(20)], "structures first")
    out = tool("mprof", trace)[0]
    check("t00, t01, t02, t03, t04, t05, t06, t07 and 32 more\n" in out, out)


def same_names(folder):
    """Two modules with a function of the same name, and a thread, whose first function has no caller."""
    (folder / "lib.c").write_text("#include <stdlib.h>\nstatic void *helper(void)\n{\n    return malloc(7);\n}\n"
                                  "void *from_library(void)\n{\n    return helper();\n}\n")
    (folder / "app.c").write_text("#include <pthread.h>\n#include <stdlib.h>\nvoid *from_library(void);\nvoid *p[3];\n"
                                  "static void *helper(void)\n{\n    return malloc(9);\n}\n"
                                  "static void *work(void *to)\n{\n    p[2] = helper();\n    return to;\n}\n"
                                  "int main(void)\n{\n    pthread_t thread;\n    p[0] = helper();\n    p[1] = from_library();\n"
                                  "    return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL);\n}\n")
    compiler = os.environ["CC"]
    subprocess.run([compiler, "-O0", "-g", "-shared", "-fPIC", "-o", folder / "libmine.so", folder / "lib.c"], check=True)
    subprocess.run([compiler, "-O0", "-g", "-o", folder / "app", folder / "app.c", "-L", folder, "-lmine", f"-Wl,-rpath,{folder}", "-pthread"], check=True)
    trace = record(folder, folder / "app")
    data = mprof(trace)
    helpers = sorted((d["module"], d["bytes"]) for d in data["direct"] if d["function"] == "helper")
    equal(helpers, [("app", 18), ("libmine.so", 7)], "two functions")
    work = entries(data)["work"]
    equal((work["called"], work["ancestors"]), (0, []), "what starts a thread is not in it")
    out = tool("mprof", "-verbose", trace)[0]
    check("helper (app)" in out and "helper (libmine.so)" in out, f"told apart:\n{out}")


support.main(paper=paper, offsets=offsets, recursion=recursion, deep=deep, no_depth=no_depth, stripped=stripped, sizes=sizes,
             types=types, many_types=many_types, same_names=same_names)
