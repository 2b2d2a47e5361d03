"""Runs processes and tells what they cost. A run that did not do its work has no cost: it raises."""
import dataclasses
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time

TIMEOUT_SECONDS = 600
HELPER_SECONDS = 5  # for helpers of a process that failed
LOOK_SECONDS = 0.01  # between two looks at the memory of a job


class BenchFailure(Exception):
    """Something did not run, or ran wrong. Never to be taken for a slow or a fast result."""


@dataclasses.dataclass
class Helper:
    """A process beside the one that is measured, started before it and ended soon after it: a profiler's other half, or
    the client of a server. Its standard output goes to a file, to the next helper, or is kept."""
    command: list
    counts: bool = True  # its memory is a cost
    stdout_path: str = ""
    feeds_next: bool = False


@dataclasses.dataclass
class Job:
    command: list
    settings: dict  # the environment beside base_environment
    stdin_path: str = os.devnull
    pin: bool = False  # to one processor
    helpers: list = dataclasses.field(default_factory=list)
    may_say: str = ""  # a pattern of lines on standard error that are no failure
    watch_memory: bool = False  # of all processes together


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
    together_kib: int = 0  # the largest sum seen of the resident memory of all processes that count
    helper_stdout: str = ""
    helper_stderr: str = ""

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
        self._job, self._process, self._helpers = job, None, []
        self._out, self._err, self._helper_out, self._helper_err = (tempfile.TemporaryFile() for _ in range(4))
        self._pauses, self._ran, self._together = [], 0.0, 0

    def take_turn(self, seconds):
        """Runs for so long, or with None to its end; sets the outcome when it has ended."""
        began = time.monotonic()
        if self._process is None:
            self._start()
        else:
            self._pauses.append((self._paused_since, began))
            self._signal_all(signal.SIGCONT)
        limit = TIMEOUT_SECONDS - self._ran
        turn = limit if seconds is None else min(seconds, limit)
        if self._ended_within(turn):
            self._finish(began)
        elif turn == limit:
            self.kill()
            raise BenchFailure(f"{self._describe()}\n  killed after the time limit of {TIMEOUT_SECONDS} s")
        else:
            self._signal_all(signal.SIGSTOP)
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self._paused_since = time.monotonic()
            self._ran += self._paused_since - began

    def kill(self):
        for process in filter(None, [self._process, *self._helpers]):
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _signal_all(self, number):
        """To the measured one first, then to its helpers with what they started themselves."""
        for process in [self._process, *self._helpers]:
            if process.returncode is None:
                os.killpg(process.pid, number)

    def _start_helpers(self):
        feed = subprocess.DEVNULL
        for helper in self._job.helpers:
            out = open(helper.stdout_path, "wb") if helper.stdout_path else self._helper_out
            process = subprocess.Popen([str(part) for part in helper.command], env=base_environment(), stdin=feed,
                                       stdout=subprocess.PIPE if helper.feeds_next else out, stderr=self._helper_err,
                                       start_new_session=True)
            self._helpers.append(process)
            if feed != subprocess.DEVNULL:
                feed.close()
            if helper.stdout_path:
                out.close()
            feed = process.stdout if helper.feeds_next else subprocess.DEVNULL

    def _start(self):
        self._start_helpers()
        last_cpu = max(os.sched_getaffinity(0))
        pin = (lambda: os.sched_setaffinity(0, {last_cpu})) if self._job.pin else None
        with open(self._job.stdin_path, "rb") as stdin:
            self._process = subprocess.Popen(self.command, env=self.environment, stdin=stdin, stdout=self._out,
                                             stderr=self._err, preexec_fn=pin, start_new_session=True)
        self._pidfd = os.pidfd_open(self._process.pid)

    def _ended_within(self, seconds):
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        if not self._job.watch_memory:
            return bool(poll.poll(seconds * 1000))
        until = time.monotonic() + seconds
        while True:
            self._look_at_memory()
            left = until - time.monotonic()
            if poll.poll(max(0.0, min(left, LOOK_SECONDS)) * 1000):
                return True
            if left <= LOOK_SECONDS:
                return False

    def _look_at_memory(self):
        counted = [self._process.pid, *(process.pid for process, helper in zip(self._helpers, self._job.helpers)
                                        if helper.counts and process.returncode is None)]
        now = [resident_kib(pid) for pid in counted]
        # The highest of one process may have been between two looks; that of all together then was too, at least so high.
        self._together = max(self._together, sum(rss for rss, _ in now), *(peak for _, peak in now))

    def _finish_helpers(self, code):
        """A profiler's other half has the rest to do; only then is the work done."""
        for process in self._helpers:
            try:
                process.wait(TIMEOUT_SECONDS if code == 0 else HELPER_SECONDS)
            except subprocess.TimeoutExpired:
                raise BenchFailure(f"{self._describe()}\n  exit code {code}; {process.args} did not end") from None
        said = self._text(self._helper_err)
        for process in self._helpers:
            if process.returncode != 0:
                raise BenchFailure(f"{self._describe()}\n  {process.args}: exit code {process.returncode}\n  {said}")
        return self._text(self._helper_out), said

    def _finish(self, began):
        os.close(self._pidfd)
        _, status, usage = os.wait4(self._process.pid, 0)
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        helped, helpers_said = self._finish_helpers(code)
        self._ran += time.monotonic() - began
        stdout, stderr = map(self._text, (self._out, self._err))
        if self._job.may_say:
            stderr = "\n".join(line for line in stderr.splitlines() if not re.match(self._job.may_say, line))
        # A library that cannot be preloaded is only a message of the dynamic linker; the program runs without it.
        if code != 0 or stderr:
            raise BenchFailure(f"{self._describe()}\n  exit code {code}\n  standard error: {stderr or '(empty)'}")
        self.outcome = Outcome(self.command, self.environment, stdout, self._ran, usage.ru_utime, usage.ru_stime,
                               usage.ru_maxrss, self._pauses, self._together, helped, helpers_said)

    @staticmethod
    def _text(file):
        with file:
            file.seek(0)
            return file.read().decode(errors="replace").strip()

    def _describe(self):
        settings = [f"{key}={value}" for key, value in sorted(self.environment.items()) if key != "PATH"]
        return " ".join(["env", *settings, *self.command])


class Folders:
    """A folder of its own for each job of a repetition, gone afterwards: traces are large."""

    def __init__(self, parent, name):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def make(self, name):
        folder = self.root / name
        folder.mkdir()
        return folder


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


def resident_kib(pid):
    """Of a process: resident memory now, and the most it ever had; of one that has ended, nothing."""
    fields = {"VmRSS": 0, "VmHWM": 0}
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                key, _, value = line.partition(":")
                if key in fields:
                    fields[key] = int(value.split()[0])
    except OSError:
        pass
    return fields["VmRSS"], fields["VmHWM"]


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
