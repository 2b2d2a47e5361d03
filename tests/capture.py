"""What the tests of the capture share: programs run with the library, what they noted of their own doing (tests/exact/noted.h),
and the reports of their traces against that."""
import os
import signal
import struct
import subprocess
import time
from pathlib import Path

import folders
import support
from support import TOOL, check, equal, tool  # noqa: F401  (for those who import this)

LIBRARY = os.environ["PROFALLOC_LIB"]
BUILT = Path(os.environ["PROFALLOC_BUILD_DIR"]) / "tests"
KINDS = ("noted_small", "noted_large", "noted_grow")
SLOTS = 2048
TIME_LIMIT = 1800


def program(name):
    return str(BUILT / name)


def environment(conf=""):
    """Of a program that the library is preloaded into; every chunk is recorded."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "PROFALLOC_CONF", "PROFALLOC_LIB")}
    return {**env, "LD_PRELOAD": LIBRARY, "PROFALLOC_CONF": ",".join(filter(None, ("prof:true,sample:1", conf)))}


def start(folder, command, conf="", run=False, **options):
    """Begins a program in a folder, with the library, or with `profalloc run`."""
    command = [str(word) for word in command]
    options.setdefault("stdout", subprocess.DEVNULL)
    options.setdefault("stderr", subprocess.PIPE)
    if not run:
        return subprocess.Popen(command, cwd=folder, env=environment(conf), text=True, **options)
    more = ["--conf", conf] if conf else []
    return subprocess.Popen([TOOL, "run", *more, "--", *command], cwd=folder, text=True, **options)


def finish(process, status):
    """Waits for a program's end; returns what it said."""
    out, said = process.communicate(timeout=TIME_LIMIT)
    check(status is None or process.returncode == status,
          f"{process.args}: status {process.returncode}, expected {status}\n{out or ''}{said or ''}")
    return said


def capture(folder, command, conf="", run=False, status=0, **options):
    """Runs a program to its end; returns what it said."""
    return finish(start(folder, command, conf, run, **options), status)


def wait_for(condition, what):
    limit = time.monotonic() + TIME_LIMIT
    while not condition():
        check(time.monotonic() < limit, f"{what}: not within {TIME_LIMIT} seconds")
        time.sleep(0.05)


def traces(folder):
    return sorted(folder.glob("*.pa"))


def trace(folder):
    """The one trace in a folder."""
    found = traces(folder)
    equal(len(found), 1, f"traces in the folder ({[p.name for p in found]})")
    return found[0]


class Notes:
    """What a program noted: for each kind of chunk, (least, most) it can have allocated and freed."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        width = len(KINDS) * 8
        sums = [0] * width
        for slot in struct.iter_unpack(f"<{width}Q", data[:SLOTS * width * 8]):
            if any(slot):
                sums = [a + b for a, b in zip(sums, slot)]
        self.figures = {}
        for i, kind in enumerate(KINDS):
            begun, begun_bytes, done, done_bytes, dying, dying_bytes, dead, dead_bytes = sums[i * 8:i * 8 + 8]
            self.figures[kind] = {"allocations": (done, begun), "bytes": (done_bytes, begun_bytes),
                                  "frees": (dead, dying), "bytes_freed": (dead_bytes, dying_bytes)}

    def exact(self):
        return all(low == high for figures in self.figures.values() for low, high in figures.values())


def functions(point):
    return [frame["function"] for frame in point["stack"]]


def points_of(data, function):
    return [point for point in data["points"] if function in functions(point)]


def summed(data, function, key):
    return sum(point[key] for point in points_of(data, function))


def check_conserved(data, where=""):
    """Whatever was allocated was freed or is alive, in sum and at every point; and the points are all there is."""
    for point in data["points"]:
        equal(point["allocations"], point["frees"] + point["live_chunks"], f"{where}: allocations of {functions(point)}")
        equal(point["bytes"], point["bytes_freed"] + point["live_bytes"], f"{where}: bytes of {functions(point)}")
    totals, live = data["totals"], data["live"]
    equal(totals["allocations"], totals["frees"] + live["chunks"], f"{where}: allocations")
    equal(totals["bytes_allocated"], totals["bytes_freed"] + live["bytes"], f"{where}: bytes")
    for key, total in (("allocations", totals["allocations"]), ("frees", totals["frees"]), ("bytes", totals["bytes_allocated"]),
                       ("bytes_freed", totals["bytes_freed"]), ("live_chunks", live["chunks"]), ("live_bytes", live["bytes"])):
        equal(sum(point[key] for point in data["points"]), total, f"{where}: sum of the points' {key}")


def check_noted(data, notes, where=""):
    """The figures of each kind of noted chunk are the program's own, or between those before and after a call."""
    for kind, figures in notes.figures.items():
        for key, (low, high) in figures.items():
            ours = summed(data, kind, key)
            check(low <= ours <= high, f"{where}: {key} of {kind}: {ours}, the program noted {low} to {high}")


def check_trace(path, notes=None, where="", complete=True):
    """The whole examination of a trace; returns its report."""
    where = where or Path(path).name
    data = support.report(path)
    if complete:
        equal((data["complete"], data["missing"]), (True, []), f"{where}: complete, and what is missing")
        tool("check", path)
    check_conserved(data, where)
    if notes is not None:
        check_noted(data, notes if isinstance(notes, Notes) else Notes(notes), where)
    return data


class Memory:
    """Traces in memory, for tests that every death is told one by one: on a disk that keeps the writer waiting, some are folded."""

    def __init__(self, test, mebibytes):
        self.there = folders.use_memory(mebibytes)
        if not self.there:
            print(f"not run: {test}, that no death is folded: {folders.MEMORY} has no room for {mebibytes} MiB", flush=True)

    def check_none_folded(self, data):
        if self.there:
            equal(data["files"][0]["folded"], 0, "deaths folded")


def kill(process):
    process.send_signal(signal.SIGKILL)
    finish(process, -signal.SIGKILL)
