"""The analyses on a trace of 50 million chunks of 20 000 allocation points, with one thread and with two: time, memory, how the time grows, and what
--where adds; and a live table of 10 million records."""
import json
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

from . import report
from .process import BenchFailure, Job, run_in_turns, run_process

CHUNKS, POINTS = 50_000_000, 20_000
QUICK_CHUNKS, QUICK_POINTS = 300_000, 500
THREADS = (1, 2)
MEMORY_KIB = 400 << 10
LIVE_RECORDS, QUICK_LIVE_RECORDS, LIVE_SECONDS = 10_000_000, 50_000, 0.4
WHERE_LINES, WHERE_LIMIT = 200, 1.2
LINEAR_LIMIT = 1.25  # of the time per chunk, whole trace over a quarter of it
# What is held to the limits, and what else is told.
COMMANDS = {"report": ["report"], "mprof": ["mprof"], "excess": ["excess"], "leaks": ["leaks"]}
OTHERS = {"advise": ["advise"], "timeline": ["timeline"], "flame": ["flame", "--folded"]}
# With two threads.
SECONDS = {"report": 20, "mprof": 8, "excess": 8, "leaks": 8}


def add_arguments(parser):
    parser.add_argument("--accesses", action="store_true", help="the trace has accesses")
    parser.add_argument("--only", choices=[*COMMANDS, *OTHERS], action="append", help="this command; may be given again")


def _make(options, folder, chunks, points):
    maker = options.build_dir / "tests" / "analyze" / "make_trace"
    if not maker.exists():
        raise BenchFailure(f"{maker} is missing: build the project's tests first")
    path = folder / f"many-{chunks}.pa"
    words = ["accesses"] if options.accesses else []
    outcome = run_process([maker, "many", path, str(chunks), "1", f"points={points}", *words], {})
    return path, list(map(int, outcome.stdout.split()))


def write_queries(path, lines=WHERE_LINES):
    """A file of named queries of every kind, and a last one that joins them all."""
    source = random.Random(7)
    functions = ["main", "make_*", "write_*", "pfa_*", "random_*", "*_batch", "flush_*", "tell_*"]
    definitions = []
    for number in range(lines - 1):
        leaf = [f"function = {source.choice(functions)}", f"size in {source.randrange(16, 500)}..{source.randrange(500, 2000)}",
                f"lifetime > {source.randrange(1, 5000)}us", f"thread = worker-{source.randrange(8)}", "freed",
                f"born < {source.randrange(1, 400)}ms", f"at_function = {source.choice(functions)}", f"size > {source.randrange(10, 900)}"]
        first, second = source.sample(leaf, 2)
        known = source.choice(definitions)[0] if definitions and number % 3 == 0 else None
        joined = f"{first} {source.choice(['and', 'or'])} not ({second})" + (f" or {known}" if known else "")
        definitions.append((f"q{number}", joined))
    chosen = " or ".join(name for name, _ in definitions[-40:])
    path.write_text("".join(f"{name} = {text}\n" for name, text in definitions) + f"where size > 100000 or {chosen}\n")


def _measure(raw, options, what, command, path, chunks, threads=THREADS[-1]):
    command = [*command, "--threads", str(threads)]
    tool = options.build_dir / "profalloc"
    # Where the answer is on standard output, notes about it are on standard error.
    outcome = run_in_turns([Job([tool, command[0], *command[1:], path], {}, may_say=r"^(note: .*|[0-9.,]+ [KMGT]?i?B.*)$")])[0]
    if not outcome.stdout.strip():
        raise BenchFailure(f"profalloc {' '.join(command)} printed nothing")
    raw.add({"bench": "analyze", "what": what, "chunks": chunks, "threads": threads, "command": outcome.command, "seconds": outcome.wall, "user": outcome.user,
             "system": outcome.system, "peak_rss_kib": outcome.peak_rss_kib})
    return outcome


def _check_totals(options, path, truth):
    """A fast answer that is wrong is no answer."""
    data = json.loads(run_process([options.build_dir / "profalloc", "report", "--json", "--top", "1", path], {}).stdout)
    ours = [data["totals"]["allocations"], data["totals"]["bytes_allocated"], data["live"]["chunks"]]
    if ours != truth:
        raise BenchFailure(f"the report says {ours}, the truth is {truth}")


def _read_table(raw, options, path, records):
    """Seconds to open the trace and to walk through its records, all by kinds; and, for the raw rows, chunk by chunk."""
    outcome = run_process([options.build_dir / "bench" / "read_table", path], {})
    told = {what: (float(seconds), int(count)) for what, seconds, count in (line.split() for line in outcome.stdout.splitlines())}
    if not told["kinds"][1] == told["chunks"][1] == records:
        raise BenchFailure(f"of {records} records these were read: {told}")
    raw.add({"bench": "analyze", "what": "live read", "chunks": records, **{what: seconds for what, (seconds, _) in told.items()}})
    return told["open"][0] + told["kinds"][0]


def _measure_live(raw, options, folder, runs):
    """A process that was killed with so many chunks alive: all of them are in its live table."""
    records = QUICK_LIVE_RECORDS if options.quick else LIVE_RECORDS
    path = folder / "live.pa"
    maker = options.build_dir / "tests" / "analyze" / "make_trace"
    subprocess.run([maker, "killed", path, str(records), "1", "alive", "dense"], check=True, stdout=subprocess.DEVNULL)  # a line for each chunk
    seconds = {"read": statistics.median(_read_table(raw, options, path, records) for _ in range(runs))}
    for what in ("mprof", "leaks", "report"):
        seconds[what] = statistics.median(_measure(raw, options, f"live {what}", [what], path, records).wall for _ in range(runs))
    return seconds


def run(options):
    chunks, points = (QUICK_CHUNKS, QUICK_POINTS) if options.quick else (CHUNKS, POINTS)
    chosen = options.only or [*COMMANDS, *OTHERS]
    runs = 1 if options.quick else options.runs
    raw = report.RawRows(options.build_dir, "analyze")
    facts = report.machine()
    verdicts = report.Verdicts()
    rows, where_rows = [], []
    with tempfile.TemporaryDirectory(prefix="profalloc-bench-") as name:
        folder = Path(name)
        whole, truth = _make(options, folder, chunks, points)
        quarter, _ = _make(options, folder, chunks // 4, points)
        _check_totals(options, whole, truth)
        for what, command in {**COMMANDS, **OTHERS}.items():
            if what not in chosen:
                continue
            # In turns: the ratio is within one run.
            turns = [[_measure(raw, options, what, command, whole, chunks, threads) for threads in THREADS] for _ in range(runs)]
            small = [_measure(raw, options, what, command, quarter, chunks // 4) for _ in range(runs)]
            alone, seconds = (statistics.median(turn[i].wall for turn in turns) for i in range(len(THREADS)))
            gain = statistics.median(turn[0].wall / turn[1].wall for turn in turns)
            memory = max(o.peak_rss_kib for turn in turns for o in turn)
            ratio = seconds / statistics.median(o.wall for o in small) / 4
            rows.append([what, f"{alone:.1f}", f"{seconds:.1f}", f"{gain:.2f}", f"{seconds / chunks * 1e9:.0f}", f"{memory / 1024:.0f}", f"{ratio:.2f}"])
            if what in COMMANDS:
                verdicts.add(f"{what}: seconds", SECONDS[what], f"{seconds:.1f}", seconds < SECONDS[what])
                verdicts.add(f"{what}: MiB", MEMORY_KIB >> 10, f"{memory / 1024:.0f}", memory < MEMORY_KIB)
                verdicts.add(f"{what}: time per chunk over that of a quarter of them", LINEAR_LIMIT, f"{ratio:.2f}", ratio <= LINEAR_LIMIT)
        live = _measure_live(raw, options, folder, runs)
        verdicts.add("live table, opened and read: seconds", LIVE_SECONDS, f"{live['read']:.2f}", live["read"] < LIVE_SECONDS)
        queries = folder / "queries"
        write_queries(queries)
        for what in ("report", "mprof"):
            if what not in chosen:
                continue
            # In turns: the ratio is within one run. A query that lets all chunks through has the most to do.
            plain, asked = [], []
            for _ in range(runs):
                plain.append(_measure(raw, options, what, COMMANDS[what], quarter, chunks // 4).wall)
                asked.append(_measure(raw, options, f"{what} --where", [what, "--where", f"@{queries}"], quarter, chunks // 4).wall)
            ratio = statistics.median(a / p for a, p in zip(asked, plain))
            where_rows.append([what, f"{statistics.median(plain):.1f}", f"{statistics.median(asked):.1f}", f"{ratio:.3f}"])
            if what == "report":
                verdicts.add(f"{what}: with {WHERE_LINES} lines of --where", WHERE_LIMIT, f"{ratio:.3f}", ratio <= WHERE_LIMIT)
    parts = ["# bench/run analyze", f"{facts['time']}, {facts['processor']}, {facts['processors']} processors, Linux {facts['kernel']}; "
             f"{chunks:,} chunks of {points:,} points{' with accesses' if options.accesses else ''}, {runs} runs, load {facts['load'][0]:.1f}."]
    if options.quick:
        parts.append("**A shortened run: its figures mean nothing.**")
    parts.append(report.table(["command", "seconds, 1 thread", "2 threads", "ratio", "ns per chunk", "MiB", "per chunk over a quarter"], rows))
    parts.append(report.table(["live table", "seconds, 2 threads"], [[what, f"{seconds:.2f}"] for what, seconds in live.items()]))
    if where_rows:
        parts.append(report.table([f"{WHERE_LINES} lines of --where", "without, s", "with, s", "ratio"], where_rows))
    parts += ["## Verdicts", verdicts.table()]
    report.publish("\n\n".join(parts), raw.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
