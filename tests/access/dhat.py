#!/usr/bin/env python3
"""Reads and writes of a whole program, by the place that allocated, against DHAT's.

DHAT counts bytes, we count accesses: where all are of 8 bytes, its bytes are eight times our accesses, exactly without
optimisation, and nearly with it. Texts are written and read by libc, also by snprintf: DHAT sees each of these accesses, we
see one for each call of instrumented code."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import compilers
from support import check, equal, report

HERE = Path(__file__).resolve().parent
SITES = "-fno-optimize-sibling-calls"  # a function that ends with malloc is in the stack
WORDS = ("make_node", "make_link", "make_matrix", "make_table", "make_written_only", "make_untouched")


def dhat(program, folder):
    """function -> (bytes read, bytes written) under DHAT."""
    out = folder / "dhat.json"
    subprocess.run(["valgrind", "--tool=dhat", f"--dhat-out-file={out}", str(program)], check=True, capture_output=True,
                   timeout=compilers.TIME_LIMIT)
    data = json.loads(out.read_text())
    sums = {}
    for point in data["pps"]:
        names = [data["ftbl"][index] for index in point["fs"]]
        site = next((name.split(": ")[1].split(" ")[0] for name in names if ": make_" in name), None)
        if site is not None:
            reads, writes = sums.get(site, (0, 0))
            sums[site] = (reads + point.get("rb", 0), writes + point.get("wb", 0))
    return sums


def ours(trace):
    sums = {}
    for point in report(trace)["points"]:
        site = next((f["function"] for f in point["stack"] if (f["function"] or "").startswith("make_")), None)
        if site is not None:
            reads, writes = sums.get(site, (0, 0))
            sums[site] = (reads + point["accesses"]["reads"], writes + point["accesses"]["writes"])
    return sums


def order(sums, which):
    return sorted(sums, key=lambda site: (sums[site][which], site))


def compare(name, level, way, folder):
    source = HERE / "sites.c"
    plain, program = folder / "plain", folder / "instrumented"
    # The accesses are those of the same compiler's code at the same level. Debug information that Valgrind can read.
    subprocess.run([way["PROFALLOC_CC"], level, SITES, "-gdwarf-4", str(source), "-o", str(plain)], check=True)
    compilers.build(way, [source], program, level, SITES, "-g")
    trace = folder / "sites.pa"
    compilers.run(program, trace)
    theirs, mine = dhat(plain, folder), ours(trace)
    what = f"{name} {level}"
    equal(sorted(mine), sorted(theirs), f"{what}: sites")
    for site in WORDS:
        for bytes_ours, bytes_theirs in zip((8 * mine[site][0], 8 * mine[site][1]), theirs[site]):
            # Two fields may be stored as one; and callbacks stand in the way: a store in each turn of a loop, not once behind it.
            same = bytes_ours == bytes_theirs if level == "-O0" else 0.6 * bytes_theirs <= bytes_ours <= 1.5 * bytes_theirs
            check(same, f"{what}: {site}: {mine[site]} accesses, DHAT's bytes {theirs[site]}")
    reads, writes = mine["make_text"]
    check(0 < reads and 8 * reads <= theirs["make_text"][0] and 0 < writes and writes <= theirs["make_text"][1],
          f"{what}: texts {mine['make_text']}, DHAT's bytes {theirs['make_text']}")
    for which, word in enumerate(("reads", "writes")):
        mine_by = [site for site in order(mine, which) if site in WORDS]
        equal(mine_by, [site for site in order(theirs, which) if site in WORDS], f"{what}: sites in the order of {word}")
    never_read = {site for site, (read, _) in mine.items() if read == 0}
    equal(never_read, {site for site, (read, _) in theirs.items() if read == 0}, f"{what}: sites never read")


def main():
    with tempfile.TemporaryDirectory(prefix="profalloc-dhat-") as folder:
        for name, way in compilers.ways():
            for level in ("-O0", "-O1"):
                own = Path(folder) / f"{name} {level}"
                own.mkdir()
                compare(name, level, way, own)
    return 0


if __name__ == "__main__":
    sys.exit(main())
