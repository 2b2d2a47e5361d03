"""The tables and verdicts of bench/run alloc."""
import statistics

from . import report
from .variants import CONTROL, REFERENCE

# The targets: ratios to bare mimalloc. In the workloads of a group only this variant is held to them; what the others take
# is told.
TIME_EACH = {"off": 1.05, "sampled": 1.06, "full": 1.6}
HELD_IN_GROUPS = "sampled"
TIME_MEAN = {"off": 1.02}
RSS_FACTOR, RSS_EXTRA_KIB = 1.03, 2048
LIVE_EXTRA_BYTES, LIVE_FACTOR = 64, 1.10
RUNS_NEEDED = 5

# Not a workload of the time targets: it is there for the memory it needs.
MEMORY_ONLY = "live10m"


def _median(samples, key):
    return statistics.median(row[key] for row in samples)


def reference_values(by_variant, key):
    """Of each repetition; the mean of both where the reference was measured twice."""
    both = zip(*([row[key] for row in by_variant[name]] for name in (REFERENCE, CONTROL) if name in by_variant))
    return [statistics.mean(values) for values in both]


def _ratios(by_variant, name, key):
    """To the reference in the same repetition, which was disturbed alike."""
    values = [row[key] for row in by_variant[name]]
    base = [row[key] for row in by_variant[REFERENCE]] if name == CONTROL else reference_values(by_variant, key)
    return [value / to for value, to in zip(values, base)]


def _ratio(by_variant, name, key):
    return statistics.median(_ratios(by_variant, name, key))


def _time_cell(by_variant, name):
    """The median ratio, and half the distance of the quartiles of all ratios."""
    ratios = _ratios(by_variant, name, "seconds")
    if len(ratios) < 2:
        return f"{ratios[0]:.3f}"
    low, _, high = statistics.quantiles(ratios, n=4)
    return f"{statistics.median(ratios):.3f} ±{(high - low) / 2:.3f}"


def _unit_cost(samples):
    if "ops" in samples[0]:
        return f"{_median(samples, 'seconds') * 1e9 / samples[0]['ops']:.1f} ns/op"
    return f"{_median(samples, 'seconds') * 1e3:.0f} ms"


def _timed(results):
    return [name for name in results if name != MEMORY_ONLY]


def _means(results, groups, names, key):
    """A row of means for each group of workloads: what follows the label."""
    rows = []
    for group in dict.fromkeys(groups[workload] for workload in _timed(results)):
        of = [workload for workload in _timed(results) if groups[workload] == group]
        label = f"geometric mean of {group}" if group else "geometric mean"
        if not group and MEMORY_ONLY in results:
            label += f" without {MEMORY_ONLY}"
        rows.append((label, [f"{report.geometric_mean(_ratio(results[w], n, key) for w in of):.3f}" for n in names]))
    return rows


def _time_table(results, made, groups, names):
    others = [name for name in names if name != REFERENCE]
    rows = [[workload, _unit_cost(by_variant[REFERENCE]), "{} of {}".format(*made[workload]),
             *(_time_cell(by_variant, n) for n in others)] for workload, by_variant in results.items()]
    rows += [[label, "", "", *means] for label, means in _means(results, groups, others, "seconds")]
    return report.table(["workload", REFERENCE, "undisturbed", *others], rows)


def _cpu_table(results, groups, names):
    others = [name for name in names if name != REFERENCE]
    rows = [[workload, f"{_median(by_variant[REFERENCE], 'cpu_seconds') * 1e3:.0f} ms",
             *(f"{_ratio(by_variant, n, 'cpu_seconds'):.3f}" for n in others)]
            for workload, by_variant in results.items()]
    rows += [[label, "", *means] for label, means in _means(results, groups, others, "cpu_seconds")]
    return report.table(["workload", REFERENCE, *others], rows)


def _rss_table(results, names):
    others = [name for name in names if name != REFERENCE]
    rows = [[workload, f"{_median(by_variant[REFERENCE], 'peak_rss_kib') / 1024:.1f} MiB",
             *(f"{_ratio(by_variant, n, 'peak_rss_kib'):.3f}" for n in others)]
            for workload, by_variant in results.items()]
    return report.table(["workload", REFERENCE, *others], rows)


def _per_chunk(samples):
    return _median(samples, "live_rss_kib") * 1024 / samples[0]["live_chunks"]


def _live_table(results, names):
    rows = []
    by_variant = results[MEMORY_ONLY]
    first = by_variant[REFERENCE][0]
    asked = first["live_requested"] / first["live_chunks"]
    for n in names:
        per_chunk = _per_chunk(by_variant[n])
        over = per_chunk - _per_chunk(by_variant[REFERENCE])
        rows.append([n, f"{per_chunk:.1f}", f"{per_chunk - asked:.1f}", f"{over:+.1f}"])
    title = f"{first['live_chunks']} live chunks, {asked:.1f} B asked for on average."
    return title, report.table(["variant", "resident bytes per chunk", "beyond the request", f"over {REFERENCE}"], rows)


def _judged(results, groups, name):
    return [workload for workload in results if not groups[workload] or name == HELD_IN_GROUPS]


def _judge_time(results, groups, names, verdicts):
    for name, limit in TIME_EACH.items():
        judged = [workload for workload in _judged(results, groups, name) if workload != MEMORY_ONLY]
        if name not in names or not judged:
            continue
        ratios = {w: _ratio(results[w], name, "seconds") for w in judged}
        worst = max(ratios, key=ratios.get)
        over = [w for w in ratios if ratios[w] > limit]
        verdicts.add(f"{name}: time, each workload", f"{limit:.2f}", f"{ratios[worst]:.3f}", not over,
                     ", ".join(over) if over else f"worst: {worst}")
        if name in TIME_MEAN:
            mean, most = report.geometric_mean(ratios.values()), TIME_MEAN[name]
            verdicts.add(f"{name}: time, geometric mean", f"{most:.2f}", f"{mean:.3f}", mean <= most)


def _judge_memory(results, groups, names, verdicts):
    judged = _judged(results, groups, "off")
    if "off" in names and judged:
        excess = {}
        for workload, by_variant in ((workload, results[workload]) for workload in judged):
            limit = _median(by_variant[REFERENCE], "peak_rss_kib") * RSS_FACTOR + RSS_EXTRA_KIB
            excess[workload] = _median(by_variant["off"], "peak_rss_kib") - limit
        worst = max(excess, key=excess.get)
        over = [w for w in excess if excess[w] > 0]
        verdicts.add("off: peak RSS, each workload", f"{RSS_FACTOR}x + {RSS_EXTRA_KIB // 1024} MiB",
                     f"limit {excess[worst] / 1024:+.1f} MiB", not over, ", ".join(over) if over else f"worst: {worst}")
    if "full" in names and MEMORY_ONLY in results:
        bare, full = (_per_chunk(results[MEMORY_ONLY][n]) for n in (REFERENCE, "full"))
        limit = bare * LIVE_FACTOR + LIVE_EXTRA_BYTES
        verdicts.add("full: bytes per live chunk", f"{limit:.1f}", f"{full:.1f}", full <= limit,
                     f"{REFERENCE} {bare:.1f}, plus 10 % and 64")


def render(results, made, groups, names, runs, scale):
    """The report as Markdown, and the verdicts in it."""
    facts = report.machine()
    verdicts = report.Verdicts()
    _judge_time(results, groups, names, verdicts)
    _judge_memory(results, groups, names, verdicts)
    parts = ["# bench/run alloc", f"{facts['time']}, {facts['processor']}, {facts['processors']} processors, "
             f"Linux {facts['kernel']}; {runs} interleaved runs, scale {scale:g}, load {facts['load'][0]:.1f}."]
    if runs < RUNS_NEEDED or scale < 1:
        parts.append("**A shortened run: its figures mean nothing.**")
    parts += ["## Time", f"Ratio to {REFERENCE} in the same repetition: the median, and half the distance of the "
              f"quartiles, of the repetitions in which {REFERENCE} itself was not disturbed, or if those were fewer "
              "than asked for, of the least disturbed ones.",
              _time_table(results, made, groups, names), "## Processor time",
              "User and system, all threads, waiting by spinning included. Median ratio.", _cpu_table(results, groups, names)]
    parts += ["## Peak resident memory", "Median ratio.", _rss_table(results, names)]
    if MEMORY_ONLY in results:
        parts += ["## Memory per live chunk", *_live_table(results, names)]
    if verdicts.rows:
        parts += ["## Verdicts", verdicts.table()]
    return "\n\n".join(parts), verdicts
