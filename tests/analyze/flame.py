#!/usr/bin/env python3
"""`profalloc flame` against a reference that keeps all chunks: every metric, by call path, as folded stacks, picture and JSON."""
import json
import math

import pictures
import support
from support import check, equal, is_blind, make, report, tool

START = 1000000  # the maker's counter at the start, in ticks of a nanosecond
FIRST = 4        # its first stack


def path_of(stack):
    """The maker's stacks: one of two functions, each called by itself, the longer the higher the number."""
    depth = (stack - FIRST) // 2 + 1
    if stack == FIRST + 11:
        return ["outer_site", "inlined_site"] * (depth - 1) + ["?+0x1234"]
    return ["plain_site"] * depth if stack % 2 == 0 else ["outer_site", "inlined_site"] * depth


def sums(chunks, value, inverted=False):
    """By folded path; `value` tells what a chunk counts for, before its weight."""
    amounts = {}
    for chunk in chunks:
        amounts[chunk.stack] = amounts.get(chunk.stack, 0) + value(chunk) * chunk.weight
    turn = -1 if inverted else 1
    return pictures.folded([(amount, path_of(stack)[::turn]) for stack, amount in amounts.items() if amount > 0])


def folded(*arguments):
    out, said = tool("flame", *arguments)
    result = {}
    for line in out.splitlines():
        path, value = line.rsplit(" ", 1)
        check(path not in result, f"{path} is there twice")
        result[path] = int(value)
    return result, said


def rounded(amounts):
    return {path: round(value) for path, value in amounts.items() if round(value) > 0}


def near(ours, expected, what):
    """The same paths, and amounts that differ by no more than a rounding."""
    equal(set(ours), set(expected), f"{what}: paths")
    for path, value in ours.items():
        check(abs(value - expected[path]) <= 1, f"{what}: {path}: {value}, expected {expected[path]}")


def wasted(chunk):
    return chunk.size - (chunk.length if chunk.reads else 0)


def alive_at(time):
    return lambda c: c.size if c.born <= time and (not c.died or time < c.died) else 0


def metrics(chunks):
    peak, when = support.peak_of(chunks)
    dead = sorted(c.died for c in chunks if c.died)
    middle = dead[len(dead) // 2]
    return {"bytes": lambda c: c.size, "count": lambda c: 1, "live": lambda c: 0 if c.died else c.size, "peak": alive_at(when),
            f"at={(middle - START)}ns": alive_at(middle), f"at={(middle - START) / 1000:.3f}us": alive_at(middle),
            f"at={(dead[3] - START - 1)}ns": alive_at(dead[3] - 1)}


def against_reference(folder):
    path = folder / "t.pa"
    for seed, (form, words) in enumerate([("ended", ()), ("ended", ("after",)), ("killed", ("dying",)), ("ended", ("sampled",)),
                                          ("killed", ("sampled",)), ("ended", ("accesses", "sampled"))]):
        chunks = make(form, path, 3000, seed, *words)
        wanted = metrics(chunks)
        if "accesses" in words:
            wanted["wasted"] = wasted
        for metric, value in wanted.items():
            for inverted in (False, True):
                option = ["--inverted"] if inverted else []
                ours, said = folded("--metric", metric, *option, path)
                near(ours, rounded(sums(chunks, value, inverted)), f"{form} {words} {metric} {option}")
            data = json.loads(tool("flame", "--json", "--metric", metric, path)[0])
            total = sum(value(c) * c.weight for c in chunks)
            equal(data["total"], total, f"{metric}: total", 1e-9)
            equal(sum(s["value"] for s in data["stacks"]), total, f"{metric}: sum of stacks", 1e-9)
            error = 1.96 * math.sqrt(sum(c.weight * (c.weight - 1) * value(c) ** 2 for c in chunks))
            equal(data["error95"], error, f"{metric}: error", 1e-6)
            equal("an estimate; 95 %" in said, "sampled" in words, f"{metric}: what is said of estimates: {said}")


def same_as_report(folder):
    path = folder / "t.pa"
    make("killed", path, 6000, 8, "folded", "accesses")
    told = report(path)
    for metric, expected in (("bytes", told["totals"]["bytes_allocated"]), ("count", told["totals"]["allocations"]),
                             ("live", told["live"]["bytes"]), ("peak", told["peak"]["bytes"])):
        out, said = tool("flame", "--metric", metric, path)
        equal(sum(int(line.rsplit(" ", 1)[1]) for line in out.splitlines()), expected, metric)
        equal("known in sums only" in said, metric == "peak", f"{metric}: what is lacking: {said}")
    equal(json.loads(tool("flame", "--json", "--metric", "peak", path)[0])["time"], told["peak"]["time"], "time of the peak")


def deaths_at_the_peak(folder):
    """What is freed in the tick of the peak is not in it: with times that are cut, many things happen at once."""
    path = folder / "t.pa"
    freed = 0
    for seed in range(10):
        chunks = make("ended", path, 3000, seed, "shift")
        told = report(path)["peak"]
        when = START + round(told["time"] * 1e9)
        freed += sum(c.died // 64 * 64 == when for c in chunks if c.died)
        equal(json.loads(tool("flame", "--json", "--metric", "peak", path)[0])["total"], told["bytes"], "bytes at the peak")
    check(freed > 0, "no chunk is freed at the peak")


def group_name(chunk, key):
    if key == "thread":
        return f"worker-{chunk.thread} ({1000 + chunk.thread})"
    return str(chunk.size) if key == "size" else path_of(chunk.stack)[-1]  # the function that allocates


def by(folder):
    """The first frame of each path is its group, which folds with no frame of the same name."""
    path, out = folder / "t.pa", folder / "out.svg"
    for words in ((), ("sampled",)):
        chunks = [c for c in make("ended", path, 3000, 9, *words) if c.size <= 1024]
        for key in ("thread", "size", "function"):
            for metric, value in (("bytes", lambda c: c.size), ("count", lambda c: 1), ("live", lambda c: 0 if c.died else c.size)):
                for option in ((), ("--inverted",)):
                    ours = folded("--by", key, "--metric", metric, "--where", "size <= 1024", *option, path)[0]
                    expected = {}
                    for name in {group_name(c, key) for c in chunks}:
                        own = rounded(sums([c for c in chunks if group_name(c, key) == name], value, bool(option)))
                        expected.update({f"{name.replace(' ', '_')};{rest}": amount for rest, amount in own.items()})
                    near(ours, expected, f"{words} by {key}: {metric} {option}")
        data = json.loads(tool("flame", "--by", "thread", "--json", path)[0])
        equal((data["by"], {s["group"] for s in data["stacks"]}), ("thread", {f"worker-{t} ({1000 + t})" for t in (1, 2, 3)}), "groups of JSON")
        check(all(s["frames"][0] in ("plain_site", "outer_site") for s in data["stacks"]), "frames of JSON are functions")
    tool("flame", "--by", "thread", "--svg", out, path)
    first = [f for f in pictures.Flame(out.read_text()).frames if f["level"] == 1]
    equal({(f["name"], f["extra"]) for f in first}, {(f"worker-{t} ({1000 + t})", "thread") for t in (1, 2, 3)}, "the first level")
    for key in ("stack", "file", "module", "tag"):
        total = sum(folded("--by", key, "--metric", "count", path)[0].values())
        check(abs(total - sum(folded("--metric", "count", path)[0].values())) <= 40, f"{key}: nothing is lost but by rounding")


def sort(folder):
    """Frames on the same one, by amount or by name."""
    path, out = folder / "t.pa", folder / "out.svg"
    make("ended", path, 3000, 10)
    number = lambda name: int(name.split("-")[0])
    for order, key in (((), lambda f: -f["value"]), (("--sort", "value"), lambda f: -f["value"]), (("--sort", "name"), lambda f: number(f["name"]))):
        tool("flame", "--by", "size", *order, "--svg", out, path)
        first = sorted((f for f in pictures.Flame(out.read_text()).frames if f["level"] == 1), key=lambda f: f["x"])
        equal([key(f) for f in first], sorted(map(key, first)), f"{order}: from left to right")
        names = []
        for line in tool("flame", "--by", "size", *order, path)[0].splitlines():
            names += [line.split(";")[0]] if line.split(";")[0] not in names[-1:] else []
        equal(len(names), len(set(names)), f"{order}: the lines of a group are together")
        equal(names == sorted(names, key=number), "name" in order, f"{order}: folded stacks by name")


def intervals(folder):
    """What is told of a frame has half of its interval, if it is an estimate."""
    path, out = folder / "t.pa", folder / "out.svg"
    for words in ((), ("sampled",)):
        chunks = make("ended", path, 3000, 12, *words)
        tool("flame", "--metric", "count", "--by", "thread", "--svg", out, path)
        flame = pictures.Flame(out.read_text())
        for number, frame in enumerate(flame.frames):
            if frame["level"] <= 1:
                own = [c for c in chunks if frame["level"] == 0 or group_name(c, "thread") == frame["name"]]
                half = 1.96 * math.sqrt(sum(c.weight * (c.weight - 1) for c in own))
                told = flame.page(["mouseover", number])[1]["about"]
                equal(f" +- {round(half):,} (95 %), " in told, bool(words), f"{frame['name']}: {told}, expected {half}")
                equal("(95 %)" in told, bool(words), told)


def several(folder):
    a, b = folder / "a.pa", folder / "b.pa"
    first = make("ended", a, 2000, 1)
    second = make("ended", b, 3000, 2, "later=20000")
    for metric, value in (("bytes", lambda c: c.size), ("live", lambda c: 0 if c.died else c.size)):
        near(folded("--metric", metric, a, b)[0], rounded(sums(first + second, value)), metric)
    equal(json.loads(tool("flame", "--json", "--metric", "peak", a, b)[0])["total"], report(a, b)["peak"]["bytes"], "peak of both")
    time = 30000
    expected = sum(alive_at(START + time)(c) for c in first) + sum(alive_at(START + time - 20000)(c) for c in second)
    equal(json.loads(tool("flame", "--json", "--metric", f"at={time}ns", a, b)[0])["total"], expected, "at a moment of both")


def only_some(folder):
    """--where: the amounts, and the peak, of those chunks alone."""
    path = folder / "t.pa"
    chunks = make("ended", path, 3000, 6, "sampled", "accesses")
    for where, wanted in (("size > 100 and thread = worker-2", lambda c: c.size > 100 and c.thread == 2),
                          ("function = plain_site", lambda c: "plain_site" in path_of(c.stack)), ("reads = 0", lambda c: c.reads == 0),
                          ("lifetime < 5us and freed", lambda c: c.died and c.died - c.born < 5000), ("size > 1G", lambda c: False)):
        some = [c for c in chunks if wanted(c)]
        values = {"bytes": lambda c: c.size, "count": lambda c: 1, "live": lambda c: 0 if c.died else c.size, "wasted": wasted,
                  "peak": alive_at(support.peak_of(some)[1])}
        for metric, value in values.items():
            near(folded("--where", where, "--metric", metric, path)[0], rounded(sums(some, value)), f"{where}: {metric}")
    check("--where" in tool("flame", "--where", "size >", path, status=2)[1], "an expression that is wrong")


def as_picture(folder):
    path, out = folder / "t.pa", folder / "out.svg"
    chunks = make("ended", path, 3000, 4)
    for option, value in ((("--metric", "bytes"), lambda c: c.size), (("--metric", "count"), lambda c: 1)):
        equal(tool("flame", *option, "--svg", out, path)[0], "", "nothing on standard output")
        flame = pictures.Flame(out.read_text())
        equal(flame.frames[0]["value"], sum(map(value, chunks)), "all")
        top = {f["name"]: 0 for f in flame.frames if f["level"] == 1}
        for frame in flame.frames:
            if frame["level"] == 1:
                top[frame["name"]] += frame["value"]
        expected = {}
        for chunk in chunks:
            name = path_of(chunk.stack)[0]
            expected[name] = expected.get(name, 0) + value(chunk)
        equal(top, expected, "the first level")
        check(any("make_sites.c:" in f["extra"] for f in flame.frames), "places are told")
        equal(out.read_text(), tool("flame", *option, "--svg", "-", path)[0], "the same again")
        seen = flame.page(["search", "plain_site"])[1]
        check(f"{100 * expected['plain_site'] / sum(expected.values()):.2f} %" in seen["result"], seen["result"])
    legend = [name for name in ("program", "library", "C++ library", "no function") if f">{name}</text>" in out.read_text()]
    equal(legend, ["program", "no function"], "colours that are there")
    up = pictures.Flame(out.read_text())
    tool("flame", "--inverted", "--metric", "count", "--svg", out, path)
    down = pictures.Flame(out.read_text())
    check(up.frames[0]["y"] > up.frames[1]["y"] and down.frames[0]["y"] < down.frames[1]["y"], "which way it grows")
    leaves = {f["name"] for f in down.frames if f["level"] == 1}
    equal(leaves, {path_of(c.stack)[-1] for c in chunks}, "inverted: what allocates comes first")


def without_accesses(folder):
    path = folder / "t.pa"
    for words in ((), ("idle",)):
        make("ended", path, 1000, 4, *words)
        out, said = tool("flame", "--metric", "wasted", path, status=1)
        check(out == "" and "not recorded" in said and "profalloc-cc" in said, said)
    chunks = make("ended", path, 1000, 4, "accesses", "gap")
    ours, said = folded("--metric", "wasted", path)
    near(ours, rounded(sums([c for c in chunks if c.died], wasted)), "of those that are known")
    alive = sum(not c.died for c in chunks)
    check(f"of {alive} chunks it is not known" in said, said)
    chunks = make("ended", path, 1000, 4, "accesses", "told")
    ours, said = folded("--metric", "wasted", path)
    near(ours, rounded(sums([c for c in chunks if not is_blind(c.stack)], wasted)), "of those that instrumented code allocates")
    blind = sum(is_blind(c.stack) for c in chunks)
    check(f"code that is not instrumented allocated {blind} chunks, which are not in this" in said, said)


def edges(folder):
    path, out = folder / "t.pa", folder / "out.svg"
    for count, words, what in ((0, (), "empty"), (1, (), "one chunk"), (400, ("alive",), "all live"), (400, ("size=0",), "of no size"),
                               (400, ("size=1073741824",), "1 GiB"), (400, ("size=1073741824", "accesses"), "1 GiB with accesses")):
        chunks = make("ended", path, count, 6, *words)
        for metric in ("bytes", "count", "live", "peak", "at=0") + (("wasted",) if "accesses" in words else ()):
            value = {"bytes": lambda c: c.size, "count": lambda c: 1, "live": lambda c: 0 if c.died else c.size, "wasted": wasted,
                     "peak": alive_at(support.peak_of(chunks)[1]), "at=0": alive_at(START)}[metric]
            near(folded("--metric", metric, path)[0], rounded(sums(chunks, value)), f"{what}: {metric}")
            tool("flame", "--metric", metric, "--svg", out, path)
            equal(pictures.Flame(out.read_text()).frames[0]["value"], sum(map(value, chunks)), f"{what}: {metric}")
            equal("nothing to show" in out.read_text(), sum(map(value, chunks)) == 0, f"{what}: {metric}: that there is nothing")


def wrong_uses(folder):
    path = folder / "t.pa"
    make("ended", path, 100, 3)
    before = path.read_bytes()
    for arguments, said in ((("--metric", "colour"), "--metric takes"), (("--metric", "at="), "takes a time"), (("--metric", "at=-1"), "takes a time"),
                            (("--metric", "at=5parsecs"), "takes a time"), (("--metric", "at=1h"), "the recording ends at"),
                            (("--by", "colour"), "--by takes one of these"), (("--sort", "size"), "\n  value "),
                            (("--sort", "name", "--json"), "--sort"), (("--top", "3"), "--top"), (("--folded", "--json"), "at a time"),
                            (("--svg", str(path)), "name of a trace"), (("--svg", ""), "is empty")):
        out, err = tool("flame", *arguments, path, status=2)
        check(said in err and out == "", f"{arguments}: {out}{err}")
    plain = folder / "plain"
    plain.write_bytes(before)
    check("is to be read" in tool("flame", "--svg", plain, plain, status=2)[1], "a trace of another name")
    equal((path.read_bytes(), plain.read_bytes()), (before, before), "traces are as they were")
    tool("flame", status=2)
    tool("flame", folder / "absent.pa", status=2)
    (folder / "none.pa").write_text("no trace")
    check("MISSING" in tool("flame", path, folder / "none.pa", status=2)[1], "what was left out is said")
    check("cannot write" in tool("flame", "--svg", "/dev/full", path, status=1)[1], "where there is no room")
    check(tool("flame", "--help")[0].startswith("usage: profalloc flame"), "help")


if __name__ == "__main__":
    support.main(against_reference=against_reference, same_as_report=same_as_report, deaths_at_the_peak=deaths_at_the_peak,
                 by=by, sort=sort, intervals=intervals, several=several, only_some=only_some, as_picture=as_picture, without_accesses=without_accesses, edges=edges, wrong_uses=wrong_uses)
