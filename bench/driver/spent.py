"""The time in allocation routines that a trace tells, against what the program measured around each of its calls."""
import json
import statistics
import tempfile

from . import report
from .process import BenchFailure, run_process

LIMIT = 1.25  # how far the two may be apart, beyond three standard errors
MODES = {"alone": "calls one after another", "threads": "of two threads", "sizes": "of many sizes", "apart": "with other work between them"}
QUICK_RUNS = 1


def add_arguments(parser):
    del parser


def _measure(options, mode, raw):
    """One run: what the trace tells, and what the program measured, in seconds."""
    with tempfile.TemporaryDirectory(prefix="profalloc-spent-") as folder:
        trace = f"{folder}/t.pa"
        outcome = run_process([options.build_dir / "tests" / "exact" / "spender", mode],
                              {"LD_PRELOAD": str(options.build_dir / "libprofalloc.so"), "PROFALLOC_CONF": f"prof:true,sample:1,out:{trace}"})
        told = json.loads(run_process([options.build_dir / "profalloc", "report", "--json", trace], {}).stdout)["allocation_time"]
    truth = float(outcome.stdout.split()[1])
    if told is None:
        raise BenchFailure(f"the trace of spender {mode} tells no time")
    row = {"mode": mode, "told": told["seconds"], "error": told["error"], "measured": truth}
    raw.add({"command": outcome.command, **row})
    return row


def _apart(row):
    """By which factor the two are apart once the error is taken off."""
    low, high = row["told"] - 3 * row["error"], row["told"] + 3 * row["error"]
    return max(low / row["measured"], row["measured"] / high, 1)


def run(options):
    if not (options.build_dir / "tests" / "exact" / "spender").exists():
        raise BenchFailure("tests/exact/spender is missing: configure with -DPROFALLOC_TESTS=ON and build first")
    runs = QUICK_RUNS if options.quick else options.runs
    raw = report.RawRows(options.build_dir, "spent")
    facts = report.machine()
    raw.add({"bench": "spent", **facts})
    verdicts, lines = report.Verdicts(), []
    for mode, label in MODES.items():
        rows = [_measure(options, mode, raw) for _ in range(runs)]
        middle = {key: statistics.median(row[key] for row in rows) for key in ("told", "error", "measured")}
        apart = statistics.median(map(_apart, rows))
        lines.append([label, f"{middle['told']:.4f}", f"{middle['error']:.4f}", f"{middle['measured']:.4f}", f"{apart:.3f}"])
        verdicts.add(label, f"{LIMIT:.2f}", f"{apart:.3f}", apart <= LIMIT)
    parts = ["# bench/run spent", f"{facts['time']}, {facts['processor']}, {facts['processors']} processors, Linux {facts['kernel']}; "
             f"medians of {runs} runs, load {facts['load'][0]:.1f}."]
    if options.quick:
        parts.append("**A shortened run: its figures mean nothing.**")
    parts += [report.table(["calls", "s, by the trace", "±", "s, by the program", "apart"], lines), "## Verdicts", verdicts.table()]
    report.publish("\n\n".join(parts), raw.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
