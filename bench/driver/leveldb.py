"""LevelDB's db_bench with and without instrumentation, beside Memoro's figures: time, memory, traces.

fillseq is Memoro's own; the others read and write in other orders. The database and the traces are on a file system in
memory, in a folder that is gone afterwards.
"""
import pathlib
import re
import shutil
import sys
import tempfile

from . import instrumented, memoro, report
from .process import BenchFailure, Job, run_in_turns

ENTRIES = {"fillseq": 2_000_000, "mixed": 500_000}
QUICK_ENTRIES = 20_000
BENCHMARKS = {"fillseq": ["fillseq"], "mixed": ["fillrandom", "readrandom", "readseq"]}  # one process each
LOADS = [name for names in BENCHMARKS.values() for name in names]
CHATTER = r"LevelDB: |Date: |CPU: |CPUCache: |\.\.\. finished |\s*$"
LIMITS = memoro.Limits(pass_full=2.0, flags_full_better=2.8, flags_full_other=3.0, pass_sampled=1.25,
                       flags_sampled_over_empty=1.08)
QUICK_RUNS = 1


def add_arguments(parser):
    parser.add_argument("--only", action="append", metavar="BUILD",
                        help="only builds whose name begins so (plain-gcc, empty-clang, pass, ...); may be repeated")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of entries")


def make(toolchains, root, source, build, target="db_bench"):
    """Builds LevelDB in a folder of its own, where that is not done yet; the path of db_bench."""
    return make_layouts(toolchains, root, source, build, 1, target)[0]


def make_layouts(toolchains, root, source, build, layouts, target="db_bench", name=None):
    """The same; the paths of db_bench in so many layouts. Builds of another source have another name."""
    with toolchains.alone("leveldb"):
        return _make(toolchains, root, source, build, layouts, target, toolchains.folder / "leveldb" / (name or build.name))


def _make(toolchains, root, source, build, layouts, target, folder):
    programs = [folder / (f"db_bench-{layout}" if layout else "db_bench") for layout in range(layouts)]
    ours = root / "bench" / "real" / "leveldb"
    inputs = [ours / "CMakeLists.txt", *instrumented.inputs_of(toolchains, build)]
    if any(instrumented.is_stale(program, inputs) for program in programs):
        shutil.rmtree(folder)
    c, cxx = toolchains.compilers(build)
    environment = toolchains.environment(build)
    shifts = [str(toolchains.shift(number)) for number in range(1, instrumented.LAYOUTS)]
    if not (folder / "build.ninja").exists():
        instrumented.run_step(["cmake", "-S", ours, "-B", folder, "-G", "Ninja",
                               "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}",
                               f"-DCMAKE_C_FLAGS={instrumented.OPTIMISED}",
                               f"-DCMAKE_CXX_FLAGS={instrumented.OPTIMISED}", f"-DLEVELDB_DIR={source}",
                               f"-DSHIFTS={';'.join(shifts)}"], environment)
    instrumented.run_step(["cmake", "--build", folder, "--target", *(program.name for program in programs),
                           target], environment)
    for program in programs:
        instrumented.check_build(build, program)
    instrumented.check_layouts(programs)
    return programs


def parse_output(text):
    """What db_bench says: benchmark -> (micros per operation, MB/s or None)."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"(\w+)\s*:\s*([\d.]+) micros/op;(?:\s*([\d.]+) MB/s)?", line)
        if match:
            found[match[1]] = (float(match[2]), float(match[3]) if match[3] else None)
    return found


class Bench:
    def __init__(self, options, runs):
        self.build_dir = options.build_dir.resolve()
        self.root = pathlib.Path(__file__).resolve().parents[2]
        self.quick, self.scale = options.quick, options.scale
        self.source = instrumented.source_of(self.root, "leveldb", "benchmarks/db_bench.cc")
        self.toolchains = instrumented.Toolchains(self.root / "bench", self.build_dir)
        self.rows = report.RawRows(self.build_dir, "leveldb")
        self.programs = instrumented.Programs(runs)

    def entries(self, process):
        return int((QUICK_ENTRIES if self.quick else ENTRIES[process]) * self.scale)

    def run_process(self, process, variant, number):
        """Rows of all benchmarks of one process."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="profalloc-leveldb-", dir=instrumented.SHARED_MEMORY))
        try:
            command = [self.programs.path(variant.build, number), f"--db={folder}/db", f"--num={self.entries(process)}",
                       f"--benchmarks={','.join(BENCHMARKS[process])}"]
            job = Job(command, variant.settings(self.build_dir, folder), may_say=CHATTER, watch_memory=True)
            outcome = run_in_turns([job])[0]
            row = {"peak_rss_kib": outcome.together_kib, "cpu_seconds": outcome.user + outcome.system}
            if variant.records:
                row.update(instrumented.trace_row(self.build_dir, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        said = parse_output(outcome.stdout)
        if set(said) != set(BENCHMARKS[process]):
            raise BenchFailure(f"{' '.join(outcome.command)} told of {', '.join(said) or 'nothing'}:\n{outcome.stdout}")
        rows = {name: {**row, "micros": micros, "throughput": rate} for name, (micros, rate) in said.items()}
        self.rows.add({"process": process, "variant": variant.name, "round": number, "command": outcome.command,
                       "environment": outcome.environment, "wall": outcome.wall, "rows": rows})
        return rows


def chosen_builds(bench, options):
    """The builds that can be made, and why others cannot."""
    gcc, clang, has_pass = instrumented.find_compilers(bench.build_dir)
    builds = instrumented.all_builds(gcc, clang)
    only = options.only or (instrumented.QUICK_BUILDS if options.quick else None)
    if only:
        builds = [build for build in builds if build.name.startswith(tuple(only))]
        if not builds:
            raise BenchFailure(f"no build is called {', '.join(only)}")
    missing = ""
    if not has_pass and any(build.how == "pass" for build in builds):
        missing = f"missing: no pass for {clang.c} in the build folder"
        builds = [build for build in builds if build.how != "pass"]
    return clang, builds, missing


def run(options):
    runs = min(options.runs, QUICK_RUNS) if options.quick else options.runs
    bench = Bench(options, runs)
    clang, builds, missing = chosen_builds(bench, options)
    for build in builds:
        print(f"building {build.name}", file=sys.stderr, flush=True)
        bench.programs.add(build, make_layouts(bench.toolchains, bench.root, bench.source, build,
                                               bench.programs.layouts))
    facts = report.machine()
    bench.rows.add({"bench": "leveldb", "runs": runs, "clang": clang.c, **facts})
    variants = [variant for build in builds for variant in instrumented.variants_of(build)]
    by_process = memoro.Rounds(variants, list(BENCHMARKS))
    by_process.measure(runs, bench.run_process)
    rounds = memoro.Rounds(variants, LOADS)
    for (process, name), taken in by_process.rows.items():
        for load in BENCHMARKS[process]:
            rounds.rows[load, name] = [rows[load] for rows in taken]
    entries = "; ".join(f"{bench.entries(process):,} for {', '.join(names)}" for process, names in BENCHMARKS.items())
    heading = [*memoro.heading("leveldb", facts, clang, runs, options), f"Entries of 16 + 100 bytes: {entries}. No "
               "compression. Memory is the peak of the process; tables that LevelDB has mapped count."]
    text, verdicts = render(rounds, by_process, heading, missing)
    report.publish(text, bench.rows.path, options.out)
    if missing:
        raise BenchFailure(missing)
    return 1 if options.strict and verdicts.missed() else 0


def render(rounds, by_process, heading, missing=""):
    """rounds has a row for each benchmark, by_process the same of each process, for its memory."""
    verdicts = report.Verdicts()
    memoro.judge(rounds, "fillseq", "micros", LIMITS, verdicts, missing)
    memory = memoro.Rounds(by_process.variants, list(BENCHMARKS))
    for (process, name), taken in by_process.rows.items():
        memory.rows[process, name] = [rows[BENCHMARKS[process][0]] for rows in taken]
    parts = [*heading, memoro.published_table("leveldb", rounds, "fillseq", "micros", "throughput"),
             memoro.ratio_table(rounds, {load: "micros" for load in LOADS}), memoro.memory_table(memory),
             "## Verdicts", verdicts.table()]
    return "\n\n".join(parts), verdicts
