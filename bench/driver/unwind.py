"""The stack unwinder: nanoseconds per frame through code without frame pointers."""
import statistics

from . import report
from .process import BenchFailure, parse_fields, run_process

LIMIT_NS = 8.0
JUDGED_DEPTH = 16  # the shallowest at which the frames weigh more than the call around them
RUNS_NEEDED = 5
QUICK_RUNS, QUICK_SLICES, SLICES = 2, 10, 200
WAYS = {"same_ns": "same stack", "others_ns": "another stack each time", "new_ns": "no rule known"}


def add_arguments(parser):
    del parser


def _table(rows, verdicts):
    lines = []
    for depth in sorted({int(row["depth"]) for row in rows}):
        chosen = [row for row in rows if int(row["depth"]) == depth]
        figures = {key: statistics.median(float(row[key]) for row in chosen) for key in WAYS}
        lines.append([depth, chosen[0]["frames"], *(f"{figures[key]:.1f}" for key in WAYS)])
        if depth >= JUDGED_DEPTH:
            for key in ("same_ns", "others_ns"):
                verdicts.add(f"{WAYS[key]}, ns per frame", f"{LIMIT_NS:.1f}", f"{figures[key]:.2f}",
                             figures[key] <= LIMIT_NS, f"depth {depth}")
    return report.table(["depth", "frames walked", *(f"{what}, ns/frame" for what in WAYS.values())], lines)


def run(options):
    program = options.build_dir / "bench" / "unwind"
    if not program.exists():
        raise BenchFailure(f"{program} is missing: build the project first")
    runs, slices = (min(options.runs, QUICK_RUNS), QUICK_SLICES) if options.quick else (options.runs, SLICES)
    raw = report.RawRows(options.build_dir, "unwind")
    facts = report.machine()
    outcome = run_process([program, str(runs), str(slices)], {})
    raw.add({"bench": "unwind", "command": outcome.command, "environment": outcome.environment, **facts})
    rows = [parse_fields(line) for line in outcome.stdout.splitlines()]
    if not rows:
        raise BenchFailure("unwind printed no rows")
    for row in rows:
        raw.add(row)
    verdicts = report.Verdicts()
    parts = ["# bench/run unwind", f"{facts['time']}, {facts['processor']}, {facts['processors']} processors, "
             f"Linux {facts['kernel']}; medians of {runs} runs, load {facts['load'][0]:.1f}."]
    if options.quick or runs < RUNS_NEEDED:
        parts.append("**A shortened run: its figures mean nothing.**")
    parts += [_table(rows, verdicts), "## Verdicts", verdicts.table()]
    report.publish("\n\n".join(parts), raw.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
