#!/usr/bin/env python3
"""Traces that walks read with several threads, two of them at a time: the example of the library asks each by itself (examples/two_traces.c).
ThreadSanitizer ends it with another status if threads come into each other's way."""
import json
import os
import subprocess
from pathlib import Path

import folders

BUILD = Path(os.environ["PROFALLOC_BUILD_DIR"])
# form, chunks, seed, words; in pairs
PAIRS = [(("many", 150_000, 1, "points=2000"), ("many", 150_000, 1, "points=2000", "accesses", "told")),
         (("killed", 40_000, 2, "alive", "dense", "accesses"), ("many", 150_000, 3, "points=300", "sampled", "accesses"))]


def main():
    with folders.Folder(prefix="profalloc-") as name:
        paths = [Path(name) / f"{i}.pa" for i in range(2)]
        for pair in PAIRS:
            for path, (form, chunks, seed, *words) in zip(paths, pair):
                subprocess.run([BUILD / "tests/analyze/make_trace", form, path, str(chunks), str(seed), *words], check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run([BUILD / "tests/race/two_traces", *paths], capture_output=True, text=True)
            assert done.returncode == 0, f"status {done.returncode}\n{done.stderr[:4000]}"
            answers = json.JSONDecoder()
            at, told = 0, []
            while at < len(done.stdout.rstrip()):
                answer, at = answers.raw_decode(done.stdout, at)
                told.append(answer)
                at += len(done.stdout[at:]) - len(done.stdout[at:].lstrip())
            assert len(told) == 4, f"{len(told)} answers"
            assert all(report["totals"]["allocations"] > 1000 for report in told[::2]), "reports of few chunks"


main()
