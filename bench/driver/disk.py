"""Recording with the trace on a disk that others keep busy: time over bare mimalloc's, and what threads waited for.

Beside the programs a process writes to the same disk and waits for it to be written, over and over, for a bounded number of
times. The variants run one after another, each to its end, and another one begins each time: a pause in the middle would hide
that a thread waits for the disk.
"""
import os
import pathlib
import signal
import statistics
import subprocess
import sys

from . import report
from .alloc import QUICK_RUNS, QUICK_SCALE, Place, Synthetic
from .process import BenchFailure, Folders, parse_fields, run_in_turns, run_process
from .profilers import trace_in
from .variants import CATALOGUE, CONTROL, ON_DISK, REFERENCE, make_variants

WORKLOADS = ("relay", "strewn", "orphans", "churn2")
FORKS = "forks"
LIMIT = 1.05
RUNS_NEEDED = 5
WRITES, WRITE_MIB, LOAD_SECONDS = 2000, 64, 1800  # at most so many files, one over the other, and so long


def add_arguments(parser):
    parser.add_argument("--only", action="append", metavar="WORKLOAD",
                        help=f"one of the workloads of bench/run alloc, or {FORKS}; may be repeated "
                             f"(default {', '.join(WORKLOADS)}, {FORKS})")
    parser.add_argument("--variants", default=f"{REFERENCE},{CONTROL},sampled",
                        help="of bench/run alloc, and beside (sampled, with the live table on the disk) and everything "
                             "(every chunk); comma-separated (default %(default)s)")
    parser.add_argument("--fork-variants", default=f"glibc,{REFERENCE},off,sampled,everything",
                        help="the same for forks (default %(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the length of each workload")
    parser.add_argument("--quiet", action="store_true", help="nobody else writes to the disk")
    parser.add_argument("--profiles", type=pathlib.Path, metavar="FOLDER",
                        help="a folder on the disk (default: in the build folder)")


def _is_on_disk(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True).stdout.strip()
    return kind not in ("tmpfs", "ramfs")


class Load:
    """Keeps the disk under a folder busy, until told to end or a bound is reached."""

    def __init__(self, folder, quiet):
        self._file, self._process = folder / f"busy-{os.getpid()}", None
        if not quiet:
            loop = (f"i=0; while [ $i -lt {WRITES} ]; do i=$((i + 1)); "
                    f"dd if=/dev/zero of='{self._file}' bs=1M count={WRITE_MIB} conv=fsync 2>/dev/null || exit 1; done")
            self._process = subprocess.Popen(["timeout", str(LOAD_SECONDS), "sh", "-c", loop], start_new_session=True)

    def check(self):
        if self._process is not None and self._process.poll() is not None:
            raise BenchFailure(f"what keeps the disk busy has ended with {self._process.returncode}; take fewer runs")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGTERM)
                self._process.wait()
            self._file.unlink(missing_ok=True)


class OnDisk(Synthetic):
    def row(self, variant, outcome):
        fields = parse_fields(outcome.stdout)
        waits = {key: int(fields[key]) for key in ("major_faults", "voluntary", "involuntary")}
        return super().row(variant, outcome) | waits


def _workloads(options, scale):
    program = options.build_dir / "bench" / "workloads"
    if not program.exists():
        raise BenchFailure(f"{program} is missing: build the project first")
    listed = [line.split("\t") for line in run_process([program, "--list"], {}).stdout.splitlines()]
    found = {name: OnDisk(program, name, what, group, scale) for name, _, what, _, group in listed}
    wanted = options.only or [*WORKLOADS, FORKS]
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise BenchFailure(f"no workload {', '.join(unknown)}; there are {', '.join(found)}")
    return [found[name] for name in wanted]


def _run_one(workload, variant, place):
    with Folders(place.folder, "disk") as folders:
        folder = folders.make(variant.name)
        outcome, = run_in_turns([workload.job(variant, folder, False)])
        row = workload.row(variant, outcome)
        if variant.leaves_trace():
            row |= trace_in(folder, place.tool, outcome)
    return row, outcome


def _measure(workload, variants, place, load, runs, rows):
    samples = {variant.name: [] for variant in variants}
    for repetition in range(runs):
        first = repetition % len(variants)
        for variant in variants[first:] + variants[:first]:
            row, outcome = _run_one(workload, variant, place)
            load.check()
            rows.add({"workload": workload.name, "variant": variant.name, "repetition": repetition,
                      "command": outcome.command, "environment": outcome.environment, **row})
            samples[variant.name].append(row)
    if len({row["checksum"] for taken in samples.values() for row in taken}) != 1:
        raise BenchFailure(f"{workload.name}: the checksums differ")
    return samples


def _ratios(samples, name):
    """To the reference in the same round; the mean of both where it was measured twice."""
    both = [samples[each] for each in (REFERENCE, CONTROL) if each in samples and each != name]
    bases = [statistics.mean(row["seconds"] for row in rows) for rows in zip(*both)]
    return [row["seconds"] / base for row, base in zip(samples[name], bases)]


def _cell(ratios):
    if len(ratios) < 2:
        return f"{ratios[0]:.3f}"
    low, _, high = statistics.quantiles(ratios, n=4)
    return f"{statistics.median(ratios):.3f} ±{(high - low) / 2:.3f}"


def _table(results):
    cells = []
    for workload, samples in results.items():
        for name, taken in samples.items():
            median = {key: statistics.median(row[key] for row in taken)
                      for key in ("seconds", "major_faults", "voluntary", "involuntary")}
            ratio = "" if name == REFERENCE else _cell(_ratios(samples, name))
            cells.append([f"{workload}, {name}", f"{median['seconds'] * 1e3:.0f} ms", ratio,
                          max(row["major_faults"] for row in taken), f"{median['voluntary']:.0f}",
                          f"{median['involuntary']:.0f}"])
    return report.table(["workload, variant", "time", f"over {REFERENCE}", "major faults, at most", "sleeps",
                         "times without a processor"], cells)


def _judge(results, verdicts):
    judged = {workload: samples for workload, samples in results.items() if workload != FORKS and "sampled" in samples}
    if not judged:
        return
    ratios = {workload: statistics.median(_ratios(samples, "sampled")) for workload, samples in judged.items()}
    faults = {workload: max(row["major_faults"] for row in samples["sampled"]) for workload, samples in judged.items()}
    slow, faulting = ([w for w in values if values[w] > limit] for values, limit in ((ratios, LIMIT), (faults, 0)))
    worst = max(ratios, key=ratios.get)
    verdicts.add("sampled: time, each workload", f"{LIMIT:.2f}", f"{ratios[worst]:.3f}", not slow,
                 ", ".join(slow) if slow else f"worst: {worst}")
    verdicts.add("sampled: major faults of the program's threads", "0", str(max(faults.values())), not faulting,
                 ", ".join(faulting))


def run(options):
    scale = QUICK_SCALE * options.scale if options.quick else options.scale
    runs = min(options.runs, QUICK_RUNS) if options.quick else options.runs
    wanted = {False: options.variants.split(","), True: options.fork_variants.split(",")}
    known = CATALOGUE | ON_DISK
    unknown = [name for names in wanted.values() for name in names if name not in known]
    if unknown:
        raise BenchFailure(f"no variant {', '.join(unknown)}; there are {', '.join(known)}")
    build_dir, place = options.build_dir.resolve(), Place(options)
    if not _is_on_disk(place.folder):
        raise BenchFailure(f"{place.folder} is in memory; --profiles names a folder on a disk")
    rows = report.RawRows(options.build_dir, "disk")
    rows.add({"bench": "disk", "runs": runs, "scale": scale, "quiet": options.quiet, **report.machine()})
    results = {}
    with Load(place.folder, options.quiet) as load:
        for workload in _workloads(options, scale):
            print(f"{workload.name}: {workload.what}", file=sys.stderr, flush=True)
            variants = make_variants(build_dir, wanted[workload.name == FORKS])
            results[workload.name] = _measure(workload, variants, place, load, runs, rows)
    verdicts = report.Verdicts()
    _judge(results, verdicts)
    facts = report.machine()
    beside = "nobody else writing" if options.quiet else f"dd with fsync of {WRITE_MIB} MiB beside it, over and over"
    parts = ["# bench/run disk", f"{facts['time']}, {facts['processor']}, {facts['processors']} processors, "
             f"Linux {facts['kernel']}; {runs} runs of each in turns, scale {scale:g}, {beside}, load {facts['load'][0]:.1f}."]
    if runs < RUNS_NEEDED or scale < 1:
        parts.append("**A shortened run: its figures mean nothing.**")
    parts += ["Faults and sleeps are of the workload's threads alone, from the beginning of the work to the end of the last "
              "thread; those of forks with its children.", _table(results)]
    if verdicts.rows:
        parts += ["## Verdicts", verdicts.table()]
    report.publish("\n\n".join(parts), rows.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
