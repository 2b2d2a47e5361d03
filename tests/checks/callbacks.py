#!/usr/bin/env python3
"""libprofalloc_access.a has what compilers and the linker will ask it for, and asks for little itself.

Callbacks: every __tsan_* name inside the installed compilers (GCC's cc1, Clang's libLLVM) is defined.
Wraps: hooks/access/wraps.def, the archive, profalloc-wrap.txt, profalloc-nobuiltin.txt and the unit tests name the same functions.
Undefined: nothing that is wrapped, except as __real_*; nothing of libatomic.
Hidden: all but what the library looks for.
"""
import glob
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("PROFALLOC_BUILD_DIR", ROOT / "build"))
ARCHIVE = BUILD / "libprofalloc_access.a"

NAME = re.compile(rb"(?<![A-Za-z0-9_])(__tsan_[a-z0-9_]*|__sanitizer_cov_(?:load|store)[0-9]+)(?![A-Za-z0-9_])")
SIZES = ("1", "2", "4", "8", "16")
ATOMICS = [f"__tsan_atomic{bits}_{operation}" for bits in (8, 16, 32, 64, 128) for operation in (
    "load", "store", "exchange", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor", "fetch_nand",
    "compare_exchange_strong", "compare_exchange_weak", "compare_exchange_val")]
# Clang puts names together from these beginnings: what they must lead to.
BEGINNINGS = {"__tsan_": [], "__tsan_atomic": ATOMICS}

VISIBLE = {"profalloc_instrumented"}
# Besides __real_* and the archive's own parts: the library, the locale's table of lower case, and what libgcc or compiler-rt
# have for atomics on arm64.
MAY_ASK_FOR = re.compile(r"profalloc_access_(attach|detach|thread)|_GLOBAL_OFFSET_TABLE_"
                         r"|__ctype_tolower_loc|tolower|sched_yield|__aarch64_(cas|swp|ld(add|clr|eor|set))\d+_(relax|acq|rel|acq_rel)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(*options):
    """(name, type letter) of the archive's symbols."""
    for line in output("nm", "-P", *options, str(ARCHIVE)).splitlines():
        fields = line.split()
        if len(fields) >= 2 and len(fields[1]) == 1:
            yield fields[0], fields[1]


def compilers():
    """The files that names are looked for in."""
    cc1 = output("gcc", "-print-prog-name=cc1").strip()
    if not os.path.exists(cc1):
        sys.exit("GCC's cc1 is not there: install the package gcc")
    yield Path(cc1)
    libraries = {os.path.realpath(path) for pattern in ("/usr/lib/*/libLLVM-*.so.*", "/usr/lib/llvm-*/lib/libLLVM*.so*")
                 for path in glob.glob(pattern)}
    if not libraries:
        sys.exit("no libLLVM is there: install the package clang")
    yield from map(Path, sorted(libraries))


def missing(name, defined):
    """What the archive lacks of what a name in a compiler stands for."""
    if name in BEGINNINGS:
        return [full for full in BEGINNINGS[name] if full not in defined]
    if name in defined:
        return []
    sized = [name + size for size in SIZES]
    return [full for full in sized if full not in defined] if any(full in defined for full in sized) else [name]


def check_callbacks(defined):
    problems = [f"{name} is not defined" for name in ATOMICS if name not in defined]
    for compiler in compilers():
        names = {match.decode() for match in NAME.findall(compiler.read_bytes())}
        print(f"{compiler.name}: {len(names)} names")
        if len(names) < 20:
            problems.append(f"{compiler} does not look like a compiler that knows ThreadSanitizer")
        problems += [f"{compiler.name} may call {full}, which is not defined"
                     for name in sorted(names) for full in missing(name, defined)]
    return problems


def differences(what, found, wanted):
    return ([f"{what} lacks {name}" for name in sorted(wanted - found)]
            + [f"{what} has {name}, which wraps.def does not name" for name in sorted(found - wanted)])


def check_wraps(defined):
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "hooks/access/wraps.def").read_text(), flags=re.S)
    rows = re.findall(r"^PFA_WRAP((?:_MEMORY)?(?:_BUILTIN)?|_WAITS)\((\w+)", text, re.M)
    wanted = {name for _, name in rows}
    builtins = {name for kind, name in rows if kind.endswith("_BUILTIN")}
    if len(rows) != len(wanted) or not builtins:
        return ["wraps.def names a function twice, or none"]
    tests = "".join(path.read_text() for path in sorted((ROOT / "tests/unit").glob("test_callbacks_*.c")))
    # Fortified functions are called through macros there, that put the name together.
    called = {name for name in wanted
              if re.search(rf"\b{name}\b", tests) or re.search(rf"\bCHK[23]\({name[2:-4]}\)", tests)}
    print(f"{len(wanted)} wrapped functions, {len(builtins)} of them known to GCC")
    return (differences("the archive", {name[7:] for name in defined if name.startswith("__wrap_")}, wanted)
            + differences("profalloc-wrap.txt", set(lines("profalloc-wrap.txt", "--wrap=")), wanted)
            + differences("profalloc-nobuiltin.txt", set(lines("profalloc-nobuiltin.txt", "-fno-builtin-")), builtins)
            + differences("what unit tests call", called, wanted))


def lines(name, prefix):
    for line in (BUILD / name).read_text().splitlines():
        if not line.startswith(prefix):
            sys.exit(f"{name}: unexpected line {line!r}")
        yield line[len(prefix):]


def check_undefined(defined):
    wrapped = {name[7:] for name in defined if name.startswith("__wrap_")}
    asked = {name for name, kind in symbols("--undefined-only") if kind not in "vw"}  # weak ones need not be there
    real = {name for name in asked if name.startswith("__real_")}
    # Variadic functions hand their arguments on as a list.
    listed = {name for name in wrapped if re.sub("^(__)?", r"\g<0>v", name, count=1) in wrapped}
    return ([f"it calls {name}, which it does not wrap" for name in sorted(real) if name[7:] not in wrapped]
            + [f"it wraps {name} and never calls it" for name in sorted(wrapped - listed) if f"__real_{name}" not in real]
            + [f"it asks for {name}" for name in sorted(asked - real - set(defined)) if not MAY_ASK_FOR.fullmatch(name)])


def check_hidden():
    table = output("readelf", "-sW", str(ARCHIVE))
    visible = {fields[7] for fields in map(str.split, table.splitlines())
               if len(fields) == 8 and fields[4] in ("GLOBAL", "WEAK") and fields[5] == "DEFAULT" and fields[6] != "UND"}
    return ([f"{name} is visible outside the module" for name in sorted(visible - VISIBLE)]
            + [f"{name} is hidden" for name in sorted(VISIBLE - visible)])


def main():
    defined = {name for name, _ in symbols("--defined-only", "-g")}
    problems = check_callbacks(defined) + check_wraps(defined) + check_undefined(defined) + check_hidden()
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


main()
