#!/usr/bin/env python3
"""The time in allocation routines that a trace tells: which calls it is of, what it is made of, and that it is told of processes that
ended, were killed, forked and go on. How near it comes to what programs measure themselves, bench/run spent tells: it depends on
the machine. That the estimate is right is tested on made samples, tests/unit/test_spent.c."""
import subprocess

import support
from capture import check, equal, program, start, trace, traces
from support import report, tool


def times_by_pid(said):
    return {int(pid): float(seconds) for pid, seconds in (line.split() for line in said.splitlines())}


def run(folder, mode, conf="", status=0):
    """Runs the program; returns what it measured, by process."""
    process = start(folder, [program("exact/spender"), mode], conf, stdout=subprocess.PIPE)
    said, wrong = process.communicate(timeout=1800)
    equal(process.returncode, status, f"spender {mode}: status ({wrong})")
    return times_by_pid(said)


def compare(mode, time, truth, calls):
    check(time is not None, f"{mode}: nothing is told")
    # The calls that were measured are some of those that the program measured around them.
    check(0 < time["seconds"] * time["measured"] / time["calls"] <= truth, f"{mode}: {time}, measured by the program: {truth} s of all calls")
    equal(time["calls"], calls, f"{mode}: calls", 0.02)
    equal(time["measured"], calls / 512, f"{mode}: calls measured", 0.1)
    equal(time["allocations"] + time["frees"], time["seconds"], f"{mode}: the parts", 1e-9)
    check(time["own"]["seconds"] != 0 < time["own"]["error"], f"{mode}: the allocator's part: {time}")


def calls_of(file):
    """As many as there were births and deaths: this program has no realloc."""
    return file["totals"]["allocations"] + file["totals"]["frees"]


def one(folder, mode, status=0):
    (truth,) = run(folder, mode, status=status).values()
    data = report(trace(folder))
    compare(mode, data["allocation_time"], truth, calls_of(data))
    compare(mode, data["files"][0]["allocation_time"], truth, calls_of(data))
    text, _ = tool("report", trace(folder))
    check("  time       in allocation routines" in text, f"{mode}: no word of it\n{text[:2000]}")
    return data


def killed(folder):
    """It is in the live table; and in the trace, once that is sealed."""
    before = one(folder, "killed", status=-9)["allocation_time"]
    tool("seal", trace(folder))
    equal(report(trace(folder))["allocation_time"], before, "sealed")


def forked(folder):
    truths = run(folder, "fork")
    equal(len(traces(folder)), 2, "traces")
    data = report(*traces(folder))
    for file in data["files"]:
        compare(f"fork, forked: {file['forked']}", file["allocation_time"], truths[file["pid"]], calls_of(file))
    both = data["allocation_time"]
    equal(both["files"], 2, "files that tell it")
    equal(both["seconds"], sum(file["allocation_time"]["seconds"] for file in data["files"]), "the sum", 1e-9)


def running(folder):
    """A process that goes on tells it too."""
    process = start(folder, [program("exact/spender"), "waits"], stdout=subprocess.PIPE)
    try:
        (truth,) = times_by_pid(process.stdout.readline()).values()
        data = report(trace(folder))
        equal(data["files"][0]["end"], "running", "how it ended")
        compare("running", data["allocation_time"], truth, calls_of(data))
    finally:
        process.kill()
        process.communicate()


def unknown(folder):
    """Of samples nothing is told."""
    run(folder, "alone", conf="sample:64K")
    equal(report(trace(folder))["allocation_time"], None, "of samples")
    text, _ = tool("report", trace(folder))
    check("not known of a sampled recording" in text, f"samples: {text[:2000]}")


support.main(alone=lambda folder: one(folder, "alone"), threads=lambda folder: one(folder, "threads"),
             sizes=lambda folder: one(folder, "sizes"), apart=lambda folder: one(folder, "apart"),
             killed=killed, forked=forked, running=running, unknown=unknown)
