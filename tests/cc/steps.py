#!/usr/bin/env python3
"""Every kind of call of a compiler, made through profalloc-cc: the product is instrumented, is named as the compiler would
have named it, has our library and no sanitizer's, and works."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from support import check, equal, tool
from wrapper import (CC, PART, PROGRAM, calls_callbacks, cc, check_program, dynamic, environment, for_all, instrumented,
                     run, symbols, wraps)

SUM = "sum 4950\n"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def one_step(under, folder):
    for level in ("-O0", "-O1", "-O2", "-O3", "-Os", "-Og"):
        work = folder.new(main_c=PROGRAM)
        cc(under, level, "main.c", cwd=work)
        equal(names(work), ["a.out", "main.c"], "files of a one-step build")
        check_program(work / "a.out", output=SUM, what=level)
        check(wraps(work / "a.out", "memset") or under.pass_wish == "on", f"{level}: memset is not wrapped")


def several_sources(under, folder):
    work = folder.new(main_c=PROGRAM, part_c=PART)
    cc(under, "-DPART", "-O2", "main.c", "part.c", "-o", "several", cwd=work)
    equal(names(work), ["main.c", "part.c", "several"], "files of a build of two sources")
    check(calls_callbacks(work / "several", "part"), "the second source is not instrumented")
    check_program(work / "several", output=SUM)
    cc(under, "-DPART", "-c", "main.c", "part.c", cwd=work)
    check(instrumented(work / "main.o") and instrumented(work / "part.o"), "objects of two sources at once")


def compile_then_link(under, folder):
    work = folder.new(main_c=PROGRAM, part_c=PART)
    cc(under, "-DPART", "-O2", "-c", "main.c", "-o", "with blank.o", cwd=work)
    cc(under, "-O2", "-c", "part.c", cwd=work)
    check(instrumented(work / "with blank.o") and instrumented(work / "part.o"), "objects")
    linkers = [[f"-fuse-ld={name}"] for name in ("gold", "lld", "mold") if shutil.which(f"ld.{name}")]
    for flags in (*linkers, [], ["-no-pie"], ["-pie"], ["-Wl,-z,defs"], ["-Wl,--as-needed"], ["-Wl,--gc-sections"], ["-lc"],
                  ["-nostartfiles", "-nostdlib", "-lc"], ["-fsanitize=thread"], ["-rdynamic"]):
        objects = ["with blank.o", "part.o"]
        if "-no-pie" in flags:
            objects = ["-DPART", "-fno-pie", "main.c", "part.c"]
        if "-nostdlib" in flags:  # what libtool writes: the beginning and end of a program by name
            files = [run([under.name, f"-print-file-name={name}"])[0].strip() for name in ("Scrt1.o", "crti.o", "crtn.o")]
            objects = [*files, *objects, "-lgcc"]
        cc(under, *flags, *objects, "-o", "program", cwd=work)
        check_program(work / "program", output=SUM, what=str(flags))
    cc(under, "-S", "-O1", "part.c", cwd=work)
    check("__tsan" in (work / "part.s").read_text() or under.pass_wish == "on", "-S")
    cc(under, "-c", "part.s", "-o", "from-s.o", cwd=work)
    equal(symbols(work / "from-s.o").count(" T part"), 1, "an assembler source")


def shared_objects(under, folder):
    host = PROGRAM.replace("int main(", "int unused_main(") + r"""
int main(int argc, char **argv)
{
    void *object = dlopen(argv[argc - 1], RTLD_NOW);
    int (*part)(int *, int) = object ? dlsym(object, "part") : 0;
    int numbers[4] = {1, 2, 3, 4};
    if (!part || dlclose(object)) { puts(dlerror()); return 3; }
    object = dlopen(argv[1], RTLD_NOW);
    part = dlsym(object, "part");
    printf("part %d\n", part(numbers, 4));
    return 0;
}
"""
    work = folder.new(host_c=host, main_c=PROGRAM, part_c=PART)
    cc(under, "-O2", "-shared", "-fPIC", "-Wl,-z,defs", "part.c", "-o", "libpart.so", cwd=work)
    check("libprofalloc" in dynamic(work / "libpart.so") and instrumented(work / "libpart.so"), "a shared object")
    exported = run(["nm", "-D", "--defined-only", work / "libpart.so"])[0]
    check("__tsan" not in exported and "__wrap" not in exported, f"a shared object exports callbacks: {exported}")
    cc(under, "-O2", "host.c", "-o", "host", cwd=work)
    check_program(work / "host", work / "libpart.so", output="part 10\n")
    cc(under, "-DPART", "main.c", "-L.", "-lpart", "-Wl,-rpath,$ORIGIN", "-o", "linked", cwd=work)
    check_program(work / "linked", output=SUM)
    # A host that knows nothing of us.
    run([under.name, "-O2", "host.c", "-o", "plain", "-ldl"], cwd=work)
    equal(run([work / "plain", work / "libpart.so"], env=environment())[0], "part 10\n", "dlopen in a host without us")


def static_programs(under, folder):
    for flag in ("-static", "-static-pie"):
        work = folder.new(main_c=PROGRAM)
        cc(under, "-DSTATIC", "-O2", flag, "main.c", "-o", "program", cwd=work)
        check_program(work / "program", output=SUM, what=flag)
        check(" _int_malloc" not in symbols(work / "program"), f"{flag}: libc's malloc is in it")
    work = folder.new(main_cc=CXX_PROGRAM)
    cc(under, "-O2", "-static", "main.cc", "-o", "program", cxx=True, cwd=work)
    check_program(work / "program", output="caught 7, bad_alloc\n", what="static C++")


# Chunks that only the program touches, among much that libc does with memory of its own and with another chunk.
COUNTED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *volatile kept[2];
int main(int argc, char **argv)
{
    kept[0] = malloc(4001);
    kept[1] = malloc(4003);
    volatile int *numbers = kept[0];
    char *copy = kept[1];
    char *lent = malloc(4007);
    for (int i = 0; i < 10; i++) numbers[3 * i] = i;
    for (int i = 0; i < 5; i++) argc += numbers[3 * i];
    memcpy(copy + 8, (const void *)numbers, 120);
    int printed = snprintf(lent, 4007, "%s: %d", argv[0], argc);
    printf("%s, %d\n", lent, printed);
    FILE *stream = tmpfile();
    if (!stream || fwrite(lent, 1, (size_t)printed, stream) != (size_t)printed || fclose(stream)) return 1;
    free(lent);
    free(copy);
    free((void *)numbers);
    return 0;
}
"""


def recorded(work):
    """Runs the program in there, and returns each of its chunks by size."""
    run([work / "program"], env=environment(PROFALLOC_CONF="prof:true,sample:1,out:trace.pa"), cwd=work)
    rows = map(json.loads, tool("dump", "--json", "--events", work / "trace.pa")[0].splitlines())
    found = {row["size"]: row for row in rows if row["type"] in ("death", "live")}
    (work / "trace.pa").unlink()
    return found


def accesses(row):
    return tuple(row[word] for word in ("reads", "writes", "low", "high"))


def static_counts(under, folder):
    """In a static program libc's own calls are wrapped like the program's. Chunks that libc does not touch are counted exactly,
    others at least as often as the program touched them."""
    for flag in ("-static", "-static-pie", "-O2"):
        work = folder.new(main_c=COUNTED)
        cc(under, "-O2", flag, "main.c", "-o", "program", cwd=work)
        found = recorded(work)
        seen = {size: accesses(found[size]) for size in (4001, 4003)}
        equal(seen, {4001: (6, 10, 0, 119), 4003: (0, 1, 8, 127)}, f"{flag}: accesses of the program alone")
        lent = found[4007]
        check((lent["reads"], lent["writes"]) == (1, 1) if flag == "-O2" else lent["reads"] >= 1 and lent["writes"] >= 1,
              f"{flag}: accesses of a chunk that libc was lent: {lent}")


COVERAGE = "-fsanitize-coverage=func,trace-loads,trace-stores"


def coverage(under, folder):
    """Loads and stores that clang is asked to cover are counted once: by our instrumentation where we compile, by the callbacks
    of coverage where plain clang did."""
    if not under.clang:
        return
    work = folder.new(main_c=COUNTED, options_rsp=COVERAGE)
    for flags in ([COVERAGE], ["@options.rsp"], [COVERAGE, "-fsanitize-coverage=trace-pc-guard"],
                  ["-fsanitize-coverage=edge,inline-8bit-counters,trace-stores,trace-loads"]):
        _, said = cc(under, "-O1", "-Werror", *flags, "main.c", "-o", "program", cwd=work)
        equal(said, "", f"{flags}: messages")
        found = recorded(work)
        equal([accesses(found[size]) for size in (4001, 4003)], [(6, 10, 0, 119), (0, 1, 8, 127)], f"{flags}: accesses")
        callback = any("trace-pc" in flag or "inline" in flag for flag in flags)
        cc(under, "-O1", *flags, "-c", "main.c", cwd=work)
        equal("__sanitizer_cov" in symbols(work / "main.o"), callback, f"{flags}: coverage of all else")
    for kind in ("loads", "stores"):
        _, said = cc(under, "-c", "main.c", "-Xclang", f"-fsanitize-coverage-trace-{kind}", cwd=work, status=1)
        check("twice" in said, f"past the driver: {said}")
    run([under.name, "-O1", "-fno-builtin-memcpy", COVERAGE, "-c", "main.c"], cwd=work)
    cc(under, "main.o", "-o", "program", cwd=work)
    found = recorded(work)
    equal([accesses(found[size]) for size in (4001, 4003)], [(6, 10, 0, 119), (0, 1, 8, 127)], "an object of plain clang")


CXX_PROGRAM = r"""
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>
static int thrower(std::vector<int> &numbers) { numbers.push_back(7); throw std::runtime_error("x"); }
int main()
{
    auto *numbers = new std::vector<int>;
    try { thrower(*numbers); } catch (const std::runtime_error &) { std::printf("caught %d", numbers->at(0)); }
    try { volatile size_t huge = ~size_t(0) / 4; ::operator delete(::operator new(huge)); }
    catch (const std::bad_alloc &) { std::puts(", bad_alloc"); }
    delete numbers;
}
"""


def cxx_programs(under, folder):
    for flags in ([], ["-O2"], ["-O2", "-static-libstdc++", "-static-libgcc"]):
        work = folder.new(main_cc=CXX_PROGRAM)
        cc(under, *flags, "main.cc", cxx=True, cwd=work)
        check_program(work / "a.out", output="caught 7, bad_alloc\n", what=str(flags))


def relocatable(under, folder):
    work = folder.new(main_c=PROGRAM, part_c=PART)
    cc(under, "-DPART", "-c", "main.c", "part.c", cwd=work)
    cc(under, "-r", "-nostdlib", "main.o", "part.o", "-o", "both.o", cwd=work)
    check("T __tsan" not in symbols(work / "both.o"), "callbacks in a relocatable object")
    cc(under, "-no-pie", "-Wl,-r", "-nostdlib", "both.o", "-o", "again.o", cwd=work)
    check("T __tsan" not in symbols(work / "again.o"), "callbacks in a relocatable object")
    cc(under, "again.o", cwd=work)
    check_program(work / "a.out", output=SUM)
    # Without libc there is nothing to call: no callbacks.
    (work / "bare.c").write_text("int counter; void _start(void); void _start(void) { for (int *p = &counter;;) ++*p; }\n")
    cc(under, "-nostdlib", "-static", "bare.c", "-o", "bare", cwd=work)
    check(not instrumented(work / "bare"), "a program without libc is instrumented")
    cc(under, "-ffreestanding", "-c", "bare.c", cwd=work)
    check(not instrumented(work / "bare.o"), "a freestanding object is instrumented")


def other_versions(under, folder):
    """What another version's pass compiled tells accesses in another way: it does not link, where it would tell them wrongly."""
    if under.pass_wish != "on":
        return
    work = folder.new(main_c=PROGRAM)
    cc(under, "-O2", "-c", "main.c", cwd=work)
    view, = set(re.findall(r" U (pfa_access_view_\d+)$", symbols(work / "main.o"), re.M))
    note = Path(os.environ["PROFALLOC_SOURCE_DIR"], "export/format/note.h").read_text()
    equal(view, "pfa_access_view_" + re.search(r"PFA_ACCESS_VERSION (\d+)u", note)[1], "the name of the view, with the version in it")
    cc(under, "main.o", "-o", "same", cwd=work)
    run(["objcopy", "--redefine-sym", f"{view}=pfa_access_view_1", work / "main.o"])
    said = cc(under, "main.o", "-o", "other", cwd=work, status=1)[1]
    check("pfa_access_view_1" in said and "undefined" in said, f"an object of another version: {said}")


def response_files(under, folder):
    work = folder.new(main_c=PROGRAM, part_c=PART)
    (work / "two words.c").write_text("int two_words(int *p) { return ++*p; }\n")
    (work / "inner").write_text("-c\n")
    (work / "arguments").write_text("'two words.c' \"-DQUOTED=\\\"a b\\\"\"\n-o out\\ put.o\t@inner")
    cc(under, "-O1", "@arguments", cwd=work)
    check(instrumented(work / "out put.o"), "-c in a response file within a response file")
    # Read with other rules for quotes and backslashes, these are options to preprocess only.
    (work / "quoted").write_text("-c part.c -o quoted.o '-DONE=a -E b' \"-DTWO=a -E b\" -DTHREE=a\\ -E\\ b \"-DFOUR=\\\" -E \"\n")
    cc(under, "-O1", "@quoted", cwd=work)
    check(instrumented(work / "quoted.o"), "options within quoted words of a response file are taken for options")
    (work / "link").write_text("-O2 -DPART 'main.c' part.c\n-o 'linked program'\n")
    cc(under, "@link", cwd=work)
    check_program(work / "linked program", output=SUM)
    (work / "sanitize").write_text("-fsanitize=thread\n")
    cc(under, "@sanitize", "@link", cwd=work)
    check_program(work / "linked program", output=SUM, what="-fsanitize=thread in a response file")


def standard_input(under, folder):
    work = folder.new()
    cc(under, "-O2", "-x", "c", "-", "-o", "program", cwd=work, input=PROGRAM)
    check_program(work / "program", output=SUM)
    cc(under, "-xc", "-c", "-", "-o", "object.o", cwd=work, input=PART)
    check(instrumented(work / "object.o"), "an object from standard input")


def without_macros(text):
    """What a compiler prints, without the macros that gcc reads before each source."""
    lines = [line for line in text.splitlines(True) if not re.match(r"#define (__profalloc|__builtin)_", line)]
    return re.sub(r"\S*/profalloc-builtins\.h:?", "", "".join(lines))


def dependencies(under, folder):
    """Those files have the names and contents that the compiler alone gives them, but for our header among the system's."""
    for flags in (["-MMD", "-c", "main.c"], ["-MMD", "-c", "main.c", "-o", "x.o"], ["-MMD", "main.c"],
                  ["-MD", "-MP", "main.c", "-o", "prog"], ["-MMD", "-MF", "deps file", "main.c", "-o", "prog"],
                  ["-MMD", "-MT", "target", "main.c"], ["-MMD", "-DPART", "main.c", "part.c", "-o", "prog"],
                  ["-MM", "main.c"], ["-save-temps", "main.c", "-o", "prog"], ["-pipe", "main.c"]):
        files = {"main_c": '#include "main.h"\n' + PROGRAM, "main_h": "/* nothing */\n", "part_c": PART}
        ours, theirs = folder.new(**files), folder.new(**files)
        said = cc(under, *flags, cwd=ours)[0]
        plain = run([under.name, *flags], cwd=theirs, env=environment())[0]
        equal(said, plain, f"what {flags} prints")
        equal(names(ours), names(theirs), f"files made by {flags}")
        for name in names(ours):
            if name.endswith(".d") or name == "deps file":
                made = [[word for word in without_macros((place / name).read_text()).split() if word != "\\"]
                        for place in (ours, theirs)]
                equal(*made, f"{name} of {flags}")


def questions(under, folder):
    work = folder.new(main_c=PROGRAM, part_c=PART)
    for flags in (["--version"], ["-dumpmachine"], ["-dumpversion"], ["-print-search-dirs"], ["-print-file-name=libc.so"],
                  ["-v"], ["-Wl,--version"], ["-fsyntax-only", "main.c"], ["-E", "-dM", "-x", "c", "/dev/null"], []):
        ours = subprocess.run([CC, *flags], cwd=work, capture_output=True, text=True, env=environment(under))
        theirs = subprocess.run([shutil.which(under.name), *flags], cwd=work, capture_output=True, text=True, env=environment())
        equal(ours.returncode, theirs.returncode, f"status of {flags}")
        equal(without_macros(ours.stdout), theirs.stdout, f"answer to {flags}")
        equal(re.sub(r"/tmp/\S*", "", ours.stderr), re.sub(r"/tmp/\S*", "", theirs.stderr), f"stderr of {flags}")
    said = cc(under, "-###", "-c", "part.c", cwd=work)[1]
    check("cc1" in said and ("thread" in said or under.pass_wish == "on") and not (work / "part.o").exists(), f"-###: {said}")


def sanitizer_tests(under, folder):
    """Code that asks whether it is under ThreadSanitizer works with either answer, and code that does not ask links, too."""
    source = r"""
#include <stdio.h>
#if defined(__SANITIZE_THREAD__)
#error gcc says so
#endif
void AnnotateHappensBefore(const char *, int, const volatile void *);
void AnnotateIgnoreReadsBegin(const char *, int);
void __tsan_acquire(void *);
void __tsan_release(void *);
int main(int argc, char **argv)
{
    AnnotateHappensBefore(__FILE__, __LINE__, &argc);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    __tsan_acquire(argv);
    __tsan_release(argv);
    return printf("%s\n", argv[0]) < argc;
}
"""
    work = folder.new(main_c=source)
    cc(under, "-Werror", "main.c", cwd=work)
    check_program(work / "a.out")
    cc(under, "-Werror", "-fsanitize=thread", "main.c", cwd=work)
    check_program(work / "a.out", what="-fsanitize=thread")
    whole = cc(under, "-E", "main.c", "-o", "main.i", cwd=work)
    cc(under, "main.i", "-o", "from-i", cwd=work)
    check_program(work / "from-i", what=f"preprocessed {whole}")


HOLES = r"""
#ifdef AGAIN
#define _FORTIFY_SOURCE 2
#endif
#include <stdio.h>
#include <string.h>
struct block { char bytes[64]; };
void copy(char *to, const char *from);
void copy(char *to, const char *from) { memcpy(to, from, 64); }
void clear(char *to);
void clear(char *to) { memset(to, 0, 48); }
void print(char *to);
void print(char *to) { sprintf(to, "constant text"); }
void print_some(char *to);
void print_some(char *to) { snprintf(to, 20, "constant text"); }
void rise(int *numbers, int count);
void rise(int *numbers, int count) { for (int i = 0; i < count; i++) numbers[i]++; }
void triple(int *restrict to, const int *restrict from, int count);
void triple(int *restrict to, const int *restrict from, int count) { for (int i = 0; i < count; i++) to[i] = 3 * from[i]; }
"""


def holes(under, folder):
    """What compilers would hide from the plain flag."""
    if under.pass_wish == "on":
        return
    fortified = (["-O2"], ["-O2", "-D_FORTIFY_SOURCE=2"], ["-O2", "-Wp,-D_FORTIFY_SOURCE=2"], ["-O2", "-DAGAIN"])
    for flags in fortified:
        work = folder.new(holes_c=HOLES)
        cc(under, *flags, "-c", "holes.c", cwd=work)
        found = symbols(work / "holes.o")
        check(re.search(r" U (__tsan_)?(__)?memcpy", found) and re.search(r" U (__tsan_)?(__)?memset", found),
              f"{flags}: copies of constant size are expanded inline: {found}")
        check("__tsan_func_entry" not in found, f"{flags}: callbacks of functions: {found}")
        check(under.clang or (re.search(r" U (__)?sprintf", found) and re.search(r" U (__)?snprintf", found)),
              f"{flags}: constant texts are stored inline: {found}")
        if under.clang:
            check("__tsan_read_write4" in found, f"{flags}: a[i]++ is a write only: {found}")
    wide = {"x86_64": ["-mavx2", "-mavx512f"], "aarch64": ["-march=armv8.2-a+sve"]}[run(["uname", "-m"])[0].strip()]
    for flag in wide:
        said = cc(under, "-O3", flag, "-S", "-o", "-", "holes.c", cwd=work)
        check(not re.search(r"\b[yz]mm\d|\bz\d+\.[bhsd]\b", said[0]), f"{flag}: vectors wider than 16 bytes")
        check("calable" not in said[1], f"{flag}: {said[1]}")


def link_time_optimisation(under, folder):
    """Instrumented and wrapped as without it."""
    if under.clang:
        said = run([under.name, "-flto", "-fuse-ld=bfd", "-x", "c", "-", "-o", folder.new() / "x"], None, input="int main(void) { return 0; }")[1]
        check(not said, f"-flto with {under}: is its linker plugin missing? {said}")
    work = folder.new(main_c=PROGRAM, part_c=PART, holes_c=HOLES)
    keep = "int main(int argc, char **argv)"
    (work / "main.c").write_text(PROGRAM.replace(keep, "void copy(char *to, const char *from);\n" + keep).replace(
        "free(numbers);", "copy((char *)numbers, (char *)numbers + 64); free(numbers);"))
    cc(under, "-O2", "-flto", "-DPART", "-c", "main.c", "part.c", "holes.c", cwd=work)
    cc(under, "-O2", "-flto", "main.o", "part.o", "holes.o", "-o", "program", cwd=work)
    check_program(work / "program", output=SUM)
    check(calls_callbacks(work / "program", "main"), "with -flto main is not instrumented")
    check(wraps(work / "program", "memcpy") or under.clang, "with -flto memcpy is not wrapped")
    cc(under, "-O2", "-flto", "-DPART", "main.c", "part.c", "holes.c", "-o", "one", cwd=work)
    check_program(work / "one", output=SUM)
    check(calls_callbacks(work / "one", "main"), "with -flto in one step main is not instrumented")


def wait_for_compiler(group):
    """Until one runs in the group of processes."""
    for _ in range(20000):
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, fields = stat.read_text().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            if int(fields.split()[2]) == group and re.match("cc1|clang", name):
                return
        time.sleep(0.05)
    check(False, "no compiler was started")


def failures(under, folder):
    work = folder.new(bad_c="int main(void) { return undeclared; }\n", main_c=PROGRAM, part_c=PART)
    for flags in (["bad.c"], ["-c", "bad.c"], ["main.c", "bad.c"], ["main.c", "-lnosuchlibrary"], ["missing.c"],
                  ["-DPART", "main.c"]):
        theirs = subprocess.run([under.name, *flags], cwd=work, capture_output=True, env=environment())
        before = names(work)
        said = cc(under, *flags, cwd=work, status=theirs.returncode)[1]
        check("error" in said and "profalloc-cc: error" not in said, f"{flags}: {said}")
        equal(names(work), before, f"files left by {flags}")
    # Interrupted in the middle: it dies of the signal and leaves nothing (for_all looks into TMPDIR).
    slow = "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(A(x)))))\nvolatile int v; int main(void) { B(B(v += 1;)) }\n"
    (work / "slow.c").write_text(slow)
    process = subprocess.Popen([CC, "-O2", "slow.c", "-o", "slow"], cwd=work, env=environment(under), stderr=subprocess.DEVNULL,
                               start_new_session=True)
    wait_for_compiler(process.pid)
    check(process.poll() is None, "the long compilation has ended already")
    os.killpg(process.pid, signal.SIGINT)
    status = process.wait(timeout=1800)
    equal(status, -signal.SIGINT, "status after an interrupt")
    check(not (work / "slow").exists(), "after an interrupt there is a product")
    if under.clang:  # leaves its object behind when it is called alone, too
        for path in folder.temporary.glob("slow-*.o*"):
            path.unlink()


def precompiled_headers(under, folder):
    work = folder.new(pre_h="#pragma once\n#define _GNU_SOURCE\n#include <stdlib.h>\nstatic inline int twice(int *p) { return *p * 2; }\n",
                      main_c='#include "pre.h"\n' + PROGRAM)
    name = "pre.h.pch" if under.clang else "pre.h.gch"
    cc(under, "-O1", "pre.h", "-o", name, cwd=work)
    check((work / name).stat().st_size > 1000, "a precompiled header")
    used = ["-include-pch", name] if under.clang else ["-Winvalid-pch", "-Werror"]
    for flags in ([], ["-c"]):
        cc(under, "-O1", *used, *flags, "main.c", cwd=work)
    check_program(work / "a.out", output=SUM)


TESTS = (one_step, several_sources, compile_then_link, shared_objects, static_programs, static_counts, coverage, cxx_programs, relocatable,
         other_versions, response_files, standard_input, dependencies, questions, sanitizer_tests, holes, link_time_optimisation, failures,
         precompiled_headers)
if __name__ == "__main__":
    wanted = sys.argv[1:]
    for_all([test for test in TESTS if not wanted or test.__name__ in wanted])
