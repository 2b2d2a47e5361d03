#!/usr/bin/env python3
"""Times of accesses against an oracle in the same run: the callbacks are built once more, so that they also note the time of every
access (seen.c). Of each chunk both are known, the times that the schedule gave it and the true ones, whatever the machine was busy
with. At every call site of these generated programs, or all but one, the part of their lives that chunks were used is within 0.05 of
the truth; where that is less than 25 ticks of the clock, within these: a reading that the processor does not foresee comes that much later.

With a folder and a command, the same of that command: an instrumented program that was linked by the profalloc-cc in the folder,
which is made there if it is not (same_run.py FOLDER [PROGRAM ARGUMENT ...]). This is for people."""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import support
from support import TOOL, check

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ["PROFALLOC_BUILD_DIR"])
WITHIN, TICKS = 0.05, 25
FLAGS = ("-std=gnu11 -O2 -fPIC -fvisibility=hidden -ftls-model=initial-exec -fomit-frame-pointer -foptimize-sibling-calls -fno-builtin "
         "-fno-stack-protector -fasynchronous-unwind-tables -U_FORTIFY_SOURCE -fno-tree-loop-distribute-patterns -D_GNU_SOURCE").split()
SITES, CHUNKS = 40, 300


def make_place(folder):
    """What profalloc-cc looks for beside itself, with the other callbacks."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("profalloc-cc", "profalloc-c++", "profalloc-wrap.txt", "profalloc-nobuiltin.txt", "libprofalloc.so", "libprofalloc.so.0"):
        shutil.copy(BUILD / name, folder / name)
    shutil.copytree(BUILD / "lib", folder / "lib", dirs_exist_ok=True)
    objects = []
    for source in [*sorted((ROOT / "hooks" / "access").glob("*.c")), HERE / "seen.c"]:
        objects.append(folder / f"{source.stem}.o")
        subprocess.run(["gcc", *FLAGS, f"-I{ROOT}", f"-I{ROOT}/include", "-include", HERE / "seen.h", "-c", source, "-o", objects[-1]], check=True)
    subprocess.run(["ar", "rcs", folder / "libprofalloc_access.a", *objects], check=True)


def generate(dice):
    """Call sites that use their chunks alike or not, in bursts or not, with pauses or not; some use several at once."""
    lines = ["#include <stdlib.h>", "static volatile unsigned sink;",
             "static void pass(unsigned n) { for (unsigned i = 0; i < n; i++) __asm__ volatile(\"\"); }"]
    for site in range(SITES):
        lines.append(f"__attribute__((noinline)) static void site_{site}(unsigned turn, unsigned char *other) {{")
        lines.append(f"    unsigned char *chunk = malloc({dice.randrange(16, 200)});")
        lines.append('    __asm__ volatile("" : "+r"(chunk));')
        for _ in range(dice.randrange(1, 5)):
            bound = str(dice.choice((1, 2, 3, 8, 20, 100)))
            if dice.random() < 0.4:
                bound = f"{bound} + turn * {dice.randrange(3, 40)} % {dice.randrange(2, 60)}"
            step = dice.choice(("chunk[i % 16] = (unsigned char)i;", "sink = chunk[i % 16];", "chunk[i % 16]++;",
                                "chunk[i % 16]++; other[i % 16]++;"))
            lines.append(f"    pass({dice.choice((0, 0, 50, 500, 5000))});")
            lines.append(f"    for (unsigned i = 0; i < {bound}; i++) {{ {step} pass({dice.choice((0, 0, 0, 10, 100))}); }}")
        lines.append(f"    pass({dice.choice((0, 100, 2000, 20000))});")
        lines.append("    free(chunk);\n}")
    lines.append(f"int main(void) {{ unsigned char *other = malloc(16); for (unsigned turn = 0; turn < {CHUNKS}; turn++) {{")
    lines += [f"    site_{site}(turn, other);" for site in range(SITES)]
    return "\n".join([*lines, "} free(other); return 0; }", ""])


def part(born, died, first, last):
    if first is None or died <= born:
        return 0.0 if first is None else 1.0
    first, last = max(first, born), min(max(last, first), died)
    return max(last - min(first, last), 0) / (died - born)


def compare(folder, command, stdin=None):
    """Runs it, and gives of each stack the number of chunks, both means, and what 25 ticks are of their lives."""
    trace, log = folder / "seen.pa", folder / "seen.log"
    for path in (trace, log):
        path.unlink(missing_ok=True)
    env = {**os.environ, "SEEN_LOG": str(log), "PROFALLOC_CONF": f"prof:true,sample:1,time_step:1,out:{trace}"}
    subprocess.run([str(word) for word in command], env=env, check=True, stdin=stdin, stdout=subprocess.DEVNULL)
    true = {born: (first, last) for born, first, last in struct.iter_unpack("<QQQ", log.read_bytes()) if born != 0}
    dump = subprocess.run([TOOL, "dump", "--json", "--events", trace], check=True, capture_output=True, text=True).stdout
    sites = {}
    for row in map(json.loads, (line for line in dump.splitlines() if line.startswith('{"type": "death"'))):
        born, died = row["alloc_time"], row["free_time"]
        first, last = true.get(born, (None, None))
        check((first is None) == (row["first_time"] is None), f"the oracle and the trace see the same chunks touched: {row}")
        site = sites.setdefault(row["stack"], [0, 0.0, 0.0, 0.0])
        site[0] += 1
        site[3] += TICKS / max(died - born, TICKS)
        site[1] += part(born, died, row["first_time"], row["last_time"])
        site[2] += part(born, died, first, last)
    return {stack: (count, told / count, truth / count, ticks / count) for stack, (count, told, truth, ticks) in sites.items()}


def far_ones(sites):
    """Those that are told wrong: chunks, told, true, and what 25 ticks are of their lives."""
    return {stack: site for stack, site in sites.items() if abs(site[1] - site[2]) > max(WITHIN, site[3])}


def summary(sites):
    told, truth = (sum(site[i] for site in sites.values()) / len(sites) for i in (1, 2))
    return f"{len(sites)} call sites, mean useful lifetime {told:.4f}, true {truth:.4f}; told wrong: {far_ones(sites)}"


def main(arguments):
    if arguments:
        folder = Path(arguments[0])
        if not (folder / "libprofalloc_access.a").exists():
            make_place(folder)
        if arguments[1:]:
            print(summary(compare(folder, arguments[1:], sys.stdin)))
        return 0
    with support.folder() as folder:
        folder = Path(folder)
        make_place(folder)
        for seed in range(1, 6):
            (folder / "uses.c").write_text(generate(random.Random(seed)))
            subprocess.run([folder / "profalloc-cc", "-O1", "-g", "-o", folder / "uses", folder / "uses.c"], check=True)
            sites = compare(folder, [folder / "uses"])
            print(summary(sites))
            used = {stack: site for stack, site in sites.items() if site[0] == CHUNKS}
            check(len(used) == SITES, f"all call sites are there: {len(used)}")
            # A thread that loses its processor between an access and the reading of the clock is none of the schedule's doing: of each call
            # site that is a chunk or two, which makes little difference. On a machine where that is often, one site may be beyond.
            far = far_ones(used)
            check(len(far) <= 1, f"seed {seed}: call sites that are told wrong: {far}")
            check(all(abs(site[1] - site[2]) < 2 * WITHIN for site in far.values()), f"seed {seed}: far from the truth: {far}")
            told, truth = (sum(site[i] for site in used.values()) / SITES for i in (1, 2))
            check(truth > 0.1, f"seed {seed}: chunks are used for {truth} of their lives: are accesses recorded?")
            check(abs(told - truth) <= WITHIN / 2, f"seed {seed}: mean useful lifetime {told}, true {truth}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
