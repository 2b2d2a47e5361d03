"""Lookups in the interval map of large chunks, with none and with 100 000 other chunks live."""
import statistics

from . import report
from .process import BenchFailure, parse_fields, run_process

LIMIT = 1.3
REMOVALS_NEEDED = 1000  # done while the reader was inside; a removal that waited for it would leave none
RUNS_NEEDED = 5
QUICK_RUNS, QUICK_SLICES, SLICES = 2, 100, 3000
KINDS = {"hit": "hit", "miss-gap": "miss, beside a chunk", "miss-freed": "miss, chunk freed"}


def add_arguments(parser):
    del parser


def _median(rows, key, **wanted):
    chosen = [row for row in rows if key in row and wanted.items() <= row.items()]
    values = [float(row[key]) for row in chosen]
    if not values:
        raise BenchFailure(f"largemap printed no row with {key} for {wanted}")
    return statistics.median(values)


def _lookup_table(rows, verdicts):
    lines = []
    for kind, label in KINDS.items():
        for key, what in (("with_section_ns", "with its read section"), ("find_ns", "the map alone")):
            alone = _median(rows, key, kind=kind, condition="alone")
            crowded = _median(rows, key, kind=kind, condition="crowded")
            lines.append([f"{label}, {what}", f"{alone:.2f}", f"{crowded:.2f}", f"{crowded / alone:.3f}"])
            # Both are held to the limit: the section's fixed cost would hide a slower map behind a better ratio.
            verdicts.add(f"{label}, {what}", f"{LIMIT:.2f}", f"{crowded / alone:.3f}", crowded / alone <= LIMIT)
    return report.table(["lookup, ns", "64 chunks", "64 and 100 000 others", "ratio"], lines)


def _edit_table(rows):
    lines = [[what, *(f"{_median(rows, key, condition=condition):.1f}" for condition in ("alone", "crowded"))]
             for what, key in (("insert", "insert_ns"), ("remove", "remove_ns"))]
    return report.table(["edit, ns with the clock", "64 chunks", "64 and 100 000 others"], lines)


def _held(rows, verdicts):
    held = [row for row in rows if row["row"] == "held"]
    least = min(int(row["while_reader_inside"]) for row in held)
    hold = f"{held[0]['hold_ms']} ms"
    verdicts.add("removal does not wait for a reader", f"{REMOVALS_NEEDED} removals", str(least),
                 least >= REMOVALS_NEEDED, f"while a reader held its section for {hold}")
    return (f"Removals while a reader sat in its section for {hold}: {least} of {held[0]['removals']}; median "
            f"{_median(rows, 'median_ns', row='held'):.0f} ns, 99.9 % below "
            f"{_median(rows, 'p999_ns', row='held'):.0f} ns, longest "
            f"{max(float(row['max_ns']) for row in held) / 1000:.0f} µs.")


def run(options):
    program = options.build_dir / "bench" / "largemap"
    if not program.exists():
        raise BenchFailure(f"{program} is missing: build the project first")
    runs, slices = (min(options.runs, QUICK_RUNS), QUICK_SLICES) if options.quick else (options.runs, SLICES)
    raw = report.RawRows(options.build_dir, "largemap")
    facts = report.machine()
    outcome = run_process([program, str(runs), str(slices)], {})
    raw.add({"bench": "largemap", "command": outcome.command, "environment": outcome.environment, **facts})
    rows = [parse_fields(line) for line in outcome.stdout.splitlines()]
    for row in rows:
        raw.add(row)
    verdicts = report.Verdicts()
    parts = ["# bench/run largemap", f"{facts['time']}, {facts['processor']}, {facts['processors']} processors, "
             f"Linux {facts['kernel']}; medians of {runs} runs, the two conditions in turn, "
             f"load {facts['load'][0]:.1f}; another thread inserts and removes all the while."]
    if options.quick or runs < RUNS_NEEDED:
        parts.append("**A shortened run: its figures mean nothing.**")
    parts += [_lookup_table(rows, verdicts), _edit_table(rows), _held(rows, verdicts), "## Verdicts", verdicts.table()]
    report.publish("\n\n".join(parts), raw.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
