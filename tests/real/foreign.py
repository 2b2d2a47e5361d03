"""What the test suites of others share that run with the library preloaded (glibc_malloc.py, mimalloc_tests.py, stress_ng.py): the
ways to run a program, and the list beside each suite that says how each test ends in each way.

A list has a line for each test: its name, what is expected in the ways off, sampled and full, and a reason where one of these is
not "pass". A line that begins with spaces goes on with what is before it; # begins a comment.
  pass     ends as with glibc, the library reports nothing, its traces are complete
  says     ends as with glibc, and the library reports what the line "says:" has, a regular expression for each message
  lacks    ends as with glibc, and each of its traces that is not complete misses what the line "lacks:" has, likewise; the library
           reports what a line "says:" has, or nothing
  fail:N   ends with the exit status N, not 0, and otherwise than with glibc: the reason says why that is as it should be. A signal,
           or no end, is never as it should be
  out      is not run
A line "changed:" tells what was changed in the test before it was compiled, and why; those that were changed have one, others none.
What does not come as listed is a failure, a pass in place of a "fail" as well: the list tells the truth or the test fails."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True
import folders  # noqa: E402

LIBRARY = os.environ["PROFALLOC_LIB"]
TOOL = os.environ["PROFALLOC_TOOL"]
ROOT = Path(os.environ["PROFALLOC_SOURCE_DIR"])
HERE = Path(__file__).resolve().parent

WAYS = {"off": "", "sampled": "prof:true,sample:4096", "full": "prof:true,sample:1"}
WORD = re.compile(r"pass|says|lacks|fail:[1-9]\d*|out")
GOES_ON = re.compile(r"^  missing:.* goes on: ", re.MULTILINE)
SAYS = re.compile(r"^profalloc: .*", re.MULTILINE)


class Listed:
    """One line of a list, and those that go on with it."""

    def __init__(self, name, words, reason):
        self.name, self.told, self.last = name, {"reason": reason}, "reason"
        self.expected = dict(zip(WAYS, words))

    def goes_on(self, text):
        key = re.match(r"(says|lacks|changed): ", text)
        if key:
            self.last, text = key[1], text[key.end():]
        self.told[self.last] = f"{self.told.get(self.last, '')} {text}".strip()

    def wrong(self):
        """What is wrong with it; "" if nothing is."""
        words = set(self.expected.values())
        if not self.told["reason"] and words != {"pass"}:
            return "has no reason"
        for word in ("says", "lacks"):
            if word in words and word not in self.told:
                return f"has '{word}' without a line '{word}:'"
        if "lacks" in self.told and "lacks" not in words or "says" in self.told and not words & {"says", "lacks"}:
            return "has a line 'says:' or 'lacks:' for nothing"
        return ""


def read_list(path, changed):
    """changed: the names of tests that are changed before they are compiled."""
    entries = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].rstrip()
        if line.startswith(" ") and entries:
            entries[-1].goes_on(line.strip())
        elif line:
            name, *rest = line.split()
            if len(rest) < len(WAYS) or not all(map(WORD.fullmatch, rest[:len(WAYS)])):
                sys.exit(f"{path}:{number}: a name, three of {WORD.pattern}, and a reason are expected")
            entries.append(Listed(name, rest[:len(WAYS)], " ".join(rest[len(WAYS):])))
    for entry in entries:
        if entry.wrong():
            sys.exit(f"{path}: {entry.name} {entry.wrong()}")
        if ("changed" in entry.told) != (entry.name in changed):
            sys.exit(f"{path}: {entry.name} is changed, and the list does not tell, or the other way round")
    names = [entry.name for entry in entries]
    if len(set(names)) != len(names):
        sys.exit(f"{path}: a test is there twice")
    return entries


def environment(way, traces, more=None, conf=""):
    """Of a run; way None is glibc."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("PROFALLOC_", "MALLOC_", "MIMALLOC_")) and key not in ("LD_PRELOAD", "GLIBC_TUNABLES")}
    env.update({"LC_ALL": "C.UTF-8", "LANGUAGE": "C"})
    if way is not None:
        env["LD_PRELOAD"] = LIBRARY
        settings = ",".join(filter(None, (WAYS[way], conf, f"out:{traces}/%e.%p.pa" if WAYS[way] and "out:" not in conf else "")))
        if settings:
            env["PROFALLOC_CONF"] = settings
    return {**env, **(more or {})}


class Ending:
    """How a run ended, what it said, and what is wrong with its traces."""

    def __init__(self, status, output, wrong=(), seconds=0.0):
        self.status, self.output, self.wrong, self.seconds = status, output, list(wrong), seconds
        self.said = SAYS.findall(output)


def end_session(process):
    """Kills all that is left of what a test began, which is a session of its own; its process groups may be several."""
    for entry in os.listdir("/proc"):
        try:
            fields = Path("/proc", entry, "stat").read_text(errors="replace").rpartition(")")[2].split() if entry.isdigit() else []
            if fields and int(fields[3]) == process.pid and fields[0] != "Z":
                os.kill(int(entry), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            continue


def first_to_go():
    """Where a limit on memory does not hold, the kernel is to end the test and nothing else."""
    Path("/proc/self/oom_score_adj").write_text("1000")


def run(command, folder, way=None, more=None, conf="", limit=300, needs=""):
    """Runs a command in an empty folder of its own, which is removed; `limit` seconds are so many that only a hang takes them. `needs`
    is a text that it prints if it did its work."""
    shutil.rmtree(folder, ignore_errors=True)
    traces = folder / "traces"
    traces.mkdir(parents=True)
    for path in (folder, traces):
        path.chmod(0o1777)  # for commands that become another user
    began = time.monotonic()
    with open(folder / "output", "w+b") as output:
        process = subprocess.Popen([str(word) for word in command], cwd=folder, env=environment(way, traces, more, conf),
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                   preexec_fn=first_to_go)
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            status = f"no end after {limit} s"
        end_session(process)
        process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    if status == 0 and needs not in text:
        status = f"0 without a word of '{needs}'"
    recorded = way is not None and WAYS[way] and "out:" not in conf
    wrong = check_traces(traces) if recorded else []
    folders.remove_tables(traces)
    shutil.rmtree(folder, ignore_errors=True)
    return Ending(status, text, wrong, time.monotonic() - began)


def check_traces(folder):
    """What is wrong with them. A process that was killed with its group leaves its end to the tool."""
    wrong, found = [], sorted(folder.glob("*.pa"))
    if not found:
        wrong.append("no trace was left")
    for start in range(0, len(found), 64):
        some = [trace for trace in found[start:start + 64] if trace.stat().st_size != 0]  # empty: killed before the first block
        if not some:
            continue
        done = subprocess.run([TOOL, "check", *some], capture_output=True, text=True, errors="replace", check=False)
        for said in re.split(r"^(?=/)", done.stdout, flags=re.MULTILINE):
            missing = re.findall(r"^  missing:.*", said, re.MULTILINE)
            if missing and not (len(missing) == 1 and GOES_ON.search(said)):
                wrong.append(f"check: {said.strip()}")
        if done.stderr:
            wrong.append(f"check: {done.stderr.strip()}")
    return wrong


def judge(entry, reference, ending):
    """The word that this ending deserves, and what there is to see if that is not the one listed."""
    seen = f"status {ending.status}, with glibc {reference.status}\n{ending.output[-2000:]}"
    if ending.status != reference.status:
        return f"fail:{ending.status}", seen
    missing = [line for said in ending.wrong for line in re.findall(r"^  missing: (.*)", said, re.MULTILINE) or [said]]
    found = {"lacks": missing, "says": [line.removeprefix("profalloc: ") for line in ending.said]}
    for word, lines in found.items():
        others = [line for line in lines if not re.fullmatch(entry.told.get(word, ""), line)]
        if others:
            return f"{word} something else", "\n".join(others[:5])
    for word, lines in found.items():
        if lines:
            return word, "\n".join(lines[:5])
    return "pass", seen


def run_test(entry, scratch, command_for):
    """One test of a list in all its ways; complaints, and a line that tells of it. command_for(entry): the command and a dictionary
    of settings of `run`."""
    if set(entry.expected.values()) == {"out"}:
        return [], None
    command, settings = command_for(entry)
    folder = scratch / f"run-{entry.name}"
    reference = run(command, folder, **{**settings, "conf": ""})
    if reference.status != 0:
        return [f"{entry.name}: fails with glibc itself: status {reference.status}\n{reference.output[-2000:]}"], None
    complaints, times = [], [f"{reference.seconds:.1f}"]
    for way, expected in entry.expected.items():
        if expected == "out":
            continue
        ending = run(command, folder, way, **settings)
        word, seen = judge(entry, reference, ending)
        times.append(f"{ending.seconds:.1f}")
        if word != expected:
            complaints.append(f"{entry.name}: {way}: {word}, and the list says {expected}: {seen}")
    return complaints, f"{entry.name}: {' '.join(entry.expected.values())}; s: {' '.join(times)}"


def run_list(entries, scratch, command_for, at_once=2):
    """All of a list; the status to end with."""
    only = os.environ.get("REAL_ONLY", "").split()  # to repeat some
    entries = [entry for entry in entries if not only or entry.name in only]
    failed = 0
    with ThreadPoolExecutor(at_once) as pool:
        for complaints, told in pool.map(lambda entry: run_test(entry, scratch, command_for), entries):
            if told:
                print(told, flush=True)
            for complaint in complaints:
                failed += 1
                print(f"NOT AS LISTED: {complaint}", flush=True)
    print(f"{len(entries)} tests, {sum(set(e.expected.values()) == {'out'} for e in entries)} of them out; {failed} not as listed")
    return 1 if failed else 0


def build(command, what):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cannot build {what}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
