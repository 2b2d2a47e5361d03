#!/usr/bin/env python3
"""Every access of tests/access/known.c and known_std.cpp is recorded as it was: with each compiler and way of instrumenting,
at each level of optimisation, as C and as C++; in the trace of a process that ended, and in what a killed one left."""
import json
import platform
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compilers
from support import check, equal, tool

HERE = Path(__file__).resolve().parent
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-O2 -DKNOWN_FORTIFIED"]
if platform.machine() == "x86_64":  # vectors of 32 bytes and more; arm64's that are not of 16 are not in all machines that say so
    LEVELS.append("-O3 -march=native")


def chunks(trace):
    """By size, from dump."""
    found = {}
    for line in tool("dump", "--json", "--events", trace)[0].splitlines():
        row = json.loads(line)
        if row["type"] in ("death", "live"):
            found.setdefault(row["size"], []).append(row)
    return found


def as_expected(row):
    def place(value):
        return -1 if value is None else value

    return {"reads": row["reads"], "writes": row["writes"], "low": place(row["low"]), "high": place(row["high"]),
            "shared": row["shared"]}


def bounded(seen, count, least_of, vectors):
    """A count that is as written, or smaller if it is of vectors: then the number seen, otherwise the one expected."""
    least = -(-least_of[0] // max(vectors, least_of[1])) if vectors else count
    return seen if least <= seen <= count else count


def compare(what, printed, trace, vectors=0):
    """vectors: how wide the machine has them at least, or 0 where no loop is made into any."""
    rows = chunks(trace)
    wrong = []
    for line in printed.splitlines():
        expected = json.loads(line)
        name, size = expected.pop("name"), expected.pop("size")
        found = rows.get(size, [])
        equal(len(found), 1, f"{what}: chunks of {size} bytes ({name})")
        seen = as_expected(found[0])
        for word in ("reads", "writes"):
            if isinstance(expected[word], list):
                count, *least_of = expected[word]
                expected[word] = bounded(seen[word], count, least_of, vectors)
        if seen != expected:
            wrong.append(f"{name}: {seen}, expected {expected}")
        times(what, found[0])
    check(not wrong, f"{what}: " + "; ".join(wrong))


def times(what, row):
    if row["reads"] + row["writes"] == 0:
        equal((row["first_time"], row["last_time"]), (None, None), f"{what}: times of a chunk that was not touched")
        return
    end = row.get("free_time") or row["last_time"]
    check(row["alloc_time"] <= row["first_time"] <= row["last_time"] <= end, f"{what}: times {row}")


def one(folder, name, way, level, cxx, source="known.c"):
    what = f"{name} {level} {'C++' if cxx else 'C'} {source}"
    program = folder / what.replace(" ", "_")
    flags = ("-x", "c++") if cxx else ()
    compilers.build(way, [HERE / source], program, *level.split(), "-g", "-pthread", "-Wall", "-Wextra", "-Werror", *flags, cxx=cxx)
    trace = folder / (program.name + ".pa")
    # The pass comes behind the optimiser; what flags instrument is not made into vectors.
    optimised = "pass" in name and level not in ("-O0", "-O1")
    vectors = (64 if "native" in level else 16) if optimised else 0
    compare(what, compilers.run(program, trace), trace, vectors)
    if level == "-O2" and source == "known.c":
        killed = folder / (program.name + ".killed.pa")
        printed = compilers.run(program, killed, "end:false", ("kept",), -signal.SIGKILL)
        compare(what + " killed", printed, killed, vectors)


def main():
    with tempfile.TemporaryDirectory(prefix="profalloc-access-") as folder, ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one, Path(folder), name, way, level, cxx)
                for name, way in compilers.ways() for level in LEVELS for cxx in (False, True)]
        jobs += [pool.submit(one, Path(folder), name, way, level, True, "known_std.cpp")
                 for name, way in compilers.ways() for level in LEVELS]
        wrong = [str(job.exception()) for job in jobs if job.exception() is not None]
    for text in wrong:
        print(text[:2000])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
