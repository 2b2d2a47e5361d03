#!/usr/bin/env python3
"""--where and --by on whole commands, against sums over the truth; and the confidence intervals of samples, against programs whose totals
are known."""
import json
import random
import subprocess

import support
from support import check, equal, make, tool

START = 1000000


def ask(path, *options):
    return json.loads(tool("report", "--json", *options, path)[0])


def check_part(data, chunks, what):
    """The totals of a report of these chunks alone."""
    for key, expected in (("allocations", sum(c.weight for c in chunks)), ("bytes_allocated", sum(c.weight * c.size for c in chunks)),
                          ("frees", sum(c.weight for c in chunks if c.died))):
        equal(data["totals"][key], expected, f"{what}: {key}", 1e-9)
    equal(sum(p["allocations"] for p in data["points"]), sum(c.weight for c in chunks), f"{what}: of points", 1e-9)
    equal(sum(p["peak_bytes"] for p in data["points"]), support.peak_of(chunks)[0], f"{what}: at the peak", 1e-9)


def where(folder):
    path = folder / "t.pa"
    for seed, words in enumerate(((), ("accesses",), ("sampled",), ("accesses", "sizes"))):
        chunks = make("ended", path, 3000, seed, *words)
        end = max(c.born for c in chunks) + 30000
        life = lambda c: (c.died or end) - c.born
        cases = [("size > 100", lambda c: c.size > 100), ("size in 10..50 or size >= 1K", lambda c: 10 <= c.size <= 50 or c.size >= 1024),
                 ("live", lambda c: not c.died), ("freed and lifetime < 5us", lambda c: c.died and life(c) < 5000),
                 ("born >= 20us and not died < 50us", lambda c: c.born - START >= 20000 and (c.died or end) - START >= 50000),
                 ("thread = worker-2", lambda c: c.thread == 2),
                 ("(lifetime > 1us minus size > 200) or thread != worker-1", lambda c: (life(c) > 1000 and c.size <= 200) or c.thread != 1),
                 ("size < 0", lambda c: False)]
        if "accesses" in words:
            cases += [("reads = 0 and writes > 3", lambda c: c.reads == 0 and c.writes > 3),
                      ("coverage < 50% and size > 0", lambda c: c.size > 0 and c.length < 0.5 * c.size),
                      ("shared or reads > 100", lambda c: c.shared or c.reads > 100)]
        for text, holds in cases:
            check_part(ask(path, "--where", text), [c for c in chunks if holds(c)], f"{words} {text}")
        check_part(ask(path, "--where", "size > 50", "--where", "live"), [c for c in chunks if c.size > 50 and not c.died], "two of them")


def sets(folder):
    """Points of others, the largest, and files of names."""
    path, other = folder / "t.pa", folder / "other.pa"
    chunks = make("ended", path, 3000, 7)
    make("ended", other, 40, 8)
    total = {s: sum(c.size for c in chunks if c.stack == s) for s in {c.stack for c in chunks}}
    top = sorted(total, key=total.get, reverse=True)[:3]
    check_part(ask(path, "--where", "size >= 0 | top 3 by bytes"), [c for c in chunks if c.stack in top], "the top three")
    check_part(ask(path, "--where", "size >= 0 | top 3 by bytes | live"), [c for c in chunks if c.stack in top and not c.died], "and of them")
    large = {c.stack for c in chunks if c.size > 190000}
    check_part(ask(path, "--where", "point in (size > 190000)"), [c for c in chunks if c.stack in large], "points with a large one")
    check_part(ask(path, "--where", "not point in (size > 190000)"), [c for c in chunks if c.stack not in large], "and without")
    inside = ask(path, "--where", f'point in "{other}"')["totals"]["allocations"]
    outside = ask(path, "--where", f'not point in "{other}"')["totals"]["allocations"]
    equal(inside + outside, len(chunks), "points of another trace, and the others")
    check(inside > 0, "there are some")
    (folder / "q").write_text("small = size < 100\nold = lifetime > 3us\nwhere small and old # both\n")
    expected = [c for c in chunks if c.size < 100 and (c.died or max(d.born for d in chunks) + 30000) - c.born > 3000]
    check_part(ask(path, "--where", f"@{folder / 'q'}"), expected, "a file")
    check_part(ask(path, "--where", f"@{folder / 'q'}", "--where", "small"), [c for c in chunks if c.size < 100], "one of its names")
    (folder / "r").write_text("large = not small\nwhere size in 50..5000\n")
    (folder / "s").write_text("tiny = small and size < 20\n")
    both = [c for c in expected if 50 <= c.size <= 5000]
    check_part(ask(path, "--where", f"@{folder / 'q'}", "--where", f"@{folder / 'r'}"), both, "two files")
    check_part(ask(path, "--where", f"@{folder / 'q'}", "--where", f"@{folder / 's'}"), expected, "two files, one that only defines")
    check_part(ask(path, "--where", "large", "--where", f"@{folder / 'q'}", "--where", f"@{folder / 'r'}", "--where", "live"),
               [c for c in chunks if c.size >= 100 and not c.died], "expressions that use names of two files")
    check_part(ask(path, "--where", "live or size < 50", "--where", "size > 20 # more"),
               [c for c in chunks if (not c.died or c.size < 50) and c.size > 20], "each by itself")
    (folder / "only").write_text("few = size < 30\n")
    (folder / "names").write_text("some = few or size > 1000\n")
    check_part(ask(path, "--where", f"@{folder / 'only'}", "--where", f"@{folder / 'names'}"),
               [c for c in chunks if c.size < 30 or c.size > 1000], "the last definition of the last file")
    said = tool("report", "--where", "live) or (freed", "--where", "all", path, status=2)[1]
    check("never opened" in said, said)
    said = tool("report", "--where", f'point in "{folder / "none.pa"}"', path, status=2)[1]
    check("none.pa" in said, said)


def unknown(folder):
    """What a trace does not know, and what leaves nothing, is said."""
    path = folder / "t.pa"
    make("ended", path, 300, 3)
    for text in ("reads = 0", "not coverage > 1%", "shared or live", "point in (idle > 1ns)"):
        data = ask(path, "--where", text)
        check(data["complete"] is False and "no access data" in str(data["files"][0]["missing"]), f"{text}: {data['files']}")
        check("no access data" in tool("mprof", "--where", text, path)[0], text)
    data = ask(path, "--where", "live")
    check(data["complete"] is True and "no chunk" not in str(data["remarks"]), "nothing is missing")
    for command in ("report", "mprof", "leaks", "advise", "timeline"):
        check("no chunk for which --where holds" in tool(command, "--where", "size < 0", path)[0], command)
    make("ended", path, 300, 3, "accesses")
    check(ask(path, "--where", "reads = 0")["complete"] is True, "with access data")
    for text in ("size < 0", "function = nosuch"):
        said = tool("gate", "--where", text, "--max-bytes", "0", path, path, status=1)[1]
        check("no chunk for which --where holds" in said, said)
        tool("gate", "--allow-incomplete", "--where", text, "--max-bytes", "0", path, path)
    make("ended", path, 300, 3)
    tool("gate", "--where", "reads = 0", "--max-bytes", "0", path, path, status=1)


def by(folder):
    path = folder / "t.pa"
    chunks = make("ended", path, 3000, 3, "accesses")
    for key, value in (("thread", lambda c: c.thread), ("size", lambda c: c.size if c.size <= 1024 else None)):
        ours = {p["name"]: (p["allocations"], p["bytes"]) for p in ask(path, "--by", key)["points"]}
        expected = {}
        for c in chunks:
            if value(c) is not None:
                count, size = expected.get(value(c), (0, 0))
                expected[value(c)] = (count + 1, size + c.size)
        named = {(f"worker-{v} " if key == "thread" else str(v)): t for v, t in expected.items()}
        for name, totals in named.items():
            found = [t for n, t in ours.items() if n == name or (key == "thread" and n.startswith(name))]
            equal(found, [totals], f"{key} {name}")
    for command in ("report", "leaks", "timeline", "flame", "mprof", "diff"):
        for key in ("stack", "function", "file", "module", "size", "thread", "tag"):
            files = [path, path] if command == "diff" else [path]
            json.loads(tool(command, "--json", "--by", key, *files)[0])
        check("--by takes one of these" in tool(command, "--by", "colour", path, status=2)[1], f"{command}: a key that is none")


PROGRAM = r"""
#include <stdlib.h>
static char *kept[400];
int main(void)
{
    for (int i = 0; i < 40000; i++) {
        char *chunk = malloc((size_t)(16 << i % 9));
        if (i % 100 == 0) kept[i / 100] = chunk; else free(chunk);
    }
    return 0;
}
"""


def confidence(folder):
    """Of 60 samples of the same program, the true totals are within their intervals about 57 times."""
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-g", "-fno-builtin", "-o", folder / "p", folder / "p.c"], check=True)
    tool("run", "-o", folder / "all.pa", "--", folder / "p")
    truth = ask(folder / "all.pa", "--where", "module = p")
    hits = {"allocations": 0, "bytes": 0, "live_bytes": 0}
    sums = dict.fromkeys(hits, 0.0)
    runs = 60
    for number in range(runs):
        tool("run", "--sample", "64K", "-o", folder / "one.pa", "--", folder / "p")
        data = ask(folder / "one.pa", "--where", "module = p")
        for key, ours, true in (("allocations", data["totals"]["allocations"], truth["totals"]["allocations"]),
                                ("bytes", data["totals"]["bytes_allocated"], truth["totals"]["bytes_allocated"]),
                                ("live_bytes", data["live"]["bytes"], truth["live"]["bytes"])):
            hits[key] += abs(ours - true) <= data["within"][key]
            sums[key] += ours / true
    for key, count in hits.items():
        check(count >= 0.8 * runs, f"{key}: {count} of {runs} intervals have the truth")
        check(abs(sums[key] / runs - 1) < 0.15, f"{key}: the mean of estimates is {sums[key] / runs} of the truth")
    print(", ".join(f"{key}: {count} of {runs}" for key, count in hits.items()))


def random_chunks(count, length):
    """Of make_given, in the order of their deaths."""
    source = random.Random(5)
    chunks = []
    for _ in range(count):
        born = source.randrange(1000, length - 1000)
        died = born + source.randrange(1, 1 << source.randrange(1, 18))
        died = died if died < length and source.random() < 0.9 else 0
        life = (died or length) - born
        first = source.randrange(life)
        chunks.append((source.randrange(1, 4), born, died, source.choice([16, 40, 100, 300, 700, 5000]), source.randrange(3, 15),
                       source.randrange(3, 15) if died else 0, source.randrange(4), source.randrange(4), first, source.randrange(first, life)))
    return sorted(chunks, key=lambda chunk: chunk[2] or length)


def same(ours, theirs, what):
    """Sums of what is not whole may be made in another order."""
    if isinstance(theirs, dict):
        equal(ours.keys(), theirs.keys(), what)
        for key in theirs:
            same(ours[key], theirs[key], f"{what}, {key}")
    elif isinstance(theirs, list):
        equal(len(ours), len(theirs), what)
        for number, (one, other) in enumerate(zip(ours, theirs)):
            same(one, other, f"{what}, {number}")
    elif isinstance(theirs, float) and isinstance(ours, float):
        equal(ours, theirs, what, 1e-9)
    else:
        equal(ours, theirs, what)


def alone(folder):
    """All that is told of the chunks that are asked for, by however many walks, is what is told of a trace that has no others. The trace is so
    large that walks read most of it after what they ask is known from before."""
    length = 10**6
    chunks = random_chunks(100000, length)
    path, part = folder / "all.pa", folder / "part.pa"
    support.make_given(path, length, chunks, "accesses")
    check(sum(json.loads(line).get("kind") in ("EVENTS", "LIVE") for line in tool("dump", "--json", path)[0].splitlines()) > 2 * 16, "it has enough blocks")
    for expression, holds in (("size > 100", lambda c: c[3] > 100), ("size < 500 and not thread = worker-2", lambda c: c[3] < 500 and c[0] != 2),
                              ("live or size = 40", lambda c: not c[2] or c[3] == 40), ("size > 100 and lifetime > 2us", lambda c: c[3] > 100 and (c[2] or length) - c[1] > 2000)):
        support.make_given(part, length, [chunk for chunk in chunks if holds(chunk)], "accesses")
        for command in ("report", "advise", "timeline"):
            ours, theirs = (json.loads(tool(command, "--json", *words)[0]) for words in (("--where", expression, path), (part,)))
            for key in theirs.keys() - {"files", "threads"}:
                same(ours[key], theirs[key], f"{expression}: {command}, {key}")


support.main(alone=alone, where=where, sets=sets, unknown=unknown, by=by, confidence=confidence)
