#!/usr/bin/env python3
"""The analyses' library with memory failing at each call in turn: tests/analyze/failing.c."""
import os
import shutil
import subprocess

from support import MAKER, SANITIZED, check, folder

BUILD = os.environ["PROFALLOC_BUILD_DIR"]
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")


def run(kind, *traces):
    program = os.path.join(BUILD, "tests/analyze", f"failing_{kind}")
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:exitcode=99"}
    done = subprocess.run([program, *map(str, traces)], capture_output=True, text=True, env=environment)
    check(done.returncode == 0, f"failing_{kind}: status {done.returncode}\n{done.stdout}{done.stderr[-4000:]}")
    counts = [int(line.split()[-2]) for line in done.stdout.splitlines()]
    check(len(counts) == 8 and min(counts) > 100, f"failing_{kind}: each analysis asks for memory: {done.stdout}")
    print(f"{kind}: {sum(counts)} calls")


def main():
    with folder() as name:
        ended, killed, packed = f"{name}/ended.pa", f"{name}/killed.pa", f"{name}/packed.pa"
        subprocess.run([MAKER, "ended", ended, "60", "1", "accesses", "maps"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([MAKER, "killed", killed, "40", "2", "folds=3", "accesses"], check=True, stdout=subprocess.DEVNULL)
        shutil.copy(f"{FIXTURES}/plain.pa", packed)
        run("own", ended, killed)
        if not SANITIZED:
            run("all", ended, packed)


main()
