#!/usr/bin/env python3
"""What was done with chunks: reports and dumps against sums of the truth, in all forms that a trace has."""
import json

import support
from support import check, equal, is_blind, make, report, tool

MERGED = "build with PROFALLOC_PASS=map"
NONE = "no access data: build with profalloc-cc"
KEYS = ("chunks", "blind", "unknown", "bytes", "bytes_touched", "reads", "writes", "saturated", "never_read", "never_written", "never_touched",
        "never_touched_bytes", "written_never_read", "written_never_read_bytes", "shared", "lifetime_ns", "idle_before_first_ns",
        "idle_after_last_ns")


def sums(chunks, end, full=2**31 - 1, unknown=0, known=lambda c: True, blind=lambda c: False):
    """All that a report says of the accesses of these chunks."""
    total = dict.fromkeys(KEYS, 0)
    total["unknown"] = unknown
    for c in chunks:
        if not known(c):
            total["unknown"] += c.weight
            continue
        if blind(c):
            total["blind"] += c.weight
            continue
        touched = c.length != 0
        life = c.life if c.died else end - c.born
        wait, idle = c.first - c.born, life - (c.last - c.born)
        for key, value in (("chunks", 1), ("bytes", c.size), ("bytes_touched", c.length), ("reads", c.reads), ("writes", c.writes),
                           ("saturated", c.reads == full or c.writes == full), ("never_read", c.reads == 0),
                           ("never_written", c.writes == 0), ("never_touched", not touched), ("never_touched_bytes", (not touched) * c.size),
                           ("written_never_read", touched and c.reads == 0),
                           ("written_never_read_bytes", (touched and c.reads == 0) * c.size), ("shared", c.shared),
                           ("lifetime_ns", touched * life), ("idle_before_first_ns", touched * wait),
                           ("idle_after_last_ns", touched * idle)):
            total[key] += c.weight * value
    return total


def end_of(chunks):
    return max((c.exactly_born for c in chunks), default=1000000) + 30000


def check_total(ours, expected, what, tolerance=1e-9):
    equal(set(ours), set(KEYS), f"{what}: members")
    for key in KEYS:
        equal(ours[key], expected[key], f"{what}: {key}", tolerance)


def rounded(total):
    return tuple(round(total[key]) for key in KEYS)


def check_all(data, chunks, folds=(), **how):
    """The totals, and each point: those of the maker's stacks, told apart by their figures."""
    end = end_of(chunks)
    check_total(data["accesses"], sums(chunks, end, unknown=sum(folds), **how), "totals")
    if any(c.weight != 1 for c in chunks):
        return
    unknown = dict(zip((5, 7), folds))  # the maker folds deaths of its second stack, and of its fourth
    stacks = {c.stack for c in chunks} | set(unknown)
    expected = sorted(rounded(sums([c for c in chunks if c.stack == s], end, unknown=unknown.get(s, 0), **how)) for s in stacks)
    equal(sorted(rounded(p["accesses"]) for p in data["points"]), expected, "points")


def ended(folder):
    for seed, (words, how) in enumerate([((), {}), (("sizes",), {}), (("after",), {}), (("shift",), {}),
                                         (("bits=10",), {"full": 1023}), (("bits=4", "sizes"), {"full": 15}),
                                         (("gap",), {"known": lambda c: c.died}), (("folded",), {"folds": (4, 3)}),
                                         (("told",), {"blind": lambda c: is_blind(c.stack)})]):
        chunks = make("ended", folder / "t.pa", 5000, seed, "accesses", *words)
        data = report(folder / "t.pa")
        support.check_report(data, chunks, folded="folded" in words)
        check(data["complete"] is True, f"missing: {data['missing']}")
        equal(data["files"][0]["instrumented"], 2, "instrumented modules")
        check_all(data, chunks, **how)
        check(data["accesses"]["saturated"] > 0, "some counters are full")
        tool("check", folder / "t.pa")


def killed(folder):
    for seed, words in enumerate([(), ("dying",), ("torn",), ("dying", "torn", "folded")]):
        for count in (10, 6000):
            chunks = make("killed", folder / "t.pa", count, seed, "accesses", *words)
            data = report(folder / "t.pa")
            support.check_report(data, chunks, folded="folded" in words)
            check_all(data, chunks, folds=(7,) if "folded" in words else ())


def sampled(folder):
    for form in ("ended", "killed"):
        chunks = make(form, folder / "t.pa", 5000, 3, "accesses", "sampled", "folded")
        check_all(report(folder / "t.pa"), chunks, folds=(7,))


def several(folder):
    """One trace with accesses and one without: what is known is told, and how much is not."""
    first = make("ended", folder / "a.pa", 3000, 1, "accesses", "maps")
    second = make("killed", folder / "b.pa", 2000, 2)
    third = make("killed", folder / "c.pa", 1000, 3, "accesses", "maps")
    paths = [folder / name for name in ("a.pa", "b.pa", "c.pa")]
    data = report(*paths)
    parts = [sums(first, end_of(first)), dict(sums([], 0), unknown=len(second)), sums(third, end_of(third))]
    check_total(data["accesses"], {key: sum(p[key] for p in parts) for key in KEYS}, "three traces")
    maps = [sorted(json.dumps(p.get("map")) for p in report(path)["points"] if "map" in p) for path in paths]
    equal((len(maps[0]), len(maps[1])), (4, 0), "points with maps")
    doubled = {w["reads"] for p in data["points"] for w in p.get("map", []) if w["offset"] == 0}
    equal(doubled, {2 * n for n in first_words()}, "maps of two traces are added")


def none(folder):
    """Without instrumented code nothing is said of accesses but that."""
    for form, words in (("ended", ()), ("killed", ()), ("ended", ("idle",)), ("killed", ("idle",)), ("ended", ("accesses", "old"))):
        make(form, folder / "t.pa", 1000, 1, *words)
        data = report(folder / "t.pa")
        check("accesses" in data and data["accesses"] is None, f"{words}: null")
        check(data["complete"] is True, f"all else is there: {data['missing']}")
        check(all(p["accesses"] is None and "map" not in p for p in data["points"]), "of points, too")
        out, _ = tool("report", folder / "t.pa")
        equal([line for line in out.splitlines() if "ccess" in line],
              [NONE + " to see what was done with the chunks"], f"what the text says ({form} {words})")
        rows = [json.loads(line) for line in tool("dump", "--json", "--events", folder / "t.pa")[0].splitlines()]
        chunks = [r for r in rows if r["type"] in ("death", "live")]
        check(all(r[key] is None for r in chunks for key in ("reads", "writes", "low", "high", "first", "last", "shared")), "nulls")
        check(" reads " not in tool("dump", "--events", folder / "t.pa")[0], "nothing in the text")


def cut_off(folder):
    """No end and no live table: nobody knows how many modules were instrumented, batches with accesses are believed."""
    chunks = make("killed", folder / "t.pa", 6000, 1, "accesses")
    (folder / "t.pa.live").unlink()
    data = report(folder / "t.pa")
    total = data["accesses"]
    check(total is not None and total["unknown"] == 0 and 0 < total["chunks"] < len(chunks), f"{total}")
    make("killed", folder / "t.pa", 6000, 1, "idle")
    (folder / "t.pa.live").unlink()
    check(report(folder / "t.pa")["accesses"] is None, "unless nothing was touched at all")


def word(stack, words, place):
    """Counts of the maker's maps."""
    if place % 5 == 3:
        return 0, 0
    return 1000 * (stack + 1) // (place + 1), words + place


def map_of(stack, largest):
    """The sum of a stack's maps, as far as the largest chunk goes."""
    lengths = [4] + [64] * (stack % 6 == 0)
    words = min(max(lengths), (largest + 7) // 8)
    return [{"offset": 8 * i, "reads": sum(word(stack, n, i)[0] for n in lengths if i < n),
             "writes": sum(word(stack, n, i)[1] for n in lengths if i < n)} for i in range(words)]


def first_words():
    return {map_of(stack, 64)[0]["reads"] for stack in range(0, 12, 3)}


def maps(folder):
    """The last map of a stack and length counts, the live table's before the trace's; lengths add up, cut to the largest chunk."""
    cut = 0
    for form in ("ended", "killed", "sealed"):
        for count in (40, 3000):
            chunks = make("ended" if form == "ended" else "killed", folder / "t.pa", count, 5, "accesses", "maps")
            if form == "sealed":
                tool("seal", folder / "t.pa")
            found = sorted(json.dumps(p["map"]) for p in report(folder / "t.pa")["points"] if "map" in p)
            expected = []
            for stack in range(0, 12, 3):
                largest = max((c.size for c in chunks if c.stack == stack + 4), default=512)
                expected.append(json.dumps(map_of(stack, largest)))
                cut += largest < 8 * (64 if stack % 6 == 0 else 4)
            equal(found, sorted(expected), f"maps, {form}, {count} chunks")
    check(cut > 0, "some are cut")
    make("ended", folder / "t.pa", 3000, 5, "accesses", "maps", "told")
    seen = {is_blind(stack + 4) for stack in range(0, 12, 3)}
    equal(seen, {True, False}, "maps of code that is instrumented, and of other code")
    equal(sum("map" in p for p in report(folder / "t.pa")["points"]), sum(not is_blind(stack + 4) for stack in range(0, 12, 3)), "maps that are told")


def map_text(folder):
    make("ended", folder / "t.pa", 40, 5, "accesses", "maps")
    out, _ = tool("report", "--top", 12, folder / "t.pa")
    _, _, text = out.partition("Accesses by place in the chunk")
    # The fourth stack: the second word has half as many, and one more.
    check("bytes 0-7 reads 4,000 writes 4  hot\n      bytes 8-15 reads 2,000 writes 5  hot\n      bytes 16-23 reads 1,333 writes 6\n"
          "      bytes 24-31 never touched\n" in text, text)
    check("  cold\n" in text, text)
    check(all(len(line) <= 100 for line in text.splitlines()), "lines of 100 columns")


def merged(folder):
    """Maps of a program whose accesses came joined to ranges: that is said beside them, and in the remarks. Not of others, nor of
    traces from before that was told, which are read as ever."""
    for form in ("ended", "killed", "sealed"):
        for words, said in ((("maps", "merged"), True), (("maps",), False), (("merged",), False), (("maps", "unmerged"), False)):
            make("ended" if form == "ended" else "killed", folder / "t.pa", 40, 5, "accesses", *words)
            if form == "sealed":
                tool("seal", folder / "t.pa")
            data = report(folder / "t.pa")
            equal(data["files"][0]["instrumented"], 2, f"{form}, {words}: instrumented modules")
            equal(data["files"][0]["merged"], int("merged" in words), f"{form}, {words}: those that join accesses")
            equal(sum(MERGED in remark for remark in data["remarks"]), int(said), f"{form}, {words}: {data['remarks']}")
            out, _ = tool("report", "--top", 12, folder / "t.pa")
            equal(out.count(MERGED), int(said), f"{form}, {words}: the text")
            if said:
                lines = out[out.index("Accesses by place in the chunk"):].splitlines()
                check(MERGED in lines[2] and lines[3].startswith("  #"), f"beside the maps: {lines[:4]}")
                check(all(len(line) <= 100 for line in lines), "lines of 100 columns")
    make("ended", folder / "a.pa", 40, 5, "accesses", "merged")
    make("ended", folder / "b.pa", 40, 6, "accesses", "maps")
    check(MERGED not in "".join(report(folder / "a.pa", folder / "b.pa")["remarks"]), "maps of another program")


def text(folder):
    chunks = make("ended", folder / "t.pa", 3000, 1, "accesses", "bits=10", "folded")
    out, _ = tool("report", "--top", 3, folder / "t.pa")
    total = sums(chunks, end_of(chunks), full=1023)
    part = out[out.index("Accesses of 3,000 chunks"):out.index("\nSizes")]
    check(NONE not in out, "there are data")
    used = 100 * total["bytes_touched"] / total["bytes"]
    for wanted in (f"{total['reads']:,.0f} reads, {total['writes']:,.0f} writes; used {used:.1f} %",
                   f"never touched {total['never_touched']:,.0f}, shared between threads {total['shared']:,.0f}",
                   "the accesses of 7 other chunks are not known", f"{total['saturated']:,.0f} chunks have counters that are full",
                   f"in {total['written_never_read']:,.0f} chunks, most of all from", "Never touched: "):
        check(wanted in part, f"'{wanted}' in\n{part}")
    check(all(len(line) <= 100 for line in part.splitlines()), f"lines of 100 columns:\n{part}")
    best = max(report(folder / "t.pa")["points"], key=lambda p: p["accesses"]["written_never_read_bytes"])["accesses"]
    first = part[part.index("Written and never read"):].splitlines()[1]
    check(f" in {best['written_never_read']} of {best['chunks']} chunks: " in first, f"{first}: {best}")
    # A row of the table: the point with most bytes.
    point = max(report(folder / "t.pa")["points"], key=lambda p: p["bytes"])["accesses"]
    row = next(line for line in part.splitlines() if line.startswith("  #1 ")).split()
    equal(row[1:9:2][:1] + row[3:5], [f"{100 * point['bytes_touched'] / point['bytes']:.1f}", f"{point['reads']:,}", f"{point['writes']:,}"],
          "the first row")
    equal((row[5], row[7], row[9]), (f"{100 * point['idle_before_first_ns'] / point['lifetime_ns']:.1f}",
                                     f"{100 * point['idle_after_last_ns'] / point['lifetime_ns']:.1f}",
                                     f"{100 * point['shared'] / point['chunks']:.1f}"), "its shares")


def dumped(folder):
    """Every chunk as it was."""
    for form, words in (("ended", ()), ("ended", ("sizes",)), ("killed", ("dying",))):
        chunks = make(form, folder / "t.pa", 3000, 2, "accesses", *words)
        rows = [json.loads(line) for line in tool("dump", "--json", "--events", folder / "t.pa")[0].splitlines()]
        found = {(r["thread"], r["alloc_time"], r["size"], r["reads"], r["writes"], r["low"], r["high"], r["first_time"], r["last_time"],
                  r["shared"]) for r in rows if r["type"] in ("death", "live")}
        expected = {(c.thread, c.born, c.size, c.reads, c.writes, *((c.low, c.low + c.length - 1, c.first, c.last) if c.length else [None] * 4),
                     bool(c.shared)) for c in chunks}
        equal(sorted(map(str, found ^ expected)), [], f"chunks that differ, {form} {words}")
        seconds = [(r["first_time"], r["first"], r["last_time"], r["last"]) for r in rows if r.get("first") is not None]
        for first_time, first, last_time, last in seconds:
            equal(first, (first_time - 1000000) * 1e-9, "first", 1e-12)
            equal(last, (last_time - 1000000) * 1e-9, "last", 1e-12)
        out, _ = tool("dump", "--events", folder / "t.pa")
        one = next(c for c in chunks if c.length and c.shared and c.died)
        wanted = f" reads {one.reads} writes {one.writes} bytes {one.low}-{one.low + one.length - 1} first {(one.first - 1000000) * 1e-9:.9f}"
        check(wanted in out and " shared\n" in out, f"'{wanted}' in the text")


support.main(ended=ended, killed=killed, sampled=sampled, several=several, none=none, cut_off=cut_off, maps=maps, map_text=map_text,
             merged=merged, text=text, dumped=dumped)
