#!/usr/bin/env python3
"""The addresses and types of chunks in a trace are those that the program had: of all that died (addresses:true), of all that are alive
at the end, in pictures taken meanwhile, in fork children, after a kill, and once it is sealed."""
import json
import signal
from collections import Counter

import capture
import support
from capture import check, equal, tool

PLACES = capture.program("exact/places")
TYPE = "struct places::element"
ELEMENT = 24


def noted(path):
    lines = {"live": Counter(), "dead": Counter(), "before": Counter()}
    for line in path.read_text().splitlines():
        kind, *numbers = line.split()
        lines[kind][tuple(int(n) for n in numbers)] += 1
    return lines


def rows_of(path):
    """Rows of deaths and of pictures by their number; of a killed process, those of its live table are the last one."""
    deaths, pictures, picture = [], {}, None
    for line in tool("dump", "--json", "--events", path)[0].splitlines():
        row = json.loads(line)
        if row["type"] == "block":
            picture = row.get("picture", picture)
        elif row["type"] == "death":
            deaths.append(row)
        elif row["type"] == "live":
            pictures.setdefault("live table" if row["from"] == "live table" else picture, []).append(row)
    return deaths, pictures


def key_of(row):
    typed = row["type_name"] == TYPE
    check(typed or row["type_name"] is None, f"a type that nobody named: {row}")
    check(not typed or row["elements"] == row["size"] // ELEMENT, f"elements: {row}")
    return row["address"], row["size"], row["elements"] + 1 if typed else 0


def check_geometry(rows, what):
    """Chunks are in a slot of their region, those of a region in slots of their own, and none is in another."""
    small = [row for row in rows if row["region"] is not None]
    check(len(small) > len(rows) / 2, f"{what}: chunks that have a region: {len(small)} of {len(rows)}")
    for row in small:
        within = (row["address"] - row["region"]) % row["slot_size"]
        check(row["address"] >= row["region"] and within + row["size"] <= row["slot_size"], f"{what}: in one slot: {row}")
    slots = Counter((row["address"] - row["region"]) // row["slot_size"] * row["slot_size"] + row["region"] for row in small)
    check(max(slots.values()) == 1, f"{what}: one chunk a slot")
    for row in rows:
        check(row["region"] is not None or row["size"] > 100000 or row["flags"] & 4, f"{what}: a small chunk has a region: {row}")


def check_places(path, truth, what, deaths_too):
    deaths, pictures = rows_of(path)
    last = pictures["live table"] if "live table" in pictures else pictures[max(pictures)]
    found = Counter(key_of(row) for row in last)
    check(not truth["live"] - found, f"{what}: live chunks that are not told: {list((truth['live'] - found).items())[:5]}")
    check(all(row["address"] for row in last), f"{what}: each live chunk has an address")
    check_geometry(last, what)
    if deaths_too:
        died = Counter(key_of(row) for row in deaths)
        check(not truth["dead"] - died, f"{what}: deaths that are not told: {list((truth['dead'] - died).items())[:5]}")
        # What the program itself did not note is of others: the C library, the loader.
        others = sum((died - truth["dead"]).values())
        check(others < 200, f"{what}: {others} deaths besides")
    else:
        check(not any(row["address"] for row in deaths), f"{what}: no addresses of deaths")
    return pictures


def check_earlier(pictures, truth, what):
    """A picture is of the time it took: each of its chunks the program had at some time. Where regions changed meanwhile, the place
    may be left out, never wrong."""
    ever = {key[:2] for kind in ("live", "dead") for key in truth[kind]}
    numbers = sorted(number for number in pictures if number != "live table")
    told = without = 0
    for number in numbers[:5]:
        for row in pictures[number]:
            told += 1
            without += row["address"] is None
            small = row["size"] < 3000  # others' chunks: of the C library and the loader
            if row["address"] is not None and not small:
                check((row["address"], row["size"]) in ever, f"{what}, picture {number}: the program never had {row}")
    check(without <= told / 20, f"{what}: chunks without a place in earlier pictures: {without} of {told}")


def run(folder, end, conf, threads=4, steps=12000, status=0):
    capture.capture(folder, [PLACES, folder / "notes", threads, steps, end], conf, status=status)
    return noted(folder / "notes")


def at_the_end(folder):
    for conf in ("addresses:true", "addresses:true,accesses:true", ""):
        part = folder / (conf.replace(":", "-") or "plain")
        part.mkdir()
        truth = run(part, "exit", conf)
        path = capture.trace(part)
        pictures = check_places(path, truth, conf or "pictures alone", "addresses" in conf)
        check_earlier(pictures, truth, conf)
        tool("check", path)


def killed(folder):
    for conf in ("addresses:true", "addresses:true,accesses:true,live:beside", "addresses:true,live_size:1M"):
        part = folder / conf.replace(":", "-")
        part.mkdir()
        truth = run(part, "kill", conf, status=-signal.SIGKILL)
        path = capture.trace(part)
        check_places(path, truth, f"killed, {conf}", True)
        tool("seal", path)
        check_places(path, truth, f"sealed, {conf}", True)
        tool("check", path)


def in_a_child(folder):
    truth = run(folder, "fork", "addresses:true")
    child = noted(folder / "notes.child")
    by_deaths = sorted(folder.glob("*.pa"), key=lambda path: len(rows_of(path)[0]))
    equal(len(by_deaths), 2, "traces")
    check_places(by_deaths[1], truth, "parent", True)
    check(child["before"], "the child was born with chunks")
    check_places(by_deaths[0], child, "child", True)


support.main(at_the_end=at_the_end, killed=killed, in_a_child=in_a_child)
