#!/usr/bin/env python3
"""seal: the sealed trace says what the killed one said; nothing is sealed while its process lives; on failure all stays."""
import mmap
import os
import resource
import shutil

import support
from support import check, equal, make, report, tool


def says_the_same(folder):
    for seed, words in enumerate([(), ("dying", "torn"), ("folded", "dying"), ("sampled",), ("roots",), ("accesses", "maps", "dying"),
                                   ("accesses", "folded", "torn", "bits=10"), ("accesses", "sampled")]):
        for count in (0, 3, 8000):
            path = folder / "t.pa"
            make("killed", path, count, seed, *words)
            before = report(path)
            tool("seal", path)
            check(not (folder / "t.pa.live").exists(), "the live table is gone")
            after = report(path)
            for key in ("totals", "live", "peak", "points", "sizes", "threads", "complete", "missing", "accesses"):
                equal(after[key], before[key], f"{key} of a sealed trace ({words}, {count})")
            tool("check", path)
            whole = path.read_bytes()
            check("already" in tool("seal", path)[0], "sealing again does nothing")
            check(path.read_bytes() == whole, "and changes nothing")


def interrupted(folder):
    """A sealer that was killed half-way: what it appended is not counted twice."""
    path = folder / "t.pa"
    chunks = make("killed", path, 8000, 3)
    shutil.copy(folder / "t.pa.live", folder / "kept")
    size = path.stat().st_size
    tool("seal", path)
    whole = path.read_bytes()
    for part in (0.2, 0.5, 0.9):
        shutil.copy(folder / "kept", folder / "t.pa.live")
        path.write_bytes(whole[:size + int((len(whole) - size) * part)])
        support.check_report(report(path), chunks)
        tool("seal", path)
        support.check_report(report(path), chunks)
        tool("check", path)


def process_lives(folder):
    path = folder / "t.pa"
    make("killed", path, 500, 1, f"pid={os.getpid()}")
    with open(folder / "t.pa.live", "r+b") as file, mmap.mmap(file.fileno(), 4096):
        _, said = tool("seal", path, status=1)
        check("goes on" in said, said)
        check((folder / "t.pa.live").exists(), "the live table stays")
        result = report(path)
        check(result["files"][0]["end"] == "running", "it is still running")
        check(any("picture of a moment" in line for line in result["missing"]), "a moment's picture")
        equal((result["peak"]["exact"], result["files"][0]["peak"]["exact"]), (False, False), "exact")
        make("ended", folder / "other.pa", 500, 2)
        equal([f["peak"]["exact"] for f in report(path, folder / "other.pa")["files"]], [False, True], "exact of two")
        check("of another moment" in tool("report", path)[0], "which the text says")
    check(report(path)["peak"]["exact"] is True, "exact, once it is gone")
    tool("seal", path)  # the process is there, but has no such table


def no_live_table(folder):
    path = folder / "t.pa"
    make("killed", path, 500, 1)
    os.unlink(folder / "t.pa.live")
    _, said = tool("seal", path, status=1)
    check("live table" in said, said)


def disk_full(folder):
    """Writing fails (a limit on file sizes stands for a full disk): trace and live table are as before."""
    path = folder / "t.pa"
    chunks = make("killed", path, 8000, 3)
    size = path.stat().st_size

    def limit():
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 2000, size + 2000))

    _, said = tool("seal", path, status=1, preexec_fn=limit)
    check("stays" in said, said)
    equal(path.stat().st_size, size, "size of the trace")
    check((folder / "t.pa.live").exists(), "the live table stays")
    support.check_report(report(path), chunks)
    tool("seal", path)


support.main(says_the_same=says_the_same, interrupted=interrupted, process_lives=process_lives, no_live_table=no_live_table,
             disk_full=disk_full)
