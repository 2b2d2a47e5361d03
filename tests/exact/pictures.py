#!/usr/bin/env python3
"""Pictures of the live heap while a program runs, by each of the reasons for one; and recording that is stopped and started
by a signal."""
import json
import signal

import capture
import support
from capture import Notes, check, equal

CHURNER = capture.program("ends/churner")


def begin(folder, conf, threads=1):
    process = capture.start(folder, [CHURNER, "notes", threads, 0, "wait"], conf)
    capture.wait_for((folder / "notes.ready").exists, "the program is ready")
    return process


def blocks(path, kind):
    out, _ = support.tool("dump", "--json", path)
    return [block for block in map(json.loads, out.splitlines()) if block["type"] == "block" and block["kind"] == kind]


def pictures(path):
    return {block["picture"]: block["name"] for block in blocks(path, "LIVE")}


def wait_for_pictures(folder, name, count):
    def there():
        return sum(n == name for n in pictures(capture.trace(folder)).values()) >= count
    capture.wait_for(there, f"{count} pictures named {name}")


def examine(folder, process):
    capture.kill(process)
    return capture.check_trace(capture.trace(folder), Notes(folder / "notes"))


def by_signal(folder):
    process = begin(folder, f"dump_signal:{int(signal.SIGUSR1)}")
    for count in (1, 2, 3):
        process.send_signal(signal.SIGUSR1)
        wait_for_pictures(folder, "signal", count)
    examine(folder, process)
    equal(sorted(pictures(capture.trace(folder)).values()), ["signal"] * 3, "pictures")
    out, _ = support.tool("dump", "--json", "--events", capture.trace(folder))
    live = [row for row in map(json.loads, out.splitlines()) if row["type"] == "live" and row["from"] == "trace"]
    check(len(live) > 10, f"{len(live)} chunks in the pictures")


def by_each_reason(folder):
    for conf, name, count in (("dump_seconds:1", "seconds", 2), ("dump_bytes:10M", "bytes", 2), ("dump_peak:100K", "peak", 1),
                              ("dump_rss:1M", "rss", 1)):
        place = folder / name
        place.mkdir()
        process = begin(place, conf)
        wait_for_pictures(place, name, count)
        examine(place, process)
        equal(set(pictures(capture.trace(place)).values()), {name}, "reasons")


def noted_allocations(folder):
    """That the program has begun, by now."""
    return sum(figures["allocations"][1] for figures in Notes(folder / "notes").figures.values())


def recorded_allocations(path):
    """Of those; what the writer has not come to yet is not in it."""
    data = support.report(path)
    return sum(capture.summed(data, kind, "allocations") for kind in capture.KINDS)


def wait_for_allocations(folder, count):
    """Until the program has made so many more."""
    before = noted_allocations(folder)
    capture.wait_for(lambda: noted_allocations(folder) > before + count, "more allocations of the program")


def toggled(folder):
    """What is allocated while recording is off is in no figure; what was before and is freed then, is."""
    process = begin(folder, f"toggle_signal:{int(signal.SIGUSR2)}")
    path = capture.trace(folder)
    process.send_signal(signal.SIGUSR2)
    capture.wait_for(lambda: len(blocks(path, "MARK")) == 1, "recording stopped")
    wait_for_allocations(folder, 50000)  # by then its thread has noticed
    most = noted_allocations(folder)
    wait_for_allocations(folder, 200000)
    recorded = recorded_allocations(path)
    check(0 < recorded <= most, f"{recorded} allocations are recorded, the program had made {most} when recording was off")
    process.send_signal(signal.SIGUSR2)
    capture.wait_for(lambda: len(blocks(path, "MARK")) == 2, "recording went on")
    wait_for_allocations(folder, most + 100000)  # so that these alone are more
    capture.kill(process)
    data = capture.check_trace(path)
    notes = Notes(folder / "notes")
    check(recorded_allocations(path) > most, f"no more than {most} allocations are recorded after it went on")
    for kind in capture.KINDS:
        ours, made = capture.summed(data, kind, "allocations"), notes.figures[kind]["allocations"][1]
        check(0 < ours < made, f"{kind}: {ours} allocations, the program made {made}")
    check(any("stopped" in text for text in data["files"][0]["remarks"]), data["files"][0]["remarks"])


def begun_by_signal(folder):
    """A program that starts without recording can be told to begin."""
    process = begin(folder, f"prof:false,toggle_signal:{int(signal.SIGUSR2)}")
    equal(capture.traces(folder), [], "traces")
    process.send_signal(signal.SIGUSR2)
    capture.wait_for(lambda: len(capture.traces(folder)) == 1, "a trace was begun")
    path = capture.trace(folder)
    capture.wait_for(lambda: path.stat().st_size != 0 and support.report(path)["totals"]["allocations"] > 1000, "chunks")
    capture.kill(process)
    capture.check_trace(path)


support.main(by_signal=by_signal, by_each_reason=by_each_reason, toggled=toggled, begun_by_signal=begun_by_signal)
