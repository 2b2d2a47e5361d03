#!/usr/bin/env python3
"""Instrumented programs in trouble (tests/access/trouble.c), and the options of access profiling: what is recorded is right, or it
is said that it is not there; the program is never harmed."""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import compilers
import exact
from support import check, equal, report, tool

HERE = Path(__file__).resolve().parent
NO_DATA = "no access data: build with profalloc-cc"


class Trouble:
    """trouble.c built in one way, in a folder of its own."""

    def __init__(self, folder, way, window="fixed"):
        self.folder, self.way = folder, {**way, "PROFALLOC_WINDOW": window}
        self.program = folder / f"trouble-{window}"
        self.count = 0
        flags = ("-O1", "-g", "-pthread", "-Wall", "-Wextra", "-Werror")
        compilers.build(self.way, [HERE / "trouble.c"], self.program, *flags)
        self.plugin = folder / f"plugin-{window}.so"
        compilers.build(self.way, [HERE / "plugin.c"], self.plugin, *flags, "-shared", "-fPIC")

    def run(self, *arguments, conf="", said=(), room=None, status=0):
        """What it printed, and its trace; it ends well, or as `status` says, and what the library says is as expected."""
        self.count += 1
        trace = self.folder / f"{self.program.name}.{self.count}.%p.pa"
        settings = ",".join(filter(None, ("prof:true,sample:1", conf, f"out:{trace}")))
        env = compilers.environment({"PROFALLOC_CONF": settings})
        if "TAKE_WINDOW" in os.environ:
            env["TAKE_WINDOW"] = os.environ["TAKE_WINDOW"]
        done = subprocess.run([str(self.program), *map(str, arguments)], env=env, text=True, capture_output=True,
                              timeout=compilers.TIME_LIMIT,
                              preexec_fn=room and (lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room))))
        equal(done.returncode, status, f"{arguments}: {done.stderr}")
        ours = [line for line in done.stderr.splitlines() if line.startswith("profalloc:")]
        equal(len(ours), len(said), f"{arguments}: messages {ours}")
        for line, expected in zip(ours, said):
            check(expected in line, f"{arguments}: {line}, expected {expected}")
        traces = sorted(self.folder.glob(f"{self.program.name}.{self.count}.*.pa"), key=lambda path: path.stat().st_mtime)
        return done.stdout, traces

    def exact(self, *arguments, conf="", room=None):
        printed, traces = self.run(*arguments, conf=conf, room=room)
        equal(len(traces), 1, "traces")
        exact.compare(" ".join(map(str, arguments)), printed, traces[0])
        equal(tool("check", traces[0])[1], "", "check")
        return traces[0]


def chunks_of(trace, size):
    return exact.chunks(trace).get(size, [])


def survives(trouble):
    trouble.exact("constructor")
    trouble.exact("constructor", room=4 << 30)  # too little for a table of all of the cell
    trouble.exact("signals")
    trouble.exact("threads")
    for name in ("freed", "wild"):
        _, traces = trouble.run(name)
        equal(tool("check", traces[0])[1], "", f"{name}: check")


def forked(trouble):
    printed, traces = trouble.run("forks")
    equal(len(traces), 2, "traces of parent and child")
    by_size = {4001: [], 4002: [], 200001: []}
    for trace in traces:
        for size, found in by_size.items():
            found.extend(chunks_of(trace, size))
    equal([exact.as_expected(row) for row in by_size[4002]],
          [{"reads": 0, "writes": 1, "low": 4000, "high": 4000, "shared": False}], "the child's own chunk")
    for line in printed.splitlines():
        expected = json.loads(line)
        mine = [row for row in by_size[expected["size"]] if row["reads"] is not None]
        equal([exact.as_expected(row) for row in mine],
              [{key: expected[key] for key in ("reads", "writes", "low", "high", "shared")}], "the parent's chunk")


def below(folder, way):
    """A program at low addresses, which looks anywhere, and has a chunk that is elsewhere."""
    program = folder / "below"
    compilers.build({**way, "PROFALLOC_WINDOW": "any"}, [HERE / "trouble.c"], program, "-O1", "-g", "-pthread", "-no-pie", "-fno-pie")
    trace = folder / "below.pa"
    exact.compare("below", compilers.run(program, trace, "large_range:64M", ["elsewhere"]), trace)


def modules(trouble):
    _, traces = trouble.run("plugins", trouble.plugin)
    rows = chunks_of(traces[0], 9001)
    equal(len(rows), 50, "chunks")
    for row in rows:
        equal(exact.as_expected(row), {"reads": 1, "writes": 2, "low": 1, "high": 200, "shared": False}, "with a plugin")
    trace = trouble.exact("late_plugin", trouble.plugin, conf="prof:false")
    equal(chunks_of(trace, 9003), [], "chunks from before recording")


def pictured(trouble):
    """Threads race for the counters: some counts may be lost, but none is there that was not made, and no two are mixed up."""
    printed, traces = trouble.run("pictures")
    bounds = [tuple(map(int, line.split())) for line in printed.splitlines()]
    rows = [json.loads(line) for line in tool("dump", "--json", "--events", traces[0])[0].splitlines()]
    rows = [row for row in rows if row["type"] in ("live", "death") and row["size"] == 8001]
    *pictures, death = rows
    equal((len(pictures), death["type"]), (len(bounds), "death"), "pictures of the chunk")
    for row, (reads, writes) in zip(pictures, bounds):
        check(0 < row["reads"] <= reads and 0 < row["writes"] <= writes, f"at most {reads} reads, {writes} writes: {row}")
        equal((row["low"], row["high"], row["shared"]), (100, 299, True), "bytes in a picture")
        check(row["alloc_time"] <= row["first_time"] <= row["last_time"], f"times in a picture: {row}")
    for key in ("reads", "writes", "low", "high", "shared", "first_time"):
        equal(death[key], pictures[-1][key], f"the end, and the picture when all was quiet: {key}")
    equal(tool("check", traces[0])[1], "", "check")


def places(trouble):
    trouble.exact("elsewhere", conf="large_range:64M")
    trouble.exact("huge")
    trouble.exact("limits")


def times(trouble):
    """One of the last 5 of 40 rounds that take 5 ms each, or what the machine makes of it, is what is told of nearly all."""
    printed, traces = trouble.run("lockstep")
    rows = chunks_of(traces[0], 2077)
    equal((len(rows), {row["writes"] for row in rows}), (2000, {40}), "chunks, and writes of each")
    first_free = min(row["freed"] for row in rows)
    late = sorted(first_free - row["last"] for row in rows)
    check(late[len(late) * 9 // 10] < 1e-9 * int(printed), f"last accesses, before the first free: {late[::200]}; 5 rounds: {printed} ns")
    # 64 of the other thread's turns are what it may be late.
    printed, traces = trouble.run("turns_of_threads")
    expected, last_turns = printed.splitlines()
    exact.compare("turns_of_threads", expected, traces[0])
    equal(tool("check", traces[0])[1], "", "check")
    row, = chunks_of(traces[0], 2078)
    check(row["freed"] - row["last"] < 1e-9 * int(last_turns), f"last access of two threads: {row}; the last turns: {last_turns} ns")


def options(trouble):
    trouble.exact("counters", conf="access_counter_bits:4")
    trouble.exact("counted_turns", conf="access_counter_bits:4")
    if trouble.way.get("PROFALLOC_PASS") == "on":  # by flags, each turn would be a call
        trace = trouble.exact("turns")
        equal(report(trace)["accesses"]["saturated"], 1, "chunks with counters that are full")
    _, traces = trouble.run("alike", conf="sample:64K")
    rows = chunks_of(traces[0], 1000)
    check(100 < len(rows) < 1000, f"{len(rows)} samples of 20 MB at 64K")
    equal({(row["reads"], row["writes"], row["high"] - row["low"]) for row in rows}, {(3, 1, 0)}, "samples")
    _, traces = trouble.run("alike", conf="accesses:false")
    check("no access data: it was recorded without" in tool("report", traces[0])[0], "a report without accesses")
    equal(report(traces[0])["points"][0]["accesses"], None, "accesses in JSON")
    equal({(row["reads"], row["low"]) for row in chunks_of(traces[0], 1000)}, {(None, None)}, "rows without accesses")


def words(trouble):
    if trouble.way.get("PROFALLOC_PASS") == "on":
        for name, status in (("mapped", 0), ("killed", -signal.SIGKILL)):
            _, traces = trouble.run(name, conf="access_map:true", said=["PROFALLOC_PASS=map"], status=status)
            check("PROFALLOC_PASS=map" in tool("report", traces[0])[0], f"{name}: accesses were joined, in the text")
            check(any("PROFALLOC_PASS=map" in remark for remark in report(traces[0])["remarks"]), f"{name}: and in JSON")
        own = trouble.folder / "map"
        own.mkdir()
        trouble = Trouble(own, {**trouble.way, "PROFALLOC_PASS": "map"})
    _, traces = trouble.run("mapped", conf="access_map:true")
    maps = [point["map"] for point in report(traces[0])["points"] if point["bytes"] == 100 * 32]
    equal(len(maps), 1, "points with 100 chunks of 32 bytes")
    equal(maps[0], [{"offset": 0, "reads": 1000, "writes": 0}, {"offset": 8, "reads": 0, "writes": 0},
                    {"offset": 16, "reads": 100, "writes": 100}, {"offset": 24, "reads": 0, "writes": 100}], "the map")
    text = tool("report", traces[0])[0]
    check("never touched" in text, "words that were never touched, in the text")
    check("PROFALLOC_PASS" not in text, f"words are told apart: {text}")
    _, traces = trouble.run("mapped", conf="access_map:true,access_map_size:16")
    check(all("map" not in point for point in report(traces[0])["points"] if point["bytes"] == 100 * 32),
          "chunks above access_map_size have no map")


def uninstrumented(folder):
    """The same library, a program without callbacks."""
    source = folder / "plain.c"
    source.write_text("#include <stdlib.h>\nint main(void) { free(malloc(10)); return 0; }\n")
    program = folder / "plain"
    subprocess.run([os.environ.get("CC", "cc"), "-O0", str(source), "-o", str(program)], check=True)
    for number, conf in enumerate(("", "accesses:true")):
        trace = folder / f"plain.{number}.pa"
        env = compilers.environment({"LD_PRELOAD": os.environ["PROFALLOC_LIB"],
                                     "PROFALLOC_CONF": ",".join(filter(None, ("prof:true,sample:1", conf, f"out:{trace}")))})
        subprocess.run([str(program)], env=env, check=True)
        text = tool("report", trace)[0]
        equal(text.count(NO_DATA), 1, f"{conf}: {text}")
        equal(report(trace)["points"][0]["accesses"], None, "accesses in JSON")


def occupied(folder, way):
    """A place in the window is somebody else's. At its start that does no harm; where regions begin it is said, and
    PROFALLOC_WINDOW=any helps."""
    trouble = Trouble(folder, way)
    try:
        os.environ["TAKE_WINDOW"] = "0"
        trouble.exact("window", conf="prof:false")
        os.environ["TAKE_WINDOW"] = hex(1 << 40)
        _, traces = trouble.run("window", conf="prof:false", said=["PROFALLOC_WINDOW=any"])
        equal(len(traces), 1, "traces")
        Trouble(folder, way, "any").exact("window", conf="prof:false")
        del os.environ["TAKE_WINDOW"]
        trouble.run("exhausted", conf="prof:false", room=4 << 30)
    finally:
        os.environ.pop("TAKE_WINDOW", None)


def main():
    with tempfile.TemporaryDirectory(prefix="profalloc-trouble-") as folder:
        folder = Path(folder)
        uninstrumented(folder)
        for number, (name, way) in enumerate(compilers.ways()):
            print(name, flush=True)
            own, other = folder / str(number), folder / f"{number}-occupied"
            own.mkdir()
            other.mkdir()
            for window in ("fixed", "any"):
                trouble = Trouble(own, way, window)
                parts = (survives, forked, modules, pictured, places, times, options, words) if window == "fixed" else (survives, places)
                for part in parts:
                    part(trouble)
            occupied(other, way)
            below(other, way)
    return 0


if __name__ == "__main__":
    sys.exit(main())
