#!/usr/bin/env python3
"""Threads with large chunks alone: the background thread, which also frees their nodes, writes every death all the same."""
import capture
import support
from capture import equal

LARGE = capture.program("exact/large")
MEMORY = capture.Memory("exact_large", 64)


def churn(folder, conf=""):
    threads, steps = 8, 60000
    capture.capture(folder, [LARGE, threads, steps], conf)
    data = capture.check_trace(capture.trace(folder))
    equal(capture.summed(data, "large_get", "frees"), threads * steps, "deaths")
    MEMORY.check_none_folded(data)


def little_room(folder):
    """Rings are full again and again, and who frees waits for the background thread: which must not wait for it."""
    churn(folder, "buffers:1M")


support.main(churn=churn, little_room=little_room)
