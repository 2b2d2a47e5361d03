#!/usr/bin/env python3
"""`profalloc timeline` against a reference that keeps all chunks: what was alive at the end of each bucket, born and died in
it; the peak against `profalloc report`."""
import csv
import fcntl
import io
import json
import math
import os
import pty
import re
import resource
import struct
import subprocess
import termios

import pictures
import support
from support import TOOL, check, equal, make, report, tool

START = 1000000  # the maker's counter at the start, in ticks of a nanosecond


class Life:
    """A chunk with its times since the first trace began; died None: alive at the end of its trace, which is `end`."""

    def __init__(self, chunk, later=0, end=None):
        self.born = chunk.born - START + later
        self.died = chunk.died - START + later if chunk.died else None
        self.end, self.size, self.weight, self.thread = end, chunk.size, chunk.weight, chunk.thread

    def alive(self, time):
        return self.born <= time and (time < self.died if self.died is not None else time <= self.end)


def timeline(*arguments):
    return json.loads(tool("timeline", "--json", *arguments)[0])


def buckets_for(ends, wanted):
    """So many buckets, or a few more, that none but the last ends at a whole nanosecond: no chunk is at the very end of one."""
    while any(end % wanted == 0 for end in ends) or any(wanted % d == 0 for d in range(2, wanted)):
        wanted += 1
    return wanted


def ends_of(whole, count):
    return [whole if i + 1 == count else whole * (i + 1) / count for i in range(count)]


def reference(lives, ends):
    """live_bytes, live_chunks, bytes_born, bytes_died, at_most, error95 for each end."""
    rows, before = [], -1
    last = 0
    for end in ends:
        alive = [l for l in lives if l.alive(end)]
        born = sum(l.weight * l.size for l in lives if before < l.born <= end)
        live = sum(l.weight * l.size for l in alive)
        error = 1.96 * math.sqrt(sum(l.weight * (l.weight - 1) * l.size ** 2 for l in alive))
        rows.append((live, sum(l.weight for l in alive), born, last + born - live, last + born, error))
        before, last = end, live
    return rows


KEYS = ("live_bytes", "live_chunks", "bytes_born", "bytes_died", "live_bytes_at_most")


def check_strand(strand, rows, what, sampled=False):
    for number, key in enumerate(KEYS):
        equal(len(strand[key]), len(rows), f"{what}: buckets of {key}")
        for i, (ours, row) in enumerate(zip(strand[key], rows)):
            equal(ours, row[number], f"{what}: {key} in bucket {i}", 1e-9)
    if sampled:
        for i, (ours, row) in enumerate(zip(strand["live_bytes_error95"], rows)):
            equal(ours, row[5], f"{what}: error in bucket {i}", 1e-6)
    else:
        check("live_bytes_error95" not in strand, f"{what}: no estimates, no errors")


def seconds_ns(seconds):
    return round(seconds * 1e9)


def against_reference(folder):
    path = folder / "t.pa"
    for seed, (form, words) in enumerate([("ended", ()), ("ended", ("after",)), ("killed", ()), ("killed", ("dying", "torn")),
                                          ("ended", ("shift",)), ("ended", ("sampled",)), ("killed", ("sampled", "folded")),
                                          ("ended", ("sizes", "folded"))]):
        chunks = make(form, path, 2000, seed, *words)
        whole = seconds_ns(timeline(path)["seconds"])
        for wanted in (1, 7, 211):
            count = buckets_for([whole], wanted) if wanted > 1 else 1
            data = timeline("--buckets", count, path)
            lives = [Life(c, end=whole) for c in chunks]
            check_strand(data["all"], reference(lives, ends_of(whole, count)), f"{form} {words} in {count}", "sampled" in words)
            equal(data["groups"], [], "groups")
            equal((data["chunks_without_times"], data["bytes_without_times"]), support.FOLDED if "folded" in words else (0, 0), "folded")
        told = report(path)["peak"]
        equal(data["peak"]["bytes"], told["bytes"], "the peak of the report")
        equal(data["peak"]["time"], told["time"], "its time")
        check(max(data["all"]["live_bytes"]) <= told["bytes"] * (1 + 1e-12), "no end of a bucket is above the peak")
        check(max(data["all"]["live_bytes_at_most"]) >= told["bytes"] * (1 - 1e-12), "the peak is within what is possible")


def at_the_very_end(folder):
    """Events in the tick at which a bucket ends belong to it."""
    path = folder / "t.pa"
    hits = 0
    for seed in range(6):
        chunks = make("ended", path, 3000, seed)
        whole = seconds_ns(timeline(path)["seconds"])
        count = next((n for n in range(150, 1000) if whole % n == 0), None)
        if count is None:
            continue
        data = timeline("--buckets", count, path)
        ends = [whole // count * (i + 1) for i in range(count)]
        times = {c.born - START for c in chunks} | {c.died - START for c in chunks if c.died}
        hits += len(times & set(ends))
        check_strand(data["all"], reference([Life(c, end=whole) for c in chunks], ends), f"{count} buckets")
    check(hits > 10, f"{hits} events at the end of a bucket are too few to tell")


def by_thread(folder):
    path = folder / "t.pa"
    for words in ((), ("sampled",)):
        chunks = make("ended", path, 3000, 5, *words)
        whole = seconds_ns(timeline(path)["seconds"])
        count = buckets_for([whole], 101)
        ends = ends_of(whole, count)
        rows = {t: reference([Life(c, end=whole) for c in chunks if c.thread == t], ends) for t in (1, 2, 3)}
        order = sorted(rows, key=lambda t: -max(row[0] for row in rows[t]))
        for top in (1, 2, 3, 9):
            data = timeline("--by", "thread", "--top", top, "--buckets", count, path)
            names = [f"worker-{t} ({1000 + t})" for t in order[:top]] + (["other"] if top < 3 else [])
            equal([g["name"] for g in data["groups"]], names, "groups, the largest first")
            equal([g["other"] for g in data["groups"]], [n == "other" for n in names], "which is the rest")
            for thread, group in zip(order[:top], data["groups"]):
                check_strand(group, rows[thread], group["name"], bool(words))
            rest = reference([Life(c, end=whole) for c in chunks if c.thread in order[top:]], ends)
            if top < 3:
                check_strand(data["groups"][-1], rest, "other", bool(words))
            for key in KEYS:
                sums = [sum(values) for values in zip(*(g[key] for g in data["groups"]))]
                for ours, expected in zip(sums, data["all"][key]):
                    equal(ours, expected, f"sum of the groups' {key}", 1e-9)


def sort(folder):
    """By peak, what is alive at the end, all bytes allocated, and by name; --top takes the first of that order."""
    path = folder / "t.pa"
    chunks = make("ended", path, 3000, 15)
    sizes = {c.size for c in chunks if c.size <= 1024}
    orders = {"peak": lambda g: -max(g["live_bytes"]), "end": lambda g: -g["live_bytes"][-1], "total": lambda g: -sum(g["bytes_born"]),
              "name": lambda g: int(g["name"].split("-")[0])}
    every = {}
    for order, key in orders.items():
        groups = timeline("--by", "size", "--sort", order, "--top", 2000, "--buckets", 100, path)["groups"]
        check(sizes <= {int(g["name"]) for g in groups if "-" not in g["name"]}, "all sizes")
        equal([key(g) for g in groups], sorted(map(key, groups)), f"by {order}")
        every[order] = [g["name"] for g in groups]
        some = timeline("--by", "size", "--sort", order, "--top", 5, "--buckets", 100, path)["groups"]
        check(some[-1]["other"], "the rest is last")
        if order == "name":
            equal([g["name"] for g in some[:-1]], sorted(every["peak"][:5], key=lambda n: int(n.split("-")[0])), "of the largest by name")
        else:
            equal([g["name"] for g in some[:-1]], every[order][:5], f"the first by {order}")
    check(len({tuple(names) for names in every.values()}) == 4, "orders differ")
    equal(every["peak"], [g["name"] for g in timeline("--by", "size", "--top", 2000, "--buckets", 100, path)["groups"]], "the default")
    legend = tool("timeline", "--by", "thread", "--sort", "name", path)[0].split("since the start")[1]
    equal(re.findall(r"worker-(\d)", legend), ["1", "2", "3"], f"the legend:\n{legend}")


def too_many(folder):
    """More groups and buckets than memory is for: the largest are told, the others together, and that is said."""
    path = folder / "t.pa"
    subprocess.run([support.MAKER, "many", path, "200000", "3", "points=70000"], stdout=subprocess.DEVNULL, check=True)
    if not support.SANITIZED:  # which take memory of their own
        subprocess.run([TOOL, "timeline", "--csv", "--by", "stack", "--buckets", "100000", "--top", "70000", path], capture_output=True, check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
        check(used < 500, f"{used} MiB")  # all strands would take 280 GB; it takes some 170 MiB
    for order, figure in (("total", "bytes"), ("end", "live_bytes"))[:1 if support.SANITIZED else 2]:
        text, said = tool("timeline", "--csv", "--by", "stack", "--sort", order, "--buckets", 5000, "--top", 70000, path)
        check("no more than 335 groups fit into memory" in said, said)
        rows = list(csv.reader(io.StringIO(text)))[1:]
        equal(len(rows), 336 * 5000, "lines: 335 groups and the others")
        ours = [sum(float(r[4]) for r in rows[i:i + 5000]) if order == "total" else float(rows[i + 4999][2]) for i in range(0, len(rows), 5000)]
        points = sorted((p[figure] for p in report(path)["points"]), reverse=True)
        equal(ours[:335], points[:335], f"by {order}")
        equal(ours[335], sum(points[335:]), f"by {order}: the others")


def all_keys(folder):
    path = folder / "t.pa"
    make("ended", path, 2000, 2)
    for key in ("stack", "function", "file", "module", "size", "thread", "tag"):
        data = timeline("--by", key, "--top", 3, path)
        check(1 <= len(data["groups"]) <= 4, f"{key}: {len(data['groups'])} groups")
        sums = [sum(values) for values in zip(*(g["live_bytes"] for g in data["groups"]))]
        equal(sums, data["all"]["live_bytes"], f"sum by {key}")


def several(folder):
    """Traces on one clock; the chunks of the one that ends first are gone then."""
    a, b = folder / "a.pa", folder / "b.pa"
    first = make("ended", a, 2000, 1)
    second = make("killed", b, 3000, 2, "later=20000")
    ends = [seconds_ns(timeline(a)["seconds"]), 20000 + seconds_ns(timeline(b)["seconds"])]
    lives = [Life(c, 0, ends[0]) for c in first] + [Life(c, 20000, ends[1]) for c in second]
    count = buckets_for(ends, 97)
    data = timeline("--buckets", count, a, b)
    equal(seconds_ns(data["seconds"]), max(ends), "seconds")
    check_strand(data["all"], reference(lives, ends_of(max(ends), count)), "both")
    told = report(a, b)["peak"]
    equal((data["peak"]["bytes"], data["peak"]["time"]), (told["bytes"], told["time"]), "peak of both")


def only_some(folder):
    """--where: the timeline, and the peak, of those chunks alone."""
    path = folder / "t.pa"
    chunks = make("ended", path, 3000, 6, "sampled")
    whole = seconds_ns(timeline(path)["seconds"])
    count = buckets_for([whole], 53)
    for where, wanted in (("size > 100 and thread = worker-2", lambda c: c.size > 100 and c.thread == 2), ("live", lambda c: not c.died),
                          ("lifetime < 5us and freed", lambda c: c.died and c.died - c.born < 5000), ("size > 1G", lambda c: False)):
        some = [c for c in chunks if wanted(c)]
        data = timeline("--where", where, "--buckets", count, "--by", "thread", path)
        check_strand(data["all"], reference([Life(c, end=whole) for c in some], ends_of(whole, count)), where, True)
        equal(data["peak"]["bytes"], support.peak_of(some)[0], f"{where}: peak", 1e-9)
        equal(len(data["groups"]), len({c.thread for c in some}), f"{where}: groups")
    check("--where" in tool("timeline", "--where", "size >", path, status=2)[1], "an expression that is wrong")


def edges(folder):
    path = folder / "t.pa"
    for count, words, what in ((0, (), "empty"), (1, (), "one chunk"), (1, ("alive",), "one live chunk"), (500, ("alive",), "all live"),
                               (500, ("size=0",), "of no size"), (500, ("size=1073741824",), "1 GiB"),
                               (500, ("size=1073741824", "sampled"), "1 GiB, sampled")):
        for form in ("ended", "killed"):
            chunks = make(form, path, count, 9, *words)
            whole = seconds_ns(timeline(path)["seconds"])
            buckets = buckets_for([whole], 13)
            data = timeline("--buckets", buckets, "--by", "stack", path)
            check_strand(data["all"], reference([Life(c, end=whole) for c in chunks], ends_of(whole, buckets)), what, "sampled" in words)
            equal(data["peak"]["bytes"], support.peak_of(chunks)[0], f"{what}: peak", 1e-12)
            text = tool("timeline", path)[0]
            check("Live bytes over time: made --all" in text, text)
            tool("timeline", "--by", "stack", "--svg", folder / "out.svg", path)
            pictures.read((folder / "out.svg").read_text())
    check("GiB" in text, "figures have their units")


def as_csv(folder):
    path = folder / "t.pa"
    for words in ((), ("sampled",)):
        make("ended", path, 2000, 4, *words)
        for by in ((), ("--by", "stack", "--top", "2")):
            data = timeline("--buckets", 17, *by, path)
            text, said = tool("timeline", "--csv", "--buckets", 17, *by, path)
            rows = list(csv.DictReader(io.StringIO(text)))
            groups = data["groups"] if by else [dict(data["all"], name=None)]
            equal(len(rows), 17 * len(groups), "lines")
            equal(list(rows[0])[bool(by):6 + bool(by)], ["time_s", *KEYS], "columns")
            for i, row in enumerate(rows):
                group = groups[i // 17]
                equal(row.get("group"), group["name"], "group")
                equal(float(row["time_s"]), data["seconds"] * (i % 17 + 1) / 17, "time", 1e-8)
                for key in KEYS:
                    equal(float(row[key]), group[key][i % 17], key, 1e-11)
                if words:
                    equal(float(row["live_bytes_error95"]), group["live_bytes_error95"][i % 17], "error", 1e-5)


def names_of_bytes(folder):
    """A thread may be called anything: CSV is UTF-8 all the same, and says what JSON does."""
    path = folder / "t.pa"
    make("ended", path, 300, 4, "plain")
    data = bytearray(path.read_bytes())
    blocks = [json.loads(line) for line in tool("dump", "--json", path)[0].splitlines()]
    at = data.index(b"worker-2")
    data[at:at + 8] = b'w\xff"k,\xc3r2'
    block = next(b for b in blocks if b["offset"] <= at < b["offset"] + 32 + b["stored_size"])
    support.mend_checksum(data, block["offset"], block["stored_size"])
    path.write_bytes(data)
    groups = [g["name"] for g in timeline("--by", "thread", path)["groups"]]
    check('w\ufffd"k,\ufffdr2 (1002)' in groups, f"{groups}")
    text = subprocess.run([TOOL, "timeline", "--csv", "--by", "thread", path], capture_output=True, check=True).stdout.decode("utf-8", "strict")
    equal(list(dict.fromkeys(row["group"] for row in csv.DictReader(io.StringIO(text)))), groups, "groups of CSV")


def as_picture(folder):
    path, out = folder / "t.pa", folder / "out.svg"
    make("ended", path, 3000, 3)
    equal(tool("timeline", "--svg", out, "--by", "size", "--top", "30", path)[0], "", "nothing on standard output")
    root = pictures.read(out.read_text())
    areas = [e for e in root.iter(pictures.SVG + "path") if "edge" in e.get("class", "")]
    equal(len(areas), 21, "areas: 20 and the rest")
    check(any("rest" in e.get("class") for e in areas), "the rest is one")
    equal(out.read_text(), tool("timeline", "--svg", "-", "--by", "size", "--top", "30", path)[0], "the same again")
    check(pictures.titles(root)[0] == "Live bytes over time: made --all", pictures.titles(root)[0])
    check(">peak of each</text>" in out.read_text(), "what the figures of the legend are")
    tool("timeline", "--count", "--svg", out, path)
    check("Live chunks over time" in out.read_text(), "chunks")


def on_terminals(folder):
    path = folder / "t.pa"
    make("ended", path, 3000, 3)
    environment = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR")}
    plain = tool("timeline", "--by", "thread", path, env=dict(environment, LC_ALL="C"))[0]
    check(plain.isascii() and max(map(len, plain.split("\n"))) <= 80, plain)
    blocks = tool("timeline", path, env=dict(environment, LANG="C.UTF-8"))[0]
    check("█" in blocks and "\x1b" not in blocks and max(map(len, blocks.split("\n"))) <= 80, blocks)
    for width, more in ((120, {}), (60, {}), (120, {"NO_COLOR": "1"})):
        text = in_terminal(["timeline", "--by", "thread", path], width, dict(environment, LANG="C.UTF-8", TERM="xterm", **more))
        equal("\x1b[38;5;" in text, not more, "colours")
        bare = re.sub(r"\x1b\[[0-9;]*m", "", text)
        lengths = [len(line) for line in bare.split("\n")]
        check(width - 3 <= max(lengths) <= width, f"{max(lengths)} columns of {width}")


def in_terminal(arguments, width, environment):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    process = subprocess.Popen([TOOL, *map(str, arguments)], stdout=theirs, env=environment)
    os.close(theirs)
    got = b""
    try:
        while piece := os.read(ours, 65536):
            got += piece
    except OSError:  # that is how the other end says that it is gone
        pass
    os.close(ours)
    equal(process.wait(), 0, "status")
    return got.decode().replace("\r\n", "\n")


def wrong_uses(folder):
    path = folder / "t.pa"
    make("ended", path, 100, 3)
    before = path.read_bytes()
    for arguments, said in ((("--buckets", "0"), "--buckets"), (("--buckets", "1.5"), "--buckets"), (("--buckets", "many"), "--buckets"),
                            (("--by", "colour"), "--by takes"), (("--top", "0"), "--top"), (("--csv", "--json"), "at a time"),
                            (("--svg", str(path)), "name of a trace"), (("--sort", "bytes"), "\n  total "), (("--nonsense",), "usage")):
        out, err = tool("timeline", *arguments, path, status=2)
        check(said in err and out == "", f"{arguments}: {out}{err}")
    plain = folder / "plain"
    plain.write_bytes(before)
    check("is to be read" in tool("timeline", "--svg", plain, plain, status=2)[1], "a trace of another name")
    equal((path.read_bytes(), plain.read_bytes()), (before, before), "traces are as they were")
    tool("timeline", status=2)
    tool("timeline", folder / "absent.pa", status=2)
    (folder / "none.pa").write_text("no trace")
    check("MISSING" in tool("timeline", path, folder / "none.pa", status=2)[0], "what was left out is said")
    check("cannot write" in tool("timeline", "--svg", folder / "no" / "out.svg", path, status=1)[1], "where it cannot write")
    check("cannot write" in tool("timeline", "--svg", "/dev/full", path, status=1)[1], "where there is no room")
    check(tool("timeline", "--help")[0].startswith("usage: profalloc timeline"), "help")


if __name__ == "__main__":
    support.main(against_reference=against_reference, at_the_very_end=at_the_very_end, by_thread=by_thread, all_keys=all_keys,
                 several=several, only_some=only_some, edges=edges, as_csv=as_csv, sort=sort, too_many=too_many, names_of_bytes=names_of_bytes, as_picture=as_picture, on_terminals=on_terminals, wrong_uses=wrong_uses)
