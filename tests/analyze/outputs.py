"""What every command prints about traces of every kind, in text and as JSON, depends on nothing but these.

As a test: the same bytes twice, wherever things lie in memory, of every 29th command line. For people:
`outputs.py --against TOOL [TRACE...]` compares all with another build of the tool, on the same traces and on those given; with
`--common` without what older builds do not have. A command line that this build does not understand compares nothing: it fails."""
import argparse
import itertools
import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support import MAKER, SANITIZED, TOOL

import folders

USAGE = 2
# What ends with the same status though the command line is understood.
OTHERWISE = re.compile(rb"is not a trace of profalloc|the recording ends at")
FIXTURES = Path(__file__).resolve().parent / "fixtures"
# name: form, chunks, seed, words
MADE = {
    "ended": ("ended", 3000, 1), "told": ("ended", 4000, 2, "accesses", "maps"), "sampled": ("ended", 3000, 3, "sampled", "accesses"),
    "folded": ("ended", 2000, 4, "folded", "after"), "shift": ("ended", 3000, 5, "shift", "accesses"), "killed": ("killed", 3000, 6, "accesses"),
    "torn": ("killed", 2000, 7, "torn", "folds=100"), "unwritten": ("killed", 2500, 8, "unwritten"), "sizes": ("ended", 2000, 9, "sizes"),
    "timed": ("ended", 3000, 10, "timed", "accesses", "told"), "merged": ("ended", 2000, 11, "accesses", "maps", "merged", "told"),
    "later": ("ended", 1500, 12, "later=2000000", "accesses"), "alive": ("ended", 500, 13, "alive"), "many": ("many", 300000, 14, "points=300", "accesses"),
    "big": ("big", 200000, 15), "sampled_many": ("ended", 20000, 16, "sampled"),
}
WHERES = ["size > 64 and lifetime < 1ms", "thread = worker* or live", "not function = main", "reads = 0 or coverage < 0.5", "born > 20us"]
SCORES = ("reads", "writes", "touched", "lifetime", "usage", "useful_lifetime", "score", "severity")
LIMITS = ["--max-peak=10%", "--max-bytes=5%", "--max-count=100", "--max-live-growth=1K", "--max-leak=0", "--max-point-bytes=20%", "--min-bytes=1K"]
SEVERAL = [("ended", "later"), ("told", "sampled", "killed"), ("folded", "timed", "torn")]


def commands():
    """(name, arguments before the files)"""
    for json in ([], ["--json"]):
        yield ["report", *json]
        for order in ("bytes", "count", "peak", "peak_count", "live", "live_count"):
            yield ["report", *json, "--sort", order, "--top", "5"]
        for key in ("stack", "function", "file", "module", "size", "thread", "tag"):
            yield ["report", *json, "--by", key]
            yield ["leaks", *json, "--by", key]
            yield ["excess", *json, "--by", key, "--min-share", "0"]
            yield ["mprof", *json, "--by", key]
            yield ["timeline", *json, "--by", key]
            yield ["flame", *json, "--by", key]
        for where in WHERES:
            for command in ("report", "leaks", "excess", "mprof", "timeline", "flame", "advise"):
                yield [command, *json, "--where", where]
        yield ["leaks", *json, "--top", "1000"]
        for order in ("leak", "bytes", "count", "rate", "sure", "age"):
            yield ["leaks", *json, "--sort", order]
        yield ["excess", *json]
        yield ["excess", *json, "--min-share", "0", "--top", "100"]
        yield ["excess", *json, "--method", "iqr", "--min-share", "0"]
        yield ["mprof", *json, "-verbose", "-offsets"]
        yield ["mprof", *json, "-terse", "--sort", "name"]
        yield ["advise", *json, "--top", "1000"]
        for order in ("rank", "bytes", "calls", "time", "sure"):
            yield ["advise", *json, "--sort", order]
        for metric in ("bytes", "count", "live", "peak", "wasted", "at=50us"):
            yield ["flame", *json, "--metric", metric]
        yield ["timeline", *json, "--buckets", "37", "--count"]
    yield ["timeline", "--csv", "--by", "function"]
    yield ["timeline", "--svg", "-"]
    yield ["flame", "--svg", "-"]
    yield ["flame", "--inverted", "--sort", "name"]
    yield ["excess", "--min-share", "0", "--diagram", "-"]
    yield ["excess", "--min-share", "0", "--chart", "-"]
    yield ["check"]


def of_scores():
    """Not in --common: scores are younger than the other orders."""
    for json in ([], ["--json"]):
        for order in SCORES:
            yield ["report", *json, "--sort", order, "--top", "5"]
        yield ["report", *json, "--score", "own = min(1, count / 100) * lifetime", "--sort", "own"]


def of_one():
    yield ["dump"]
    yield ["dump", "--json"]
    yield ["dump", "--events"]
    yield ["dump", "--json", "--events"]


def of_two():
    for form in ([], ["--json"], ["--by", "function"], ["--top", "3"]):
        yield ["diff", *form]
        yield ["gate", *LIMITS, "--allow-incomplete", *form]
    yield ["gate", *LIMITS]
    yield ["gate", *LIMITS, "--allow-incomplete", "--sarif", "-"]


def make(folder):
    paths = {}
    for name, (form, chunks, seed, *words) in MADE.items():
        paths[name] = f"{name}.pa"
        subprocess.run([MAKER, form, folder / paths[name], str(chunks), str(seed), *words], check=True, stdout=subprocess.DEVNULL)
    for fixture in sorted(FIXTURES.glob("*.pa")):
        shutil.copy(fixture, folder)
        live = Path(f"{fixture}.live.xz")
        if live.exists():
            (folder / live.stem).write_bytes(lzma.decompress(live.read_bytes()))
        paths[f"fixture-{fixture.stem}"] = fixture.name
    whole = (folder / "told.pa").read_bytes()
    (folder / "cut.pa").write_bytes(whole[:len(whole) * 2 // 3])
    (folder / "hole.pa").write_bytes(whole[:len(whole) // 2] + bytes(200) + whole[len(whole) // 2 + 200:])
    (folder / "text.pa").write_text("no trace\n")
    return {**paths, "cut": "cut.pa", "hole": "hole.pa", "text": "text.pa"}


def lines(paths, more, quick, common):
    """All command lines, with their files."""
    singles = [*paths.values(), *more]
    scores = [] if common else list(of_scores())
    for command in itertools.chain(commands(), scores, of_one()):
        for path in singles[::4] if quick else singles:
            yield [*command, path]
    for command in itertools.chain(commands(), scores):
        for names in SEVERAL:
            yield [*command, *(paths[name] for name in names)]
    for command in of_two():
        for base, new in [("ended", "told"), ("sampled", "timed"), ("folded", "torn"), ("fixture-told", "fixture-plain"), ("ended", "ended")]:
            yield [*command, paths[base], paths[new]]


def ask(tool, line, folder, environment):
    done = subprocess.run([tool, *line], cwd=folder, capture_output=True, env={**os.environ, "COLUMNS": "100", **environment})
    return done.returncode, done.stdout, done.stderr


def differ(line, ours, theirs):
    for what, one, other in zip(("status", "standard output", "standard error"), ours, theirs):
        if one != other:
            print(f"profalloc {' '.join(map(str, line))}: {what} differs")
            if what != "status":
                mine, its = one.decode(errors="replace").splitlines(), other.decode(errors="replace").splitlines()
                for number, (a, b) in enumerate(itertools.zip_longest(mine, its)):
                    if a != b:
                        print(f"  line {number + 1}:\n    {a!r:.300}\n    {b!r:.300}")
                        break
            else:
                print(f"  {one} and {other}\n{ours[2].decode(errors='replace')[:500]}")
            return True
    return False


def is_refused(line, ours):
    """Whether the command line is not understood."""
    if ours[0] != USAGE or OTHERWISE.search(ours[1] + ours[2]):
        return False
    print(f"profalloc {' '.join(map(str, line))}: is not understood:\n{ours[2].decode(errors='replace')[:500]}")
    return True


def compare(folder, tool, paths, more, options, step=1):
    count = differing = refused = 0
    for line in itertools.islice(lines(paths, more, options.quick, options.common), 0, None, step):
        if options.only and not re.search(options.only, " ".join(map(str, line))):
            continue
        count += 1
        ours = ask(TOOL, line, folder, {})
        refused += is_refused(line, ours)
        differing += differ(line, ours, ask(tool, line, folder, {}))
    print(f"{count} command lines, {differing} differ, {refused} are not understood")
    return differing + refused


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", help="another build of the tool")
    parser.add_argument("--only", help="command lines that match this regular expression")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--common", action="store_true", help="leave out what older builds do not have: sorting by scores")
    parser.add_argument("traces", nargs="*", type=Path)
    options = parser.parse_args()
    with folders.Folder(prefix="profalloc-") as name:
        folder = Path(name)
        paths = make(folder)
        traces = [path.resolve() for path in options.traces]
        step = 1 if options.against else 197 if SANITIZED else 29
        sys.exit(compare(folder, options.against or TOOL, paths, traces, options, step) != 0)


main()
