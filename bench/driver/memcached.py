"""memcached with and without instrumentation under three loads, beside Memoro's figures: throughput, processor time, memory.

The server has one thread for requests and one processor for all its threads; the load has another. Where the load cannot
keep the server busy, throughput says nothing, and the server's processor time per operation is judged instead. The loads
never sleep: a server pays for waking them, the more often the slower it is.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from . import instrumented, leveldb, memoro, report
from .process import BenchFailure, base_environment
from .profilers import need
from .server import Server, on_processor, processors

OPTIMISED = "-O2 -g"  # its own choice; with NDEBUG its tests would not link
SECONDS, QUICK_MS, QUICK_OPERATIONS = 3, 100, 20000
QUICK_RUNS = 1
BUSY = 0.95  # of a processor: below that the load is what limits the throughput
LOAD_SECONDS = 300  # after which a load is killed

# Memoro's load was mutilate with its defaults: one connection, one request at a time, gets only, of 10 000 keys of 30
# bytes with values of 200. It is no Debian package; "one by one" is the same load from our own generator.
MEMLOAD = {
    "one by one": ["connections=1", "depth=1", "keys=10000", "gets=100", "least=200", "most=200"],
    "get-heavy": ["connections=8", "depth=4", "keys=100000", "gets=90", "least=100", "most=1024"],
}
LOADS = ["memcaslap", *MEMLOAD]
LIMITS = memoro.Limits(pass_full=1.25, flags_full_better=1.5, flags_full_other=1.5, pass_sampled=1.08,
                       flags_sampled_over_empty=1.08)
COSTS = {"micros": "throughput", "cpu_micros": "processor time per operation"}


def add_arguments(parser):
    parser.add_argument("--only", action="append", metavar="BUILD",
                        help="only builds whose name begins so (plain-gcc, empty-clang, pass, ...); may be repeated")
    parser.add_argument("--load", action="append", choices=LOADS, help="only this load; may be repeated")


def make(toolchains, source, build, more=()):
    """Builds memcached, and more targets, in a copy of its source, where that is not done yet; the path of the server."""
    return make_layouts(toolchains, source, build, 1, more)[0]


def make_layouts(toolchains, source, build, layouts, more=()):
    """The same; the paths of the server in so many layouts."""
    with toolchains.alone("memcached"):
        return _make(toolchains, source, build, layouts, more)


def _make(toolchains, source, build, layouts, more):
    folder = toolchains.folder / "memcached" / build.name
    programs = [folder / (f"memcached-{layout}" if layout else "memcached") for layout in range(layouts)]
    if any(instrumented.is_stale(program, instrumented.inputs_of(toolchains, build)) for program in programs):
        shutil.rmtree(folder)
    environment = toolchains.environment(build)
    if not (folder / "Makefile").exists():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        instrumented.run_step([folder / "configure", "--disable-docs", "--disable-sasl", "--disable-seccomp",
                               "--disable-dependency-tracking", f"CC={toolchains.compilers(build)[0]}",
                               f"CFLAGS={OPTIMISED}"], environment, folder)
    if not all((folder / target).exists() for target in ("memcached", *more)):
        instrumented.run_step(["make", f"-j{os.cpu_count()}", "memcached", *more], environment, folder)
    for layout, program in enumerate(programs[1:], 1):
        shift = toolchains.shift(layout)
        if not program.exists() or instrumented.is_stale(program, [shift]):
            # The rule links memcached$(EXEEXT), with $(LDFLAGS) before all objects.
            program.unlink(missing_ok=True)
            instrumented.run_step(["make", program.name, f"EXEEXT=-{layout}", f"LDFLAGS={shift}"], environment, folder)
    for program in programs:
        instrumented.check_build(build, program)
    instrumented.check_layouts(programs)
    return programs


def make_load(toolchains, bench_dir, name, *flags):
    source, made = bench_dir / "real" / f"{name}.c", toolchains.folder / name
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        instrumented.run_step(["gcc", "-O2", "-D_GNU_SOURCE", "-Wall", *flags, source, "-o", made], base_environment())
    return made


def run_load(command, settings=None):
    """Its standard output; on the processor that the server has not."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, env={**base_environment(), **(settings or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LOAD_SECONDS, preexec_fn=on_processor(processors()[1]), check=False)
    except subprocess.TimeoutExpired:
        raise BenchFailure(f"{' '.join(command)} did not end within {LOAD_SECONDS} s") from None
    if done.returncode != 0 or done.stderr:
        raise BenchFailure(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}{done.stdout[-500:]}")
    return done.stdout


class Bench:
    def __init__(self, options, runs):
        self.build_dir = options.build_dir.resolve()
        self.root = pathlib.Path(__file__).resolve().parents[2]
        self.ms = QUICK_MS if options.quick else 1000 * SECONDS
        self.length = ["-x", str(QUICK_OPERATIONS)] if options.quick else ["-t", f"{SECONDS}s"]  # of memcaslap
        self.source = instrumented.source_of(self.root, "memcached", "memcached.c")
        self.toolchains = instrumented.Toolchains(self.root / "bench", self.build_dir)
        self.memload = make_load(self.toolchains, self.root / "bench", "memload")
        self.awake = make_load(self.toolchains, self.root / "bench", "awake", "-shared", "-fPIC")
        self.memcaslap = shutil.which("memcaslap")
        need(self.memcaslap, "libmemcached-tools")
        need(pathlib.Path("/usr/include/event.h"), "libevent-dev")
        self.rows = report.RawRows(self.build_dir, "memcached")
        self.programs = instrumented.Programs(runs)

    def prepare(self, load, port):
        if load in MEMLOAD:
            run_load([self.memload, port, "fill", *MEMLOAD[load]])

    def load(self, load, port):
        """Runs it; operations and seconds."""
        if load in MEMLOAD:
            said = json.loads(run_load([self.memload, port, "run", f"ms={self.ms}", *MEMLOAD[load]]))
            if said["hits"] != said["gets"]:
                raise BenchFailure(f"{load}: {said['gets'] - said['hits']} of {said['gets']} gets found nothing")
            return said["operations"], said["seconds"]
        said = run_load([self.memcaslap, "-s", f"127.0.0.1:{port}", "-T", "1", "-c", "16", *self.length],
                        {"LD_PRELOAD": str(self.awake)})
        match = re.search(r"Run time: ([\d.]+)s Ops: (\d+) TPS: (\d+)", said)
        if match is None:
            raise BenchFailure(f"memcaslap told no throughput:\n{said[-500:]}")
        return int(match[2]), int(match[2]) / int(match[3])

    def run_one(self, load, variant, number):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="profalloc-memcached-", dir=instrumented.SHARED_MEMORY))
        try:
            with Server(self.programs.path(variant.build, number), variant.settings(self.build_dir, folder)) as server:
                if server.runs_on_profalloc() != (variant.way not in ("glibc", "again")):
                    raise BenchFailure(f"{variant.name} does not run on the malloc that it should")
                self.prepare(load, server.port)
                before = server.cpu_seconds()
                operations, seconds = self.load(load, server.port)
                cpu = server.cpu_seconds() - before
                row = {"throughput": operations / seconds, "micros": seconds * 1e6 / operations,
                       "cpu_micros": cpu * 1e6 / operations, "busy": cpu / seconds,
                       "peak_rss_kib": server.peak_rss_kib()}
                server.stop()
            if variant.records:
                row.update(instrumented.trace_row(self.build_dir, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.rows.add({"load": load, "variant": variant.name, "round": number, "command": server.command,
                       "environment": server.environment, **row})
        return row


def choose_costs(rounds):
    """For each load, what its ratios are of: throughput, unless there are variants that it does not keep busy."""
    def busy(load):
        return min(rounds.median(load, variant, "busy") for variant in rounds.variants)

    return {load: "micros" if busy(load) >= BUSY else "cpu_micros" for load in rounds.loads}


def throughput_table(rounds):
    lines = []
    for variant in rounds.variants:
        cells = [memoro.label(variant)]
        for load in rounds.loads:
            cells += [f"{rounds.median(load, variant, 'throughput'):,.0f}",
                      f"{rounds.median(load, variant, 'cpu_micros'):.2f}",
                      f"{100 * rounds.median(load, variant, 'busy'):.0f}"]
        lines.append(cells)
    heads = [head for load in rounds.loads for head in (f"{load}, op/s", "server's cpu, µs/op", "busy, %")]
    return report.table(["throughput", *heads], lines)


def run(options):
    runs = min(options.runs, QUICK_RUNS) if options.quick else options.runs
    bench = Bench(options, runs)
    clang, builds, missing = leveldb.chosen_builds(bench, options)
    for build in builds:
        print(f"building {build.name}", file=sys.stderr, flush=True)
        bench.programs.add(build, make_layouts(bench.toolchains, bench.source, build, bench.programs.layouts))
    facts = report.machine()
    bench.rows.add({"bench": "memcached", "runs": runs, "clang": clang.c, **facts})
    rounds = memoro.Rounds([variant for build in builds for variant in instrumented.variants_of(build)],
                           options.load or LOADS)
    rounds.measure(runs, bench.run_one)
    heading = memoro.heading("memcached", facts, clang, runs, options)
    if len(set(processors())) == 1:
        heading.append("**One processor for the server and the load: throughput means nothing.**")
    text, verdicts = render(rounds, heading, missing)
    report.publish(text, bench.rows.path, options.out)
    if missing:
        raise BenchFailure(missing)
    return 1 if options.strict and verdicts.missed() else 0


def render(rounds, heading, missing=""):
    verdicts, costs = report.Verdicts(), choose_costs(rounds)
    for load in rounds.loads:
        memoro.judge(rounds, load, costs[load], LIMITS, verdicts, missing)
    told = "; ".join(f"{load}: {COSTS[costs[load]]}" for load in rounds.loads)
    parts = [*heading, f"Ratios and verdicts are of: {told}. (Throughput where the server was busy for {BUSY:.0%} of the time "
             "in all variants.)"]
    parts += [memoro.published_table("memcached", rounds, load, costs[load], "throughput") for load in rounds.loads
              if load == "one by one"]
    parts += [throughput_table(rounds), memoro.ratio_table(rounds, costs), memoro.memory_table(rounds), "## Verdicts",
              verdicts.table()]
    return "\n\n".join(parts), verdicts
