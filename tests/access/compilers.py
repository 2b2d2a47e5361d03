"""The ways of instrumenting that the tests of accesses try: each compiler that is installed, with flags and with the pass."""
import os
import shutil
import subprocess
from pathlib import Path

BUILD = Path(os.environ["PROFALLOC_BUILD_DIR"])
CLANGS = ("clang-14", "clang-16")
TIME_LIMIT = 1800


def has_pass(clang):
    return (BUILD / "lib" / "profalloc" / f"profalloc-pass-{clang.rpartition('-')[2]}.so").exists()


def ways():
    """(name, environment of profalloc-cc) for each. One gcc and one clang there must be; others that are missing are named."""
    found = []
    for compiler in ("gcc", *CLANGS):
        if shutil.which(compiler) is None:
            print(f"not tried: {compiler} is not installed")
            continue
        found.append((f"{compiler} flags", {"PROFALLOC_CC": compiler, "PROFALLOC_PASS": "off"}))
        if compiler in CLANGS and has_pass(compiler):
            found.append((f"{compiler} pass", {"PROFALLOC_CC": compiler, "PROFALLOC_PASS": "on"}))
        elif compiler in CLANGS:
            print(f"not tried: there is no pass for {compiler}")
    names = " ".join(name for name, _ in found)
    if "gcc" not in names or "clang" not in names:
        raise SystemExit("one gcc and one clang are needed: run scripts/setup.sh test")
    return found


def environment(more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PROFALLOC_") and k != "LD_PRELOAD"}
    return {**env, **more}


def build(way, sources, program, *flags, cxx=False):
    """Compiles and links with profalloc-cc in one step."""
    command = [BUILD / ("profalloc-c++" if cxx else "profalloc-cc"), *flags, *sources, "-o", program]
    done = subprocess.run([str(word) for word in command], env=environment(way), text=True, capture_output=True,
                          timeout=TIME_LIMIT)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.stderr}")


def run(program, trace, conf="", arguments=(), status=0):
    """Runs an instrumented program that records everything; returns what it printed."""
    settings = ",".join(filter(None, ("prof:true,sample:1", conf, f"out:{trace}")))
    done = subprocess.run([str(program), *arguments], env=environment({"PROFALLOC_CONF": settings}), text=True,
                          capture_output=True, timeout=TIME_LIMIT)
    if done.returncode != status or "profalloc:" in done.stderr:
        raise AssertionError(f"{program}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
