#!/usr/bin/env python3
"""Programs of which only a part is instrumented: accesses of that part are counted exactly and the others' not at all, where
malloc is ours; where it is not, that is said."""
import json
import sys

from support import check, equal, report, tool
from wrapper import BUILD, cc, environment, for_all, instrumented, run

PART = r"""
#include <string.h>
void touch(volatile int *numbers, volatile char *copy);
void touch(volatile int *numbers, volatile char *copy)
{
    memset((void *)numbers, 1, 400);
    for (int i = 0; i < 7; i++) numbers[100 + i] = i;
    for (int i = 0; i < 3; i++) copy[i] = (char)numbers[2 * i];
    memcpy((void *)(copy + 8), (const void *)numbers, 120);
}
"""
# What it does to the two: reads, writes, first and last byte.
SEEN = ((4, 8, 0, 427), (0, 4, 0, 127))

# The library touches chunks of 4001 and 4003 bytes, the program itself, in the same way, those of 4005 and 4007. Its pointers to
# malloc and free may be those of stubs.
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#define touch touch_here
#include "part.c"
#undef touch
void touch(volatile int *numbers, volatile char *copy);
void *(*volatile take)(size_t) = malloc;
void (*volatile give)(void *) = free;
int main(int argc, char **argv)
{
    (void)argv;
    int (*start)(size_t) = argc > 1 ? (int (*)(size_t))dlsym(RTLD_DEFAULT, "profalloc_start") : 0;
    for (int i = 0; start && i < 3; i++) printf("%d", start(1));
    void *chunks[] = {take(4001), take(4003), take(4005), take(4007)};
    touch(chunks[0], chunks[1]);
    touch_here(chunks[2], chunks[3]);
    for (int i = 0; i < 4; i++) give(chunks[i]);
    puts("done");
    return 0;
}
"""
NOTHING = (0, 0, None, None)
SAID = "nothing is recorded"
LINKED = ("-L.", "-lpart", "-Wl,-rpath,$ORIGIN")


def seen(trace):
    rows = map(json.loads, tool("dump", "--json", "--events", trace)[0].splitlines())
    found = {}
    for row in rows:
        if row["type"] in ("death", "live") and 4001 <= row["size"] <= 4007:
            found.setdefault(row["size"], []).append(tuple(row[word] for word in ("reads", "writes", "low", "high")))
    return found


def check_recorded(command, work, library, program):
    """Which of the two parts is instrumented, by the accesses that were seen. `profalloc run` records, or the command itself."""
    trace = work / "trace.pa"
    by_run = command[0] == "run"
    words = [BUILD / "profalloc", "run", "-o", trace, *command[1:]] if by_run else command
    out, said = run(words, cwd=work, env=environment(PROFALLOC_CONF="" if by_run else f"prof:true,sample:1,out:{trace}"))
    check("done" in out and SAID not in said, f"{command}: {out}{said}")
    expected = [*(SEEN if library else (NOTHING, NOTHING)), *(SEEN if program else (NOTHING, NOTHING))]
    equal(seen(trace), {4001 + 2 * i: [one] for i, one in enumerate(expected)}, f"{command}: accesses")
    equal(report(trace)["complete"], True, f"{command}: complete")
    trace.unlink()


def instrumented_library(under, folder):
    """The program knows nothing of us. Linked and run alone it has libc's malloc; preloaded or linked with the library, ours."""
    for kind in (["-fPIE", "-pie"], ["-fno-pie", "-no-pie"]):
        work = folder.new(main_c=PROGRAM, part_c=PART)
        cc(under, "-O1", "-shared", "-fPIC", "part.c", "-o", "libpart.so", cwd=work)
        run([under.name, "-O1", *kind, "main.c", *LINKED, "-o", "program"], cwd=work, env=environment())
        run([under.name, "-O1", *kind, "main.c", *LINKED, f"-L{BUILD}", f"-Wl,--no-as-needed,-rpath,{BUILD}", "-lprofalloc",
             "-o", "linked"], cwd=work, env=environment())
        check(instrumented(work / "libpart.so") and not instrumented(work / "program"), "what is instrumented")
        check_recorded(["run", "./program"], work, True, False)
        check_recorded(["./linked"], work, True, False)
        unreached(work)


def unreached(work):
    equal(run(["./program"], cwd=work, env=environment()), ("done\n", ""), "without recording nothing is said")
    for what, conf, arguments in (("conf", "prof:true,", ()), ("start", "", ("start",))):
        trace = work / f"{what}.pa"
        out, said = run(["./program", *arguments], cwd=work, env=environment(PROFALLOC_CONF=f"{conf}sample:1,out:{trace}"))
        equal((out, said.count(SAID), said.count("profalloc:")), (f"{'000' if arguments else ''}done\n", 1, 1),
              f"{what}: {said}")
        for word in ("LD_PRELOAD=libprofalloc.so", "profalloc run", "-lprofalloc"):
            check(word in said, f"{what}: {word} in {said}")
        text = tool("report", trace)[0]
        check("MISSING: from " in text and "malloc of the program was not libprofalloc's" in text, text)
        check("no chunk was recorded" in text and "Accesses of" not in text, text)
        equal(len(report(trace)["missing"]), 1, "what is missing")
        tool("check", trace, status=1)


def instrumented_program(under, folder):
    """The library knows nothing of us."""
    work = folder.new(main_c=PROGRAM, part_c=PART)
    run([under.name, "-O1", "-shared", "-fPIC", "part.c", "-o", "libpart.so"], cwd=work, env=environment())
    cc(under, "-O1", "main.c", *LINKED, "-o", "program", cwd=work)
    check(instrumented(work / "program") and not instrumented(work / "libpart.so"), "what is instrumented")
    check_recorded(["run", "./program"], work, False, True)
    check_recorded(["./program"], work, False, True)


WRAPPER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
void *malloc(size_t size);
void *malloc(size_t size)
{
    static void *(*next)(size_t);
    if (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    return next(size);
}
"""


def wrapped_malloc(under, folder):
    """Another's malloc that passes on to ours is as good as ours."""
    work = folder.new(main_c=PROGRAM, part_c=PART, other_c=WRAPPER)
    run([under.name, "-O1", "-shared", "-fPIC", "other.c", "-o", "other.so"], cwd=work, env=environment())
    run([under.name, "-O1", "-shared", "-fPIC", "part.c", "-o", "libpart.so"], cwd=work, env=environment())
    cc(under, "-O1", "main.c", *LINKED, "-o", "program", cwd=work)
    check_recorded(["env", "LD_PRELOAD=./other.so", "./program"], work, False, True)


TESTS = (instrumented_library, instrumented_program, wrapped_malloc)
if __name__ == "__main__":
    wanted = sys.argv[1:]
    for_all([test for test in TESTS if not wanted or test.__name__ in wanted])
