#!/usr/bin/env python3
"""Traces in circumstances that are hard on them: forks, libraries that come and go, disks that are full, daemons. The program
is never harmed; the totals are exact, or what is missing is said."""
import ctypes
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import capture
import support
from capture import Notes, check, equal

PROGRAM = capture.program("exact/circumstances")
PREFIX = "profalloc: "


def said_by_us(said):
    return [line for line in said.splitlines() if line.startswith(PREFIX)]


def run(folder, *arguments, conf="", **options):
    """Runs the program; returns what the library said."""
    return said_by_us(capture.capture(folder, [PROGRAM, "notes", *arguments], conf, **options))


def exact(folder, *arguments, conf="", **options):
    """The same where nothing is to be said and nothing may be missing."""
    equal(run(folder, *arguments, conf=conf, **options), [], "messages")
    return capture.check_trace(capture.trace(folder), folder / "notes")


def trace_of(folder, pid):
    found = [path for path in capture.traces(folder) if f".{pid}." in path.name]
    equal(len(found), 1, f"traces of process {pid}")
    return found[0]


# --- other processes --------------------------------------------------------------------------------------------------


def fork_children(folder, how="fork"):
    """Each child has a trace, and counts what it did itself. Chunks from before the fork are the parent's."""
    equal(run(folder, "fork", how), [], "messages")
    children = list(folder.glob("notes.*"))
    equal((len(children), len(capture.traces(folder))), (4, 5), "children, traces")
    parents = set()
    for notes in children:
        path = trace_of(folder, notes.name.split(".")[1])
        data = capture.check_trace(path, notes)
        equal(data["files"][0]["forked"], True, "forked")
        parents.add(data["files"][0]["parent_pid"])
        check(any("from before a fork" in text for text in data["files"][0]["remarks"]), data["files"][0]["remarks"])
    equal(len(parents), 1, "the children have one parent")
    capture.check_trace(trace_of(folder, parents.pop()), folder / "notes")


def fork_past_handlers(folder):
    """The same of children that no fork handler hears of."""
    for how in ("_Fork", "clone"):
        own = folder / how
        own.mkdir()
        fork_children(own, how)


EARLY = """
#include <pthread.h>
#include <stdlib.h>
void *early_chunk;
__attribute__((noinline)) void *early_get(void) { char *p = malloc(4321); p[0] = 1; return p; }
static void *volatile own;
static void in_child(void) { free(early_chunk); own = malloc(10); free(own); }
__attribute__((constructor)) static void begin(void) { pthread_atfork(0, 0, in_child); early_chunk = early_get(); }
"""
FORKER = """
#include <sys/wait.h>
#include <unistd.h>
extern void *early_chunk;
int main(void)
{
    for (int i = 0; i < 5; i++) {
        if (fork() == 0) _exit(early_chunk == 0);
        wait(0);
    }
    return 0;
}
"""


def early_handlers(folder):
    """A library that was there before ours frees in the child what its parent keeps."""
    (folder / "early.c").write_text(EARLY)
    (folder / "forker.c").write_text(FORKER)
    cc = [os.environ["CC"], "-g", "-O1"]
    subprocess.run([*cc, "-fPIC", "-shared", "-o", folder / "libearly.so", folder / "early.c"], check=True)
    subprocess.run([*cc, "-o", folder / "forker", folder / "forker.c", folder / "libearly.so", f"-Wl,-rpath,{folder}"],
                   check=True)
    equal(said_by_us(capture.capture(folder, [folder / "forker"])), [], "messages")
    reports = [support.report(path) for path in capture.traces(folder)]
    parent, = [data for data in reports if not data["files"][0]["forked"]]
    point, = capture.points_of(parent, "early_get")
    equal((point["live_chunks"], point["live_bytes"], parent["complete"]), (1, 4321, True), "the parent's chunk")
    for data in reports:
        if data["files"][0]["forked"]:
            equal((data["totals"]["frees"], data["complete"]), (1, True), "the child's own frees")
    equal(len(reports), 6, "traces")


LOADED = """
#include <stdlib.h>
void *lib_get(size_t n);
void *lib_get(size_t n) { char *p = malloc(n); p[0] = 1; return p; }
"""
LOADER = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *stay(void *arg) { for (;;) pause(); return arg; }
int main(void)
{
    pthread_t thread;
    int status;
    pthread_create(&thread, 0, stay, 0);
    if (fork() == 0) {
        void *library = dlopen("./libloaded.so", RTLD_NOW);
        void *(*get)(size_t) = (void *(*)(size_t))dlsym(library, "lib_get");
        for (int i = 0; i < 100; i++) free(get(64));
        (void)get(32); /* stays */
        exit(0);
    }
    wait(&status);
    return status != 0;
}
"""


def fork_then_load(folder):
    """A child of a process with threads, which does not ask the loader, knows what it has loaded since."""
    (folder / "loaded.c").write_text(LOADED)
    (folder / "loader.c").write_text(LOADER)
    cc = [os.environ["CC"], "-g", "-O1"]
    subprocess.run([*cc, "-fPIC", "-shared", "-o", folder / "libloaded.so", folder / "loaded.c"], check=True)
    subprocess.run([*cc, "-o", folder / "loader", folder / "loader.c", "-pthread"], check=True)
    equal(said_by_us(capture.capture(folder, [folder / "loader"])), [], "messages")
    child, = [data for data in map(support.report, capture.traces(folder)) if data["files"][0]["forked"]]
    points = capture.points_of(child, "lib_get")
    equal((sum(p["allocations"] for p in points), sum(p["live_chunks"] for p in points)), (101, 1), "chunks of lib_get")
    for point in points:
        frame = next(f for f in point["stack"] if f["function"] == "lib_get")
        equal(Path(frame["module"]).name, "libloaded.so", "its module")


CALLS = """
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
extern void mprof_stop(void), mprof_restart(const char *);
extern int profalloc_start(size_t), profalloc_snapshot(const char *);
#pragma weak mprof_stop
#pragma weak mprof_restart
#pragma weak profalloc_start
#pragma weak profalloc_snapshot
static void *kept[5000];
static void make(int from, int count) { for (int i = 0; i < count; i++) kept[from + i] = malloc(100); }
static void *make_some(void *at) { make((int)(size_t)at * 100, 100); return NULL; }
static void leave(int signal) { exit(signal - SIGALRM); }
static void in_child(const char *what)
{
    pthread_t threads[8];
    if (strcmp(what, "stops") == 0) {
        mprof_stop();
    } else if (strcmp(what, "restarts") == 0) {
        mprof_restart("child.pa");
        make(1000, 700);
        kill(getpid(), SIGKILL);
    } else { /* threads whose first allocations come at once */
        for (size_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, make_some, (void *)i);
        for (size_t i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    }
    exit(0);
}
int main(int argc, char **argv)
{
    make(0, 1000);
    if (strcmp(argv[1], "again") == 0) {
        mprof_stop();
        make(1000, 10);
        if (profalloc_start(1) != 0) return 2;
        make(2000, 500);
        return profalloc_snapshot("now") != 0;
    }
    if (strcmp(argv[1], "exit") == 0) {
        struct itimerval soon = {.it_value = {.tv_usec = atoi(argv[2])}};
        signal(SIGALRM, leave);
        setitimer(ITIMER_REAL, &soon, NULL);
        for (;;) profalloc_snapshot("again");
    }
    if (strcmp(argv[1], "stopped") == 0) mprof_stop();
    if (fork() == 0) in_child(argc > 2 ? argv[2] : "restarts");
    wait(NULL);
    if (strcmp(argv[1], "killed") == 0) kill(getpid(), SIGKILL);
    return 0;
}
"""


def calls_around_forks(folder):
    """mprof's calls in children, and exit where a signal handler calls it: everything is told by somebody, once."""
    (folder / "calls.c").write_text(CALLS)
    program = folder / "calls"
    subprocess.run([os.environ["CC"], "-g", "-O0", "-o", program, folder / "calls.c", "-pthread"], check=True)

    def told(name, *arguments, status=0):
        place = folder / name
        place.mkdir()
        equal(said_by_us(capture.capture(place, [program, *arguments], status=status)), [], f"{name}: messages")
        found = {}
        for path in capture.traces(place):
            data = capture.check_trace(path)
            origin = "child" if data["files"][0]["forked"] else path.name.removeprefix("calls.").split(".", 1)[-1]
            functions = [p for f in ("make", "make_some") for p in capture.points_of(data, f)]
            found[origin] = sum({p["id"]: p["live_chunks"] for p in functions}.values())
        return found

    equal(told("stops", "killed", "stops", status=-signal.SIGKILL), {"pa": 1000}, "a child that stops leaves its parent alone")
    equal(told("restarts", "ends", "restarts"), {"pa": 1000, "child": 700}, "a child that goes on elsewhere, killed")
    equal(told("stopped", "stopped", "restarts"), {"pa": 1000, "child": 700}, "the same where the parent has stopped")
    equal(told("threads", "ends", "threads"), {"pa": 1000, "child": 800}, "threads of a child")
    equal(told("again", "again"), {"pa": 1000, "2.pa": 500}, "profalloc_start after mprof_stop")
    for moment in range(1000, 20000, 1700):
        equal(told(f"exit-{moment}", "exit", str(moment)), {"pa": 1000}, "exit in a handler")


def no_trace_yet(folder):
    """A name that cannot be written to, then mprof_restart with one that can."""
    said = said_by_us(capture.capture(folder, [PROGRAM, "notes", "restart", folder / "second.pa"],
                                      conf=f"out:{folder}/nowhere/first.pa"))
    equal(len(said), 2, f"messages: {said}")
    check("no such folder" in said[0] and "live table in memory" in said[1], said)
    capture.check_trace(capture.trace(folder), folder / "notes")


def restarts(folder):
    """mprof_restart again and again while other threads allocate and free: each trace is whole, and no life is told twice."""
    process = capture.start(folder, [PROGRAM, "notes", "restarts"], stdout=subprocess.PIPE)
    out, said = process.communicate(timeout=capture.TIME_LIMIT)
    equal((process.returncode, said_by_us(said)), (0, []), "status, messages")
    found = capture.traces(folder)
    equal(len(found), 31, "traces")
    told, with_lives = 0, 0
    for path in found:
        data = capture.check_trace(path)
        points = capture.points_of(data, "churn")
        alive = sum(point["live_chunks"] for point in points)
        check(alive <= 3 * 64, f"{path.name}: {alive} chunks alive")
        # What was alive at the end of the one trace is not in the next: its deaths are nobody's.
        told += sum(point["allocations"] for point in points)
        with_lives += bool(points)
    check(told <= int(out), f"{told} lives of {out}")
    check(with_lives > len(found) / 2, f"only {with_lives} traces have any of {out} lives")


def fork_not_followed(folder):
    equal(run(folder, "fork", conf="follow:false"), [], "messages")
    capture.check_trace(capture.trace(folder), folder / "notes")


def exec_followed(folder):
    """What a child executes is recorded too."""
    equal(run(folder, "spawn", PROGRAM, "notes2", "long"), [], "messages")
    data = [support.report(path) for path in capture.traces(folder)]
    second = [d["files"][0] for d in data if not d["files"][0]["forked"] and "spawn" not in str(d["files"][0]["command"])]
    equal(len(second), 1, "traces of the program that was executed")
    capture.check_trace(second[0]["path"], folder / "notes2")
    first = [d["files"][0] for d in data if d["files"][0]["pid"] == second[0]["parent_pid"]]
    equal(len(first), 1, "traces of the first program")
    capture.check_trace(first[0]["path"], folder / "notes")


def run_not_followed(folder):
    """`profalloc run --no-follow` records the command and nothing that it begins."""
    support.tool("run", "--no-follow", "--", PROGRAM, "notes", "spawn", PROGRAM, "notes2", "long", cwd=folder)
    capture.check_trace(capture.trace(folder), folder / "notes")


# --- libraries --------------------------------------------------------------------------------------------------------


def libraries(folder):
    """The same function in one library after another: every stack names the one that was there then."""
    source = folder / "lib.c"
    names = [f"one_{i}" for i in range(6)]
    for name in names:
        source.write_text("#include <stdlib.h>\nvoid *lib_get(size_t n);\n"
                          f"static __attribute__((noinline)) void *{name}(size_t n) {{ char *p = malloc(n); p[0] = 1; return p; }}\n"
                          f"void *lib_get(size_t n) {{ char *p = {name}(n); p[1] = 1; return p; }}\n")
        subprocess.run([os.environ["CC"], "-g", "-O1", "-fPIC", "-shared", "-o", folder / f"{name}.so", source], check=True)
    data = exact(folder, "load", *[f"./{name}.so" for name in names])
    dump, _ = support.tool("dump", "--nodes", capture.trace(folder))
    few = dump.count("\n  node ")
    for name in names:
        points = capture.points_of(data, name)
        equal(sum(p["allocations"] for p in points), 1001, f"chunks of {name}")
        for point in points:
            frame = next(f for f in point["stack"] if f["function"] == name)
            equal(Path(frame["module"]).name, f"{name}.so", "its module")
    again = folder / "again"
    again.mkdir()
    exact(again, "load", *[f"../{name}.so" for name in names] * 50)
    dump, _ = support.tool("dump", "--nodes", capture.trace(again))
    many = dump.count("\n  node ")
    # Frames in a library are new nodes each time it was loaded, all others are not.
    check(many < few + 300 * 4, f"{few} nodes for 6 libraries, {many} for 300")


# --- files ------------------------------------------------------------------------------------------------------------


def mounted(folder, size):
    """A small file system of its own, for this process and its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.unshare(0x20000) == 0, "unshare: run the tests as root")
    check(libc.mount(b"none", b"/", None, 0x44000, None) == 0, "mount --make-rprivate")
    check(libc.mount(b"none", str(folder).encode(), b"tmpfs", 0, f"size={size}".encode()) == 0, "mount of a tmpfs")


def disk_full(folder):
    """A word or two, a program that goes on, a trace that is right as far as it says."""
    for size in ("1m", "3m", "8m", "16m"):
        place = folder / size
        place.mkdir()
        pid = os.fork()
        if pid == 0:
            mounted(place, size)
            code = 1
            try:
                said = said_by_us(capture.capture(place, [PROGRAM, folder / f"notes-{size}", "long"], status=0))
                examine_cut(capture.traces(place), Notes(folder / f"notes-{size}"), said, size)
                code = 0
            except SystemExit as failure:
                print(failure, flush=True)
            os._exit(code)
        equal(os.waitpid(pid, 0)[1], 0, f"with a file system of {size}")


def examine_cut(found, notes, said, what):
    """A trace of which something may be missing: then that is said, and what is there is not more than there was. The live
    table and the trace are two things that can fail; each is said once, and why."""
    data = capture.check_trace(found[0], complete=False) if found else None
    if data is not None and data["complete"] is True:
        capture.check_noted(data, notes, what)
        return
    check(1 <= len(said) <= 2 and len(set(said)) == len(said), f"messages: {said}")
    check(all("no space left on the disk" in line or "file size limit" in line for line in said), f"messages: {said}")
    if data is None:
        return
    for kind, figures in notes.figures.items():
        for key, (_, high) in figures.items():
            ours = capture.summed(data, kind, key)
            check(ours <= high, f"{what}: {key} of {kind}: {ours}, the program noted {high}")


def size_limit(folder):
    """RLIMIT_FSIZE: its signal is not for the program."""
    for size in (500 << 10, 1 << 20, 5 << 20, 20 << 20):
        place = folder / str(size)
        place.mkdir()
        said = run(place, "long", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        examine_cut(capture.traces(place), Notes(place / "notes"), said, f"limit of {size}")


def unwritable(folder):
    for pattern in ("/proc/none/%p.pa", f"{folder}/absent/%p.pa", "/dev/null/x.pa"):
        said = run(folder, "long", conf=f"out:{pattern}")
        equal(len(said), 1, f"messages: {said}")
        check("no trace can be written" in said[0], said[0])
    equal(capture.traces(folder), [], "traces")


def removed(folder):
    """Both files are removed while it runs: it goes on, and leaves nothing behind."""
    said = run(folder, "unlink", "sh", "-c", "rm -f circumstances*", conf="follow:false")
    check(len(said) <= 1, f"messages: {said}")
    equal([path.name for path in folder.iterdir() if "circumstances" in path.name], [], "files")


def daemon(folder):
    """It closes all descriptors and opens its own: those are untouched, and the trace goes on."""
    (folder / "own").mkdir()
    exact(folder, "daemon", "own", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)))
    touched = [path.name for path in (folder / "own").iterdir() if path.stat().st_size != 0]
    equal(touched, [], "files of the program that something was written to")


def other_folder(folder):
    (folder / "elsewhere").mkdir()
    exact(folder, "chdir", "elsewhere")
    equal(list((folder / "elsewhere").iterdir()), [], "files in the folder it went to")


def patterns(folder):
    began = int(time.time())
    run(folder, "spawn", "true", conf="out:a.%e.%p.%t.%%.pa")
    found = sorted(path.name for path in capture.traces(folder))
    equal(len(found), 2, f"traces: {found}")  # the fork child had nothing to record before it became the other program
    for name, program in zip(found, ("circumstances", "true")):
        a, e, p, t, percent, pa = name.split(".")
        equal((a, e, percent, pa), ("a", program, "%", "pa"), "parts of the name")
        check(int(p) > 1 and began <= int(t) <= time.time(), f"{name}: process and time")


def fixed_name(folder):
    """A name that says nothing of the process: the next ones take others."""
    run(folder, "spawn", "true", conf="out:x.pa")
    equal(sorted(path.name for path in capture.traces(folder)), ["x.2.pa", "x.pa"], "traces")
    for path in capture.traces(folder):
        capture.check_trace(path)


# --- rights -----------------------------------------------------------------------------------------------------------


def other_user(folder):
    exact(folder, "setuid")


def own_namespace(folder):
    exact(folder, "unshare")


# --- sizes ------------------------------------------------------------------------------------------------------------


SIZES = """
#include <stdio.h>
#include <stdlib.h>
static void *window[100];
__attribute__((noinline)) static void *sized(size_t n) { char *p = malloc(n); p[0] = 1; return p; }
int main(void)
{
    unsigned long bytes = 0;
    for (unsigned i = 0; i < 300000; i++) {
        size_t size = 1 + i * 7919ul % 30011;
        bytes += size;
        free(window[i % 100]);
        window[i % 100] = sized(size);
    }
    printf("%lu\\n", bytes);
    return 0;
}
"""


def many_sizes(folder):
    """Nearly every chunk has a size of its own."""
    (folder / "sizes.c").write_text(SIZES)
    subprocess.run([os.environ["CC"], "-g", "-O1", "-o", folder / "sizes", folder / "sizes.c"], check=True)
    process = capture.start(folder, [folder / "sizes"], stdout=subprocess.PIPE)
    out, said = process.communicate(timeout=capture.TIME_LIMIT)
    equal((process.returncode, said_by_us(said)), (0, []), "status, messages")
    data = capture.check_trace(capture.trace(folder))
    point, = capture.points_of(data, "sized")
    equal((point["allocations"], point["frees"], point["bytes"]), (300000, 299900, int(out)), "chunks, frees, bytes")
    # As kinds, 30 bytes and more for each row before compression; in a column of their own, 2.
    dump, _ = support.tool("dump", "--json", capture.trace(folder))
    raw = sum(block["raw_size"] for block in map(json.loads, dump.splitlines()) if block.get("kind") == "EVENTS")
    check(raw < 12 * 300000, f"{raw} bytes of events before compression")


# --- samples ----------------------------------------------------------------------------------------------------------


def sampled(folder):
    """Estimates from samples are the true totals, but for chance: none of twenty is far off, and their mean is near."""
    z = []
    for number in range(20):
        place = folder / str(number)
        place.mkdir()
        equal(run(place, "long", conf="sample:64K"), [], "messages")
        data = support.report(capture.trace(place))
        equal(data["complete"], True, "complete")
        notes = Notes(place / "notes")
        true = sum(figures["bytes"][0] for figures in notes.figures.values())
        ours = sum(capture.summed(data, kind, "bytes") for kind in capture.KINDS)
        # A chunk of n bytes is taken with p = 1 - exp(-n/64K) and counts n/p: variance n² (1-p)/p, at most n * 64K each.
        z.append((ours - true) / (true * 65536) ** 0.5)
        print(f"{ours / true:.4f}", end=" ", flush=True)
    print()
    check(max(map(abs, z)) < 4, f"far off, in standard deviations: {z}")
    check(abs(sum(z)) / len(z) ** 0.5 < 4, f"the mean is off, in standard deviations: {z}")


support.main(fork_children=fork_children, fork_past_handlers=fork_past_handlers, fork_then_load=fork_then_load,
             fork_not_followed=fork_not_followed, early_handlers=early_handlers,
             no_trace_yet=no_trace_yet, calls_around_forks=calls_around_forks, restarts=restarts,
             exec_followed=exec_followed, run_not_followed=run_not_followed, libraries=libraries, unwritable=unwritable,
             removed=removed, daemon=daemon, other_folder=other_folder, patterns=patterns, fixed_name=fixed_name,
             other_user=other_user, own_namespace=own_namespace, size_limit=size_limit, disk_full=disk_full,
             many_sizes=many_sizes, sampled=sampled)
