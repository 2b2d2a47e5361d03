#!/usr/bin/env python3
"""Thousands of threads at once, within the default of `buffers`: every death is told one by one, and once."""
import capture
from capture import equal
import support

THOUSANDS = capture.program("exact/thousands")
MEMORY = capture.Memory("exact_thousands", 256)


def run(folder, kind, threads, steps):
    capture.capture(folder, [THOUSANDS, kind, threads, steps])
    data = capture.check_trace(capture.trace(folder))
    equal(capture.summed(data, "thousands_get", "frees"), threads * steps, "deaths")
    equal(capture.summed(data, "thousands_get", "live_chunks"), 0, "chunks alive")
    MEMORY.check_none_folded(data)


def own(folder):
    """Of threads that allocate, so many as have place for a heap each in the profiled range."""
    run(folder, "own", 1500, 200)


def given(folder):
    """10 000 that only free."""
    run(folder, "given", 10000, 100)


support.main(own=own, given=given)
