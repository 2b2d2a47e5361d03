#!/usr/bin/env python3
"""The calls of the API, against what tests/exact/caller.c does with them: tags, pictures, two traces by mprof's calls, and
places of frees several frames deep. Pictures after numbers of allocations, as tests/exact/autosaver.c is told to make them."""
import json
import subprocess
import time

import capture
import support
from capture import check, equal

CALLER = capture.program("exact/caller")
AUTOSAVER = capture.program("exact/autosaver")
ROUNDS = 0.8  # seconds in which the library looks three times whether a picture is due


def rows(path, *more):
    out, _ = support.tool("dump", "--json", "--events", *more, path)
    return [json.loads(line) for line in out.splitlines()]


def counts(found, size):
    """Deaths, and chunks alive at the end, of a size."""
    died = [row for row in found if row["type"] == "death" and row["size"] == size]
    alive = {(row["thread"], row["alloc_time"]) for row in found if row["type"] == "live" and row["size"] == size}
    return died, alive


def both_traces(folder):
    said = capture.capture(folder, [CALLER], "free_depth:3")
    equal(said, "", "what the library said")
    second = folder / "second.pa"
    first, = (path for path in capture.traces(folder) if path != second)
    return first, second


def calls(folder):
    first, second = both_traces(folder)
    for path in (first, second):
        capture.check_trace(path)
    found = rows(first)
    tags = set()
    for size, count in ((1001, 10), (1002, 20), (1003, 30), (1004, 40), (1005, 50)):
        died, alive = counts(found, size)
        equal((len(died), len(alive)), (count // 2, count // 2), f"dead and live chunks of {size} bytes")
        tag, = {row["tag"] for row in died}
        tags.add((size, tag))
    tags = dict(tags)
    check(tags[1001] == tags[1005] == 0 and tags[1002] == tags[1004] != 0 and tags[1003] not in (0, tags[1002]), tags)
    names = {row["name"] for row in found if row.get("kind") == "LIVE"}
    check({"halfway", "dump"} <= names, names)
    old, = counts(found, 1006)[0]
    new = {(row["moved_from"], row["alloc_time"]) for row in found if row["type"] == "live" and row["size"] == 200000}
    equal({(old["moved_to"], old["free_time"])}, new, "the chunk that realloc made")
    for size in (1007, 1008):
        equal(counts(found, size), ([], set()), f"chunks of {size} bytes in the first trace")
    found = rows(second)
    equal(counts(found, 1007), ([], set()), "chunks made between the traces")
    died, alive = counts(found, 1008)
    equal((len(died), len(alive)), (35, 35), "chunks of the second trace")


def places_of_frees(folder):
    first, _ = both_traces(folder)
    found = rows(first, "--nodes")
    callers = {row["number"]: row["caller"] for row in found if row["type"] == "node"}
    died, _ = counts(found, 1005)
    stack, = {row["free_stack"] for row in died}
    depth = 0
    while stack >= 4:
        stack, depth = callers[stack], depth + 1
    equal((depth, stack), (3, 1), "frames of a free, and that there were more")


def autosaves(path):
    """For each picture by set_mprof_autosave, how many chunks of the program's size are in it."""
    number, chunks = None, {}
    for row in rows(path):
        if row["type"] == "block":
            number = row["picture"] if row["kind"] == "LIVE" and row["name"] == "autosave" else None
            if number is not None:
                chunks.setdefault(number, 0)
        elif row["type"] == "live" and row["from"] == "trace" and number is not None:
            chunks[number] += row["size"] == 1009
    return [chunks[number] for number in sorted(chunks)]


def autosave(folder):
    process = capture.start(folder, [AUTOSAVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def do(*commands):
        for command in commands:
            process.stdin.write(f"{command}\n")
            process.stdin.flush()
            equal(process.stdout.readline(), "\n", f"the program's answer to '{command}'")

    def none_more(path, expected, *commands):
        do(*commands)
        time.sleep(ROUNDS)
        equal(autosaves(path), expected, f"chunks in each picture, after {commands}")

    def one_more(path, expected, *commands):
        do(*commands)
        capture.wait_for(lambda: len(autosaves(path)) >= len(expected), f"a picture after {commands}")
        none_more(path, expected)

    do("m 1")
    path = capture.trace(folder)
    none_more(path, [], "m 5000", "a 1000")
    none_more(path, [], "m 600", "m 399")
    one_more(path, [5], "m 1")
    none_more(path, [5], "m 999")
    one_more(path, [5, 7], "m 1")
    do("f 0", "m 500")
    child, = set(capture.traces(folder)) - {path}
    none_more(child, [], "m 450")
    one_more(child, [3], "m 60")
    process.stdin.write("q 0\n")
    process.stdin.flush()
    equal(process.stdout.readline(), "\n", "the parent goes on")
    none_more(path, [5, 7], "m 999", "a 0", "m 5000")
    none_more(path, [5, 7], "a 1000", "m 999")
    one_more(path, [5, 7, 11], "m 1")
    process.stdin.write("q 0\n")
    process.stdin.close()
    equal(process.wait(timeout=capture.TIME_LIMIT), 0, "status")
    equal(process.stderr.read(), "", "what the library said")
    for each in (path, child):
        capture.check_trace(each)


support.main(calls=calls, places_of_frees=places_of_frees, autosave=autosave)
