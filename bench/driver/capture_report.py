"""The tables and verdicts of bench/run capture."""
import statistics

from . import report

# The goals.
ADDED_NS = 85.0
HEAPTRACK_TIMES = {"deep": 5.0, "deep2": 7.0}
SECOND_THREAD = 1.7
SAMPLED = 1.08
BYTES_PER_CHUNK = 4.5
DEATHS_PER_SECOND = 3e6
PROFILE_TIMES = 1.5
GLIBC_TIMES = {"sqlite3": 1.25}  # of whole programs
RUNS_NEEDED = 5


def _median(repetitions, value):
    """Of a value of each repetition, so that what is compared was measured in the same one."""
    return statistics.median(value(found) for found in repetitions)


def _reference(found, workload):
    return statistics.mean(found[workload, name]["ns"] for name in ("mimalloc", "again"))


def _added(found, workload, profiler):
    """Over what it replaces: ours over bare mimalloc, the others over glibc, which they call or are used in place of."""
    base = _reference(found, workload) if profiler.base == "mimalloc" else found[workload, profiler.base]["ns"]
    return found[workload, profiler.name]["ns"] - base


def _own_added(found, workload, profiler):
    """The same of the processor time of the program's own threads, which other processes hardly change."""
    bases = ("mimalloc", "again") if profiler.base == "mimalloc" else (profiler.base,)
    return found[workload, profiler.name]["own_ns"] - statistics.mean(found[workload, n]["own_ns"] for n in bases)


def _churn_row(bench, kept, name):
    profiler = bench.profilers[name]
    if name in bench.missing():
        return [name, bench.missing()[name], *[""] * 9]
    cells = [name]
    for workload in ("deep", "deep2"):
        if (workload, name) not in kept[0]:
            cells += [""] * 4
            continue
        cells.append(f"{_median(kept, lambda f: f[workload, name]['ns']):.0f}")
        cells.append(f"{_median(kept, lambda f: _added(f, workload, profiler)):+.0f}" if profiler.base else "")
        cells.append(f"{_median(kept, lambda f: f[workload, name]['own_ns']):.0f}")
        cells.append(f"{_median(kept, lambda f: f[workload, name]['cpu_ns']):.0f}")
    second = [f["deep2", name]["ns"] / f["deep", name]["ns"] for f in kept if ("deep2", name) in f]
    cells.append(f"{statistics.median(second):.2f}" if second else "")
    row = kept[0]["deep", name]
    if "chunks" in row and name != "sampled":
        cells.append(f"{_median(kept, lambda f: f['deep', name]['profile_bytes'] / f['deep', name]['chunks']):.2f}")
    else:
        cells.append("")
    return cells


def _churn_tables(bench, kept):
    head = ["ns per pair and thread", "1 thread", "added", "own cpu", "all cpu", "2 threads", "added", "own cpu", "all cpu",
            "2 threads / 1", "profile bytes per chunk"]
    return report.table(head, [_churn_row(bench, kept, name) for name in bench.profilers])


def _judge_churn(bench, kept, verdicts):
    full = bench.profilers["full"]
    added = _median(kept, lambda f: _added(f, "deep", full))
    own = _median(kept, lambda f: _own_added(f, "deep", full))
    verdicts.add("full: ns added to a pair, 1 thread", f"{ADDED_NS:.0f}", f"{added:.0f}", added <= ADDED_NS,
                 f"processor time of the thread itself: {own:.0f}")
    for workload, least in HEAPTRACK_TIMES.items():
        if "heaptrack" in bench.missing():
            verdicts.add(f"heaptrack's added time to ours, {workload}", f"at least {least:.0f}", "", False,
                         bench.missing()["heaptrack"])
            continue
        times = _median(kept, lambda f: _added(f, workload, bench.profilers["heaptrack"]) / _added(f, workload, full))
        total = _median(kept, lambda f: f[workload, "heaptrack"]["ns"] / f[workload, "full"]["ns"])
        own = _median(kept, lambda f: _own_added(f, workload, bench.profilers["heaptrack"])
                      / _own_added(f, workload, full))
        verdicts.add(f"heaptrack's added time to ours, {workload}", f"at least {least:.0f}", f"{times:.1f}",
                     times >= least, f"whole times: {total:.1f}; own processor time added: {own:.1f}")
    second = _median(kept, lambda f: f["deep2", "full"]["ns"] / f["deep", "full"]["ns"])
    bare = _median(kept, lambda f: _reference(f, "deep2") / _reference(f, "deep"))
    verdicts.add("full: 2 threads to 1, per pair and thread", f"{SECOND_THREAD:.2f}", f"{second:.2f}",
                 second <= SECOND_THREAD, f"mimalloc {bare:.2f}")
    size = _median(kept, lambda f: f["deep", "full"]["profile_bytes"] / f["deep", "full"]["chunks"])
    verdicts.add("full: bytes of trace per chunk", f"{BYTES_PER_CHUNK:.1f}", f"{size:.2f}", size <= BYTES_PER_CHUNK)
    for workload in HEAPTRACK_TIMES:
        ratio = _median(kept, lambda f: f[workload, "sampled"]["ns"] / _reference(f, workload))
        verdicts.add(f"sampled: time, {workload}", f"{SAMPLED:.2f}", f"{ratio:.3f}", ratio <= SAMPLED)


def _folded(kept):
    """The share of deaths that were only counted; a pause can make the writer late."""
    return max(f[w, "full"]["folded"] / f[w, "full"]["chunks"] for f in kept for w in ("deep", "deep2"))


def _writer_table(writer):
    lines = [[f"{rate / 1e6:.1f} million" if rate else "as fast as they go",
              f"{statistics.median(row['deaths_per_second'] for row in rows) / 1e6:.2f} million",
              f"{sum(row['folded'] != 0 for row in rows)} of {len(rows)}",
              f"{max(row['folded'] / row['chunks'] for row in rows):.2%}",
              f"{statistics.median(row['own_ns'] for row in rows):.0f}"] for rate, rows in writer.items()]
    return report.table(["deaths per second asked for", "made", "runs with folds", "deaths folded, at most",
                         "own cpu, ns per pair"], lines)


def _judge_writer(writer, verdicts):
    """The highest rate at which no run had a fold, and nobody had to wait so long that the rate was not kept."""
    whole = [min(row["deaths_per_second"] for row in rows) for rows in writer.values()
             if all(row["folded"] == 0 for row in rows)]
    measured = max(whole, default=0.0)
    verdicts.add("deaths per second without a fold", f"at least {DEATHS_PER_SECOND / 1e6:.0f} M",
                 f"{measured / 1e6:.2f} M", measured >= DEATHS_PER_SECOND)


def _value(results, name, key):
    return statistics.median(found[name][key] for found in results)


def _program_row(bench, name, results):
    if name in bench.missing():
        return [name, bench.missing()[name], *[""] * 8]
    head = [name, f"{_value(results, 'glibc', 'seconds'):.2f} s"]
    times, memory, sizes = [], [f"{_value(results, 'glibc', 'peak_kib') / 1024:.1f}"], []
    for tool in ("full", "heaptrack"):
        if tool in bench.missing():
            times, memory, sizes = [*times, "missing"], [*memory, "missing"], [*sizes, "missing"]
            continue
        times.append(f"{_median(results, lambda f: f[tool]['seconds'] / f['glibc']['seconds']):.2f}")
        memory.append(f"{_value(results, tool, 'peak_kib') / 1024:.1f}")
        sizes.append(f"{_value(results, tool, 'profile_bytes') / 1e6:.2f}")
    chunks = _value(results, "full", "chunks")
    per_chunk = _value(results, "full", "profile_bytes") / chunks
    return [*head, f"{chunks / 1e6:.2f}", *times, *memory, *sizes, f"{per_chunk:.2f}"]


def _programs_table(bench, programs):
    head = ["program", "glibc", "million chunks", "full, times", "heaptrack, times", "glibc MiB", "full MiB",
            "heaptrack MiB", "full MB of file", "heaptrack MB of file", "full, bytes per chunk"]
    names = [name for name in bench.programs if name in bench.parts]
    return report.table(head, [(_program_row(bench, name, programs.get(name)) + [""] * len(head))[:len(head)]
                               for name in names])


def _judge_programs(bench, programs, verdicts):
    for name in programs.keys() & GLIBC_TIMES.keys():
        times, most = _median(programs[name], lambda f: f["full"]["seconds"] / f["glibc"]["seconds"]), GLIBC_TIMES[name]
        verdicts.add(f"full: {name}'s time to that on glibc", f"{most:.2f}", f"{times:.2f}", times <= most)
    if "heaptrack" in bench.missing():
        return
    goals = (("time", "seconds", 1.0), ("peak memory", "peak_kib", 1.0),
             ("size of the file", "profile_bytes", PROFILE_TIMES))
    for what, key, most in goals:
        ratios = {name: _median(results, lambda f: f["full"][key] / f["heaptrack"][key])
                  for name, results in programs.items()}
        worst = max(ratios, key=ratios.get)
        over = [name for name, ratio in ratios.items() if ratio > most]
        verdicts.add(f"programs: {what} to heaptrack's", f"{most:.1f}", f"{ratios[worst]:.2f}", not over,
                     ", ".join(over) if over else f"worst: {worst}")


def render(bench, churn, writer, programs):
    """The report as Markdown, and the verdicts in it."""
    facts, verdicts = report.machine(), report.Verdicts()
    parts = ["# bench/run capture", f"{facts['time']}, {facts['processor']}, {facts['processors']} processors, "
             f"Linux {facts['kernel']}; {bench.runs} interleaved runs, scale {bench.scale:g}, "
             f"load {facts['load'][0]:.1f}."]
    if bench.runs < RUNS_NEEDED or bench.scale < 1:
        parts.append("**A shortened run: its figures mean nothing.**")
    kept, (quiet, made) = churn
    if kept:
        _judge_churn(bench, kept, verdicts)
        parts += ["## Time", "A malloc and its free, at a stack depth of 10 on average. Medians of "
                  f"{len(kept)} repetitions, {quiet} of {made} undisturbed. Added: over mimalloc for profalloc, over "
                  "glibc for the others, in the same repetition. Own cpu: processor time of the "
                  "threads that do the work, per pair; all cpu: of all threads of the process. "
                  f"Of full's deaths {_folded(kept):.2%} at most were folded.", _churn_tables(bench, kept)]
    if writer:
        _judge_writer(writer, verdicts)
        parts += ["## The writer", "Two threads, at a rate or as fast as they go, without pauses.", _writer_table(writer)]
    if programs or any(name in bench.programs for name in bench.parts):
        if programs:
            _judge_programs(bench, programs, verdicts)
        parts += ["## Programs", "Times over glibc's in the same repetition (redis: over jemalloc, which it is "
                  "linked with). Peak memory of all processes of the profiler and the program together.",
                  _programs_table(bench, programs)]
    parts += ["## Verdicts", verdicts.table()]
    return "\n\n".join(parts), verdicts
