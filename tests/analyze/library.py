#!/usr/bin/env python3
"""The analyses' library: what programs can ask for is what the commands tell, in any environment; answers that are given up in the middle."""
import errno
import json
import os
import re
import struct
import subprocess
from pathlib import Path

from support import MAKER, check, equal, main, make_given, run_tool, tool

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
    points = json.loads(tool("report", "--json", "--by", "function", trace)[0])["points"]
    for name in [point["name"] for point in points if "+0x" not in point["name"]][:4]:  # addresses without a name are no functions
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


def vanishing(folder):
    """A trace that is gone when a late walk needs it is left out of all: advice is that of the others."""
    for what in ("reading", "looking at the peak", "looking at other moments"):
        traces = [make(folder / f"{i}.pa", "ended", "300", str(10 + i), f"later={1000 * i}", f"pid={100 + i}", "accesses") for i in range(20)]
        ours = json.loads(ask("vanish", what, *traces))
        theirs = json.loads(tool("advise", "--json", traces[0], *traces[2:])[0])
        equal(ours.get("unread", ours["missing"]), ours["missing"], f"{what}: what is missing")
        equal(len(ours["missing"]), 1, f"{what}: only what is gone")
        check(not ours["complete"] and theirs["complete"], f"{what}: the other is complete")
        for key in theirs.keys() - {"missing", "complete", "unread"}:
            equal(ours[key], theirs[key], f"{what}: {key}")


def replaced(folder):
    """What the first walk found of a file's blocks is not taken for what another file of the same recording has, whose kinds are others."""
    where = "size > 60 and not function = inlined*"
    for what in ("reading", "looking at the peak"):
        traces = [make(folder / f"{i}.pa", "ended", "3000", str(10 + i), f"later={1000 * i}", f"pid={100 + i}", "accesses") for i in range(20)]
        make(traces[1], "ended", "100000", "11", "later=1000", "pid=101", "accesses")  # more blocks than are read at a time
        other = make(folder / "other", "ended", "100000", "11", "later=1000", "pid=101", "accesses", "sizes")
        first = traces[1].read_bytes()  # recordings are known by their first block
        size = 32 + struct.unpack_from("<I", first, 12)[0]
        other.write_bytes(first[:size] + other.read_bytes()[size:])
        theirs = json.loads(tool("advise", "--json", "--where", where, *traces)[0])
        equal(json.loads(ask("replace", other, where, what, *traces)), theirs, f"advice while a file is replaced, {what}")
        check(theirs["findings"], "there is advice")


def run(*words, status=0, **environment):
    """(standard output, what was said); the status may be 100 and an error number."""
    done = subprocess.run([ASKING, *map(str, words)], capture_output=True, text=True, errors="replace", env={**ENVIRONMENT, **environment})
    check(done.returncode == status, f"asking {words}: status {done.returncode}, expected {status}\n{done.stdout[-500:]}{done.stderr[-3000:]}")
    return done.stdout, done.stderr


def wrong(*words, error=errno.EINVAL):
    """The one sentence that says why."""
    out, said = run(*words, status=100 + error)
    check(out == "" and said.count("\n") == 1 and len(said) > 10, f"{words}: what is said: {said}")
    return said


def words_of(kind, analysis):
    """The words of a list: name, form and meaning."""
    lines = [line.split("\t") for line in run("lists")[0].splitlines()]
    found = [line[2:] for line in lines if line[:2] == [kind, analysis]]
    check(all(len(word) == 3 and word[0] and word[2] for word in found), f"{kind} of {analysis}: {found}")
    equal(len({word[0] for word in found}), len(found), f"{kind} of {analysis}, each once")
    return found


def names_of(kind, analysis):
    return [word[0] for word in words_of(kind, analysis)]


ANALYSES = ("report", "advise", "leaks", "excess", "mprof", "timeline", "flame")


def whole(command, *words):
    """As the command prints it, in ASCII."""
    done = run_tool(command, *words, env={**os.environ, "LC_ALL": "C"})
    check(done.returncode in (0, 3), f"profalloc {command} {words}: {done.stderr}")
    return done.stdout


def lists(folder):
    """Lists have what the commands take, and nothing else; each word of them is taken, and no other."""
    trace = make(folder / "a.pa", "ended", "500", "6", "accesses")
    listed = re.findall(r"^  (\w+) +\S", tool("report", "--help")[0].split("Keys of --by:\n")[1], re.M)
    equal(names_of("keys", "leaks"), listed, "keys")
    for key in listed:
        run("ask", "leaks", "json", f"by={key}", "--", trace)
    for name, form, _ in words_of("fields", "report"):
        value = {"text": " = x", "bytes": " > 1K", "duration": " > 1ms", "time": " > 1ms", "count": " > 1", "share": " > 1%", "flag": ""}[form]
        run("ask", "timeline", "json", f"where={name}{value}", "--", trace)
    check({"size", "function", "live", "born", "usage", "reads"} <= set(names_of("fields", "report")), "fields")
    for analysis in ANALYSES:
        sorts = names_of("sorts", analysis)
        check(len(sorts) > 1, f"orders of {analysis}")
        for sort in sorts:
            ours = run("ask", analysis, "text", f"sort={sort}", "top=2" if analysis not in ("flame", "timeline") else "top=0", "ascii=1", "--", trace)[0]
            top = ("--top", 2) if analysis not in ("flame", "timeline") else ()
            equal(ours, whole(analysis, "--sort", sort, *top, trace), f"{analysis} by {sort}")
        check("sort" in wrong("ask", analysis, "text", "sort=colour", "--", trace), f"{analysis} by colour")
        done = run_tool(analysis, "--sort", "colour", trace)
        check(done.returncode == 2, f"{analysis} --sort colour")
        check(all(re.search(rf"\b{sort}\b", tool(analysis, "--help")[0]) for sort in sorts), f"orders of {analysis} in its usage: {sorts}")
    equal([bool(names_of("metrics", analysis)) for analysis in ANALYSES], [False] * 6 + [True], "what has metrics")
    for metric in names_of("metrics", "flame"):
        at, word = ("=3us", "at=3000") if metric == "at" else ("", "at=0")
        ours = run("ask", "flame", "json", f"metric={metric}", word, "--", trace)[0]
        equal(ours, whole("flame", "--metric", metric + at, "--json", trace), metric)
    check("metric" in wrong("ask", "flame", "json", "metric=colour", "--", trace), "no metric")
    check("at_ns" in wrong("ask", "flame", "json", "metric=at", "at=-1", "--", trace), "no moment")
    check("buckets" in wrong("ask", "timeline", "json", "buckets=100001", "--", trace), "buckets")
    check("by" in wrong("ask", "advise", "json", "by=size", "--", trace), "advice is by stack")
    check("analysis" in wrong("ask", "gate", "json", "--", trace), "a comparison has two sides")


def usual_values(folder):
    """What other analyses take has no effect."""
    trace = make(folder / "a.pa", "ended", "500", "6", "accesses")
    theirs = {"top": ["flame"], "buckets": set(ANALYSES) - {"timeline"}, "metric": set(ANALYSES) - {"flame"}, "at": ANALYSES}
    for word, analyses in theirs.items():
        for analysis in analyses:
            value = "nonsense" if word == "metric" else "3"
            equal(run("ask", analysis, "json", f"{word}={value}", "--", trace)[0], run("ask", analysis, "json", "--", trace)[0], f"{word} of {analysis}")


def many_series(folder):
    """A chart has as many series as it has colours, and what is left as one; data have all that are asked for."""
    trace = make(folder / "a.pa", "many", "20000", "4", "points=60")
    words = ("ask", "timeline", "svg", "by=size", "top=50", "--", trace)
    ours, theirs = run(*words)[0], whole("timeline", "--by", "size", "--top", "50", "--svg", "-", trace)
    equal(ours, theirs, "a chart of 50 groups")
    data = json.loads(run("ask", "timeline", "json", "by=size", "top=50", "--", trace)[0])
    equal(len(data["groups"]), 51, "groups in the data")
    legend = re.findall(r">([^<]*)</text>", ours)
    equal(sum(group["name"] in legend for group in data["groups"][:50]), 20, "groups in the chart")
    check("other" in legend, "what is left of them")
    sizes = folder / "sizes.pa" # 21 groups, and none is left
    make_given(sizes, 10**6, [(1, 1000 + i, 0, 10 * (1 + i % 21), 3, 0) for i in range(210)])
    data = json.loads(run("ask", "timeline", "json", "by=size", "top=21", "--", sizes)[0])
    equal([group["other"] for group in data["groups"]], [False] * 21, "groups without a rest")
    legend = re.findall(r">([^<]*)</text>", whole("timeline", "--by", "size", "--top", "21", "--svg", "-", sizes))
    equal((sum(group["name"] in legend for group in data["groups"]), "other" in legend), (20, True), "groups in a chart of 21")


# Of each setting a value that changes the answer, and one that is wrong. Thresholds are tried with those of scores.
SETTINGS = {
    "report": [("score=waste = 1 - touched / bytes", "score=waste = 1 -"), ("idle=0.1%", "idle=101%"), ("coverage=1", "coverage=x"),
               ("group-threshold=0.5", "group-threshold=0"), ("run-chunks=2", "run-chunks=1")],
    "advise": [("idle=0", "idle=-1")],
    "leaks": [("least=2", "least=1"), ("least-bytes=0", "least-bytes=0.5"), ("least-time=0", "least-time="), ("late=1", "late=0.5"), ("warm-up=90", "warm-up=101"),
              ("stale=0", "stale=101%"), ("recent=90", "recent=-1"), ("fail-sure=0", "fail-sure=x"), ("fail-bytes=0", "fail-bytes")],
    "excess": [("method=iqr", "method=other"), ("clusters=5", "clusters=65"), ("scale=log", "scale=wide"), ("seed=9", "seed=0.5"), ("min-share=0", "min-share=2"),
               ("max-life=100%", "max-life=101%"), ("pair-cost=1000", "pair-cost=0"), ("wrapper=f*", "wrapper"), ("max-objects=1", "max-objects=0"),
               ("lines=1", "lines=0"), ("objects", "objects=1"), ("plain", "plain=yes")],
    "mprof": [("verbose", "verbose=1"), ("terse", "terse=1"), ("noleaktable", "noleaktable=1"), ("offsets", "offsets=1")],
    "timeline": [("count", "count=1")],
    "flame": [("inverted", "inverted=1")],
}
ONE_DASH = ("verbose", "terse", "noleaktable", "offsets")


def settings(folder):
    """Settings are called and read as options of the commands, change the same, and are refused with a sentence."""
    trace = make(folder / "a.pa", "killed", "3000", "7", "accesses")
    for analysis, tried in SETTINGS.items():
        known = set(names_of("settings", analysis))
        usage = tool(analysis, "--help")[0]
        check(all(re.search(rf"^ *--?{name}\b", usage, re.M) for name in known), f"settings of {analysis} in its usage: {known}")
        for right, bad in tried:
            name = right.split("=")[0]
            check(name in known, f"{analysis}: {name} is listed")
            options = [("-" if name in ONE_DASH else "--") + name, *right.split("=", 1)[1:]]
            for form in ("json", "text"):
                if form == "text" and name == "objects":
                    continue
                ours = run("ask", analysis, form, "ascii=1", f"={right}", "--", trace)[0]
                theirs = whole(analysis, *options, *(["--json"] if form == "json" else []), trace)
                equal(ours, theirs, f"{analysis} with {right} as {form}")
            check(name in wrong("ask", analysis, "json", f"={bad}", "--", trace), f"{analysis} with {bad}")
        for other in ("colour=red", "=", "leas=2", "leastx=2"):
            check("none of that name" in wrong("ask", analysis, "json", f"={other}", "--", trace), f"{analysis} with {other}")
    plain = {form: run("ask", "leaks", form, "--", trace)[0] for form in ("json", "text")}
    check(run("ask", "leaks", "json", "=least=2", "=least=1000", "--", trace)[0] != run("ask", "leaks", "json", "=least=2", "--", trace)[0], "the last counts")
    check(run("ask", "leaks", "json", "=least=1000", "--", trace)[0] != plain["json"], "a setting has an effect")
    (folder / "s.txt").write_text("leak:f*\n")
    (folder / "t.txt").write_text("leak:nobody\n")
    (folder / "w.txt").write_text("f1*\nf2*\n")
    for analysis, name, files in (("leaks", "suppressions", ("t.txt", "s.txt")), ("excess", "wrappers", ("w.txt",))):
        options = [word for file in files for word in (f"--{name}", folder / file)]
        ours = run("ask", analysis, "json", *(f"={name}={folder / file}" for file in files), "--", trace)[0]
        equal(ours, whole(analysis, *options, "--json", trace), f"{analysis} with {name}")
        check(name in wrong("ask", analysis, "json", f"={name}={folder / 'absent'}", "--", trace), f"{name}: a file that is absent")
    equal(run("ask", "excess", "json", "=method=iqr", "=mu=0.5", "=unit=10us", "--", trace)[0],
          whole("excess", "--method", "iqr", "--mu", 0.5, "--unit", "10us", "--json", trace), "settings of quartiles")
    for bad in (["=mu=0.5"], ["=unit=us"], ["=method=iqr", "=seed=2"], ["=method=iqr", "=unit=week"]):
        wrong("ask", "excess", "json", *bad, "--", trace)
    wrong("ask", "mprof", "json", "=offsets", "by=size", "--", trace)
    ours = run("ask", "report", "text", "=score=waste = 1 - touched / bytes", "=score=half = bytes / 2", "sort=half", "--", trace)[0]
    equal(ours, whole("report", "--score", "waste = 1 - touched / bytes", "--score", "half = bytes / 2", "--sort", "half", trace), "scores of one's own")
    check("sort" in wrong("ask", "report", "text", "=score=half = bytes / 2", "sort=quarter", "--", trace), "no such score")
    tool("excess", "--diagram", folder / "d.svg", "--chart", folder / "c.svg", "--min-share", 0, trace)
    for words, name in (([], "d.svg"), (["=chart"], "c.svg")):
        equal(run("ask", "excess", "svg", "=min-share=0", *words, "--", trace)[0], (folder / name).read_text(), name)
    equal(run("ask", "timeline", "svg", "=count", "--", trace)[0], whole("timeline", "--count", "--svg", "-", trace), "a picture of chunks")
    equal(run("ask", "flame", "svg", "=inverted", "sort=name", "--", trace)[0], whole("flame", "--inverted", "--sort", "name", "--svg", "-", trace), "frames by name")
    for thresholds in ("report", "advise"):
        check({"idle", "flag", "percentile", "peak-events"} <= set(names_of("settings", thresholds)), f"thresholds of {thresholds}")


def environments(folder):
    """Texts are as they are asked for, whatever the terminal, the locale and the environment are."""
    trace = make(folder / "a.pa", "ended", "3000", "8")
    subprocess.run(["localedef", "-i", "tr_TR", "-f", "ISO-8859-9", folder / "tr_TR"], check=True, capture_output=True)
    others = ({"LC_ALL": "C", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "50"}, {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "NO_COLOR": ""},
              {"LC_ALL": "tr_TR", "LOCPATH": str(folder)})
    for analysis in ANALYSES:
        words = ["by=thread"] if analysis != "advise" else []
        texts = [run("ask", analysis, "text", "where=size >= 1kib or size < 1KIB", *words, "--", trace, **other)[0]
                 for other in others]
        check(texts[0] == texts[1] == texts[2], f"{analysis} in other environments")
    for analysis, command in (("timeline", ["timeline", "--by", "thread"]), ("excess", ["excess", "--by", "thread"])):
        blocks = run("ask", analysis, "text", "by=thread", "--", trace, LC_ALL="C")[0]
        letters = run("ask", analysis, "text", "by=thread", "ascii=1", "--", trace, LC_ALL="C.UTF-8")[0]
        colours = run("ask", analysis, "text", "by=thread", "colour=1", "--", trace, NO_COLOR="1")[0]
        check(not blocks.isascii() and "\033" not in blocks, f"{analysis}: UTF-8 unless otherwise asked for")
        check(letters.isascii() and "\033" not in letters, f"{analysis}: ASCII")
        check("\033[" in colours, f"{analysis}: colours")
        equal(blocks, tool(*command, trace, env={**os.environ, "LC_ALL": "C.UTF-8"})[0], f"{analysis}: what the command prints")
        equal(letters, tool(*command, trace, env={**os.environ, "LC_ALL": "C"})[0], f"{analysis}: what the command prints in ASCII")
        for columns in (40, 120, 200):
            text = run("ask", analysis, "text", "by=thread", f"columns={columns}", "--", trace)[0]
            check(text != blocks, f"{analysis}: {columns} columns")
            width = max(len(line) for line in text.splitlines() if "\u2524" in line or "\u2502" in line)
            check(width <= columns and (columns == 40 or width > 80), f"{analysis}: {width} of {columns} columns")
        for columns in (39, 201):
            run("ask", analysis, "text", f"columns={columns}", "--", trace, status=100 + errno.EINVAL)


def facts(folder):
    """What is known of traces, and where they are on the axis that ranges count by."""
    traces = [make(folder / "a.pa", "ended", "500", "1", "pid=71", "later=2000000"), make(folder / "b.pa", "killed", "500", "2", "pid=72", "accesses"),
              make(folder / "c.pa", "ended", "500", "3", "pid=73", "later=5000000", "sampled")]
    told = [json.loads(line) for line in run("facts", *traces)[0].splitlines()]
    equal([one["path"] for one in told], [str(trace) for trace in traces], "paths")
    equal([one["pid"] for one in told], [71, 72, 73], "processes")
    equal([one["start_ns"] for one in told], [2000000, 0, 5000000], "starts")
    equal([one["start_unix_ns"] - told[1]["start_unix_ns"] for one in told], [2000000, 0, 5000000], "starts by the clock")
    equal([one["has_accesses"] for one in told], [0, 1, 0], "accesses")
    equal([one["sampled"] for one in told], [0, 0, 1], "samples")
    check(told[0]["sample"] == 1 < told[2]["sample"], "mean bytes between samples")
    equal(told[0]["ending"], "exit", "an end")
    check(told[1]["ending"] != "exit", "no end")
    data = json.loads(tool("report", "--json", *traces)[0])
    for one, file in zip(told, data["files"], strict=True):
        for ours, theirs in (("path", "path"), ("program", "program"), ("command", "command"), ("ending", "end"), ("pid", "pid"), ("parent_pid", "parent_pid"), ("sample", "sample")):
            equal(one[ours], file[theirs], ours)
        equal(one["start_unix_ns"] * 1e-9, file["started"], "start by the clock", 1e-9)
        equal(one["duration_ns"] * 1e-9, file["seconds"], "duration", 1e-9)
    end = max(one["start_ns"] + one["duration_ns"] for one in told)
    equal(end * 1e-9, json.loads(tool("timeline", "--json", *traces)[0])["seconds"], "the end of all", 1e-9)


def own_progress(folder):
    run("own", make(folder / "a.pa", "ended", "3000", "9", "accesses"))


def threads(folder):
    """Answers do not depend on how many threads work."""
    trace = make(folder / "a.pa", "many", "60000", "4", "points=40")
    for analysis in ANALYSES:
        equal(run("ask", analysis, "json", "threads=1", "--", trace)[0], run("ask", analysis, "json", "threads=5", "--", trace)[0], f"{analysis} by threads")
    counted = []
    for count in (1, 3):
        log = folder / f"{count}.log"
        command = [ASKING, "ask", "report", "json", f"threads={count}", "--", trace]
        subprocess.run(["strace", "-f", "-qq", "-e", "trace=clone,clone3", "-o", log, *command], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        counted.append(len(re.findall(r"clone3?\(", log.read_text())))
    equal(counted[0], 0, "threads that are begun where one is asked for")
    check(counted[1] > 0 and counted[1] % 2 == 0, f"of three, two are begun at a time: {counted[1]}")


def comparisons(folder):
    """Of sessions and files, as diff and gate tell them."""
    base, more = make(folder / "a.pa", "ended", "500", "1"), make(folder / "b.pa", "ended", "900", "2")
    saved = folder / "base.txt"
    tool("gate", "--save", saved, base)
    for words, options in (([], []), (["by=function", "sort=peak"], ["--by", "function", "--sort", "peak"]), (["top=3", "=per-second"], ["--top", 3, "--per-second"])):
        for form in ("text", "json"):
            theirs = tool("diff", *options, *(["--json"] if form == "json" else []), base, more)[0]
            equal(run("compare", form, *words, "--", base, "--", more)[0], theirs, f"diff {options} as {form}")
            equal(run("compare", form, *words, "--", f"file:{base}", "--", more)[0], theirs, f"diff {options} of a file")
    equal(run("compare", "json", "--", base, more, "--", more, base)[0], tool("diff", "--json", base, more, "--", more, base)[0], "several runs")
    for limit, status in (("max-bytes=1000%", 0), ("max-bytes=0", 3), ("max-point-count=10", 3), ("max-leak=1G", 0)):
        for first in (base, f"file:{saved}"):
            path = saved if first != base else base
            for form in ("text", "json"):
                theirs = tool("gate", f"--{limit}", *(["--json"] if form == "json" else []), path, more, status=status)[0]
                equal(run("compare", form, f"={limit}", "--", first, "--", more, status=status)[0], theirs, f"gate {limit} as {form}")
            equal(run("compare", "sarif", f"={limit}", "--", first, "--", more, status=status)[0], tool("gate", f"--{limit}", "--sarif", "-", path, more, status=status)[0],
                  f"gate {limit} as SARIF")
    run("compare", "sarif", "--", base, "--", more, status=100 + errno.ENOTSUP)
    run("compare", "svg", "--", base, "--", more, status=100 + errno.ENOTSUP)
    equal(set(names_of("settings", "gate")) - set(re.findall(r"--([a-z-]+)", tool("gate", "--help")[0])), set(), "limits in the usage")
    for bad in ("=max-bytes=lots", "=max-bytes", "=max-pool=0", "=min-bytes=x", "=allow-incomplete=1", "sort=colour"):
        wrong("compare", "json", bad, "--", base, "--", more)
    for sides in ((f"file:{base}", "--", f"file:{more}"), (base, "--"), ("--", more)):
        run("compare", "json", "--", *sides, status=100 + errno.EINVAL)
    wrong("compare", "json", "by=size", "--", f"file:{saved}", "--", more)
    absent = folder / "absent.pa"
    check("absent" in run("compare", "json", "--", f"file:{absent}", "--", more, status=100 + errno.ENODATA)[1], "a file that is absent")
    broken = make(folder / "c.pa", "killed", "500", "3", "torn")
    (folder / "c.pa.live").unlink()
    check("the new side is not complete" in run("compare", "json", "=max-bytes=0", "--", base, "--", broken, status=100 + errno.ENOTSUP)[1], "a trace that is not complete")
    check("the base is not complete" in run("compare", "json", "=max-bytes=0", "--", broken, "--", base, status=100 + errno.ENOTSUP)[1], "a base that is not complete")
    run("compare", "json", "complete=1", "--", base, "--", more)
    for sides in ((base, "--", broken), (broken, "--", base)):
        run("compare", "json", "complete=0", "--", *sides)
    for analysis in ANALYSES:
        run("ask", analysis, "json", "complete=1", "--", base)
        run("ask", analysis, "json", "complete=0", "--", broken)
    check("no chunk" in wrong("compare", "json", "=max-bytes=0", "where=size > 1T", "--", base, "--", more, error=errno.ENOTSUP), "limits on nothing")
    equal(run("compare", "json", "=max-bytes=0", "=allow-incomplete", "where=size > 1T", "--", base, "--", more)[0],
          tool("gate", "--max-bytes=0", "--allow-incomplete", "--where", "size > 1T", "--json", base, more)[0], "limits on nothing, all the same")


def manual(folder):
    """The manual page has all functions of the header, and its example can be compiled."""
    source = Path(os.environ["PROFALLOC_SOURCE_DIR"])
    page = (source / "docs/man/libprofalloc-analyze.3").read_text()
    declared = set(re.findall(r"\b(profalloc_\w+)\(", re.sub(r"/\*.*?\*/", "", (source / "include/profalloc-analyze.h").read_text(), flags=re.S)))
    shown = set(re.findall(r"\b(profalloc_\w+)\(", page.split(".SH DESCRIPTION")[0]))
    equal(shown, declared, "functions in the synopsis")
    example = page.split(".nf\n.RS\n")[1].split(".RE")[0]
    (folder / "example.c").write_text(f"#include <profalloc-analyze.h>\n{example}int main(void)\n{{\n    return tell(\"\", stdout);\n}}\n")
    done = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{source / 'include'}", folder / "example.c"], capture_output=True, text=True)
    check(done.returncode == 0, f"the example: {done.stderr}")


main(gone=gone, vanishing=vanishing, replaced=replaced, given_up=given_up, comma=comma, groups=groups, ranges=ranges, lists=lists, usual_values=usual_values, many_series=many_series, settings=settings, environments=environments,
     facts=facts, own_progress=own_progress, threads=threads, comparisons=comparisons, manual=manual)
