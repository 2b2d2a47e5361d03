#!/usr/bin/env python3
r"""Runs a trap program (tests/prog/prog_*) under the library in several modes and judges how it went.

usage: run_progs.py EXECUTABLE...     with PROFALLOC_LIB set to libprofalloc.so

A program says in lines of its head comment how it wants to be run; without any, it is run once in each mode:

    run: KEY=VALUE ...                several are several runs; values are quoted as in a shell, and a line that is
                                      indented more continues the one above

    modes=MODE,...     off (no options), sampled (512K), often (1K), full (every chunk); default all four
    conf=KEY:VALUE,..  options of the library, added to those of the mode
    arg=WORD           an argument of the program; may be repeated
    env=NAME=VALUE     may be repeated
    expect=exit:N      how the program ends, default exit:0;  expect=signal:NAME for a signal
    says=REGEX         a line that the library must say (without its "profalloc: "), may be repeated: these lines, in
                       this order, and no others
    may_say=REGEX      a line that it may say, once; may be repeated. N*REGEX stands for N of them, here and above
    limit=NAME:SIZE    a resource limit, such as AS:256M or NPROC:0; may be repeated
    user=nobody        not as root
    close=FD,...       descriptors that are closed when the program starts
    stderr=broken      standard error is a pipe that nobody reads
    without=proc       nothing is mounted on /proc
    etc_conf=TEXT      /etc/profalloc.conf has this content, \n for a new line
    overcommit=2       with this value of vm.overcommit_memory
    setuid=yes         the program is set-uid root; with user=nobody
    under=valgrind     the program runs on Valgrind's CPU, with nothing checked
    oracle=printed     the summary must hold the figures that the program printed: "allocations N BYTES" and so on
    oracle=valgrind    the summary must hold the figures that Valgrind counts in the same program

A run passes if the program ends as expected within the time limit and the library says what it should, which is
nothing unless there are says= lines. A program prints what went wrong on standard output. What a run needs and this
machine or user does not have is a failure that says so; what the kernel does not allow is a line "not run: ...", which
./check lists, and with no run left the exit status is 77.
"""
import contextlib
import ctypes
import dataclasses
import fcntl
import os
import pwd
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import folders

TIME_LIMIT = 600  # of a program that hangs; on a busy machine they take long
NOT_RUN = 77
SOURCES = Path(__file__).resolve().parent / "prog"
MODES = {
    "off": "",
    "sampled": "prof:true,sample:512K",
    "often": "prof:true,sample:1K",
    "full": "prof:true,sample:1",
}
OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")
OVERCOMMIT_SHARE = [Path("/proc/sys/vm/overcommit_ratio"), Path("/proc/sys/vm/overcommit_kbytes")]  # one of them is 0
CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 0x40000
PREFIX = "profalloc: "


class Failure(Exception):
    """What is wrong with a run, in words."""


class NotRun(Exception):
    """What the kernel, or the container around us, does not allow; one of tests/not_run.txt."""


@dataclasses.dataclass
class Run:
    """One run: line, as the program wrote it. Lists are keys that may be repeated."""
    modes: str = ",".join(MODES)
    conf: str = ""
    arg: list = dataclasses.field(default_factory=list)
    env: list = dataclasses.field(default_factory=list)
    expect: str = "exit:0"
    says: list = dataclasses.field(default_factory=list)
    may_say: list = dataclasses.field(default_factory=list)
    limit: list = dataclasses.field(default_factory=list)
    user: str = ""
    close: str = ""
    stderr: str = ""
    without: str = ""
    etc_conf: str = ""
    overcommit: str = ""
    setuid: str = ""
    under: str = ""
    oracle: str = ""
    text: str = ""


@dataclasses.dataclass
class Outcome:
    """How a process ended and what it wrote."""
    status: int
    stdout: str
    stderr: str


def parse_run(text):
    run = Run(text=text.strip())
    for word in shlex.split(text):
        key, equals, value = word.partition("=")
        if not equals or key not in Run.__dataclass_fields__ or key == "text":
            raise Failure(f"cannot read '{word}' of the line 'run: {text}'")
        if isinstance(getattr(run, key), list):
            times = re.match(r"(\d+)\*", value)
            getattr(run, key).extend([value[times.end():]] * int(times[1]) if times else [value])
        else:
            setattr(run, key, value)
    return run


def runs_of(executable):
    """The runs that the program's source asks for."""
    source = next((p for p in (SOURCES / (executable.name + end) for end in (".c", ".cpp")) if p.exists()), None)
    if source is None:
        raise Failure(f"no source of {executable.name} in {SOURCES}")
    head = source.read_text().split("*/", 1)[0]
    lines = re.findall(r"^[ /]*\*+ +run:(.*(?:\n \*  .*)*)", head, re.M)
    return [parse_run(text.replace("\n *", " ")) for text in lines] or [Run()]


# --- how a program is started -----------------------------------------------------------------------------------------


def size_of(text):
    if text == "unlimited":
        return resource.RLIM_INFINITY
    number, unit = re.fullmatch(r"(\d+)([KMG]?)", text).groups()
    return int(number) << {"": 0, "K": 10, "M": 20, "G": 30}[unit]


def libc(name, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def hide_folder(path):
    """Puts an empty file system over a folder, for this process and its children only."""
    libc("unshare", CLONE_NEWNS | (0 if os.geteuid() == 0 else CLONE_NEWUSER))
    libc("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    libc("mount", b"none", path.encode(), b"tmpfs", 0, None)


def may_hide_folders():
    """Tries it, in a child."""
    pid = os.fork()
    if pid == 0:
        try:
            hide_folder("/proc")
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def become(name):
    user = pwd.getpwnam(name)
    os.setgroups([])
    os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)


def prepare_child(run):
    """In the child, before it becomes the program. The order matters: what needs rights or room comes first."""
    if run.without == "proc":
        hide_folder("/proc")
    if run.etc_conf:
        hide_folder("/etc")
        Path("/etc/profalloc.conf").write_text(run.etc_conf.replace("\\n", "\n"))
    if run.user:
        become(run.user)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for limit in run.limit:
        name, size = limit.split(":")
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (size_of(size), size_of(size)))
    if run.stderr == "broken":
        reader, writer = os.pipe()
        os.dup2(writer, 2)
        os.close(reader)
        os.close(writer)
    for fd in filter(None, run.close.split(",")):
        os.close(int(fd))


def environment(executable, run, mode, library):
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TRAP_MODE": mode,
           "TRAP_DIR": str(executable.parent)}
    conf = ",".join(filter(None, (MODES[mode], run.conf)))
    if conf:
        env["PROFALLOC_CONF"] = conf
    if library and not executable.name.startswith("prog_static_"):
        env["LD_PRELOAD"] = library
    env.update(pair.split("=", 1) for pair in run.env)
    return env


def wait_for_end(pid):
    """Waits without reaping; False at the time limit."""
    deadline = time.monotonic() + TIME_LIMIT
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def execute(command, env, child=None, folder=None):
    """Runs a command to its end or to the time limit. Files, not pipes: what it leaves running cannot hold us up."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, env=env, preexec_fn=child, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        ended = wait_for_end(process.pid)
        os.killpg(process.pid, signal.SIGKILL)  # what it left running; as it is not reaped, the id is still its own
        status = process.wait()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    if not ended:
        raise Failure(f"did not end within {TIME_LIMIT} s\n" + "\n".join(texts))
    return Outcome(status, *texts)


def tool(name, package=None):
    if shutil.which(name) is None:
        raise Failure(f"{name} is missing: install the package {package or name}")
    return name


def need_root(what):
    if os.geteuid() != 0:
        raise Failure(f"{what} needs root: run the tests as root")


@contextlib.contextmanager
def overcommit(value):
    """Holds vm.overcommit_memory at a value. It is the whole machine's: trap programs that run at once agree on it by a
    lock on its file, which those that do not care share, and the limit is far away, so that nobody else meets it. What
    counts is which memory the kernel then charges to the program."""
    with open(OVERCOMMIT) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if value else fcntl.LOCK_SH)
        if not value:
            yield
            return
        need_root("overcommit=")
        before = OVERCOMMIT.read_text()
        share = [(file, file.read_text()) for file in OVERCOMMIT_SHARE if file.read_text().strip() != "0"]
        try:
            OVERCOMMIT.write_text(before)
        except OSError:
            raise NotRun("vm.overcommit_memory cannot be changed") from None
        try:
            OVERCOMMIT_SHARE[0].write_text("100000000")
            OVERCOMMIT.write_text(value)
            yield
        finally:
            OVERCOMMIT.write_text(before)
            for file, text in share:
                file.write_text(text)


@contextlib.contextmanager
def within_reach(executable, library, set_uid):
    """Copies of program and library where another user can reach them, the program set-uid root if asked for."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program, copy = (Path(shutil.copy(path, folder)) for path in (executable, library))
        os.chmod(program, 0o4755 if set_uid else 0o755)
        yield program, str(copy)


def start(executable, run, mode, library):
    if run.user or run.etc_conf:
        need_root("user=, setuid= or etc_conf=")
    if (run.without or run.etc_conf) and not may_hide_folders():
        raise NotRun("mount namespaces are not permitted")
    with contextlib.ExitStack() as stack:
        stack.enter_context(overcommit(run.overcommit))
        if run.user or run.under:
            executable, library = stack.enter_context(within_reach(executable, library, run.setuid))
        command = []
        if run.under == "valgrind":
            # Debian's Valgrind gives up on debug information that some compilers write.
            subprocess.run([tool("strip", "binutils"), "--strip-debug", executable, library], check=True)
            command = [tool("valgrind"), "--tool=none", "-q"]
        traces = stack.enter_context(folders.Folder())
        os.chmod(traces, 0o777)
        return execute(command + [str(executable)] + run.arg, environment(executable, run, mode, library),
                       lambda: prepare_child(run), traces)


# --- how it went ------------------------------------------------------------------------------------------------------


def describe(status):
    return f"exit:{status}" if status >= 0 else "signal:" + signal.Signals(-status).name.removeprefix("SIG")


def summary_of(outcome):
    """The figures of the summary: what -> (count, bytes)."""
    figures = rf"^{PREFIX}  (allocations|frees|live at exit) +(\d+) chunks +(\d+) bytes$"
    lines = re.findall(figures, outcome.stderr, re.M)
    if len(lines) != 3:
        raise Failure("no summary on standard error:\n" + outcome.stderr)
    return {what: (int(count), int(size)) for what, count, size in lines}


def printed_figures(outcome):
    lines = re.findall(r"^(allocations|frees|live at exit) (\d+) (\d+)$", outcome.stdout, re.M)
    return {what: (int(count), int(size)) for what, count, size in lines}


def valgrind_figures(executable, run, mode):
    """What Valgrind counts, without the library: its figures are of the same calls."""
    command = [tool("valgrind"), "--tool=memcheck", "--run-libc-freeres=no", "--run-cxx-freeres=no", str(executable)]
    text = execute(command + run.arg, environment(executable, run, mode, None)).stderr.replace(",", "")
    match = re.search(r"in use at exit: (\d+) bytes in (\d+) blocks\s+.*?"
                      r"total heap usage: (\d+) allocs (\d+) frees (\d+) bytes", text, re.S)
    if match is None:
        raise Failure("Valgrind printed no figures:\n" + text)
    live_bytes, live, allocs, frees, size = map(int, match.groups())
    return {"allocations": (allocs, size), "frees": (frees, size - live_bytes), "live at exit": (live, live_bytes)}


def judge_figures(executable, run, mode, outcome):
    got = summary_of(outcome)
    truth = printed_figures(outcome) if run.oracle == "printed" else valgrind_figures(executable, run, mode)
    if not truth:
        raise Failure("the program printed no figures to compare with:\n" + outcome.stdout)
    for what, figures in truth.items():
        if got[what] != figures:
            raise Failure(f"{what}: the summary has {got[what]}, {run.oracle}: {figures}\n{outcome.stderr}")


def judge_lines(run, outcome):
    lines = [line.removeprefix(PREFIX) for line in outcome.stderr.splitlines() if line.startswith(PREFIX)]
    for regex in run.may_say:
        allowed = next((line for line in lines if re.fullmatch(regex, line)), None)
        if allowed is not None:
            lines.remove(allowed)
    fits = len(lines) == len(run.says) and all(map(re.fullmatch, run.says, lines))
    if not fits:
        raise Failure("the library said:\n    " + "\n    ".join(lines or ["nothing"]) +
                      "\n  expected:\n    " + "\n    ".join(run.says or ["nothing"]))


def judge(executable, run, mode, outcome):
    if describe(outcome.status) != run.expect:
        raise Failure(f"ended with {describe(outcome.status)}, expected {run.expect}\n{outcome.stdout}{outcome.stderr}")
    if run.oracle:
        judge_figures(executable, run, mode, outcome)
    else:
        judge_lines(run, outcome)


def run_mode(executable, run, mode, library):
    """Runs and judges; prints one line, and the trouble if there is any. True if all is right, None if it could not be run."""
    began = time.monotonic()
    trouble = ""
    try:
        judge(executable, run, mode, start(executable, run, mode, library))
    except NotRun as why:
        print(f"not run: {executable.name} {mode} {run.text}: {why}", flush=True)
        return None
    except (Failure, OSError, subprocess.SubprocessError) as failure:
        trouble = str(failure).strip()
    took = time.monotonic() - began
    print(f"{'FAIL' if trouble else 'ok  '} {took:6.2f} s  {executable.name} {mode} {run.text}".rstrip(), flush=True)
    if trouble:
        print("  " + trouble.replace("\n", "\n  "), flush=True)
    return not trouble


def run_all(executable, library):
    """The results of its runs."""
    try:
        runs = runs_of(executable)
    except Failure as failure:
        print(f"FAIL {executable.name}: {failure}")
        return [False]
    return [run_mode(executable, run, mode, library) for run in runs for mode in run.modes.split(",")]


def main():
    library = os.environ.get("PROFALLOC_LIB", "")
    if not Path(library).is_file():
        sys.exit("set PROFALLOC_LIB to libprofalloc.so")
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [result for name in sys.argv[1:] for result in run_all(Path(name).resolve(), library)]
    if all(result is None for result in results):
        sys.exit(NOT_RUN)
    sys.exit(False in results)


if __name__ == "__main__":
    main()
