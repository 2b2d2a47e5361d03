#!/usr/bin/env python3
"""Stacks as the texts of report, leaks, diff and gate tell them: what repeats is folded and what is long is cut, against a
reference that has the whole stacks of --json."""
import json
import os
import random
import re
import subprocess

import pictures
import support
from support import check, equal, report, tool

LINES, FIRST, LAST = 24, 16, 7
LETTERS = "abcdefghijklmnopqrstuvwxyz"

PROGRAM = "#include <stdlib.h>\nvoid *volatile sink;\nstatic void step(const char *path, size_t size);\n" + "".join(
    f"void {letter}{letter}(const char *path, size_t size)\n{{\n    step(path, size);\n}}\n" for letter in LETTERS) + """
static void (*const all[])(const char *, size_t) = {""" + ", ".join(letter * 2 for letter in LETTERS) + """};
static inline __attribute__((always_inline)) void step(const char *path, size_t size)
{
    if (*path == 0) {
        sink = malloc(size);
    } else {
        all[*path - 'a'](path + 1, size);
    }
}
int main(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        step(words[i], 1000 + (size_t)i);
    }
    return 0;
}
"""


def record(folder, paths):
    """The path from main to malloc of each chunk."""
    (folder / "paths.c").write_text(PROGRAM)
    subprocess.run([os.environ["CC"], "-O1", "-fno-optimize-sibling-calls", "-fno-ipa-icf", "-g", "-o", folder / "paths", folder / "paths.c"], check=True)
    tool("run", "--depth", 256, "-o", folder / "t.pa", "--", folder / "paths", *paths)
    return folder / "t.pa"


def expected(stack):
    """The lines of a stack: names and repeats, or how many frames are left out."""
    lines = [f"{name} (x{times})" if times > 1 else name for name, times in pictures.fold([f["function"] for f in stack])]
    if len(lines) <= LINES:
        return lines
    left = sum(int(re.search(r" \(x(\d+)\)$", line)[1]) if "(x" in line else 1 for line in lines[FIRST:-LAST])
    return lines[:FIRST] + [f"... {left} more frames; --json has all"] + lines[-LAST:]


def told(text):
    """The stacks in a text, as lists of lines without places."""
    stacks = []
    for line in text.splitlines():
        found = re.match(r" +(at|by) (.*?)(  .*|)$| +(\.\.\. \d+ more.*)", line)
        if found and found[1] == "at":
            stacks.append([])
        if found:
            stacks[-1].append(found[2] or found[4])
    return stacks


def random_path(dice):
    path = ""
    for _ in range(dice.randrange(0, 7)):
        path += "".join(dice.choice(LETTERS) for _ in range(dice.choice((1, 1, 2, 3, 10, 12)))) * dice.choice((1, 1, 2, 3, 4, 9))
    return path[:200]


def against_json(folder):
    dice = random.Random(11)
    paths = [random_path(dice) for _ in range(60)] + ["a" * 200, "abc" * 60, LETTERS[:24] * 4, LETTERS[:18], LETTERS[:20]]
    trace = record(folder, paths)
    stacks = [p["stack"] for p in report(trace)["points"]]
    check(max(map(len, stacks)) > 200, "frames of the longest")
    text = told(tool("report", "--top", 1000, "--sort", "bytes", trace)[0])
    equal(sorted(text), sorted(map(expected, stacks)), "stacks of report")
    check(any("more frames" in str(s) for s in text) and any("(x4)" in str(s) for s in text), "some are cut, some are folded")
    check(max(map(len, text)) == LINES, f"lines of the longest: {max(map(len, text))}")
    leaks = told(tool("leaks", "--top", 1000, trace)[0])
    equal(sorted(leaks), sorted(map(expected, stacks)), "stacks of leaks")


def once(folder):
    """A point behind several limits of a gate has its stack once."""
    base = record(folder, ["ab"]).rename(folder / "base.pa")
    trace = record(folder, ["ab", "x" * 100, "y" * 50])
    words = ("--max-bytes=0", "--max-live=0", "--max-count=0", base, trace)
    out = tool("gate", *words, status=3)[0]
    limits = json.loads(tool("gate", "--json", *words, status=3)[0])["limits"]
    equal([len(limit["points"]) for limit in limits], [2, 2, 2], "points behind limits")
    equal(len(told(out)), 2, f"stacks in\n{out}\n")
    equal(re.findall(r"\n      (as #.*)", out), [f"as #{i} of {limits[0]['name']}" for i in (1, 2)] * 2, "those that were told")
    equal(len(re.findall(r"\n  #[12]  step \(paths\.c:\d+\): ", out)), 6, "sentences of points")



support.main(against_json=against_json, once=once)
