#!/usr/bin/env python3
"""Memoro's scores and inferences against a reference that keeps all chunks and sorts them, on random traces; and runs of growing
chunks on programs that are known to make them."""
import json
import math
import os
import random
import re
import subprocess

import support
from support import check, equal, is_blind, make, tool

BUILD = os.environ["PROFALLOC_BUILD_DIR"]
START = 1000000
LEAST = 0.01


class Life:
    """A chunk as the report sees it: times since the start, cut as they are in the trace."""

    def __init__(self, chunk, end, told=False):
        self.live = not chunk.died
        self.born, self.died = chunk.born - START, (chunk.died or end) - START
        self.size, self.weight = chunk.size, chunk.weight
        self.life = chunk.life if chunk.died else self.died - self.born
        self.known = hasattr(chunk, "reads") and not (told and is_blind(chunk.stack))
        if self.known:
            self.low, self.touched = chunk.low, chunk.length
            self.is_touched = chunk.length != 0
            self.reads, self.writes, self.shared, self.moved = chunk.reads, chunk.writes, chunk.shared, chunk.moved
            self.thread, self.free_thread, self.last_thread = chunk.thread, chunk.free_thread, chunk.last_thread
            self.first, self.last = self.born, self.born
            if self.is_touched:
                self.first, self.last = chunk.first - START, chunk.last - START
                self.first = max(self.first, self.born)
                self.last = min(max(self.last, self.first), self.born + self.life)
                self.first = min(self.first, self.last)
            self.idle = self.life - (self.last - self.born)


def groups_of(lives, threshold):
    groups = []
    for life in sorted(lives, key=lambda l: l.born):
        if groups and life.born - groups[-1][-1].born <= threshold:
            groups[-1].append(life)
        else:
            groups.append([life])
    return groups


def phase_of(life, step):
    """How long after the beginning of its step it was born: the middle of what its life and the step of its death leave open."""
    steps = life.died - life.born
    least = max(steps - life.life, 0)
    return (least + max(min(steps + step - life.life, step), least)) / 2


def group_score(group, step):
    """None: it has several chunks, and how long it took cannot be told."""
    if len(group) == 1:
        return 1
    births = [l.born + phase_of(l, step) for l in group]
    span = max(b + l.life for b, l in zip(births, group)) - min(births)
    if span_of(group) < 1.5 * step:
        span = max(span, span_of(group)) if span_of(group) > 0 else 0
    if span <= 0:
        return None
    return min(sum(l.weight * l.life for l in group) / (sum(l.weight for l in group) * span), 1)


def span_of(group):
    return max(l.died for l in group) - min(l.born for l in group)


def kind_score(groups, burst_chunks, step):
    """Of groups no longer than a step, together: some have no score by themselves."""
    short = [g for g in groups if len(g) > 1 and sum(l.weight for l in g) >= burst_chunks and span_of(g) <= step]
    time = sum(sum(l.weight for l in g) * span_of(g) for g in short)
    return min(sum(l.weight * l.life for g in short for l in g) / time, 1) if time else None


def churn_of(groups, sampled):
    """How many chunks of these groups are alive at once, and how many are allocated per second; a few that live long do not decide."""
    lives = [l for g in groups for l in g]
    chunks = sum(l.weight for l in lives)
    cap = 1
    while cap < 2 or sum(l.weight for l in lives if l.life < cap) < 0.9 * chunks * (1 - 1e-9):
        cap *= 2
    time = sum(min(max(l.died for l in g), max(l.born for l in g) + cap) - min(l.born for l in g) for g in groups)
    if sampled:
        time = max(l.born for l in lives) - min(l.born for l in lives)
    alive = sum(l.weight * min(l.life, cap) for l in lives) - (100 * chunks if sampled else 0)  # recording takes that long
    return (max(alive, 0) / time, chunks / time * 1e9) if time else (0, 0)


def share(lives, holds):
    chunks = sum(l.weight for l in lives)
    size = sum(l.weight * l.size for l in lives)
    part = [l for l in lives if holds(l)]
    return (sum(l.weight for l in part) / chunks, sum(l.weight * l.size for l in part) / size if size else 0)


def peak_between(lives):
    """The highest sum of live bytes of these chunks, exactly."""
    changes = {}
    for l in lives:
        changes[l.born] = changes.get(l.born, 0) + l.weight * l.size
        if not l.live:
            changes[l.died] = changes.get(l.died, 0) - l.weight * l.size
    live = peak = 0
    for time in sorted(changes):
        live += changes[time]
        peak = max(peak, live)
    return peak


def reference(lives, run, step, group=0.001, short=1, burst_chunks=10, burst_score=0.1, idle=0.5, idle_least=0.001, coverage=0.5, flag=0.5, turn_writes=100, exact=True):
    """What the report says of one point."""
    threshold = max(group * run, 1.001 * step)
    groups = groups_of([l for l in lives if l.life <= short * run], threshold)
    known = [score for score in (group_score(g, step) for g in groups) if score is not None]
    scores = {"lifetime": sum(known) / len(known) if known else None if groups else 1, "usage": None, "useful_lifetime": None}
    untold = kind_score(groups, burst_chunks, step)
    judged = lambda g: untold if group_score(g, step) is None else group_score(g, step)
    bursts = [id(l) for g in groups if sum(l.weight for l in g) >= burst_chunks and judged(g) is not None and judged(g) <= burst_score for l in g]
    judged_by_others = [g for g in groups if group_score(g, step) is None and id(g[0]) in set(bursts)]
    inferred = {"short_lived": share(lives, lambda l: id(l) in set(bursts))}
    told = [l for l in lives if l.known]
    if told:
        chunks = sum(l.weight for l in told)
        size = sum(l.weight * l.size for l in told)
        if size:
            scores["usage"] = sum(l.weight * l.touched for l in told if (l.reads or l.moved) and l.writes) / size
        scores["useful_lifetime"] = sum(
            l.weight * ((l.last - l.first) / l.life if l.life else l.is_touched) for l in told) / chunks
        least = lambda l: max(idle * l.life, idle_least * run)
        for name, holds in (("never_touched", lambda l: not l.is_touched and not l.moved),
                            ("write_only", lambda l: l.is_touched and not l.reads and not l.moved),
                            ("read_only", lambda l: l.is_touched and l.reads and not l.writes),
                            ("late_free", lambda l: l.is_touched and l.life > 0 and l.idle >= least(l)),
                            ("early_allocation", lambda l: l.is_touched and l.life > 0 and l.first - l.born >= least(l)),
                            ("low_coverage", lambda l: l.is_touched and l.touched < coverage * l.size),
                            ("contended", lambda l: l.is_touched and l.shared and l.size < 64 and l.writes >= turn_writes and
                             (l.last_thread == l.thread or not l.live and l.free_thread != l.last_thread)),
                            ("shared", lambda l: l.is_touched and l.shared)):
            inferred[name] = share(told, holds)
        idle = {"free_earlier": ([l for l in told if l.is_touched and l.life > 0 and l.idle >= least(l)], lambda l: l.idle),
                "allocate_later": ([l for l in told if l.is_touched and l.life > 0 and l.first - l.born >= least(l)], lambda l: l.first - l.born)}
    else:
        idle = None
    calls = {"remove": estimate([l for l in told if not l.reads and not l.moved]),
             "bursts": estimate([l for l in lives if id(l) in set(bursts)])}
    return {"scores": scores, "inferred": inferred, "calls": calls, "idle": idle, "groups": len(groups), "by_others": len(judged_by_others),
            "churn": lambda sampled: churn_of(groups, sampled), "flag": flag, "exact": exact,
            "peak": max(peak_between(lives), max(l.size for l in lives))}


def estimate(lives, size=lambda l: 1):
    """A sum over chunks of which each was recorded with the probability 1 / weight, and its variance."""
    return sum(l.weight * size(l) for l in lives), sum(l.weight * (l.weight - 1) * size(l) ** 2 for l in lives)


def resident(l):
    """Of a large chunk, pages without a touched byte are not in memory."""
    if l.size <= 131072:
        return l.size
    return sum(min(l.size - page, 4096) for page in range(0, l.size, 4096) if l.touched and page < l.low + l.touched and l.low < page + 4096)


def spare_of(lives, when):
    """Bytes that were alive at that time for nothing, each with its variance."""
    there = [l for l in lives if l.known and l.born <= when and (l.live or when < l.died)]
    total = lambda holds, size=resident: estimate([l for l in there if holds(l)], size)
    return {"never_read": total(lambda l: not l.reads and not l.moved),
            "untouched": total(lambda l: l.is_touched, lambda l: resident(l) - l.touched),
            "idle_after_last": total(lambda l: l.is_touched and not l.moved and l.last < when),
            "idle_before_first": total(lambda l: l.is_touched and l.size <= 131072 and l.first > when),
            "took_no_memory": total(lambda l: True, lambda l: l.size - resident(l))}


def at_moments(rows, run):
    """Of (bytes, from, end, whether it is there at `from`), the sums at 1024 moments of the run. Times are multiplied, to stay whole."""
    changes = []
    for size, since, end, there in rows:
        if since < end:
            changes += [(since * 1024 + (not there), size), (end * 1024, -size)]
    changes.sort()
    sums, now, at = [], 0, 0
    for moment in range(1024):
        while at < len(changes) and changes[at][0] <= moment * run:
            now += changes[at][1]
            at += 1
        sums.append(now)
    return sums


def gone_of(lives):
    """What each change would let go of, of the chunks of a point."""
    told = [l for l in lives if l.known]
    return {"never_read": [(l.weight * resident(l), l.born, l.died, True) for l in told if not l.reads and not l.moved],
            "untouched": [(l.weight * (resident(l) - l.touched), l.born, l.died, True) for l in told if l.is_touched],
            "idle_after_last": [(l.weight * resident(l), l.last, l.died, False) for l in told if l.is_touched and not l.moved],
            "idle_before_first": [(l.weight * l.size, l.born, l.first, True) for l in told if l.is_touched and l.size <= 131072]}


def near(ours, expected, what, tolerance=1e-9):
    if expected is None or ours is None:
        equal(ours, expected, what)
    else:
        check(math.isclose(ours, expected, rel_tol=tolerance, abs_tol=1e-9), f"{what}: {ours}, expected {expected}")


def check_point(point, expected, what):
    for name, value in expected["scores"].items():
        near(point["scores"][name], value, f"{what}: score {name}")
    equal(point["groups"], expected["groups"], f"{what}: groups")
    equal(point["spare_at_peak"] is None, expected["spare"] is None, f"{what}: what is spare at the peak")
    for name, (value, _) in (expected["spare"] or {}).items():
        near(point["spare_at_peak"][name], value, f"{what}: {name} at the peak")
    for name, (chunks, size) in expected["inferred"].items():
        near(point["inferences"][name]["chunks"], chunks, f"{what}: {name}, chunks")
        near(point["inferences"][name]["bytes"], size, f"{what}: {name}, bytes")
        flagged = point["inferences"][name]["flagged"]
        several = chunks * point["allocations"] > 1.5 * point["allocations"] / expected["rows"]
        near(flagged, several and (chunks >= expected["flag"] or size >= expected["flag"]), f"{what}: {name} is flagged")
    peak, least, most = expected["peak"], point["own_peak_least"], point["own_peak_most"]
    check(least <= peak * (1 + 1e-9) and peak <= most * (1 + 1e-9) + 1e-9, f"{what}: its own peak {peak} is between {least} and {most}")
    if expected["exact"]:
        near(least, most, f"{what}: its own peak is exact")


def check_totals(data, points):
    for name, total in data["scores"].items():
        values = [p["scores"][name] for p in points if p["scores"][name] is not None]
        equal(total["points"], len(values), f"points with a score of {name}")
        equal(total["raised"], sum(v < LEAST for v in values), f"points that are raised in {name}")
        if values:
            mean = sum(values) / len(values)
            near(total["mean"], mean, f"mean of {name}")
            near(total["variance"], sum((v - mean) ** 2 for v in values) / len(values), f"variance of {name}", 1e-6)
            near(total["geometric_mean"], math.exp(sum(math.log(max(v, LEAST)) for v in values) / len(values)), f"mean of {name}")


SPARE = {"remove": "never_read", "shrink": "untouched", "free_earlier": "idle_after_last", "allocate_later": "idle_before_first"}


def check_idle(finding, lives, idle, what):
    """Averages are of the chunks that it is about; so is who touched them last."""
    chunks = sum(l.weight for l in lives)
    near(finding["idle_ns"], sum(l.weight * idle(l) for l in lives) / chunks, f"{what}: idle on average")
    near(finding["life_ns"], sum(l.weight * l.life for l in lives) / chunks, f"{what}: life on average")
    if finding["advice"] == "free_earlier":
        ours = {t["number"]: t for t in finding["last_touched_by"]}
        equal(set(ours), {l.last_thread for l in lives}, f"{what}: who touched them last")
        for number, toucher in ours.items():
            near(toucher["chunks"], sum(l.weight for l in lives if l.last_thread == number), f"{what}: how many of them")
            equal(toucher["thread"], f"worker-{number} ({1000 + number})", "the thread's name")
        most = max(ours.values(), key=lambda t: t["chunks"])
        check(f", last touched by {most['thread']}" in finding["sentence"], finding["sentence"])


def check_churn(finding, churn, what):
    """Whether one buffer will do, and how often it is asked for."""
    alive, per_second = churn
    smallest, largest = finding["points"][0]["smallest"], finding["points"][0]["largest"]
    one = alive < 1.5 and (largest <= 4096 or largest <= 4 * smallest)
    equal(finding["advice"], "hoist" if one else "pool", f"{what}: of {alive} chunks at once")
    said = re.search(r"([\d,]+|countless) per second", finding["sentence"])[1]
    near(0 if said == "countless" else int(said.replace(",", "")), round(per_second), f"{what}: how many per second", 1e-6)


def check_savings(data, findings, key_of, expected, what):
    """What findings about one point promise, and within which bounds."""
    told = set()
    for finding in findings:
        if len(finding["points"]) > 1 or finding["advice"] in ("unshare", "reserve"):
            continue
        point = expected[key_of(finding["points"][0])]
        size = point["spare"][SPARE[finding["advice"]]] if finding["advice"] in SPARE else (0, 0)
        calls = (0, 0)
        if finding["advice"] == "free":
            kept, variance = point["kept"]
            size = (min(kept, finding["kept_bytes"]), variance)
        if finding["advice"] == "remove":
            calls = point["calls"]["remove"]
        elif finding["advice"] in ("hoist", "pool"):
            chunks, variance = point["calls"]["bursts"]
            check_churn(finding, point["churn"](data["sampled"]), what)
            left = min(point["groups"] / chunks, 1) if finding["advice"] == "hoist" else 0.01
            calls = (chunks * (1 - left), variance * (1 - left) ** 2)
        if finding["advice"] in SPARE:
            gone = at_moments(point["gone"][SPARE[finding["advice"]]], data["run"])
            left = max(live - less for live, less in zip(data["curve"], gone))
            told |= {"elsewhere"} if data["peak_bytes"] - left < size[0] else set()
            size = (max(min(size[0], data["peak_bytes"] - left), 0), size[1])
        near(finding["saves_bytes"], size[0], f"{what}: bytes that {finding['advice']} saves")
        near(finding["saves_calls"], calls[0], f"{what}: calls that {finding['advice']} saves")
        if data["sampled"]:
            check(finding["sure"] != "high", f"{what}: of samples nothing is sure")
            near(finding["within"]["saves_bytes"], 1.96 * math.sqrt(size[1]), f"{what}: within, bytes", 1e-6)
            near(finding["within"]["saves_calls"], 1.96 * math.sqrt(calls[1]), f"{what}: within, calls", 1e-6)
            near(finding["within"]["saves_ns"], data["pair_ns"] * 1.96 * math.sqrt(calls[1]), f"{what}: within, time", 1e-6)
        else:
            check("within" not in finding, f"{what}: it is exact")
        if finding["advice"] in ("free_earlier", "allocate_later"):
            check_idle(finding, *point["idle"][finding["advice"]], what)
        told.add(finding["advice"])
    return told


def check_within(data, chunks):
    """Half widths of all chunks together."""
    if "within" not in data:
        check(all(c.weight == 1 for c in chunks), "without samples")
        return
    when = support.peak_of(chunks)[1]
    there = [c for c in chunks if c.born <= when and (not c.died or when < c.died)]
    for name, part in (("allocations", chunks), ("live_chunks", [c for c in chunks if not c.died]), ("peak_chunks", there)):
        near(data["within"][name], 1.96 * math.sqrt(estimate(part)[1]), f"within: {name}", 1e-6)
        other = {"allocations": "bytes", "live_chunks": "live_bytes", "peak_chunks": "peak_bytes"}[name]
        near(data["within"][other], 1.96 * math.sqrt(estimate(part, lambda c: c.size)[1]), f"within: {other}", 1e-6)


def compare(path, chunks, options=(), step=1, what="", told=False, **how):
    """All points of a report against the reference; points are the maker's stacks, told apart by their figures."""
    end = max((c.exactly_born for c in chunks), default=START) + 30000
    run = end - START
    data = json.loads(tool("report", "--json", *options, path)[0])
    near(data["files"][0]["seconds"] * 1e9, run, "run time")
    expected, all_lives = {}, []
    when = support.peak_of(chunks)[1] - START
    for stack in {c.stack for c in chunks}:
        lives = [Life(c, end, told) for c in chunks if c.stack == stack]
        all_lives += lives
        key = (len(lives), sum(l.weight * l.size for l in lives))
        expected[(round(sum(l.weight for l in lives), 3), round(key[1], 1))] = (
            reference(lives, run, step, **how) | {"rows": len(lives), "blind": told and is_blind(stack),
                                                  "kept": estimate([l for l in lives if l.live and l.born <= when], lambda l: l.size),
                                                  "spare": spare_of(lives, when) if any(l.known for l in lives) else None,
                                                  "gone": gone_of(lives)})
    key_of = lambda point: (round(point["allocations"], 3), round(point["bytes"], 1))
    check_within(data, chunks)
    advice = json.loads(tool("advise", "--json", *options, path)[0])
    advice |= {"run": run, "curve": at_moments([(l.weight * l.size, l.born, l.died, True) for l in all_lives], run)}
    data["advised"] = check_savings(advice, advice["findings"], key_of, expected, what)
    equal(advice.get("peak_within"), data["within"]["peak_bytes"] if advice["sampled"] else None, "the peak is within")
    check(all(f in advice["findings"] for f in data["findings"]), f"{what}: the report's findings are those of advise")
    equal(len({f["points"][0]["id"] for f in data["findings"]}), min(5, len({f["points"][0]["id"] for f in advice["findings"]})), "the best five")
    points = [p for p in data["points"] if p["scores"] is not None]
    equal(len(points), len(expected), f"{what}: points")
    for point in points:
        key = key_of(point)
        check(key in expected, f"{what}: a point with {key}")
        check_point(point, expected[key], what)
        equal(point["blind"], point["allocations"] if expected[key]["blind"] else 0, f"{what}: chunks that are not seen")
    check_totals(data, points)
    data["by_others"] = sum(e["by_others"] for e in expected.values())
    blind = sum(e["blind"] for e in expected.values())
    equal([data["scores"][s]["blind"] for s in ("lifetime", "usage", "useful_lifetime")], [0, blind, blind], f"{what}: points that are not seen")
    for key, value in (("top_chunks", "allocations"), ("top_bytes", "own_peak_least")):
        values = sorted(p[value] for p in points)
        least = values[min(int(0.9 * len(values) + 1e-9), len(values) - 1)] if values else 0
        equal([p["inferences"][key] for p in points], [p[value] >= least for p in points], f"{what}: {key}")
    return data


def random_traces(folder):
    path = folder / "t.pa"
    advised = set()
    for seed in range(4):
        for words in ((), ("accesses",), ("accesses", "sizes"), ("sampled",), ("accesses", "sampled")):
            chunks = make("ended", path, 3000, seed, *words)
            data = compare(path, chunks, what=f"{words} {seed}")
            equal(any("how buffers grow is not seen" in r for r in data["remarks"]), "sampled" in words, "what samples do not tell")
            # Few points of random chunks are bad enough: all are to be told of.
            data = compare(path, chunks, ("--flag", "5%", "--burst-score", "0.6"), what=f"all of {words} {seed}", burst_score=0.6, flag=0.05)
            advised |= {("sampled" in words, one) for one in data["advised"]}
    out = tool("report", path)[0]
    for what in ("allocated", "freed", "live"):
        check(re.search(rf"  {what} .* bytes\) ±[0-9.]+ %, chunks ±[0-9.]+ %\n", out), f"{what}: {out[:1000]}")
    check(re.search(r"  peak .* bytes\) ±[0-9.]+ % at ", out) and re.search(r"saves \S+ \S+ ±[0-9.]+ % of the peak", out), out[:3000])
    check("how buffers grow is not seen" in out and "how buffers grow is not seen" in tool("advise", path)[0], "what is not seen")
    for sampled in (False, True):
        check({one for s, one in advised if s == sampled} >= set(SPARE), f"what was advised: {advised}")
        check((sampled, "elsewhere") in advised, "some changes move the peak to another moment")
    check((True, "pool") in advised, f"what was advised: {advised}")
    chunks = make("ended", path, 3000, 9, "accesses", "shift")
    compare(path, chunks, step=64, what="cut times")
    for count in (1, 2, 40):
        chunks = make("ended", path, count, 5, "accesses")
        compare(path, chunks, what=f"{count} chunks")


def blind(folder):
    """Chunks of code that is not instrumented have no say in what was done with chunks."""
    for seed in range(3):
        for words in ((), ("sampled",)):
            chunks = make("ended", folder / "t.pa", 3000, seed, "accesses", "told", *words)
            data = compare(folder / "t.pa", chunks, what=f"told {words} {seed}", told=True)
            check(0 < data["scores"]["usage"]["blind"] < len(data["points"]), "some are seen")
    out = tool("report", folder / "t.pa")[0]
    check("note: 7 points of code that is not instrumented count in lifetime alone" in out, out[:3000])
    for finding in json.loads(tool("advise", "--json", folder / "t.pa")[0])["findings"]:
        check(finding["advice"] in ("free", "reserve", "hoist", "pool") or finding["points"][0]["blind"] == 0, finding["sentence"])


def spare_together(folder):
    """Of several traces, the peak is that of all together."""
    later, end, lives = 40000, 0, []
    for number in range(2):
        chunks = make("ended", folder / f"{number}.pa", 2000, 30 + number, "accesses", f"later={later * number}")
        end = max(c.born for c in chunks) + 30000
        for chunk in chunks:
            life = Life(chunk, end)
            life.live = False  # the chunks of a trace count until it ends
            for name in ("born", "died", "first", "last"):
                setattr(life, name, getattr(life, name) + later * number)
            life.stack = chunk.stack
            lives.append(life)
    data = json.loads(tool("report", "--json", folder / "0.pa", folder / "1.pa")[0])
    when = round(data["peak"]["time"] * 1e9)
    equal(sum(l.size for l in lives if l.born <= when < l.died), data["peak"]["bytes"], "the peak")
    for name, (value, _) in spare_of(lives, when).items():
        check(value > 0, name)
        near(sum(p["spare_at_peak"][name] for p in data["points"]), value, f"two traces: {name} at the peak")


def make_distinct(path, count, seed, *words):
    """A trace whose points can be told apart by their figures, though all chunks are of one size."""
    while True:
        chunks = make("ended", path, count, seed, *words)
        sums = [sum(c.weight for c in chunks if c.stack == stack) for stack in {c.stack for c in chunks}]
        if len(set(sums)) == len(sums):
            return chunks
        seed += 100


def within_a_step(folder):
    """Bursts that are shorter than a step of times are judged by those of them in which one ended."""
    told, advised = 0, set()
    for seed, score in enumerate((0.3, 0.6, 0.9)):
        for words in (("shift=8",), ("shift=8", "sampled"), ("shift=8", "size=48"), ("shift=8", "sampled", "size=48")):
            chunks = make_distinct(folder / "t.pa", 12000, seed, *words)
            options = ("--short", "0.1%", "--burst-chunks", "2", "--burst-score", str(score), "--flag", "1%")
            data = compare(folder / "t.pa", chunks, options, step=256, what=f"within a step {words} {seed}", short=0.001,
                           burst_chunks=2, burst_score=score, flag=0.01)
            told += data["by_others"]
            advised |= {("sampled" in words, one) for one in data["advised"]}
    check(told > 10, f"some are judged by others: {told}")
    equal(advised, {(sampled, one) for sampled in (False, True) for one in ("hoist", "pool")}, "what was advised")


def sampled_churn(folder):
    """The gaps between samples are not those between bursts: the rate is that of all chunks, and one chunk at a time will do."""
    chance, now, chunks, length = random.Random(5), 0, [], 10**9
    weight = 1 / (1 - math.exp(-100 / 4096))
    while now < length - 10**6:
        chunks.append((1, now, now + 100, 100, 4, 4))
        now += 101 + int(chance.expovariate(3e-3 / weight))  # three chunks in a microsecond
    support.make_given(folder / "churn.pa", length, chunks, "sampled")
    churn = json.loads(tool("advise", "--json", folder / "churn.pa")[0])["findings"][0]
    equal((churn["advice"], churn["points"][0]["stack"][0]["function"]), ("hoist", "plain_site"), "what is advised")
    rate = int(re.search(r"([\d,]+) per second", churn["sentence"])[1].replace(",", ""))
    near(rate, weight * len(chunks), f"how many there are in a second: {churn['sentence']}", 0.03)


def requests(folder):
    """A server's requests, most of which begin and end within one step; and chunks of which a few stay."""
    one = [(1, 3000000 * i + 30 * j, 3000000 * i + 30 * j + 20, 64 + j % 64, 4, 4) for i in range(300) for j in range(400)]
    after, stay = 300 * 3000000, []
    for i in range(50):
        stay.append((1, after, 1300 * 10**6 + 30 * i, 100, 5, 5))
        stay += [(1, after + 50 + 50 * j, after + 80 + 50 * j, 100, 5, 5) for j in range(2000)]
        after += 2002 * 50
    support.make_given(folder / "request.pa", 1301 * 10**6, one + stay, "shift=14")
    findings = json.loads(tool("advise", "--json", folder / "request.pa")[0])["findings"]
    ours = {f["points"][0]["stack"][0]["function"]: f for f in findings}
    equal({name: f["advice"] for name, f in ours.items()}, {"plain_site": "hoist", "inlined_site": "hoist"}, "what is advised")
    equal(ours["plain_site"]["saves_calls"], 300 * 399, "all requests count", 0.05)
    # Before, the long lives of a few of them were taken for many at once.
    alive = float(re.search(r"each chunk alive for ([\d.]+) n?u?s", ours["inlined_site"]["sentence"])[1])
    check("ms" not in ours["inlined_site"]["sentence"] and alive < 1000, ours["inlined_site"]["sentence"])


def killed(folder):
    """The end of a killed process is the last that is known of it."""
    chunks = make("killed", folder / "t.pa", 2000, 3, "accesses")
    data = json.loads(tool("report", "--json", folder / "t.pa")[0])
    check(0 < data["scores"]["lifetime"]["geometric_mean"] <= 1, "a score")
    equal(sum(p["allocations"] for p in data["points"]), len(chunks), "chunks")


def thresholds(folder):
    path = folder / "t.pa"
    chunks = make("ended", path, 4000, 21, "accesses")
    for options, how in ((("--group-threshold", "1%"), {"group": 0.01}), (("--group-threshold", "0.00002"), {"group": 0.00002}),
                         (("--short", "5%"), {"short": 0.05}), (("--short", "0"), {"short": 0}),
                         (("--burst-chunks", "3", "--burst-score", "0.5"), {"burst_chunks": 3, "burst_score": 0.5}),
                         (("--idle", "10%", "--idle-least", "0"), {"idle": 0.1, "idle_least": 0}),
                         (("--peak-events", "0"), {"exact": False}), (("--peak-events", "0.3K"), {"exact": False}),
                         (("--turn-writes", "2"), {"turn_writes": 2}), (("--coverage", "0.9"), {"coverage": 0.9})):
        data = compare(path, chunks, options, what=str(options), **how)
        shares = [p["inferences"]["contended"]["chunks"] for p in data["points"]]
        bounds = [p["own_peak_least"] < p["own_peak_most"] * (1 - 1e-9) for p in data["points"]]
        equal((any(bounds), all(bounds)), (options[0] == "--peak-events", options == ("--peak-events", "0")), f"{options}: peaks that are not exact")
        equal(any(shares), options[0] == "--turn-writes", f"{options}: chunks that are used in turns")
    for option, value in (("--group-threshold", "0"), ("--idle", "101%"), ("--coverage", "x"), ("--burst-chunks", "1"), ("--flag", "-1"),
                          ("--coverage", "1K"), ("--burst-chunks", "50%"), ("--peak-events", "4MB"), ("--peak-events", "2G")):
        said = tool("report", option, value, path, status=2)[1]
        check(said.startswith(f"profalloc report: {option} takes a number from") and f"not '{value}'" in said, said)


def many_groups(folder):
    """With too many groups the threshold becomes larger, and the groups are those of that one."""
    path = folder / "t.pa"
    for seed, (words, step) in enumerate([(("accesses",), 1), (("sampled",), 1), (("shift=4",), 16)]):
        chunks = make("ended", path, 6000, seed, *words)
        options = ("--group-threshold", "0.001%", "--groups-most", "1000")
        data = json.loads(tool("report", "--json", *options, path)[0])
        run = data["files"][0]["seconds"] * 1e9
        asked = max(0.00001 * run, 1.001 * step)
        factor = data["group_ns"] / asked
        near(factor, 2 ** round(math.log2(factor)), "how much larger it is")
        check(factor > 1 and sum(p["groups"] for p in data["points"]) <= 1000, "they are no more than asked for")
        check(any("more than 1,000 groups of chunks were open at a time" in r for r in data["remarks"]), f"it is said: {data['remarks']}")
        check("note: more than 1,000 groups of chunks were open at a time" in tool("advise", *options, path)[0], "advise says it too")
        compare(path, chunks, options, step=step, what=f"many groups {words}", group=data["group_ns"] / run)
        data = json.loads(tool("report", "--json", *options[:2], path)[0])
        near(data["group_ns"], asked, "enough room")
        check(sum(p["groups"] for p in data["points"]) > 1000, "there are more groups")


PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
__attribute__((noinline)) static void by_realloc(int times)
{
    for (int i = 0; i < times; i++) {
        char *buffer = NULL;
        for (size_t size = 16; size <= 4096; size *= 2) { buffer = realloc(buffer, size); buffer[size - 1] = 1; }
        free(buffer);
    }
}
__attribute__((noinline)) static char *allocate(size_t size) { return malloc(size); }
__attribute__((noinline)) static void by_copying(int times)
{
    for (int i = 0; i < times; i++) {
        char *buffer = NULL;
        for (size_t size = 16; size <= 1024; size *= 2) {
            char *larger = allocate(size);
            if (buffer != NULL) memcpy(larger, buffer, size / 2);
            free(buffer);
            buffer = larger;
        }
        free(buffer);
    }
}
__attribute__((noinline)) static char *allocate_many(size_t size) { return malloc(size); }
__attribute__((noinline)) static void in_step(void)
{
    enum { BUFFERS = 8 };
    char *buffers[BUFFERS] = {NULL};
    for (size_t size = 64; size <= 2048; size *= 2)
        for (int i = 0; i < BUFFERS; i++) {
            char *larger = allocate_many(size);
            if (buffers[i] != NULL) memcpy(larger, buffers[i], size / 2);
            free(buffers[i]);
            buffers[i] = larger;
        }
    for (int i = 0; i < BUFFERS; i++) free(buffers[i]);
}
__attribute__((noinline)) static char *allocate_equal(void) { return malloc(100); }
__attribute__((noinline)) static char *allocate_falling(size_t size) { return malloc(size); }
__attribute__((noinline)) static char *keep(size_t size) { return malloc(size); }
__attribute__((noinline)) static char *allocate_random(size_t size) { return malloc(size); }
__attribute__((noinline)) static char *grow_here(char *old, size_t size) { return realloc(old, size); }
__attribute__((noinline)) static char *grow_there(char *old, size_t size) { return realloc(old, size); }
static char *kept[64];
int main(void)
{
    for (unsigned i = 0, seed = 1; i < 1000; i++) { seed = seed * 1103515245 + 12345; free(allocate_random(16 + seed / 65536 % 5000)); }
    for (int i = 0; i < 30; i++) {
        char *buffer = malloc(100);
        for (size_t size = 200; size <= 400; size *= 2) buffer = grow_here(buffer, size);
        free(grow_there(buffer, 50000));
    }
    by_realloc(10);
    by_copying(20);
    in_step();
    for (int i = 0; i < 1000; i++) free(allocate_equal());
    for (size_t i = 1000; i > 0; i--) free(allocate_falling(i));
    for (size_t i = 0; i < 64; i++) kept[i] = keep(i + 1);
    return 0;
}
"""


def growth(folder):
    """Each way that buffers grow, and what looks like it and is not."""
    (folder / "grow.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-g", "-o", folder / "grow", folder / "grow.c"], check=True)
    tool("run", "-o", folder / "grow.pa", "--", folder / "grow")
    data = json.loads(tool("report", "--json", folder / "grow.pa")[0])
    runs = {}
    for point in data["points"]:
        name = next((f["function"] for f in point["stack"] if f["function"]), None)
        caller = [f["function"] for f in point["stack"]]
        runs[name] = runs.get(name) or point["runs"]
        if "by_realloc" in caller:
            runs["by_realloc"] = point["runs"]
    steps = [16 << i for i in range(9)]
    ours = runs["by_realloc"]
    equal((ours["runs"], ours["chunks"], ours["longest"], ours["by_realloc"], ours["sizes"]), (10, 90, 9, True, steps), "by realloc")
    equal((ours["final_bytes"], ours["bytes_copied"], ours["bytes"]), (4096, 10 * sum(steps[:-1]), 10 * sum(steps)), "their bytes")
    steps = [16 << i for i in range(7)]
    ours = runs["allocate"]
    equal((ours["runs"], ours["chunks"], ours["longest"], ours["by_realloc"], ours["sizes"]), (20, 140, 7, False, steps), "by copying")
    equal((ours["final_bytes_90"], ours["bytes_copied"]), (1024, 20 * sum(steps[:-1])), "what to reserve")
    ours = runs["allocate_many"]
    equal((ours["runs"], ours["chunks"], ours["longest"]), (8, 48, 6), "eight in step")
    ours = runs["grow_here"]
    equal((ours["runs"], ours["chunks"], ours["final_bytes"], ours["sizes"]), (30, 120, 50000, [100, 200, 400, 50000]), "from place to place")
    for name in ("allocate_equal", "allocate_falling", "keep", "allocate_random"):
        equal(runs[name], None, f"no runs at {name}")
    advice = json.loads(tool("advise", "--json", folder / "grow.pa")[0])["findings"]
    reserve = {f["points"][0]["stack"][0]["function"]: f for f in advice if f["advice"] == "reserve"}
    equal(set(reserve) & {"allocate", "by_realloc", "allocate_many"}, {"allocate", "by_realloc", "allocate_many"}, "advice to reserve")
    equal(reserve["allocate"]["saves_calls"], 120, "calls that are saved")
    others = sum(p["stack"][0]["function"] in ("grow_here", "grow_there") for p in data["points"])  # besides the one that begins
    check(reserve["grow_here"]["sentence"].endswith(f"; it goes on at {others} other points"), reserve["grow_here"]["sentence"])
    check("other point" not in reserve["allocate"]["sentence"], reserve["allocate"]["sentence"])
    hoist = [f["points"][0]["stack"][0]["function"] for f in advice if f["advice"] == "hoist"]
    check("allocate_equal" in hoist, f"hoist what is allocated in the loop: {hoist}")


support.main(random_traces=random_traces, blind=blind, spare_together=spare_together, within_a_step=within_a_step, requests=requests, sampled_churn=sampled_churn, killed=killed, thresholds=thresholds, many_groups=many_groups, growth=growth)
