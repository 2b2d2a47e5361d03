#!/usr/bin/env python3
"""The analyses' library: answers that are given up in the middle, and programs whose locale writes numbers with a comma."""
import json
import os
import subprocess

from support import MAKER, check, equal, main, tool

ASKING = os.path.join(os.environ["PROFALLOC_BUILD_DIR"], "tests/analyze/asking")
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:exitcode=99"}


def ask(*words, **environment):
    done = subprocess.run([ASKING, *map(str, words)], capture_output=True, text=True, env={**ENVIRONMENT, **environment})
    check(done.returncode == 0, f"asking {words}: status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-3000:]}")
    return done.stdout


def make(path, *words):
    subprocess.run([MAKER, *words[:1], path, *words[1:]], check=True, stdout=subprocess.DEVNULL)
    return path


def given_up(folder):
    """Work that is given up comes back as ECANCELED, whenever that is; the session answers the next time as if nothing had been."""
    out = ask("cancel", make(folder / "a.pa", "ended", "3000", "1", "accesses", "maps"), make(folder / "b.pa", "killed", "500", "2"))
    equal(len(out.splitlines()), 8, "analyses that were given up")


def comma(folder):
    """JSON has points, and expressions are read with points, whatever the program that asks has set."""
    trace = make(folder / "a.pa", "ended", "3000", "3", "accesses")
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"], check=True, capture_output=True)
    answers = []
    for environment in ({"LC_ALL": "C"}, {"LC_ALL": "de_DE.UTF-8", "LOCPATH": str(folder)}):
        first, rest = ask("where", "lifetime < 0.5us or coverage < 0.3", trace, **environment).split("\n", 1)
        answers.append((first, rest))
    equal([first for first, _ in answers], ["0.5", "0,5"], "the locales of the program")
    equal(answers[1][1], answers[0][1], "the report in a locale with commas")
    check(json.loads(answers[1][1])["totals"]["allocations"] > 0, "there is something to tell")


def by_id(text):
    return json.loads(text.split("\n", 1)[1])


def groups(folder):
    """Named groups leave the others out of everything, and sets are of all chunks all the same, as if an expression had named them."""
    trace = make(folder / "a.pa", "many", "20000", "4", "points=40")
    for name in [point["name"] for point in json.loads(tool("report", "--json", "--by", "function", trace)[0])["points"]][:4]:
        ours = by_id(ask("group", name, trace))
        words = ["--by", "function", "--where", "top 3 by bytes", "--where", f"at_function = {name}"]
        theirs = json.loads(tool("report", "--json", *words, trace)[0])
        for key in ("totals", "live", "peak", "allocation_time", "threads", "remarks", "sizes"):
            equal(ours[key], theirs[key], f"{key} of the group {name}")
        equal([(p["name"], p["allocations"]) for p in ours["points"] if p["allocations"]], [(p["name"], p["allocations"]) for p in theirs["points"]],
              f"points of the group {name}")
    nobody = by_id(ask("group", "nobody", trace))
    check(nobody["totals"]["allocations"] == 0 and any("no chunk" in text for text in nobody["remarks"]), "a group that is not there")


def ranges(folder):
    """A range of time is chunks that were alive in it."""
    trace = make(folder / "a.pa", "ended", "3000", "5")
    for ns in (3000, 10000, 30000):
        ours = by_id(ask("range", ns, trace))
        theirs = json.loads(tool("report", "--json", "--where", f"died >= {ns}ns and born <= {2 * ns}ns", trace)[0])
        equal(ours, theirs, f"from {ns} ns on")
        check(0 < ours["totals"]["allocations"] < 3000, "some chunks are not in it")
    for wrong in ("-1", "nan", "inf"):
        done = subprocess.run([ASKING, "range", wrong, trace], capture_output=True, text=True, env=ENVIRONMENT)
        check(done.returncode == 1 and "range of time" in done.stderr, f"a range that is none: {done.stderr}")


def gone(folder):
    """A trace that can no longer be opened is left out, which is said once; all else is as if it had not been given."""
    for where in ("size > 0", "severity >= 1", "top 5 by bytes", "severity >= 1 and size > 1G"):
        traces = [make(folder / f"{i}.pa", "ended", "300", str(10 + i), f"later={1000 * i}", f"pid={100 + i}", "accesses") for i in range(20)]
        ours = by_id(ask("gone", where, *traces))
        theirs = json.loads(tool("report", "--json", "--where", where, *traces[1:])[0])
        equal(len(ours.pop("missing")), 1, f"{where}: what is missing")
        check(not ours.pop("complete") and theirs.pop("complete") and not theirs.pop("missing"), f"{where}: the other is complete")
        for key in theirs:
            equal(ours[key], theirs[key], f"{where}: {key}")


main(gone=gone, given_up=given_up, comma=comma, groups=groups, ranges=ranges)
