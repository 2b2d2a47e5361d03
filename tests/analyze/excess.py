#!/usr/bin/env python3
"""profalloc excess against a reference of its own: allocation objects from the dump, k-means, silhouettes, quartiles, the
conditions, call trees; and what it says of heaps that are empty, odd, or sampled."""
import collections
import fnmatch
import json
import math
import random
import resource
import statistics
import subprocess
import xml.etree.ElementTree

import support
from support import MAKER, check, equal, make, tool

NEVER = "(never)"
LEAST_STEP, COUNTED = 2000, 32  # a lifetime below so many counts is no less than such a moment for all chunks together
SHARE, PAIR = 0.03, 50
SHORT = 1000  # lives below are equally short


# --- the reference ---

def lines_of_nodes(path):
    """node -> the functions of its stack, the innermost first."""
    nodes, found = {}, {}
    for line in tool("dump", "--nodes", "--json", path)[0].splitlines():
        node = json.loads(line)
        if node["type"] == "node":
            nodes[node["number"]] = node
    for address in {n["address"] for n in nodes.values() if n["module"]}:
        out = subprocess.run(["addr2line", "-f", "-i", "-e", MAKER, hex(address - 1)], capture_output=True, text=True, check=True)
        found[address] = out.stdout.splitlines()[::2]
    stacks = {}
    for number in sorted(nodes):
        node = nodes[number]
        own = found[node["address"]] if node["module"] else [f"?+0x{node['address']:x}"]
        stacks[number] = own + stacks.get(node["caller"], [])
    return stacks


def first_outside(lines, wrappers):
    """What is outside the wrappers, with its callers."""
    at = 0
    while at + 1 < len(lines) and any(fnmatch.fnmatchcase(lines[at], w) for w in wrappers):
        at += 1
    return lines[at:]


class Object:
    def __init__(self):
        self.frequency = self.life = self.variance = self.step = self.bytes = self.moved = 0
        self.first, self.last = math.inf, 0
        self.ways = collections.Counter()  # callers, the innermost first -> chunks
        self.stacks = set()

    def take(self, weight, size, life, step, way):
        self.frequency += weight
        self.life += weight * life
        self.variance += weight * (weight - 1)
        self.step = max(self.step, step)
        self.bytes += weight * size
        self.ways[tuple(way)] += weight

    def join(self, other):
        self.frequency += other.frequency
        self.life += other.life
        self.variance += other.variance
        self.step = max(self.step, other.step)
        self.bytes += other.bytes
        self.moved += other.moved

    def finish(self):
        self.lifetime = max(max(self.life, self.step) / self.frequency, 1)
        self.ratio = self.frequency / self.lifetime
        each = min(max(self.life, self.step) * self.step, self.frequency * self.step**2 / 4)
        self.doubt = min(1.96 * math.sqrt(each * (1 + self.variance / self.frequency)) / self.frequency, self.step)


def events_of(path):
    """Deaths, and the chunks of the last picture."""
    deaths, live = [], []
    for line in tool("dump", "--events", "--json", path)[0].splitlines():
        event = json.loads(line)
        if event["type"] == "block" and event.get("picture"):
            live = []
        elif event["type"] in ("death", "live"):
            (deaths if event["type"] == "death" else live).append(event)
    return deaths + live


def objects_of(path, seconds, wrappers=(), where=lambda event: True, caller=lambda event, function: function):
    stacks = lines_of_nodes(path)
    objects = collections.defaultdict(Object)
    for event in filter(where, events_of(path)):
        dead = event["type"] == "death"
        way = first_outside(stacks[event["stack"]], wrappers)
        key = caller(event, way[0]), event["size"], first_outside(stacks[event["free_stack"]], wrappers)[0] if dead else NEVER
        life = event["life"] if dead else seconds * 1e9 + 1000000 - event["alloc_time"]
        step = LEAST_STEP if dead and life < COUNTED else 0
        objects[key].take(event["weight"], event["size"], life, step, way)
        objects[key].stacks.add(event["stack"])
        objects[key].moved += event["weight"] if dead and event["moved_to"] else 0
        objects[key].first = min(objects[key].first, event["alloc_time"])
        objects[key].last = max(objects[key].last, event["free_time"] if dead else 0)
    for each in objects.values():
        each.finish()
    return objects


def caller_of(data):
    """The function, or with --by what it is called and its number."""
    return tuple(data["caller"].values()) if "number" in data["caller"] else data["caller"]["function"]


def key_of(data):
    return caller_of(data), data["size_high"], NEVER if data["never_freed"] else data["destroyer"]["function"]


def pair_of(data):
    return caller_of(data), data["destroyer"]["function"]


def scaled(values, scale):
    values = [math.log(v) for v in values] if scale == "log" else list(values)
    low, high = min(values), max(values)
    return [(v - low) / (high - low) if high > low else 0 for v in values]


def nearest(point, centres):
    return min(range(len(centres)), key=lambda k: math.dist(point, centres[k])**2)


def means(points, labels, k):
    groups = [[p for p, l in zip(points, labels) if l == i] for i in range(k)]
    return [(sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) if g else None for g in groups]


def cost_of(points, labels, centres):
    return sum(math.dist(p, centres[l])**2 for p, l in zip(points, labels))


def best_cost(points, k, tries, dice):
    """The cheapest of some plain runs of Lloyd's algorithm from chosen points."""
    best = math.inf
    for _ in range(tries):
        centres = dice.sample(sorted(set(points)), k)
        for _ in range(40):
            labels = [nearest(p, centres) for p in points]
            moved = [m or c for m, c in zip(means(points, labels, k), centres)]
            if moved == centres:
                break
            centres = moved
        best = min(best, cost_of(points, labels, centres))
    return best


def silhouette(points, labels):
    members = collections.Counter(labels)
    total = 0
    for p, own in zip(points, labels):
        if members[own] == 1:
            continue
        sums = collections.Counter()
        for q, label in zip(points, labels):
            sums[label] += math.dist(p, q)
        within = sums[own] / (members[own] - 1)
        other = min(sums[k] / members[k] for k in members if k != own)
        total += (other - within) / max(within, other) if max(within, other) else 0
    return total / len(points)


# --- comparisons ---

def excess(path, *options, status=0):
    return json.loads(tool("excess", "--json", "--objects", *options, path, status=status)[0])


def check_objects(data, reference):
    told = {key_of(o): o for o in data["objects"]}
    equal(set(told), set(reference), "objects")
    equal(len(data["objects"]), len(told), "each object once")
    for key, ours in told.items():
        truth = reference[key]
        equal(ours["frequency"], truth.frequency, f"frequency of {key}", 1e-9)
        equal(ours["size_low"], getattr(truth, "low", key[1]), f"smallest size of {key}")
        equal(ours["bytes"], truth.bytes, f"bytes of {key}", 1e-9)
        equal(ours["moved"], truth.moved, f"moved of {key}", 1e-9)
        equal(ours["lifetime_ns"], truth.lifetime, f"lifetime of {key}", 1e-9)
        equal(ours["within"]["frequency"], 1.96 * math.sqrt(truth.variance), f"spread of {key}", 1e-4)  # weights are told with 12 digits
        equal(ours["within"]["lifetime_ns"], truth.doubt, f"spread of lifetimes of {key}", 1e-4)
        equal(ours["life_ns"], truth.life, f"lives of {key}", 1e-9)
        equal(ours["step_ns"], truth.step, f"step of {key}")
        equal(ours["own_run_ns"], 1e9 * data["files"][0]["seconds"], f"run of {key}", 1e-9)
        equal(ours["ratio_per_ms"], truth.ratio * 1e6, f"ratio of {key}", 1e-9)
    order = [(o["never_freed"], -o["frequency"]) for o in data["objects"]]
    equal(order, sorted(order), "freed ones by frequency, then the others")
    equal(data["objects_left_out"], sum(o["never_freed"] for o in data["objects"]), "those that are left out")
    equal(data["never_freed"], sum(o.frequency for k, o in reference.items() if k[2] == NEVER), "their chunks", 1e-9)
    equal(data["chunks"], sum(o.frequency for o in reference.values()), "chunks", 1e-9)


def freed(data):
    """What takes part in clusters and quartiles."""
    return [o for o in data["objects"] if not o["never_freed"]]


def may_be(data, told):
    return told["lifetime_ns"] <= data["max_life"] * told["own_run_ns"]


def check_hit(hit, found):
    """`found` are its objects."""
    chunks = sum(o["frequency"] for o in found)
    equal((hit["size_low"], hit["size_high"]), (min(o["size_low"] for o in found), max(o["size_high"] for o in found)), "sizes")
    equal(hit["sizes"], len(found), "number of sizes")
    equal(hit["frequency"], chunks, "frequency of a hit", 1e-9)
    equal(hit["within"]["frequency"], math.hypot(*(o["within"]["frequency"] for o in found)), "spread of a hit", 1e-9)
    life, step = sum(o["life_ns"] for o in found), max(o["step_ns"] for o in found)
    equal(hit["lifetime_ns"], max(max(life, step) / chunks, 1), "lifetime of a hit", 1e-9)
    equal(hit["bytes"], sum(o["bytes"] for o in found), "bytes of a hit", 1e-9)
    equal(hit["moved"], sum(o["moved"] for o in found), "moved of a hit", 1e-9)
    if abs(2 * hit["moved"] - chunks) > 1e-9 * chunks:  # half of them by weights that were rounded may be either
        equal("moved by realloc, not freed" in hit["advice"], 2 * hit["moved"] > chunks and hit["size_high"] > 0, f"advice: {hit['advice']}")
    equal(hit["own_run_ns"], sum(o["own_run_ns"] * o["frequency"] for o in found) / chunks, "run of a hit", 1e-9)
    equal(hit["ratio_per_ms"], 1e6 * chunks / hit["lifetime_ns"], "ratio of a hit", 1e-9)


def check_hits(data, suspects, by):
    """`suspects` are objects as told; the guard and the order are those of docs/excess.md."""
    wanted = data["min_share"] * data["run_ns"]
    taken = sum(o["frequency"] for o in suspects) * data["pair_ns"]
    equal(data["suspects"], len(suspects), "suspects")
    equal({key_of(o) for o in data["objects"] if o["suspect"]}, {key_of(o) for o in suspects}, "which are suspects")
    pairs = collections.defaultdict(list)
    for each in suspects if taken >= wanted else []:
        pairs[pair_of(each)].append(each)
    hits = {p: found for p, found in pairs.items() if sum(o["frequency"] for o in found) * data["pair_ns"] >= wanted / 10}
    equal({pair_of(h) for h in data["hits"]}, set(hits), "hits")
    equal(len(data["hits"]), len(hits), "each caller and destroyer once")
    for hit in data["hits"]:
        check_hit(hit, hits[pair_of(hit)])
    equal({key_of(o) for o in data["objects"] if o["reported"]}, {key_of(o) for found in hits.values() for o in found}, "which are in hits")
    order = [h[by] for h in data["hits"]]
    equal(order, sorted(order, reverse=True), f"hits by {by}")
    equal(data["excessive"], bool(hits), "verdict")


def check_clusters(data, scale="linear", dice=None):
    objects, told = freed(data), data["kmeans"]
    check(all(o["cluster"] is None for o in data["objects"] if o["never_freed"]), "what was never freed is in no cluster")
    points = list(zip(scaled([o["frequency"] for o in objects], scale), scaled([o["lifetime_ns"] for o in objects], scale)))
    labels = [int(o["cluster"]) - 1 for o in objects]
    k = told["k"]
    equal(sorted(set(labels)), list(range(k)), "clusters that have members")
    centres = means(points, labels, k)
    for point, label in zip(points, labels):
        least = min(math.dist(point, c) for c in centres)
        check(math.dist(point, centres[label]) <= least + 1e-9, f"{point} is nearer to another centre than {centres[label]}")
    cost = cost_of(points, labels, centres)
    best = best_cost(points, k, 12, dice or random.Random(1))
    check(cost <= best * 1.0001 + 1e-12, f"cost {cost} of k = {k}, and {best} was found")
    if k > 1:
        ours = next(s["mean"] for s in told["silhouettes"] if s["k"] == k)
        equal(ours, silhouette(points, labels), f"silhouette of {k}", 1e-9)
    if not told["k_given"] and k > 1:
        equal(k, max(told["silhouettes"], key=lambda s: s["mean"])["k"], "k with the best silhouette")
    frequency = [statistics.fmean(o["frequency"] for o, l in zip(objects, labels) if l == i) for i in range(k)]
    lifetime = [statistics.fmean(o["lifetime_ns"] for o, l in zip(objects, labels) if l == i) for i in range(k)]
    for i, cluster in enumerate(told["clusters"]):
        equal(cluster["frequency"], frequency[i], "mean frequency", 1e-9)
        equal(cluster["lifetime_ns"], lifetime[i], "mean lifetime", 1e-9)
        doubts = [o["within"]["lifetime_ns"] for o, l in zip(objects, labels) if l == i]
        equal(cluster["lifetime_within_ns"], math.sqrt(sum(d * d for d in doubts)) / len(doubts), "its spread", 1e-9)
    most = next(i for i in range(k) if told["clusters"][i]["most_frequent"])
    equal(frequency[most], max(frequency), "the most frequent", 1e-9)
    least = min(range(k), key=lambda i: lifetime[i])
    apart = lifetime[most] - lifetime[least]
    equals = apart <= sum(told["clusters"][i]["lifetime_within_ns"] for i in (most, least)) or lifetime[most] <= SHORT
    suspects = [o for o, l in zip(objects, labels) if l == most and (apart == 0 or equals) and may_be(data, o)]
    check_hits(data, suspects, "frequency")
    return "both" if apart == 0 else "equals" if equals else "no"


def check_outliers(data, mu=None):
    told, objects = data["iqr"], freed(data)
    names = [f"{n}{u}" for u in ("ps", "ns", "us", "ms", "s") for n in ("", "10", "100")]
    power = names.index(told["unit"]) - 3 if told["unit"] in names else int(told["unit"].removeprefix("10^").removesuffix(" ns"))
    factor = 10**power / 1e6  # from per ms
    ratios = [o["ratio_per_ms"] * factor for o in objects]
    q1, _, q3 = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    equal((told["q1"] - q1) / max(q3, 1e-9), 0, "Q1", 1e-9)
    equal((told["q3"] - q3) / max(q3, 1e-9), 0, "Q3", 1e-9)
    equal(told["iqr"], q3 - q1, "IQR", 1e-6)
    equal(told["mu"], told["iqr"] if mu is None else mu, "mu", 1e-9)
    equal(told["threshold"] / (q3 + told["mu"] * (q3 - q1)), 1, "threshold", 1e-6)
    suspects = [o for o, r in zip(objects, ratios) if r > told["threshold"] and may_be(data, o)]
    check_hits(data, suspects, "ratio_per_ms")
    return len(suspects)


def check_remark(data):
    """The most frequent caller and destroyer of what lives short, if no hit is told."""
    pairs = collections.Counter()
    for each in freed(data):
        pairs[pair_of(each)] += each["frequency"] if may_be(data, each) else 0
    (caller, destroyer), chunks = pairs.most_common(1)[0]
    wanted = not data["hits"] and chunks * data["pair_ns"] >= data["min_share"] * data["run_ns"]
    told = [r for r in data["remarks"] if "the most frequent chunks that live short" in r]
    equal(len(told), int(wanted), f"remarks of {caller}: {data['remarks']}")
    if wanted:
        check(f"are made by {caller} and freed by {destroyer}, {chunks:,.0f} times " in told[0], told[0])
    return wanted


# --- tests ---

def objects(folder):
    for seed, (form, *words) in enumerate([("ended",), ("killed",), ("ended", "sizes"), ("ended", "sampled"), ("killed", "sampled")]):
        make(form, folder / "t.pa", 1500, seed, *words)
        data = excess(folder / "t.pa")
        check_objects(data, objects_of(folder / "t.pa", data["files"][0]["seconds"]))
        equal(data["sampled"], "sampled" in words, "sampled")
        check(("sampled" in words) == any(o["within"]["frequency"] > 0 for o in data["objects"]), "spread of what is sampled")


def cut_means(folder):
    """Moments that are cut leave lifetimes what they are: against the same heap with whole times."""
    for words, least in ((("size=64",), 9), ((), 1000)):  # many chunks in each object, and few
        make("ended", folder / "whole.pa", 20000, 5, *words)
        make("ended", folder / "cut.pa", 20000, 5, "shift=13", *words)
        truth = {key_of(o): o for o in freed(excess(folder / "whole.pa"))}
        told = {key_of(o): o for o in freed(excess(folder / "cut.pa"))}
        equal(set(told), set(truth), "the same objects")
        check(len(told) >= least, f"{len(told)} objects")
        for key, ours in told.items():
            equal(ours["life_ns"] / truth[key]["life_ns"], 1, f"life of {key}", 0.05)
            equal(ours["step_ns"], truth[key]["step_ns"], f"step of {key}")
        lives = [sum(o["life_ns"] for o in objects.values()) for objects in (told, truth)]
        equal(lives[0] / lives[1], 1, "of all together", 0.005)


def cut_times(folder):
    """Long steps of moments: objects are what the chunks' lives say."""
    for shift in (6, 13):
        make("ended", folder / "t.pa", 3000, 5, f"shift={shift}")
        data = excess(folder / "t.pa")
        check_objects(data, objects_of(folder / "t.pa", data["files"][0]["seconds"]))
        check(not any("steps of" in r for r in data["remarks"]), "nothing is rough")


def clusters(folder):
    outcomes = set()
    for seed in range(3):
        make("ended", folder / "t.pa", 700, seed, *(["shift=13"] if seed == 2 else []))
        for scale in ("linear", "log"):
            for k in (None, 1, 2, 3, 5):
                options = ["--scale", scale, "--seed", seed + 7, *(["--clusters", k] if k else [])]
                data = excess(folder / "t.pa", *options)
                equal((data["method"], data["kmeans"]["scale"]), ("kmeans", scale), "method")
                outcomes.add(check_clusters(data, scale, random.Random(seed)))
                check_remark(data)
                equal(data["kmeans"]["k_given"], k is not None, "k was given")
                check(k is None or data["kmeans"]["k"] == k, "as many as asked for")
    equal(outcomes, {"both", "no"}, "both answers are there")


def same_again(folder):
    make("ended", folder / "t.pa", 4000, 9)
    first = tool("excess", "--json", "--objects", folder / "t.pa")[0]
    equal(first, tool("excess", "--json", "--objects", folder / "t.pa")[0], "the same seed")
    check('"seed": 12' in tool("excess", "--json", "--seed", 12, folder / "t.pa")[0], "another seed")


def guard(folder):
    """The share of the run time decides, together and alone."""
    make("ended", folder / "t.pa", 700, 1)
    whole = excess(folder / "t.pa", "--clusters", 2, "--min-share", 0)
    check_clusters(whole)
    equal(sum(h["sizes"] for h in whole["hits"]), whole["suspects"], "all suspects are in hits")
    share = whole["suspects_ns"] / whole["run_ns"]
    for factor, some in ((0.99, True), (1.01, False)):
        data = excess(folder / "t.pa", "--clusters", 2, "--pair-cost", 0.1, "--min-share", repr(share * factor * 0.1 / PAIR))
        check_clusters(data)
        # Of the hits together; one alone may be less than a tenth.
        equal(data["verdict"] == "too little", not some or not data["hits"], f"{factor} of the share")
    for words, share in ((("--min-share", "50%"), 0.5), (("--min-share", "0.5"), 0.5), ((), SHARE)):
        equal(excess(folder / "t.pa", *words)["min_share"], share, "share")


def pair_cost(folder):
    """What was measured in the traces, if it was; what is given is stronger."""
    calls, ticks = 1100 + 800, 1100 * 20 - 800  # as make_trace.c has them, a tick is a nanosecond
    for words, options, cost, source, said in ((("timed",), (), 2 * ticks / calls, "measured", "(measured in the run; see --pair-cost)"),
                                               ((), (), PAIR, "assumed", "(a guess, since none was measured; see --pair-cost)"),
                                               (("timed",), ("--pair-cost", 7), 7, "given", "(--pair-cost)")):
        make("ended", folder / "t.pa", 700, 1, *words)
        data = excess(folder / "t.pa", "--clusters", 1, *options)
        equal(data["pair_ns"], cost, "cost of a pair", 1e-9)
        equal(data["pair_from"], source, "where it is from")
        equal(data["hits"][0]["cost_ns"], data["hits"][0]["frequency"] * cost, "what calls take", 1e-9)
        check_clusters(data)
        for some in ((), ("--min-share", "100%"), ("--where", "size < 20")):
            text = tool("excess", "--plain", "--clusters", 1 if "--where" not in some else 64, *options, *some, folder / "t.pa")[0]
            check(f"at {cost:.3g} ns for an allocation and its free {said}." in text, f"{some}: {text}")


def long_lives(folder):
    """What lives for much of the run is not excessive."""
    make("ended", folder / "t.pa", 700, 1)
    counts = []
    for share in ("100%", "0.1", "1%", "0"):
        for method, *options in (("kmeans", "--clusters", 1), ("iqr", "--mu", 0)):
            data = excess(folder / "t.pa", "--method", method, "--max-life", share, "--min-share", 0, *options)
            (check_clusters if method == "kmeans" else lambda d: check_outliers(d, 0))(data)
            counts.append(data["suspects"])
    check(counts[0] > counts[2] > counts[4] > counts[6] == 0 and counts[1] > counts[5], f"suspects {counts}")
    equal(excess(folder / "t.pa")["max_life"], 0.1, "usual share")


def outliers(folder):
    found, remarked = 0, set()
    for seed, words in enumerate([(), ("sampled",), ("sizes",)]):
        make("ended", folder / "t.pa", 1500, seed, *words)
        data = excess(folder / "t.pa", "--method", "iqr")
        check_outliers(data)
        check(1 <= data["iqr"]["iqr"] < 10, f"the unit makes the IQR a small number: {data['iqr']}")
        for mu in (0, 1.5, 3, 1000):
            found += check_outliers(excess(folder / "t.pa", "--method", "iqr", "--mu", mu, "--min-share", 0), mu)
            remarked.add(check_remark(excess(folder / "t.pa", "--method", "iqr", "--mu", mu)))
        for unit in ("ns", "us", "100us", "ms", "s"):
            data = excess(folder / "t.pa", "--method", "iqr", "--unit", unit)
            equal(data["iqr"]["unit"], unit, "unit")
            check_outliers(data)
    make("ended", folder / "t.pa", 60000, 1, "sampled", "size=1")  # beyond the units that have names
    data = excess(folder / "t.pa", "--method", "iqr", "--where", "lifetime < 30ns")
    check_outliers(data)
    equal((data["iqr"]["unit"], 1 <= data["iqr"]["iqr"] < 10), ("10^-4 ns", True), "unit")
    check(found > 0, "some are outliers")
    equal(remarked, {True, False}, "what takes much time is remarked, if nothing is excessive")


def wrappers(folder):
    path = folder / "t.pa"
    make("ended", path, 1500, 3)
    (folder / "list").write_text("# functions that allocate for others\n\n  inlined_s* \n")
    for options, patterns in ((("--wrapper", "inlined_site"), ["inlined_site"]),
                              (("--wrappers", folder / "list"), ["inlined_s*"]),
                              (("--wrapper", "inlined_site", "--wrapper", "plain*"), ["inlined_site", "plain*"]),
                              (("--wrapper", "*_site"), ["*_site"]), (("--wrapper", "site"), [])):
        data = excess(path, *options)
        check_objects(data, objects_of(path, data["files"][0]["seconds"], patterns))
    # All are wrappers: the last is told, and that more was not recorded.
    check(any(o["destroyer"]["wrapper"] for o in excess(path, "--wrapper", "*_site")["objects"]), "wrappers that free")
    check(any("free_depth" in r for r in excess(path, "--wrapper", "*_site")["remarks"]), "which is said")
    tool("excess", "--wrappers", folder / "absent", path, status=2)


def tree_of(ways):
    """(function, chunks, level) of all calls that lead to allocations; a function that calls itself is one."""
    root = [None, 0, {}]
    for way, chunks in ways.items():
        at = root
        for function in way:
            if function != at[0]:
                at = at[2].setdefault(function, [function, 0, {}])
                at[1] += chunks
    told, waiting = collections.Counter(), [(first, 0) for first in root[2].values()]
    while waiting:
        (name, chunks, callers), level = waiting.pop()
        told[name, chunks, level] += 1
        waiting += [(c, level + (len(callers) > 1)) for c in callers.values()]
    return told


def class_of(size, classes):
    """What sizes of one class have in common."""
    if classes == "exact" or size < 2 or (classes == "eighths" and size <= 1024):
        return size
    power = (size - 1).bit_length()  # of the power of two that is not below
    return (power, 8 * (size - 1) >> power - 1) if classes == "eighths" else power


def joined(exact, classes):
    """Objects whose sizes are in one class; by the largest of them."""
    found = collections.defaultdict(list)
    for (caller, size, destroyer), one in exact.items():
        found[caller, class_of(size, classes), destroyer].append((size, one))
    objects = {}
    for (caller, _, destroyer), members in found.items():
        whole = Object()
        for _, one in members:
            whole.join(one)
        whole.finish()
        whole.low, high = min(s for s, _ in members), max(s for s, _ in members)
        objects[caller, high, destroyer] = whole
    return objects


def size_classes(folder):
    """Of too many objects, sizes are put into classes, whenever in the walk that happens."""
    path, where, seen = folder / "t.pa", ("--where", "freed and size > 1024"), set()
    make("ended", path, 40000, 6)
    exact = objects_of(path, excess(path)["files"][0]["seconds"], where=lambda e: e["type"] == "death" and e["size"] > 1024)
    cells = sum(len(one.stacks) for one in exact.values())
    for most in (1, 100, cells // 2, cells - 1, cells):
        data = excess(path, *where, "--max-objects", most)
        seen.add(data["size_classes"])
        check_objects(data, joined(exact, data["size_classes"]))
        equal(data["size_classes"] == "exact", most == cells, "whether there is room for all sizes")
        equal(any("--max-objects" in r for r in data["remarks"]), most != cells, "which is said")
    equal(seen, {"exact", "eighths", "powers"}, "ways to tell sizes")
    out = tool("excess", "--plain", "--clusters", 1, "--min-share", 0, "--max-objects", 100, *where, path)[0]
    check("classes of sizes, alive for" in out, out)


def many_sizes(folder):
    """Memory does not grow with the number of sizes: a gibibyte if it did."""
    make("big", folder / "t.pa", 4_000_000, 1, "wide")
    data = json.loads(tool("excess", "--json", folder / "t.pa")[0])
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    equal((data["chunks"], data["size_classes"]), (4_000_000, "eighths"), "all of them")
    check(memory < 900, f"{memory} MiB")  # without classes it took 1.1 GiB, with them some 150 MiB; with sanitizers 530


def call_trees(folder):
    path = folder / "t.pa"
    make("ended", path, 3000, 4)
    for options, patterns in (((), []), (("--wrapper", "inlined_site"), ["inlined_site"])):
        data = excess(path, "--lines", 1000, "--clusters", 1, "--min-share", 0, *options)
        reference = objects_of(path, data["files"][0]["seconds"], patterns)
        for hit in data["hits"]:
            ways = collections.Counter()
            for one in (o for o in data["objects"] if o["reported"] and pair_of(o) == pair_of(hit)):
                ways += reference[key_of(one)].ways
            equal(collections.Counter((c["function"], c["chunks"], c["level"]) for c in hit["calls"]),
                  tree_of(ways), f"calls to {pair_of(hit)}")
            equal((hit["calls"][0]["chunks"], hit["calls_left_out"]), (hit["frequency"], 0), "the first call")
            for call, caller in zip(hit["calls"], hit["calls"][1:]):
                check(caller["level"] != call["level"] or caller["chunks"] <= call["chunks"], "heavier ones first")
    short = excess(path, "--lines", 3, "--clusters", 1, "--min-share", 0)
    check(all(len(h["calls"]) <= 3 for h in short["hits"]), "no more lines than asked for")


def where(folder):
    path = folder / "t.pa"
    make("ended", path, 1500, 3)
    for expression, holds in (("size < 100", lambda e: e["size"] < 100), ("freed", lambda e: e["type"] == "death"),
                              ("live and size >= 100", lambda e: e["type"] == "live" and e["size"] >= 100)):
        data = excess(path, "--where", expression)
        check_objects(data, objects_of(path, data["files"][0]["seconds"], where=holds))


def size_name(size):
    if size <= 1024:
        return str(size)
    part = 1 << (size - 1).bit_length() - 4
    high = (size - 1) // part * part + part
    return f"{high - part + 1}-{high}"


KEYS = {"function": lambda event, function: function,
        "file": lambda event, function: "(no file is known)" if function.startswith("?") else "make_sites.c",
        "module": lambda event, function: "(no module is known)" if function.startswith("?") else "make_trace",
        "size": lambda event, function: size_name(event["size"]),
        "thread": lambda event, function: f"worker-{event['thread']} ({1000 + event['thread']})",
        "tag": lambda event, function: "?" if event["tag"] else "(no tag)"}


def by(folder):
    """Callers are what --by tells apart: objects, hits and their calls."""
    path = folder / "t.pa"
    make("ended", path, 1500, 8, "sampled")
    seconds = excess(path)["files"][0]["seconds"]
    for key, name in KEYS.items():
        data = excess(path, "--by", key, "--clusters", 1, "--min-share", 0, "--lines", 1000)
        equal(data["by"], key, "key")
        reference = objects_of(path, seconds, caller=name)
        names = {caller_of(o): o["caller"][key].rsplit("/", 1)[-1] for o in data["objects"]}
        equal(len(set(names.values())), len(names), f"each {key} once")
        known = {(c, *rest): reference[names[c], *rest] for c in names for n, *rest in reference if n == names[c]}
        check_objects(data, known)
        check_clusters(data)
        for hit in data["hits"]:
            ways = collections.Counter()
            for one in (o for o in data["objects"] if o["reported"] and pair_of(o) == pair_of(hit)):
                ways += known[key_of(one)].ways
            ours = collections.Counter({(c["function"], c["level"]): 0 for c in hit["calls"]})
            for call in hit["calls"]:
                ours[call["function"], call["level"]] += call["chunks"]
            for (function, chunks, level), times in tree_of(ways).items():
                ours[function, level] -= chunks * times
            check(all(abs(left) < 1e-6 for left in ours.values()), f"calls of {key} {pair_of(hit)}: {ours}")
        check(f"allocated by {key} " in tool("excess", "--by", key, "--clusters", 1, "--min-share", 0, path)[0], "text")
    data = excess(path, "--by", "stack")
    equal(data["chunks"], sum(o.frequency for o in reference.values()), "chunks by stack", 1e-9)
    equal(len({o["caller"]["number"] for o in data["objects"]}), len({event["stack"] for event in events_of(path)}), "each stack is a caller")
    equal(excess(path)["by"], "caller", "which is said")


def sort(folder):
    path = folder / "t.pa"
    make("ended", path, 1500, 8)
    usual = excess(path, "--clusters", 1, "--min-share", 0)
    equal(usual["sort"], "frequency", "usual order")
    equal(excess(path, "--method", "iqr")["sort"], "ratio", "usual order of outliers")
    orders = {}
    for order, field, sign in (("frequency", "frequency", -1), ("lifetime", "lifetime_ns", 1), ("ratio", "ratio_per_ms", -1), ("bytes", "bytes", -1)):
        data = excess(path, "--clusters", 1, "--min-share", 0, "--by", "stack", "--sort", order)
        values = [sign * h[field] for h in data["hits"]]
        check(len(values) > 20 and values == sorted(values), f"hits by {order}: {values}")
        orders[order] = tuple(str(pair_of(h)) for h in data["hits"])
        check(f"and destroyer, by {order}" in tool("excess", "--clusters", 1, "--min-share", 0, "--sort", order, path)[0], "which is said")
    equal(len(set(orders.values())), 4, "orders differ")


def all_live(folder):
    """What was never freed is never excessive."""
    path = folder / "t.pa"
    make("ended", path, 800, 3)
    for method in ("kmeans", "iqr"):
        data = excess(path, "--method", method, "--min-share", 0, "--where", "live")
        check(data["objects"] and all(o["never_freed"] for o in data["objects"]), "all are alive")
        equal((data["hits"], data["verdict"], data["suspects"]), ([], "nothing freed", 0), "no hits")
        check("no chunk was freed" in tool("excess", "--method", method, "--where", "live", path)[0], "which is said")
        # The others are judged as if those were not there.
        whole, some = (excess(path, "--method", method, "--min-share", 0, *more) for more in ((), ("--where", "freed")))
        equal(whole["hits"], some["hits"], "hits")
        equal(whole.get(method), some.get(method), "clusters and quartiles")
        check(whole["objects_left_out"] > 0 == some["objects_left_out"], "what was left out")
        check(f"{whole['objects_left_out']:,} objects with" in tool("excess", "--method", method, path)[0], "which is said")


def odd_heaps(folder):
    for count in (0, 1, 2, 3):
        for form in ("ended", "killed"):
            for method in ("kmeans", "iqr"):
                make(form, folder / "t.pa", count, 2)
                data = excess(folder / "t.pa", "--method", method)
                equal(data["chunks"], count, "chunks")
                equal(data["verdict"] == "no chunks", count == 0, "nothing to tell of")
                out, _ = tool("excess", "--method", method, folder / "t.pa")
                check(("there are no chunks" in out) == (count == 0), out)


def few_objects(folder):
    """Of fewer than four there is no verdict, nor of fewer than clusters; a single cluster has them all."""
    path, seen, blurred = folder / "t.pa", collections.Counter(), 0
    for count in range(1, 12):
        make("ended", path, count, 2)
        for method, k in (("kmeans", 0), ("kmeans", 1), ("kmeans", 2), ("kmeans", 7), ("iqr", 0)):
            data = excess(path, "--method", method, "--min-share", 0, "--max-life", 1, *(("--clusters", k) if k else ()))
            few = 0 < len(freed(data)) < (1 if k == 1 else max(k, 4))
            equal(data["verdict"] == "too few", few, f"{len(freed(data))} objects, {method}, {k} clusters")
            out = tool("excess", "--plain", "--method", method, *(("--clusters", k) if k else ()), path)[0]
            equal("Too few objects to tell: " in out, few, out)
            seen[few, k] += 1
            apart = [s["mean"] for s in data.get("kmeans", {}).get("silhouettes", []) if s["k"] == data["kmeans"]["k"]]
            equal(any("hardly apart" in r for r in data["remarks"]), bool(apart) and apart[0] < 0.25, f"remark of silhouette {apart}")
            blurred += bool(apart) and apart[0] < 0.25
            if few:
                equal((data["hits"], data["excessive"], data.get(method)), ([], False, None), "no verdict")
            elif k == 1 and freed(data):
                equal(sum(h["sizes"] for h in data["hits"]), len(freed(data)), "all of them")
    equal({k for few, k in seen if few}, {0, 2, 7}, "too few for all but one cluster")
    check(blurred > 0, "some clusters are hardly apart")


def folded(folder):
    make("ended", folder / "t.pa", 1500, 3, "folded")
    data = excess(folder / "t.pa")
    equal(data["folded"], support.FOLDED[0], "folded deaths")
    check(any("7 deaths are left out" in r for r in data["remarks"]), str(data["remarks"]))
    equal(data["chunks"], 1500, "without them")


def check_several(both, one, two):
    """Objects of two traces, each chunk with its own recording's time."""
    equal(both["chunks"], one["chunks"] + two["chunks"], "chunks of both")
    parts = [{key_of(o): o for o in d["objects"]} for d in (one, two)]
    equal({key_of(o) for o in both["objects"]}, {key for part in parts for key in part}, "objects of both")
    for each in both["objects"]:
        own = [part[key_of(each)] for part in parts if key_of(each) in part]
        runs = sum(o["own_run_ns"] * o["frequency"] for o in own)
        equal(each["own_run_ns"], runs / sum(o["frequency"] for o in own), "the recording it is held against", 1e-9)
    check_clusters(both)


def several(folder):
    """The run is the time in which something was recorded: of recordings at the same time, and of one after the other."""
    make("ended", folder / "a.pa", 900, 1)
    one = excess(folder / "a.pa")
    for later, runs in ((0, 1), (3_000_000_000, 2)):
        make("ended", folder / "b.pa", 1200, 2, f"later={later}")
        two = excess(folder / "b.pa")
        both = json.loads(tool("excess", "--json", "--objects", folder / "a.pa", folder / "b.pa")[0])
        check_several(both, one, two)
        check(one["run_ns"] < two["run_ns"], "one is longer")
        least = two["run_ns"] + (one["run_ns"] if runs == 2 else 0)
        equal(both["run_ns"], least, f"time of both, one {later} ns later", 1e-9)
    (folder / "bad.pa").write_text("no trace")
    out, said = tool("excess", "--json", "--objects", folder / "bad.pa", folder / "a.pa", status=2)
    equal(json.loads(out)["objects"], one["objects"], "the one that is a trace")
    check("bad.pa" in said, said)
    tool("excess", folder / "bad.pa", status=2)


def alive(folder):
    """Of a hit from its first birth to its last death, in the trace in which these are most."""
    paths, kept, pools = [folder / "a.pa", folder / "b.pa"], set(), 0
    make("ended", paths[0], 900, 1)
    make("ended", paths[1], 300, 2, "sampled", "later=5000000000")
    references = [objects_of(path, excess(path)["files"][0]["seconds"]) for path in paths]
    for some in ([0], [1], [0, 1]):
        options = ("--clusters", 1, "--min-share", 0, "--max-life", 1)
        data = json.loads(tool("excess", "--json", "--objects", *options, *(paths[i] for i in some))[0])
        for hit in data["hits"]:
            keys = {key_of(o) for o in freed(data) if pair_of(o) == pair_of(hit)}
            found = [[references[i][k] for k in keys & set(references[i])] for i in some]
            each = [sum(o.life for o in f) / (max(o.last for o in f) - min(o.first for o in f)) for f in found if f]
            equal(hit["alive"], max(each), f"alive of {pair_of(hit)}", 1e-6)
            kept.add(each.index(max(each)) if len(each) == 2 else None)
            slots = math.ceil(2 * hit["alive"]) + 1
            pools += f"so about {slots:,} slots should do" in hit["advice"]
            check("from a pool" not in hit["advice"] or f" {slots:,} slots" in hit["advice"], hit["advice"])
    check({0, 1} & kept and pools > 0, f"hits in both traces, and pools: {kept}, {pools}")


def text_and_pictures(folder):
    make("ended", folder / "t.pa", 1500, 3, "sampled")
    for method, *options in (("kmeans", "--clusters", 1), ("iqr",)):
        diagram, chart = folder / "d.svg", folder / "c.svg"
        out, _ = tool("excess", "--method", method, *options, "--top", 2, "--diagram", diagram, "--chart", chart, folder / "t.pa")
        for wanted in ("Excessive allocation: 2 of", "  #2  ", "allocated by ", "freed by ", "Frequency and lifetime", "Ratio of",
                       "±", "Why: "):
            check(wanted in out, f"{wanted} in\n{out}")
        check("  #3  " not in out, "no more than asked for")
        unit = "ms" if method == "kmeans" else excess(folder / "t.pa", "--method", method)["iqr"]["unit"]
        check(f"; frequency / lifetime, per {unit}; logarithmic\n" in out, f"what bars are, in\n{out}")
        check("Frequency and lifetime" not in tool("excess", "--plain", folder / "t.pa")[0], "no charts if not wanted")
        for picture in (diagram, chart):
            equal(xml.etree.ElementTree.parse(picture).getroot().tag, "{http://www.w3.org/2000/svg}svg", str(picture))
        top = excess(folder / "t.pa", "--method", method, *options)["hits"][0]
        percent = 100 * top["within"]["frequency"] / top["frequency"]
        check(f" ±{percent:.{1 if percent < 10 else 0}f} % times " in out, f"±{percent} in\n{out}")
    check("inlined_site" in diagram.read_text() + chart.read_text(), "objects have names")
    for option, file in (("--diagram", diagram), ("--chart", chart)):
        equal(tool("excess", "--method", "iqr", option, "-", folder / "t.pa")[0], file.read_text(), f"{option} and nothing else")
    make("ended", folder / "folded.pa", 700, 1, "folded")
    out, said = tool("excess", "--chart", "-", folder / "folded.pa")
    check(out.startswith("<") and "note: " in said and "known in sums only" in said, f"notes beside it: {said}")
    for wrong in (("--json", "--diagram", "-"), ("--json", "--chart", "-"), ("--diagram", "-", "--chart", "-")):
        out, said = tool("excess", *wrong, folder / "t.pa", status=2)
        options = [w for w in wrong if w.startswith("--")]
        check(out == "" and "would both write to standard output" in said and all(o in said for o in options), f"{wrong}: {said}")
    tool("excess", "--diagram", folder / "absent" / "d.svg", folder / "t.pa", status=1)


def command_line(folder):
    make("ended", folder / "t.pa", 700, 1)
    tool("excess", "--fail", "--min-share", 0, "--clusters", 1, folder / "t.pa", status=3)
    tool("excess", "--fail", "--where", "live", folder / "t.pa", status=0)
    check("--min-share" in tool("excess", "--help")[0], "help")
    tool("excess", status=2)
    for wrong in (("--method", "guess"), ("--clusters", "0"), ("--clusters", "65"), ("--clusters", "2.5"), ("--scale", "square"),
                  ("--seed", "-1"), ("--mu", "-1"), ("--mu", "x"), ("--unit", "m"), ("--min-share", "101%"), ("--min-share", "2"),
                  ("--min-share", "%"), ("--max-life", "x"), ("--pair-cost", "0"), ("--lines", "0"), ("--top", "0"), ("--by", "colour"), ("--sort", "colour"),
                  ("--max-objects", "0"), ("--nothing",)):
        _, said = tool("excess", *wrong, folder / "t.pa", status=2)
        check(said != "", f"{wrong} is said to be wrong")
    check("--by takes one of these" in tool("excess", "--by", "colour", folder / "t.pa", status=2)[1], "keys are told")
    check("--sort takes frequency, lifetime, ratio or bytes" in tool("excess", "--sort", "colour", folder / "t.pa", status=2)[1], "so are orders")
    for wrong in (("--method", "iqr", "--clusters", 2), ("--scale", "log", "--method", "iqr"), ("--method", "iqr", "--seed", 3),
                  ("--mu", 2), ("--method", "kmeans", "--unit", "ms"), ("--objects",)):
        out, said = tool("excess", *wrong, folder / "t.pa", status=2)
        option = next(w for w in wrong[::-1] if str(w).startswith("--") and w != "--method")
        check(out == "" and f"{option} is of " in said, f"{wrong}: {said}")


support.main(objects=objects, cut_times=cut_times, cut_means=cut_means, clusters=clusters, same_again=same_again, guard=guard, pair_cost=pair_cost, long_lives=long_lives, outliers=outliers,
             wrappers=wrappers, size_classes=size_classes, many_sizes=many_sizes, call_trees=call_trees, where=where, by=by, sort=sort, all_live=all_live,
             odd_heaps=odd_heaps, few_objects=few_objects, folded=folded, several=several, alive=alive,
             text_and_pictures=text_and_pictures, command_line=command_line)
