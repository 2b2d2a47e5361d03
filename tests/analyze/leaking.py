#!/usr/bin/env python3
"""leaks on real programs (tests/analyze/leaking.c): one for each verdict, with all figures against the reference; killed, sampled,
stripped, and built with profalloc-cc."""
import json
import os
import signal
import subprocess
from pathlib import Path

import leaks_reference as reference
import support
from support import check, equal, tool

HANGS = 1800  # seconds
SOURCE = Path(os.environ["PROFALLOC_SOURCE_DIR"]) / "tests/analyze/leaking.c"


def build(folder, *flags):
    program = folder / "leaking"
    subprocess.run([os.environ["CC"], "-g", "-O1", str(SOURCE), "-o", str(program), "-pthread", *flags], check=True)
    return program


def run(program, trace, *words, conf="", status=0, preload=True):
    for old in (trace, Path(str(trace) + ".live")):
        old.unlink(missing_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PROFALLOC_") and k != "LD_PRELOAD"}
    env["PROFALLOC_CONF"] = ",".join(filter(None, ("prof:true,sample:1", conf, f"out:{trace}")))
    if preload:
        env["LD_PRELOAD"] = os.environ["PROFALLOC_LIB"]
    done = subprocess.run([program, *words], env=env, timeout=HANGS, stdout=subprocess.PIPE, text=True)
    equal(done.returncode, status, f"status of {words}")
    return "uneven" not in done.stdout


def widgets(data):
    """What is told of the widgets that are kept."""
    return max((p for p in data["points"] if any(f["function"] == "make_widget" for f in p["stack"])), key=lambda p: p["chunks"])


# What is told apart only by how births are spread over the run, and is no leak in any case: a machine that is busy for a moment
# makes one of another.
GROWTH = {"ended", "slower", "burst", "bursts", "warm-up", "young"}


def told(program, trace, *words, reason, **options):
    """Runs it and checks all figures and the verdict against the reference. Returns what is told of the widgets; None if the machine
    did not let the program run evenly: its chunks were born at other times than it meant, and the verdict may be another."""
    even = run(program, trace, *words, **options)
    data = json.loads(tool("leaks", "--json", trace)[0])
    reference.check_leaks(data, trace)
    point = widgets(data)
    if not even or (point["reason"] in GROWTH and reason in GROWTH and point["reason"] != reason):
        print(f"{words}: the machine was busy: {point['reason']}, as the reference has it; births: {point['births']}")
        return None
    equal(point["reason"], reason, f"{words}: the reason; births: {point['births']}")
    return point


def verdicts(folder):
    program, trace = build(folder), folder / "t.pa"
    for way, reason, chunks, status in (("cache", "warm-up", 200, 0), ("list", "never-freed", 200, 3), ("one-of-100", "overdue", 10, 3),
                                        ("half", "overdue", 400, 3), ("queue", "like-siblings", 50, 0), ("ended", "ended", 100, 0),
                                        ("young", "young", 50, 0), ("burst", "burst", 50, 0), ("bursts", "bursts", 150, 0),
                                        ("levels", "slower", 60, 0), ("single", "one-chunk", 1, 0), ("threads", "overdue", 75, 3)):
        point = told(program, trace, way, reason=reason)
        if point is None:
            continue
        equal(point["chunks"], chunks, f"chunks of {way}")
        tool("leaks", "--fail", "--fail-bytes", 1, trace, status=status)
        equal(point["leaked_bytes"] > 0, status == 3, f"{way}: bytes that are likely leaked")


TABLE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static char **table;
__attribute__((noinline)) static char *copy_line(int number)
{
    char *line = malloc(100);
    memset(line, number, 100);
    return line;
}
static double seconds_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + 1e-9 * (double)(to->tv_nsec - from->tv_nsec);
}
int main(void)
{
    static char *lines[400];
    struct timespec times[401];
    double longest = 0;
    table = lines;
    clock_gettime(CLOCK_MONOTONIC, &times[0]);
    for (int i = 0; i < 400; i++) {
        struct timespec time = {.tv_nsec = 200000};
        lines[i] = copy_line(i);
        nanosleep(&time, NULL);
        clock_gettime(CLOCK_MONOTONIC, &times[i + 1]);
        double took = seconds_between(&times[i], &times[i + 1]);
        longest = took > longest ? took : longest;
    }
    if (longest > seconds_between(&times[0], &times[400]) / 40) {
        puts("uneven");
    }
    return table[399][5] == 0;
}
"""


def everyday(folder):
    """Programs that set themselves up and end are no failures; a table that is kept on purpose is at most of medium certainty."""
    commands = ("ls", "/"), ("date",), ("env",), ("bash", "-c", "true")
    for number, words in enumerate(commands):
        trace = folder / f"{number}.pa"
        tool("run", "-o", trace, "--", *words)
        out, _ = tool("leaks", "--fail", trace)
        check(" per hour" not in out, out)
        tool("gate", "--max-leak", "0", folder / "0.pa", trace)
    (folder / "table.c").write_text(TABLE)
    subprocess.run([os.environ["CC"], "-O1", "-g", "-o", folder / "table", folder / "table.c"], check=True)
    even = run(folder / "table", folder / "t.pa")
    data = json.loads(tool("leaks", "--json", folder / "t.pa")[0])
    reference.check_leaks(data, folder / "t.pa")
    point = next(p for p in data["points"] if p["chunks"] == 400)
    if not even:
        return
    equal((point["reason"], point["fails"], point["bytes_per_hour"]), ("never-freed", True, None), "the table")
    check(0.5 <= point["sure"] < 0.795 and "leak likely (sure: medium" in tool("leaks", folder / "t.pa")[0], f"how sure: {point['sure']}")
    tool("leaks", "--fail", folder / "t.pa", status=3)
    tool("leaks", "--fail", "--fail-sure", 80, folder / "t.pa")
    tool("leaks", "--fail", "--fail-bytes", 40001, folder / "t.pa")


def siblings(folder):
    program, trace = build(folder), folder / "t.pa"
    if (point := told(program, trace, "one-of-100", reason="overdue")) is not None:
        equal(point["siblings"]["freed"], 990, "siblings")
        equal([s["name"].split()[0] for s in point["siblings"]["sites"]], ["consume_widget"], "where they are freed")
        out, _ = tool("leaks", trace)
        for wanted in ("siblings  990 are freed by consume_widget (leaking.c:", "by the thread that had allocated them",
                       "10 of 10 are older than"):
            check(wanted in out, f"'{wanted}' in\n{out}")
    if (point := told(program, trace, "threads", reason="overdue")) is not None:
        owners = {t["name"]: (t["freed"], t["live"]) for t in point["allocating_threads"]}
        equal(owners, {"leaky": (225, 75), "tidy": (300, 0)}, "whose chunks are kept")
        check("leaky allocated 100 % of them" in tool("leaks", trace)[0], "which is said")
    if (point := told(program, trace, "cousins", reason="never-freed")) is not None:
        equal((point["siblings"]["of_the_same_function"], point["siblings"]["freed"]), (True, 200), "freed elsewhere")
        check("cousins" in tool("leaks", trace)[0], "which is said")


def endings(folder):
    """Killed: alive when it was; and chunks of no bytes and of very many."""
    program, trace = build(folder), folder / "t.pa"
    told(program, trace, "half", "kill", reason="overdue", status=-signal.SIGKILL)
    out, _ = tool("leaks", trace)
    check("Not freed when the process was killed" in out and "at exit" not in out, out)
    run(program, trace, "sizes")
    data = json.loads(tool("leaks", "--json", trace)[0])
    reference.check_leaks(data, trace)
    kept = [p for p in data["points"] if any(f["function"] == "make_widget" for f in p["stack"])]
    equal((sum(p["chunks"] for p in kept), sum(p["bytes"] for p in kept)), (2, 1 << 30), "nothing, and a GiB")
    check("1.0 GiB" in tool("leaks", trace)[0], "in the text")


def sampled(folder):
    program, trace = build(folder), folder / "t.pa"
    run(program, trace, "half", conf="sample:256")
    data = json.loads(tool("leaks", "--json", trace)[0])
    reference.check_leaks(data, trace)
    check(data["sampled"] and data["live"]["chunks_half_width"] > 0, "estimates")
    check(abs(data["live"]["chunks"] - 400) < 2.5 * data["live"]["chunks_half_width"], f"{data['live']}")


def stripped(folder):
    """No names: addresses, and the same verdict."""
    program, trace = build(folder, "-s", "-Wl,--build-id=none"), folder / "t.pa"
    run(program, trace, "half")
    data = json.loads(tool("leaks", "--json", trace)[0])
    reference.check_leaks(data, trace)
    equal(max(p["chunks"] for p in data["points"]), 400, "chunks")
    check("leaking+0x" in tool("leaks", trace)[0], "places by address")


def touched(folder):
    program, trace = folder / "built", folder / "t.pa"
    env = {k: v for k, v in os.environ.items() if not k.startswith("PROFALLOC_")}
    wrapper = Path(os.environ["PROFALLOC_BUILD_DIR"]) / "profalloc-cc"
    subprocess.run([wrapper, "-g", "-O1", SOURCE, "-o", program, "-pthread"], check=True, env={**env, "PROFALLOC_CC": os.environ["CC"]})
    if (point := told(program, trace, "used", reason="grows-in-use", preload=False)) is not None:
        check(point["accesses"]["used"] > 100, f"used: {point['accesses']}")
        tool("leaks", "--fail", trace)
    if (point := told(program, trace, "unused", reason="never-freed", preload=False)) is not None:
        equal(point["accesses"]["used"], 0, "nobody uses them")
        check(point["accesses"]["stale"] > 50, f"stale: {point['accesses']}")
        tool("leaks", "--fail", trace, status=3)


LIBRARY = r"""
#include <stdlib.h>
#include <string.h>
static char *kept[20];
void library_begin(void);
void library_use(void);
void library_begin(void) { for (int i = 0; i < 20; i++) kept[i] = malloc(3000); }
void library_use(void) { for (int i = 0; i < 20; i++) memset(kept[i], 1, 3000); }
"""
USER = r"""
#include <stdlib.h>
#include <time.h>
void library_begin(void);
void library_use(void);
static char *volatile kept[20];
int main(void)
{
    library_begin();
    for (int i = 0; i < 20; i++) (kept[i] = malloc(1000))[0] = 1;
    for (int i = 0; i < 100; i++) {
        struct timespec time = {.tv_nsec = 1000000};
        library_use();
        nanosleep(&time, NULL);
    }
    return 0;
}
"""


def other_code(folder):
    """Nobody says of chunks that a library without instrumentation uses all along that they are not touched."""
    wrapper = Path(os.environ["PROFALLOC_BUILD_DIR"]) / "profalloc-cc"
    (folder / "library.c").write_text(LIBRARY)
    (folder / "user.c").write_text(USER)
    subprocess.run([os.environ["CC"], "-O1", "-g", "-fPIC", "-shared", "-o", folder / "liblibrary.so", folder / "library.c"], check=True)
    subprocess.run([wrapper, "-O1", "-g", "-o", folder / "user", folder / "user.c", f"-L{folder}", "-llibrary", f"-Wl,-rpath,{folder}"], check=True)
    tool("run", "-o", folder / "user.pa", "--", folder / "user")
    data = json.loads(tool("leaks", "--json", folder / "user.pa")[0])
    sizes = {p["most_size"]: p for p in data["points"]}
    equal([(sizes[n]["reason"], sizes[n]["blind"], sizes[n]["accesses"] and sizes[n]["accesses"]["stale"]) for n in (1000, 3000)],
          [("untouched", 0, 20), ("warm-up", 20, None)], "the program's, and the library's")
    equal(data["live"]["blind"], sum(p["blind"] for p in data["points"]), "all that are not seen")
    out = tool("leaks", folder / "user.pa")[0]
    check("accesses  not known of 20: code that is not instrumented allocated them\n" in out, out)
    check(f"whether {data['live']['blind']} of the chunks are still used is not known" in out, out)


support.main(other_code=other_code, everyday=everyday, verdicts=verdicts, siblings=siblings, endings=endings, sampled=sampled, stripped=stripped, touched=touched)
