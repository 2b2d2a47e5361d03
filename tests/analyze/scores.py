#!/usr/bin/env python3
"""Scores as something to sort by, to ask for and to make: orders, severity, formulas and expressions, against the same computed here."""
import json
import math
import random
import subprocess

from support import MAKER, check, equal, main, rounds, run_tool, tool

SCORES = ("lifetime", "usage", "useful_lifetime")
COLOURS = 12


def make(path, seed, *words):
    subprocess.run([MAKER, "ended", path, "4000", str(seed), *words], check=True, stdout=subprocess.DEVNULL)
    return path


def ask(path, *words):
    return json.loads(tool("report", "--json", *words, path)[0])


def mean_of(point):
    known = [max(point["scores"][name], 0.01) for name in SCORES if point["scores"] and point["scores"][name] is not None]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None


def values_of(point):
    """What formulas and orders know of a point; None: not known."""
    told = point["accesses"] if point["accesses"] and point["accesses"]["chunks"] > 0 else {}
    return {"bytes": point["bytes"], "count": point["allocations"], "peak": point["peak_bytes"], "peak_count": point["peak_chunks"],
            "live": point["live_bytes"], "live_count": point["live_chunks"], "reads": told.get("reads"), "writes": told.get("writes"),
            "touched": told.get("bytes_touched"), **{name: point["scores"][name] for name in SCORES}, "score": point["score"],
            "severity": point["severity"]}


def severity(folder):
    """The paper's indicator: twelve steps of the geometric mean, from blue to red."""
    steps, colours = set(), {}
    for seed in range(12):
        for point in ask(make(folder / "a.pa", seed, *(["accesses"] if seed % 3 else [])))["points"]:
            mean = mean_of(point)
            equal(point["score"], mean, "the mean of scores", 1e-9)
            near = abs((1 - mean) * COLOURS - round((1 - mean) * COLOURS)) < 1e-6
            expected = min(math.floor((1 - mean) * COLOURS) + 1, COLOURS)
            check(near or point["severity"] == expected, f"severity {point['severity']} of a mean of {mean}, expected {expected}")
            colours.setdefault(point["severity"], set()).add(point["severity_colour"])
            steps.add(point["severity"])
    check(len(steps) > 4, f"points of several steps: {steps}")
    check(all(len(of) == 1 for of in colours.values()) and len(set.union(*colours.values())) == len(colours), f"a colour for each step: {colours}")


def orders(folder):
    """Amounts come with the greatest first, scores with the lowest, and what is not known is last."""
    for words in (["accesses", "told"], ["accesses"], []):
        path = make(folder / "a.pa", 20 + len(words), *words)
        for name in values_of(ask(path)["points"][0]):
            points = ask(path, "--sort", name)["points"]
            known = [values_of(point)[name] for point in points if values_of(point)[name] is not None]
            equal(known, sorted(known, reverse=name not in (*SCORES, "score")), f"points by {name}")
            equal([value is None for value in (values_of(point)[name] for point in points)],
                  [False] * len(known) + [True] * (len(points) - len(known)), f"by {name}, what is not known is last")
            check(f"Allocation points by" in tool("report", "--sort", name, path)[0], f"text by {name}")


def formula(source, depth):
    names = ["bytes", "count", "peak", "live", "reads", "touched", *SCORES, "score", "severity"]
    if depth == 0 or source.random() < 0.2:
        return source.choice(names) if source.random() < 0.7 else f"{source.uniform(0, 20):.3f}"
    one, other = formula(source, depth - 1), formula(source, depth - 1)
    return source.choice([f"{one} + {other}", f"({one} - {other})", f"({one}) * ({other})", f"{one} / ({other})", f"-({one})", f"min({one}, {other})",
                          f"max({one}, {other})", f"log({one})", f"{one} - {other} - {one}"])


def evaluate(text, values):
    def guarded(function):
        return lambda *numbers: math.nan if any(math.isnan(n) for n in numbers) else function(*numbers)
    names = {**{name: math.nan if value is None else float(value) for name, value in values.items()}, "min": guarded(min), "max": guarded(max),
             "log": lambda n: math.log(n) if n > 0 else math.nan}
    try:
        value = eval(text, {"__builtins__": {}}, names)
    except (ZeroDivisionError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def formulas(folder):
    source = random.Random(5)
    path = make(folder / "a.pa", 30, "accesses", "told")
    for _ in rounds(20):
        texts = [formula(source, 4) for _ in range(20)]
        words = [word for i, text in enumerate(texts) for word in ("--score", f"own_{i} = {text}")]
        for point in ask(path, *words, "--sort", "own_3")["points"]:
            for i, text in enumerate(texts):
                ours, expected = point["custom_scores"][f"own_{i}"], evaluate(text, values_of(point))
                # Figures of the JSON have 12 digits: differences of nearly equal ones have fewer.
                same = (ours is None) == (expected is None) and (ours is None or math.isclose(ours, expected, rel_tol=1e-6, abs_tol=1e-6 * point["bytes"]))
                check(same, f"{text}: {ours}, expected {expected} of {values_of(point)}")
    same = ask(path, "--score", "a = bytes / 2KB + 50%", "--score", "b = bytes / 2048 + 0.5", "--score", "c = bytes/1.5MiB*7%",
               "--score", "d = bytes / 1572864 * 0.07")["points"][0]["custom_scores"]
    equal((same["a"], same["c"]), (same["b"], same["d"]), "units in formulas")
    points = ask(path, "--score", "waste = 1 - touched / bytes", "--sort", "waste")["points"]
    known = [point["custom_scores"]["waste"] for point in points if point["custom_scores"]["waste"] is not None]
    check(len(known) > 3 and known == sorted(known), f"points by a score of one's own: {known}")
    for wrong in ("x", "x =", "= 1", "x = 1 +", "x = (1", "x = nothing", "bytes = 1", "x = 1 2", "x = min(1)", "x = log(1, 2)", "x = 1e999", "min = 3", "x = 0x10", "x = bytes / 1M", "x = bytes / 1K", "x = 1Q", "x = 1e",
                  "x = 1%%", "x = 1ms", "x = 2bytes", "x = " + "(" * 200,
                  "x = " + "-" * 200 + "1", "3x = 1"):
        done = run_tool("report", "--score", wrong, path)
        check(done.returncode == 2 and "--score:" in done.stderr, f"{wrong}: status {done.returncode}, {done.stderr}")
    done = run_tool("report", "--score", "x = 1", "--score", "x = 2", path)
    check(done.returncode == 2 and "same name" in done.stderr, f"two scores of one name: {done.stderr}")
    odd = ask(path, "--score", "a = min(1, count / 0)", "--score", "b = 1 / (1 / 0)", "--score", "c = log(0) * 0",
              "--score", "d = " + " + ".join(["2 * -1"] * 200))["points"][0]["custom_scores"]
    equal(odd, {"a": None, "b": None, "c": None, "d": -400}, "divisions by 0, and many signs")
    check(run_tool("report", "--sort", "colour", path).returncode == 2, "an order that there is not")


def asked(folder):
    """An expression about scores holds for the chunks of points with these scores, whatever else is asked."""
    path = make(folder / "a.pa", 40, "accesses", "told")
    fields = {"lifetime_score": "lifetime", "usage": "usage", "useful_lifetime": "useful_lifetime", "score": "score", "severity": "severity"}
    everything = ask(path)["points"]
    several = 0
    for field, name in fields.items():
        known = sorted(values_of(point)[name] for point in everything if values_of(point)[name] is not None)
        limit = known[len(known) // 2]
        for sign, holds in (("<", lambda v: v < limit), (">=", lambda v: v >= limit)):
            expected = {point["id"]: point["allocations"] for point in everything if values_of(point)[name] is not None and holds(values_of(point)[name])}
            text = f"{field} {sign} {limit!r}"
            ours = {point["id"]: point["allocations"] for point in ask(path, "--where", text)["points"]}
            check(set(ours) ^ set(expected) <= {p["id"] for p in everything if values_of(p)[name] is not None and abs(values_of(p)[name] - limit) < 1e-9},
                  f"{text}: {sorted(ours)}, expected {sorted(expected)}")
            several += len(expected)
            for command in ("leaks", "mprof", "excess", "timeline", "flame", "advise"):
                tool(command, "--where", text, path)
    check(several > 20, "there are points of all kinds")
    both = ask(path, "--where", "severity >= 6 and size > 100", "--by", "function")
    check(all(point["allocations"] > 0 for point in both["points"]), "with other fields and a key")
    # Without access data usage is not known, and neither is what is asked of it.
    plain = make(folder / "b.pa", 41)
    check(not ask(plain, "--where", "usage < 1.0")["points"] and not ask(plain, "--where", "usage >= 0")["points"], "what is not known holds for nothing")


main(severity=severity, orders=orders, formulas=formulas, asked=asked)
