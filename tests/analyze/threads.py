#!/usr/bin/env python3
"""Answers are the same bytes with 1, 2, 3 and 16 threads: of traces whose blocks take several turns of a walk, of live tables that are read in
parts, of sampled chunks, whose sums are no whole numbers, and by keys and expressions that need names."""
import subprocess

from support import MAKER, SANITIZED, check, main, run_tool

THREADS = (1, 2, 3, 16)
CHUNKS = 150_000 if SANITIZED else 550_000
# name: form, chunks, seed, words
MADE = {
    "plain": ("many", CHUNKS, 1, "points=3000"), "accesses": ("many", CHUNKS, 2, "points=500", "accesses"),
    "sampled": ("many", CHUNKS, 3, "points=800", "sampled"), "killed": ("killed", 3000 if SANITIZED else 9000, 4, "accesses", "folds=50"),
    "table": ("killed", CHUNKS, 5, "alive", "dense"),
}
COMMANDS = [["report", "--json"], ["report"], ["report", "--json", "--by", "function"], ["advise", "--json"], ["leaks", "--json"],
            ["excess", "--json", "--min-share", "0"], ["mprof", "--json"], ["timeline", "--json", "--by", "function"], ["flame", "--json", "--metric", "peak"],
            ["report", "--json", "--where", "lifetime > 1us and size > 100 or function = m*", "--sort", "severity"], ["leaks", "--json", "--where", "severity >= 6"]]


def answers(folder, name):
    form, chunks, seed, *words = MADE[name]
    path = folder / "t.pa"
    subprocess.run([MAKER, form, path, str(chunks), str(seed), *words], check=True, stdout=subprocess.DEVNULL)
    for command in COMMANDS:
        told = {}
        for threads in THREADS:
            done = run_tool(*command, "--threads", threads, path)
            check(done.returncode == 0, f"{name}: {command} with {threads} threads: status {done.returncode}\n{done.stderr[-1000:]}")
            told[threads] = (done.stdout, done.stderr)
        check(len(told[1][0]) > 200, f"{name}: {command} tells something")
        for threads in THREADS[1:]:
            check(told[threads] == told[1], f"{name}: {command} with {threads} threads is another answer than with 1")


def one_without_accesses(folder):
    """The same stacks in a trace that does not tell accesses and then in one that does: what of them is seen is found out before threads ask."""
    paths = [folder / "a.pa", folder / "b.pa"]
    for path, words in zip(paths, (["pid=100"], ["accesses", "told", "pid=101"])):
        subprocess.run([MAKER, "many", path, str(CHUNKS // 2), "1", "points=3000", *words], check=True, stdout=subprocess.DEVNULL)
    (folder / "suppressions").write_text("leak:no_such_function\n")
    for command in (["report", "--json"], ["leaks", "--json", "--suppressions", folder / "suppressions"]):
        told = {(done.returncode, done.stdout) for done in (run_tool(*command, "--threads", n, *paths) for n in (1, 16, 16, 16))}
        check(len(told) == 1 and next(iter(told))[0] == 0, f"{command}: {len(told)} answers")


def comparisons(folder):
    """diff and gate take the option, too."""
    paths = [folder / "a.pa", folder / "b.pa"]
    for seed, path in enumerate(paths):
        subprocess.run([MAKER, "many", path, str(CHUNKS // 2), str(seed), "points=300"], check=True, stdout=subprocess.DEVNULL)
    for command in (["diff", "--json"], ["gate", "--json", "--max-peak=1%"]):
        told = {(done.returncode, done.stdout, done.stderr) for done in (run_tool(*command, "--threads", n, *paths) for n in THREADS)}
        check(len(told) == 1 and len(next(iter(told))[1]) > 200, f"{command}: {len(told)} answers")


def refused(folder):
    for wrong in ("0", "-1", "65", "2.5", "many", ""):
        done = run_tool("report", "--threads", wrong, folder / "none.pa")
        check(done.returncode == 2 and "--threads takes a number from 1 to 64" in done.stderr, f"--threads {wrong!r}: {done.stderr}")


main(**{name: lambda folder, name=name: answers(folder, name) for name in MADE}, one_without_accesses=one_without_accesses, comparisons=comparisons, refused=refused)
