"""mimalloc's own tests with the library preloaded: see foreign.py, and mimalloc_tests.list for how each of them ends and why.

They are built with a header of our own in place of mimalloc's (mimalloc_shim), by which they ask the standard functions: the same
program runs with glibc's malloc and with ours."""
import os
import sys
from pathlib import Path

import foreign

SOURCE = Path(os.environ["PROFALLOC_MIMALLOC_DIR"]) / "test"
FLAGS = ["-std=gnu11", "-O2", "-g", "-w", "-fno-builtin", "-D_GNU_SOURCE", "-DUSE_STD_MALLOC"]

# What is changed in tests; the list says why.
OTHERWISE = {"test-api": [("mi_usable_size(p) <= 16", "mi_usable_size(p) <= 24"),
                          ("void* p = mi_malloc_aligned_at(50,32,8); result = (p != NULL && ((uintptr_t)(p) + 8) % 32 == 0);",
                           "void* p = NULL;")]}
# Threads, scale and rounds of test-stress.
ARGUMENTS = {"test-stress": ["8", "10", "10"]}


def make(name, folder):
    text = (SOURCE / f"{name}.c").read_text()
    for old, new in OTHERWISE.get(name, []):
        if text.count(old) != 1:
            sys.exit(f"{name}.c is not as expected: there is no one '{old}'")
        text = text.replace(old, new)
    source = folder / f"{name}.c"
    source.write_text(text)
    program = folder / name
    foreign.build(["gcc", *FLAGS, "-I", foreign.HERE / "mimalloc_shim", "-I", SOURCE, source, "-o", program, "-lpthread"], name)
    return [program, *ARGUMENTS.get(name, [])]


def main(scratch):
    entries = foreign.read_list(foreign.HERE / "mimalloc_tests.list", OTHERWISE)
    there = {path.stem for path in SOURCE.glob("*.c")}
    if there != {entry.name for entry in entries}:
        sys.exit(f"mimalloc_tests.list has not the tests that there are: {sorted(there)}")
    folder = scratch / "programs"
    folder.mkdir()
    commands = {entry.name: make(entry.name, folder) for entry in entries if set(entry.expected.values()) != {"out"}}
    return foreign.run_list(entries, scratch, lambda entry: (commands[entry.name], {}))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
