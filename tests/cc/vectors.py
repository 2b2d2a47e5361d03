#!/usr/bin/env python3
"""No access is lost to vectors where flags instrument: whatever is asked of the optimiser and of the machine, here or foreign,
each load and store that is left has its callback, of its size."""
import collections
import re
import shutil
import sys

from support import check, equal
from wrapper import Folder, cc, unders

# Loops and rows that compilers make vectors of: plain, two and three lanes apart, under a condition, by an index.
SOURCE = """
typedef unsigned long count_t;
void plain(int *restrict to, const int *restrict from, count_t n)
{ for (count_t i = 0; i < n; i++) to[i] = from[i] * 3; }
int pairs(const int *a, count_t n)
{ int s = 0; for (count_t i = 0; i < n; i++) s += a[2 * i] * a[2 * i + 1]; return s; }
void lanes(unsigned char *restrict to, const unsigned char *restrict from, count_t n)
{ for (count_t i = 0; i < n; i++) { to[3 * i] = from[3 * i + 2]; to[3 * i + 1] = from[3 * i + 1]; to[3 * i + 2] = from[3 * i]; } }
void some(int *restrict to, const int *restrict from, const int *restrict which, count_t n)
{ for (count_t i = 0; i < n; i++) if (which[i]) to[i] = from[i] + 1; }
void gather(int *restrict to, const int *restrict from, const int *restrict at, count_t n)
{ for (count_t i = 0; i < n; i++) to[i] = from[at[i]]; }
void row(float *restrict to, const float *restrict from, const long *restrict at)
{ to[0] = from[at[0]] + 1; to[1] = from[at[1]] + 1; to[2] = from[at[2]] + 1; to[3] = from[at[3]] + 1; }
#if defined(__clang__) && !defined(__AVX512F__) /* there, what is asked for is gathered, and not seen */
int asked(const int *a, count_t n)
{
    int s = 0;
    _Pragma("clang loop vectorize(enable)") for (count_t i = 0; i < n; i++) s += a[2 * i] * a[2 * i + 1];
#ifndef __OPTIMIZE_SIZE__ /* which would have no second loop for the rest, but masks */
    _Pragma("clang loop vectorize(enable)") for (count_t i = 0; i < n; i++) s += a[i];
#endif
    return s;
}
#endif
"""
FUNCTIONS = 6
LEVELS = ("-O2", "-O3", "-Os")
X86 = ((), ("-mavx2",), ("-march=haswell",), ("-march=skylake-avx512",))
ARM = ((), ("-march=armv8.2-a+sve",))
BITS = {"float": 32, "double": 64, "ptr": 64}


def size_of(kind):
    """Bytes of a type of LLVM's; vectors without a fixed length are of none."""
    vector = re.fullmatch(r"<(\d+) x (\S+)>", kind)
    if vector:
        return int(vector[1]) * size_of(vector[2])
    return (BITS.get(kind) or (64 if kind.endswith("*") else int(kind[1:]) if re.fullmatch(r"i\d+", kind) else 0)) // 8


def of_functions(text):
    """(name, lines) of each function of a module."""
    return [(name, body.splitlines()) for name, body in re.findall(r"^define [^\n]*@(\w+)\([^\n]*\{\n(.*?)^\}", text, re.M | re.S)]


def clang_module(text, what):
    found = 0
    for name, lines in of_functions(text):
        accesses, told = collections.Counter(), collections.Counter()
        for line in lines:
            access = re.search(r"(load|store) (?:volatile )?(<[^>]*>|\S+?)[, ]", line)
            callback = re.search(r"@__tsan_(?:unaligned_)?(read|write)(\d+)\(", line)
            check("@llvm.masked." not in line and "vscale" not in line, f"{what}, {name}: {line.strip()}")
            if callback:
                told[callback[1], int(callback[2])] += 1
            elif access:
                accesses["read" if access[1] == "load" else "write", size_of(access[2])] += 1
        equal(told, accesses, f"{what}, {name}: callbacks and accesses")
        found += bool(accesses)
    check(found >= FUNCTIONS, f"{what}: {found} functions with accesses")


def gcc_assembly(text, what):
    """It instruments before it makes vectors, and makes none of what is instrumented."""
    callbacks = re.findall(r"\b__tsan_(?:unaligned_)?(?:read|write)(\d+)\b", text)
    check(len(callbacks) >= 2 * FUNCTIONS, f"{what}: {len(callbacks)} callbacks")
    vectors = re.findall(r"^.*(?:%[xyz]mm\d+.*\(%r(?!sp)|\(%r(?!sp).*%[xyz]mm\d+|\b[qvz]\d+\b.*\[(?!sp)).*$", text, re.M)
    wide = [size for size in callbacks if size == "16"]
    vectors = [line for line in vectors if not re.search(r"\bv?(movss|addss)\b", line)]
    check(len(vectors) <= len(wide), f"{what}: {len(wide)} callbacks for {vectors}")


def clang(folder):
    for under in [under for under in unders() if under.clang and under.pass_wish == "off"]:
        for target, machines in (("x86_64", X86), ("aarch64", ARM)):
            for flags in [(level, *machine) for level in LEVELS for machine in machines]:
                made = folder.new() / "made.ll"
                (made.parent / "x.c").write_text(SOURCE)
                cc(under, f"--target={target}-linux-gnu", *flags, "-w", "-S", "-emit-llvm", made.parent / "x.c", "-o", made)
                clang_module(made.read_text(), f"{under} for {target} {' '.join(flags)}")


def gcc(folder):
    """The native one, and one for the other machine where it is installed."""
    for target, machines in (("x86_64", X86), ("aarch64", ARM)):
        name = f"{target}-linux-gnu-gcc"
        if shutil.which(name) is None:
            print(f"not tried: {name} is not installed")
            continue
        for flags in [(level, *machine) for level in LEVELS for machine in machines]:
            made = folder.new() / "made.s"
            (made.parent / "x.c").write_text(SOURCE)
            cc(None, *flags, "-w", "-S", made.parent / "x.c", "-o", made, variables={"PROFALLOC_CC": name})
            gcc_assembly(made.read_text(), f"{name} {' '.join(flags)}")


def main():
    with Folder() as folder:
        clang(folder)
        gcc(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
