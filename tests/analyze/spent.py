#!/usr/bin/env python3
"""The time in allocation routines: what the report tells of made traces, against the formulas written down once more."""
import json
from math import sqrt

import support
from support import check, equal, make, report, tool

CALLS, WAITED = 1000000, 5000000  # as make_trace.c has them; a tick is a nanosecond
WHOLE = [(1000, 1000 * 80, 9000000), (900, 900 * 40, 2000000)]
OWN = [(1100, 1100 * 20, 600000), (800, -800, 10000)]
CLOSE = 1e-9


def estimate(samples):
    """Of all calls: seconds, and the standard error."""
    count, ticks, squares = map(sum, zip(*samples))
    mean = ticks / count
    spread = (squares - count * mean**2) / (count - 1)
    return CALLS * mean * 1e-9, CALLS * sqrt(spread / count * (1 - count / CALLS)) * 1e-9


def expect(time, files, what):
    """Of so many traces with the same times."""
    seconds, error = estimate(WHOLE)
    own, own_error = estimate(OWN)
    waited = WAITED * 1e-9
    frees = CALLS * WHOLE[1][1] / (WHOLE[0][0] + WHOLE[1][0]) * 1e-9
    check(time is not None, f"{what}: nothing is told")
    equal(time["files"], files, f"{what}: files")
    equal(time["calls"], files * CALLS, f"{what}: calls")
    equal(time["measured"], files * 3800, f"{what}: measured")
    equal(time["capped"], files * 4, f"{what}: capped")
    for ours, expected, name in ((time["seconds"], files * (seconds + waited), "seconds"), (time["error"], sqrt(files) * error, "error"),
                                 (time["waited"], files * waited, "waited"), (time["frees"], files * (frees + waited), "frees"),
                                 (time["allocations"], files * (seconds - frees), "allocations"),
                                 (time["own"]["seconds"], files * own, "own"), (time["own"]["error"], sqrt(files) * own_error, "own error")):
        check(abs(ours - expected) <= CLOSE * expected, f"{what}: {name}: {ours}, expected {expected}")


def formulas(folder):
    path = folder / "t.pa"
    for form in ("ended", "killed", "sealed"):
        make("ended" if form == "ended" else "killed", path, 300, 5, "timed")
        if form == "sealed":
            tool("seal", path)
        data = report(path)
        expect(data["allocation_time"], 1, form)
        expect(data["files"][0]["allocation_time"], 1, f"{form}, the file")
        equal(data["allocation_time"]["of"], data["files"][0]["seconds"], f"{form}: of", CLOSE)


def several(folder):
    """They add up; those that do not tell are left out, and that is said."""
    paths = [folder / f"{name}.pa" for name in "abc"]
    for path, words in zip(paths, (["timed"], ["timed"], [])):
        make("ended", path, 300, 5, *words)
    data = report(*paths)
    expect(data["allocation_time"], 2, "two of three")
    equal(data["allocation_time"]["of"], sum(file["seconds"] for file in data["files"][:2]), "of", CLOSE)
    equal(data["files"][2]["allocation_time"], None, "the third")
    check("; of 2 of 3 traces\n" in tool("report", *paths)[0], "what the text says of them")


def untold(folder):
    """Older traces, those without measured calls, and samples: nothing is told, all else is."""
    path = folder / "t.pa"
    for form in ("ended", "killed"):
        for words in ([], ["untimed"], ["old"], ["unmerged"], ["timed", "sampled"]):
            make(form, path, 300, 5, *words)
            if form == "ended" and words in (["untimed"], ["old"]):
                equal(report(path)["complete"], True, f"{words}: complete")
            data = report(path)
            equal(data["allocation_time"], None, f"{form}, {words}")
            equal(data["files"][0]["allocation_time"], None, f"{form}, {words}: the file")
            text, _ = tool("report", path)
            lines = [line for line in text.splitlines() if "allocation routines" in line]
            sampled = ["  time       in allocation routines: not known of a sampled recording"]
            equal(lines, sampled if "sampled" in words else [], f"{form}, {words}: the text")


def some_chunks(folder):
    """It is not known by chunk."""
    make("ended", folder / "t.pa", 300, 5, "timed")
    out, _ = tool("report", "--json", "--where", "size > 100", folder / "t.pa")
    equal(json.loads(out)["allocation_time"], None, "of some chunks")
    out, _ = tool("report", "--where", "size > 100", folder / "t.pa")
    check("allocation routines" not in out, out[:2000])


def text(folder):
    make("ended", folder / "t.pa", 300, 5, "timed")
    out, _ = tool("report", folder / "t.pa")
    lines = [line for line in out.splitlines() if line.startswith("  time ")]
    equal(len(lines), 1, f"lines: {out[:2000]}")
    check(lines[0].startswith("  time       in allocation routines 0.06605 s ±") and "of which the allocator itself 0.01116 s" in lines[0] and
          "0.00500 s waiting for the trace to be written" in lines[0], lines[0])


support.main(formulas=formulas, several=several, untold=untold, some_chunks=some_chunks, text=text)
