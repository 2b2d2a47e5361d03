#!/usr/bin/env python3
"""Counts the instructions of the hot functions and compares them with the checked-in table, so that an added load or
branch is a visible diff.

    tests/checks/golden.py [--update]

"fast" is the path with no conditional branch taken, from the entry to the first return, through tail jumps to other
functions: the compilers lay the expected path out that way. "whole" is the function itself, both sides of its branches,
without what was moved to cold sections. The tables are exact for one compiler release; for any other, only the bounds below hold.
"""
import os
import re
import subprocess
import sys
from collections import Counter
from difflib import unified_diff
from pathlib import Path

ROOT = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2]))
LIBRARY = os.environ.get("PROFALLOC_LIB", str(ROOT / "build/libprofalloc.so"))
# Functions that exist only inline, each in a function of its own, with the library's flags (tests/checks/golden/probe.c).
PROBE = str(Path(LIBRARY).parent / "tests/golden_probe.so")
TABLES = ROOT / "tests/checks/golden"

# Function -> the most that its fast path may have, on any machine and compiler.
BOUNDS = {
    "malloc": {"total": 60, "loads": 20, "stores": 12, "branches": 12, "calls": 0, "atomics": 0},
    "free": {"total": 60, "loads": 20, "stores": 12, "branches": 12, "calls": 0, "atomics": 0},
    # The two when everything is recorded. (A call: clang has a rare case of each in line. Loads: x86-64 takes back each
    # register that it saved by one of its own, where arm64 takes two at a time. Five instructions of each keep a signal
    # handler that allocates or frees away from the counters: meta/thread.h; clang has a rare case of that in line, too. Stores: as
    # loads; x86-64 has half as many registers, and keeps three values more on the stack.)
    "pfa_slow_malloc": {"total": 110, "loads": 30, "stores": 24, "branches": 12, "calls": 3, "atomics": 0},
    "pfa_slow_free": {"total": 185, "loads": 56, "stores": 34, "branches": 22, "calls": 1, "atomics": 0},
    "probe_access": {"total": 6, "loads": 0, "stores": 0, "branches": 2, "calls": 0, "atomics": 0},
    "probe_access_at": {"total": 55, "loads": 12, "stores": 6, "branches": 8, "calls": 0, "atomics": 0},
    "probe_lookup": {"total": 80, "loads": 20, "stores": 8, "branches": 12, "calls": 0, "atomics": 0},
}
KINDS = ("total", "loads", "stores", "branches", "calls", "atomics")
# Where the tables must exist: what the figures of the README are measured with.
REFERENCE = "aarch64-gcc"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# --- one instruction -> its kinds ---

def x86_operands(text):
    """AT&T operands; commas inside parentheses do not separate."""
    return re.findall(r"(?:[^,(]|\([^)]*\))+", text)


def x86_is_memory(operand):
    return "(" in operand or "%fs:" in operand or "%gs:" in operand


def x86_kinds(mnemonic, text):
    if mnemonic.startswith("j"):
        return ["branches"]
    if mnemonic.startswith("call"):
        return ["calls"]
    if mnemonic.startswith("push"):
        return ["stores"]
    if mnemonic.startswith(("pop", "leave")):
        return ["loads"]
    if mnemonic.startswith(("lea", "ret", "nop", "endbr", "prefetch")):
        return []
    operands = x86_operands(text)
    memory = [x86_is_memory(operand) for operand in operands]
    kinds = []
    if any(memory[:-1]):
        kinds.append("loads")
    if memory and memory[-1]:
        reads_only = mnemonic.startswith(("cmp", "test", "bt", "mul", "div", "imul", "idiv")) and "xchg" not in mnemonic
        writes_only = mnemonic.startswith(("mov", "set", "vmov"))
        kinds += [] if writes_only or "loads" in kinds else ["loads"]
        kinds += [] if reads_only else ["stores"]
    # xchg with memory is locked without saying so.
    if mnemonic == "lock" or mnemonic == "mfence" or (mnemonic.startswith("xchg") and any(memory)):
        kinds.append("atomics")
    return kinds


def arm_kinds(mnemonic, text):
    if mnemonic.startswith("b.") or mnemonic in ("b", "br", "cbz", "cbnz", "tbz", "tbnz"):
        return ["branches"]
    if mnemonic in ("bl", "blr"):
        return ["calls", "atomics"] if "__aarch64_" in text else ["calls"]
    if re.match(r"(cas|swp|ld(add|clr|eor|set|smax|smin|umax|umin)|ldax|ldx|stlx|stx|dmb|dsb)", mnemonic):
        return ["atomics"]
    if mnemonic.startswith(("ldr", "ldp", "ldur", "ldar", "ldapr", "ldtr", "ldnp")):
        return ["loads"]
    if mnemonic.startswith(("str", "stp", "stur", "stlr", "sttr", "stnp")):
        return ["stores"]
    return []


def ends_path(mnemonic):
    return mnemonic.startswith("ret") or mnemonic in ("ud2", "hlt", "brk", "udf", "br")


def is_jump(mnemonic):
    return mnemonic in ("jmp", "jmpq", "b")


# --- the functions in a library ---

def functions(library):
    """Name -> (start, end); the libraries in the build folder keep their symbol table."""
    found = {}
    for line in run("readelf", "-sW", library).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[3] == "FUNC" and fields[6] != "UND" and int(fields[2], 0):
            start = int(fields[1], 16)
            found[fields[7].split("@")[0]] = (start, start + int(fields[2], 0))
    return found


def disassemble(library, start, end):
    """[(address, mnemonic, operands)]; a lock prefix is an instruction's first word and stays its mnemonic."""
    text = run("objdump", "-d", "--no-show-raw-insn", f"--start-address={start}", f"--stop-address={end}", library)
    lines = re.findall(r"^\s*([0-9a-f]+):\t(?:(?:notrack|bnd|rep|data16|cs) )*(\S+)[ \t]*([^#\n]*)", text, re.M)
    return [(int(address, 16), mnemonic, operands.strip()) for address, mnemonic, operands in lines]


def fast_path(library, known, name):
    """The instructions from the entry of a function to the return, taking no conditional branch and every other."""
    at, path = known[name][0], {}
    code = {}
    while at is not None and at not in path:
        if at not in code:
            home = next((limits for limits in known.values() if limits[0] <= at < limits[1]), None)
            if home is None:
                break  # a jump to another library
            listing = disassemble(library, *home)
            following = [address for address, _, _ in listing[1:]] + [None]
            code.update({row[0]: (row, after) for row, after in zip(listing, following)})
        path[at], following = code[at]
        _, mnemonic, operands = path[at]
        if ends_path(mnemonic):
            break
        if is_jump(mnemonic):
            target = re.match(r"([0-9a-f]+)\b", operands)
            at = int(target.group(1), 16) if target else None
        else:
            at = following
    return path.values()


def count(code, kinds_of):
    counts = Counter(total=0)
    for _, mnemonic, operands in code:
        if not mnemonic.startswith("nop"):
            counts["total"] += 1
            counts.update(kinds_of(mnemonic, operands))
    return counts


def measure(machine):
    kinds_of = {"x86_64": x86_kinds, "aarch64": arm_kinds}[machine]
    rows = {}
    for name in BOUNDS:
        library = PROBE if name.startswith("probe_") else LIBRARY
        known = functions(library)
        if name not in known:
            sys.exit(f"{library} has no function {name}: renamed, or the symbols stripped?")
        rows[name, "fast"] = count(fast_path(library, known, name), kinds_of)
        rows[name, "whole"] = count(disassemble(library, *known[name]), kinds_of)
    return rows


def machine_and_compiler():
    header = run("readelf", "-h", LIBRARY)
    machine = "x86_64" if "X86-64" in header else "aarch64" if "AArch64" in header else sys.exit("unknown machine")
    # clang's libraries name GCC too, for the start files.
    comment = run("readelf", "-p", ".comment", LIBRARY)
    for compiler, pattern in (("clang", r"clang version (\d+)"), ("gcc", r"GCC: \(.*\) (\d+)")):
        if match := re.search(pattern, comment):
            return machine, compiler, match.group(1)
    sys.exit(f"no compiler named in the .comment section of {LIBRARY}")


# --- the table ---

def table(heading, rows):
    lines = [heading, f"{'function':<24}{'path':<6}" + "".join(f"{kind:>10}" for kind in KINDS)]
    for (name, part), counts in rows.items():
        lines.append(f"{name:<24}{part:<6}" + "".join(f"{counts[kind]:>10}" for kind in KINDS))
    return [line + "\n" for line in lines]


def over_bounds(rows, compiler):
    # Clang lets an access of no concern jump to the function's only return: without a jump it is one of concern.
    bounds = {**BOUNDS, "probe_access": BOUNDS["probe_access_at"]} if compiler == "clang" else BOUNDS
    return [f"{name}: {counts[kind]} {kind} on the fast path, at most {bound} allowed"
            for (name, part), counts in rows.items() if part == "fast"
            for kind, bound in bounds[name].items() if counts[kind] > bound]


def compare(path, heading, measured):
    golden = path.read_text().splitlines(keepends=True)
    if golden[0].strip() != heading:
        print(f"{path.name} is of another compiler ({golden[0].strip()}; here {heading}): only the bounds are checked")
        return []
    return list(unified_diff(golden, measured, f"golden/{path.name}", "this build"))


def main():
    machine, compiler, release = machine_and_compiler()
    heading = f"# {machine} {compiler} {release}"
    path = TABLES / f"{machine}-{compiler}.txt"
    rows = measure(machine)
    measured = table(heading, rows)
    print("".join(measured), end="")
    if "--update" in sys.argv[1:]:
        TABLES.mkdir(exist_ok=True)
        path.write_text("".join(measured))
        print(f"wrote {path}")

    problems = over_bounds(rows, compiler)
    if path.exists():
        problems += compare(path, heading, measured)
    elif path.stem == REFERENCE:
        problems.append(f"{path} is missing; if the figures above are right, run this with --update and commit it")
    for problem in problems:
        print(problem.rstrip())
    sys.exit(bool(problems))


main()
