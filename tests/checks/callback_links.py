#!/usr/bin/env python3
"""Programs built by each installed compiler, as profalloc-cc would, link with libprofalloc_access_any.a and count alike.

Linked as a program with and without a fixed address, as a shared object, and statically. The last in two steps: the program
with its callbacks first, into one object, then that with libc. In one step --wrap would take libc's own calls for the
program's. Nothing of the sanitizer, nor of libatomic, is in the result.
"""
import glob
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("PROFALLOC_BUILD_DIR", ROOT / "build"))
SOURCES = ROOT / "tests/checks/callbacks"
ARCHIVE = str(BUILD / "libprofalloc_access_any.a")
WRAP = f"-Wl,@{BUILD}/profalloc-wrap.txt"

GCC = ["-fsanitize=thread", f"@{BUILD}/profalloc-nobuiltin.txt"]
CLANG = ["-Xclang", "-fsanitize=thread", "-mllvm", "-tsan-compound-read-before-write=1"]
COVERAGE = ["-fsanitize-coverage=func,trace-loads,trace-stores", f"@{BUILD}/profalloc-nobuiltin.txt", "-DNO_ATOMICS"]

# Reads and writes of each step of program.c.
WANTED = {"modules": (1, 0), "stores": (0, 10), "increments": (5, 5), "assignment": (1, 1), "memcpy": (0, 1),
          "memset": (0, 1), "strlen": (1, 0), "strcpy": (1, 1), "print": (0, 1), "pipe": (1, 1), "atomics": (2, 2), "wide": (2, 1)}
# Coverage tells the parts that a compiler makes of an assignment; and nothing of atomics.
NOT_IN_COVERAGE = {"assignment", "atomics", "wide"}


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return done.stdout


def compile_parts(compiler, flags, folder):
    """The instrumented program, and what stands for the library."""
    machine = ["-mcx16"] if platform.machine() == "x86_64" else []
    run(compiler, "-O2", "-fPIC", *machine, *flags, "-c", SOURCES / "program.c", "-o", folder / "program.o")
    run(compiler, "-O2", "-fPIC", f"-I{ROOT}", "-c", SOURCES / "library.c", "-o", folder / "library.o")
    return folder / "program.o", folder / "library.o"


def link(kind, compiler, program, library, folder):
    """The result's path, and the files that are not to contain what they should not."""
    result = folder / kind
    if kind == "shared":
        shared = folder / "libprogram.so"
        run(compiler, "-shared", program, ARCHIVE, WRAP, "-o", shared)
        run(compiler, library, shared, "-rdynamic", f"-Wl,-rpath,{folder}", "-o", result)
        return [result, shared]
    if kind == "static":
        joined = folder / "joined.o"
        run(compiler, "-r", "-nostdlib", program, ARCHIVE, WRAP, "-o", joined)
        run(compiler, "-static", joined, library, "-o", result)
        return [result]
    run(compiler, "-pie" if kind == "pie" else "-no-pie", program, library, ARCHIVE, WRAP, "-o", result)
    return [result]


def counts(text):
    return {name: (int(reads), int(writes)) for name, reads, writes in re.findall(r"^(\w+) (\d+) (\d+)$", text, re.M)}


def check(compiler, way, flags, kind, folder):
    files = link(kind, compiler, *compile_parts(compiler, flags, folder), folder)
    seen = counts(run(files[0]))
    wanted = {name: count for name, count in WANTED.items() if way != "coverage" or name not in NOT_IN_COVERAGE}
    problems = [f"{name}: {seen.get(name)} reads and writes, not {count}" for name, count in wanted.items()
                if seen.get(name) != count]
    needed = "".join(run("readelf", "-dW", file) for file in files)
    problems += [f"needs {name}" for name in re.findall(r"NEEDED.*\[(lib(?:atomic|tsan)[^]]*)\]", needed)]
    return [f"{compiler}, {way}, {kind}: {problem}" for problem in problems]


def main():
    clangs = ["clang", *sorted(path for path in glob.glob("/usr/bin/clang-[0-9]*") if re.search(r"clang-\d+$", path))]
    ways = [("gcc", "thread", GCC)] + [(clang, way, flags) for clang in clangs
                                       for way, flags in (("thread", CLANG), ("coverage", COVERAGE))]
    problems = []
    for compiler, way, flags in ways:
        for kind in ("pie", "fixed", "shared", "static"):
            with tempfile.TemporaryDirectory() as folder:
                problems += check(compiler, way, flags, kind, Path(folder))
    for problem in problems:
        print(problem)
    print(f"{len(ways)} ways to compile, each linked in four")
    sys.exit(bool(problems))


main()
