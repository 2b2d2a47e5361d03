"""What profalloc advise says of LevelDB's random reads, and what following it brings.

LevelDB gets a buffer for every block that it reads. Tables are mapped, so the block is where it is and the buffer is not needed.
The advice comes from one recorded run of an instrumented build; times are of plain builds on glibc's malloc, with and without
the change, in turns and in several layouts.
"""
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from . import instrumented, leveldb, report
from .process import BenchFailure, Job, run_in_turns

ENTRIES = 500_000
QUICK_ENTRIES = 20_000
TOOL_SECONDS = 300
PLACE = "leveldb::ReadBlock("
SOURCE = "table/format.cc"

# What the advice comes to: a buffer of the thread to read into; a chunk only if the file made use of it.
CHANGES = (
    ("  char* buf = new char[n + kBlockTrailerSize];\n",
     "  static thread_local std::string scratch;\n"
     "  char* buf = nullptr;\n"
     "  if (scratch.size() < n + kBlockTrailerSize) scratch.resize(n + kBlockTrailerSize);\n"),
    ("  Status s = file->Read(handle.offset(), n + kBlockTrailerSize, &contents, buf);\n",
     "  Status s = file->Read(handle.offset(), n + kBlockTrailerSize, &contents, &scratch[0]);\n"
     "  if (s.ok() && contents.data() == scratch.data()) {\n"
     "    buf = new char[n + kBlockTrailerSize];\n"
     "    memcpy(buf, contents.data(), contents.size());\n"
     "    contents = Slice(buf, contents.size());\n"
     "  }\n"),
    ('#include "leveldb/env.h"\n', '#include <cstring>\n#include <string>\n\n#include "leveldb/env.h"\n'),
)


def add_arguments(parser):
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of entries")


def change(source, folder):
    """A copy of LevelDB's source with the change; made anew only where that is not what is there."""
    text = (source / SOURCE).read_text()
    for old, new in CHANGES:
        if text.count(old) != 1:
            raise BenchFailure(f"{SOURCE} is not the one that this change is for")
        text = text.replace(old, new)
    changed = folder / "leveldb"
    if not (changed / SOURCE).exists() or (changed / SOURCE).read_text() != text:
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(source, changed)
        (changed / SOURCE).write_text(text)
    return changed


class Bench:
    def __init__(self, options, runs):
        self.build_dir = options.build_dir.resolve()
        self.root = pathlib.Path(__file__).resolve().parents[2]
        self.source = instrumented.source_of(self.root, "leveldb", "benchmarks/db_bench.cc")
        self.toolchains = instrumented.Toolchains(self.root / "bench", self.build_dir)
        self.entries = int((QUICK_ENTRIES if options.quick else ENTRIES) * options.scale)
        self.rows = report.RawRows(self.build_dir, "advise")
        self.layouts = instrumented.layouts_of(max(runs, 2))
        self.database = None

    def build(self):
        """The instrumented program; and the plain one before and after the change, in layouts."""
        gcc = instrumented.find_compilers(self.build_dir)[0]
        folder = self.build_dir / "bench" / "advise"
        folder.mkdir(parents=True, exist_ok=True)
        plain, flags = instrumented.Build(gcc, "plain"), instrumented.Build(gcc, "flags")
        recorded = leveldb.make(self.toolchains, self.root, self.source, flags)
        before = leveldb.make_layouts(self.toolchains, self.root, self.source, plain, self.layouts)
        after = leveldb.make_layouts(self.toolchains, self.root, change(self.source, folder), plain, self.layouts,
                                     name="plain-gcc-advised")
        return recorded, {"before": before, "after": after}

    def job(self, program, benchmark, settings=None):
        reuse = benchmark != "fillrandom"
        return Job([program, f"--db={self.database}/db", f"--num={self.entries}", f"--use_existing_db={int(reuse)}",
                    f"--benchmarks={benchmark}"], settings or {}, may_say=leveldb.CHATTER)

    def read(self, program):
        """Microseconds of each read, and what was found."""
        outcome = run_in_turns([self.job(program, "readrandom")])[0]
        said = leveldb.parse_output(outcome.stdout)
        if "readrandom" not in said:
            raise BenchFailure(f"{' '.join(outcome.command)} told of no reads:\n{outcome.stdout}")
        return said["readrandom"][0], outcome.stdout.split("(")[-1], outcome

    def record(self, name, program, library, command):
        """What a command says of a recorded run of the reads."""
        trace = self.database / f"{name}.pa"
        run_in_turns([self.job(program, "readrandom", {**library, "PROFALLOC_CONF": f"prof:true,sample:1,out:{trace}"})])
        words = [str(self.build_dir / "profalloc"), command, "--json", str(trace)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=TOOL_SECONDS, check=False)
        if done.returncode != 0:
            raise BenchFailure(f"{' '.join(words)}: exit code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def measure(self, programs, runs):
        micros, found = {name: [] for name in programs}, set()
        for number in range(runs):
            names = list(programs) if number % 2 == 0 else list(programs)[::-1]
            for name in names:
                each, what, outcome = self.read(programs[name][number % self.layouts])
                micros[name].append(each)
                found.add(what)
                self.rows.add({"program": name, "round": number, "command": outcome.command, "micros": each})
        if len(found) != 1:
            raise BenchFailure(f"with and without the change, other entries were found: {found}")
        return micros


def finding_of(told):
    for finding in told["findings"]:
        if finding["advice"] == "remove" and finding["points"][0]["name"].startswith(PLACE):
            return finding
    return None


def render(bench, told, totals, micros, runs, facts):
    finding, verdicts = finding_of(told), report.Verdicts()
    point = finding["points"][0] if finding else {"allocations": 0, "bytes": 0}
    verdicts.add("advise says to do without ReadBlock's buffers", "yes", "yes" if finding else "no", finding is not None)
    gains = [1 - new / old for old, new in zip(micros["before"], micros["after"])]
    quartiles = statistics.quantiles(gains, n=4, method="inclusive") if len(gains) > 1 else gains * 3
    gain, spread = statistics.median(gains), (quartiles[2] - quartiles[0]) / 2
    few, many = totals["after"], totals["before"]
    less = many["allocations"] - few["allocations"]
    promised = finding["saves_calls"] if finding else 0
    verdicts.add("pairs of calls that are gone, of those promised", "90 to 110 %",
                 f"{100 * less / promised:.1f} %" if promised else "-", promised and 0.9 < less / promised < 1.1)
    verdicts.add("reads are faster", "more than the spread", f"{100 * gain:.1f} % ±{100 * spread:.1f}", gain > spread)
    rows = [[name, f"{totals[name]['allocations']:,.0f}", f"{totals[name]['bytes_allocated'] / 2**20:,.1f}",
             f"{statistics.median(micros[name]):.3f}"] for name in ("before", "after")]
    promise = (f"Promised: {finding['sentence']}; {promised:,.0f} pairs of calls, {finding['saves_ns'] * 1e-6:.2f} ms "
               f"({100 * finding['saves_ns'] / told['run_ns']:.2f} % of the recorded run), sure: {finding['sure']}. "
               f"{point['bytes'] / 2**20:,.1f} MiB of {many['bytes_allocated'] / 2**20:,.1f} were allocated there."
               if finding else "Nothing was said of ReadBlock.")
    heading = (f"{facts['machine']}, {facts['processors']} processors, load {facts['load'][0]:.2f}, {runs} rounds in "
               f"{bench.layouts} layouts; {bench.entries:,} random reads of as many entries.")
    return "\n\n".join(["# advise", heading, promise, report.table(["", "chunks", "MiB allocated", "µs per read"], rows),
                        "## Verdicts", verdicts.table()]), verdicts


def run(options):
    runs = min(options.runs, 2) if options.quick else options.runs
    bench = Bench(options, runs)
    print("building LevelDB", file=sys.stderr, flush=True)
    recorded, programs = bench.build()
    facts = report.machine()
    bench.rows.add({"bench": "advise", "runs": runs, "entries": bench.entries, **facts})
    bench.database = pathlib.Path(tempfile.mkdtemp(prefix="profalloc-advise-", dir=instrumented.SHARED_MEMORY))
    try:
        run_in_turns([bench.job(programs["before"][0], "fillrandom")])
        told = bench.record("instrumented", recorded, {"LD_LIBRARY_PATH": str(bench.build_dir)}, "advise")
        preload = {"LD_PRELOAD": str(bench.build_dir / "libprofalloc.so")}
        totals = {name: bench.record(name, paths[0], preload, "report")["totals"] for name, paths in programs.items()}
        micros = bench.measure(programs, runs)
    finally:
        shutil.rmtree(bench.database, ignore_errors=True)
    bench.rows.add({"told": told, "totals": totals})
    text, verdicts = render(bench, told, totals, micros, runs, facts)
    report.publish(text, bench.rows.path, options.out)
    return 1 if options.strict and verdicts.missed() else 0
