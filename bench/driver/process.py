"""Runs one process and tells what it cost. A run that did not do its work has no cost: it raises."""
import dataclasses
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time

TIMEOUT_SECONDS = 600


class BenchFailure(Exception):
    """Something did not run, or ran wrong. Never to be taken for a slow or a fast result."""


@dataclasses.dataclass
class Outcome:
    command: list
    environment: dict
    stdout: str
    wall: float
    user: float
    system: float
    peak_rss_kib: int


def base_environment():
    """Nothing of the caller's environment but the path: options of allocators must not leak in."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"}


def _describe(command, environment):
    settings = [f"{key}={value}" for key, value in sorted(environment.items()) if key != "PATH"]
    return " ".join(["env", *settings, *command])


def run_process(command, extra_environment, stdin_path=None, pin=False):
    """Runs the command with exactly base_environment plus extra_environment; pin keeps it on one processor."""
    command = [str(part) for part in command]
    environment = {**base_environment(), **extra_environment}
    last_cpu = max(os.sched_getaffinity(0))
    source = stdin_path or os.devnull
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(source, "rb") as stdin:
        start = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdin=stdin, stdout=out, stderr=err,
                                   preexec_fn=(lambda: os.sched_setaffinity(0, {last_cpu})) if pin else None)
        watchdog = threading.Timer(TIMEOUT_SECONDS, process.send_signal, [signal.SIGKILL])
        watchdog.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            watchdog.cancel()
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        stdout = out.read().decode(errors="replace")
        stderr = err.read().decode(errors="replace").strip()
    # A library that cannot be preloaded is only a message of the dynamic linker; the program then runs without it.
    if process.returncode != 0 or stderr:
        raise BenchFailure(f"{_describe(command, environment)}\n  exit code {process.returncode}"
                           f"{' (killed after the time limit)' if wall >= TIMEOUT_SECONDS else ''}"
                           f"\n  standard error: {stderr or '(empty)'}")
    return Outcome(command, environment, stdout, wall, usage.ru_utime, usage.ru_stime, usage.ru_maxrss)


def own_peak_rss_kib():
    """A child's ru_maxrss starts at what this process had when it forked; below this it says nothing."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def parse_fields(line):
    """key=value words of a line as a dictionary of strings."""
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def find_library(name):
    """A library by soname, through the dynamic linker's cache."""
    for tool in ("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"):
        try:
            listing = subprocess.run([tool, "-p"], capture_output=True, text=True, check=True).stdout
            break
        except (OSError, subprocess.CalledProcessError):
            continue
    else:
        raise BenchFailure("ldconfig not found: install libc-bin")
    for line in listing.splitlines():
        words = line.split()
        if words and words[0] == name:
            return words[-1]
    return None
