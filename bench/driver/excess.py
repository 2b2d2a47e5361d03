"""What profalloc excess reports, and what fixing it brings: SQLite with and without its lookaside allocator, a service that
allocates nothing for each request, and a program in which there is nothing to report.

The cases are those of EMAD's evaluation (sections 4.2, 4.3 and 4.5). Times are of the programs alone, on glibc's malloc; what is
reported comes from one recorded run of each.
"""
import dataclasses
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from . import instrumented, northwind, report
from .process import BenchFailure, Job, base_environment, run_in_turns
from .profilers import need

FLAGS = ["-O2", "-g", "-DNDEBUG"]
TURN = 0.05
TOOL_SECONDS = 300
# Where SQLite 3.40 gets memory for a connection when no lookaside slot has it.
SQLITE_ALLOCATES = ("dbMallocRawFinish", "sqlite3DbMallocRawNN", "sqlite3DbMallocRaw", "sqlite3DbMallocZero")


def add_arguments(parser):
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of statements, requests and words")


@dataclasses.dataclass(frozen=True)
class Program:
    """One build of a case, and how it is run."""
    name: str
    path: pathlib.Path
    arguments: tuple
    stdin: str = ""

    def job(self, settings, pin=True):
        more = {"stdin_path": self.stdin} if self.stdin else {}
        return Job([self.path, *self.arguments], settings, pin=pin, **more)


class Builder:
    def __init__(self, build_dir, scale, quick):
        self.root = pathlib.Path(__file__).resolve().parents[2]
        self.ours = self.root / "bench" / "real" / "excess"
        self.folder = build_dir / "bench" / "excess"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scale = scale * (0.1 if quick else 1.0)
        self.quick = quick

    def _compile(self, compiler, sources, output, *flags):
        if not output.exists() or instrumented.newest(sources) > output.stat().st_mtime:
            print(f"building {output.name}", file=sys.stderr, flush=True)
            instrumented.run_step([compiler, *FLAGS, *sources, *flags, "-o", output], base_environment())
        return output

    def _amalgamation(self):
        """SQLite in one file, as its own build makes it."""
        source = instrumented.source_of(self.root, "sqlite3", "src/malloc.c")
        folder = self.folder / "amalgamation"
        if not (folder / "shell.c").exists():
            need(shutil.which("tclsh"), "tcl")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            print("building sqlite3.c", file=sys.stderr, flush=True)
            instrumented.run_step([source / "configure", "--disable-tcl", "--disable-readline"], base_environment(), folder)
            instrumented.run_step(["make", "sqlite3.c", "shell.c"], base_environment(), folder)
        return [folder / "sqlite3.c", folder / "shell.c"]

    def sqlite(self):
        sources, libraries = self._amalgamation(), ("-ldl", "-lm", "-lpthread")
        statements = self.folder / "statements.sql"
        statements.write_text(northwind.script(int(20000 * self.scale)))
        fast = ("-quick", ["-O0"]) if self.quick else ("", [])  # to build, for a smoke run
        shell = self._compile("gcc", sources, self.folder / f"sqlite-shell{fast[0]}", *fast[1], *libraries)
        return [Program(name, shell, (*arguments, ":memory:"), str(statements))
                for name, arguments in (("without lookaside", ("-lookaside", "0", "0")), ("with lookaside", ()))]

    def requests(self):
        count = (str(int(10_000_000 * self.scale)),)
        sources = [self.ours / "requests.cpp"]
        return [Program("empty lists allocated", self._compile("g++", sources, self.folder / "requests"), count),
                Program("fixed", self._compile("g++", sources, self.folder / "requests-fixed", "-DRETURN_EARLY"), count)]

    def index(self):
        path = self._compile("g++", [self.ours / "index.cpp"], self.folder / "index")
        return [Program("index of words", path, (str(int(500_000 * self.scale)),))]


def ask(build_dir, trace, method, wrappers):
    more = ["--wrappers", wrappers] if wrappers else []
    command = [build_dir / "profalloc", "excess", "--json", "--method", method, *more, trace]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=TOOL_SECONDS, check=False)
    if done.returncode != 0:
        raise BenchFailure(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def record(build_dir, program, wrappers):
    """What both methods say of a recorded run. It is not pinned: the thread that writes the trace would share the processor,
    and the run time, of which excess tells shares, would be that of both."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="profalloc-excess-", dir=instrumented.SHARED_MEMORY))
    try:
        run_in_turns([program.job({"LD_PRELOAD": str(build_dir / "libprofalloc.so"),
                                   "PROFALLOC_CONF": f"prof:true,sample:1,free_depth:16,out:{folder}/trace.pa"},
                                  pin=False)])
        return {method: ask(build_dir, folder / "trace.pa", method, wrappers) for method in ("kmeans", "iqr")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(programs, runs, rows):
    """Seconds of each program in each round. All take turns, another one begins each time, and all must say the same."""
    seconds = {program.name: [] for program in programs}
    said = set()
    for number in range(runs):
        order = programs[number % len(programs):] + programs[:number % len(programs)]
        for program, outcome in zip(order, run_in_turns([p.job({}) for p in order], TURN)):
            seconds[program.name].append(outcome.user + outcome.system)
            said.add(outcome.stdout)
            rows.add({"program": program.name, "round": number, "command": outcome.command, "wall": outcome.wall,
                      "user": outcome.user, "system": outcome.system})
    if len(said) != 1:
        raise BenchFailure(f"{' and '.join(p.name for p in programs)} do not say the same")
    return seconds


def sizes_of(hit):
    low, high = hit["size_low"], hit["size_high"]
    return f"{low} bytes" if low == high else f"{low} to {high} bytes, {hit['sizes']} sizes"


def describe(told):
    if not told["excessive"]:
        return "nothing"
    worst = told["hits"][0]
    return f"{len(told['hits'])}: {worst['caller']['function'].split('(')[0]}, {sizes_of(worst)}, {worst['frequency']:,.0f} times"


def found_table(programs, answers):
    rows = []
    for program in programs:
        kmeans, iqr = (answers[program.name][method] for method in ("kmeans", "iqr"))
        share = kmeans["suspects_ns"] / kmeans["run_ns"] if kmeans["run_ns"] else 0.0
        rows.append([program.name, f"{kmeans['chunks']:,.0f}", f"{kmeans['object_count']:,}", kmeans["kmeans"]["k"],
                     f"{100 * share:.2f} %", describe(kmeans), describe(iqr)])
    return report.table(["program", "chunks", "objects", "k", "suspects' share", "k-means reports", "IQR reports"], rows)


def gain_of(seconds, before, after):
    """The median over rounds of the part of the time that is gone, and half the distance of its quartiles."""
    gains = [1 - new / old for old, new in zip(seconds[before], seconds[after])]
    quartiles = statistics.quantiles(gains, n=4, method="inclusive") if len(gains) > 1 else gains * 3
    return statistics.median(gains), (quartiles[2] - quartiles[0]) / 2


def time_table(pairs, seconds):
    rows = []
    for before, after in pairs:
        gain, spread = gain_of(seconds, before.name, after.name)
        rows.append([f"{before.name} → {after.name}", f"{statistics.median(seconds[before.name]):.3f}",
                     f"{statistics.median(seconds[after.name]):.3f}", f"{100 * gain:.1f} % ±{100 * spread:.1f}"])
    return report.table(["change", "before, s", "after, s", "gain"], rows)


def judge(verdicts, answers, pairs, seconds):
    def reported(name, holds):
        return {m: any(holds(h) for h in told["hits"]) for m, told in answers[name].items()}

    (sqlite, lookaside), (requests, fixed) = pairs
    by_sqlite = reported(sqlite.name, lambda h: h["caller"]["function"] in SQLITE_ALLOCATES)
    by_empty = reported(requests.name, lambda h: h["size_high"] == 0 and "ServiceContextList" in h["caller"]["function"])
    for name, found in ((sqlite.name, by_sqlite), (requests.name, by_empty)):
        for method, is_there in found.items():
            verdicts.add(f"{name}: {method} reports it", "yes", "yes" if is_there else "no", is_there)
    for name in (fixed.name, "index of words"):
        for method, told in answers[name].items():
            verdicts.add(f"{name}: {method} reports nothing", "nothing", describe(told), not told["excessive"])
    few, many = (answers[p.name]["kmeans"]["chunks"] for p in (lookaside, sqlite))
    verdicts.add("lookaside: chunks of those without", "10 %", f"{100 * few / many:.1f} %", few < many / 10)
    for before, after in pairs:
        gain, spread = gain_of(seconds, before.name, after.name)
        verdicts.add(f"{after.name}: faster", "more than its spread", f"{100 * gain:.1f} %", gain > spread)


def run(options):
    build_dir = options.build_dir.resolve()
    need(shutil.which("g++"), "g++")
    for path in (build_dir / "profalloc", build_dir / "libprofalloc.so"):
        if not path.exists():
            raise BenchFailure(f"{path} is missing: build the project first")
    builder = Builder(build_dir, options.scale, options.quick)
    runs = min(options.runs, 2) if options.quick else options.runs
    sqlite, requests, index = builder.sqlite(), builder.requests(), builder.index()
    rows, facts = report.RawRows(build_dir, "excess"), report.machine()
    rows.add({"bench": "excess", "runs": runs, "scale": builder.scale, **facts})
    answers, seconds = {}, {}
    for programs, wrappers in ((sqlite, builder.ours / "sqlite.wrappers"), (requests, None), (index, None)):
        for program in programs:
            answers[program.name] = record(build_dir, program, wrappers)
            rows.add({"program": program.name, "told": answers[program.name]})
        if len(programs) > 1:
            seconds.update(measure(programs, runs, rows))
    verdicts = report.Verdicts()
    judge(verdicts, answers, (sqlite, requests), seconds)
    heading = f"{facts['machine']}, {facts['processors']} processors, load {facts['load'][0]:.2f}, {runs} rounds; processor time."
    text = "\n\n".join(["# excess", heading, found_table([*sqlite, *requests, *index], answers),
                        time_table((sqlite, requests), seconds), "## Verdicts", verdicts.table()])
    report.publish(text, rows.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
