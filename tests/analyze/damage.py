#!/usr/bin/env python3
"""Damaged, cut and foreign files: what is left is told, what is missing is said, nothing crashes."""
import json
import os
import random
import shutil

import support
from support import check, equal, make, report, tool


def blocks_of(path):
    lines = tool("dump", "--json", path, status=0)[0].splitlines()
    return [b for b in map(json.loads, lines) if b["type"] == "block"]


def no_traces(folder):
    (folder / "empty").write_bytes(b"")
    (folder / "foreign").write_bytes(os.urandom(100000))
    (folder / "text").write_text("PFAK" * 1000)
    (folder / "directory").mkdir()
    os.mkfifo(folder / "pipe")
    for command in ("report", "check", "dump", "seal", "pack"):
        for name, word in (("empty", "empty"), ("foreign", "not a trace"), ("text", "not a trace"), ("directory", "not a file"),
                           ("pipe", "not a file"), ("absent", "No such file")):
            _, said = tool(command, folder / name, status=2)
            check(word in said and name in said, f"{command} {name} says '{word}': {said}")


def not_packed(folder, name):
    """A copy of the whole blocks would look complete."""
    before = sorted(folder.iterdir())
    _, said = tool("pack", folder / name, status=1)
    check("is damaged" in said and "missing: " in said, said)
    equal(sorted(folder.iterdir()), before, "files")


def a_block_flipped(folder):
    """One damaged block of deaths: exactly its rows are missing, and check says how many."""
    chunks = make("ended", folder / "t.pa", 20000, 5, "bare")
    events = [b for b in blocks_of(folder / "t.pa") if b["kind"] == "EVENTS"]
    victim = events[len(events) // 2]
    data = bytearray((folder / "t.pa").read_bytes())
    data[victim["offset"] + 40] ^= 1
    (folder / "t.pa").write_bytes(data)
    result = report(folder / "t.pa")
    missing = len(chunks) - result["totals"]["allocations"]
    check(0 < missing < 4000, f"{missing} chunks are missing")
    check(any(f": {missing} deaths" in line for line in result["missing"]), f"{missing} deaths are said to be missing: {result['missing']}")
    check(any("damaged" in line for line in result["missing"]), "damage is said")
    tool("check", folder / "t.pa", status=1)
    not_packed(folder, "t.pa")


def a_block_cut_out(folder):
    """Without a trace of it but the numbers: report and check say the same."""
    make("ended", folder / "t.pa", 40000, 5)
    whole = (folder / "t.pa").read_bytes()
    for kind, words in (("LIVE", ("allocations: ", "allocated bytes: ", "blocks before the end")),
                        ("EVENTS", ("frees: ", "freed bytes: ", "blocks before the end")), ("THREADS", ("blocks before the end",))):
        victim = [b for b in blocks_of(folder / "t.pa") if b["kind"] == kind][-2:][0]  # of LIVE, the first of the final picture
        end = victim["offset"] + 32 + victim["stored_size"]
        (folder / "cut.pa").write_bytes(whole[:victim["offset"]] + whole[end:])
        data = report(folder / "cut.pa")
        told = data["missing"]
        equal(data["complete"], False, f"complete without {kind}")
        for word in words:
            check(any(word in line for line in told), f"without {kind}, '{word}' is in {told}")
        out, _ = tool("check", folder / "cut.pa", status=1)
        equal([line.split(": ", 1)[1] for line in out.splitlines() if "missing: " in line],
              [line.split(": ", 1)[1] for line in told], "what check says is what report says")
        not_packed(folder, "cut.pa")


def every_command_says_it(folder):
    """`complete` is true or false, whichever command is asked, and `missing` has a reason if it is false."""
    make("ended", folder / "whole.pa", 4000, 5)
    whole = (folder / "whole.pa").read_bytes()
    (folder / "cut.pa").write_bytes(whole[:blocks_of(folder / "whole.pa")[-2]["offset"]])
    tool("gate", "--allow-incomplete", "--save", folder / "saved", folder / "cut.pa")
    for command in ("report", "advise", "leaks", "excess", "mprof", "timeline", "flame"):
        for name, complete in (("whole.pa", True), ("cut.pa", False)):
            data = json.loads(tool(command, "--json", folder / name)[0])
            equal(data["complete"], complete, f"{command}: complete")
            check(all(name in line for line in data["missing"]), f"{command}: the file is named: {data['missing']}")
            equal(len(data["missing"]) == 0, complete, f"{command}: missing: {data['missing']}")
        data = json.loads(tool(command, "--json", folder / "whole.pa", folder / "absent", status=None)[0])
        equal((data["complete"], len(data["missing"])), (False, 1), f"{command}: a file that is not there: {data['missing']}")
    for command in (("diff",), ("gate", "--allow-incomplete", "--max-peak", "5%")):
        for base in ("cut.pa", "saved"):
            data = json.loads(tool(*command, "--json", folder / base, folder / "whole.pa", status=None)[0])
            told = [(data[side][0]["complete"], len(data[side][0]["missing"]) == 0) for side in ("base", "new")]
            equal(told, [(False, False), (True, True)], f"{command} {base}")


def rows_without_sense(folder):
    """A block with a good checksum, and rows of which no byte ends a number; also of a picture that does not count."""
    make("ended", folder / "t.pa", 6000, 5, "plain")
    blocks = blocks_of(folder / "t.pa")
    events = [b for b in blocks if b["kind"] == "EVENTS"]
    pictures = [b for b in blocks if b["kind"] == "LIVE"]
    for victim in (events[0], pictures[0], pictures[-1]):
        data = bytearray((folder / "t.pa").read_bytes())
        support.mend_checksum(data, victim["offset"], victim["stored_size"])
        equal(bytes(data), (folder / "t.pa").read_bytes(), "the checksum as the test computes it")
        end = victim["offset"] + 32 + victim["stored_size"]
        data[end - 300:end] = b"\xff" * 300
        support.mend_checksum(data, victim["offset"], victim["stored_size"])
        (folder / "bad.pa").write_bytes(data)
        out, _ = tool("check", folder / "bad.pa", status=1)
        check("1 block that cannot be decoded" in out, out)
        not_packed(folder, "bad.pa")


def nodes_lost(folder):
    make("ended", folder / "t.pa", 2000, 5)
    nodes = [b for b in blocks_of(folder / "t.pa") if b["kind"] == "NODES"][0]
    data = bytearray((folder / "t.pa").read_bytes())
    data[nodes["offset"] + 35] ^= 0x10
    (folder / "t.pa").write_bytes(data)
    out, _ = tool("check", folder / "t.pa", status=1)
    check("the stacks of 2000 chunks" in out, out)
    data = report(folder / "t.pa")
    equal(data["totals"]["allocations"], 2000, "all chunks are counted without their stacks")
    check(any("the stacks of 2000 chunks" in line for line in data["missing"]), str(data["missing"]))


def cut_anywhere(folder):
    """Any prefix is a trace; with its live table, one cut where the writer was killed misses nothing."""
    chunks = make("ended", folder / "t.pa", 4000, 9)
    data = (folder / "t.pa").read_bytes()
    bounds = [b["offset"] for b in blocks_of(folder / "t.pa")][1:]
    rng = random.Random(1)
    for end in bounds + [rng.randrange(300, len(data)) for _ in range(40)]:
        (folder / "cut.pa").write_bytes(data[:end])
        result = report(folder / "cut.pa")
        check(result["complete"] is False and result["missing"] != [], f"cut at {end} of {len(data)} is incomplete")
        check(result["totals"]["allocations"] <= len(chunks), "no chunk twice")
        tool("check", folder / "cut.pa", status=1)
    tool("pack", folder / "cut.pa")
    check(any("the end of the trace" in line for line in report(folder / "cut.packed.pa")["missing"]), "nor has the copy an end")


def live_table_damaged(folder):
    make("killed", folder / "t.pa", 3000, 4)
    table = (folder / "t.pa.live").read_bytes()
    rng = random.Random(2)
    for size in (0, 100, 70000, 800000, len(table) // 2):
        (folder / "t.pa.live").write_bytes(table[:size])
        check(report(folder / "t.pa")["complete"] is False, f"live table cut at {size}")
    for _ in range(60):
        bad = bytearray(table)
        for _ in range(rng.randrange(1, 30)):
            at = rng.choice([rng.randrange(0, 2000), rng.randrange(0, len(bad))])
            bad[at] = rng.randrange(256)
        (folder / "t.pa.live").write_bytes(bad)
        _, said = tool("report", "--json", folder / "t.pa", status=None)
        check("Sanitizer" not in said, said)
    other = folder / "other.pa"
    make("killed", other, 100, 4)
    data = bytearray((folder / "other.pa.live").read_bytes())
    data[16] ^= 1  # the session
    (folder / "other.pa.live").write_bytes(data)
    check("another trace" in tool("check", other, status=1)[0], "a live table of another session is not taken")


def entries_overwritten(folder):
    """A ring that lost what is not in the trace: told, with the number."""
    make("killed", folder / "t.pa", 20000, 4)
    events = [b for b in blocks_of(folder / "t.pa") if b["kind"] == "EVENTS"]
    os.truncate(folder / "t.pa", events[1]["offset"])
    out, _ = tool("check", folder / "t.pa", status=1)
    check("deaths that were recorded and are not in the trace" in out, out)


def deaths_in(path):
    """Of the trace without its live table."""
    rows = map(json.loads, tool("dump", "--json", "--events", path)[0].splitlines())
    return sum(row["type"] == "death" and row["from"] == "trace" for row in rows)


def lost_and_folded(folder):
    """Deaths of a block that is cut off are lost where rings say that they were written, however many others are in totals; and a
    sealed trace still says so."""
    path, table = folder / "t.pa", folder / "t.pa.live"
    for words in (("settled", "folds=50000"), ("settled", "folds=50000", "unwritten"), ("settled", "folds=50000", "sampled")):
        make("killed", path, 20000, 4, *words)
        tool("check", path)
        whole, live = path.read_bytes(), table.read_bytes()
        blocks = blocks_of(path)
        last = [b for b in blocks if b["kind"] == "EVENTS"][-1]
        deaths = deaths_in(path)
        for end in (last["offset"], last["offset"] + 20, last["offset"] + 32 + last["stored_size"] - 1):
            path.write_bytes(whole[:end])
            table.write_bytes(live)
            left = deaths_in(path)
            check(left < deaths, f"{left} of {deaths} deaths are left in the trace")
            sentence = f"{deaths - left} deaths that were recorded and are not in the trace"
            for step in ("cut", "sealed"):
                out, _ = tool("check", path, status=1)
                check(sentence in out and "has what was in it" not in out, f"{words}, {step} at {end}: '{sentence}' in {out}")
                check(any(sentence in line for line in report(path)["missing"]), f"{words}, {step}: report")
                if step == "cut":
                    tool("seal", path)
                    check(not table.exists(), "the live table is gone")


def bytes_flipped(folder):
    """Anywhere, and with checksums made right again, so that decoders meet it."""
    make("ended", folder / "t.pa", 3000, 8, "after", "folded")
    good = (folder / "t.pa").read_bytes()
    rng = random.Random(3)
    for _ in range(150):
        bad = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        (folder / "bad.pa").write_bytes(bad)
        for command in (("report", "--json"), ("check",)):
            done = tool(*command, folder / "bad.pa", status=None)
            check("Sanitizer" not in done[1], done[1])
    shutil.copy(folder / "t.pa", folder / "bad.pa")
    support.check_report(report(folder / "bad.pa"), make("ended", folder / "t.pa", 3000, 8, "after", "folded"), folded=True)


support.main(no_traces=no_traces, a_block_flipped=a_block_flipped, a_block_cut_out=a_block_cut_out, every_command_says_it=every_command_says_it,
             rows_without_sense=rows_without_sense, nodes_lost=nodes_lost, cut_anywhere=cut_anywhere,
             live_table_damaged=live_table_damaged, entries_overwritten=entries_overwritten, lost_and_folded=lost_and_folded,
             bytes_flipped=bytes_flipped)
