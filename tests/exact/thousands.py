#!/usr/bin/env python3
"""Thousands of threads at once, within the default of `buffers`: every death is told one by one, and once."""
import re
import resource
from pathlib import Path

import capture
from capture import equal
import support

KIB_EACH = 512  # memory of a thread, far more than it takes
THOUSANDS = capture.program("exact/thousands")
MEMORY = capture.Memory("exact_thousands", 256)


def run(folder, kind, threads, steps):
    capture.capture(folder, [THOUSANDS, kind, threads, steps])
    data = capture.check_trace(capture.trace(folder))
    equal(capture.summed(data, "thousands_get", "frees"), threads * steps, "deaths")
    equal(capture.summed(data, "thousands_get", "live_chunks"), 0, "chunks alive")
    MEMORY.check_none_folded(data)


def number_in(path):
    try:
        text = Path(path).read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def most_threads():
    """10 000, or as many as the machine allows: each takes five mappings at most, and some memory."""
    memory = int(re.search(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text()).group(1))
    mappings = number_in("/proc/sys/vm/max_map_count") or 65530
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    allowed = [number_in("/proc/sys/kernel/threads-max"), number_in("/proc/sys/kernel/pid_max"),
               number_in("/sys/fs/cgroup/pids.max"), processes if processes != resource.RLIM_INFINITY else None]
    threads = min([10000, mappings // 6, memory // KIB_EACH] + [each // 2 for each in allowed if each])
    print(f"{threads} threads")
    return threads


def own(folder):
    """Of threads that allocate: each has a heap in the profiled range."""
    run(folder, "own", most_threads(), 50)


def kept(folder):
    """The same with all chunks alive at once."""
    run(folder, "kept", most_threads(), 20)


def given(folder):
    """10 000 that only free."""
    run(folder, "given", 10000, 100)


support.main(own=own, kept=kept, given=given)
