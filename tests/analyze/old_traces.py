#!/usr/bin/env python3
"""Traces of version 1, kept as they were recorded, give the answers that the tool of their time gave.

    tests/analyze/old_traces.py [--update]

tests/analyze/fixtures has the traces (README.md there) and answers.json.xz: of each trace, what report, excess and leaks said, and
a digest of its chunks. An answer may say more than it did then; what it said, it still says. --update is for a tool of that
time alone.
"""
import hashlib
import json
import lzma
import math
import os
import shutil
import sys
from pathlib import Path

import support
from support import check, tool

FIXTURES = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2])) / "tests/analyze/fixtures"
TRACES = ("plain", "told", "sampled", "killed", "killed_told")
COMMANDS = (("report", "--json"), ("excess", "--json"), ("leaks", "--json"))
CHUNK_KEYS = ("type", "size", "weight", "stack", "thread", "tag", "type_id", "flags", "moved_from", "alloc_time", "allocated",
              "free_time", "freed", "free_thread", "free_stack", "moved_to", "reads", "writes", "shared", "low", "high",
              "first_time", "last_time", "from")
# Where the trace lies, and what says the same in another form now.
CHANGED = ("path", "complete")
# Those that have no names of their own are not asked for what depends on the files of this machine.
NAMELESS = ("killed", "killed_told")
NUMBERS = ("files", "totals", "live", "peak", "group_ns", "scores")


def lay_out(folder, name):
    """The trace as it lay there, with its live table if it has one."""
    path = folder / f"{name}.pa"
    shutil.copyfile(FIXTURES / f"{name}.pa", path)
    packed = FIXTURES / f"{name}.pa.live.xz"
    if packed.exists():
        Path(f"{path}.live").write_bytes(lzma.decompress(packed.read_bytes()))
    return path


def digest_of(lines):
    chunks = [json.dumps([line.get(key) for key in CHUNK_KEYS]) for line in lines if line["type"] in ("death", "live")]
    return {"chunks": len(chunks), "digest": hashlib.sha256("\n".join(chunks).encode()).hexdigest()}


def answers_of(path):
    answers = {command[0]: json.loads(tool(*command, path, status=None)[0]) for command in COMMANDS}
    if path.stem in NAMELESS:
        answers = {"report": {key: answers["report"][key] for key in NUMBERS if key in answers["report"]}}
    answers["dump"] = digest_of([json.loads(line) for line in tool("dump", "--json", "--events", path)[0].splitlines()])
    return answers


def compare(ours, then, where):
    if isinstance(then, dict):
        for key in then:
            check(key in ours, f"{where}: {key} is gone")
            if key not in CHANGED:
                compare(ours[key], then[key], f"{where}.{key}")
    elif isinstance(then, list):
        check(isinstance(ours, list) and len(ours) == len(then), f"{where}: {ours}, was {then}")
        for i, (one, other) in enumerate(zip(ours, then)):
            compare(one, other, f"{where}[{i}]")
    elif isinstance(then, float) and isinstance(ours, (int, float)):
        check(math.isclose(ours, then, rel_tol=1e-9, abs_tol=1e-12), f"{where}: {ours}, was {then}")
    else:
        check(ours == then, f"{where}: {ours}, was {then}")


def main():
    stored = FIXTURES / "answers.json.xz"
    with support.folder() as folder:
        answers = {name: answers_of(lay_out(Path(folder), name)) for name in TRACES}
    if sys.argv[1:] == ["--update"]:
        stored.write_bytes(lzma.compress(json.dumps(answers, indent=1).encode(), preset=9))
        return
    then = json.loads(lzma.decompress(stored.read_bytes()))
    check(set(then) == set(TRACES), "each trace has its answers")
    check(all(then[name]["dump"]["chunks"] > 100 for name in TRACES), "each trace has chunks")
    for name in TRACES:
        compare(answers[name], then[name], name)


if __name__ == "__main__":
    main()
