#!/usr/bin/env python3
"""profalloc diff against a reference that keeps all chunks: values, intervals, runs, and what becomes of points; then programs
that are built twice, in which the same points have to be found again."""
import json
import math
import os
import shutil
import statistics
import subprocess

import support
from support import check, equal, make, stack_number, tool

METRICS = ("bytes", "count", "peak", "peak_count", "live", "live_count")
PERIOD = 4096  # of the maker's samples


def diff(*arguments, **options):
    out, _ = tool("diff", "--json", *arguments, **options)
    data = json.loads(out)
    check((data["schema"], data["version"]) == ("profalloc-diff", 2), "schema")
    return data


def sums(chunks):
    """Values and variances of a run, and {class of sizes: [chunks, bytes]}: of all, and by stack."""
    _, when = support.peak_of(chunks)
    by = {}
    for c in chunks:
        for key in (None, c.stack):
            values = by.setdefault(key, {m: [0, 0, {}] for m in METRICS})
            each = c.weight * (c.weight - 1)
            alive = c.born <= when and (not c.died or when < c.died)
            for name, count, counts in (("bytes", "count", True), ("peak", "peak_count", alive), ("live", "live_count", not c.died)):
                if counts:
                    values[name][0] += c.weight * c.size
                    values[name][1] += each * c.size ** 2
                    values[count][0] += c.weight
                    values[count][1] += each
                    for sizes in (values[name][2], values[count][2]):
                        size = sizes.setdefault((key or c.stack, c.size.bit_length()), [0, 0])
                        size[0] += c.weight
                        size[1] += c.weight * c.size
    return by


def student(freedom, share):
    """A quantile, by integrating the density."""
    def density(x):
        return math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi) * (
            1 + x * x / freedom) ** (-(freedom + 1) / 2)

    total, x, step = 0.5, 0.0, 1e-3
    while total < share:
        total += step / 6 * (density(x) + 4 * density(x + step / 2) + density(x + step))
        x += step
        step = max(step, x / 1000)  # few degrees have long tails
    return x


QUANTILES = {}


def quantile(freedom, together=1):
    """That all of so many differences are within, with 95 %."""
    share = 1 - 0.025 / together
    if math.isinf(freedom):
        return statistics.NormalDist().inv_cdf(share)
    freedom = max(1, math.floor(freedom)) if freedom <= 200 else round(freedom)
    if (freedom, share) not in QUANTILES:
        QUANTILES[freedom, share] = student(freedom, share)
    return QUANTILES[freedom, share]


def spread(values):
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values) / (len(values) - 1) if max(values) > min(values) else 0


def missed(classes, metric):
    """The variance that samples would make of a sum over these chunks."""
    total = 0
    for chunks, size in classes.values():
        if size > 0:
            weight = 1 / (1 - math.exp(-size / chunks / PERIOD))
            total += chunks * (weight - 1) * ((size / chunks) ** 2 if metric in ("bytes", "peak", "live") else 1)
    return total


def expect(sides, sampled, metric):
    """A change from [(value, variance) of each metric] of each side's runs: base, new, margin, and the margin of all metrics."""
    means = {m: [sum(run[m][0] for run in side) / len(side) for side in sides] for m in METRICS}
    variances, freedom = [], []
    for i, side in enumerate(sides):
        n, other = len(side), sides[1 - i]
        own = sum(run[metric][1] for run in side) / n ** 2
        unseen = sum(missed(run[metric][2], metric) for run in other) / len(other) / n if sampled[i] else 0
        between = spread([run[metric][0] for run in side]) / n if n > 1 else spread([run[metric][0] for run in other]) if len(other) > 1 else 0
        variances.append(max(own, unseen, between))
        freedom.append((n if n > 1 else len(other)) - 1 if between > 0 else math.inf)
    lengths = [len(side) for side in sides]
    if (lengths[0] > 1) != (lengths[1] > 1):
        degrees = freedom[0] if lengths[0] > 1 else freedom[1]
    else:
        parts = sum(v * v / f for v, f in zip(variances, freedom))
        degrees = sum(variances) ** 2 / parts if parts > 0 else math.inf
    error = math.sqrt(sum(variances))
    return means[metric][0], means[metric][1], *(quantile(degrees, n) * error if error > 0 else 0 for n in (1, len(METRICS)))


def check_change(ours, sides, sampled, metric, what):
    """Whether the change is sure: None if that hangs on rounding."""
    base, new, margin, wide = expect(sides, sampled, metric)
    equal(ours["base"], base, f"{what}: base", 1e-9)
    equal(ours["new"], new, f"{what}: new", 1e-9)
    equal(ours["margin"], margin, f"{what}: margin", 2e-3)
    equal(ours["difference"], new - base, f"{what}: difference", 1e-6)
    if abs(abs(new - base) - margin) > 0.01 * margin + 1e-6 * max(base, new):
        equal(ours["significant"], abs(new - base) > max(margin, 1e-9 * max(base, new)), f"{what}: significant")
    percent = 100 * (new - base) / base if base > 0 else None if new > 0 else 0
    if percent is None:
        equal(ours["percent"], None, f"{what}: percent")
    else:
        equal(ours["percent"], percent, f"{what}: percent", 1e-6)
    near = abs(abs(new - base) - wide) <= 0.01 * wide + 1e-6 * max(base, new) and wide > 0
    return None if near else abs(new - base) > max(wide, 1e-9 * max(base, new))


ZERO = {m: [0, 0, {}] for m in METRICS}


def check_diff(data, sides, sampled):
    """All of an answer; `sides` are lists of runs, each a list of chunks."""
    runs = [[sums(chunks) for chunks in side] for side in sides]
    for m in METRICS:
        check_change(data["totals"][m], [[run.get(None, ZERO) for run in side] for side in runs], sampled, m, f"total {m}")
    stacks = {s for side in runs for run in side for s in run if s is not None}
    told = set()
    grown = []
    for point in data["points"]:
        number = stack_number(point)
        check(number not in told, "each point once")
        told.add(number)
        values = [[run.get(number, ZERO) for run in side] for side in runs]
        sure = [check_change(point[m], values, sampled, m, f"stack {number} {m}") for m in METRICS]
        there = [sum(number in run for run in side) for side in runs]
        equal([point["in_base"], point["in_new"]], there, "runs it is in")
        fate = "not significant" if not any(sure) else "new" if not there[0] else "gone" if not there[1] else "changed"
        check(point["fate"] == fate or (None in sure and True not in sure), f"fate of {number}: {point['fate']}, expected {fate}")
        grown.append((sure[METRICS.index("live")], max(0, point["live"]["difference"])))
    if all(sure is not None for sure, _ in grown):
        equal(data["live_growth"], sum(more for sure, more in grown if sure), "more live", 1e-9)
    equal(data["same"]["points"], len(stacks - told), "points that are the same")
    for number in stacks - told:
        for m in METRICS:
            base, new, *_ = expect([[run.get(number, ZERO) for run in side] for side in runs], sampled, m)
            equal(new, base, f"stack {number} is the same in {m}", 1e-8)
    for m in METRICS:
        everything = data["same"][m] + sum(p[m]["new"] for p in data["points"])
        equal(everything, sum(run.get(None, ZERO)[m][0] for run in runs[1]) / len(runs[1]), f"all points' {m}", 1e-9)
    order = [abs(p["bytes"]["difference"]) for p in data["points"]]
    check(order == sorted(order, reverse=True), f"order {order}")


def made(folder):
    """Single runs, whole and sampled, ended and killed, some with few chunks so that points are missing."""
    forms = [("ended", 3000, ()), ("killed", 3000, ()), ("ended", 12, ()), ("ended", 3000, ("sampled",)), ("killed", 12, ("sampled",))]
    for i, (form_a, count_a, words_a) in enumerate(forms):
        for j, (form_b, count_b, words_b) in enumerate(forms):
            a = make(form_a, folder / "a.pa", count_a, 10 + i, *words_a)
            b = make(form_b, folder / "b.pa", count_b, 20 + j, *words_b)
            check_diff(diff(folder / "a.pa", folder / "b.pa"), [[a], [b]], [bool(words_a), bool(words_b)])


def several(folder):
    """Several runs on a side: means, and what is beyond their spread."""
    for seed, (left, right, words) in enumerate([(3, 4, ()), (1, 3, ()), (5, 1, ()), (2, 2, ()), (3, 3, ("sampled",)), (1, 4, ("sampled",)), (40, 40, ())]):
        sides, files = [], []
        for side, count in enumerate((left, right)):
            paths = [folder / f"{side}-{i}.pa" for i in range(count)]
            sides.append([make("ended", path, 300 + 150 * side, 1000 * seed + 100 * side + i, *words) for i, path in enumerate(paths)])
            files.append(paths)
        data = diff(*files[0], "--", *files[1])
        equal([len(data["base"]), len(data["new"])], [left, right], "runs")
        check_diff(data, sides, [bool(words)] * 2)
        text, _ = tool("diff", *files[0], "--", *files[1])
        check("standard deviation" in text, "the spread is told")


def one_run(folder):
    """What one `profalloc run` wrote is one run, wherever it stands among others."""
    chunks = {}
    for name, seed, words in (("a", 1, ["run=7"]), ("b", 2, []), ("c", 3, ["run=7"]), ("d", 4, [])):
        chunks[name] = make("ended", folder / f"{name}.pa", 500, seed, *words)
    a, b, c, d = (folder / f"{name}.pa" for name in "abcd")
    data = diff(a, b, c, "--", d)
    equal([run["files"] for run in data["base"]], [[str(a), str(c)], [str(b)]], "files of runs")
    equal(data["totals"]["count"]["base"], (len(chunks["a"]) + len(chunks["c"]) + len(chunks["b"])) / 2, "their mean")


def nothing(folder):
    """The same file twice, and empty ones."""
    make("ended", folder / "a.pa", 3000, 1, "folded")
    make("ended", folder / "s.pa", 3000, 1, "sampled")
    make("ended", folder / "empty.pa", 0, 1)
    for name in ("a.pa", "s.pa", "empty.pa"):
        data = diff(folder / name, folder / name)
        equal(data["points"], [], f"{name}: points that differ")
        check(all(t["difference"] == 0 and not t["significant"] for t in data["totals"].values()), "no difference")
    equal(diff(folder / "a.pa", folder / "a.pa")["same"]["count"], 3007, "folded deaths are in")
    for pair, fate in ((("empty.pa", "a.pa"), "new"), (("a.pa", "empty.pa"), "gone")):
        data = diff(*(folder / name for name in pair))
        equal({p["fate"] for p in data["points"]}, {fate}, "fates")
        text, _ = tool("diff", *(folder / name for name in pair))
        check(f"\n{fate.capitalize()}: 12 points" in text, text)
    text, _ = tool("diff", folder / "a.pa", folder / "a.pa")
    check("The same: 12 points with" in text and "#1" not in text, text)


def by_keys(folder):
    """Groups are matched by name; threads without their numbers."""
    a = make("ended", folder / "a.pa", 2000, 1)
    b = make("ended", folder / "b.pa", 1000, 2)
    for key in ("stack", "function", "file", "module", "size", "thread", "tag"):
        data = diff("--by", key, folder / "a.pa", folder / "b.pa")
        equal(data["by"], key, "key")
        for m in METRICS:
            for side in ("base", "new"):
                rest = 0 if side == "base" else data["same"][m]
                check(sum(p[m][side] for p in data["points"]) + rest <= data["totals"][m][side] + 1e-6, f"{key} {m}")
        equal(sum(p["count"]["base"] for p in data["points"]) + data["same"]["count"], 2000, f"{key}: all chunks of the base")
    data = diff("--by", "thread", folder / "a.pa", folder / "b.pa")
    names = {p["name"]: (p["count"]["base"], p["count"]["new"]) for p in data["points"]}
    equal(names, {f"worker-{t}": (sum(c.thread == t for c in a), sum(c.thread == t for c in b)) for t in (1, 2, 3)}, "threads")
    data = diff("--by", "size", folder / "a.pa", folder / "b.pa")
    for point in data["points"]:
        if "-" not in point["name"]:
            size = int(point["name"])
            equal((point["count"]["base"], point["count"]["new"]), (sum(c.size == size for c in a), sum(c.size == size for c in b)), f"size {size}")


def same_question(folder):
    """A baseline is of a question, not of a text: names and files are what they stand for."""
    base, a, queries = folder / "base.txt", folder / "a.pa", folder / "queries.txt"

    def compare(*words, status=0):
        return tool("diff", *words, base, a, status=status)[1]

    tool("gate", "--save", base, "--where", "size > 100 and not live", a)
    for text in ("not live and size > 100", "(size>100) and (not (live))", "size > 100 and not live and all"):
        compare("--where", text)
    for text in ("size > 101 and not live", "size > 100 or not live", "size > 100 and live", "size > 100"):
        check("cannot be compared" in compare("--where", text, status=2), text)
    queries.write_text("big = size > 100\nwhere big and not live\n")
    compare("--where", f"@{queries}")
    tool("gate", "--save", base, "--where", f"@{queries}", a)
    compare("--where", f"@{queries}")
    compare("--where", "size > 100 and not live")
    queries.write_text("big = size > 200\nwhere big and not live\n")
    check("asks something else now" in compare("--where", f"@{queries}", status=2), "the file says something else now")
    for one, other in (("function = plain* | top 3 by bytes", "function = plain* | top 4 by bytes"), ("function = plain*", "function ~ plain"),
                       (f'point in "{a}"', f'point in "{folder / "b.pa"}"'), (f'point in "{a}" where (live)', f'point in "{a}" where (freed)')):
        tool("gate", "--save", base, "--where", one, a)
        compare("--where", one)
        compare("--where", other, status=2)


def asked(folder):
    """--where is of both sides."""
    a = make("ended", folder / "a.pa", 2000, 1)
    b = make("ended", folder / "b.pa", 1500, 2, "sampled")
    for where, holds in (("size > 100", lambda c: c.size > 100), ("live", lambda c: not c.died), ("size < 0", lambda c: False)):
        data = diff("--where", where, folder / "a.pa", folder / "b.pa")
        equal(data["where"], where, "what was asked for")
        check_diff(data, [[[c for c in a if holds(c)]], [[c for c in b if holds(c)]]], [False, True])
    tool("gate", "--save", folder / "base.txt", "--where", "size > 100", folder / "a.pa")
    equal(diff("--where", "size > 100", folder / "base.txt", folder / "a.pa")["points"], [], "a baseline of the same chunks")
    _, said = tool("diff", folder / "base.txt", folder / "a.pa", status=2)
    check("where size > 100" in said and "cannot be compared" in said, said)
    same_question(folder)


def rates(folder):
    make("ended", folder / "a.pa", 2000, 1)
    make("ended", folder / "b.pa", 1000, 1)
    plain, rate = (diff(*words, folder / "a.pa", folder / "b.pa") for words in ((), ("--per-second",)))
    for m in METRICS:
        for side in ("base", "new"):
            seconds = plain[side][0]["seconds"] if m in ("bytes", "count") else 1
            equal(rate["totals"][m][side], plain["totals"][m][side] / seconds, f"{m} per second", 1e-9)
    check("per second" in tool("diff", "--per-second", folder / "a.pa", folder / "b.pa")[0], "the text says so")


def wishes(folder):
    """--top, --sort, and what is wrong with command lines."""
    a, b = folder / "a.pa", folder / "b.pa"
    make("ended", a, 2000, 1)
    make("ended", b, 2000, 2)
    for m in METRICS:
        points = diff("--sort", m, "--top", 3, a, b)["points"]
        order = [abs(p[m]["difference"]) for p in points]
        check(len(points) == 3 and order == sorted(order, reverse=True), f"--sort {m}: {order}")
    text, _ = tool("diff", "--sort", "live", "--top", 1, a, b)
    check("Grew, live at the end" in text and "Grew, allocated" not in text, text)
    (folder / "bad.pa").write_text("no trace")
    for words, status in (((a,), 2), ((a, b, b), 2), ((a, "--"), 2), (("--", a), 2), ((a, folder / "bad.pa"), 2), ((folder / "absent.pa", b), 2),
                          ((a, folder / "absent.pa"), 2), (("--sort", "colour", a, b), 2), (("--by", "colour", a, b), 2), (("--help",), 0)):
        tool("diff", *words, status=status)


# Programs that are built twice. Functions that call others last do something after that: a tail call leaves no trace of them.
OLD = """#include <stdlib.h>
#include <string.h>
#define KEEP __attribute__((noinline))
void *volatile sink;
static void *get(size_t n)
{
    void *p = malloc(n);
    if (p == NULL)
        abort();
    return p;
}
static char *copy(const char *text)
{
    char *p = get(strlen(text) + 1);
    return strcpy(p, text);
}
KEEP static int parse(int n)
{
    char *p = copy("some text");
    sink = p;
    free(p);
    sink = get(100 + (size_t)n);
    free(sink);
    return n + 1;
}
KEEP static int load(int n, int all)
{
    for (int i = 0; i < all; i++)
        n += parse(i);
    return n;
}
KEEP static int removed(int n)
{
    sink = malloc(3000);
    free(sink);
    return n + 2;
}
int main(void)
{
    return load(1, 200) + removed(1) == 0;
}
"""
# Lines are moved, a function is inserted before the others, one is gone, another leaks.
NEW = (OLD.replace("void *volatile sink;", "void *volatile sink;\n\n/* more */\n\n"
                   "KEEP static int inserted(int n)\n{\n    sink = malloc(5000);\n    free(sink);\n    return n + 3;\n}\n")
       .replace("    sink = get(100 + (size_t)n);\n    free(sink);\n", "    /* lost */\n\n    sink = get(100 + (size_t)n);\n    if (n % 2)\n        free(sink);\n")
       .replace("removed(1)", "inserted(1)").replace("KEEP static int removed", "KEEP int removed"))

# Sanitized builds have no library to run programs with.
HAS_LIBRARY = os.path.exists(os.environ["PROFALLOC_LIB"])


def build(folder, name, text, *options, source="program.c"):
    """Builds folder/name/program and returns its path."""
    place = folder / name
    place.mkdir(exist_ok=True)
    (place / source).write_text(text)
    compiler = os.environ["CC"] if source.endswith(".c") else os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-g", "-o", place / "program", place / source, *options], check=True)
    return place / "program"


def record(program, *options):
    trace = program.with_suffix(".pa")
    tool("run", *options, "-o", trace, "--", program)
    return trace


def innermost(point):
    """Functions of the program; what a compiler made of one for constant arguments has a name of its own."""
    return [f["function"] and f["function"].split(".")[0] for f in point["stack"] if f["module"] and f["module"].endswith("program") and f["function"] != "_start"]


def rebuilt(folder):
    """The same source, built otherwise: all points are found again, with the same figures."""
    if not HAS_LIBRARY:
        return
    moved = "\n\n\n" + OLD.replace("KEEP static int load", "KEEP int other(int n);\nint other(int n)\n{\n    return n * n + 7;\n}\n\nKEEP static int load")
    base = record(build(folder, "base", OLD, "-O2"))
    for name, text, options in (("moved", moved, ("-O2",)), ("plain", OLD, ("-O0",)), ("middle", OLD, ("-O1",)), ("fixed", OLD, ("-O2", "-no-pie", "-fno-pie")),
                                ("small", OLD, ("-Os",)), ("most", moved, ("-O3", "-fno-optimize-sibling-calls"))):
        data = diff(base, record(build(folder, name, text, *options)))
        equal([(p["name"], p["fate"]) for p in data["points"]], [], f"{name}: points that differ")
        equal(data["same"]["count"], 401, f"{name}: chunks")


def changed(folder):
    """What was changed is told, and nothing else."""
    if not HAS_LIBRARY:
        return
    for level in ("-O0", "-O2"):
        data = diff(record(build(folder, "old" + level, OLD, level)), record(build(folder, "new" + level, NEW, level)))
        fates = {p["fate"]: p for p in data["points"]}
        equal(sorted(p["fate"] for p in data["points"]), ["changed", "gone", "new"], "fates")
        equal(innermost(fates["new"])[:2], ["inserted", "main"], "the new one")
        equal(innermost(fates["gone"])[:2], ["removed", "main"], "the one that is gone")
        equal((fates["new"]["bytes"]["new"], fates["gone"]["bytes"]["base"]), (5000, 3000), "their bytes")
        leak = fates["changed"]
        equal(innermost(leak), ["get", "parse", "load", "main"], "the leak")
        lost = sum(100 + n for n in range(0, 200, 2))
        equal((leak["live"]["difference"], leak["bytes"]["difference"], data["live_growth"]), (lost, 0, lost), "what is lost")
        text, _ = tool("diff", folder / ("old" + level) / "program.pa", folder / ("new" + level) / "program.pa")
        for part in ("\nNew: 1 point\n", "\nGone: 1 point\n", "\nGrew, at the peak: 1 point\n", "at inserted", "at removed", "by parse"):
            check(part in text, f"{part!r} in {text}")


CONTAINERS = """#include <map>
#include <string>
#include <vector>
#define KEEP __attribute__((noinline))
namespace shop {
KEEP std::size_t fill(std::size_t n%s)
{
    std::vector<int> v;
    for (std::size_t i = 0; i < n; i++)
        v.push_back((int)i);
    return v.size();
}
KEEP std::size_t index(std::size_t n)
{
    std::map<int, std::string> m;
    for (std::size_t i = 0; i < n; i++)
        m[(int)i] = std::string(100 + i, 'x');
    return m.size();
}
}
int main()
{
    auto twice = [](std::size_t n) { return shop::fill(n%s) + shop::fill(n%s); };
    return twice(100) + shop::index(50) == 0;
}
"""


def containers(folder):
    """C++: what the library's own functions are inlined into changes, and a signature, but not the point."""
    if not HAS_LIBRARY:
        return
    plain, more = CONTAINERS % ("", "", ""), CONTAINERS % (", int", ", 1", ", 1")
    base = record(build(folder, "base", plain, "-O2", source="program.cc"))
    for name, text, options in (("plain", plain, "-O0"), ("signature", more, "-O2"), ("both", more, "-O1")):
        data = diff(base, record(build(folder, name, text, options, source="program.cc")))
        wrong = [p for p in data["points"] if any("shop::" in (f["function"] or "") for f in p["stack"])]
        equal([(p["fate"], innermost(p), p["count"]) for p in wrong], [], f"{name}: points of the program that differ")
        check(data["same"]["count"] >= 50, f"{name}: {data['same']}")


LIBRARY = """#include <stdlib.h>
%s
__attribute__((noinline)) int serve(int n)
{
    void *volatile p = malloc(64 + n);
    free(p);
    return n + 1;
}
"""


CALLER = "int serve(int n);\nint main(void)\n{\n    int n = 0;\n    while (n < 100)\n        n = serve(n);\n    return n == 0;\n}\n"


def libraries(folder):
    """A shared library of another version; then programs without names, too."""
    if not HAS_LIBRARY:
        return
    named, stripped = [], []
    for version, more in ((1, ""), (2, "int other(int n);\nint other(int n)\n{\n    return n * 3;\n}")):
        place = folder / str(version)
        place.mkdir()
        (place / "thing.c").write_text(LIBRARY % more)
        library = place / f"libthing.so.{version}.{version}"
        subprocess.run([os.environ["CC"], "-g", "-O2", "-shared", "-fPIC", "-o", library, place / "thing.c"], check=True)
        program = build(folder, str(version), CALLER, "-O2", library, f"-Wl,-rpath,{place}")
        tool("pack", record(program), "-o", place / "named.pa")
        named.append(place / "named.pa")
        subprocess.run(["objcopy", "--strip-all", program], check=True)
        stripped.append(record(program))
    for traces in (named, stripped):
        data = diff(*traces)
        equal([(p["fate"], p["name"]) for p in data["points"]], [], "points that differ")
        equal(data["same"]["count"], 100, "chunks")


def nameless(folder):
    """Without any names points of the same build are found by their addresses; of another build nothing is claimed."""
    if not HAS_LIBRARY:
        return
    traces = []
    for name, text in (("old", OLD), ("new", NEW)):
        program = build(folder, name, text, "-O2")
        subprocess.run(["objcopy", "--strip-all", program], check=True)
        traces.append(record(program))
        again = record(program)
        equal(diff(traces[-1], again)["points"], [], "another run of the same build")
    data = diff(*traces)
    equal(data["totals"]["count"]["new"], 401, "totals are known")
    check({p["fate"] for p in data["points"]} <= {"new", "gone"}, "none is taken for another")


def stripped(folder):
    """A build with names against the same one without: points are found by their addresses. Against another one without names nothing
    is claimed, and that is said."""
    if not HAS_LIBRARY:
        return
    # Two calls of one function in another: one point by name, two by address.
    twice = OLD.replace("return load(1, 200) +", "return load(1, 150) + load(1, 50) +")
    program = build(folder, "same", twice, "-O2")
    tool("pack", record(program), "-o", folder / "named.pa")
    subprocess.run(["objcopy", "--strip-all", program], check=True)
    bare = record(program).rename(folder / "bare.pa")
    tool("gate", "--save", folder / "named.txt", folder / "named.pa")
    tool("gate", "--save", folder / "bare.txt", bare)
    for base, new in ((folder / "named.pa", bare), (bare, folder / "named.pa"), (folder / "named.txt", bare), (folder / "bare.txt", folder / "named.pa")):
        data = diff(base, new)
        equal([(p["name"], p["fate"]) for p in data["points"]], [], f"{base} against {new}: points that differ")
        equal((data["same"]["count"], data["nameless"]), (401, {"base": 0, "new": 0}), "chunks")
    other = build(folder, "other", NEW, "-O2")
    tool("pack", record(other), "-o", folder / "other.pa")
    data = diff(bare, folder / "other.pa")
    check({p["fate"] for p in data["points"]} <= {"new", "gone"}, "none is taken for another")
    equal((data["nameless"]["base"] > 0, data["nameless"]["new"], data["totals"]["count"]["new"]), (True, 0, 401), "what cannot be matched")
    text, _ = tool("diff", bare, folder / "other.pa")
    check(f"NOT MATCHED: {data['nameless']['base']} points of the base and 0 of the new side" in text, text)
    check("NOT MATCHED" not in tool("diff", folder / "named.pa", folder / "other.pa")[0], "with names there is nothing to say")


def loaded_elsewhere(folder):
    """The same build at other addresses, and one without address randomisation, and a rebuild whose code was moved far."""
    if not HAS_LIBRARY:
        return
    far = OLD.replace("KEEP static int load", "".join(f"KEEP int pad_{i}(int n);\nint pad_{i}(int n)\n{{\n    return n * {i + 3} ^ n;\n}}\n" for i in range(500)) + "KEEP static int load")
    base = record(build(folder, "base", OLD, "-O2")).rename(folder / "base.pa")
    here = record(folder / "base" / "program").rename(folder / "here.pa")
    tool("run", "-o", folder / "fixed.pa", "--", "setarch", "-R", folder / "base" / "program")
    fixed = folder / "fixed.2.pa"  # the first is of setarch itself
    moved = record(build(folder, "far", far, "-O2")).rename(folder / "far.pa")
    again = folder / "again"
    again.mkdir()
    shutil.copy(folder / "far" / "program", again / "program")
    for other in (here, fixed, moved, record(again / "program")):
        data = diff("--where", "module = program", base, other)
        equal([(p["name"], p["fate"]) for p in data["points"]], [], f"{other}: points that differ")
        equal(data["same"]["count"], 401, f"{other}: chunks")


def sampled(folder):
    """A program that was sampled against one that was not: little of what is the same is told as changed."""
    if not HAS_LIBRARY:
        return
    program = build(folder, "base", OLD.replace("load(1, 200)", "load(1, 20000)"), "-O2")
    record(program).rename(folder / "whole.pa")
    part = record(program, "--sample", "4096")
    for files in ((folder / "whole.pa", part), (part, folder / "whole.pa")):
        data = diff(*files)
        check(data["totals"]["bytes"]["margin"] > 0, "there is a margin")
        base, new, margin = (data["totals"]["bytes"][k] for k in ("base", "new", "margin"))
        check(abs(new - base) < 2.5 * margin, f"{base} {new} {margin}: by chance, less than once in a million")
        lost = [p for p in data["points"] if p["fate"] in ("new", "gone")]
        equal([innermost(p) for p in lost], [], "a point that samples missed is not gone")
    text, _ = tool("diff", folder / "whole.pa", part)
    check("sampled: one in" in text and "+-" in text, text)


# Each place allocates as the digits of its number say: how many small, middle and large chunks, of which some stay.
MIXED = """#include <stdlib.h>
#define KEEP __attribute__((noinline))
static void *volatile kept[1 << 16];
static size_t kept_count;
#define PLACE(number, counts) \\
    KEEP static int place_##number(void) \\
    { \\
        static const int many[] = {counts}; \\
        static const size_t sizes[] = {8, 48, 200, 3000, 60000, 1000000}; \\
        for (int i = 0; i < 6; i++) \\
            for (int j = 0; j < many[i] * TIMES(number); j++) { \\
                void *volatile p = malloc(sizes[i] + (size_t)j %% 8); \\
                if (j %% 4 == 0) \\
                    kept[kept_count++] = p; \\
                else \\
                    free(p); \\
            } \\
        return 1; \\
    }
#define LIST(...) __VA_ARGS__
%s
int main(void)
{
    return %s == 0;
}
"""
COUNTS = [(300, 0, 0, 0, 0, 5), (1000, 30, 0, 0, 3, 0), (0, 0, 100, 10, 0, 1), (2000, 0, 0, 40, 0, 0), (40, 40, 40, 40, 4, 0), (0, 800, 0, 0, 0, 2),
          (100, 0, 0, 200, 0, 0), (0, 0, 0, 0, 30, 1), (600, 600, 60, 6, 6, 0), (0, 5, 0, 0, 0, 8), (3000, 0, 1, 0, 0, 0), (500, 100, 20, 4, 2, 1)]


def mixed(folder):
    """A program with chunks of all sizes at each place, sampled again and again: what is the same is told as changed no more often
    than is said, and what is not the same is."""
    if not HAS_LIBRARY:
        return
    numbers = range(3 * len(COUNTS))
    places = "".join(f"PLACE({n}, LIST({', '.join(map(str, COUNTS[n % len(COUNTS)]))}))\n" for n in numbers)
    text = MIXED % (places, " + ".join(f"place_{n}()" for n in numbers))
    program = build(folder, "same", text, "-O1", "-DTIMES(n)=1")
    traces = []
    for i in range(60):
        traces.append(record(program, "--sample", "4096").rename(folder / f"{i}.pa"))
    whole = record(program)
    pairs = list(zip(traces[::2], traces[1::2])) + [(whole, trace) for trace in traces[:15]] + [(trace, whole) for trace in traces[15:30]]
    told, changed, totals = dict.fromkeys(METRICS, 0), 0, 0
    for base, new in pairs:
        data = diff(base, new)
        changed += sum(p["fate"] != "not significant" for p in data["points"])
        totals += sum(t["significant"] for t in data["totals"].values())
        for m in METRICS:
            told[m] += sum(p[m]["significant"] for p in data["points"])
    count = len(pairs) * len(numbers)
    most = 0.05 * count + 4 * math.sqrt(0.05 * count)
    check(max(told.values()) <= most and changed <= most, f"of {count}: {told}, {changed} changed")
    check(totals <= 0.05 * 6 * len(pairs) + 4 * math.sqrt(6 * 0.05 * 6 * len(pairs)), f"{totals} totals of {6 * len(pairs)}")
    more = record(build(folder, "more", text, "-O1", "-DTIMES(n)=(n == 0 ? 8 : n == 3 ? 6 : 1)"), "--sample", "4096")
    grown = {innermost(p)[0]: p["fate"] for p in diff(traces[0], more)["points"]}
    equal([grown.get("place_0"), grown.get("place_3")], ["changed"] * 2, "what really is more")


support.main(mixed=mixed, made=made, several=several, one_run=one_run, nothing=nothing, by_keys=by_keys, asked=asked, rates=rates, wishes=wishes, rebuilt=rebuilt,
             changed=changed, containers=containers, libraries=libraries, nameless=nameless, stripped=stripped, loaded_elsewhere=loaded_elsewhere, sampled=sampled)
