"""Time and memory of the allocator against its peers, as ratios to bare mimalloc.

Every repetition runs all variants side by side, in turns of a twentieth of a second, beginning with another one each
time, so that whatever disturbs the machine disturbs all of them alike. Repetitions in which even so the reference was
slowed down do not count, as long as there are enough others.
"""
import hashlib
import pathlib
import sys

from . import alloc_report, real, report
from .process import BenchFailure, Folders, Job, own_peak_rss_kib, parse_fields, run_in_turns, run_process
from .profilers import trace_in
from .variants import CATALOGUE, make_variants

QUICK_SCALE = 0.01
QUICK_RUNS = 2
WARM_SCALE = 0.02
TURN_SECONDS = 0.05
DISTURBED = 1.1  # times the fastest run of the reference
MOST_REPETITIONS = 3  # times those asked for


def add_arguments(parser):
    parser.add_argument("--only", action="append", metavar="WORKLOAD", help="only this workload; may be repeated")
    parser.add_argument("--group", help="only the workloads of this group, such as neutral")
    parser.add_argument("--profiles", type=pathlib.Path, metavar="FOLDER",
                        help="where traces are written meanwhile (default: in the build folder)")
    parser.add_argument("--variants", default=",".join(CATALOGUE), help="comma-separated (default %(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the length of each workload")


class Synthetic:
    """A workload of build/bench/workloads, which pins its own threads and times its own work."""

    def __init__(self, program, name, what, group, scale):
        self.program, self.name, self.what, self.group, self.scale = program, name, what, group, scale

    def job(self, variant, folder, warm):
        scale = min(self.scale, WARM_SCALE) if warm else self.scale
        return Job([self.program, "--scale", f"{scale:g}", self.name], variant.environment(folder))

    def row(self, variant, outcome):
        fields = parse_fields(outcome.stdout)
        if not variant.provides(fields["malloc"]):
            raise BenchFailure(f"{self.name} under {variant.name} ran on the malloc of {fields['malloc']}")
        seconds = outcome.running_between(float(fields["began"]), float(fields["ended"]))
        row = {"seconds": seconds, "cpu_seconds": float(fields["cpu_seconds"]), "ops": int(fields["ops"]),
               "peak_rss_kib": int(fields["peak_rss_kib"]), "checksum": fields["checksum"]}
        for key in ("live_chunks", "live_requested", "live_rss_kib"):
            if key in fields:
                row[key] = int(fields[key])
        return row


class Real:
    """A program of others: the whole process is timed, and its output is its checksum."""

    def __init__(self, program):
        self.program, self.name, self.what, self.group = program, program.name, program.what, ""

    def job(self, variant, folder, warm):
        del warm
        settings = {**self.program.environment, **variant.environment(folder)}
        return Job(self.program.command, settings, self.program.stdin, pin=True)

    def row(self, variant, outcome):
        del variant
        if outcome.peak_rss_kib <= own_peak_rss_kib():
            raise BenchFailure(f"{self.name} needs less memory than this driver, so its peak cannot be told")
        checksum = hashlib.sha256(outcome.stdout.encode()).hexdigest()[:16]
        return {"seconds": outcome.wall, "peak_rss_kib": outcome.peak_rss_kib, "checksum": checksum,
                "cpu_seconds": outcome.user + outcome.system}


def _workloads(options, scale):
    program = options.build_dir / "bench" / "workloads"
    if not program.exists():
        raise BenchFailure(f"{program} is missing: build the project first")
    listing = run_process([program, "--list"], {}).stdout
    listed = [line.split("\t") for line in listing.splitlines()]
    found = [Synthetic(program, name, what, group.strip("-"), scale) for name, _, what, bench, group in listed
             if bench == "alloc"]
    found += map(Real, real.real_programs(pathlib.Path(__file__).resolve().parent.parent, options.build_dir / "bench"))
    if options.only:
        unknown = set(options.only) - {workload.name for workload in found}
        if unknown:
            names = ", ".join(workload.name for workload in found)
            raise BenchFailure(f"no workload {', '.join(sorted(unknown))}; there are {names}")
        found = [workload for workload in found if workload.name in options.only]
    if options.group:
        groups = {workload.group for workload in found if workload.group}
        found = [workload for workload in found if workload.group == options.group]
        if not found:
            raise BenchFailure(f"no workload of the group {options.group}; there are {', '.join(sorted(groups))}")
    return found


class Place:
    """Where runs leave their traces, and the tool that reads them."""

    def __init__(self, options):
        self.folder = (options.profiles or options.build_dir / "bench").resolve()
        self.tool = options.build_dir.resolve() / "profalloc"


def _run_all(workload, variants, place, warm=False):
    """One run under each of the variants: pairs of row and outcome in their order."""
    turn = TURN_SECONDS if _in_turns(workload) else None
    pairs = []
    with Folders(place.folder, "alloc") as folders:
        made = [folders.make(variant.name) for variant in variants]
        jobs = [workload.job(variant, folder, warm) for variant, folder in zip(variants, made)]
        for variant, folder, outcome in zip(variants, made, run_in_turns(jobs, turn)):
            row = workload.row(variant, outcome)
            if variant.leaves_trace():
                row |= trace_in(folder, place.tool, outcome)
            pairs.append((row, outcome))
    _agree(workload, {variant.name: row["checksum"] for variant, (row, _) in zip(variants, pairs)})
    return pairs


def undisturbed(samples, runs):
    """The repetitions to keep, by the reference alone: those in which it was not slowed down, and `runs` at least."""
    times = alloc_report.reference_values(samples, "seconds")
    by_time = sorted(range(len(times)), key=times.__getitem__)
    quiet = sum(time <= DISTURBED * min(times) for time in times)
    return quiet, sorted(by_time[:max(quiet, runs)])


def _in_turns(workload):
    """All variants of the one that is there for its memory may not fit at once; nor does its time matter."""
    return workload.name != alloc_report.MEMORY_ONLY


def _measure(workload, variants, place, runs, most, rows):
    """The repetitions of one workload that count: variant name -> list of rows; and how many were undisturbed and made.

    Goes on until so many were not disturbed, but not beyond `most`."""
    samples = {variant.name: [] for variant in variants}
    if most > runs:
        _run_all(workload, variants, place, warm=True)
    for repetition in range(most):
        first = repetition % len(variants)
        order = variants[first:] + variants[:first]
        for position, (variant, (row, outcome)) in enumerate(zip(order, _run_all(workload, order, place))):
            rows.add({"workload": workload.name, "variant": variant.name, "repetition": repetition,
                      "position": position, "command": outcome.command, "environment": outcome.environment,
                      "turns": len(outcome.pauses) + 1, "wall": outcome.wall, "user": outcome.user,
                      "system": outcome.system, **row})
            samples[variant.name].append(row)
        quiet, kept = undisturbed(samples, runs)
        if quiet >= runs or (repetition + 1 == runs and not _in_turns(workload)):
            break
    rows.add({"workload": workload.name, "undisturbed": quiet, "kept": kept})
    return {name: [taken[i] for i in kept] for name, taken in samples.items()}, (quiet, repetition + 1)


def _agree(workload, checksums):
    """The same work under every allocator, or there is nothing to compare."""
    if len(set(checksums.values())) != 1:
        said = ", ".join(f"{name} {checksum}" for name, checksum in checksums.items())
        raise BenchFailure(f"{workload.name}: the checksums differ: {said}")


def run(options):
    scale = QUICK_SCALE * options.scale if options.quick else options.scale
    runs = min(options.runs, QUICK_RUNS) if options.quick else options.runs
    most = runs if options.quick else MOST_REPETITIONS * runs
    names = options.variants.split(",")
    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        raise BenchFailure(f"no variant {', '.join(unknown)}; there are {', '.join(CATALOGUE)}")
    variants = make_variants(options.build_dir.resolve(), names)
    rows = report.RawRows(options.build_dir, "alloc")
    rows.add({"bench": "alloc", "runs": runs, "scale": scale, **report.machine()})
    results, made, groups, place = {}, {}, {}, Place(options)
    for workload in _workloads(options, scale):
        groups[workload.name] = workload.group
        print(f"{workload.name}: {workload.what}", file=sys.stderr, flush=True)
        results[workload.name], made[workload.name] = _measure(workload, variants, place, runs, most, rows)
    text, verdicts = alloc_report.render(results, made, groups, [variant.name for variant in variants], runs, scale)
    report.publish(text, rows.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
