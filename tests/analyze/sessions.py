#!/usr/bin/env python3
"""Which files an answer is about: names that people could confuse, many traces at once, traces that go away while they are asked."""
import json
import os
import resource
import subprocess

from support import MAKER, SANITIZED, check, equal, main, run_tool, tool


def make(path, chunks, seed, *words):
    subprocess.run([MAKER, "ended", path, str(chunks), str(seed), *words], check=True, stdout=subprocess.DEVNULL)


def allocations(*paths):
    return json.loads(tool("report", "--json", *paths)[0])["totals"]["allocations"]


def names(name):
    """A name that is cleaned for people is the name of another file, perhaps of one that is there."""
    odd, plain = f"{name}/a\tb.pa", f"{name}/a b.pa"
    make(odd, 100, 1)
    make(plain, 300, 2)
    equal(allocations(odd), 100, "chunks of the file with a tab in its name")
    equal(allocations(plain), 300, "chunks of the one with a space")
    for command in ("leaks", "mprof", "excess", "timeline", "flame", "advise"):
        ours, theirs = (tool(command, "--json", path)[0] for path in (odd, plain))
        check(ours != theirs, f"{command}: two different files")
    text = tool("report", odd)[0]
    check("\t" not in text and "a b.pa" in text, "the name is told without the tab")


def copies(name):
    """Of a recording that is given twice, the file that tells more is asked, and that is said once."""
    path, packed = f"{name}/a.pa", f"{name}/packed.pa"
    make(path, 200, 3)
    tool("pack", path, "-o", packed)
    for files in ((path, packed), (packed, path), (path, packed, path)):
        data = json.loads(tool("report", "--json", *files)[0])
        equal([file["path"] for file in data["files"]], [packed], "the file that is asked")
        equal(sum("same recording" in text for text in data["files"][0]["remarks"]), len(files) - 1, "remarks on what was left out")
        equal(data["totals"]["allocations"], 200, "chunks")


def many(name):
    """Hundreds of traces: as many files are open as stay open, and memory does not grow with what each of them takes."""
    first = f"{name}/0.pa"
    make(first, 3000, 4)
    paths = [first]
    for i in range(1, 60 if SANITIZED else 300):
        paths.append(f"{name}/{i}.pa")
        make(paths[-1], 3000, 4 + i, f"later={1000 * i}", f"pid={1000 + i}")
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    done = run_tool("report", "--json", *paths, preexec_fn=few)
    check(done.returncode == 0, f"{len(paths)} traces with 64 descriptors: {done.stderr[-500:]}")
    data = json.loads(done.stdout)
    equal(len(data["files"]), len(paths), "traces")
    equal(data["totals"]["allocations"], sum(file["totals"]["allocations"] for file in data["files"]), "chunks")
    if not SANITIZED:
        small, large = (peak_memory(paths[:count]) for count in (30, 300))
        # Of it, 94 KiB, and half as much while that list grows, are births and deaths for the common peak: of 2 million chunks at most.
        check(large - small < 270 * 220, f"{(large - small) / 270:.0f} KiB for each trace more")
        print(f"{(large - small) / 270:.1f} KiB for each trace more")


def peak_memory(paths):
    """KiB of the tool's largest resident set."""
    with open(os.devnull, "w") as nowhere:
        process = subprocess.Popen([os.environ["PROFALLOC_TOOL"], "report", "--json", *paths], stdout=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
    check(status == 0, f"report of {len(paths)} traces")
    return usage.ru_maxrss


main(names=names, copies=copies, many=many)
