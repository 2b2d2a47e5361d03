#!/usr/bin/env python3
"""leaks on made traces: every figure and verdict against tests/analyze/leaks_reference.py; siblings, suppressions, several traces,
options, and traces that are empty, tiny or damaged."""
import json
import random
import re
import subprocess

import leaks_reference as reference
import support
from leaks_reference import check_siblings, close
from support import check, equal, make, tool

PLAIN, INLINED = "plain_site (make_sites.c:", "inlined_site (make_sites.c:"


EVER = ("--least-time", "0", "--least-bytes", "0")  # made traces are short, and some of their chunks small
ANY = {"least_time": 0, "least_bytes": 0}


def leaks(*arguments, status=0):
    return json.loads(tool("leaks", "--json", *EVER, *arguments, status=status)[0])


def figures(folder):
    """Large and small points, all, sampled, with accesses, ended and killed, with other limits."""
    seen = set()
    others = ((), {}), (("--warm-up", "60", "--recent", "50"), {"warm_up": 0.6, "recent": 0.5}), \
        (("--late", "20", "--stale", "5", "--least", "2"), {"late": 20, "stale": 0.05, "least": 2})
    for seed, count in enumerate((10, 40, 40, 150, 150, 400, 5000)):
        for words in ((), ("sampled",), ("accesses",), ("accesses", "told"), ("sizes", "shift")):
            form = "killed" if seed % 2 and "shift" not in words else "ended"
            make(form, folder / "t.pa", count, seed, *words)
            for options, limits in others:
                data = leaks(*options, folder / "t.pa")
                reasons, _, _ = reference.check_leaks(data, folder / "t.pa", instrumented="told" in words, **{**ANY, **limits})
                seen |= reasons
    wanted = {"like-siblings", "overdue", "touched", "grows-in-use", "untouched", "warm-up", "few-chunks"}
    check(wanted <= seen, f"reasons that were given: {seen}")


def floors(folder):
    """What it takes for a leak in bytes and time, and what for one that a check fails for."""
    seen, fails = set(), set()
    for seed, (count, slow) in enumerate(((400, 1), (400, 5000), (3000, 100), (3000, 1000), (5000, 200000), (5000, 50), (60, 20000))):
        for words in ((), ("size=8",), ("sampled",), ("alive",), ("alive", "size=8")):
            make("ended", folder / "t.pa", count, seed, f"slow={slow}", *words)
            for options, limits in (((), {}), (("--least-bytes", "0", "--least-time", "0.5", "--fail-bytes", "0"),
                                               {"least_bytes": 0, "least_time": 0.5, "fail_bytes": 0}),
                                    (("--least-time", "0", "--least-bytes", "300", "--fail-sure", "80", "--fail-bytes", "20000"),
                                     {"least_time": 0, "least_bytes": 300, "fail_sure": 0.8, "fail_bytes": 20000})):
                data = json.loads(tool("leaks", "--json", *options, folder / "t.pa")[0])
                seen |= reference.check_leaks(data, folder / "t.pa", **limits)[0]
                some = any(p["fails"] for p in data["points"])
                out, _ = tool("leaks", "--fail", "--top", 100, *options, folder / "t.pa", status=3 if some else 0)
                others = sum(p["verdict"] == "leak" and not p["fails"] for p in data["points"])
                equal(f"--fail does not count {others} likely leak" in out, others > 0, f"which are said: {out}")
                equal(" per hour" in out, data["files"][0]["seconds"] >= 10 and any(p["verdict"] in ("leak", "grows") for p in data["points"]), "per hour")
                fails |= {(p["reason"], p["fails"]) for p in data["points"]}
    wanted = {("overdue", True), ("overdue", False), ("never-freed", True), ("never-freed", False), ("few-bytes", False), ("short", False)}
    check(wanted <= fails, f"{fails} of {seen}")


def curve(folder):
    """The survival curve against one without bins, and quantiles against sorted lives."""
    make("ended", folder / "t.pa", 60000, 5)
    data = leaks(folder / "t.pa")
    _, trace, told = reference.check_leaks(data, folder / "t.pa", **ANY)
    for addresses, point in told.items():
        freed = [c for c in trace.points[addresses] if "freed" in c and not c["moved"]]
        exact = reference.survival(freed, [c for c in trace.points[addresses] if "freed" not in c], exact=True)
        for step in point["survival"]:
            share = min([s for age, s in exact if age < step["age"] * 1e9 - 0.5], default=1)
            check(abs(step["share"] - share) < 0.01, f"survival at {step['age']}: {step['share']}, and {share} without bins")
        for share in (10, 50, 90, 95, 99):
            ours, wanted = point["siblings"]["lifetime"][str(share)], reference.exact_quantile(freed, share / 100) * 1e-9
            at = reference.bin_of(wanted * 1e9)
            width = (reference.EDGES[at + 1] - reference.EDGES[at]) * 1e-9
            check(abs(ours - wanted) < width, f"{share} %: {ours}, and {wanted} of sorted lives, in a bin of {width}")


def site_of(chunk):
    return PLAIN if chunk["free_stack"] % 2 == 0 else INLINED if chunk["free_stack"] != 15 else "?+0x1234"


def sites(folder):
    """Where siblings are freed; and where a point has none, those that the same function allocates elsewhere."""
    cousins = 0
    for seed, count in [(s, 25) for s in range(12)] + [(1, 60), (3, 3000)]:
        make("ended", folder / "t.pa", count, seed)
        _, trace, told = reference.check_leaks(leaks(folder / "t.pa"), folder / "t.pa", **ANY)
        freed = {a: [c for c in chunks if "freed" in c and not c["moved"]] for a, chunks in trace.points.items()}
        for addresses, point in told.items():
            chunks = freed[addresses]
            function = point["stack"][0]["function"]
            if not chunks and function is not None:
                same = {a for a in freed if a[0] == addresses[0]}
                chunks = [c for a in same for c in freed[a]]
                equal(point["siblings"]["of_the_same_function"], bool(chunks), "they are of the same function")
                check_siblings(point, chunks, trace)
                cousins += bool(chunks)
            sums = {}
            for c in chunks:
                sums[site_of(c)] = sums.get(site_of(c), 0) + c["weight"]
            equal(len(point["siblings"]["sites"]), len(sums), "places")
            for site in point["siblings"]["sites"]:
                name = next(n for n in sums if site["name"].startswith(n))
                equal(site["freed"], sums[name], f"freed by {name}")
            order = [s["freed"] for s in point["siblings"]["sites"]]
            equal(order, sorted(order, reverse=True), "the first frees most")
    check(cousins > 0, "there are points without siblings of their own")


def several(folder):
    """Two traces told as one: sums, and rates of both."""
    make("ended", folder / "a.pa", 3000, 1)
    make("killed", folder / "b.pa", 2000, 2, "later=7000")
    one, two, both = leaks(folder / "a.pa"), leaks(folder / "b.pa"), leaks(folder / "a.pa", folder / "b.pa")
    for key in ("chunks", "bytes"):
        equal(both["live"][key], one["live"][key] + two["live"][key], key)
    for point in both["points"]:
        parts = [p for p in one["points"] + two["points"] if p["id"] == point["id"]]
        for key in ("chunks", "bytes", "freed", "moved", "bytes_per_second"):
            close(point[key], sum(p[key] for p in parts), key)
        equal(point["births"], [sum(p["births"][i] for p in parts) for i in range(32)], "births")
    check("at the end of each recording" in tool("leaks", folder / "a.pa", folder / "b.pa")[0], "when they were alive")


def folded(folder):
    """Deaths that are known in sums only are frees: nobody says that none is ever freed."""
    make("ended", folder / "t.pa", 3000, 4, "folded")
    data = leaks(folder / "t.pa")
    equal(sorted(p["folded"] for p in data["points"] if p["folded"]), [3, 4], "folded deaths")
    reference.check_leaks(data, folder / "t.pa", **ANY)
    make("killed", folder / "t.pa", 30, 4, "folded")
    check(all(p["reason"] != "never-freed" for p in leaks("--least", "2", folder / "t.pa")["points"] if p["folded"]), "some are freed")


def suppressed(folder):
    """Patterns as LeakSanitizer has them; sums of what is left and what is not."""
    make("ended", folder / "t.pa", 3000, 1)
    everything = leaks(folder / "t.pa")
    functions = {p["id"]: {f["function"] for f in p["stack"]} for p in everything["points"]}

    def left(*lines):
        (folder / "s").write_text("\n".join(lines) + "\n")
        data = leaks("--suppressions", folder / "s", folder / "t.pa")
        for key in ("chunks", "bytes"):
            close(data["live"][key] + data["live"]["suppressed_" + key], everything["live"][key], f"{key} with suppressed ones")
            close(sum(s[key] for s in data["suppressions"]), data["live"]["suppressed_" + key], f"{key} of all suppressions")
        return {p["id"] for p in data["points"]}, data

    every = set(functions)
    plain = {i for i in every if "plain_site" in functions[i]}
    for pattern, gone in (("plain_site", plain), ("plain", plain), ("lain_sit", plain), ("^plain", plain), ("^lain", set()), ("site$", every),
                          ("^plain_site$", plain), ("^plain_sit$", set()), ("^p*site", plain), ("^p*e$", plain), ("plain*x", set()),
                          ("make_sites.c$", every), ("make_sites.c", every), ("/make_trace$", every), ("*", every), ("outer*inl", set()),
                          ("^*_s*ite$", every), ("lain$", set()), ("plain_site*", plain), ("site*site", set()), ("ain*_*te$", plain)):
        equal(left("leak:" + pattern)[0], every - gone, f"what leak:{pattern} leaves")
    ids, data = left("# a comment", "", "  leak:plain_site  ", "leak:site", "\tleak:never_there")
    equal(ids, set(), "what both leave")
    equal([s["pattern"] for s in data["suppressions"]], ["plain_site", "site", "never_there"], "patterns")
    check(data["suppressions"][0]["chunks"] > 0 and data["suppressions"][1]["chunks"] > 0, "the first that fits counts")
    text, _ = tool("leaks", "--suppressions", folder / "s", folder / "t.pa")
    for wanted in ("Nothing is alive at exit that is not suppressed.", "Suppressed: ", "leak:plain_site\n", "note: leak:never_there suppressed nothing"):
        check(wanted in text, f"'{wanted}' in\n{text}")
    (folder / "more").write_text("leak:plain_site\n")
    (folder / "s").write_text("leak:outer_site\n")
    equal(leaks("--suppressions", folder / "s", "--suppressions", folder / "more", folder / "t.pa")["live"]["chunks"], 0, "two files")
    for wrong in ("race:plain_site", "plain_site", "leak:", "leak"):
        (folder / "s").write_text("# fine\n" + wrong + "\n")
        _, said = tool("leaks", "--suppressions", folder / "s", folder / "t.pa", status=2)
        check(f"{folder}/s:2: lines are leak:PATTERN" in said, said)
    _, said = tool("leaks", "--suppressions", folder / "absent", folder / "t.pa", status=2)
    check("No such file" in said, said)


def groups(folder):
    """--by: the same chunks in other groups."""
    make("ended", folder / "t.pa", 4000, 9, "sampled")
    by_stack = leaks(folder / "t.pa")
    for key in ("function", "file", "module", "size", "thread", "tag"):
        data = leaks("--by", key, folder / "t.pa")
        for sum_of in ("chunks", "bytes", "bytes_per_second"):
            close(sum(p[sum_of] for p in data["points"]), sum(p[sum_of] for p in by_stack["points"]), f"{sum_of} by {key}")
        check(all(p["id"] is None and "stack" not in p for p in data["points"]), "no stacks")
        check(data["points"][0]["name"] in tool("leaks", "--by", key, folder / "t.pa")[0], "names in the text")
    (folder / "s").write_text("leak:plain_site\n")
    equal(leaks("--by", "thread", "--suppressions", folder / "s", folder / "t.pa")["live"],
          {**leaks("--suppressions", folder / "s", folder / "t.pa")["live"], "points": 3, "leaked_bytes": leaks(
              "--by", "thread", "--suppressions", folder / "s", folder / "t.pa")["live"]["leaked_bytes"]}, "suppressed by stack")


def asked(folder):
    """--where: of stacks, all is told of those; of chunks, nobody says that others are not freed."""
    make("ended", folder / "t.pa", 5000, 1)
    every = {p["id"]: p for p in leaks(folder / "t.pa")["points"]}
    plain = leaks("--where", "function = plain_site", folder / "t.pa")["points"]
    check(0 < len(plain) < len(every), f"{len(plain)} points")
    for point in plain:
        equal(point, every[point["id"]], "a point by itself")
    data = leaks("--fail", "--where", "live", folder / "t.pa")
    equal({(p["verdict"], p["freed"]) for p in data["points"]} - {("levels", 0), ("unsure", 0)}, {("grows", 0)}, "verdicts without siblings")
    equal({p["id"]: p["chunks"] for p in data["points"]}, {i: p["chunks"] for i, p in every.items()}, "chunks")
    check(any("siblings are only those for which --where holds" in r for r in data["remarks"]), str(data["remarks"]))
    check("none for which --where holds" in tool("leaks", "--where", "live", folder / "t.pa")[0], "the text says it")


def orders(folder):
    make("ended", folder / "t.pa", 3000, 1)
    for order, key in (("leak", "leaked_bytes"), ("bytes", "bytes"), ("count", "chunks"), ("rate", "bytes_per_second"), ("sure", "sure"),
                       ("age", "oldest")):
        told = [p[key] for p in leaks("--sort", order, folder / "t.pa")["points"]]
        equal(told, sorted(told, reverse=True), f"by {order}")
    equal(len(leaks("--top", 3, folder / "t.pa")["points"]), 3, "--top")
    for option, wrong in (("--sort", "colour"), ("--least", "1"), ("--least", "2.5"), ("--late", "0.5"), ("--warm-up", "101"), ("--stale", "x"),
                          ("--recent", "-1"), ("--top", "0"), ("--least-bytes", "-1"), ("--least-time", "soon"), ("--least-time", "5K"),
                          ("--fail-bytes", "1Q"), ("--fail-bytes", "1ms"), ("--fail-bytes", "0.5"), ("--stale", "50%%"), ("--fail-sure", "101"),
                          ("--fail-sure", "101%"), ("--least", "5%"), ("--late", "2K"), ("--late", "nan")):
        _, said = tool("leaks", option, wrong, folder / "t.pa", status=2)
        check(said.startswith(f"profalloc leaks: {option} takes ") and f"not '{wrong}'" in said, said)
    for option, key, plain, same in (("--fail-bytes", "fail_bytes", 4096, "4K"), ("--least-bytes", "least_bytes", 1536, "1.5KiB"),
                                     ("--least-time", "least_time", 0.2, "200ms"), ("--least-time", "least_time", 300, "5m"),
                                     ("--stale", "stale", 30, "30%"), ("--recent", "recent", 0.5, "0.5%"), ("--warm-up", "warm_up", 7, "7%"),
                                     ("--fail-sure", "fail_sure", 80, "80%"), ("--least", "least", 2000, "2K")):
        one, other = (leaks(option, value, folder / "t.pa") for value in (plain, same))
        equal(one, other, f"{option} {plain} and {same}")
        equal(one["limits"][key], plain / 100 if same[-1] == "%" else plain, f"the limit of {option} {plain}", 1e-12)
    tool("leaks", status=2)
    (folder / "bad.pa").write_text("no trace")
    tool("leaks", folder / "bad.pa", status=2)
    out, said = tool("leaks", folder / "bad.pa", folder / "t.pa", status=2)
    check("Not freed at exit" in out and f"MISSING: {folder}/bad.pa" in out, out + said)


def sure(folder):
    """The word for how sure a verdict is fits the number beside it."""
    words = set()
    for chunks, seed, more in ((5000, 2, ()), (20000, 1, ("alive",)), (60, 2, ("alive",)), (3000, 3, ()), (400, 4, ()), (150, 5, ())):
        make("ended", folder / "t.pa", chunks, seed, *more)
        text, _ = tool("leaks", *EVER, "--top", 100, folder / "t.pa")
        for word, number in re.findall(r"\(sure: (\w+), ([0-9.]+)\)", text):
            equal(word, "high" if float(number) >= 0.8 else "medium" if float(number) >= 0.5 else "low", f"the word for {number}")
            words.add((word, number))
            check("alive" not in more or word != "high", f"that nobody frees is not enough: {number}")
    check(("high", "0.80") in words and {w for w, _ in words} == {"high", "medium", "low"}, f"{sorted(words)}")


def statuses(folder):
    """--fail is for leaks alone, and not for those that are suppressed."""
    make("ended", folder / "t.pa", 5000, 1)
    check(leaks(folder / "t.pa")["live"]["leaked_bytes"] > 0, "there is one")
    tool("leaks", "--fail", *EVER, folder / "t.pa", status=3)
    tool("leaks", "--fail", *EVER, "--json", "--top", 1, "--sort", "age", folder / "t.pa", status=3)
    tool("leaks", *EVER, folder / "t.pa")
    tool("leaks", "--fail", *EVER, "--least", 1000, folder / "t.pa")
    (folder / "s").write_text("leak:site\n")
    tool("leaks", "--fail", *EVER, "--suppressions", folder / "s", folder / "t.pa")
    (folder / "bad.pa").write_text("no trace")
    tool("leaks", "--fail", *EVER, folder / "t.pa", folder / "bad.pa", status=2)


def tiny(folder):
    """Nothing, and a chunk or two."""
    for form in ("ended", "killed"):
        make(form, folder / "t.pa", 0, 1)
        equal(leaks("--fail", folder / "t.pa")["points"], [], "points of nothing")
        check("Nothing is alive" in tool("leaks", folder / "t.pa")[0], "which is said")
    reasons = set()
    for seed in support.rounds(60):
        make("ended" if seed % 2 else "killed", folder / "t.pa", 1 + seed % 3, seed)
        data = leaks("--fail", folder / "t.pa")
        reasons |= reference.check_leaks(data, folder / "t.pa", **ANY)[0]
        tool("leaks", folder / "t.pa")
    check("leak" not in {reference.OF[r] for r in reasons} and reasons, f"{reasons}")


def damaged(folder):
    """Whatever the bytes, there is an answer or a refusal."""
    make("ended", folder / "t.pa", 3000, 1, "accesses", "plain", "folded")
    whole = (folder / "t.pa").read_bytes()
    chance, answers = random.Random(1), 0
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (folder / "d.pa").write_bytes(data[:chance.randrange(len(data) // 2, len(data) + 1)])
        done = support.run_tool("leaks", "--json", folder / "d.pa")
        check(done.returncode in (0, 2), f"status {done.returncode}: {done.stderr}")
        check(bool(done.stdout) == (done.returncode == 0), "an answer, or a refusal without one")
        answers += done.returncode == 0 and json.loads(done.stdout)["schema"] == "profalloc-leaks"
    check(answers > 0, "some can still be told")


def text(folder):
    make("ended", folder / "t.pa", 5000, 1, "sampled", "accesses")
    out, _ = tool("leaks", *EVER, "--top", 1, folder / "t.pa")
    data = leaks(folder / "t.pa")
    first = data["points"][0]
    for wanted in ("all figures are estimates", "Not freed at exit: ", " ± ", "Whether anything still points to them is not known", first["sentence"],
                   "siblings  ", "overdue   ", "survival  ", "accesses  ", "grows     by ", "threads   ", "and 11 more (--top)"):
        check(wanted in out, f"'{wanted}' in\n{out}")
    make("killed", folder / "k.pa", 5000, 1)
    out, _ = tool("leaks", folder / "k.pa")
    check("Not freed when the process was killed" in out and "at exit" not in out, out)
    check("usage: profalloc leaks" in tool("leaks", "--help")[0], "help")
    check("profalloc leaks: " in tool("leaks", "--colour", status=2)[1], "an option that there is not")


support.main(figures=figures, floors=floors, curve=curve, sites=sites, several=several, folded=folded, suppressed=suppressed, groups=groups, asked=asked, orders=orders, sure=sure,
             statuses=statuses, tiny=tiny, damaged=damaged, text=text)
