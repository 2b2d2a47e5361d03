#!/usr/bin/env python3
"""Names of addresses: functions, lines, inlined ones; C++; a program that changed; and a packed trace without the program."""
import os
import shutil
import subprocess

import support
from support import MAKER, check, equal, report, tool

SITES = ({"plain_site"}, {"inlined_site", "outer_site"})


def frames(data):
    return [f for p in data["points"] for f in p["stack"]]


def local(folder):
    support.make("ended", folder / "t.pa", 2000, 1)
    data = report(folder / "t.pa")
    names = {f["function"] for f in frames(data)}
    equal(names, {"plain_site", "inlined_site", "outer_site", None}, "functions")
    for point in data["points"]:
        for frame, caller in zip(point["stack"], point["stack"][1:] + [None]):
            if frame["function"] is not None:
                check(frame["file"].endswith("make_sites.c") and frame["line"] > 0, f"file and line: {frame}")
                check(frame["inlined"] == (frame["function"] == "inlined_site"), f"inlined: {frame}")
            if frame["function"] == "inlined_site":
                equal(caller["function"], "outer_site", "what it was inlined into")
    source = open(os.path.join(os.environ["PROFALLOC_SOURCE_DIR"], "tests/analyze/make_sites.c")).read().splitlines()
    for frame in frames(data):
        if frame["function"] == "outer_site":
            check("inlined_site()" in "".join(source[frame["line"] - 1:frame["line"] + 1]), f"the line of the call: {frame}")


def copy_of_maker(folder):
    program = folder / "program"
    shutil.copy(MAKER, program)
    subprocess.run([program, "ended", folder / "t.pa", "2000", "1"], check=True, stdout=subprocess.DEVNULL)
    return program


def packed(folder):
    """Packed here, told elsewhere: the program is gone, the names are not."""
    program = copy_of_maker(folder)
    before = report(folder / "t.pa")
    tool("pack", folder / "t.pa")
    tool("pack", folder / "t.pa", "-o", folder / "other.pa")
    program.unlink()
    lost = report(folder / "t.pa")
    check(all(f["function"] is None for f in frames(lost)), "without the program there are no names")
    check(any("no names for" in r for r in lost["remarks"]), f"which is said: {lost['remarks']}")
    for name in ("t.packed.pa", "other.pa"):
        after = report(folder / name)
        equal(after["points"], before["points"], "points of the packed trace")
        tool("check", folder / name)
    tool("pack", folder / "t.packed.pa", "-o", folder / "again.pa")
    equal(report(folder / "again.pa")["points"], before["points"], "packed twice")
    tool("pack", folder / "t.pa", "-o", folder / "absent" / "x.pa", status=1)
    support.make("killed", folder / "k.pa", 100, 1)
    _, said = tool("pack", folder / "k.pa", status=1)
    check("seal" in said, said)


def replaced(folder):
    """Another program in the same place: its names would be wrong, so there are none."""
    program = copy_of_maker(folder)
    program.unlink()
    shutil.copy("/bin/true", program)
    data = report(folder / "t.pa")
    check(all(f["function"] is None for f in frames(data)), "no names of another program")
    check(any("build-id" in r for r in data["remarks"]), f"which is said: {data['remarks']}")


def separate(folder):
    """Debug information in a file beside the program."""
    program = copy_of_maker(folder)
    subprocess.run(["objcopy", "--only-keep-debug", program, folder / "program.debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={folder / 'program.debug'}", program], check=True)
    names = {f["function"] for f in frames(report(folder / "t.pa"))}
    check({"plain_site", "inlined_site", "outer_site"} <= names, f"names from the separate file: {names}")


support.main(local=local, packed=packed, replaced=replaced, separate=separate)
