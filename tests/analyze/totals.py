#!/usr/bin/env python3
"""Reports against the truth: totals, points, sizes and the peak of made traces, ended and killed, whole and sampled."""
import support
from support import check, equal, make, report, tool


def ended(folder):
    for seed, words in enumerate([(), ("folded",), ("after",), ("after", "folded"), ("bare", "roots")]):
        chunks = make("ended", folder / "t.pa", 5000, seed, *words)
        data = report(folder / "t.pa")
        support.check_report(data, chunks, folded="folded" in words)
        check(data["complete"] is True, f"complete: {data['complete']}")
        check(data["schema"] == "profalloc-report" and data["version"] == 1, "schema")
        tool("check", folder / "t.pa")


def empty(folder):
    for form in ("ended", "killed"):
        chunks = make(form, folder / "t.pa", 0, 1)
        support.check_report(report(folder / "t.pa"), chunks, peak=False)
        check("nothing is missing" in tool("report", folder / "t.pa")[0], "an empty heap is complete")


def killed(folder):
    for seed, words in enumerate([(), ("dying",), ("torn",), ("dying", "torn", "folded")]):
        for count in (10, 6000):
            chunks = make("killed", folder / "t.pa", count, seed, *words)
            data = report(folder / "t.pa")
            support.check_report(data, chunks, folded="folded" in words)
            check(data["complete"] is True, f"complete: {data['complete']}")
            check(data["files"][0]["end"] == "killed", "it was killed")
            names = {t["name"] for t in data["threads"]}
            check(names == {"worker-1", "worker-2", "worker-3"}, f"names of threads {names}")


def unwritten(folder):
    """Deaths of a block that could not be written are in the totals, and not counted again from their ring."""
    chunks = make("killed", folder / "t.pa", 6000, 3, "unwritten")
    for _ in range(2):
        data = report(folder / "t.pa")
        equal(data["totals"]["allocations"], len(chunks), "allocations")
        equal(data["totals"]["bytes_allocated"], sum(c.size for c in chunks), "bytes")
        equal(data["live"]["chunks"], sum(not c.died for c in chunks), "live chunks")
        check(data["complete"] is True, f"complete: {data['complete']}")
        check(any("40 deaths could not be written" in r for r in data["files"][0]["remarks"]), str(data["files"][0]["remarks"]))
        tool("check", folder / "t.pa")
        tool("seal", folder / "t.pa")


def times_cut(folder):
    chunks = make("ended", folder / "t.pa", 5000, 7, "shift")
    support.check_report(report(folder / "t.pa"), chunks, step=64)


def sampled(folder):
    for form in ("ended", "killed"):
        chunks = make(form, folder / "t.pa", 5000, 3, "sampled", "folded")
        data = report(folder / "t.pa")
        support.check_report(data, chunks, folded=True, tolerance=1e-9)
        tool("check", folder / "t.pa")


def by_point(folder):
    """Each stack of the maker is one point: its own figures."""
    chunks = make("killed", folder / "t.pa", 3000, 11)
    data = report(folder / "t.pa")
    expected = sorted((sum(c.size for c in chunks if c.stack == s), sum(1 for c in chunks if c.stack == s))
                      for s in {c.stack for c in chunks})
    equal(sorted((p["bytes"], p["allocations"]) for p in data["points"]), expected, "points")
    order = [p["bytes"] for p in data["points"]]
    check(order == sorted(order, reverse=True), "points are in order")
    check(len({p["id"] for p in data["points"]}) == len(data["points"]), "ids of points differ")


def several(folder):
    """Two traces told as one: points of the same stack are one point."""
    first = make("ended", folder / "a.pa", 3000, 1)
    second = make("killed", folder / "b.pa", 2000, 2)
    one, two = report(folder / "a.pa"), report(folder / "b.pa")
    both = report(folder / "a.pa", folder / "b.pa")
    equal(both["totals"]["allocations"], len(first) + len(second), "allocations of both")
    equal({p["id"] for p in both["points"]}, {p["id"] for p in one["points"]} | {p["id"] for p in two["points"]}, "points of both")
    equal(both["peak"]["bytes"], one["peak"]["bytes"] + two["peak"]["bytes"], "the sum of peaks")
    equal(len(both["files"]), 2, "files")
    equal(both["peak"]["time"], None, "there is no one time")


def text(folder):
    make("ended", folder / "t.pa", 3000, 1)
    out, _ = tool("report", "--top", 2, folder / "t.pa")
    for wanted in ("by bytes allocated: 2 of 12", "by chunks allocated: 2", "by bytes at the peak: 2", "worker-2", "Sizes", "3,000"):
        check(wanted in out, f"'{wanted}' in the report:\n{out}")
    out, _ = tool("report", "--by", "live", folder / "t.pa")
    check("by bytes live at the end" in out and "by bytes allocated" not in out, "one list only")
    tool("report", "--by", "colour", folder / "t.pa", status=2)
    tool("report", "--top", "x", folder / "t.pa", status=2)
    tool("report", status=2)
    for command in ("report", "dump", "check", "seal", "run", "pack"):
        check("usage: profalloc " + command in tool(command, "--help")[0], f"help of {command}")


support.main(ended=ended, empty=empty, killed=killed, unwritten=unwritten, times_cut=times_cut, sampled=sampled, by_point=by_point, several=several,
             text=text)
