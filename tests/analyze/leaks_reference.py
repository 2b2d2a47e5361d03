"""What `profalloc leaks` should say of a trace, computed a second time from the chunks that `profalloc dump` lists: every figure
and every verdict, as docs/leaks.md has them. Chunks are kept, sums are made from sorted lists, nothing is shared with the tool."""
import bisect
import json
import math

from support import check, equal, is_blind, tool

EDGES = [0] + [(4 + q) * 2**(p - 2) for p in range(6, 60) for q in range(4)]
EDGES = EDGES[:181]
Z2 = 3.8416
LIMITS = {"least": 5, "least_bytes": 512, "least_time": 0.03, "late": 2, "warm_up": 0.1, "stale": 0.5, "recent": 0.1, "fail_sure": 0.5,
          "fail_bytes": 1024}
OF = {"overdue": "leak", "never-freed": "leak", "grows-in-use": "grows", "few-freed": "grows", "untouched": "stale", "one-chunk": "unsure",
      "few-chunks": "unsure", "few-bytes": "unsure", "short": "unsure", "young": "unsure", "bursts": "unsure", "ended": "unsure", "slower": "levels", "warm-up": "once",
      "burst": "once", "touched": "used", "like-siblings": "flight"}


def bin_of(ns):
    return min(bisect.bisect_right(EDGES, int(ns + 2**-10)) - 1, 179)


class Trace:
    """The chunks of a trace by allocation point: a point is the addresses of its stack."""

    def __init__(self, path, seconds):
        nodes, threads, deaths, pictures, table = {}, {}, [], {}, []
        picture = None
        for line in tool("dump", "--events", "--nodes", "--json", path)[0].splitlines():
            row = json.loads(line)
            if row["type"] == "block":
                picture = row.get("picture")
            elif row["type"] == "node":
                nodes[row["number"]] = row
            elif row["type"] == "thread":
                threads[row["number"]] = row["name"] or "?"
            elif row["type"] == "death":
                deaths.append(row)
            elif row["type"] == "live" and row["from"] == "trace":
                pictures.setdefault(picture, []).append(row)
            elif row["type"] == "live":
                table.append(row)
        self.nodes, self.threads = nodes, threads
        self.deaths = list({json.dumps({k: v for k, v in d.items() if k != "from"}): d for d in deaths}.values())
        self.lives = pictures[max(pictures)] if pictures else table
        gone = {self.key(d) for d in self.deaths}
        self.lives = [c for c in self.lives if self.key(c) not in gone]
        self.run = round(seconds * 1e9, 3)
        for chunk in self.deaths + self.lives:
            live = "freed" not in chunk
            chunk["born"] = round(chunk["allocated"] * 1e9, 3)
            chunk["died"] = max(self.run if live else round(chunk["freed"] * 1e9, 3), chunk["born"])
            chunk["life"] = chunk["died"] - chunk["born"] if live else round(chunk["lifetime"] * 1e9, 3)
            chunk["share"] = min(max(chunk["born"] / self.run, 0), 1) if self.run > 0 else 0
            chunk["moved"] = not live and chunk["flags"] & 1
        self.points = {}
        for chunk in self.deaths + self.lives:
            self.points.setdefault(self.addresses(chunk["stack"]), []).append(chunk)

    @staticmethod
    def key(row):
        return row["alloc_time"], row["size"], row["thread"], row["stack"]

    def addresses(self, node):
        found = []
        while node in self.nodes and "libprofalloc" in (self.nodes[node]["module"] or ""):
            node = self.nodes[node]["caller"]
        while node in self.nodes:
            found.append(self.nodes[node]["address"])
            node = self.nodes[node]["caller"]
        return tuple(found)


def weigh(chunks):
    return sum(c["weight"] for c in chunks)


def half_width(values):
    """Of a sum over samples, from (weight, value) of each."""
    return 1.96 * math.sqrt(sum(w * (w - 1) * x * x for w, x in values if w > 1))


def wilson(seen, of):
    if of <= 0:
        return 0
    p = min(seen / of, 1)
    return max((p + Z2 / (2 * of) - math.sqrt(Z2 * (p * (1 - p) / of + Z2 / (4 * of * of)))) / (1 + Z2 / of), 0)


def histogram(chunks):
    bins = [0.0] * 180
    for c in chunks:
        bins[bin_of(c["life"])] += c["weight"]
    return bins


def quantile(chunks, share):
    """As the tool has it: evenly within the bin."""
    bins, before, wanted = histogram(chunks), 0, share * weigh(chunks)
    least, most = min(c["life"] for c in chunks), max(c["life"] for c in chunks)
    for i, here in enumerate(bins):
        if here > 0 and before + here >= wanted * (1 - 1e-12):
            low, high = max(EDGES[i], least), min(EDGES[i + 1], most)
            return low + max(high - low, 0) * max((wanted - before) / here, 0)
        before += here
    return most


def exact_quantile(chunks, share):
    wanted, before = share * weigh(chunks), 0
    for c in sorted(chunks, key=lambda c: c["life"]):
        before += c["weight"]
        if before >= wanted * (1 - 1e-12):
            return c["life"]
    return None


def survival(freed, live, exact=False):
    """Kaplan and Meier's curve: [(age, share)] where it falls; by bins, or by each life."""
    place = (lambda c: c["life"]) if exact else (lambda c: EDGES[bin_of(c["life"]) + 1])
    events = {}
    for deaths, chunks in ((0, freed), (1, live)):
        for c in chunks:
            events.setdefault(place(c), [0, 0])[deaths] += c["weight"]
    left, share, curve = weigh(freed) + weigh(live), 1, []
    for age in sorted(events):
        died, gone = events[age]
        if died:
            share *= max(1 - died / left, 0)
            curve.append((age, share))
        left -= died + gone
    return curve


def slope(live, run):
    """By least squares over all of the run: the bytes of survivors born so far, a step function, against time; piece by piece."""
    if run <= 0:
        return 0
    steps = sorted((min(max(c["born"], 0), run), c["weight"] * c["size"]) for c in live)
    mean_t, level, s, ts = run / 2, 0, 0, 0
    for (at, size), behind in zip(steps, [t for t, _ in steps[1:]] + [run]):
        level += size
        s += level * (behind - at)
        ts += level * (behind**2 - at**2) / 2
    return (ts - mean_t * s) / (run**3 / 12) * 1e9


def judge(point, limits, run, siblings_asked=True, told=False):
    """The verdict: a dict of what the tool says of it."""
    live = [c for c in point if "freed" not in c]
    freed = [c for c in point if "freed" in c and not c["moved"]]
    total, rows = weigh(live), len(live)
    per = rows / total
    found = {"overdue": None}
    first, behind = min(c["share"] for c in point), 1.0
    siblings = len(freed) >= 5
    if siblings:
        due = min(bin_of(limits["late"] * quantile(freed, 0.95)) + 1, 179)
        late = [c for c in live if bin_of(c["life"]) >= due]
        excess = sum(c["weight"] * ((EDGES[bin_of(c["life"])] + EDGES[bin_of(c["life"]) + 1]) / 2 - EDGES[due])
                     for c in freed if bin_of(c["life"]) >= due) / weigh(freed)
        expected = weigh(point) / run * excess if run > 0 else 0
        found["overdue"] = {"age": EDGES[due] * 1e-9, "chunks": weigh(late), "bytes": sum(c["weight"] * c["size"] for c in late),
                            "expected": expected}
        behind = min(max(c["share"] for c in point), 1 - EDGES[due] / run) if run > 0 else 1.0
    # The parts of its time.
    place = lambda share: min(int(share * 32), 31)  # noqa: E731
    low = place(first)
    high = (place(behind) if behind > first else low) + 1
    parts = min(8, high - low)
    of_part = lambda chunks, i: [c for c in chunks if low + i * (high - low) // parts <= place(c["share"]) < low + (i + 1) * (high - low) // parts]  # noqa: E731
    found["parts"] = sum(1 for i in range(parts) if not siblings or of_part(point, i))
    found["parts_with_births"] = sum(1 for i in range(parts) if of_part(live, i))
    halves = [0, 0, 0, 0]
    for chunks, at in ((live, 0), (point, 2)):
        for c in chunks:
            twice = 2 * (place(c["share"]) - low) + 1  # the middle of its bucket
            if low <= place(c["share"]) < high:
                early = 1 if twice < high - low else 0.5 if twice == high - low else 0
                halves[at] += c["weight"] * early
                halves[at + 1] += c["weight"] * (1 - early)
    early, late_half = (halves[i] / halves[i + 2] if siblings and halves[i + 2] else 0 if siblings else halves[i] for i in (0, 1))
    found["late_half"] = late_half / (early + late_half) if early + late_half else 0
    inside = weigh([c for c in live if low <= place(c["share"]) < high]) * per
    likely = found["parts"] * (1 - (1 - 1 / found["parts"])**inside) if found["parts"] > 1 else 1
    spread = found["parts_with_births"] / likely if likely else 0
    leaked = found["overdue"]["bytes"] if siblings else sum(c["weight"] * c["size"] for c in live)
    reason, sure = births(found, live, freed, limits, per, spread, siblings, siblings_asked)
    if reason in ("overdue", "never-freed", "few-freed"):
        seconds = (max(c["share"] for c in live) - min(c["share"] for c in live)) * run * 1e-9
        if leaked < limits["least_bytes"]:
            reason, sure = "few-bytes", 0
        elif found["parts"] < 3 or seconds < limits["least_time"]:
            reason, sure = "short", 0
    found["reason"], found["sure"] = accesses(reason, sure, live, limits, run, per, told)
    found["verdict"] = OF[found["reason"]]
    found["leaked_bytes"] = leaked if found["verdict"] == "leak" else 0
    found["fails"] = found["verdict"] == "leak" and int(100 * found["sure"] + 0.5) >= 100 * limits["fail_sure"] and leaked >= limits["fail_bytes"]
    return found


def births(found, live, freed, limits, per, spread, siblings, siblings_asked):
    total, rows = weigh(live), len(live)
    of_siblings = len(freed) / (len(freed) + Z2)
    counted = rows
    if siblings:
        overdue, expected = found["overdue"]["chunks"] * per, found["overdue"]["expected"] * per
        if not (overdue > 0 and overdue >= 2 * expected + 3 * math.sqrt(expected)):
            return "like-siblings", wilson(rows - overdue, rows) * of_siblings
        counted = overdue
    at_start = weigh([c for c in live if c["share"] <= limits["warm_up"]])
    shares = [c["share"] for c in live]
    early = wilson(rows * (1 - found["late_half"]), rows)
    if at_start >= 0.95 * total:
        return "warm-up", wilson(rows * at_start / total, rows)
    if rows == 1:
        return "one-chunk", 0
    if counted < limits["least"] - 0.5:
        return "few-chunks", 0
    if max(shares) - min(shares) <= limits["warm_up"]:
        return ("young", 0) if not siblings and max(shares) >= 1 - limits["recent"] else ("burst", wilson(rows, rows))
    if found["late_half"] <= 0.2 and early > 0.5:
        return "slower", early
    if not siblings and max(shares) < 1 - 0.25 * (1 - min(shares)):
        return "ended", 0
    if spread < 0.6:
        return "bursts", 0
    sure = counted / (counted + Z2) * min(spread, 1)
    if siblings:
        return "overdue", sure * of_siblings
    return ("never-freed" if not freed and siblings_asked else "few-freed"), 0.75 * sure


def known_accesses(live, limits, run, told):
    """known, stale, never touched, old, used: chunks; None if nothing is known. `told`: which code is instrumented."""
    known = [c for c in live if c["reads"] is not None and not (told and is_blind(c["stack"]))]
    if not known:
        return None
    touched = lambda c: c["first_time"] is not None or c["reads"] or c["writes"]  # noqa: E731
    last = lambda c: min(max(c["last"] * 1e9, c["born"]), c["died"]) if c["last"] is not None else c["born"]  # noqa: E731
    old = [c for c in known if c["share"] < 1 - limits["recent"]]
    return {"known": weigh(known), "stale": weigh([c for c in known if (c["died"] - last(c)) / run >= limits["stale"]]),
            "never_touched": weigh([c for c in known if not touched(c)]), "old": weigh(old),
            "used": weigh([c for c in old if touched(c) and last(c) / run >= 1 - limits["recent"]])}


def accesses(reason, sure, live, limits, run, per, told):
    sums = known_accesses(live, limits, run, told)
    if sums is None or sums["known"] < weigh(live) / 2:
        return reason, sure
    grows = OF[reason] in ("leak", "grows")
    if sums["old"] > 0 and sums["used"] >= 0.5 * sums["old"] and OF[reason] != "flight":
        return ("grows-in-use", sure) if grows else ("touched", wilson(per * sums["used"], per * sums["old"]))
    if sums["old"] > 0 and sums["used"] >= 0.5 * sums["old"]:
        return reason, sure
    if sums["stale"] >= 0.9 * sums["known"] and OF[reason] == "leak":
        return reason, sure + (1 - sure) / 2
    if sums["stale"] >= 0.9 * sums["known"] and not grows and OF[reason] != "flight":
        return "untouched", wilson(per * sums["stale"], per * sums["known"])
    return reason, sure


def close(ours, expected, what, tolerance=1e-8, least=0):
    """Like equal, and small numbers are small by their own measure, or by `least`: the root of a rounding error is not one."""
    tolerance = tolerance if not least else 1e-5
    check(abs(ours - expected) <= tolerance * max(abs(expected), least) + 1e-12, f"{what}: {ours}, expected {expected}")


def check_point(told, point, trace, limits, instrumented=False):
    live = [c for c in point if "freed" not in c]
    freed = [c for c in point if "freed" in c and not c["moved"]]
    run = trace.run
    close(told["chunks"], weigh(live), "chunks")
    close(told["bytes"], sum(c["weight"] * c["size"] for c in live), "bytes")
    equal(told["recorded"], len(live), "recorded")
    close(told["chunks_half_width"], half_width([(c["weight"], 1) for c in live]), "half width of chunks", least=told["chunks"])
    close(told["bytes_half_width"], half_width([(c["weight"], c["size"]) for c in live]), "half width of bytes", least=told["bytes"])
    close(told["bytes_per_second"], slope(live, run), "bytes per second", 1e-6)
    equal(told["bytes_per_hour"] is None, run < 1e10, "whether bytes per hour are told")
    if run >= 1e10:
        close(told["bytes_per_hour"], 3600 * slope(live, run), "bytes per hour", 1e-6)
    equal((told["least_size"], told["most_size"]), (min(c["size"] for c in live), max(c["size"] for c in live)), "sizes")
    close(told["first_birth"], min(c["share"] for c in live), "first birth", 1e-6)
    close(told["last_birth"], max(c["share"] for c in live), "last birth", 1e-6)
    close(told["oldest"], max(c["life"] for c in live) * 1e-9, "oldest", 1e-6)
    close(told["freed"], weigh(freed), "freed")
    close(told["moved"], weigh([c for c in point if c["moved"]]), "moved")
    for i in range(32):
        here = [c for c in live if min(int(c["share"] * 32), 31) == i]
        close(told["births"][i], weigh(here), f"births {i}")
        close(told["birth_bytes"][i], sum(c["weight"] * c["size"] for c in here), f"bytes of births {i}")
    curve = survival(freed, live)
    equal(len(told["survival"]), len(curve), "steps of the survival curve")
    for step, (age, share) in zip(told["survival"], curve):
        close(step["age"], age * 1e-9, "age of survival")
        close(step["share"], share, "survival")
    sums = known_accesses(live, limits, run, instrumented)
    close(told["blind"], weigh([c for c in live if instrumented and c["reads"] is not None and is_blind(c["stack"])]), "chunks that are not seen")
    equal(told["accesses"] is None, sums is None, "whether accesses are known")
    for key, value in (sums or {}).items():
        close(told["accesses"][key], value, f"accesses: {key}")
    found = judge(point, limits, run, told=instrumented)
    for key, value in found.items():
        if key == "overdue" and value is not None:
            for name, number in value.items():
                close(told[key][name], number, f"overdue {name}", 1e-6)
        elif isinstance(value, float):
            close(told[key], value, key, 1e-6)
        else:
            equal(told[key], value, key)
    return found["reason"]


def check_siblings(told, chunks, trace):
    """Of siblings, or of those with the same function: lives, threads."""
    siblings = told["siblings"]
    close(siblings["freed"], weigh(chunks), "siblings")
    close(siblings["same_thread"], weigh([c for c in chunks if c["thread"] == c["free_thread"]]), "freed by the same thread")
    by_thread = {}
    for c in chunks:
        name = trace.threads.get(c["free_thread"], "?")
        by_thread[name] = by_thread.get(name, 0) + c["weight"]
    equal({t["name"] for t in siblings["freeing_threads"]}, set(by_thread), "threads that free")
    for thread in siblings["freeing_threads"]:
        close(thread["freed"], by_thread[thread["name"]], "freed by a thread")
    equal(siblings["lifetime"] is None, not chunks, "lifetimes")
    for share in (10, 50, 90, 95, 99) if chunks else ():
        ours, exact = siblings["lifetime"][str(share)], exact_quantile(chunks, share / 100)
        close(ours, quantile(chunks, share / 100) * 1e-9, f"{share} % of lives", 1e-6)
        at = bin_of(exact)
        check(EDGES[max(at - 1, 0)] * 1e-9 <= ours <= EDGES[at + 1] * 1.000001e-9 or len(chunks) < 20,
              f"{share} % of lives is {ours}, not near {exact * 1e-9}")


def check_owners(told, point, trace):
    sums = {}
    for c in point:
        if not c["moved"]:
            sums.setdefault(trace.threads.get(c["thread"], "?"), [0, 0])["freed" not in c] += c["weight"]
    equal({t["name"] for t in told["allocating_threads"]}, set(sums), "threads that allocate")
    for thread in told["allocating_threads"]:
        close(thread["freed"], sums[thread["name"]][0], "freed of a thread's")
        close(thread["live"], sums[thread["name"]][1], "live of a thread's")


def check_leaks(data, path, instrumented=False, **changed):
    """All that is told of a trace; returns the reasons that were given. `instrumented`: the maker told which code is."""
    limits = {**LIMITS, **changed}
    for key, value in limits.items():
        close(data["limits"][key], value, key)
    trace = Trace(path, data["files"][0]["seconds"])
    close(data["live"]["chunks"], weigh(trace.lives), "chunks in all")
    close(data["live"]["bytes"], sum(c["weight"] * c["size"] for c in trace.lives), "bytes in all")
    close(data["live"]["bytes_half_width"], half_width([(c["weight"], c["size"]) for c in trace.lives]), "half width in all", least=data["live"]["bytes"])
    alive = {a for a, chunks in trace.points.items() if any("freed" not in c for c in chunks)}
    told = {tuple(f["address"] for f in p["stack"] if not f["inlined"]): p for p in data["points"]}
    equal(set(told), alive, "points with survivors")
    close(data["live"]["leaked_bytes"], sum(p["leaked_bytes"] for p in data["points"]), "bytes that are likely leaked")
    reasons = set()
    for addresses, point in told.items():
        chunks = trace.points[addresses]
        reasons.add(check_point(point, chunks, trace, limits, instrumented))
        check_owners(point, chunks, trace)
        freed = [c for c in chunks if "freed" in c and not c["moved"]]
        if freed:
            equal(point["siblings"]["of_the_same_function"], False, "they are its own")
            check_siblings(point, freed, trace)
    return reasons, trace, told
