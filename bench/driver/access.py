"""What a callback of instrumented code costs by kind of address, and what memory a live chunk costs.

Both programs are linked by build/profalloc-cc. Times are told over the same calls of callbacks that do nothing.
"""
import pathlib
import shutil
import statistics
import sys
import tempfile

from . import instrumented, report
from .process import Job, parse_fields, run_in_turns

QUICK_RUNS, QUICK_SLICES, SLICES = 1, 20, 400
LARGE, QUICK_LARGE = 100_000, 1000
CHUNKS, QUICK_CHUNKS = 5_000_000, 200_000
RUNS_NEEDED = 5
OUTSIDE = ("stack", "global")
LIMIT_OUTSIDE_NS = 2.5
LIMIT_BYTES, SLACK = 64, 1.01  # the tables that lead to records, and those at a region's end
MEMORO_BYTES = 60
KINDS = {"stack": "stack", "global": "global", "same-chunk": "the same chunk", "many-chunks": "4096 chunks in order",
         "strewn-chunks": "262 144 chunks in no order", "large-chunk": "one large chunk",
         "many-large": "all large chunks in no order"}


def add_arguments(parser):
    del parser


class Bench:
    def __init__(self, options):
        self.build_dir = options.build_dir.resolve()
        self.bench_dir = pathlib.Path(__file__).resolve().parents[1]
        self.quick = options.quick
        self.runs = min(options.runs, QUICK_RUNS) if options.quick else options.runs
        self.toolchains = instrumented.Toolchains(self.bench_dir, self.build_dir)
        self.rows = report.RawRows(self.build_dir, "access")
        gcc, _, _ = instrumented.find_compilers(self.build_dir)
        self.plain, self.empty, self.flags = (instrumented.Build(gcc, how) for how in ("plain", "empty", "flags"))
        self._folder = self.toolchains.folder / "access"
        self._folder.mkdir(exist_ok=True)

    def _compile(self, compiler, name, out, environment):
        instrumented.run_step([compiler, *instrumented.OPTIMISED.split(), "-D_GNU_SOURCE", "-Wall", "-Wextra",
                               f"-I{self.bench_dir.parent}", "-c", self.bench_dir / "access" / f"{name}.c", "-o", out],
                              environment)

    def make(self):
        """callbacks is compiled once, without instrumentation; live_chunks with and without."""
        plain, wrapped = self.toolchains.environment(self.plain), self.toolchains.environment(self.flags)
        wrapper = self.toolchains.compilers(self.flags)[0]
        self._compile("gcc", "callbacks", self._folder / "callbacks.o", plain)
        self._compile("gcc", "live_chunks", self._folder / "live_plain.o", plain)
        self._compile(wrapper, "live_chunks", self._folder / "live_flags.o", wrapped)
        for command, environment in (
                (["gcc", "callbacks.o", self.toolchains.empty_callbacks(), "-o", "empty"], plain),
                ([wrapper, "callbacks.o", "-o", "callbacks"], wrapped),
                (["gcc", "live_plain.o", "-o", "live_plain"], plain),
                ([wrapper, "live_flags.o", "-o", "live_flags"], wrapped)):
            instrumented.run_step(command, environment, self._folder)
        for build, name in ((self.empty, "empty"), (self.flags, "callbacks"), (self.plain, "live_plain"),
                            (self.flags, "live_flags")):
            instrumented.check_build(build, self._folder / name)

    def run(self, name, way, arguments, number):
        """The rows that a program prints, run in a way as variants are."""
        build = self.flags if name in ("callbacks", "live_flags") else self.plain
        variant = instrumented.Variant(build, way)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="profalloc-access-", dir=instrumented.SHARED_MEMORY))
        try:
            job = Job([self._folder / name, *map(str, arguments)], variant.settings(self.build_dir, folder))
            outcome = run_in_turns([job])[0]
            found = [parse_fields(line) for line in outcome.stdout.splitlines()]
            recorded = instrumented.trace_row(self.build_dir, folder) if variant.records else {}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.rows.add({"program": name, "way": way, "round": number, "command": outcome.command,
                       "environment": outcome.environment, **recorded, "rows": found})
        return found


def _times(found):
    """(kind of address, large chunks live) -> ns in calls alone, and among other instructions"""
    return {(row["kind"], int(row["large_live"])): (float(row["ns"]), float(row["busy_ns"])) for row in found}


def callback_table(rounds, verdicts):
    """rounds: pairs of what was found with callbacks and with empty ones."""
    lines = []
    for kind, live in rounds[0][0]:
        pairs = [(real[kind, live], empty[kind, live]) for real, empty in rounds]
        cells, worst = [], 0.0
        for place in (0, 1):
            added = statistics.median(real[place] - empty[place] for real, empty in pairs)
            cells += [f"{statistics.median(real[place] for real, _ in pairs):.2f}",
                      f"{statistics.median(empty[place] for _, empty in pairs):.2f}", f"{added:.2f}"]
            worst = max(worst, added)
        lines.append([KINDS[kind], f"{live:,}", *cells])
        if kind in OUTSIDE and live > 0:
            verdicts.add("callback for an address outside the heap, ns over an empty one", f"{LIMIT_OUTSIDE_NS:.1f}",
                         f"{worst:.2f}", worst <= LIMIT_OUTSIDE_NS, f"{KINDS[kind]}, {live:,} large chunks live")
    return report.table(["address", "large chunks live", "ns, calls alone", "empty callback", "added",
                         "ns, among 32 nops", "empty callback", "added"], lines)


def memory_table(rounds, verdicts):
    """rounds: pairs of the rows with everything recorded and with nothing."""
    def kib(row, key):
        return int(row[key])

    chunks = int(rounds[0][0]["chunks"])
    per_chunk = statistics.median(
        ((kib(full, "rss_after") - kib(full, "rss_before")) - (kib(off, "rss_after") - kib(off, "rss_before")))
        * 1024 / chunks for full, off in rounds)
    fixed = statistics.median((kib(full, "rss_before") - kib(off, "rss_before")) / 1024 for full, off in rounds)
    verdicts.add("bytes for a live chunk", f"{LIMIT_BYTES} and {SLACK - 1:.0%}", f"{per_chunk:.1f}",
                 per_chunk <= LIMIT_BYTES * SLACK, f"{chunks:,} chunks of 48 bytes")
    return report.table(["memory beside that of the same program with nothing recorded", "Memoro", "ours"],
                        [["bytes for each live chunk", MEMORO_BYTES, f"{per_chunk:.1f}"],
                         ["buffers and tables with one chunk live, MiB", "-", f"{fixed:.1f}"]])


def run(options):
    bench = Bench(options)
    bench.make()
    facts = report.machine()
    bench.rows.add({"bench": "access", "runs": bench.runs, **facts})
    arguments = (QUICK_SLICES, QUICK_LARGE) if bench.quick else (SLICES, LARGE)
    chunks = QUICK_CHUNKS if bench.quick else CHUNKS
    calls, memory = [], []
    for number in range(bench.runs):
        print(f"round {number + 1} of {bench.runs}", file=sys.stderr, flush=True)
        calls.append((_times(bench.run("callbacks", "full", arguments, number)),
                      _times(bench.run("empty", "glibc", arguments, number))))
        memory.append((bench.run("live_flags", "full", [chunks], number)[0],
                       bench.run("live_plain", "off", [chunks], number)[0]))
    verdicts = report.Verdicts()
    parts = ["# bench/run access", f"{facts['time']}, {facts['processor']}, {facts['processors']} processors, "
             f"Linux {facts['kernel']}; medians of {bench.runs} rounds, load {facts['load'][0]:.1f}."]
    if options.quick or bench.runs < RUNS_NEEDED:
        parts.append("**A shortened run: its figures mean nothing.**")
    parts += [callback_table(calls, verdicts), memory_table(memory, verdicts), "## Verdicts", verdicts.table()]
    report.publish("\n\n".join(parts), bench.rows.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
