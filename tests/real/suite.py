#!/usr/bin/env python3
"""The test suites of LevelDB and memcached, on instrumented builds with everything recorded.

    suite.py leveldb|memcached SCRATCH

Every test is run on a plain build and on those by GCC's flags and by Clang's pass (or its flags, where there is no pass), and
must end the same way, with the same tests passed, and complete traces. (Of memcached's that depend on the clock only the traces count.
One that keeps four threads busy for 40 s, however much they get done, is run on the last of these alone, and must pass.) One that
fails on the plain build is a failure as well: two equal failures prove nothing. The builds are those of bench/run, in the build
folder.
"""
import concurrent.futures
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("PROFALLOC_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD_DIR = pathlib.Path(os.environ["PROFALLOC_BUILD_DIR"]).resolve()
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import folders  # noqa: E402
from driver import instrumented, leveldb, memcached  # noqa: E402
from driver.process import BenchFailure, base_environment  # noqa: E402

TEST_SECONDS = 1800
GOES_ON = re.compile(r"^  missing:.* goes on: ", re.MULTILINE)

# Of LevelDB's: those that write and compact for minutes on end.
LEVELDB_TOO_LONG = {"autocompact_test", "issue178_test", "issue320_test"}

# Of memcached's: all but those that skip themselves here (for want of TLS, SASL or the proxy, or as too long), and those of
# its storage on disk, one that starts no server, and issue_50, whose only check gives the server two seconds.
MEMCACHED_TESTS = """00-startup 64bit ascii-auth binary-get binary bogus-commands cas chunked-items conn-limits daemonize dash-M
dyn-maxbytes evictions expirations flags flush-all getandtouch getset idle-timeout incrdecr issue_104 issue_108 issue_14 issue_152 issue_163 issue_183 issue_192 issue_22 issue_29
issue_3 issue_41 issue_42 issue_61 issue_68 issue_70 item_size_max lru lru-crawler lru-maintainer
malicious-commands metaget multiversioning noreply quit restart shutdown slabs-reassign-chunked slabs-reassign2 slabs_reassign
stats-conns stats-detail stats strtol-testing touch udp unixsocket watcher watcher_connid issue_67 maxconns""".split()

# Those that give the server a second or a few, or the test itself: on a busy machine they fail on the plain build too. They are
# run, something of them must pass, and their traces are looked at; what they say is not compared.
MEMCACHED_BY_THE_CLOCK = set("""dyn-maxbytes expirations flush-all getandtouch idle-timeout issue_163 lru-maintainer restart
slabs-reassign2 slabs_reassign touch udp watcher""".split())

# Those with ports of their own choice, the same for each build.
MEMCACHED_FIXED_PORTS = {"issue_67"}

# Those that check once for each connection that they happen to see refused.
MEMCACHED_ANY_NUMBER = {"maxconns"}

# The others look for a free one among those that systems give to anyone who connects, and may find it taken by then: each
# build gets ports below these for itself, and of these each test that runs at the same time a share.
FIRST_PORT, PORTS_EACH = 12000, 6000

# memcached's sleep for most of their time: so many are run at once, each on all builds.
MEMCACHED_AT_ONCE = 4
PORT = "PROFALLOC_TEST_PORT"


class Run:
    """One build with its way of being run."""

    def __init__(self, build, scratch, first_port):
        self.build, self.scratch, self.first_port = build, scratch / build.name, first_port
        self.scratch.mkdir(parents=True)

    def environment(self, lane):
        settings = {**base_environment(), "HOME": str(self.scratch), "TEST_TMPDIR": str(self.scratch),
                    "BENCHMARK_FILTER": "none at all"}
        if self.build.instrumented:
            settings["LD_LIBRARY_PATH"] = str(BUILD_DIR)
            settings["PROFALLOC_CONF"] = f"prof:true,sample:1,accesses:true,out:{self.traces(lane)}/%e.%p.pa"
        if self.first_port is not None:
            settings[PORT] = str(self.first_port + lane * (PORTS_EACH // MEMCACHED_AT_ONCE))
        return settings

    def traces(self, lane):
        return self.scratch / f"traces-{lane}"

    def test(self, lane, command, cwd):
        """Exit code and output of one test; its traces are looked at and removed. Of a lane there is one at a time."""
        self.traces(lane).mkdir()
        began = time.monotonic()
        try:
            done = subprocess.run([str(part) for part in command], cwd=cwd, env=self.environment(lane), text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  errors="replace", timeout=TEST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return -1, f"not done after {TEST_SECONDS} s", [], time.monotonic() - began
        return done.returncode, done.stdout, self._check_traces(lane), time.monotonic() - began

    def _check_traces(self, lane):
        """What is wrong with them. Servers may still be ending; those that are killed leave their end to the tool."""
        wrong = []
        found = sorted(self.traces(lane).glob("*.pa"))
        if self.build.instrumented and not found:
            wrong.append("no trace was left")
        for trace in found:
            if trace.stat().st_size == 0:
                continue  # killed before the first block was written
            said = subprocess.run([BUILD_DIR / "profalloc", "check", trace], capture_output=True, text=True, check=False)
            missing = re.findall(r"^  missing:.*", said.stdout, re.MULTILINE)
            if said.returncode != 0 and not (len(missing) == 1 and GOES_ON.search(said.stdout)):
                wrong.append(f"check of {trace.name}: {said.stdout}{said.stderr}".strip())
        folders.remove(self.traces(lane))
        return wrong


def passed_of_googletest(output):
    return sorted(re.findall(r"^\[       OK \] (\S+)", output, re.MULTILINE)) or re.findall(r"^PASS$", output, re.MULTILINE)


def passed_of_perl(output):
    """Names carry ports, sizes and times now and then: the numbers of the tests will do."""
    return [line.split(" - ")[0].strip() for line in output.splitlines() if re.match(r"(not )?ok\b", line)]


def builds():
    gcc, clang, has_pass = instrumented.find_compilers(BUILD_DIR)
    return [instrumented.Build(gcc, "plain"), instrumented.Build(gcc, "flags"),
            instrumented.Build(clang, "pass" if has_pass else "flags")]


def compare(name, lane, runs, commands, passed):
    """Runs a test on each build; what differs from the first. commands: build name -> (command, folder)"""
    reference, complaints, times = None, [], []
    runs = [run for run in runs if run.build.name in commands]
    at_once = 1 if name in MEMCACHED_FIXED_PORTS else len(runs)  # memcached's sleep more than they work
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        outcomes = list(pool.map(lambda run: run.test(lane, *commands[run.build.name]), runs))
    for run, (code, output, wrong, seconds) in zip(runs, outcomes):
        times.append(f"{seconds:.1f}")
        if "profalloc: " in output:
            wrong.append("the library reported something")
        complaints += [f"{name} on {run.build.name}: {what}" for what in wrong]
        found = passed(output)
        result = (code, sorted({line.split()[0] for line in found}) if name in MEMCACHED_ANY_NUMBER else found)
        reference = reference or result
        if name in MEMCACHED_BY_THE_CLOCK:
            if not any(line.startswith("ok") for line in found):
                complaints.append(f"{name} on {run.build.name}: nothing passed\n{output[-1500:]}")
        elif reference[0] != 0 or not reference[1]:
            complaints.append(f"{name}: fails on {run.build.name}: exit code {code}\n{output[-1500:]}")
            break
        elif result != reference:
            complaints.append(f"{name} on {run.build.name}: exit code {code}, {len(result[1])} passed; plain: exit code "
                              f"{reference[0]}, {len(reference[1])} passed\n{output[-1500:]}")
    print(f"{name}: {len(reference[1])} tests; s: {' '.join(times)}", flush=True)
    return complaints


# The first counts files while compactions go on behind it: now and then it fails on the plain build too, on a busy machine. The
# second keeps threads busy.
LEVELDB_THREADS = "DBTest.MultiThreaded"
LEVELDB_BUT = f"--gtest_filter=-DBTest.HiddenValuesAreRemoved:{LEVELDB_THREADS}"


def leveldb_suite(scratch):
    """Test files are compiled once, without instrumentation, and linked with each build of the library."""
    toolchains = instrumented.Toolchains(ROOT / "bench", BUILD_DIR)
    source = instrumented.source_of(ROOT, "leveldb", "benchmarks/db_bench.cc")
    chosen = builds()
    made_in = {build.name: leveldb.make(toolchains, ROOT, source, build,
                                        "leveldb" if build.instrumented else "suite").parent for build in chosen}
    plain = made_in[chosen[0].name]
    names = sorted(path.name for path in (plain / "suite").iterdir() if path.name not in LEVELDB_TOO_LONG)
    commands = {name: {chosen[0].name: ([plain / "suite" / name, LEVELDB_BUT], scratch)} for name in names}
    for build in chosen[1:]:
        for name in names:
            objects = [path for made_for in (name, "suite_util") for path in sorted((plain / "CMakeFiles" / f"{made_for}.dir").rglob("*.o"))]
            made = scratch / f"{name}-{build.name}"
            instrumented.run_step([toolchains.compilers(build)[1], *objects, made_in[build.name] / "libleveldb.a",
                                   "-lgmock", "-lgtest", "-lbenchmark", "-pthread", "-o", made],
                                  toolchains.environment(build))
            instrumented.check_build(build, made)
            commands[name][build.name] = ([made, LEVELDB_BUT], scratch)
    last = chosen[-1].name
    commands[LEVELDB_THREADS] = {last: ([scratch / f"db_test-{last}", f"--gtest_filter={LEVELDB_THREADS}"], scratch)}
    return chosen, commands, passed_of_googletest, 1


def change_module(folder):
    """Two changes of what its tests share. The range of ports that they choose from begins where the environment says. And they wait for
    a daemon, whose parent has ended, as for other servers: it had one second, and less than that on a busy machine."""
    module = folder / "t" / "lib" / "MemcachedTest.pm"
    text, ports = re.subn(r"int\(rand\(\d+\)\) \+ (\d+|\$ENV\{\w+\})", f"int(rand({PORTS_EACH // MEMCACHED_AT_ONCE})) + $ENV{{{PORT}}}",
                          module.read_text())
    text, waits = re.subn(r"not running\"\) unless is_running\(\$childpid\)( \|\| \$args =~ /-d\\b/)?;",
                          r'not running") unless is_running($childpid) || $args =~ /-d\\b/;', text)
    if (ports, waits) != (1, 2):
        raise BenchFailure(f"{module} is not as expected")
    module.write_text(text)


def change_binary(folder):
    """An item that is to be there when it is touched lives for a second: half a minute does as well."""
    test = folder / "t" / "binary.t"
    text, count = re.subn(r'(set\("totouch", "toast\d?", 0, )(1|30)\)', r"\g<1>30)", test.read_text())
    if count != 3:
        raise BenchFailure(f"{test} is not as expected")
    test.write_text(text)


def memcached_suite(scratch):
    del scratch
    toolchains = instrumented.Toolchains(ROOT / "bench", BUILD_DIR)
    source = instrumented.source_of(ROOT, "memcached", "memcached.c")
    chosen, made = builds(), {}
    for build in chosen:
        folder = made[build.name] = memcached.make(toolchains, source, build,
                                                   ("memcached-debug", "testapp", "timedrun")).parent
        instrumented.check_build(build, folder / "memcached-debug")
        change_module(folder)
        change_binary(folder)
    commands = {name: {build.name: (["perl", f"t/{name}.t"], made[build.name]) for build in chosen}
                for name in MEMCACHED_TESTS}
    commands["testapp"] = {build.name: ([made[build.name] / "testapp"], made[build.name]) for build in chosen}
    return chosen, commands, passed_of_perl, MEMCACHED_AT_ONCE


def main(which, scratch):
    suite = {"leveldb": leveldb_suite, "memcached": memcached_suite}[which]
    scratch = pathlib.Path(scratch)
    folders.use_memory(2048)  # or on the disk, which takes longer
    with tempfile.TemporaryDirectory(prefix="profalloc-suite-") as memory:
        return run_suite(which, suite, scratch, pathlib.Path(memory))


def run_suite(which, suite, scratch, memory):
    """Programs are made in scratch; what they write is kept in memory."""
    try:
        chosen, commands, passed, at_once = suite(scratch)
    except BenchFailure as failure:
        print(f"suite: cannot build: {failure}", file=sys.stderr)
        return 1
    runs = [Run(build, memory, FIRST_PORT + number * PORTS_EACH) for number, build in enumerate(chosen)]
    print(f"{which}: {', '.join(build.name for build in chosen)}", flush=True)
    lanes = queue.SimpleQueue()
    for lane in range(at_once):
        lanes.put(lane)

    def test(name):
        lane = lanes.get()
        try:
            return compare(name, lane, runs, commands[name], passed)
        finally:
            lanes.put(lane)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        complaints = [what for found in pool.map(test, commands) for what in found]
    for what in complaints:
        print(f"suite: {what}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
