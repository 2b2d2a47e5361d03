#!/usr/bin/env python3
"""Advice against what following it brings: a program that does one thing badly is advised to do it otherwise, and its other form saves
about what was promised."""
import json
import os
import subprocess

import support
from support import check, equal, make, tool

SOURCE = os.path.join(os.environ["PROFALLOC_SOURCE_DIR"], "tests/analyze/advised.c")
COMPILER = os.path.join(os.environ["PROFALLOC_BUILD_DIR"], "profalloc-cc")


def record(folder, *words):
    path = folder / f"{'-'.join(words)}.pa"
    tool("run", "-o", path, "--", folder / "advised", *words)
    return path


def totals(path):
    data = json.loads(tool("report", "--json", path)[0])
    return data["totals"]["allocations"], data["peak"]["bytes"], data


def advice(path, *options):
    return json.loads(tool("advise", "--json", *options, path)[0])


def best(path, kind, function):
    """The best finding of a kind about a place in this function, and its rank among all."""
    for rank, finding in enumerate(advice(path)["findings"]):
        if finding["advice"] == kind and any(f["function"] == function for f in finding["points"][0]["stack"]):
            return finding, rank
    raise SystemExit(f"failed: no advice '{kind}' for {function}: {[f['sentence'] for f in advice(path)['findings']]}")


def near(promised, brought, what, share=0.15):
    check(abs(promised - brought) <= share * max(brought, 1), f"{what}: promised {promised}, it brought {brought}")


def kept_promises(folder):
    subprocess.run([COMPILER, "-O1", "-g", "-pthread", "-o", folder / "advised", SOURCE], check=True)
    for kind, sure in (("reserve", "high"), ("hoist", "high"), ("pool", "high"), ("shrink", "high"), ("remove", "high"),
                       ("free_earlier", None), ("allocate_later", None)):
        worse, better = record(folder, kind), record(folder, kind, "better")
        finding, rank = best(worse, kind, f"do_{kind}")
        calls = totals(worse)[0] - totals(better)[0]
        size = totals(worse)[1] - totals(better)[1]
        equal(rank, 0, f"{kind}: it is what to do first")
        if sure is not None:
            equal(finding["sure"], sure, f"{kind}: how sure it is")
        if finding["saves_calls"] > 0:
            near(finding["saves_calls"], calls, f"{kind}: calls")
        if finding["saves_bytes"] > 0:
            near(finding["saves_bytes"], size, f"{kind}: bytes of the peak", 0.35 if sure is None else 0.15)
        check(finding["saves_calls"] > 0 or finding["saves_bytes"] > 0, f"{kind}: it promises something")
        still = [f for f in advice(better)["findings"] if f["advice"] == kind
                 and any(g["function"] == f"do_{kind}" for g in f["points"][0]["stack"]) and f["rank"] > 0.01]
        equal(still, [], f"{kind}: once done, it is not advised again")
    finding, _ = best(record(folder, "unshare"), "unshare", "do_unshare")
    equal((finding["saves_calls"], finding["saves_bytes"]), (0, 0), "of sharing there is no estimate")


def words(folder):
    """What is printed, and what is wrong on the command line."""
    make("ended", folder / "t.pa", 3000, 1, "accesses")
    out, _ = tool("advise", "--top", 3, folder / "t.pa")
    check("how sure: " in out and "\n  #3  " in out and "\n  #4  " not in out, out)
    for sort in ("rank", "bytes", "calls", "time"):
        key = {"rank": "rank", "bytes": "saves_bytes", "calls": "saves_calls", "time": "saves_ns"}[sort]
        values = [f[key] for f in advice(folder / "t.pa", "--sort", sort)["findings"]]
        equal(values, sorted(values, reverse=True), f"sorted by {sort}")
    said = tool("advise", "--sort", "colour", folder / "t.pa", status=2)[1]
    equal(said, "profalloc advise: --sort takes rank, bytes, calls or time, not 'colour'\n", "what is wrong")
    check("usage: profalloc advise" in tool("advise", "--help")[0], "help")
    tool("advise", folder / "none.pa", status=2)
    make("ended", folder / "empty.pa", 0, 1)
    check("0 of 0 changes" in tool("advise", folder / "empty.pa")[0], "nothing to advise")
    make("ended", folder / "one.pa", 1, 1, "accesses")
    for finding in advice(folder / "one.pa")["findings"]:
        equal(finding["sure"], "low", "of one chunk nothing is sure")


support.main(kept_promises=kept_promises, words=words)
