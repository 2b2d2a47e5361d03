#!/usr/bin/env python3
"""profalloc excess on real programs (tests/analyze/looping.c): a loop with many sizes is one hit, and a clean program has none."""
import json
import os
import subprocess
from pathlib import Path

import support
from support import check, equal, tool

SOURCE = Path(os.environ["PROFALLOC_SOURCE_DIR"]) / "tests/analyze/looping.c"
TURNS, LOW, HIGH = 200 * 5000, 16, 1024


def build(folder):
    program = folder / "looping"
    subprocess.run([os.environ["CC"], "-g", "-O1", str(SOURCE), "-o", str(program)], check=True)
    return program


def record(folder, way, conf="sample:1", program=None):
    trace = folder / f"{way}.pa"
    trace.unlink(missing_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PROFALLOC_") and k != "LD_PRELOAD"}
    env |= {"PROFALLOC_CONF": f"prof:true,{conf},out:{trace}", "LD_PRELOAD": os.environ["PROFALLOC_LIB"]}
    subprocess.run([program or build(folder), way], env=env, timeout=1800, check=True)
    return trace


def excess(trace, *options):
    return json.loads(tool("excess", "--json", *options, trace)[0])


def check_frequency(hit, data, part=1.0):
    """On a busy machine some deaths are known in sums only. At least this part of the others is there."""
    check(part * (TURNS - data["folded"]) <= hit["frequency"] <= TURNS, f"{hit['frequency']} times, {data['folded']} in sums only")


def many_sizes(folder):
    """None of the sizes takes a tenth of the share, and all of them together are worth a change."""
    trace = record(folder, "sizes")
    share = support.worth_it(trace, TURNS)
    data = excess(trace, "--objects", *share)
    equal([h["caller"]["function"] for h in data["hits"]], ["render"], "the only hit")
    hit = data["hits"][0]
    # A size whose chunks lived longer, since the program lost its processor in the life of one, may be in another cluster: how many
    # are depends on the machine.
    check_frequency(hit, data, 0.5)
    low, high = hit["size_low"], hit["size_high"]
    check(LOW <= low < high <= HIGH, f"sizes: {low} to {high}")
    check((HIGH - LOW + 1) / 2 <= hit["sizes"] <= HIGH - LOW + 1, f"{hit['sizes']} sizes")
    equal(hit["destroyer"]["function"], "render", "who frees")
    least = data["min_share"] * data["run_ns"] / 10
    sizes = [o for o in data["objects"] if o["caller"]["function"] == "render"]
    check(all(o["frequency"] * data["pair_ns"] < least for o in sizes), "each by itself takes too little")
    check(TURNS - data["folded"] <= sum(o["frequency"] for o in sizes) <= TURNS, "all of them, in whichever cluster")
    equal({o["size_low"] for o in sizes}, set(range(LOW, HIGH + 1)), "all sizes")
    text = tool("excess", "--plain", *share, trace)[0]
    check(f"{hit['frequency']:,} times {low} to {high:,} bytes, {hit['sizes']:,} sizes, alive for" in text, text)
    check(f"use a local array, or keep one chunk of {high:,} bytes from call to call" in text, text)
    equal([c["function"] for c in hit["calls"][:3]], ["render", "run_job", "main"], "calls")


def one_size(folder):
    trace = record(folder, "one")
    for method in ("kmeans", "iqr"):
        share = support.worth_it(trace, TURNS)
        data = excess(trace, "--method", method, *share)
        equal([(h["caller"]["function"], h["size_low"], h["size_high"], h["sizes"]) for h in data["hits"]], [("render", 48, 48, 1)],
              f"hits by {method}")
        check_frequency(data["hits"][0], data)
        text = tool("excess", "--plain", "--method", method, *share, trace)[0]
        check(f"{data['hits'][0]['frequency']:,} times 48 bytes, alive for" in text, text)


def few_functions(folder):
    """All live for some nanoseconds, and which of them by the fewest is chance: the most frequent is excessive all the same."""
    for conf in ("sample:1", "sample:1,time_step:1"):
        trace = record(folder, "few", conf)
        data = excess(trace, *support.worth_it(trace, TURNS))
        equal(data["hits"][0]["caller"]["function"], "few_128", "the most frequent")
        check_frequency(data["hits"][0], data)
        most = next(c for c in data["kmeans"]["clusters"] if c["most_frequent"])
        check(most["shortest"], f"none is shorter: {data['kmeans']}")
        iqr = excess(trace, "--method", "iqr")["iqr"]
        check(1 <= iqr["iqr"] < 10, f"the unit makes the IQR a small number: {iqr}")


def grown(folder):
    """What realloc moves on is not freed: of eight chunks of a list, only the last is."""
    trace = record(folder, "grow")
    share = support.worth_it(trace, TURNS)
    data = excess(trace, *share)
    hit = data["hits"][0]
    equal((hit["caller"]["function"], hit["size_low"], hit["size_high"]), ("grow_list", 16, 128), "the list")
    check(abs(hit["moved"] / hit["frequency"] - 7 / 8) < 0.01, f"{hit['moved']} of {hit['frequency']} were moved")
    text = tool("excess", "--plain", "--top", 1, *share, trace)[0]
    check("realloced by grow_list" in text and "freed by" not in text, text)
    check("moved by realloc, not freed: if they grow, reserve at once what is needed in the end, at least 128 bytes." in text, text)


def clean(folder):
    trace = record(folder, "clean")
    for method in ("kmeans", "iqr"):
        data = excess(trace, "--method", method)
        equal((data["hits"], data["excessive"]), ([], False), f"nothing by {method}")
        check("No excessive allocation" in tool("excess", "--plain", "--method", method, trace)[0], "which is said")


def sampled(folder):
    """Of samples of the same program, the true frequency is within its interval about 95 times of 100."""
    program, runs, right, total = build(folder), 12 if support.SANITIZED else 40, 0, 0.0
    for _ in range(runs):
        trace = record(folder, "sizes", "sample:64K", program)
        data = excess(trace, "--clusters", 1, "--min-share", 0)
        hit = next(h for h in data["hits"] if h["caller"]["function"] == "render")
        check(0 < hit["within"]["frequency"] < hit["frequency"] / 4, f"an interval that says something: {hit['within']}")
        right += abs(hit["frequency"] - TURNS) <= hit["within"]["frequency"]
        total += hit["frequency"]
    check(right >= (0.4 if support.SANITIZED else 0.65) * runs, f"{right} of {runs} intervals have the truth")
    check(abs(total / runs / TURNS - 1) < (0.06 if support.SANITIZED else 0.03), f"{total / runs} on average")
    print(f"{right} of {runs} intervals have the truth")


support.main(sampled=sampled, many_sizes=many_sizes, one_size=one_size, few_functions=few_functions, grown=grown, clean=clean)
