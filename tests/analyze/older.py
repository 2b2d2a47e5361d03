#!/usr/bin/env python3
"""Traces and live tables of older versions are read as they were when they were made (tests/analyze/fixtures)."""
import tarfile
from pathlib import Path

import support
from support import check, equal, report, tool

FIXTURES = Path(__file__).parent / "fixtures"


def killed(folder):
    """A process that was killed with 306 chunks alive, of the first version; its table lies beside the trace."""
    with tarfile.open(FIXTURES / "killed-v1.tar.xz") as archive:
        archive.extractall(folder)
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


support.main(killed=killed)
