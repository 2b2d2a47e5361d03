#!/usr/bin/env python3
"""The Clang pass, against itself: programs built with it, in every way of telling accesses, must tell the same.

usage: run.py VERSION[:MACHINE] PROGRAM...      each at -O0 to -O3
       run.py VERSION[:MACHINE] --random FIRST N     N programs of random_program.py from that seed on, each at one level

MACHINE is x86_64 or aarch64 if not this one: then the compiler's --target, and the programs are run by qemu-MACHINE.

Each program is built without the pass (its result is what it must compute), with each access told by itself (the plain
way), merged, hoisted and sunk, looking anywhere, and for the map of words; what the pass made must be valid. It is linked
with fake.c, which adds up what arrives for each chunk and checks what the program itself expects. Sums and intervals must
be the same in all ways, and on sinking there must be no more calls.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import random_program

HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("PROFALLOC_SOURCE_DIR", HERE.parents[1]))
BUILD = Path(os.environ["PROFALLOC_BUILD_DIR"])
WRAPPED = ["memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen"]
PLAIN = "no-merge,no-hoist"
WAYS = [PLAIN, "", "no-merge", "no-hoist", "no-sink", "map", "anywhere", "anywhere,no-share"]

# At -O2: how many times as many calls the plain way needs, so that it is seen if nothing is merged or hoisted any more.
LEAST_SAVED = {"loops.c": 1.7, "searches.c": 1.6, "windows.c": 1.2, "vectors.c": 1.5}
# The same for what is not told behind branches.
LEAST_SUNK = {"branches.c": 1.1, "joins.c": 1.8}


class Failure(Exception):
    pass


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return done.returncode, done.stdout


def must(command, **more):
    status, output = run(command, **more)
    if status != 0:
        raise Failure(f"{' '.join(map(str, command))}\n{output}")
    return output


class Harness:
    def __init__(self, version, folder):
        self.version, _, machine = version.partition(":")
        version = self.version
        self.folder = Path(folder)
        self.target = [f"--target={machine}-linux-gnu"] if machine else []
        self.runner = [f"qemu-{machine}", "-L", f"/usr/{machine}-linux-gnu"] if machine else []
        self.plugin = BUILD / "lib/profalloc" / f"profalloc-pass-{version}.so"
        self.fake = self.folder / "fake.o"
        must([f"clang-{version}", *self.target, "-w", "-O2", "-fno-builtin", f"-I{SOURCE}", "-c", HERE / "fake.c", "-o", self.fake])

    def build(self, program, flags, way):
        """The program's path; way is None for one without the pass."""
        compiler = f"clang++-{self.version}" if program.suffix == ".cpp" else f"clang-{self.version}"
        out = self.folder / "program"
        command = [compiler, *self.target, "-w", f"-I{HERE}", *flags, program, self.fake, "-o", out]
        command += [f"-Wl,--wrap={name}" for name in WRAPPED]
        if way is not None:
            command.append(f"-fpass-plugin={self.plugin}")
        must(command, env={**os.environ, "PROFALLOC_PASS_OPTIONS": ",".join(filter(None, ["verify", way]))})
        return out

    def outcome(self, program, flags, way):
        """What it printed: its result, what has to be the same in all ways, and how many calls told it."""
        status, output = run([*self.runner, self.build(program, flags, way)], timeout=1800)
        if way is not None and status != 0:
            raise Failure(f"{program.name} {' '.join(flags)}, options '{way}': status {status}\n{output}")
        lines = output.splitlines()
        result = [line for line in lines if line.startswith("result")]
        calls = [line for line in lines if line.startswith("calls")]
        if not result or not calls:
            raise Failure(f"{program.name} {' '.join(flags)}, options '{way}': status {status}, no result\n{output}")
        return result[0], [line for line in lines if line not in calls], int(calls[0].split()[1])

    def check(self, program, flags, ways=WAYS):
        """How many times as many calls the plain way needs, and the one that leaves groups where they are."""
        result, _, _ = self.outcome(program, flags, None)
        plain, all_calls = None, {}
        for way in ways:
            own, output, all_calls[way] = self.outcome(program, flags, way)
            where = f"{program.name} {' '.join(flags)}, options '{way}'"
            if own != result:
                raise Failure(f"{where}: {own}, without the pass {result}")
            if plain is None:
                plain = output
            elif output != plain:
                lines = [f"  {a}\n  {b}" for a, b in zip(plain, output) if a != b]
                raise Failure(f"{where}: other than the plain way\n" + "\n".join(lines[:8]))
        best = max(1, all_calls[""])
        return all_calls[PLAIN] / best, all_calls.get("no-sink", best) / best


def main():
    version, arguments = sys.argv[1], sys.argv[2:]
    failures = done = 0
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(version, folder)
        todo = []
        if arguments[0] == "--random":
            first, count = int(arguments[1]), int(arguments[2])
            for seed in range(first, first + count):
                program = Path(folder) / f"random_{seed}.c"
                program.write_text(random_program.make(seed))
                flags = [f"-O{(1, 2, 3, 2)[seed % 4]}"] + ["-g"] * (seed % 2)
                todo.append((program, flags, [PLAIN, "", "no-sink", "map", "anywhere"]))
        else:
            for name in arguments:
                first = Path(name).read_text().splitlines()[0]
                more = first.split("flags:")[1].split("*/")[0].split() if "flags:" in first else []
                todo += [(Path(name), [f"-O{level}", *more], WAYS) for level in range(4)]
        for program, flags, ways in todo:
            try:
                saved, sunk = harness.check(program, flags, ways)
                least = LEAST_SAVED.get(program.name, 1) if flags[0] == "-O2" else 1
                if saved < least:
                    raise Failure(f"{program.name} {flags[0]}: the plain way needs only {saved:.1f} times as many calls")
                if sunk < (LEAST_SUNK.get(program.name, 1) if flags[0] == "-O2" else 1):
                    raise Failure(f"{program.name} {flags[0]}: without sinking only {sunk:.2f} times as many calls")
                done += 1
                print(f"{program.name} {' '.join(flags)}: the plain way needs {saved:.1f} times as many calls")
            except Failure as failure:
                failures += 1
                print(failure)
                if os.environ.get("PROFALLOC_KEEP"):
                    (Path(os.environ["PROFALLOC_KEEP"]) / program.name).write_text(program.read_text())
    print(f"clang {version}: {done} builds tell the same in all ways, {failures} do not")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
