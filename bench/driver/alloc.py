"""Time and memory of the allocator against its peers, as ratios to bare mimalloc.

Every repetition runs all variants one after another, beginning with another one each time, so that whatever disturbs
the machine disturbs all of them alike.
"""
import hashlib
import pathlib
import sys

from . import alloc_report, real, report
from .process import BenchFailure, own_peak_rss_kib, parse_fields, run_process
from .variants import CATALOGUE, make_variants

QUICK_SCALE = 0.05
QUICK_RUNS = 2
WARM_SCALE = 0.02


def add_arguments(parser):
    parser.add_argument("--only", action="append", metavar="WORKLOAD", help="only this workload; may be repeated")
    parser.add_argument("--variants", default=",".join(CATALOGUE), help="comma-separated (default %(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the length of each workload")


class Synthetic:
    """A workload of build/bench/workloads, which pins its own threads and times its own work."""

    def __init__(self, program, name, what, scale):
        self.program, self.name, self.what, self.scale = program, name, what, scale

    def run(self, variant, warm=False):
        scale = min(self.scale, WARM_SCALE) if warm else self.scale
        outcome = run_process([self.program, "--scale", f"{scale:g}", self.name], variant.environment())
        fields = parse_fields(outcome.stdout)
        if not variant.provides(fields["malloc"]):
            raise BenchFailure(f"{self.name} under {variant.name} ran on the malloc of {fields['malloc']}")
        row = {"seconds": float(fields["seconds"]), "cpu_seconds": float(fields["cpu_seconds"]),
               "peak_rss_kib": int(fields["peak_rss_kib"]), "ops": int(fields["ops"]), "checksum": fields["checksum"]}
        for key in ("live_chunks", "live_requested", "live_rss_kib"):
            if key in fields:
                row[key] = int(fields[key])
        return row, outcome


class Real:
    """A program of others: the whole process is timed, and its output is its checksum."""

    def __init__(self, program):
        self.program, self.name, self.what = program, program.name, program.what

    def run(self, variant, warm=False):
        settings = {**self.program.environment, **variant.environment()}
        outcome = run_process(self.program.command, settings, stdin_path=self.program.stdin, pin=True)
        if outcome.peak_rss_kib <= own_peak_rss_kib():
            raise BenchFailure(f"{self.name} needs less memory than this driver, so its peak cannot be told")
        checksum = hashlib.sha256(outcome.stdout.encode()).hexdigest()[:16]
        return {"seconds": outcome.wall, "peak_rss_kib": outcome.peak_rss_kib, "checksum": checksum,
                "cpu_seconds": outcome.user + outcome.system}, outcome


def _workloads(options, scale):
    program = options.build_dir / "bench" / "workloads"
    if not program.exists():
        raise BenchFailure(f"{program} is missing: build the project first")
    listing = run_process([program, "--list"], {}).stdout
    found = [Synthetic(program, *(line.split("\t")[i] for i in (0, 2)), scale) for line in listing.splitlines()]
    found += map(Real, real.real_programs(pathlib.Path(__file__).resolve().parent.parent, options.build_dir / "bench"))
    if options.only:
        unknown = set(options.only) - {workload.name for workload in found}
        if unknown:
            names = ", ".join(workload.name for workload in found)
            raise BenchFailure(f"no workload {', '.join(sorted(unknown))}; there are {names}")
        found = [workload for workload in found if workload.name in options.only]
    return found


def _measure(workload, variants, runs, rows):
    """All repetitions of one workload: variant name -> list of rows."""
    samples = {variant.name: [] for variant in variants}
    _agree(workload, {variant.name: workload.run(variant, warm=True)[0]["checksum"] for variant in variants})
    for repetition in range(runs):
        turn = repetition % len(variants)
        for position, variant in enumerate(variants[turn:] + variants[:turn]):
            row, outcome = workload.run(variant)
            rows.add({"workload": workload.name, "variant": variant.name, "repetition": repetition,
                      "position": position, "command": outcome.command, "environment": outcome.environment,
                      "wall": outcome.wall, "user": outcome.user, "system": outcome.system, **row})
            samples[variant.name].append(row)
        _agree(workload, {name: taken[-1]["checksum"] for name, taken in samples.items()})
    return samples


def _agree(workload, checksums):
    """The same work under every allocator, or there is nothing to compare."""
    if len(set(checksums.values())) != 1:
        said = ", ".join(f"{name} {checksum}" for name, checksum in checksums.items())
        raise BenchFailure(f"{workload.name}: the checksums differ: {said}")


def run(options):
    scale = QUICK_SCALE * options.scale if options.quick else options.scale
    runs = min(options.runs, QUICK_RUNS) if options.quick else options.runs
    names = options.variants.split(",")
    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        raise BenchFailure(f"no variant {', '.join(unknown)}; there are {', '.join(CATALOGUE)}")
    variants = make_variants(options.build_dir.resolve(), names)
    rows = report.RawRows(options.build_dir, "alloc")
    rows.add({"bench": "alloc", "runs": runs, "scale": scale, **report.machine()})
    results = {}
    for workload in _workloads(options, scale):
        print(f"{workload.name}: {workload.what}", file=sys.stderr, flush=True)
        results[workload.name] = _measure(workload, variants, runs, rows)
    text, verdicts = alloc_report.render(results, [variant.name for variant in variants], runs, scale)
    report.publish(text, rows.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
