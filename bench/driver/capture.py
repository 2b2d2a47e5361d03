"""Recording every chunk with its stack, against other profilers: time per chunk, memory, size of the profile.

All profilers run side by side in turns, as in the bench of the allocator. One that is slow by nature does fewer rounds of
the same work. The writer's speed is measured alone and without pauses, since a pause would count as its failure.
"""
import pathlib
import sys

from . import alloc, capture_report, real, report
from .process import BenchFailure, Folders, parse_fields, run_in_turns, run_process
from .profilers import Missing, make_profilers, workload_fields

QUICK_SCALE, QUICK_RUNS = 0.02, 1
TURN_SECONDS = 0.2  # longer than the allocator's: a pause can find a thread as it waits for the writer
MOST_REPETITIONS = 2  # times those asked for
CHURN, CHURN_THREADS = ("deep", "deep2"), {"deep": 1, "deep2": 2}
WRITER, WRITER_LENGTH = "burst2", 0.5
WRITER_RATES = (3.1e6, 5e6, 8e6, 0)  # deaths per second; the first a little above the goal
ONE_THREAD_ONLY = ("dhat",)  # it runs one thread at a time
REAL_UNDER = ("glibc", "full", "heaptrack")


def add_arguments(parser):
    parser.add_argument("--only", action="append", metavar="PART",
                        help="churn, writer or the name of a program; may be repeated")
    parser.add_argument("--profiles", type=pathlib.Path, metavar="FOLDER",
                        help="where profiles are written meanwhile (default: in the build folder)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the length of everything")


class Bench:
    """The options of a run, and what it has found."""

    def __init__(self, options):
        self.build_dir = options.build_dir.resolve()
        self.folder = (options.profiles or self.build_dir / "bench").resolve()
        self.scale = options.scale * (QUICK_SCALE if options.quick else 1.0)
        self.runs = min(options.runs, QUICK_RUNS) if options.quick else options.runs
        self.profilers = make_profilers(self.build_dir)
        self.programs = real.captured_programs(pathlib.Path(__file__).resolve().parent.parent, self.build_dir,
                                               min(1.0, max(self.scale, QUICK_SCALE)))
        self.workloads = self.build_dir / "bench" / "workloads"
        self.rows = report.RawRows(options.build_dir, "capture")
        self.rows.add({"bench": "capture", "runs": self.runs, "scale": self.scale, **report.machine()})
        self.parts = {"churn", "writer", *self.programs} if not options.only else set(options.only)
        unknown = self.parts - {"churn", "writer", *self.programs}
        if unknown:
            raise BenchFailure(f"no part {', '.join(sorted(unknown))}; there are churn, writer, "
                               f"{', '.join(self.programs)}")

    def installed(self, names):
        return [self.profilers[name] for name in names if not isinstance(self.profilers[name], Missing)]

    def missing(self):
        every = [*self.profilers.items(), *self.programs.items()]
        return {name: str(what) for name, what in every if isinstance(what, Missing)}

    def keep(self, outcome, **row):
        self.rows.add({**row, "command": outcome.command, "environment": outcome.environment,
                       "turns": len(outcome.pauses) + 1, "wall": outcome.wall, "user": outcome.user,
                       "system": outcome.system})


def _turned(items, repetition):
    """Another one begins each time."""
    first = repetition % len(items)
    return items[first:] + items[:first]


def _workload_command(bench, workload, scale):
    return [bench.workloads, "--unpinned", "--scale", f"{scale:g}", workload]


def _workload_row(profiler, outcome, threads, folder):
    fields = workload_fields(profiler, outcome)
    seconds = outcome.running_between(float(fields["began"]), float(fields["ended"]))
    ops = int(fields["ops"])
    return {"ns": seconds * 1e9 * threads / ops, "ops": ops,
            "own_ns": float(fields["own_cpu_seconds"]) * 1e9 / ops, "cpu_ns": float(fields["cpu_seconds"]) * 1e9 / ops,
            "seconds": seconds, "checksum": fields["checksum"], "peak_rss_kib": int(fields["peak_rss_kib"]),
            **profiler.profile(folder, outcome)}


def _churn_once(bench, repetition, expected):
    """One run of each workload under each profiler: (workload, profiler name) -> row."""
    pairs = [(workload, profiler) for profiler in bench.installed(bench.profilers) for workload in CHURN
             if workload == CHURN[0] or profiler.name not in ONE_THREAD_ONLY]
    found = {}
    with Folders(bench.folder, "capture") as folders:
        jobs, places = [], []
        pairs = _turned(pairs, 2 * repetition)
        for workload, profiler in pairs:
            places.append(folders.make(f"{workload}-{profiler.name}"))
            scale = bench.scale * profiler.length
            jobs.append(profiler.job(places[-1], _workload_command(bench, workload, scale), {}))
        for (workload, profiler), place, outcome in zip(pairs, places, run_in_turns(jobs, TURN_SECONDS)):
            row = _workload_row(profiler, outcome, CHURN_THREADS[workload], place)
            if row["checksum"] != expected[workload, profiler.length]:
                raise BenchFailure(f"{workload} under {profiler.name}: another checksum than under glibc")
            bench.keep(outcome, part="churn", workload=workload, variant=profiler.name, repetition=repetition, **row)
            found[workload, profiler.name] = row
    return found


def _expected_checksums(bench):
    """Of each workload at each length, under glibc."""
    lengths = {profiler.length for profiler in bench.installed(bench.profilers)}
    return {(workload, length): parse_fields(run_process(_workload_command(bench, workload, bench.scale * length),
                                                         {}).stdout)["checksum"]
            for workload in CHURN for length in lengths}


def _undisturbed(repetitions, runs):
    """Judged by the reference alone, with one thread."""
    samples = {name: [found[CHURN[0], name] for found in repetitions] for name in ("mimalloc", "again")}
    return alloc.undisturbed(samples, runs)


def _measure_churn(bench):
    expected = _expected_checksums(bench)
    repetitions = []
    for repetition in range(MOST_REPETITIONS * bench.runs):
        print(f"churn: repetition {repetition + 1}", file=sys.stderr, flush=True)
        repetitions.append(_churn_once(bench, repetition, expected))
        quiet, kept = _undisturbed(repetitions, bench.runs)
        if quiet >= bench.runs:
            break
    bench.rows.add({"part": "churn", "undisturbed": quiet, "kept": kept})
    return [repetitions[i] for i in kept], (quiet, len(repetitions))


def _write_at(bench, rate, repetition):
    """A run at so many deaths per second, or with 0 at as many as it makes."""
    profiler = bench.profilers["full"]
    with Folders(bench.folder, "capture") as folders:
        place = folders.make(WRITER)
        asked = ["--rate", f"{rate:g}"] if rate else []
        command = [*_workload_command(bench, WRITER, bench.scale * WRITER_LENGTH), *asked]
        outcome = run_in_turns([profiler.job(place, command, {})])[0]
        row = _workload_row(profiler, outcome, 2, place)
    row.update(asked=rate, deaths_per_second=row["ops"] / row["seconds"])
    bench.keep(outcome, part="writer", workload=WRITER, variant="full", repetition=repetition, **row)
    return row


def _measure_writer(bench):
    """Rate asked for -> rows."""
    print(f"writer: {WRITER} at several rates", file=sys.stderr, flush=True)
    return {rate: [_write_at(bench, rate, repetition) for repetition in range(bench.runs)] for rate in WRITER_RATES}


def _program_once(bench, program, repetition):
    found, places = {}, []
    with Folders(bench.folder, "capture") as folders:
        profilers, jobs = _turned(bench.installed(REAL_UNDER), repetition), []
        for profiler in profilers:
            places.append(folders.make(profiler.name))
            command = program.command(places[-1])
            jobs.append(profiler.job(places[-1], command, program.settings, stdin_path=program.stdin,
                                     helpers=program.helpers(), watch_memory=True))
        for profiler, place, outcome in zip(profilers, places, run_in_turns(jobs, TURN_SECONDS)):
            row = {"seconds": program.seconds(outcome), "peak_kib": outcome.together_kib,
                   "checksum": program.checksum(outcome), **profiler.profile(place, outcome)}
            bench.keep(outcome, part="real", workload=program.name, variant=profiler.name, repetition=repetition, **row)
            found[profiler.name] = row
    said = {row["checksum"] for row in found.values()}
    if len(said) != 1:
        raise BenchFailure(f"{program.name}: the outputs differ: {said}")
    return found


def _measure_programs(bench):
    results = {}
    for name, program in bench.programs.items():
        if name in bench.parts and not isinstance(program, Missing):
            print(f"{name}: {program.what}", file=sys.stderr, flush=True)
            results[name] = [_program_once(bench, program, repetition) for repetition in range(bench.runs)]
    return results


def run(options):
    bench = Bench(options)
    churn = _measure_churn(bench) if "churn" in bench.parts else ([], (0, 0))
    writer = _measure_writer(bench) if "writer" in bench.parts else {}
    programs = _measure_programs(bench)
    text, verdicts = capture_report.render(bench, churn, writer, programs)
    report.publish(text, bench.rows.path, options.out)
    if bench.missing():
        raise BenchFailure("; ".join(f"{name} is {what}" for name, what in bench.missing().items()))
    return 1 if options.strict and verdicts.missed() else 0
