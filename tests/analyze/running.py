#!/usr/bin/env python3
"""run: the command's status, its environment, its signals, and the traces that are there afterwards."""
import os
import re
import signal
import subprocess
import time

import support
from support import MAKER, TOOL, check, equal, tool


def statuses(folder):
    for command, status in ((["true"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137),
                            (["sh", "-c", "kill -TERM $$"], 143)):
        tool("run", "--", *command, status=status, cwd=folder)
    _, said = tool("run", "--", "there-is-no-such-command", status=127, cwd=folder)
    check("no such command" in said, said)
    _, said = tool("run", "--", "./absent", status=127, cwd=folder)
    check("absent" in said, said)
    (folder / "data").write_text("no program")
    _, said = tool("run", "--", "./data", status=126, cwd=folder)
    check("Permission denied" in said, said)
    tool("run", status=2, cwd=folder)
    ran = ("--", "touch", "ran")
    for wrong in ("many", "0", "-1", "2T", "1025G", "99999999999999999999", "17179869184G", "1KK", ""):
        _, said = tool("run", "--sample", wrong, *ran, status=2, cwd=folder)
        check("--sample takes a number from 1 to 1099511627776" in said, said)
    for wrong in ("-1", "257", "1K", "x"):
        _, said = tool("run", "--depth", wrong, *ran, status=2, cwd=folder)
        check("--depth takes a number from 0 to 256" in said, said)
    for wrong, word in (("out:x.pa", "use -o"), ("abort:true, end :false", "ends the traces itself"), ("prof:false", "for recording")):
        _, said = tool("run", "--conf", wrong, *ran, status=2, cwd=folder)
        check("--conf cannot set" in said and word in said, said)
    check(not (folder / "ran").exists(), "nothing was run")
    tool("run", "--sample", "1024G", "--depth", "256", "--conf", "dump_peak:0", *ran, cwd=folder)
    check((folder / "ran").exists(), "what is in range is run")
    tool("run", "-o", "a,b.pa", "--", "true", status=2, cwd=folder)
    _, said = tool("run", "-o", "absent/x.pa", "--", "true", status=2, cwd=folder)
    check("absent" in said, said)


def environment(folder):
    show = ["sh", "-c", "echo \"$LD_PRELOAD\"; echo \"$PROFALLOC_CONF\""]
    clean = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "PROFALLOC_CONF")}
    folder = folder.resolve()
    out, _ = tool("run", "--", *show, cwd=folder, env=clean)
    preload, conf = out.splitlines()[:2]
    check(os.path.samefile(preload, os.environ["PROFALLOC_LIB"]), f"LD_PRELOAD={preload}")
    number = re.search(r",run:(\d+),", conf)[1]
    equal(conf, f"sample:1,follow:true,prof:true,end:false,run:{number},out:{folder}/%e.%p.pa", "PROFALLOC_CONF")
    out, _ = tool("run", "-o", "/tmp/x.%p.pa", "--sample", "64K", "--depth", "8", "--no-follow", "--conf", "abort:true", "--", *show,
                  cwd=folder, env={**clean, "PROFALLOC_CONF": "summary:false", "LD_PRELOAD": "libm.so.6"})
    preload, conf = out.splitlines()[:2]
    check(preload.endswith(":libm.so.6"), f"LD_PRELOAD={preload}")
    another = re.search(r",run:(\d+),", conf)[1]
    check(another != number, "each run has a number of its own")
    equal(conf, f"sample:1,follow:true,summary:false,prof:true,end:false,run:{another},out:/tmp/x.%p.pa,sample:64K,stack_depth:8,"
          "follow:false,abort:true", "PROFALLOC_CONF")
    # The caller's own goes before defaults, and what is given before that.
    trace = folder / "sampled.pa"
    for conf, options, sample in (("sample:64K", (), 65536), ("sample:64K", ("--sample", "128K"), 131072), ("prof:false", (), 1),
                                  ("sample:32K # a word", (), 32768), ("", ("--conf", "sample:16K"), 16384)):
        tool("run", "-o", trace, *options, "--", "/bin/true", env={**clean, "PROFALLOC_CONF": conf})
        equal(support.report(trace)["files"][0]["sample"], sample, f"PROFALLOC_CONF={conf} {options}")
    for conf, options, count in (("follow:false", (), 1), ("follow:false", ("--follow",), 3), ("", ("--conf", "follow:false"), 1),
                                 ("", (), 3), ("", ("--no-follow",), 1)):
        tool("run", "-o", folder / "x.%p.pa", "--list", folder / "names", *options, "--", "sh", "-c", "/bin/ls >&2; /bin/ls / >&2",
             env={**clean, "PROFALLOC_CONF": conf})
        equal(len((folder / "names").read_text().splitlines()), count, f"traces with PROFALLOC_CONF={conf} {options}")
    leader = ["sh", "-c", "echo $$ $PROFALLOC_LEADER"]
    equal(len(tool("run", "--", *leader, cwd=folder, env=clean)[0].split()), 1, "no leader where all are followed")
    equal(len(set(tool("run", "--no-follow", "--", *leader, cwd=folder, env=clean)[0].split())), 1, "the leader is the command")
    _, said = tool("run", "--", "true", status=1, env={**clean, "PROFALLOC_LIB": str(folder / "absent.so")})
    check("PROFALLOC_LIB" in said, said)


def signals(folder):
    """What is sent to the tool reaches the command; the tool ends when the command does."""
    for name in ("TERM", "HUP", "USR1", "INT"):
        script = f"trap 'echo got; exit 5' {name}; echo ready; while :; do sleep 0.05; done"
        # A shell that a script runs in the background ignores SIGINT; a group of its own does not.
        process = subprocess.Popen([TOOL, "run", "--", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   cwd=folder, start_new_session=True)
        equal(process.stdout.readline(), "ready\n", "the command is ready")
        process.send_signal(getattr(signal, "SIG" + name))
        out, _ = process.communicate(timeout=1800)
        equal((out, process.returncode), ("got\n", 5), f"after SIG{name}")


def no_library(folder):
    """The environment for a run in which nothing is recorded: of another library."""
    (folder / "other.c").write_text("")
    subprocess.run([os.environ["CC"], "-shared", "-o", folder / "other.so", folder / "other.c"], check=True)
    return {**os.environ, "PROFALLOC_LIB": str(folder / "other.so")}


def traces(folder):
    """A stand-in for the library: the command makes traces as if of its own process, one of them killed."""
    script = (f'run=${{PROFALLOC_CONF#*run:}} run=run=${{run%%,*}}; {MAKER} killed made.$$.pa 1000 1 now pid=$$ $run >/dev/null; '
              f'{MAKER} ended child.1.pa 10 1 now pid=1 $run >/dev/null')
    _, said = tool("run", "--", "sh", "-c", script, cwd=folder, env=no_library(folder))
    profile = [p for p in folder.iterdir() if p.name.startswith("made.") and p.suffix == ".pa"]
    equal(len(profile), 1, "one trace of the command")
    check(f"the profile is {profile[0].resolve()}" in said, said)
    check(not os.path.exists(f"{profile[0]}.live"), "it was sealed")
    for word in ("allocated  1,000 chunks", "freed ", "live ", "peak ", "worst ", "_site"):
        check(word in said, f"'{word}' in the summary: {said}")
    check("1 more trace, of other processes or programs" in said and "child.1.pa" in said, said)
    support.make("ended", folder / "old.1.pa", 10, 1)
    _, said = tool("run", "-o", "old.%p.pa", "--", "true", cwd=folder, env=no_library(folder))
    check("left no trace" in said, f"an older trace is not this run's: {said}")


def listed(folder):
    """--list: the traces of this run, the command's own first: of what it became by exec."""
    folder = folder.resolve()
    support.make("ended", folder / "old.1.pa", 10, 1)
    tool("run", "--list", "names", "--", "sh", "-c", "/bin/ls >&2; exec /bin/cat /dev/null", cwd=folder)
    names = (folder / "names").read_text().splitlines()
    check(os.path.basename(names[0]).startswith("cat."), f"the first is the command's own: {names}")
    equal(len(names), 3, f"traces of sh, ls and cat: {names}")
    equal(set(names), {str(p) for p in folder.glob("*.pa")} - {str(folder / "old.1.pa")}, "names in the list")
    equal(support.report(names[0])["files"][0]["program"], os.path.realpath("/bin/cat"), "the program of the first")
    tool("run", "--list", "names", "--", "true", cwd=folder, env=no_library(folder))
    equal((folder / "names").read_text(), "", "the list of a run without traces")
    _, said = tool("run", "--list", "absent/names", "--", "sh", "-c", "exit 7", status=7, cwd=folder)
    check("cannot write absent/names" in said and "the profile is" in said, said)


def two_at_once(folder):
    """Two runs in one folder: each knows its own traces."""
    folder = folder.resolve()
    os.mkfifo(folder / "gate")
    longer = subprocess.Popen([support.TOOL, "run", "--list", "one", "--", "sh", "-c", "/bin/true; /bin/cat gate; exit"], cwd=folder,
                              stderr=subprocess.DEVNULL)
    for _ in range(3):
        tool("run", "--list", "other", "--", "sh", "-c", "/bin/ls >&2; /bin/true", cwd=folder)
        names = [os.path.basename(name) for name in (folder / "other").read_text().splitlines()]
        equal(sorted(name.split(".")[0] for name in names), ["dash", "ls", "true"], f"traces of the shorter: {names}")
    check(longer.poll() is None, "the longer goes on")
    (folder / "gate").write_text("")
    equal(longer.wait(), 0, "status of the longer")
    names = [os.path.basename(name) for name in (folder / "one").read_text().splitlines()]
    equal(sorted(name.split(".")[0] for name in names), ["cat", "dash", "true"], f"traces of the longer: {names}")


def fixed_name(folder):
    """A name without %p: the next run replaces the trace, and nothing else."""
    folder = folder.resolve()
    trace = folder / "fixed.pa"

    def run(*command, name="fixed.pa"):
        """What it said, and the traces that it listed."""
        _, said = tool("run", "-o", name, "--list", "names", "--", *command, cwd=folder)
        return said, (folder / "names").read_text().splitlines()

    pids = set()
    for program in ("/bin/ls", "/bin/cat", "/bin/ls"):
        said, names = run(program, "/dev/null")
        equal(names, [str(trace)], "traces")
        check(f"the profile is {trace}" in said, said)
        data = support.report(trace)["files"][0]
        equal((data["program"], data["end"]), (os.path.realpath(program), "exit"), "whose trace it is")
        pids.add(data["pid"])
        equal(sorted(p.name for p in folder.iterdir()), ["fixed.pa", "names"], "files")
    equal(len(pids), 3, "processes")
    # Its children and what it becomes cannot have the same name; those are not taken for the next run's to replace.
    said, names = run("sh", "-c", "/bin/ls >&2; exec /bin/cat /dev/null")
    equal(sorted(names), [str(folder / f"fixed{n}.pa") for n in (".2", ".3", "")], "traces of sh, ls and cat")
    equal([os.path.basename(support.report(n)["files"][0]["program"]) for n in names[:1]], ["cat"], "the command's own")
    check(f"the profile is {names[0]}" in said and "2 more traces" in said, said)
    run("/bin/ls")
    equal(len(list(folder.glob("fixed*.pa"))), 3, "traces of another run")
    # What is no trace is not replaced.
    (folder / "notes.pa").write_text("mine")
    said, names = run("/bin/ls", name="notes.pa")
    equal((folder / "notes.pa").read_text(), "mine", "a file of the same name")
    equal(names, [str(folder / "notes.2.pa")], "traces")
    check(f"the profile is {names[0]}" in said, said)


def no_preload(folder):
    source = folder / "static.c"
    source.write_text("int main(void) { return 3; }\n")
    subprocess.run([os.environ["CC"], "-static", "-o", folder / "static", source], check=True)
    _, said = tool("run", "--", "./static", status=3, cwd=folder)
    check("statically linked" in said, said)


support.main(statuses=statuses, environment=environment, signals=signals, traces=traces, listed=listed,
             two_at_once=two_at_once, fixed_name=fixed_name, no_preload=no_preload)
