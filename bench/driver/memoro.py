"""What the benches of LevelDB and memcached share: Memoro's published rows, rounds, ratios and verdicts.

All variants run once in each round, one after another, and another one begins each time. A ratio is within a round.
"""
import dataclasses
import statistics
import sys

from . import instrumented, report

# Table 1 of the paper: throughput, and the slowdown as printed there.
PUBLISHED = {
    "leveldb": ("MB/s", [("unmodified", 55.5, 1.0), ("no-op instrumentation", 26.8, 2.1),
                         ("full collection", 1.8, 30.8), ("full, lock-free secondary allocator", 4.1, 13.5)]),
    "memcached": ("queries/s", [("unmodified", 52184.4, 1.0), ("no-op instrumentation", 47668.3, 1.1),
                                ("full collection", 18051.4, 2.89),
                                ("full, lock-free secondary allocator", 22521.8, 2.32)]),
}
WAYS = {"glibc": "glibc's malloc", "again": "the same once more", "off": "on libprofalloc, nothing recorded",
        "sampled": "sampled, 512K", "full": "full collection"}
HOWS = {"plain": "plain", "empty": "flags, empty callbacks", "flags": "flags", "pass": "pass"}
RUNS_NEEDED = 5


@dataclasses.dataclass
class Limits:
    """How many times as long as the plain program a full collection may take, and a sampled one."""
    pass_full: float
    flags_full_better: float  # of the two compilers
    flags_full_other: float
    pass_sampled: float
    flags_sampled_over_empty: float


def label(variant):
    if variant.build.how == "empty":
        return f"{variant.build.compiler.name}, {HOWS['empty']}"
    return f"{variant.build.compiler.name}, {HOWS[variant.build.how]}: {WAYS[variant.way]}"


class Rounds:
    """The rows of all variants under all loads, one for each round."""

    def __init__(self, variants, loads):
        self.variants, self.loads = variants, loads
        self.rows = {(load, variant.name): [] for load in loads for variant in variants}

    def measure(self, runs, run_one):
        """run_one(load, variant, round) -> row"""
        for number in range(runs):
            first = number % len(self.variants)
            for load in self.loads:
                print(f"{load}: round {number + 1} of {runs}", file=sys.stderr, flush=True)
                for variant in self.variants[first:] + self.variants[:first]:
                    self.rows[load, variant.name].append(run_one(load, variant, number))

    def find(self, compiler, how, way):
        for variant in self.variants:
            if (variant.build.compiler.name, variant.build.how, variant.way) == (compiler, how, way):
                return variant
        return None

    def median(self, load, variant, key):
        values = [row[key] for row in self.rows[load, variant.name] if key in row]
        return statistics.median(values) if values else None

    def ratios(self, load, variant, key, over="plain"):
        """In each round, to the mean of the plain program's runs, or to the one with empty callbacks."""
        compiler = variant.build.compiler.name
        ways = ("glibc", "again") if over == "plain" else ("glibc",)
        bases = filter(None, (self.find(compiler, over, way) for way in ways))
        taken = [self.rows[load, base.name] for base in bases]
        if not taken:
            return []
        return [row[key] / statistics.fmean(base[key] for base in together)
                for row, *together in zip(self.rows[load, variant.name], *taken)]


def ratio_text(ratios):
    if not ratios:
        return "-"
    text = f"{statistics.median(ratios):.2f}"
    if len(ratios) >= 4:
        low, _, high = statistics.quantiles(ratios, n=4)
        text += f" ±{(high - low) / 2:.2f}"
    return text


def ratio_table(rounds, keys):
    """Times over the plain program of the same compiler; keys tells of each load by which figure."""
    lines = [[label(variant), *(ratio_text(rounds.ratios(load, variant, keys[load])) for load in rounds.loads)]
             for variant in rounds.variants]
    return report.table(["× plain, same compiler", *rounds.loads], lines)


def memory_table(rounds):
    lines = []
    for variant in rounds.variants:
        cells = []
        for load in rounds.loads:
            cells.append(f"{rounds.median(load, variant, 'peak_rss_kib') / 1024:.0f}")
            size = rounds.median(load, variant, "trace_bytes")
            cells.append("-" if size is None else f"{size / 1024:.0f}")
        lines.append([label(variant), *cells])
    heads = [head for load in rounds.loads for head in (f"{load}, peak MiB", "trace KiB")]
    return report.table(["memory", *heads], lines)


def published_table(program, rounds, load, key, throughput):
    """Memoro's rows, then ours of the load that is most like theirs."""
    unit, published = PUBLISHED[program]
    lines = [[f"Memoro: {what}", f"{value:,.1f}", f"{slowdown:g}"] for what, value, slowdown in published]
    for variant in rounds.variants:
        if variant.way != "again":
            lines.append([label(variant), f"{rounds.median(load, variant, throughput):,.1f}",
                          ratio_text(rounds.ratios(load, variant, key))])
    return report.table([f"{program}, {load}", unit, "times slower"], lines)


def judge(rounds, load, key, limits, verdicts, missing):
    """The targets of one load. What could not be built meets nothing."""
    def measured(compiler, how, way, over="plain"):
        variant = rounds.find(compiler, how, way)
        ratios = rounds.ratios(load, variant, key, over) if variant else []
        return statistics.median(ratios) if ratios else None

    def add(what, limit, value, where):
        said = missing or "not measured" if value is None else f"{value:.3f}"
        verdicts.add(what, f"{limit:.2f}", said, value is not None and value <= limit, where)

    add("pass, full", limits.pass_full, measured("clang", "pass", "full"), load)
    fulls = {compiler: measured(compiler, "flags", "full") for compiler in ("gcc", "clang")}
    known = sorted((value, compiler) for compiler, value in fulls.items() if value is not None)
    names = ("flags, full, better compiler", "flags, full, other compiler")
    for place, (what, limit) in enumerate(zip(names, (limits.flags_full_better, limits.flags_full_other))):
        value, compiler = known[place] if place < len(known) else (None, "-")
        add(what, limit, value, f"{load}, {compiler}")
    add("pass, sampled", limits.pass_sampled, measured("clang", "pass", "sampled"), load)
    for compiler in ("gcc", "clang"):
        add("flags, sampled, over empty callbacks", limits.flags_sampled_over_empty,
            measured(compiler, "flags", "sampled", "empty"), f"{load}, {compiler}")


def heading(program, facts, clang, runs, options):
    lines = [f"# bench/run {program}",
             f"{facts['time']}, {facts['processor']}, {facts['processors']} processors, Linux {facts['kernel']}; medians "
             f"of {runs} rounds, in {instrumented.layouts_of(runs)} layouts, load {facts['load'][0]:.1f}; Clang is {clang.c}. "
             "Behind ± half the distance of the quartiles."]
    if options.quick or runs < RUNS_NEEDED:
        lines.append("**A shortened run: its figures mean nothing.**")
    return lines
