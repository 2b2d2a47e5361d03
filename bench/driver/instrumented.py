"""Builds of LevelDB and memcached with and without instrumentation, and the ways in which each is run.

A build is a compiler and what is done to the program; a variant is a build that is run in some way. Instrumented builds
are made by build/profalloc-cc and build/profalloc-c++. Those with empty callbacks are compiled by the same and linked by
the compiler underneath, so that their objects are the very same.
"""
import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess

from .process import BenchFailure, base_environment
from .profilers import need

OPTIMISED = "-O2 -g -DNDEBUG"
BUILD_SECONDS = 900
CLANGS = (19, 18, 17, 16, 15, 14)
INSTRUMENTED = b"profalloc_instrumented"
SAMPLE = {"full": "1", "sampled": "512K"}
SHARED_MEMORY = pathlib.Path("/dev/shm")

# Where a program's code happens to lie makes it some percent faster or slower: moved by one line of the cache, LevelDB with
# empty callbacks takes 1.3 % longer. So each build is linked several times, its text each time this much further on (four
# lines of the cache and a quarter), and each round takes the next. What a linker puts before all .text stays where it is:
# functions that are marked as hot or cold.
LAYOUTS = 8
LAYOUT_STEP = 272
LAYOUT_SLACK = 64  # the largest alignment of a program's own text
PAGE = 4096

# An executable that compiles with instrumentation and links with callbacks that return at once.
EMPTY_COMPILER = """#!/bin/sh
for word; do
    case $word in
        -c | -E | -S) exec "{wrapper}" "$@" ;;
    esac
done
exec "{compiler}" "$@" "{callbacks}"
"""


@dataclasses.dataclass(frozen=True)
class Compiler:
    name: str  # gcc or clang, as rows are labelled
    c: str
    cxx: str

    def settings(self, use_pass):
        return {"PROFALLOC_CC": self.c, "PROFALLOC_CXX": self.cxx, "PROFALLOC_PASS": "on" if use_pass else "off"}


@dataclasses.dataclass(frozen=True)
class Build:
    compiler: Compiler
    how: str  # plain, empty, flags or pass

    @property
    def name(self):
        return f"{self.how}-{self.compiler.name}"

    @property
    def instrumented(self):
        return self.how in ("flags", "pass")


@dataclasses.dataclass(frozen=True)
class Variant:
    """How a build is run: on glibc's malloc, on the library with nothing recorded, sampled, or with everything recorded.
    "again" is the first once more: how far it strays from it is noise."""
    build: Build
    way: str  # glibc, again, off, sampled or full

    @property
    def name(self):
        return f"{self.build.name} {self.way}"

    @property
    def records(self):
        return self.way in SAMPLE

    def settings(self, build_dir, folder):
        if self.way in ("glibc", "again"):
            return {}
        conf = "prof:false"
        if self.records:
            conf = f"prof:true,sample:{SAMPLE[self.way]},accesses:true,out:{folder}/trace.pa"
        library = build_dir / "libprofalloc.so"
        where = {"LD_LIBRARY_PATH": str(build_dir)} if self.build.instrumented else {"LD_PRELOAD": str(library)}
        return {**where, "PROFALLOC_CONF": conf}


def find_compilers(build_dir):
    """GCC, and the newest Clang that there is a pass for, or without any the newest; and whether there is one."""
    need(shutil.which("g++"), "g++")
    installed = [n for n in CLANGS if shutil.which(f"clang-{n}") and shutil.which(f"clang++-{n}")]
    if not installed:
        raise BenchFailure("no clang-14 or newer: install clang")
    with_pass = [n for n in installed if (build_dir / "lib" / "profalloc" / f"profalloc-pass-{n}.so").exists()]
    chosen = (with_pass or installed)[0]
    return Compiler("gcc", "gcc", "g++"), Compiler("clang", f"clang-{chosen}", f"clang++-{chosen}"), bool(with_pass)


def all_builds(gcc, clang):
    return [Build(gcc, "plain"), Build(gcc, "empty"), Build(gcc, "flags"),
            Build(clang, "plain"), Build(clang, "empty"), Build(clang, "flags"), Build(clang, "pass")]


# What a smoke run builds: each kind once, and but for one all that tests/real/suite.py builds as well.
QUICK_BUILDS = ("plain-gcc", "empty-gcc", "flags-gcc", "pass")


def variants_of(build):
    ways = {"plain": ("glibc", "again", "off"), "empty": ("glibc",)}.get(build.how, ("off", "sampled", "full"))
    return [Variant(build, way) for way in ways]


class Toolchains:
    """Compilers as other people's build systems want them: one executable each for C and C++, and an environment."""

    def __init__(self, bench_dir, build_dir):
        self.build_dir, self.folder = build_dir, build_dir / "bench" / "instrumented"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._callbacks_source = bench_dir / "real" / "empty_callbacks.c"

    def wrapper(self, which):
        path = self.build_dir / f"profalloc-{which}"
        if not path.exists():
            raise BenchFailure(f"{path} is missing: build the project first")
        return path

    def compilers(self, build):
        """The paths of a C and a C++ compiler."""
        own = (build.compiler.c, build.compiler.cxx)
        if build.how == "plain":
            return own
        if build.instrumented:
            return self.wrapper("cc"), self.wrapper("c++")
        return tuple(self._empty(build, which, compiler) for which, compiler in zip(("cc", "c++"), own))

    def environment(self, build):
        settings = {} if build.how == "plain" else build.compiler.settings(build.how == "pass")
        return {**base_environment(), "HOME": os.environ.get("HOME", "/"), **settings}

    @contextlib.contextmanager
    def alone(self, program):
        """Builds of a program, or of the objects of all, by one process at a time: tests and smoke runs of benches share these
        folders."""
        with open(self.folder / f"{program}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def empty_callbacks(self):
        """One object for all compilers: what returns at once does so alike."""
        made = self.folder / "empty_callbacks.o"
        with self.alone("objects"):
            if not made.exists() or made.stat().st_mtime < self._callbacks_source.stat().st_mtime:
                run_step([shutil.which("gcc"), "-O2", "-c", self._callbacks_source, "-o", made], base_environment())
        return made

    def shift(self, layout):
        """An object that, linked before all others, moves their code."""
        made = self.folder / f"shift-{layout}.o"
        text = f".text\n.p2align 4\n.skip {layout * LAYOUT_STEP}\n.section .note.GNU-stack,\"\",%progbits\n"
        source = made.with_suffix(".s")
        with self.alone("objects"):
            if not made.exists() or source.read_text() != text:
                made.unlink(missing_ok=True)
                source.write_text(text)
                run_step([shutil.which("gcc"), "-c", source, "-o", made], base_environment())
        return made

    def _empty(self, build, which, compiler):
        path = self.folder / f"{build.name}-{which}"
        text = EMPTY_COMPILER.format(wrapper=self.wrapper(which), compiler=compiler, callbacks=self.empty_callbacks())
        with self.alone("objects"):
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
                path.chmod(0o755)
        return path


def layouts_of(runs):
    return min(runs, LAYOUTS)


def is_stale(program, inputs):
    return program.exists() and newest(inputs) > program.stat().st_mtime


class Programs:
    """Each build's program, in as many layouts as there are rounds for; two at least, so that smoke runs link one, too."""

    def __init__(self, runs):
        self.layouts = layouts_of(max(runs, 2))
        self._paths = {}

    def add(self, build, paths):
        """paths: one for each layout; layout 0 is as anybody would link it."""
        self._paths[build.name] = paths

    def path(self, build, number):
        return self._paths[build.name][number % self.layouts]


def run_step(command, environment, cwd=None):
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=BUILD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise BenchFailure(f"{' '.join(command)}\n  was not done after {BUILD_SECONDS} s") from None
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace").splitlines()[-40:]
        raise BenchFailure("\n  ".join([" ".join(command), f"exit code {done.returncode}", *said]))


def newest(paths):
    """The time of the latest change of what a build depends on."""
    return max((path.stat().st_mtime for path in paths if path.exists()), default=0.0)


def inputs_of(toolchains, build):
    """What of ours an instrumented program is made with: newer than the program, it must be built again."""
    if build.how == "plain":
        return []
    folder = toolchains.build_dir
    found = [folder / "profalloc-cc", folder / "profalloc-c++"]
    if build.how == "empty":
        return [*found, toolchains.empty_callbacks()]
    return [*found, folder / "libprofalloc_access.a", *(folder / "lib" / "profalloc").glob("profalloc-pass-*.so")]


def check_build(build, program):
    """A program that is not what it should be has no time."""
    contents = program.read_bytes()
    if (INSTRUMENTED in contents) != build.instrumented:
        verb = "is not" if build.instrumented else "is"
        raise BenchFailure(f"{program} ({build.name}) {verb} linked with the callbacks of profalloc")
    if (b"__tsan_func_entry" in contents) and build.how == "plain":
        raise BenchFailure(f"{program} ({build.name}) is instrumented")


def text_size(program):
    said = subprocess.run(["size", "-A", program], capture_output=True, text=True, check=True, timeout=BUILD_SECONDS)
    return int(re.search(r"^\.text +(\d+)", said.stdout, re.M)[1])


def check_layouts(programs):
    """Was the text of each moved by as much as it should be, and what alignment adds? (On arm64, linkers put a page behind it
    where an instruction comes to lie so that it needs a detour on some processors.)"""
    plain = text_size(programs[0])
    for layout, program in enumerate(programs[1:], 1):
        more = text_size(program) - plain - layout * LAYOUT_STEP
        if more < 0 or more % PAGE >= LAYOUT_SLACK:
            raise BenchFailure(f"{program}: its text is {more} bytes longer than that of layout {layout} should be")


def source_of(root, name, witness):
    """The unpacked source of a program of others, fetched if it is not there."""
    run_step([root / "scripts" / "fetch-source.sh", name], dict(os.environ))
    path = root / "third_party" / name
    if not (path / witness).exists():
        raise BenchFailure(f"{path} holds no source: run scripts/fetch-source.sh {name}")
    return path.resolve()


def trace_row(build_dir, folder):
    """Of the run that just ended: bytes of its trace, recorded chunks, and deaths that were only counted."""
    tool, trace = build_dir / "profalloc", folder / "trace.pa"
    if not trace.exists():
        raise BenchFailure(f"no trace was left in {folder}: is the program linked with the library?")
    subprocess.run([tool, "seal", trace], capture_output=True, check=False, timeout=BUILD_SECONDS)
    size = sum(path.stat().st_size for path in folder.glob("trace*"))
    said = subprocess.run([tool, "check", trace], capture_output=True, text=True, check=False, timeout=BUILD_SECONDS)
    count = re.search(r": complete, ([\d,]+) allocations", said.stdout)
    if said.returncode != 0 or count is None:
        raise BenchFailure(f"profalloc check: exit code {said.returncode}: {said.stdout} {said.stderr}")
    folded = re.search(r"note: ([\d,]+) deaths are counted but not listed", said.stdout)
    return {"trace_bytes": size, "chunks": int(count[1].replace(",", "")),
            "folded": int(folded[1].replace(",", "")) if folded else 0, **_accesses(tool, trace)}


def _accesses(tool, trace):
    """Reads and writes that were recorded. None at all with every chunk recorded is a run that did not do its work."""
    said = subprocess.run([tool, "report", "--json", trace], capture_output=True, text=True, check=False,
                          timeout=BUILD_SECONDS)
    if said.returncode != 0:
        raise BenchFailure(f"profalloc report: exit code {said.returncode}: {said.stderr}")
    told = json.loads(said.stdout)
    found = told["accesses"] or {"reads": 0, "writes": 0}
    if not told["files"][0]["instrumented"] or (told["files"][0]["sample"] == 1 and not found["reads"] + found["writes"]):
        raise BenchFailure(f"{trace}: no accesses were recorded")
    return {"reads": found["reads"], "writes": found["writes"]}
