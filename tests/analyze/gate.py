#!/usr/bin/env python3
"""profalloc gate: limits against a reference, exit statuses, saved baselines and hostile ones, SARIF, and a program that leaks."""
import json
import os
import random
import resource
import subprocess

import sarif
import support
from support import check, equal, make, stack_number, tool

LIMITS = {"max-peak": "peak", "max-bytes": "bytes", "max-count": "count", "max-live": "live"}
POINT_LIMITS = {"max-point-peak": "peak", "max-point-bytes": "bytes", "max-point-count": "count", "max-point-live": "live"}


def processor_time():
    """Of all that was run so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime



def run(*arguments):
    """The tool's status and output, whatever they are."""
    done = support.run_tool(*arguments)
    return done.returncode, done.stdout, done.stderr


def sums(chunks):
    _, when = support.peak_of(chunks)
    by = {}
    for c in chunks:
        for key in (None, c.stack):
            values = by.setdefault(key, dict.fromkeys(("bytes", "count", "peak", "live"), 0))
            values["bytes"] += c.size
            values["count"] += 1
            values["peak"] += c.size if c.born <= when and (not c.died or when < c.died) else 0
            values["live"] += 0 if c.died else c.size
    return by


NONE = dict.fromkeys(("bytes", "count", "peak", "live"), 0)


def holds(base, new, limit):
    allowed = base * float(limit[:-1]) / 100 if limit.endswith("%") else float(limit)
    return new - base <= allowed * (1 + 1e-9)


def leaks_of(path):
    """Bytes that leaks calls a leak and --fail counts, by stack."""
    data = json.loads(tool("leaks", "--json", path)[0])
    return {stack_number(p): p["leaked_bytes"] for p in data["points"] if p["fails"]}


def limits(folder):
    """Random limits of random traces: each verdict, and the status of all together."""
    dice = random.Random(5)
    statuses, leaking = set(), set()
    for seed in range(25):
        sizes = [dice.choice((20, 300, 310, 1000)) for _ in range(2)]
        a, b = (sums(make("ended", folder / f"{name}.pa", size, 2 * seed + i, "slow=100000")) for i, (name, size) in enumerate(zip("ab", sizes)))
        asked = {name: dice.choice(("0", "5%", "20.5%", "100%", "1000", "250000", "900000000"))
                 for name in dice.sample([*LIMITS, *POINT_LIMITS, "max-live-growth", "max-leak"], 5)}
        floors = {"bytes": dice.choice((0, 1000, 65536)), "count": dice.choice((0, 3, 100))}
        words = [f"--{name}={value}" for name, value in asked.items()]
        status, out, err = run("gate", "--json", "--top", 100, *words, "--min-bytes", floors["bytes"], "--min-count", floors["count"], folder / "a.pa", folder / "b.pa")
        check(status in (0, 3), f"status {status}: {err}")
        data = json.loads(out)
        equal((data["schema"], data["version"]), ("profalloc-gate", 2), "schema")
        found = {limit["name"]: limit for limit in data["limits"]}
        equal(set(found), set(asked), "limits that are told")
        stacks = set(a) | set(b)
        stacks.discard(None)
        fine = True
        for name, value in asked.items():
            if name in LIMITS:
                m = LIMITS[name]
                expected = holds(a[None][m], b[None][m], value)
                equal((found[name]["base"], found[name]["new"]), (a[None][m], b[None][m]), name)
            elif name == "max-live-growth":
                grown = sum(max(0, b.get(s, NONE)["live"] - a.get(s, NONE)["live"]) for s in stacks)
                equal(found[name]["difference"], grown, "what grew")
                expected = grown <= (a[None]["live"] * float(value[:-1]) / 100 if value.endswith("%") else float(value))
            elif name == "max-leak":
                leaked = [leaks_of(folder / f"{name}.pa") for name in "ab"]
                more = {s: min(leaked[1].get(s, 0) - leaked[0].get(s, 0), b.get(s, NONE)["live"] - a.get(s, NONE)["live"]) for s in stacks}
                total = sum(max(0, bytes_more) for bytes_more in more.values())
                equal((found[name]["base"], found[name]["new"], found[name]["difference"]), (*(sum(l.values()) for l in leaked), total), "what leaked")
                expected = total <= (sum(leaked[0].values()) * float(value[:-1]) / 100 if value.endswith("%") else float(value))
                if not expected:
                    equal([(stack_number(p), p["leaked"]["difference"]) for p in found[name]["points"]],
                          sorted(((s, n) for s, n in more.items() if n > 0), key=lambda point: -point[1]), "where it leaked")
                leaking.add((sum(leaked[1].values()) > 0, expected))
            else:
                m = POINT_LIMITS[name]
                floor = floors["count" if m == "count" else "bytes"] if value.endswith("%") else -1
                pairs = [(a.get(s, NONE)[m], b.get(s, NONE)[m]) for s in stacks]
                beyond = [p for p in pairs if p[1] - p[0] >= floor and not holds(*p, value)]
                equal(found[name]["exceeding"], len(beyond), f"points beyond {name} {value}")
                equal(sorted((p[m]["base"], p[m]["new"]) for p in found[name]["points"]), sorted(beyond), f"which are beyond {name}")
                expected = not beyond
            equal(found[name]["verdict"], "within" if expected else "exceeded", f"{name} {value} of {found[name]}")
            fine = fine and expected
        equal((status, data["passed"]), (0 if fine else 3, fine), f"status with {asked}")
        statuses.add(status)
        text_status, text, _ = run("gate", *words, "--min-bytes", floors["bytes"], "--min-count", floors["count"], folder / "a.pa", folder / "b.pa")
        equal(text_status, status, "status of the text")
        check(("All limits hold." in text) == fine and ("EXCEEDED" in text) != fine, text)
    equal(statuses, {0, 3}, "both happen in this test")
    check((True, False) in leaking and len(leaking) > 1, f"leaks that are and are not beyond a limit: {leaking}")


def orders(folder):
    """--sort is of the points behind limits, whichever these are of."""
    a, b = folder / "a.pa", folder / "b.pa"
    make("ended", a, 300, 1)
    make("ended", b, 3000, 2, "slow=1000")  # long enough for leaks
    plain = {}
    for m in (None, "bytes", "count", "peak", "peak_count", "live", "live_count"):
        words = ("--sort", m) if m else ()
        limits = json.loads(run("gate", "--json", "--top", 100, *words, "--max-bytes=0", "--max-leak=0", "--max-point-live=0", a, b)[1])["limits"]
        equal([limit["verdict"] for limit in limits], ["exceeded"] * 3, "limits")
        for limit in limits:
            own = {"max-leak": lambda p: p["leaked"]}.get(limit["name"], lambda p: p[limit["metric"]])
            order = [(p[m] if m else own(p))["difference"] for p in limit["points"]]
            check(len(order) > 1 and order == sorted(order, reverse=True), f"{limit['name']} by {m}: {order}")
            names = sorted(p["identity"] for p in limit["points"])
            equal(names, plain.setdefault(limit["name"], names), "the same points")
    check("--sort takes bytes" in run("gate", "--sort", "colour", "--max-bytes=0", a, b)[2], "what it takes")
    tool("gate", "--sort", "colour", "--max-bytes=0", a, b, status=2)


def unsure(folder):
    """Samples, and runs that differ: a limit is exceeded only beyond what is unsure."""
    make("ended", folder / "a.pa", 300, 1, "sampled")
    make("ended", folder / "b.pa", 300, 2, "sampled")
    make("ended", folder / "big.pa", 3000, 3, "sampled")
    seen = set()
    for seed in range(2, 12):
        make("ended", folder / "b.pa", 300, seed, "sampled")
        status, out, _ = run("gate", "--json", "--max-bytes", "0", folder / "a.pa", folder / "b.pa")
        limit = json.loads(out)["limits"][0]
        expected = "within" if limit["difference"] <= 0 else "exceeded" if limit["difference"] > limit["margin"] else "not significant"
        equal((limit["verdict"], status), (expected, 3 if expected == "exceeded" else 0), str(limit["difference"]))
        check(limit["margin"] > 0, "there is a margin")
        seen.add(expected)
    check(len(seen) > 1, f"verdicts {seen}")
    status, out, _ = run("gate", "--max-bytes", "10%", folder / "a.pa", folder / "big.pa")
    equal(status, 3, "ten times as much is beyond")
    paths = [folder / f"{i}.pa" for i in range(8)]
    for i, path in enumerate(paths):
        make("ended", path, 300 + 40 * (i % 4), i)
    equal(run("gate", "--max-count", "0", *paths[:4], "--", *paths[4:])[0], 0, "the same spread on both sides")
    equal(run("gate", "--max-count", "0", paths[0], paths[3])[0], 3, "single runs are taken as they are")


def baselines(folder):
    """A saved baseline is as good as its traces."""
    paths = {name: folder / f"{name}.pa" for name in "abs"}
    make("ended", paths["a"], 2000, 1)
    make("ended", paths["b"], 1500, 2)
    make("ended", paths["s"], 1500, 3, "sampled")
    base = folder / "base.txt"
    for name in "as":
        tool("gate", "--save", base, paths[name])
        for other in "abs":
            ours, theirs = (json.loads(tool("diff", "--json", first, paths[other])[0]) for first in (base, paths[name]))
            for data in (ours, theirs):
                for point in data["points"]:
                    for frame in point["stack"]:
                        frame["module"] = frame["module"] and os.path.basename(frame["module"])
                for side in data["base"]:
                    side["notes"] = []
            equal(ours, theirs, f"{name} saved, against {other}")
    tool("gate", "--save", base, paths["a"], paths["b"])
    ours, theirs = (json.loads(tool("diff", "--json", *first, "--", paths["s"])[0]) for first in ((base,), (paths["a"], paths["b"])))
    equal((ours["totals"], len(ours["base"])), (theirs["totals"], 2), "two runs saved")
    tool("gate", "--save", folder / "by.txt", "--by", "function", paths["a"])
    tool("gate", "--by", "function", "--max-bytes", "0", folder / "by.txt", paths["a"])
    _, said = tool("gate", "--max-bytes", "0", folder / "by.txt", paths["a"], status=2)
    check("cannot be compared" in said, said)
    tool("gate", "--save", folder / "absent" / "base.txt", paths["a"], status=1)


NAMED = """#include <stdlib.h>
void *volatile sink;
__attribute__((noinline)) int odd(int n) __asm__("odd\\377name");
__attribute__((noinline)) int back(int n);
int odd(int n)
{
    sink = malloc(1000);
    free(sink);
    return n + 1;
}
int back(int n)
{
    sink = malloc(100);
    free(sink);
    return n + 1;
}
int main(void)
{
    return odd(1) + back(1) == 0;
}
"""


def names(folder):
    """Names that are no UTF-8, and such as have what baselines mark them by: read back as they were, and the file is UTF-8."""
    if not os.path.exists(os.environ["PROFALLOC_LIB"]):
        return
    place = os.fsencode(folder) + b"/od\xffd \\x41 \xc3\xa9"
    os.mkdir(place)
    (folder / "p.c").write_text(NAMED)
    subprocess.run([os.environ["CC"], "-O1", "-o", place + b"/pro\xfegram", folder / "p.c"], check=True)
    trace, base = place + b"/t.pa", folder / "base.txt"
    subprocess.run([support.TOOL, "run", "-o", trace, "--", place + b"/pro\xfegram"], check=True, capture_output=True)
    subprocess.run([support.TOOL, "gate", "--save", base, "--where", b'function != "\xfd"', trace], check=True, capture_output=True)
    saved = base.read_bytes().decode()  # or this fails
    for part in ("odd\\xffname", "pro\\xfegram", "od\\xffd \\x5cx41 é", "where function != \"\\xfd\""):
        check(part in saved, f"{part} in {saved}")
    done = subprocess.run([support.TOOL, "diff", "--json", "--where", b'function != "\xfd"', base, trace], check=True, capture_output=True)
    data = json.loads(done.stdout.decode())
    equal((data["points"], data["same"]["points"]), ([], 2), "points of the baseline are those of the trace")
    again = folder / "again.txt"
    tool("gate", "--save", again, base)
    equal(again.read_bytes(), base.read_bytes(), "saved from what was read")
    subprocess.run([support.TOOL, "gate", "--by", "module", "--max-bytes=0", "--sarif", folder / "o.sarif", trace, trace], check=True, capture_output=True)
    check_sarif(folder / "o.sarif", ["max-bytes"])


def statuses(folder):
    a, cut = folder / "a.pa", folder / "cut.pa"
    make("ended", a, 2000, 1)
    make("ended", cut, 2000, 2)
    make("ended", folder / "empty.pa", 0, 3)
    cut.write_bytes(cut.read_bytes()[:-1000])
    (folder / "none.pa").write_text("no trace")
    _, said = tool("gate", "--max-peak", "5%", folder / "missing.txt", a, status=2)
    check("missing.txt" in said and "--save" in said, said)
    _, said = tool("gate", "--max-peak", "5%", a, cut, status=1)
    check("--allow-incomplete" in said and "MISSING" in said, said)
    tool("gate", "--max-bytes", "1000%", "--allow-incomplete", a, cut)
    tool("gate", "--save", folder / "x.txt", cut, status=1)
    check(not (folder / "x.txt").exists(), "nothing is saved of a trace that is not complete")
    tool("gate", "--max-peak", "0", "--max-leak", "0", folder / "empty.pa", folder / "empty.pa")
    tool("gate", "--max-peak", "5%", folder / "empty.pa", a, status=3)
    tool("gate", "--max-peak", "5%", a, folder / "empty.pa")
    for words in ((a, a), ("--max-peak", "5%", a), ("--max-peak", "5%", a, folder / "none.pa"), ("--max-peak", "5%", a, a, a), ("--max-peak", "-5%", a, a),
                  ("--max-peak", "5x", a, a), ("--max-peak", "%", a, a), ("--max-count", "5KiB", a, a), ("--max-peak", "", a, a),
                  ("--min-bytes", "few", a, a), ("--max-colour", "5", a, a), ("--max-peak", "nan", a, a)):
        tool("gate", *words, status=2)
    for value in ("0", "5%", "2.5%", "10", "10K", "10KiB", "10KB", "1M", "1g", "1T", "7B", "1e5"):
        tool("gate", "--max-peak", value, a, a)
    tool("gate", "--max-peak", "5%", "--sarif", folder / "absent" / "x", a, a, status=1)
    tool("gate", "--help")


def hostile(folder):
    """A baseline may be anything: an answer or a sentence, never a crash."""
    a, base, bad = folder / "a.pa", folder / "base.txt", folder / "bad.txt"
    make("ended", a, 500, 1, "sampled")
    tool("gate", "--save", base, a)
    whole = base.read_bytes()
    lines = whole.split(b"\n")
    dice = random.Random(9)

    def refused(data, what):
        bad.write_bytes(data)
        status, out, said = run("gate", "--max-peak", "5%", bad, a)
        equal(status, 2, f"{what}: {out} {said}")
        check("bad.txt" in said, said)

    for size in [0, 5, 17, 18, 19, 20] + dice.sample(range(21, len(whole) - 1), 60):
        refused(whole[:size], f"cut to {size}")
    refused(whole + b"more\n", "more behind it")
    refused(b"profalloc-summary 1\n" + whole.split(b"\n", 1)[1], "another version")
    for size in (10, 1000, 100000):
        refused(b"profalloc-summary 2\n" + dice.randbytes(size), "random bytes")
    for number in (b"1e999", b"nan", b"inf", b"-1", b"1e31", b"0x10", b"9" * 5000, b"", b"1 2 3"):
        refused(whole.replace(b"total bytes ", b"total bytes " + number + b" ", 1), f"total bytes {number}")
        refused(whole.replace(b"\nend ", b"\nend 9" + number, 1), f"end {number}")
    for line in (b"point 99999999999 0 x", b"point 1 77 x", b"frame 2 1 1\tx\ty\tz", b"frame 0 1 1\tx\ty", b"frame 0 1 1\tx\ty\tz", b"frame 0 1 1\tx\ty\tz\tb\tmore", b"value colour 1 0", b"file \\y", b"file \\x", b"file \\x4", b"file \\x4g", b"file \\x00", b"leaked", b"leaked -1", b"leaked 1 2", b"sizes bytes 64 1 1", b"sizes count 3 1 4", b"sizes bytes 3 1", b"sizes bytes 3 1 -4", b"sizes",
                 b"score lifetime -1 1", b"score colour 1 1", b"by colour", b"unknown", b"run 1 1 complete", b"\0", b"end 0", b"runs 1"):
        for place in (2, 3, 12, len(lines) - 3):
            refused(b"\n".join(lines[:place] + [line] + lines[place:]), f"{line} in line {place}")
    bad.write_bytes(whole.replace(b"\nfile ", b"\nfile " + b"\\xff" * 250000 + b"\nfile ", 1))
    began = processor_time()
    equal(run("gate", "--max-peak", "5%", bad, a)[0], 0, "a line of many marks")
    check(processor_time() - began < 20, "which takes no time")
    first = next(i for i, line in enumerate(lines) if line.startswith(b"point"))
    refused(b"\n".join(lines[:first] + lines[first:-3] + lines[first:-3] + lines[-3:]), "points twice")
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(dice.choice((1, 3, 30))):
            data[dice.randrange(len(data))] = dice.randrange(256)
        bad.write_bytes(data)
        status, _, said = run("gate", "--max-peak", "5%", bad, a)
        check(status in (0, 2, 3), f"status {status}: {said}")


# It takes its time: what is born all along is a leak, what is born at once is not.
OLD = """#include <stdlib.h>
#include <unistd.h>
void *volatile sink;
__attribute__((noinline)) static int work(int n)
{
    sink = malloc(1000);
    if (n %% 2 == %d)
        free(sink); /* the leak */
    usleep(100);
    return n + 1;
}
int main(void)
{
    int n = 0;
    while (n < 400)
        n = work(n);
    return n == 0;
}
"""


def check_sarif(path, rules):
    """What SARIF 2.1.0 requires, and what a gate says beyond it."""
    data = json.loads(path.read_bytes().decode())
    sarif.check_log(data)
    check(data["$schema"].endswith("sarif-2.1.0.json") and len(data["runs"]) == 1, "schema and runs")
    one = data["runs"][0]
    driver = one["tool"]["driver"]
    equal((driver["name"], [r["id"] for r in driver["rules"]]), ("profalloc", rules), "rules")
    check(all(r["shortDescription"]["text"] for r in driver["rules"]), "descriptions")
    for result in one["results"]:
        equal(result["level"], "error", "level")
        check(all(result[m]["profallocIdentity/v1"] for m in ("fingerprints", "partialFingerprints")), "fingerprints")
        check(all(l["message"]["text"] for l in result.get("relatedLocations", [])), "related ones say why")
        check(all(l["logicalLocations"] for l in sarif.locations_of(result)), "each place has a name")
    return one["results"]


TWINS = """#include <stdlib.h>
#define KEEP __attribute__((noinline))
void *volatile sink;
KEEP static int work(int n)
{
    sink = malloc(1000);
    return n + 1;
}
KEEP static int one(int n)
{
    return work(n) + 1;
}
KEEP static int other(int n)
{
    return work(n) + 2;
}
int main(int argc, char **argv)
{
    return argc < 2 ? 0 : one(1) + other(1) == 0;
}
"""


def sarif_twins(folder):
    """Two points that have all figures and the function in common are two places still."""
    if not os.path.exists(os.environ["PROFALLOC_LIB"]):
        return
    (folder / "t.c").write_text(TWINS)
    subprocess.run([os.environ["CC"], "-g", "-O1", "-o", folder / "t", folder / "t.c"], check=True)
    tool("run", "-o", folder / "a.pa", "--", folder / "t")
    tool("run", "-o", folder / "b.pa", "--", folder / "t", "more")
    tool("gate", "--max-bytes=0", "--sarif", folder / "o.sarif", folder / "a.pa", folder / "b.pa", status=3)
    results = check_sarif(folder / "o.sarif", ["max-bytes"])
    equal(len(results[0]["relatedLocations"]), 2, "places")


def sarif_checked(folder):
    """The checker of SARIF finds what is wrong."""
    make("ended", folder / "a.pa", 300, 1)
    make("ended", folder / "b.pa", 3000, 2)
    tool("gate", "--max-peak=0", "--max-point-count=0", "--sarif", folder / "o.sarif", folder / "a.pa", folder / "b.pa", status=3)
    whole = (folder / "o.sarif").read_text()
    sarif.check_log(json.loads(whole))

    def spoil(what):
        log = json.loads(whole)
        run = log["runs"][0]
        results = run["results"]
        what(log, run, results[0], results[-1])
        check(sarif.wrong_log(log), "a spoilt log is taken for right")

    def artifact(result):
        return next(l["physicalLocation"]["artifactLocation"] for l in sarif.locations_of(result) if "physicalLocation" in l)

    for what in (lambda log, run, first, last: log.pop("version"), lambda log, run, first, last: log.update(version="2.0.0"),
                 lambda log, run, first, last: log.update(more=1), lambda log, run, first, last: run.pop("tool"),
                 lambda log, run, first, last: run["tool"]["driver"].pop("name"), lambda log, run, first, last: run.update(columnKind="bytes"),
                 lambda log, run, first, last: run["invocations"][0].update(executionSuccessful="yes"), lambda log, run, first, last: run.update(results={}),
                 lambda log, run, first, last: run["tool"]["driver"]["rules"].append(run["tool"]["driver"]["rules"][0]),
                 lambda log, run, first, last: run["tool"]["driver"]["rules"].reverse(), lambda log, run, first, last: first.update(ruleIndex=2),
                 lambda log, run, first, last: first.update(ruleIndex=True), lambda log, run, first, last: last.pop("message"),
                 lambda log, run, first, last: last["message"].update(text=None), lambda log, run, first, last: last.update(level="fatal"),
                 lambda log, run, first, last: first["relatedLocations"].append(first["relatedLocations"][0]),
                 lambda log, run, first, last: first["relatedLocations"][0].update(id=first["relatedLocations"][1]["id"]),
                 lambda log, run, first, last: first["stacks"][0].pop("frames"), lambda log, run, first, last: first["stacks"][0]["frames"][0].update(module=None),
                 lambda log, run, first, last: first["fingerprints"].update(x=1), lambda log, run, first, last: artifact(last).update(uri="a b.c"),
                 lambda log, run, first, last: artifact(last).update(uri="a%2.c"), lambda log, run, first, last: artifact(last).update(uriBaseId="NONE"),
                 lambda log, run, first, last: artifact(last).update(uri="/a.c", uriBaseId="SRCROOT"), lambda log, run, first, last: artifact(last).update(uri="x:y.c"),
                 lambda log, run, first, last: run["originalUriBaseIds"]["SRCROOT"].update(uri="file:///a"),
                 lambda log, run, first, last: last["locations"][0].update(physicalLocation={"artifactLocation": {"uri": "file:///a.c"}, "region": {"startLine": 0}}),
                 lambda log, run, first, last: last["locations"][0].update(physicalLocation={"region": {"startLine": 1}})):
        spoil(what)


def sarif_made(folder):
    make("ended", folder / "a.pa", 300, 1)
    make("ended", folder / "b.pa", 3000, 2, "slow=1000")  # long enough for leaks
    names = ["max-peak", "max-bytes", "max-leak", "max-point-count"]
    words = [f"--{name}=0" for name in names]
    tool("gate", *words, "--sarif", folder / "o.sarif", folder / "a.pa", folder / "b.pa", status=3)
    results = check_sarif(folder / "o.sarif", names)
    equal({r["ruleId"] for r in results}, set(names), "what is exceeded")
    equal(sum(r["ruleId"] == "max-point-count" for r in results), 12, "a result for each point")
    prints = [r["fingerprints"]["profallocIdentity/v1"] for r in results]
    equal(len(set(prints)), len(prints), "fingerprints differ")
    tool("gate", *words, "--by", "size", "--sarif", folder / "o.sarif", folder / "a.pa", folder / "b.pa", status=3)
    check_sarif(folder / "o.sarif", names)
    tool("gate", *words, "--sarif", folder / "o.sarif", folder / "a.pa", folder / "a.pa")
    equal(check_sarif(folder / "o.sarif", names), [], "nothing is exceeded")


def leak(folder):
    """A program that begins to leak, in a folder whose name has a space: the gate fails, and says where."""
    if not os.path.exists(os.environ["PROFALLOC_LIB"]):
        return
    prints = []
    traces = {}
    for name, text in (("old", OLD % 9), ("new", OLD % 1), ("next", "\n\n\n" + OLD % 1)):
        text = text.replace("if (n % 2 == 9)\n        ", "") if name == "old" else text
        place = folder / f"{name} build"
        place.mkdir()
        (place / "program.c").write_text(text)
        subprocess.run([os.environ["CC"], "-g", "-O2", "-o", place / "program", place / "program.c"], check=True)
        traces[name] = place / "t.pa"
        tool("run", "-o", traces[name], "--", place / "program")
    base = folder / "base.txt"
    tool("gate", "--save", base, traces["old"])
    tool("gate", "--max-leak", "0", "--max-peak", "0", base, traces["old"])
    for name, more in (("new", 0), ("next", 3)):
        out, _ = tool("gate", "--max-leak", "0", "--max-count", "0", "--max-bytes", "0", "--max-point-live", "10%", "--sarif", folder / "o.sarif", "--source-root", folder,
                      base, traces[name], status=3)
        check("work (program.c" in out and out.count("EXCEEDED") == 2, out)
        results = check_sarif(folder / "o.sarif", ["max-bytes", "max-count", "max-leak", "max-point-live"])
        equal([r["ruleId"] for r in results], ["max-leak", "max-point-live"], "results")
        for result in results:
            place = result["locations"][0]["physicalLocation"]
            equal(place["artifactLocation"], {"uri": f"{name}%20build/program.c", "uriBaseId": "SRCROOT"}, "the file")
            equal(place["region"]["startLine"], 6 + more, "the line of the malloc")
            equal(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "work", "the function")
        prints.append([r["fingerprints"] for r in results])
    equal(prints[0], prints[1], "fingerprints of the next build")
    tool("gate", "--save", base, traces["new"])
    check("\nleaked 200000\n" in base.read_text(), "a baseline has what leaks")
    tool("gate", "--max-leak", "0", base, traces["next"])
    tool("gate", "--max-leak", "0", base, traces["old"])


KEPT = """#include <stdlib.h>
#include <unistd.h>
void *volatile sink;
void *volatile table[400];
int main(void)
{
    for (int i = 0; i < %d; i++)
        table[i] = malloc(1000);
    for (int i = 0; i < 100; i++) {
        sink = malloc(10);
        usleep(500);
        free(sink);
    }
    return 0;
}
"""


def kept(folder):
    """What is set up once and kept is more live, but no leak."""
    if not os.path.exists(os.environ["PROFALLOC_LIB"]):
        return
    traces = []
    for count in (10, 400):
        (folder / f"{count}.c").write_text(KEPT % count)
        subprocess.run([os.environ["CC"], "-g", "-O2", "-o", folder / str(count), folder / f"{count}.c"], check=True)
        traces.append(folder / f"{count}.pa")
        tool("run", "-o", traces[-1], "--", folder / str(count))
    tool("gate", "--max-leak", "0", *traces)
    out, _ = tool("gate", "--max-leak", "0", "--max-live-growth", "0", *traces, status=3)
    check(out.count("EXCEEDED") == 1 and "max-live-growth" in out, out)


def written(folder):
    """What is there and is no file stays what it is; a trace is not written over."""
    make("ended", folder / "t.pa", 100, 1)
    before = (folder / "t.pa").read_bytes()
    for options in (("gate", "--save", folder / "t.pa"), ("gate", "--max-peak", "5%", "--sarif", folder / "t.pa", folder / "t.pa"),
                    ("excess", "--diagram", folder / "t.pa"), ("excess", "--chart", folder / "t.pa")):
        check("not written over" in tool(*options, folder / "t.pa", status=2)[1], f"{options}")
    equal((folder / "t.pa").read_bytes(), before, "the trace")
    (folder / "base").write_text("")
    (folder / "link").symlink_to(folder / "base")
    tool("gate", "--save", folder / "link", folder / "t.pa")
    check((folder / "link").is_symlink() and (folder / "base").stat().st_size > 0, "a link is written through")
    tool("gate", "--max-peak", "5%", folder / "link", folder / "t.pa")
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", folder / "pipe"], stdout=subprocess.PIPE)
    tool("gate", "--save", folder / "pipe", folder / "t.pa")
    equal(reader.communicate()[0], (folder / "base").read_bytes(), "what comes out of a pipe")
    check((folder / "pipe").is_fifo(), "it is a pipe still")
    check("--save compares nothing" in tool("gate", "--save", folder / "b", "--max-peak", "0", folder / "t.pa", status=2)[1], "with a limit")


def dashes(folder):
    """- is standard output, with nothing else on it."""
    a, b, base = folder / "a.pa", folder / "b.pa", folder / "base.txt"
    make("ended", a, 300, 1)
    make("ended", b, 3000, 2)
    tool("gate", "--save", base, a)
    equal(tool("gate", "--save", "-", a, cwd=folder)[0], base.read_text(), "a baseline")
    out, _ = tool("gate", "--max-bytes=0", "--sarif", "-", base, b, status=3, cwd=folder)
    tool("gate", "--max-bytes=0", "--sarif", folder / "o.sarif", base, b, status=3, cwd=folder)
    equal(out, (folder / "o.sarif").read_text(), "SARIF")
    check("both write to standard output" in tool("gate", "--json", "--max-bytes=0", "--sarif", "-", base, b, status=2)[1], "with --json")
    check(not (folder / "-").exists(), "there is no such file")
    tool("gate", "--save", "./-", a, cwd=folder)
    equal((folder / "-").read_bytes(), base.read_bytes(), "a file that is called so")
    for words in (("--save", "-", a), ("--max-bytes=0", "--sarif", "-", base, b)):
        with open("/dev/full", "w") as full:
            done = subprocess.run([support.TOOL, "gate", *words], stdout=full, stderr=subprocess.PIPE, text=True)
        equal((done.returncode, "cannot write" in done.stderr), (1, True), f"a full device: {done.stderr}")
        closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', support.TOOL, "gate", *words], stderr=subprocess.PIPE, text=True)
        equal(closed.returncode, 1, f"no standard output: {closed.stderr}")


support.main(dashes=dashes, written=written, limits=limits, orders=orders, unsure=unsure, baselines=baselines, names=names, statuses=statuses, hostile=hostile, sarif_made=sarif_made, sarif_twins=sarif_twins, sarif_checked=sarif_checked, leak=leak, kept=kept)
