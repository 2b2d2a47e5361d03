#!/usr/bin/env python3
"""The call graph of `profalloc mprof` against a reference that keeps whole stacks: random programs with recursion of all kinds,
the paper's Figure 6, and very deep ones."""
import os
import random
import subprocess

import support
from support import check, equal

PROGRAM = os.path.join(os.environ["PROFALLOC_BUILD_DIR"], "tests/analyze/call_graph")
LIMITS = (32, 256, 2048)


def added(total, chunks, size):
    """Sums as (chunks, bytes, s, m, l, x)."""
    total = total or (0, 0, 0, 0, 0, 0)
    place = 2 + sum(size > limit for limit in LIMITS)
    more = [chunks, chunks * size, 0, 0, 0, 0]
    more[place] = chunks * size
    return tuple(a + b for a, b in zip(total, more))


class Reference:
    """Everything from whole stacks: each is counted once for every node that it is on and for every pair that it has, at the
    level of functions and of cycles. Nothing is taken from sums of pairs."""

    def __init__(self, stacks):
        self.stacks = stacks
        self.functions = sorted({f for _, _, chain in stacks for f in chain})
        self.calls = {(b, a) for _, _, chain in stacks for a, b in zip(chain, chain[1:])}
        reach = {f: self.reachable(f) for f in self.functions}
        self.group = {f: frozenset(g for g in self.functions if g == f or (g in reach[f] and f in reach[g])) for f in self.functions}
        self.cycles = {g for g in self.group.values() if len(g) > 1}
        self.self, self.all, self.arcs, self.called, self.made, self.recur, self.below = ({} for _ in range(7))
        for chunks, size, chain in stacks:
            self.count(chunks, size, chain)
        self.levels = {}
        for f in self.functions:
            self.level(self.group[f])

    def reachable(self, start):
        seen, work = set(), [start]
        while work:
            at = work.pop()
            for caller, callee in self.calls:
                if caller == at and callee not in seen:
                    seen.add(callee)
                    work.append(callee)
        return seen

    def cycle(self, f):
        return self.group[f] if len(self.group[f]) > 1 else None

    def count(self, chunks, size, chain):
        def put(table, key):
            table[key] = added(table.get(key), chunks, size)

        def plus(table, key, value):
            table[key] = table.get(key, 0) + value

        nodes = set(chain) | {self.cycle(f) for f in chain} - {None}
        for node in nodes:
            put(self.all, node)
        put(self.self, chain[0])
        if self.cycle(chain[0]):
            put(self.self, self.cycle(chain[0]))
        outside = set()
        for callee, caller in zip(chain, chain[1:]):
            if self.group[callee] == self.group[caller]:
                plus(self.recur, callee, chunks)
                if self.cycle(callee):
                    plus(self.recur, self.cycle(callee), chunks)
                    if callee != caller:
                        self.arcs.setdefault((caller, callee), [True, 0])[1] += chunks
                continue
            for a in {caller, self.cycle(caller) or caller}:
                for b in {callee, self.cycle(callee) or callee}:
                    outside.add((a, b))
        for a, b in outside:
            if isinstance(a, int) and isinstance(b, int):
                plus(self.called, b, chunks)
                plus(self.made, a, chunks)
                plus(self.below, a, chunks * size)
            elif isinstance(a, int):
                plus(self.called, b, chunks)
            elif isinstance(b, int):
                plus(self.made, a, chunks)
                plus(self.below, a, chunks * size)
            arc = self.arcs.setdefault((a, b), [False, None])
            arc[1] = added(arc[1], chunks, size)

    def level(self, group):
        if group not in self.levels:
            above = {self.group[a] for a, b in self.calls if b in group and a not in group}
            self.levels[group] = 1 + max((self.level(g) for g in above), default=-1)
        return self.levels[group]

    def key(self, node):
        """What the listing is in order of."""
        single = isinstance(node, int)
        group = self.group[node] if single else node
        return (-self.all[node][1], -self.all[node][0], self.levels[group], single, node if single else 0)


def run(stacks):
    text = "".join(f"{chunks} {size} {' '.join(map(str, chain))}\n" for chunks, size, chain in stacks)
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
    nodes = []
    for line in done.stdout.splitlines():
        word, *rest = line.split()
        if word == "node":
            numbers = tuple(map(float, rest[2:]))
            nodes.append({"name": rest[0], "cycle": rest[1], "numbers": numbers[:4], "self": numbers[4:10], "all": numbers[10:],
                          "in": [], "out": [], "members": None})
        elif word == "members":
            nodes[-1]["members"] = list(map(int, rest))
        elif word in ("in", "out"):
            nodes[-1][word].append((rest[0], rest[1] == "1", tuple(map(float, rest[2:]))))
    return nodes


def compare(stacks):
    ours, reference = run(stacks), Reference(stacks)
    nothing = (0, 0, 0, 0, 0, 0)
    named = {n["name"]: frozenset(n["members"]) if n["members"] else int(n["name"]) for n in ours}
    equal(len(ours), len(reference.functions) + len(reference.cycles), "nodes")
    equal(set(named.values()), {*reference.functions, *reference.cycles}, "functions and cycles")
    keys = [reference.key(named[n["name"]]) for n in ours]
    equal(keys, sorted(keys), "the order of the listing")
    order = {named[n["name"]]: i for i, n in enumerate(ours)}
    for node in ours:
        what = named[node["name"]]
        cycle = reference.cycle(what) if isinstance(what, int) else None
        equal(named.get(node["cycle"]), cycle, f"cycle of {what}")
        equal(node["self"], reference.self.get(what, nothing), f"self of {what}")
        equal(node["all"], reference.all[what], f"self and descendents of {what}")
        equal(node["numbers"], tuple(t.get(what, 0) for t in (reference.called, reference.made, reference.recur, reference.below)),
              f"called, made, recur, below of {what}")
        if node["members"]:
            keys = [(-reference.self.get(m, nothing)[1], -reference.self.get(m, nothing)[0]) for m in node["members"]]
            equal(keys, sorted(keys), f"order of members of {what}")
        compare_arcs(node, what, reference, named, order)
    return ours


def compare_arcs(node, what, reference, named, order):
    for word in ("in", "out"):
        expected = {}
        for (caller, callee), (within, value) in reference.arcs.items():
            near, far = (callee, caller) if word == "in" else (caller, callee)
            if near == what and isinstance(far, int):
                expected[far] = (within, value)
        listed = [(named[name], within, sums) for name, within, sums in node[word]]
        equal({far for far, _, _ in listed}, set(expected), f"{word} of {what}")
        equal(len(listed), len(expected), f"each of {word} of {what} once")
        for far, within, sums in listed:
            equal(within, expected[far][0], f"same cycle: {word} of {what}, {far}")
            equal(sums[0] if within else sums, expected[far][1], f"{word} of {what}, {far}")
        keys = [(within, 0 if within else -sums[1], -sums[0], order[far]) for far, within, sums in listed]
        equal(keys, sorted(keys), f"order of {word} of {what}")


def random_chain(chance, functions, shape):
    """From main (0) on; the innermost first."""
    chain = [0]
    for _ in range(chance.randrange(1, 12)):
        at = chain[-1]
        if shape == "tree":
            options = [f for f in (2 * at + 1, 2 * at + 2) if f < functions]
        elif shape == "layers":
            options = [f for f in range(at + 1, min(at + 4, functions))]
        elif shape == "some":  # some calls go back
            options = [f for f in range(max(1, at - 2), min(at + 4, functions))] if chance.random() < 0.3 else \
                [f for f in range(at + 1, min(at + 4, functions))]
        else:
            options = list(range(functions))
        if not options:
            break
        chain.append(chance.choice(options))
    return chain[::-1]


def random_programs(_):
    seen = {"cycles": 0, "without": 0, "several": 0, "self": 0}
    for seed in range(300):
        chance = random.Random(seed)
        functions = chance.randrange(2, 25)
        shape = chance.choice(("tree", "layers", "some", "some", "any"))
        stacks = []
        for _ in range(chance.randrange(1, 60)):
            size = chance.choice((0, 1, 32, 33, 100, 256, 257, 2048, 2049, 1 << 30))
            chunks = chance.choice((1, 7, 1000, 2.25, 0.5))
            stacks.append((chunks, size, random_chain(chance, functions, shape)))
        compare(stacks)
        cycles = Reference(stacks).cycles
        seen["cycles"] += len(cycles) == 1
        seen["several"] += len(cycles) > 1
        seen["without"] += not cycles
        seen["self"] += any(a == b for _, _, c in stacks for a, b in zip(c, c[1:]))
    check(min(seen.values()) >= 20, f"programs of all kinds: {seen}")


def figure_six(_):
    """main calls F calls G calls F calls G, which allocates 10 bytes: they are counted once."""
    main, f, g = 0, 1, 2
    nodes = compare([(1, 10, [g, f, g, f, main])])
    equal([(n["name"], n["all"][1], n["self"][1]) for n in nodes], [("0", 10, 0), ("c1", 10, 10), ("1", 10, 0), ("2", 10, 10)], "nodes")
    equal([(a[0], a[2][1]) for a in nodes[1]["in"]], [("0", 10)], "what main asked of the cycle")
    equal([(a[0], a[1], a[2][0]) for a in nodes[2]["in"]], [("0", False, 1), ("2", True, 1)], "calls of F")
    equal(nodes[1]["numbers"][2], 3, "calls within the cycle")


def empty(_):
    equal(run([]), [], "nothing")


def deep(_):
    """10 000 functions that call each other in turn; that call back to the first; and one that calls itself as often."""
    count = 10000
    chain = list(range(count))[::-1]
    nodes = run([(1, 10, chain)])
    equal([n["name"] for n in nodes], [str(i) for i in range(count)], "callers first")
    nodes = run([(1, 10, [0] + chain)])
    equal((nodes[0]["name"], len(nodes[0]["members"]), nodes[0]["numbers"][2]), ("c1", count, count), "one cycle of all")
    nodes = run([(3, 10, [1] * count + [0])])
    equal([(n["name"], n["all"][1], n["numbers"][2]) for n in nodes], [("0", 30, 0), ("1", 30, 3 * (count - 1))], "no cycle")


support.main(random_programs=random_programs, figure_six=figure_six, empty=empty, deep=deep)
