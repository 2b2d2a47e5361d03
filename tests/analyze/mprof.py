#!/usr/bin/env python3
"""mprof: all four tables of random traces against sums made here, as JSON and as text with the paper's rules for percentages;
sampled traces with the interval of every row, folded deaths, several files, other keys and orders, and what the options do."""
import json
import math
import re

import support
from support import FOLDED, check, equal, tool

FIRST_NODE, STACKS = 4, 12  # of tests/analyze/make_trace.h
LETTERS = "smlx"
FOLDS = {FIRST_NODE + 1: (4, 400), FIRST_NODE + 3: (3, 300)}  # what the maker folds


def chain(stack):
    """The functions of a stack of the maker, the innermost first: tests/analyze/make_sites.c."""
    names = []
    while stack >= FIRST_NODE:
        names += (["0x1234"] if stack == FIRST_NODE + STACKS - 1 else ["plain_site"] if stack % 2 == 0 else ["inlined_site", "outer_site"])
        stack = stack - 2 if stack >= FIRST_NODE + 2 else 0
    return names


def letter(size):
    return "s" if size <= 32 else "m" if size <= 256 else "l" if size <= 2048 else "x"


class Sum:
    def __init__(self):
        self.chunks = self.bytes = self.chunks_variance = self.bytes_variance = 0
        self.sizes = dict.fromkeys(LETTERS, 0)

    def add(self, chunks, size, total=None):
        amount = chunks * size if total is None else total
        self.chunks += chunks
        self.bytes += amount
        self.sizes[letter(size)] += amount
        if total is None:
            self.chunks_variance += chunks * (chunks - 1)
            self.bytes_variance += chunks * (chunks - 1) * size ** 2


class Tables:
    """The tables of chunks, as (weight, size, stack, live, total bytes or None)."""

    def __init__(self, chunks, folded):
        self.all, self.kept = Sum(), Sum()
        self.bins, self.direct, self.paths, self.within = {}, {}, {}, {}
        self.variance, self.slack = [0, 0, 0], [0, 0, 0]
        for c in chunks:
            self.count(c.weight, c.size, c.stack, not c.died)
            bin_ = self.bins.setdefault(c.size if c.size <= 1024 else None, [0, 0, 0, 0])
            for i, value in enumerate((c.weight, c.weight * c.size, 0 if not c.died else c.weight, 0 if c.died else c.weight * c.size)):
                bin_[i] += value
            for i, value in enumerate((1, c.size, 0 if c.died else c.size)):
                self.variance[i] += c.weight * (c.weight - 1) * value ** 2
                self.slack[i] += 4e-12 * c.weight ** 2 * value ** 2  # the truth tells twelve digits of weights
        for stack, (count, amount) in (FOLDS.items() if folded else ()):
            self.count(count, amount / count, stack, False, amount)

    def count(self, weight, size, stack, live, total=None):
        names = chain(stack)
        direct = self.direct.setdefault(names[0], (Sum(), Sum()))
        path = self.paths.setdefault((tuple(reversed(names[:5])), len(names) > 5), (Sum(), Sum()))
        for each in (self.all, direct[0], path[0], *(self.within.setdefault(n, Sum()) for n in set(names))):
            each.add(weight, size, total)
        if live:
            for each in (self.kept, direct[1], path[1]):
                each.add(weight, size, total)


def near(ours, expected, what):
    equal(ours, expected, what, 1e-9)


def mprof(*arguments):
    return json.loads(tool("mprof", "--json", *arguments)[0])


def compare_sum(item, keys, expected, what):
    for key, value, variance in zip(keys, (expected.chunks, expected.bytes), (expected.chunks_variance, expected.bytes_variance)):
        if key:
            near(item[key], value, f"{key} of {what}")
        if key and f"{key}_low" in item:
            half = 1.96 * math.sqrt(max(variance, 0))
            slack = 1e-5 * max(value, 1)  # the truth tells twelve digits of weights, and a root makes six of them
            check(abs(item[f"{key}_low"] - max(value - half, 0)) <= slack, f"{key}_low of {what}: {item[f'{key}_low']}, expected {value} - {half}")
            check(abs(item[f"{key}_high"] - value - half) <= slack, f"{key}_high of {what}: {item[f'{key}_high']}, expected {value} + {half}")
    if keys[2]:
        for size in LETTERS:
            near(item[keys[2]][size], expected.sizes[size], f"{keys[2]} {size} of {what}")


def compare(data, tables, folded=(0, 0)):
    totals = data["totals"]
    compare_sum(totals, ("allocs", "bytes", "sizes"), tables.all, "all")
    compare_sum(totals, ("kept_chunks", "kept", "kept_sizes"), tables.kept, "all that was kept")
    near(totals["folded"], folded[0], "folded deaths")
    near(totals["folded_bytes"], folded[1], "bytes of them")
    for key, variance, slack in zip(("allocs", "bytes", "kept"), tables.variance, tables.slack):
        ours = (data["half_width_95"][key] / 1.96) ** 2
        check(abs(ours - variance) <= slack + 1e-9 * variance, f"variance of {key}: {ours}, expected {variance}, give or take {slack}")
    sizes = [b["size"] for b in data["bins"]]
    equal(sizes, sorted(s for s in tables.bins if s is not None) + [None] * (None in tables.bins), "bins")
    for item in data["bins"]:
        for key, value in zip(("allocs", "bytes", "frees", "kept"), tables.bins[item["size"]]):
            near(item[key], value, f"{key} of {item['size']} bytes")
    equal({d["function"] for d in data["direct"]}, set(tables.direct), "functions that allocate")
    for item in data["direct"]:
        all_, kept = tables.direct[item["function"]]
        compare_sum(item, ("calls", "bytes", "sizes"), all_, item["function"])
        compare_sum(item, (None, "kept", "kept_sizes"), kept, f"{item['function']}, kept")
    falling([d["bytes"] for d in data["direct"]], "functions")
    compare_leaks(data["leaks"], tables)
    functions = [e for e in data["graph"] if "function" in e]
    equal({e["function"] for e in functions}, set(tables.within), "functions of the graph")
    for item in functions:
        compare_sum(item, (None, "self_and_descendents", "self_and_descendents_sizes"), tables.within[item["function"]], item["function"])
    falling([e["self_and_descendents"] for e in data["graph"]], "entries of the graph")


def compare_leaks(leaks, tables):
    expected = {path: sums for path, sums in tables.paths.items() if sums[1].chunks > 0}
    listed = {(tuple(f["function"] for f in leak["path"]), leak["more_callers"]): leak for leak in leaks}
    equal(set(listed), set(expected), "paths")
    equal(len(leaks), len(expected), "each path once")
    for path, leak in listed.items():
        compare_sum(leak, ("allocs", "bytes", None), expected[path][0], f"{path}")
        compare_sum(leak, ("kept_chunks", "kept", None), expected[path][1], f"{path}, kept")
    falling([leak["kept"] for leak in leaks], "paths")


def falling(values, what):
    equal(values, sorted(values, reverse=True), f"the order of {what}")


def random_traces(folder):
    for seed in support.rounds(12):
        for words in ((), ("sampled",), ("folded",), ("sampled", "folded"), ("sizes", "shift")):
            form = "killed" if seed % 3 == 2 and "folded" not in words else "ended"
            path = folder / f"{seed}{''.join(words)}.pa"
            chunks = support.make(form, path, (1, 40, 3000)[seed % 3], seed, *words)
            data = mprof(path)
            folded = "folded" in words
            compare(data, Tables(chunks, folded), FOLDED if folded else (0, 0))
            equal(data["sampled"], "sampled" in words, "whether these are estimates")
            check(any("no bin" in r for r in data["remarks"]) == folded, f"folded deaths are told: {data['remarks']}")


def has_intervals(item):
    return any(key.endswith("_low") for key in item)


def intervals(folder):
    """Every row of a sampled trace has them, as JSON and as a column; no row of another."""
    for words in ((), ("sampled",)):
        chunks = support.make("ended", folder / "t.pa", 3000, 11, *words)
        data = mprof(folder / "t.pa")
        rows = [data["totals"], *data["leaks"], *data["bins"], *data["direct"], *data["graph"]]
        rows += [arc for entry in data["graph"] for arc in entry["ancestors"] + entry["descendents"] if not arc["same_cycle"]]
        equal({has_intervals(row) for row in rows}, {bool(words)}, f"{words}: rows with intervals")
        out = tool("mprof", folder / "t.pa")[0]
        equal(out.count("±%"), 6 if words else 0, "columns of them")
    tables = Tables(chunks, False)
    lines = table(out, "DIRECT ALLOCATION")[1:]
    for line in lines:
        match = re.match(r".{7} .{14} (.{5})  .{11} \| .{14} (.{5})  .{11} \| .{10}  (.*)", line)
        sums = (tables.all, tables.kept) if match[3] == "<TOTAL>" else tables.direct[match[3]]
        for said, sum_ in zip(match.groups(), sums):
            expected = 100 * 1.96 * math.sqrt(sum_.bytes_variance) / sum_.bytes
            check(abs(float(said) - expected) <= (0.051 if "." in said else 0.51), f"{match[3]}: {said}, expected {expected}")
    equal(len(lines), 1 + len(tables.direct), "rows")


def group_of(chunk, key):
    if key == "thread":
        return f"worker-{chunk.thread} ({1000 + chunk.thread})"
    if key == "stack":
        return chunk.stack
    return str(chunk.size) if chunk.size <= 1024 else "large"


def by(folder):
    """Leaks and direct allocation by another key; the other two tables are as without."""
    for words in ((), ("sampled",)):
        chunks = support.make("ended", folder / "t.pa", 3000, 8, *words)
        plain = mprof(folder / "t.pa")
        for key in ("thread", "size", "stack"):
            data = mprof("--by", key, folder / "t.pa")
            equal((data["by"], plain["by"]), (key, None), "the key")
            equal((data["bins"], data["graph"], data["totals"]), (plain["bins"], plain["graph"], plain["totals"]), f"{key}: the other tables")
            compare_groups(data, chunks, key)
        out = tool("mprof", "--by", "thread", folder / "t.pa")[0]
        check(re.search(r"\(%\)  thread\n", out) and "calls  thread\n" in out, f"what the rows are:\n{out[:800]}")
    check(re.search(r"  plain_site.*\n +at plain_site", tool("mprof", "--by", "stack", folder / "t.pa")[0]), "stacks are told whole")
    support.make("ended", folder / "t.pa", 3000, 8, "sampled", "folded")
    for key in ("stack", "function", "file", "module", "size", "thread", "tag"):
        data = mprof("--by", key, folder / "t.pa")
        near(sum(d["bytes"] for d in data["direct"]), data["totals"]["bytes"], f"{key}: all")
        near(sum(d["kept"] for d in data["leaks"]), data["totals"]["kept"], f"{key}: all that was kept")
        unknown = [(d["calls"], d["bytes"]) for d in data["direct"] if d["group"] == "(not known)"]
        equal(unknown, [FOLDED] if key in ("size", "thread", "tag") else [], f"{key}: what is known in sums by stack only")


def compare_groups(data, chunks, key):
    expected = {}
    for c in chunks:
        sums = expected.setdefault(group_of(c, key), (Sum(), Sum()))
        sums[0].add(c.weight, c.size)
        if not c.died:
            sums[1].add(c.weight, c.size)
    if key == "stack":  # many have the same name
        equal(len(data["direct"]), len(expected), "stacks")
        equal(len({json.dumps(l["stack"]) for l in data["leaks"]}), sum(k.chunks > 0 for _, k in expected.values()), "stacks of leaks")
        for ours, sums in zip(data["direct"], sorted(expected.values(), key=lambda s: -s[0].bytes)):
            compare_sum(ours, ("calls", "bytes", "sizes"), sums[0], "a stack")
        return
    for item in data["direct"]:
        if item["group"] in expected:
            all_, kept = expected[item["group"]]
            compare_sum(item, ("calls", "bytes", "sizes"), all_, item["group"])
            compare_sum(item, (None, "kept", "kept_sizes"), kept, f"{item['group']}, kept")
    exact = {name for name in expected if name != "large"}
    check(exact <= {d["group"] for d in data["direct"]}, f"groups: {exact}")
    equal({l["group"] for l in data["leaks"]} & exact, {n for n in exact if expected[n][1].chunks > 0}, "groups with leaks")
    for item in data["leaks"]:
        if item["group"] in expected:
            compare_sum(item, ("allocs", "bytes", None), expected[item["group"]][0], item["group"])
            compare_sum(item, ("kept_chunks", "kept", None), expected[item["group"]][1], f"{item['group']}, kept")


def sort(folder):
    support.make("ended", folder / "t.pa", 3000, 12)
    largest = lambda *keys: lambda row: [-row[k] for k in keys]
    paths = lambda row: [f["function"] for f in reversed(row["path"])]
    size = lambda row: 9999 if row["size"] is None else row["size"]
    orders = {"kept": {"leaks": largest("kept"), "bins": largest("kept"), "direct": largest("kept"), "graph": largest("self_and_descendents")},
              "bytes": {"leaks": largest("bytes"), "bins": largest("bytes"), "direct": largest("bytes"), "graph": largest("self_and_descendents")},
              "count": {"leaks": largest("allocs"), "bins": largest("allocs"), "direct": largest("calls")},
              "name": {"leaks": paths, "bins": size, "direct": lambda r: r["function"], "graph": lambda r: r.get("function", "")}}
    orders[None] = {"leaks": largest("kept"), "bins": size, "direct": largest("bytes"), "graph": largest("self_and_descendents")}
    plain, seen = mprof(folder / "t.pa"), set()
    for order, keys in orders.items():
        data = mprof(*(("--sort", order) if order else ()), folder / "t.pa")
        for name, key in keys.items():
            ours = [key(row) for row in data[name]]
            equal(ours, sorted(ours), f"{name} by {order}")
            seen.add((name, json.dumps(ours)))
        for name in ("leaks", "bins", "direct"):
            equal(sorted(map(json.dumps, data[name])), sorted(map(json.dumps, plain[name])), f"{name} by {order}: the same rows")
        equal([entry["index"] for entry in data["graph"]], list(range(len(plain["graph"]))), f"{order}: indexes are places")
        within = {e["function"]: sum(a["called"] for a in e["ancestors"]) for e in data["graph"] if "function" in e}
        equal(within, {e["function"]: sum(a["called"] for a in e["ancestors"]) for e in plain["graph"] if "function" in e}, f"{order}: the graph")
    sizes = [d["group"] for d in mprof("--by", "size", "--sort", "name", folder / "t.pa")["direct"]]
    equal(sizes, sorted(sizes, key=lambda s: int(s.split("-")[0])), "sizes by name are by number")
    rows = rows_of_bins(tool("mprof", "-verbose", "--sort", "bytes", folder / "t.pa")[0])
    amounts = [int(row[1]) for label, row in rows.items() if label != "<TOTAL>"]
    equal((amounts, list(rows)[-1]), (sorted(amounts, reverse=True), "<TOTAL>"), "bins as text")
    said = tool("mprof", "--sort", "colour", folder / "t.pa", status=2)[1]
    check(all(f"\n  {order} " in said for order in orders if order), f"what there is: {said}")


def left_out(folder):
    """What is not listed is told in sums: with what is listed, they make the whole."""
    chunks = support.make("ended", folder / "t.pa", 3000, 5)
    tables = Tables(chunks, False)
    pattern = r"  and ([\d,]+) more (\w+)( with little)?: ([\d,]+) allocs, ([\d,]+) bytes, ([\d,]+) kept(; -verbose lists all)?\n"
    for option in (("-normal",), ("-terse",), ("-terse", "--top", "2"), ("-terse", "--sort", "name"), ("-verbose", "--top", "1")):
        out = tool("mprof", *option, folder / "t.pa")[0]
        said = {m[2].rstrip("s"): m for m in re.finditer(pattern, out)}
        rows = rows_of_bins(out)
        unlisted = [b for s, b in tables.bins.items() if s is not None and str(s) not in rows]
        equal("size" in said, bool(unlisted), f"{option}: sizes are left out")
        if unlisted:
            equal([int(n.replace(",", "")) for n in said["size"].group(1, 4, 5, 6)],
                  [len(unlisted), *(sum(b[i] for b in unlisted) for i in (0, 1, 3))], f"{option}: sizes")
        leaks = [sums for sums in tables.paths.values() if sums[1].chunks > 0]
        lines = [re.match(r" *(\d+) +(\d+) ", line) for line in table(out, "MEMORY LEAKS")]
        listed = [(int(m[1]), int(m[2])) for m in lines if m]
        more = [int(n.replace(",", "")) for n in said["path"].group(1, 4, 5)] if "path" in said else [0, 0, 0]
        equal((len(listed) + more[0], sum(l[0] for l in listed) + more[1], sum(l[1] for l in listed) + more[2]),
              (len(leaks), sum(a.chunks for a, _ in leaks), sum(a.bytes for a, _ in leaks)), f"{option}: paths")
        if "--top" in option:
            check(not said["path"][3] and not said["path"][7], "-verbose would not list what --top leaves out")
            equal(len(listed), int(option[-1]), "paths")
            direct = sorted((s[0].bytes, s[0].chunks, s[1].bytes) for s in tables.direct.values())[:-int(option[-1])]
            if direct:
                equal([int(n.replace(",", "")) for n in said["function"].group(4, 5, 6)], [sum(d[i] for d in direct) for i in (1, 0, 2)], "functions")


def several(folder):
    one = support.make("ended", folder / "1.pa", 500, 1, "pid=1")
    other = support.make("ended", folder / "2.pa", 500, 2, "pid=2")
    compare(mprof(folder / "1.pa", folder / "2.pa"), Tables(one + other, False))


def where(folder):
    """Of kinds, of stacks, and of single chunks."""
    chunks = support.make("ended", folder / "t.pa", 3000, 7, "sampled", "folded")
    for expression, holds in (("size > 100", lambda c: c.size > 100), ("live", lambda c: not c.died),
                              ("freed and lifetime > 5us", lambda c: c.died and c.died - c.born > 5000)):
        asked = [c for c in chunks if holds(c)]
        check(0 < len(asked) < len(chunks), f"{expression} holds for some: {len(asked)}")
        compare(mprof("--where", expression, folder / "t.pa"), Tables(asked, False))
    asked = [c for c in chunks if "plain_site" in chain(c.stack)]
    compare(mprof("--where", "function = plain_*", folder / "t.pa"), Tables(asked, False))  # none of these are folded
    tool("mprof", "--where", "size >", folder / "t.pa", status=2)


def cut(part, whole):
    return math.floor(100 * part / whole + 1e-9) if whole else 0


def short(part, whole):
    """Two places: blank below 1, and 99 for 100."""
    percent = cut(part, whole)
    return "" if percent < 1 else f"({min(percent, 99)})"


def breakdown(sizes, whole):
    return [None if cut(sizes[s], whole) < 1 else min(cut(sizes[s], whole), 99) for s in LETTERS]


def parse_breakdown(text):
    return [int(text[i:i + 2]) if text[i:i + 2].strip() else None for i in range(0, 11, 3)]


def table(out, title):
    """The lines of a table, without its header."""
    body = out.split(f"\n{title}\n\n")[1].split("\n\n")[0]
    return body.splitlines()[1:]


def rows_of_bins(out):
    rows = {}
    for line in table(out, "ALLOCATION BINS"):
        match = re.match(r"(.{10}) (.{10}) (.{14}) (.{4}) (.{10}) (.{14})(?: (.{4}))?", line)
        if match:
            label, *rest = [(g or "").strip().replace("( ", "(") for g in match.groups()]
            rows[label] = rest
    return rows


def bins_text(folder):
    chunks = support.make("ended", folder / "t.pa", 400, 3)
    tables = Tables(chunks, False)
    for option, least in (("-verbose", None), ("-normal", 0.005), (None, 0.005), ("-terse", 0.01), ("--terse", 0.01)):
        rows = rows_of_bins(tool("mprof", *filter(None, (option,)), folder / "t.pa")[0])
        total = [sum(b[i] for b in tables.bins.values()) for i in range(4)]
        listed = {s for s, b in tables.bins.items() if s is not None and
                  (least is None or any(b[i] > least * total[i] for i in (0, 1, 3)))}
        check(least is None or 0 < len(listed) < len(tables.bins) - 1, "some are left out")
        equal(set(rows), {str(s) for s in listed} | {"> 1024", "<TOTAL>"}, f"sizes with {option}")
        for label, row in rows.items():
            if label != "<TOTAL>":
                allocs, amount, frees, kept = tables.bins[None if label == "> 1024" else int(label)]
                equal(row, [f"{allocs:.0f}", f"{amount:.0f}", short(amount, total[1]), f"{frees:.0f}", f"{kept:.0f}", short(kept, total[3])],
                      f"the row of {label}")
        equal(rows["<TOTAL>"], [f"{total[0]:.0f}", f"{total[1]:.0f}", "", f"{total[2]:.0f}", f"{total[3]:.0f}", ""], "the last row")


def direct_text(folder):
    chunks = support.make("ended", folder / "t.pa", 3000, 4)
    tables = Tables(chunks, False)
    lines = table(tool("mprof", folder / "t.pa")[0], "DIRECT ALLOCATION")
    rows = {}
    for line in lines[1:]:
        match = re.match(r"(.{7}) (.{14})  (.{11}) \| (.{14})  (.{11}) \| (.{10})  (.*)", line)
        rows[match[7]] = [match[1].strip(), match[2].strip(), parse_breakdown(match[3]), match[4].strip(), parse_breakdown(match[5]), match[6].strip()]
    expected = {name: sums for name, sums in tables.direct.items()}
    expected["<TOTAL>"] = (tables.all, tables.kept)
    equal(set(rows), set(expected), "functions")
    for name, (all_, kept) in expected.items():
        part = "" if name == "<TOTAL>" else f"{100 * all_.bytes / tables.all.bytes:.1f}"
        equal(rows[name], [part, f"{all_.bytes:.0f}", breakdown(all_.sizes, tables.all.bytes), f"{kept.bytes:.0f}",
                           breakdown(kept.sizes, tables.kept.bytes), f"{all_.chunks:.0f}"], f"the row of {name}")


def leaks_text(folder):
    chunks = support.make("ended", folder / "t.pa", 3000, 5)
    tables = Tables(chunks, False)
    for option, least in (("-verbose", -1), ("-normal", 0.005), ("-terse", 0.01)):
        lines = table(tool("mprof", option, folder / "t.pa")[0], "MEMORY LEAKS")
        expected = {}
        for (names, more), (all_, kept) in tables.paths.items():
            if kept.chunks > 0 and kept.bytes > least * tables.kept.bytes:
                freed, freed_bytes = all_.chunks - kept.chunks, all_.bytes - kept.bytes
                expected[("... > " if more else "") + " > ".join(names)] = \
                    [f"{all_.chunks:.0f}", f"{all_.bytes:.0f}", short(kept.bytes, tables.kept.bytes)] + \
                    ([f"{freed:.0f}", f"{freed_bytes:.0f}", short(freed_bytes, all_.bytes)] if freed else ["", "", ""])
        rows = {}
        for line in lines:
            match = re.match(r"(.{10}) (.{14}) (.{4}) (.{10}) (.{14}) (.{4})  (.*)", line)
            if match:
                rows[match[7]] = [g.strip().replace("( ", "(") for g in match.groups()[:6]]
        equal(rows, expected, f"paths with {option}")
    check("MEMORY LEAKS" not in tool("mprof", "-noleaktable", folder / "t.pa")[0], "-noleaktable")
    check("leaks" not in mprof("--noleaktable", folder / "t.pa"), "the same as JSON")
    check("MEMORY LEAKS" in tool("mprof", "-noleaktable", "-leaktable", folder / "t.pa")[0], "the last one counts")
    for option in ("-offsets", "--offsets", "-offset"):
        check("plain_site+" in tool("mprof", option, folder / "t.pa")[0], f"{option} tells call sites apart")


def sampled_text(folder):
    support.make("ended", folder / "t.pa", 3000, 6, "sampled")
    out = tool("mprof", folder / "t.pa")[0]
    data = mprof(folder / "t.pa")
    allocs, width = data["totals"]["allocs"], data["half_width_95"]["allocs"]
    said = re.search(r"estimates from samples, with 95 % confidence: ([\d,]+) allocations ±([\d.]+) %", out)
    check(said and width > 0, f"an estimate, within {width}:\n{out[:400]}")
    equal(int(said[1].replace(",", "")), round(allocs), "allocations")
    check(abs(float(said[2]) - 100 * width / allocs) <= (0.06 if "." in said[2] else 0.6), f"{said[2]} percent, expected {100 * width / allocs}")
    support.make("ended", folder / "u.pa", 3000, 6)
    check("estimate" not in tool("mprof", folder / "u.pa")[0], "no estimate")


def empty(folder):
    support.make("ended", folder / "t.pa", 0, 1)
    data = mprof(folder / "t.pa")
    equal([data[k] for k in ("leaks", "bins", "direct", "graph")], [[], [], [], []], "nothing")
    out = tool("mprof", folder / "t.pa")[0]
    for title in ("MEMORY LEAKS", "ALLOCATION BINS", "DIRECT ALLOCATION", "ALLOCATION CALL GRAPH"):
        check(title in out, f"{title} in\n{out}")
    check("nan" not in out and "inf" not in out, out)


def edges(folder):
    """One chunk, all alive, of no size, of 1 GiB: the figures are right, and the text has no figure that is none."""
    path = folder / "t.pa"
    for count, words, what in ((0, (), "empty"), (1, (), "one chunk"), (1, ("alive",), "one live chunk"), (400, ("alive",), "all live"),
                               (400, ("size=0",), "of no size"), (400, ("size=0", "alive"), "of no size, live"),
                               (400, ("size=1073741824",), "1 GiB"), (400, ("size=1073741824", "sampled"), "1 GiB, sampled")):
        for form in ("ended", "killed"):
            chunks = support.make(form, path, count, 6, *words)
            compare(mprof(path), Tables(chunks, False))
            for options in ((), ("-terse",), ("--by", "thread"), ("--by", "size", "--sort", "name"), ("--sort", "count", "--top", "1")):
                out = tool("mprof", *options, path)[0]
                check(not re.search(r"\b(nan|inf)\b", out), f"{what} {options}:\n{out}")
                kept = sum(not c.died for c in chunks)
                leaks = [line for line in table(out, "MEMORY LEAKS") if re.match(" *\\d", line)]
                equal(bool(leaks), kept > 0, f"{what} {options}: a leak is listed:\n{out}")
                check(kept or "nothing was kept" in out, out)


def command_line(folder):
    support.make("ended", folder / "t.pa", 3000, 1)
    tool("mprof", status=2)
    tool("mprof", "--colour", folder / "t.pa", status=2)
    check("--by takes one of these" in tool("mprof", "--by", "colour", folder / "t.pa", status=2)[1], "a key that is none")
    check("-offsets" in tool("mprof", "-offsets", "--by", "thread", folder / "t.pa", status=2)[1], "offsets of what are no paths")
    tool("mprof", folder / "absent.pa", status=2)
    (folder / "no.pa").write_text("no trace")
    tool("mprof", folder / "no.pa", status=2)
    check("usage: profalloc mprof" in tool("mprof", "--help")[0], "help")
    out = tool("mprof", "--top", 1, folder / "t.pa")[0]
    equal(set(re.findall(r"^\[\d+\]", out, re.M)), {"[0]"}, "entries with --top 1")
    check("and 2 more functions: " in out and " more paths: " in out, f"what is left out is told:\n{out}")


support.main(random_traces=random_traces, intervals=intervals, by=by, sort=sort, left_out=left_out, several=several, where=where, bins_text=bins_text, direct_text=direct_text, leaks_text=leaks_text,
             sampled_text=sampled_text, empty=empty, edges=edges, command_line=command_line)
