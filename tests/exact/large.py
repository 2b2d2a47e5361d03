#!/usr/bin/env python3
"""Threads with large chunks alone: the background thread, which also frees their nodes, writes every death all the same."""
import os
import tempfile

import capture
import support
from capture import equal

LARGE = capture.program("exact/large")


def churn(folder):
    threads, steps = 8, 60000
    capture.capture(folder, [LARGE, threads, steps])
    data = capture.check_trace(capture.trace(folder))
    equal(capture.summed(data, "large_get", "frees"), threads * steps, "deaths")
    equal(data["files"][0]["folded"], 0, "deaths folded")


if os.access("/dev/shm", os.W_OK):  # deaths are folded when the disk keeps the writer waiting
    tempfile.tempdir = "/dev/shm"
support.main(churn=churn)
