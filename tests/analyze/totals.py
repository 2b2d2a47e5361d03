#!/usr/bin/env python3
"""Reports against the truth: totals, points, sizes and the peak of made traces, ended and killed, whole and sampled."""
import json

import support
from support import check, equal, make, report, tool


def ended(folder):
    for seed, words in enumerate([(), ("folded",), ("after",), ("after", "folded"), ("bare", "roots")]):
        chunks = make("ended", folder / "t.pa", 5000, seed, *words)
        data = report(folder / "t.pa")
        support.check_report(data, chunks, folded="folded" in words)
        check(data["complete"] is True, f"missing: {data['missing']}")
        check(data["schema"] == "profalloc-report" and data["version"] == 3, "schema")
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
            check(data["complete"] is True, f"missing: {data['missing']}")
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
        check(data["complete"] is True, f"missing: {data['missing']}")
        check(any("40 deaths could not be written" in r for r in data["files"][0]["remarks"]), str(data["files"][0]["remarks"]))
        tool("check", folder / "t.pa")
        tool("seal", folder / "t.pa")


def sizes_apart(folder):
    for form in ("ended", "killed"):
        chunks = make(form, folder / "t.pa", 5000, 8, "sizes", "folded")
        support.check_report(report(folder / "t.pa"), chunks, folded=True)
        tool("check", folder / "t.pa")


def times_cut(folder):
    chunks = make("ended", folder / "t.pa", 5000, 7, "shift")
    support.check_report(report(folder / "t.pa"), chunks)


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
    equal(len(both["files"]), 2, "files")
    equal([f["peak"] for f in both["files"]], [one["peak"], two["peak"]], "each one's peak")


def same_twice(folder):
    """A recording is told once, from the packed copy if there is one."""
    a, b, packed = folder / "a.pa", folder / "b.pa", folder / "a.packed.pa"
    make("ended", a, 3000, 1)
    make("ended", b, 2000, 2)
    tool("pack", a)
    one, both = report(a), report(a, b)
    for files, kept, expected in (((a, a), a, one), ((a, packed), packed, one), ((packed, a), packed, one), ((a, b, packed, a), packed, both)):
        out, said = tool("report", "--json", *files)
        data = json.loads(out)
        equal((data["totals"], data["peak"], data["points"]), (expected["totals"], expected["peak"], expected["points"]), f"{files}")
        equal(data["files"][0]["path"], str(kept), "the file that is told")
        check(data["complete"] is True, str(data["missing"]))
        check("is the same recording as" in said, said)
        check(any("a.pa is the same recording" in r for r in data["files"][0]["remarks"]), str(data["files"][0]["remarks"]))
    check("note: " + str(a) + " is the same recording" in tool("report", a, packed)[0], "the text says it")


def one_is_none(folder):
    """Files that are no traces among others: the others are told."""
    paths = [folder / name for name in ("a.pa", "bad.pa", "b.pa", "newer.pa", "absent.pa")]
    for i in (0, 2, 3):
        make("ended", paths[i], 2000, i)
    paths[1].write_text("no trace")
    newer = bytearray(paths[3].read_bytes())
    newer[32:36] = (1000).to_bytes(4, "little")  # a version of which the start can be read and no more
    support.mend_checksum(newer, 0, int.from_bytes(newer[12:16], "little"))
    paths[3].write_bytes(newer)
    good = report(paths[0], paths[2])
    out, said = tool("report", "--json", *paths, status=2)
    data = json.loads(out)
    for key in ("files", "totals", "peak", "points"):
        equal(data[key], good[key], key)
    for path in (paths[1], paths[3], paths[4]):
        check(str(path) in said and any(str(path) in line for line in data["missing"]), f"{path} is named: {said} {data['missing']}")
    out, _ = tool("report", *paths, status=2)
    check(f"MISSING: {paths[1]}" in out and "all together" in out, out)
    equal(tool("report", paths[1], paths[4], status=2)[0], "", "a report of nothing")


def peak_of_all(traces, data):
    """The peak of all together from their chunks, and its time; `traces` is (chunks, began later) of each. Times are counted in
    sixteenths of a nanosecond, because a trace's chunks live until just after its end."""
    changes = {}
    for (chunks, later), file in zip(traces, data["files"]):
        end = 16 * (round(file["seconds"] * 1e9) + 1000000 + later) + 1
        for c in chunks:
            for time, change in ((16 * (c.born + later), c.size * c.weight),
                                 (16 * (c.died + later) if c.died else end, -c.size * c.weight)):
                changes[time] = changes.get(time, 0) + change
    live = peak = when = 0
    for time in sorted(changes):
        live += changes[time]
        if live > peak * (1 + 1e-12):
            peak, when = live, time
    return peak, (when / 16 - 1000000 - min(later for _, later in traces)) * 1e-9


def check_together(folder, *what, tolerance=0):
    """Makes traces, each (form, chunks, seed, later, words...), and checks their peak together."""
    traces, paths = [], []
    for i, (form, count, seed, later, *words) in enumerate(what):
        paths.append(folder / f"{i}.pa")
        traces.append((make(form, paths[-1], count, seed, f"later={later}", *words), later))
    data = report(*paths)
    peak, when = peak_of_all(traces, data)
    told = data["peak"]
    equal(told["bytes"], peak, "the peak of all", tolerance)
    equal(told["time"], when, "its time", 2e-9)
    equal(sum(p["peak_bytes"] for p in data["points"]), peak, "the points' bytes at the peak", tolerance or 1e-12)
    check(told["exact"] is True and told["counted"] is None, f"exact: {told}")
    each = [f["peak"]["bytes"] for f in data["files"]]
    check(max(each) <= peak * (1 + tolerance) and peak <= sum(each) * (1 + tolerance), f"{each} and {peak} of all")
    return peak, each


def together(folder):
    at_once = ("ended", 3000, 1, 0), ("killed", 3000, 2, 0), ("ended", 3000, 3, 0)
    peak, each = check_together(folder, *at_once)
    check(max(each) < peak < sum(each), f"{each} and {peak} of all")
    check_together(folder, ("ended", 3000, 1, 5000), ("killed", 2000, 2, 0), ("killed", 4000, 3, 17777))
    # One after the other: what was live at the end of one is gone.
    for form in ("ended", "killed"):
        peak, each = check_together(folder, (form, 3000, 1, 10**9), (form, 3000, 2, 0), (form, 5000, 3, 2 * 10**9))
        equal(peak, max(each), "the peak of all")
    check_together(folder, ("ended", 3000, 1, 5000, "sampled"), ("killed", 2000, 2, 0, "sampled"), tolerance=1e-9)
    # Different boots: the time of day tells.
    check_together(folder, ("ended", 3000, 1, 5000, "boot=123456789012345"), ("killed", 2000, 2, 0))
    check_together(folder, ("ended", 3000, 1, 5000), ("killed", 0, 2, 0))
    out, _ = tool("report", folder / "0.pa", folder / "1.pa")
    check("all together" in out and "after the first began" in out, out)


def many_together(folder):
    """So many chunks that it takes two walks."""
    check_together(folder, ("ended", 1200000, 1, 0), ("killed", 1200000, 2, 3000000))


def not_together(folder):
    """Times that cannot be compared: the sum, and the report says so."""
    make("ended", folder / "a.pa", 3000, 1)
    make("ended", folder / "b.pa", 2000, 2, f"later={10 * 365 * 86400 * 10**9}", "boot=1000000000000")
    each = [report(folder / name)["peak"]["bytes"] for name in ("a.pa", "b.pa")]
    data = report(folder / "a.pa", folder / "b.pa")
    equal((data["peak"]["bytes"], data["peak"]["time"], data["peak"]["exact"]), (sum(each), None, False), "the sum of peaks")
    equal(sum(p["peak_bytes"] for p in data["points"]), sum(each), "the points' bytes at each one's peak")
    check("the sum of each file's own" in tool("report", folder / "a.pa", folder / "b.pa")[0], "which is said")


def text(folder):
    make("ended", folder / "t.pa", 3000, 1)
    out, _ = tool("report", "--top", 2, folder / "t.pa")
    for wanted in ("by bytes allocated: 2 of 12", "by chunks allocated: 2", "by bytes at the peak: 2", "worker-2", "Sizes", "3,000"):
        check(wanted in out, f"'{wanted}' in the report:\n{out}")
    for sort, key, title in (("bytes", "bytes", "bytes allocated"), ("count", "allocations", "chunks allocated"),
                             ("peak", "peak_bytes", "bytes at the peak"), ("peak_count", "peak_chunks", "chunks at the peak"),
                             ("live", "live_bytes", "bytes live at the end"), ("live_count", "live_chunks", "chunks live at the end")):
        for by in ("stack", "function", "size", "thread"):
            values = [p[key] for p in json.loads(tool("report", "--json", "--by", by, "--sort", sort, folder / "t.pa")[0])["points"]]
            equal(values, sorted(values, reverse=True), f"--by {by} --sort {sort}")
        check(f"\nAllocation points by {title}: " in tool("report", "--sort", sort, folder / "t.pa")[0], f"the list of {sort}")
    out, _ = tool("report", "--sort", "live", folder / "t.pa")
    check("by bytes live at the end" in out and "by bytes allocated" not in out, "one list only")
    said = tool("report", "--sort", "colour", folder / "t.pa", status=2)[1]
    equal(said, "profalloc report: --sort takes bytes, count, peak, peak_count, live, live_count, reads, writes, touched, lifetime, usage, "
          "useful_lifetime, score or severity, or the name of a --score, not 'colour'\n", "what is wrong")
    said = tool("report", "--by", "colour", folder / "t.pa", status=2)[1]
    check(said.startswith("profalloc report: --by takes one of these, not 'colour':\n  stack"), said)
    for top in ("x", "-5", "0", "", "5x", "99999999999999999999"):
        said = tool("report", "--top", top, folder / "t.pa", status=2)[1]
        equal(said, f"profalloc report: --top takes a number from 1 on, not '{top}'\n", "what is wrong")
    tool("report", status=2)
    for command in ("report", "dump", "check", "seal", "run", "pack", "options"):
        said = tool(command, "--colour", status=2)[1]
        check(said.startswith(f"profalloc {command}: "), f"{command} begins with its name: {said}")
        check("usage: profalloc " + command in tool(command, "--help")[0], f"help of {command}")


support.main(ended=ended, empty=empty, killed=killed, unwritten=unwritten, sizes_apart=sizes_apart,
             times_cut=times_cut, sampled=sampled, by_point=by_point, several=several, same_twice=same_twice, one_is_none=one_is_none, together=together, many_together=many_together, not_together=not_together, text=text)
