#!/usr/bin/env python3
"""Fifty million chunks, and ten million with accesses: the report is exact, takes less than a minute of the processor and less than
400 MiB."""
import json
import resource
import subprocess

import support
from support import MAKER, check, equal, tool


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tell(folder, count, *words):
    path = folder / "big.pa"
    made = subprocess.run([MAKER, "big", str(path), str(count), "1", *words], capture_output=True, text=True, check=True)
    chunks, total, alive, bytes_alive, peak, reads = map(int, made.stdout.split())
    begun = spent()
    data = json.loads(tool("report", "--json", path)[0])
    seconds = spent() - begun
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{path.stat().st_size >> 20} MiB of trace, {seconds:.1f} s, {memory:.0f} MiB")
    equal(data["totals"]["allocations"], chunks, "allocations")
    equal(data["totals"]["bytes_allocated"], total, "bytes")
    equal(data["live"], {"chunks": alive, "bytes": bytes_alive}, "live")
    equal(data["peak"]["bytes"], peak, "peak")
    check(data["peak"]["exact"] is True, "the peak is exact")
    equal(sum(p["peak_bytes"] for p in data["points"]), peak, "the points' bytes at the peak")
    check(memory < 400, f"{memory} MiB")
    check(seconds < 60, f"{seconds} s")
    return data, reads


def big(folder):
    data, _ = tell(folder, 50_000_000)
    check(data["accesses"] is None, "no accesses")


def with_accesses(folder):
    data, reads = tell(folder, 10_000_000, "accesses")
    equal(data["accesses"]["reads"], reads, "reads")
    equal((data["accesses"]["chunks"], data["accesses"]["unknown"]), (10_000_000, 0), "chunks")


support.main(big=big, with_accesses=with_accesses)
