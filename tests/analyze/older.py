#!/usr/bin/env python3
"""Traces and live tables of older versions are read as they were when they were made (tests/analyze/fixtures).

    tests/analyze/older.py [--print]

--print tells the answers of the tool at hand, for a tool of that time.
"""
import hashlib
import json
import sys
import tarfile
from pathlib import Path

import support
from support import check, equal, report, tool

FIXTURES = Path(__file__).parent / "fixtures"
# What version 2 had to say of a chunk. Later ones may say more.
KEYS = ("type", "size", "weight", "stack", "thread", "tag", "flags", "moved_from", "alloc_time", "free_time", "life", "free_thread",
        "free_stack", "moved_to", "reads", "writes", "shared", "low", "high", "first_time", "last_time")
TOLD = {"told": {"totals": {"allocations": 8060, "frees": 8013, "bytes_allocated": 397970583, "bytes_freed": 395289810},
                 "live": {"chunks": 47, "bytes": 2680773}, "peak": 3408599,
                 "chunks": "133cfca749acc38aeca98fb4f6435a70d61091bb7692445a36e41af13bfbe533"},
        "killed": {"totals": {"allocations": 2044, "frees": 1996, "bytes_allocated": 101783603, "bytes_freed": 99450800},
                   "live": {"chunks": 48, "bytes": 2332803}, "peak": 3620766,
                   "chunks": "8d293772402d1000b80d4cd655296ef725fd4cbdd28266d3a9f5b01d0358284d"}}


def unpack(name, folder):
    with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
        archive.extractall(folder)


def killed(folder):
    """A process that was killed with 306 chunks alive, of the first version; its table lies beside the trace."""
    unpack("killed-v1", folder)
    path = folder / "killed.pa"
    expected = {"totals": {"allocations": 11306, "frees": 11000, "bytes_allocated": 2297501, "bytes_freed": 777997},
                "live": {"chunks": 306, "bytes": 1519504}}

    def check_report(what):
        data = report(path)
        for key, value in expected.items():
            equal(data[key], value, f"{key} {what}")
        equal(data["peak"]["bytes"], 1519536, f"peak {what}")
        equal(sorted(p["allocations"] for p in data["points"]), [1, 5, 300, 5000, 6000], f"points {what}")

    check_report("of the table beside it")
    check("complete, 11,306 allocations, 306 of them alive" in tool("check", path)[0], "check says so")
    tool("seal", path)
    check(not (folder / "killed.pa.live").exists(), "the live table is gone")
    check_report("once it is sealed")


def answers_of(path):
    data = report(path)
    lines = [json.loads(line) for line in tool("dump", "--json", "--events", path)[0].splitlines()]
    chunks = sorted(json.dumps([line.get(key) for key in KEYS]) for line in lines if line["type"] in ("death", "live"))
    return {"totals": data["totals"], "live": data["live"], "peak": data["peak"]["bytes"],
            "chunks": hashlib.sha256("\n".join(chunks).encode()).hexdigest()}


def second(folder):
    """Version 2: lengths beside the times, no addresses; of a trace with accesses, and of a process that was killed."""
    unpack("killed-v2", folder)
    paths = {"told": FIXTURES / "told-v2.pa", "killed": folder / "killed-v2.pa"}
    if "--print" in sys.argv:
        print(json.dumps({name: answers_of(path) for name, path in paths.items()}, indent=1))
        return
    for name, path in paths.items():
        equal(answers_of(path), TOLD[name], f"answers of {name}")
    lines = [json.loads(line) for line in tool("dump", "--json", "--events", paths["killed"])[0].splitlines()]
    check(all(line["address"] is None for line in lines if line["type"] == "live"), "no address is made up")
    tool("seal", paths["killed"])
    sealed = answers_of(paths["killed"])
    for key in ("totals", "live", "peak"):
        equal(sealed[key], TOLD["killed"][key], f"{key} of the sealed trace")


support.main(killed=killed, second=second)
