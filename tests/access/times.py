#!/usr/bin/env python3
"""Times of accesses: for what part of their lives chunks were used, as the report tells it, is what the program itself measured,
within 0.05; with the times that are the default, with whole ones, and with the clock read at every access; by gcc, and by clang with
flags and with the pass.

Both sides are of the same run and the same clock. The program reads it before and behind each access, so that what a slow machine needs
between the two is allowed for. Times of accesses between two readings are estimates: one point may be off by up to twice as much."""
import subprocess
import sys
from pathlib import Path

import compilers
import support
from support import TOOL, check, report

HERE = Path(__file__).resolve().parent
WITHIN = 0.05
CONFS = ("sample:1", "sample:1,time_step:128K", "sample:1,time_step:1", "sample:1,access_exact:true")


def compare(way, conf, program, trace):
    done = subprocess.run([TOOL, "run", "--conf", conf, "-o", trace, "--", program, "400"], check=True, capture_output=True, text=True)
    truth = {name: (float(least), float(most)) for name, least, most in map(str.split, done.stdout.splitlines())}
    told = {point["stack"][0]["function"]: point for point in report(trace)["points"]}
    check(len(truth) == 18 and set(truth) <= set(told), f"{way}, {conf}: all points are there: {sorted(told)}")
    off = []
    for name, (least, most) in truth.items():
        check(told[name]["allocations"] == 400, f"{way}, {conf}: {name}: {told[name]['allocations']} chunks")
        ours = told[name]["scores"]["useful_lifetime"]
        error = max(least - ours, ours - most)
        check(error <= 2 * WITHIN, f"{way}, {conf}: {name} was used for {least} to {most} of its life, and is told to be for {ours}")
        off += [name] if error > WITHIN else []
    check(len(off) <= 1, f"{way}, {conf}: {off} are off by more than {WITHIN}")


def main():
    with support.folder() as folder:
        folder = Path(folder)
        for way, settings in compilers.ways():
            compilers.build(settings, [HERE / "lives.c"], folder / "lives", "-O1", "-g")
            for conf in CONFS if way.startswith("gcc") else CONFS[:1]:
                compare(way, conf, folder / "lives", folder / "t.pa")
    return 0


if __name__ == "__main__":
    sys.exit(main())
