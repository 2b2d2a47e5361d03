"""Runs processes and tells what they cost. A run that did not do its work has no cost: it raises."""
import dataclasses
import os
import resource
import select
import signal
import subprocess
import tempfile
import time

TIMEOUT_SECONDS = 600


class BenchFailure(Exception):
    """Something did not run, or ran wrong. Never to be taken for a slow or a fast result."""


@dataclasses.dataclass
class Job:
    command: list
    settings: dict  # the environment beside base_environment
    stdin_path: str = os.devnull
    pin: bool = False  # to one processor


@dataclasses.dataclass
class Outcome:
    command: list
    environment: dict
    stdout: str
    wall: float  # without the pauses
    user: float
    system: float
    peak_rss_kib: int
    pauses: list  # (from, to) of the monotonic clock

    def running_between(self, began, ended):
        """How much of the time from began to ended the process was not paused."""
        return ended - began - sum(max(0.0, min(ended, to) - max(began, since)) for since, to in self.pauses)


def base_environment():
    """Nothing of the caller's environment but the path: options of allocators must not leak in."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"}


class _Child:
    """A process that runs in turns: paused from the end of each to the beginning of its next."""

    def __init__(self, job):
        self.command = [str(part) for part in job.command]
        self.environment = {**base_environment(), **job.settings}
        self.outcome = None
        self._job, self._process = job, None
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._pauses, self._ran = [], 0.0

    def take_turn(self, seconds):
        """Runs for so long, or with None to its end; sets the outcome when it has ended."""
        began = time.monotonic()
        if self._process is None:
            self._start()
        else:
            self._pauses.append((self._paused_since, began))
            os.kill(self._process.pid, signal.SIGCONT)
        limit = TIMEOUT_SECONDS - self._ran
        turn = limit if seconds is None else min(seconds, limit)
        if self._ended_within(turn):
            self._finish(began)
        elif turn == limit:
            self.kill()
            raise BenchFailure(f"{self._describe()}\n  killed after the time limit of {TIMEOUT_SECONDS} s")
        else:
            os.kill(self._process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self._paused_since = time.monotonic()
            self._ran += self._paused_since - began

    def kill(self):
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            self._process.wait()

    def _start(self):
        last_cpu = max(os.sched_getaffinity(0))
        pin = (lambda: os.sched_setaffinity(0, {last_cpu})) if self._job.pin else None
        with open(self._job.stdin_path, "rb") as stdin:
            self._process = subprocess.Popen(self.command, env=self.environment, stdin=stdin, stdout=self._out,
                                             stderr=self._err, preexec_fn=pin)
        self._pidfd = os.pidfd_open(self._process.pid)

    def _ended_within(self, seconds):
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _finish(self, began):
        self._ran += time.monotonic() - began
        os.close(self._pidfd)
        _, status, usage = os.wait4(self._process.pid, 0)
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        stdout, stderr = map(self._text, (self._out, self._err))
        # A library that cannot be preloaded is only a message of the dynamic linker; the program runs without it.
        if code != 0 or stderr:
            raise BenchFailure(f"{self._describe()}\n  exit code {code}\n  standard error: {stderr or '(empty)'}")
        self.outcome = Outcome(self.command, self.environment, stdout, self._ran, usage.ru_utime, usage.ru_stime,
                               usage.ru_maxrss, self._pauses)

    @staticmethod
    def _text(file):
        with file:
            file.seek(0)
            return file.read().decode(errors="replace").strip()

    def _describe(self):
        settings = [f"{key}={value}" for key, value in sorted(self.environment.items()) if key != "PATH"]
        return " ".join(["env", *settings, *self.command])


def run_in_turns(jobs, turn=None):
    """The outcomes of the jobs, of which one runs at any time: each for a turn's seconds, or to its end, then the next.

    What disturbs the machine for longer than a turn so disturbs all of them alike."""
    children = [_Child(job) for job in jobs]
    try:
        while any(child.outcome is None for child in children):
            for child in children:
                if child.outcome is None:
                    child.take_turn(turn)
    finally:
        for child in children:
            child.kill()
    return [child.outcome for child in children]


def run_process(command, settings):
    return run_in_turns([Job(command, settings)])[0]


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
