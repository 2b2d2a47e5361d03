#!/usr/bin/env python3
"""leaks: one run for each verdict, whose chunks are born and freed at given times; and real programs that do the same
(tests/analyze/leaking.c), with all figures and verdicts against the reference, which has the times that there were: killed, sampled,
stripped, and built with profalloc-cc."""
import json
import math
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
    done = subprocess.run([program, *words], env=env, timeout=HANGS)
    equal(done.returncode, status, f"status of {words}")


def widgets(data):
    """What is told of the widgets that are kept."""
    return max((p for p in data["points"] if any(f["function"] == "make_widget" for f in p["stack"])), key=lambda p: p["chunks"])


def told(program, trace, *words, **options):
    """Runs it and checks all figures and the verdict against the reference. Returns what is told of the widgets. How births are spread
    over the run is the machine's doing, and so the verdict: given traces have those."""
    run(program, trace, *words, **options)
    data = json.loads(tool("leaks", "--json", trace)[0])
    reference.check_leaks(data, trace)
    point = widgets(data)
    fails = any(p["fails"] for p in json.loads(tool("leaks", "--json", "--fail-bytes", 1, trace)[0])["points"])
    tool("leaks", "--fail", "--fail-bytes", 1, trace, status=3 if fails else 0)
    return point


SITE, FREE_SITE = 4, 5  # stacks of the maker
MS = 1000000


def kept(times, size=100):
    return [(1, time, 0, size, SITE, 0) for time in times]


def forgotten(count, every, step, thread=1, first=0):
    """One of `every` is not freed at the next step."""
    return [(thread, first + i * step, 0 if i % every == 0 else first + (i + 1) * step, 64, SITE, FREE_SITE) for i in range(count)]


def queued(count, room, step):
    return [(1, i * step, (i + room) * step if i + room < count else 0, 64, SITE, FREE_SITE) for i in range(count)]


def slower():
    """Fewer and fewer, as in a table that fills up."""
    times, now = [], 0
    for i in range(60):
        times.append(now)
        now += (20 + 20 * i * i // 3) * 1000
    return times


def used(reads):
    """Chunks that are kept all along and read until the end, or written once at their birth."""
    return [(1, i * MS, 0, 64, SITE, 0, reads, 1, 0, (150 - i) * MS - 1000 if reads else 0) for i in range(150)]


# In nanoseconds: the run's length, its chunks, what is said of them, of how many, and whether that is a failure.
VERDICTS = {
    "cache": (300 * MS, kept(range(0, 200000, 1000)), "warm-up", 200, False),
    "list": (200 * MS, kept(range(0, 200 * MS, MS)), "never-freed", 200, True),
    "one-of-100": (200 * MS, forgotten(1000, 100, MS // 5), "overdue", 10, True),
    "half": (160 * MS, forgotten(800, 2, MS // 5), "overdue", 400, True),
    "queue": (250 * MS, queued(500, 50, MS // 2), "like-siblings", 50, False),
    "ended": (155 * MS, kept(range(0, 100 * MS, MS)), "ended", 100, False),
    "young": (300 * MS + 60000, kept(range(300 * MS, 300 * MS + 25000, 500)), "young", 50, False),
    "burst": (300 * MS, kept(range(150 * MS, 150 * MS + 25000, 500)), "burst", 50, False),
    "bursts": (320 * MS + 80000, kept(start + i * 500 for start in (20 * MS, 170 * MS, 320 * MS) for i in range(50)), "bursts", 150, False),
    "levels": (slower()[-1] + 24 * MS, kept(slower()), "slower", 60, False),
    "single": (200 * MS, kept([100 * MS], 64), "one-chunk", 1, False),
    "threads": (150 * MS, forgotten(300, 4, MS // 2) + forgotten(300, 301, MS // 2, 2, 1000)[1:], "overdue", 75, True),
}


def verdicts(folder):
    trace = folder / "t.pa"
    for way, (length, chunks, reason, count, fails) in VERDICTS.items():
        support.make_given(trace, length + 40000, chunks)
        data = json.loads(tool("leaks", "--json", trace)[0])
        reference.check_leaks(data, trace)
        point, = data["points"]
        equal((point["reason"], point["chunks"]), (reason, count), f"{way}: the reason, and the chunks; births: {point['births']}")
        equal(point["leaked_bytes"] > 0, fails, f"{way}: bytes that are likely leaked")
        tool("leaks", "--fail", "--fail-bytes", 1, trace, status=3 if fails else 0)
    for reads, reason, fails in ((5, "grows-in-use", False), (0, "never-freed", True)):
        support.make_given(trace, 150 * MS + 40000, used(reads), "accesses")
        data = json.loads(tool("leaks", "--json", trace)[0])
        reference.check_leaks(data, trace)
        point, = data["points"]
        equal((point["reason"], point["chunks"]), (reason, 150), f"{reads} reads: the reason, and the chunks")
        equal(point["accesses"]["used"], 136 if reads else 0, f"{reads} reads: chunks in use")  # those of the last tenth are too young
        check(reads or point["accesses"]["stale"] > 50, f"stale: {point['accesses']}")
        tool("leaks", "--fail", trace, status=3 if fails else 0)


def programs(folder):
    program, trace = build(folder), folder / "t.pa"
    for way, (_, _, _, count, _) in VERDICTS.items():
        equal(told(program, trace, way)["chunks"], count, f"chunks of {way}")


def everyday(folder):
    """Programs that set themselves up and end are no failures; a table that is kept on purpose is at most of medium certainty."""
    commands = ("ls", "/"), ("date",), ("env",), ("bash", "-c", "true")
    for number, words in enumerate(commands):
        trace = folder / f"{number}.pa"
        tool("run", "-o", trace, "--", *words)
        out, _ = tool("leaks", "--fail", trace)
        check(" per hour" not in out, out)
        tool("gate", "--max-leak", "0", folder / "0.pa", trace)
    support.make_given(folder / "t.pa", 80 * MS + 40000, kept(range(0, 80 * MS, MS // 5)))
    data = json.loads(tool("leaks", "--json", folder / "t.pa")[0])
    reference.check_leaks(data, folder / "t.pa")
    point, = data["points"]
    equal((point["reason"], point["fails"], point["bytes_per_hour"]), ("never-freed", True, None), "the table")
    check(0.5 <= point["sure"] < 0.795 and "leak likely (sure: medium" in tool("leaks", folder / "t.pa")[0], f"how sure: {point['sure']}")
    tool("leaks", "--fail", folder / "t.pa", status=3)
    tool("leaks", "--fail", "--fail-sure", 80, folder / "t.pa")
    tool("leaks", "--fail", "--fail-bytes", 40001, folder / "t.pa")


def siblings(folder):
    program, trace = build(folder), folder / "t.pa"
    support.make_given(trace, *VERDICTS["one-of-100"][:2])
    check("10 of 10 are older than" in tool("leaks", trace)[0], "how old they are")
    point = told(program, trace, "one-of-100")
    equal(point["siblings"]["freed"], 990, "siblings")
    equal([s["name"].split()[0] for s in point["siblings"]["sites"]], ["consume_widget"], "where they are freed")
    out, _ = tool("leaks", trace)
    for wanted in ("siblings  990 are freed by consume_widget (leaking.c:", "by the thread that had allocated them"):
        check(wanted in out, f"'{wanted}' in\n{out}")
    point = told(program, trace, "threads")
    owners = {t["name"]: (t["freed"], t["live"]) for t in point["allocating_threads"]}
    equal(owners, {"leaky": (225, 75), "tidy": (300, 0)}, "whose chunks are kept")
    check("leaky allocated 100 % of them" in tool("leaks", trace)[0], "which is said")
    point = told(program, trace, "cousins")
    equal((point["siblings"]["of_the_same_function"], point["siblings"]["freed"]), (True, 200), "freed elsewhere")
    check("cousins" in tool("leaks", trace)[0], "which is said")


def endings(folder):
    """Killed: alive when it was; and chunks of no bytes and of very many."""
    program, trace = build(folder), folder / "t.pa"
    told(program, trace, "half", "kill", status=-signal.SIGKILL)
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
    chance = 1 - math.exp(-64 / 256)  # of a chunk to be recorded
    check(abs(data["live"]["chunks"] - 400) < 6 * math.sqrt(400 * (1 - chance) / chance), f"{data['live']}")


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
    for way in ("used", "unused"):
        point = told(program, trace, way, preload=False)
        equal((point["chunks"], point["blind"]), (150, 0), f"chunks of {way}, and those of them that are not seen")


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
    equal([(sizes[n]["blind"], sizes[n]["accesses"] and sizes[n]["accesses"]["stale"]) for n in (1000, 3000)],
          [(0, 20), (20, None)], "the program's, and the library's")
    equal(sizes[1000]["reason"], "untouched", "why the program's")
    # Where the machine held it up before it allocated, that was not at the beginning.
    check(sizes[3000]["reason"] in ("warm-up", "burst"), f"why the library's: {sizes[3000]['reason']}")
    equal(data["live"]["blind"], sum(p["blind"] for p in data["points"]), "all that are not seen")
    out = tool("leaks", folder / "user.pa")[0]
    check("accesses  not known of 20: code that is not instrumented allocated them\n" in out, out)
    check(f"whether {data['live']['blind']} of the chunks are still used is not known" in out, out)


support.main(other_code=other_code, everyday=everyday, verdicts=verdicts, programs=programs, siblings=siblings, endings=endings, sampled=sampled, stripped=stripped, touched=touched)
