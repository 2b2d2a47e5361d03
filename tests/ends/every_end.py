#!/usr/bin/env python3
"""However a program ends, its trace is complete and its totals are what it did: with the library preloaded and with
`profalloc run`, when all is done and in the middle of it."""
import os
import signal
from pathlib import Path

import capture
import support
from capture import Notes, check, equal

CHURNER = capture.program("ends/churner")
# How it ends, the status as a shell tells it.
ENDS = {"return": 0, "exit": 3, "_exit": 4, "quick_exit": 5, "abort": 128 + signal.SIGABRT, "segv": 128 + signal.SIGSEGV,
        "term": 128 + signal.SIGTERM, "exec": 0, "thread_exit": 0}
ENDED = ("return", "exit", "_exit", "quick_exit", "exec")  # with the end of its trace


def shell_status(status):
    return 128 - status if status < 0 else status


def examine(folder, mode, name="churner"):
    """Its trace against its notes; exact if it was not interrupted."""
    found = [path for path in capture.traces(folder) if path.name.startswith(name)]
    equal(len(found), 1, f"traces of {name} in {[p.name for p in folder.iterdir()]}")
    notes = Notes(folder / "notes")
    check(mode != "joined" or notes.exact(), "a program that finished its work has exact notes")
    capture.check_trace(found[0], notes, f"{folder.name}")
    return found[0]


def end(folder, how, mode, run):
    folder = folder / f"{how}-{mode}-{'run' if run else 'preload'}"
    folder.mkdir()
    steps = 0 if mode == "running" else 20000
    process = capture.start(folder, [CHURNER, "notes", 3, steps, how, "true"], run=run)
    said = capture.finish(process, None)
    equal(shell_status(process.returncode), ENDS[how], f"{folder.name}: status; it said {said}")
    path = examine(folder, mode)
    if mode == "joined" and how in ENDED:
        check(not os.path.lexists(f"{path}.live"), f"{folder.name}: its live table is gone")
    if how == "exec":
        examine_next(folder)


def examine_next(folder):
    """What was executed has a trace of its own, with nothing of the first program's."""
    others = [path for path in capture.traces(folder) if not path.name.startswith("churner")]
    equal(len(others), 1, f"traces of the program that was executed in {[p.name for p in folder.iterdir()]}")
    data = capture.check_trace(others[0])
    check(not capture.points_of(data, "noted_small"), "chunks of the program before it")


def killed(folder, signum, run):
    folder = folder / f"{signal.Signals(signum).name}-{'run' if run else 'preload'}"
    folder.mkdir()
    process = capture.start(folder, [CHURNER, "notes", 3, 0, "wait"], run=run)
    capture.wait_for((folder / "notes.ready").exists, "the program is ready")
    if run:  # the tool stays: it has the trace to end
        child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        os.kill(child, signum)
    else:
        process.send_signal(signum)
    capture.finish(process, None)
    equal(shell_status(process.returncode), 128 + signum, "status")
    examine(folder, "running")


def every_end(folder):
    for how in ENDS:
        for mode in ("joined", "running"):
            if how == "thread_exit" and mode == "running":
                continue  # it would go on for ever
            for run in (False, True):
                end(folder, how, mode, run)


def from_outside(folder):
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for run in (False, True):
            killed(folder, signum, run)


def exec_of_itself(folder):
    """The same name, the same process: the second trace takes another name, and both are whole."""
    capture.capture(folder, [CHURNER, "notes", 2, 5000, "exec", CHURNER, "notes2", 2, 7000, "return"])
    first, second = sorted(capture.traces(folder), key=lambda path: path.name.count("."))
    capture.check_trace(first, Notes(folder / "notes"))
    capture.check_trace(second, Notes(folder / "notes2"))


def sealed(folder):
    """A killed program's trace, sealed, says the same without its live table."""
    process = capture.start(folder, [CHURNER, "notes", 2, 0, "wait"])
    capture.wait_for((folder / "notes.ready").exists, "the program is ready")
    capture.kill(process)
    path = capture.trace(folder)
    before = support.report(path)
    capture.tool("seal", path)
    check(not path.with_name(path.name + ".live").exists(), "the live table is gone")
    after = capture.check_trace(path, Notes(folder / "notes"))
    for key in ("totals", "live"):
        equal(after[key], before[key], f"{key} after sealing")


support.main(every_end=every_end, from_outside=from_outside, exec_of_itself=exec_of_itself, sealed=sealed)
