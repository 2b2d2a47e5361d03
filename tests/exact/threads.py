#!/usr/bin/env python3
"""Exact totals of programs with threads, and when events come faster than they can be written."""
import capture
import support
from capture import Notes, check, equal

THREADS = capture.program("exact/threads")


def exact(folder, *arguments, conf="", run=False):
    capture.capture(folder, [THREADS, "notes", *arguments], conf, run)
    notes = Notes(folder / "notes")
    check(notes.exact(), "the program finished")
    return capture.check_trace(capture.trace(folder), notes)


def churn(folder):
    exact(folder, "churn", 8, 50000)


def cross(folder):
    exact(folder, "cross", 16, 20000)


def cross_run(folder):
    exact(folder, "cross", 16, 20000, run=True)


def brief(folder):
    """1000 threads that come and go."""
    data = exact(folder, "brief", 20, 1000)
    equal(len([t for t in data["threads"] if t["allocations"]]) >= 1000, True, "all threads are listed")


def overload(folder):
    """Little room for many threads: deaths that do not get into the trace in time are folded, and no total changes by that."""
    data = exact(folder, "cross", 32, 20000, conf="buffers:1M")
    print(f"{data['files'][0]['folded']} of {data['totals']['frees']} deaths folded")


def no_room(folder):
    """No room for a single ring: all deaths are folded, and no total changes by that."""
    data = exact(folder, "cross", 32, 2000, conf="buffers:0")
    equal(data["files"][0]["folded"], data["totals"]["frees"], "deaths folded")
    check(any("counted but not listed" in text for text in data["files"][0]["remarks"]), data["files"][0]["remarks"])


support.main(churn=churn, cross=cross, cross_run=cross_run, brief=brief, overload=overload, no_room=no_room)
