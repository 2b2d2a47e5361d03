#!/usr/bin/env python3
"""profalloc excess on programs: one that allocates nothing for each request is told so, and once that is fixed nothing is left to
tell; one that keeps what it allocates has nothing to tell. They are those of bench/run excess, which also measures them."""
import json
import os
import subprocess
from pathlib import Path

import capture
import support
from capture import check, equal

SOURCES = Path(os.environ["PROFALLOC_SOURCE_DIR"]) / "bench/real/excess"
REQUESTS, WORDS = 200_000, 50_000


def build(folder, name, *flags):
    program = folder / name
    subprocess.run([os.environ.get("CXX", "c++"), "-O2", "-g", *flags, SOURCES / f"{name}.cpp", "-o", program], check=True)
    return program


def tell(path, *options):
    return {m: json.loads(support.tool("excess", "--json", "--objects", "--method", m, *options, path)[0]) for m in ("kmeans", "iqr")}


def ask(folder, command, *options):
    for old in capture.traces(folder):
        old.unlink()
    equal(capture.capture(folder, command, "free_depth:8"), "", "what the library said")
    path, = capture.traces(folder)
    return path, tell(path, *options)


def requests(folder):
    path, _ = ask(folder, [build(folder, "requests"), REQUESTS])
    share = support.worth_it(path, REQUESTS)
    for method, told in tell(path, *share).items():
        check(told["excessive"] is True, f"{method}: {told['reason']}")
        hit, = told["hits"]
        known = REQUESTS - told["folded"]  # of the others, on a busy disk, there are sums only
        check(known <= hit["frequency"] <= REQUESTS, f"{method}: one for each request: {hit['frequency']}, {told['folded']} in sums only")
        equal((hit["size_low"], hit["size_high"]), (0, 0), f"{method}: sizes")
        check(hit["caller"]["function"].startswith("ServiceContextList::length"), str(hit["caller"]))
        check(any(c["function"].startswith("operator>>") and known <= c["chunks"] <= REQUESTS for c in hit["calls"]), str(hit["calls"]))
        check("return before allocating" in hit["advice"], hit["advice"])
    support.tool("excess", "--fail", *share, path, status=3)


def fixed(folder):
    path, answers = ask(folder, [build(folder, "requests", "-DRETURN_EARLY"), REQUESTS])
    for method, told in answers.items():
        check(told["excessive"] is False and told["hits"] == [], f"{method}: {told['hits']}")
        check(not any(o["size_low"] == 0 for o in told["objects"]), "nothing is allocated for nothing")
    support.tool("excess", "--fail", path, status=0)
    check("No excessive allocation" in support.tool("excess", path)[0], "which is said")


def clean(folder):
    _, answers = ask(folder, [build(folder, "index"), WORDS])
    for method, told in answers.items():
        check(told["chunks"] > WORDS, "it allocates a lot")
        check(told["excessive"] is False and told["hits"] == [], f"{method}: {told['hits']}")


support.main(requests=requests, fixed=fixed, clean=clean)
