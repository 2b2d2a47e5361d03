"""The profilers compared by bench/run capture: how each is put under a program, and what it left behind.

A profile that is missing, empty or said to be incomplete is a failure: what was not recorded took no time.
"""
import os
import pathlib
import re
import shutil
import subprocess

from .process import BenchFailure, Helper, Job, find_library, parse_fields

HEAPTRACK = pathlib.Path("/usr/lib/heaptrack")


class Missing(BenchFailure):
    """Something to compare with is not installed: the run goes on without it, says so, and fails."""

    def __init__(self, package):
        super().__init__(f"missing: install {package}")


def need(what, package):
    if not what or isinstance(what, pathlib.Path) and not what.exists():
        raise Missing(package)


class Plain:
    """An allocator, and no profiler."""
    length = 1.0  # of a workload under it, so that all of them take about as long
    base = None  # what its added time is told over

    def __init__(self, name, library=""):
        self.name, self.library = name, library

    def job(self, folder, command, settings, **rest):
        del folder
        preload = {"LD_PRELOAD": self.library} if self.library else {}
        return Job(command, {**settings, **preload}, **rest)

    def runs_on(self, malloc):
        """Is this where a program under it finds malloc?"""
        return malloc == os.path.basename(self.library) if self.library else malloc.startswith("libc.")

    def profile(self, folder, outcome):
        """Of the run that just ended: bytes, and as far as it tells, chunks."""
        del folder, outcome
        return {}


class Profalloc(Plain):
    base = "mimalloc"

    def __init__(self, name, build_dir, sample):
        super().__init__(name, str(build_dir / "libprofalloc.so"))
        self.tool, self.sample = build_dir / "profalloc", sample

    def job(self, folder, command, settings, **rest):
        job = super().job(folder, command, settings, **rest)
        job.settings["PROFALLOC_CONF"] = f"prof:true,sample:{self.sample},out:{folder}/trace.pa"
        return job

    def profile(self, folder, outcome):
        return trace_in(folder, self.tool, outcome)


def trace_in(folder, tool, outcome):
    """The trace that a run left in its folder, which has to be complete: its bytes, and what it tells of."""
    # As `profalloc run` does: a program that exits with threads of its own leaves the end to the tool.
    subprocess.run([tool, "seal", *folder.glob("trace*.pa")], capture_output=True)
    size = _left(folder, "trace*", outcome)  # with those of fork children, which are no part of what is checked
    said = subprocess.run([tool, "check", folder / "trace.pa"], capture_output=True, text=True)
    count = re.search(r": complete, ([\d,]+) allocations", said.stdout)
    if said.returncode != 0 or count is None:
        raise BenchFailure(f"profalloc check: exit code {said.returncode}: {said.stdout} {said.stderr}")
    folded = re.search(r"note: ([\d,]+) deaths are counted but not listed", said.stdout)
    return {"profile_bytes": size, "chunks": _number(count[1]),
            "folded": _number(folded[1]) if folded else 0}


class Heaptrack(Plain):
    """What its script does, without the shell around it."""
    base, length = "glibc", 0.2

    def __init__(self):
        super().__init__("heaptrack", str(HEAPTRACK / "libheaptrack_preload.so"))
        need(pathlib.Path(self.library), "heaptrack")
        need(shutil.which("zstd"), "zstd")

    def job(self, folder, command, settings, helpers=(), **rest):
        pipe = folder / "pipe"
        os.mkfifo(pipe)
        interpret = ["sh", "-c", 'exec "$0" < "$1"', HEAPTRACK / "libexec" / "heaptrack_interpret", pipe]
        mine = [Helper(interpret, feeds_next=True),
                Helper(["zstd", "-q", "-c"], stdout_path=str(folder / "heaptrack.zst"))]
        job = super().job(folder, command, settings, helpers=[*mine, *helpers], **rest)
        job.settings["DUMP_HEAPTRACK_OUTPUT"] = str(pipe)
        return job

    def profile(self, folder, outcome):
        count = re.search(r"^\s*allocations:\s+(\d+)", outcome.helper_stderr, re.MULTILINE)
        if count is None:
            raise BenchFailure(f"heaptrack_interpret told no number of allocations: {outcome.helper_stderr}")
        return {"profile_bytes": (folder / "heaptrack.zst").stat().st_size, "chunks": int(count[1])}


class Gperftools(Plain):
    base, length = "glibc", 0.2

    def __init__(self):
        super().__init__("gperftools", find_library("libtcmalloc.so.4") or "")
        need(self.library, "libgoogle-perftools4")

    def job(self, folder, command, settings, **rest):
        job = super().job(folder, command, settings, **rest)
        job.settings["HEAPPROFILE"] = str(folder / "profile")
        job.may_say = r"Starting tracking the heap|Dumping heap profile to "
        return job

    def profile(self, folder, outcome):
        return {"profile_bytes": _left(folder, "profile.*.heap", outcome)}


class Dhat(Plain):
    base, length = "glibc", 0.04

    def __init__(self):
        super().__init__("dhat")
        need(shutil.which("valgrind"), "valgrind")

    def job(self, folder, command, settings, **rest):
        valgrind = ["valgrind", "--tool=dhat", f"--dhat-out-file={folder}/dhat.out", f"--log-file={folder}/dhat.log"]
        return super().job(folder, [*valgrind, *command], settings, **rest)

    def profile(self, folder, outcome):
        return {"profile_bytes": _left(folder, "dhat.out", outcome)}


def _number(text):
    return int(text.replace(",", ""))


def _left(folder, pattern, outcome):
    sizes = [path.stat().st_size for path in folder.glob(pattern)]
    if not sizes or not all(sizes):
        raise BenchFailure(f"{' '.join(outcome.command)} left no profile")
    return sum(sizes)


def make_profilers(build_dir):
    """All of them by name, the references first; in place of one that is not installed, the Missing that says so."""
    bare = build_dir / "bench" / "libmimalloc-bare.so"
    for built in (bare, build_dir / "libprofalloc.so", build_dir / "profalloc"):
        if not built.exists():
            raise BenchFailure(f"{built} is missing: build the project first")
    found = [Plain("glibc"), Plain("mimalloc", str(bare)), Plain("again", str(bare)),
             Profalloc("sampled", build_dir, "512K"), Profalloc("full", build_dir, "1")]
    by_name = {profiler.name: profiler for profiler in found}
    for name, make in (("heaptrack", Heaptrack), ("gperftools", Gperftools), ("dhat", Dhat)):
        try:
            by_name[name] = make()
        except Missing as missing:
            by_name[name] = missing
    return by_name


def workload_fields(profiler, outcome):
    """What a synthetic workload says of itself; it tells where it found malloc, so that no preload fails unnoticed."""
    fields = parse_fields(outcome.stdout)
    if not profiler.runs_on(fields["malloc"]):
        raise BenchFailure(f"{' '.join(outcome.command)} under {profiler.name} ran on the malloc of {fields['malloc']}")
    return fields
