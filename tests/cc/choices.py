#!/usr/bin/env python3
"""What profalloc-cc decides: the compiler underneath, the pass, the place of our files; what it refuses, and what it says
then."""
import os
import platform
import shutil
import sys

from support import check, equal
from wrapper import BUILD, CC, CXX, FAMILY, Folder, cc, environment, run, shown, unders


def has(words, *wanted):
    """The words come one after another."""
    return any(tuple(words[i:i + len(wanted)]) == wanted for i in range(len(words)))


def refused(*arguments, says, cxx=False, **variables):
    out, err = cc(None, *arguments, cxx=cxx, status=1, variables=variables)
    check(all(text in err for text in says), f"{arguments} with {variables}: it says {err!r}, without one of {says}")
    check(err.startswith("profalloc-c") and err.count("\n") == 1 and not out, f"{arguments}: {out!r} {err!r}")


def program(folder, name, text):
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def help_text(folder):
    out, err = cc(None, "--profalloc-help")
    for name in ("PROFALLOC_CC", "PROFALLOC_CXX", "PROFALLOC_PASS", "PROFALLOC_LIBDIR", "--profalloc-show"):
        check(name in out, f"--profalloc-help does not tell of {name}")
    check("profalloc run -- ./program" in out and "accesses:true" not in out, "accesses are recorded without being asked for")
    equal(err, "", "--profalloc-help, standard error")


def compilers(folder):
    """PROFALLOC_CC, PROFALLOC_CXX, and what follows from one for the other."""
    def under(cxx=False, **variables):
        return shown(None, "-c", "x.c", cxx=cxx, variables=variables)[0]

    equal(os.path.basename(under()), "gcc", "the C compiler without being told")
    equal(os.path.basename(under(True)), "g++", "the C++ compiler without being told")
    for name, cxx in FAMILY.items():
        if shutil.which(name) and shutil.which(cxx):
            equal(under(PROFALLOC_CC=name), shutil.which(name), "the C compiler")
            equal(under(True, PROFALLOC_CC=name), shutil.which(cxx), f"the C++ compiler beside {name}")
            equal(under(True, PROFALLOC_CC=shutil.which(name)), shutil.which(cxx), f"the C++ compiler beside {name}, by path")
            equal(under(True, PROFALLOC_CC="nonsense", PROFALLOC_CXX=cxx), shutil.which(cxx), "the C++ compiler")
    bin_folder = folder.new()
    for name in ("special-gcc-99", "special-g++-99"):
        program(bin_folder, name, '#!/bin/sh\nexec gcc "$@"\n')
    path = f"{bin_folder}:{os.environ['PATH']}"
    equal(under(True, PROFALLOC_CC="special-gcc-99", PATH=path), str(bin_folder / "special-g++-99"), "a name with both ends")
    words = shown(None, "-c", "x.c", cxx=True, variables={"PROFALLOC_CC": "env special-gcc-99", "PATH": path})
    check(has(words, "special-g++-99"), f"a compiler behind another command: {words}")
    refused("-c", "x.c", says=["PROFALLOC_CC=no-such-cc", "no program"], PROFALLOC_CC="no-such-cc")
    refused("-c", "x.c", says=["PROFALLOC_CXX"], cxx=True, PROFALLOC_CC="special-gcc-98", PATH=path)
    refused("-c", "x.c", says=["neither gcc nor clang", "PROFALLOC_CC"], PATH=str(folder.new()))
    refused("-c", "x.c", says=["does not answer like gcc or clang"], PROFALLOC_CC="true")
    program(folder.base, "noprogram", "text")
    refused("-c", "x.c", says=["noprogram cannot be run"], PROFALLOC_CC="noprogram", PATH=f"{folder.base}:{os.environ['PATH']}")
    for name in ("/bin/ls", sys.executable):  # which say more than we do, if they are let
        for step in (["-c", "x.c"], ["x.o"]):
            refused(*step, says=[f"'{name}' does not answer like gcc or clang"], PROFALLOC_CC=name)


def only_clang(folder):
    clang = next(under.name for under in unders() if under.clang)
    alone = folder.new()
    for name, real in (("clang", clang), ("clang++", FAMILY[clang])):
        (alone / name).symlink_to(shutil.which(real))
    for cxx, name in ((False, "clang"), (True, "clang++")):
        words = shown(None, "-c", "x.c", cxx=cxx, variables={"PATH": alone, "PROFALLOC_PASS": "off"})
        equal(words[0], str(alone / name), "without gcc")
        check(has(words, "-Xclang", "-fsanitize=thread"), f"{words}")


def ourselves(folder):
    """No way leads back to us."""
    refused("-c", "x.c", says=["itself"], PROFALLOC_CC=str(CC))
    refused("-c", "x.c", says=["itself"], cxx=True, PROFALLOC_CXX=str(CXX))
    names = folder.new()
    (names / "gcc").symlink_to(CC)
    path = f"{names}:{os.environ['PATH']}"
    equal(shown(None, "-c", "x.c", variables={"PATH": path})[0], shutil.which("gcc"), "past a link to us")
    script = program(names, "script", f'#!/bin/sh\nexec "{CC}" "$@"\n')
    err = cc(None, "-c", "x.c", status=1, variables={"PROFALLOC_CC": str(script).replace(" ", "?")})[1]
    check("no program" in err, f"a path with blanks in PROFALLOC_CC: {err}")
    names.rename(folder.base / "names")
    err = cc(None, "-c", "x.c", status=1, variables={"PROFALLOC_CC": "script", "PATH": f"{folder.base}/names:{os.environ['PATH']}"})[1]
    check("leads back here" in err, f"a script around us: {err}")


def sanitizers(folder):
    for name in ("address", "memory", "leak", "hwaddress", "undefined,address"):
        for step in (["-c", "x.c"], ["x.c"], ["x.o"]):
            refused(f"-fsanitize={name}", *step, says=["exclude each other", name.rpartition(",")[2]])
    words = shown(None, "-fsanitize=address", "-fno-sanitize=address", "-c", "x.c")
    check("-fsanitize=thread" in words, f"a sanitizer that was taken back: {words}")
    check("-fsanitize=thread" in shown(None, "-fsanitize=undefined", "-c", "x.c"), "with -fsanitize=undefined")
    check("-Xlinker" not in shown(None, "-fsanitize=address", "-E", "x.c"), "preprocessing under a sanitizer")
    words = shown(None, "-fsanitize=thread", "x.o")
    check(words.index("-fsanitize=thread") < words.index("-fno-sanitize=thread"), f"the user's own at link: {words}")


def flags(folder):
    """What is added, by step."""
    for under in unders():
        words = shown(under, "-c", "x.c")
        if not under.clang:
            check("-fsanitize=thread" in words and "-U__SANITIZE_THREAD__" in words and "-fno-builtin-memcpy" in words
                  and "--param=tsan-instrument-func-entry-exit=0" in words, f"{words}")
        elif under.pass_wish == "off":
            check(has(words, "-Xclang", "-fsanitize=thread") and has(words, "-mllvm", "-tsan-compound-read-before-write=1")
                  and has(words, "-mllvm", "-tsan-instrument-func-entry-exit=0") and "-mprefer-vector-width=128" in words,
                  f"{words}")
        else:
            check(any(word.startswith("-fpass-plugin=") for word in words) and "-fsanitize=thread" not in words, f"{words}")
        check("-Xlinker" not in words, f"words for the linker in a compile step: {words}")
        for step in (["--version"], ["-c", "x.s"], ["-c", "x.S"], ["-c", "-x", "assembler", "-"], ["-fsyntax-only", "x.c"], ["-v"],
                     ["-print-file-name=x"], ["-c", "x.ll"], ["-M", "x.s"], ["-Wl,--version"], ["-r", "-nostdlib", "-c", "x.s"]):
            equal(shown(under, *step)[1:], step, f"{under}: nothing is added")
        words = shown(under, "x.c", "-o", "x")
        equal(sum(word.startswith("-specs=") for word in words), 0 if under.clang else 1, f"{under}: specs in one step: {words}")
        check("-fsanitize=thread" not in words or under.clang, f"{under}: the driver hears of the sanitizer: {words}")
        check(words.index(str(BUILD / "libprofalloc.so") if "PROFALLOC_LIBDIR" not in os.environ else
                          os.environ["PROFALLOC_LIBDIR"] + "/libprofalloc.so") < words.index("x.c"), "the library is not first")
        check(has(words, "-Xlinker", "-rpath"), f"no rpath to a library in no standard folder: {words}")
        words = shown(under, "-c", "--", "x.c") if under.clang else ["-x", "--", "x.c"]
        equal(words[-2:], ["--", "x.c"], "options behind --")


def the_pass(folder):
    clang = next(under for under in unders() if under.clang)
    version = clang.name.rpartition("-")[2]
    place = folder.new()
    for name in ("libprofalloc.so", "libprofalloc.a"):
        (place / name).write_text("")
    inner = place / "profalloc"
    inner.mkdir()
    (inner / "profalloc-gcc.specs").write_text("")
    base = {"PROFALLOC_LIBDIR": place, "PROFALLOC_CC": clang.name}
    check(has(shown(None, "-c", "x.c", variables=base), "-Xclang", "-fsanitize=thread"), "without a plugin")
    refused("-c", "x.c", says=["no pass plugin", f"llvm-{version}-dev"], PROFALLOC_PASS="on", **base)
    for step in (["-c", "x.c"], ["x.c"], ["x.o"], ["-E", "x.c"], ["-c", "x.s"], ["-fsyntax-only", "x.c"], ["-shared", "x.o"],
                 ["-c", "-ffreestanding", "x.c"]):
        for name in (clang.name, "gcc"):
            refused(*step, says=["auto, on, off or map"], PROFALLOC_PASS="perhaps", PROFALLOC_CC=name)
    equal(shown(None, "--version", variables={"PROFALLOC_PASS": "perhaps"})[1:], ["--version"], "a question")
    refused("-c", "x.c", says=["needs clang"], PROFALLOC_PASS="on", PROFALLOC_CC="gcc")
    plugin = inner / f"profalloc-pass-{version}.so"
    plugin.write_text("")
    fixed = [] if platform.machine() == "x86_64" else ["-mllvm", "-scalable-vectorization=off"]
    for wish in ("", "auto", "on"):
        words = shown(None, "-c", "x.c", variables={**base, "PROFALLOC_PASS": wish})
        equal(words[1:], ["-c", "x.c", f"-fpass-plugin={plugin}", *fixed], "with a plugin")
    words = shown(None, "-c", "x.c", variables={**base, "PROFALLOC_PASS": "map"})
    equal(words[1:], ["-c", "x.c", "-Xclang", "-load", "-Xclang", str(plugin), "-mllvm", "-profalloc-map",
                      f"-fpass-plugin={plugin}", *fixed], "with the map")
    words = shown(None, "-c", "x.c", variables={**base, "PROFALLOC_WINDOW": "any"})
    equal(words[1:], ["-c", "x.c", "-Xclang", "-load", "-Xclang", str(plugin), "-mllvm", "-profalloc-anywhere",
                      f"-fpass-plugin={plugin}", *fixed], "that looks anywhere")
    refused("-c", "x.c", says=["fixed or any"], PROFALLOC_WINDOW="perhaps", **base)
    check("-fsanitize=thread" in shown(None, "-c", "x.c", variables={**base, "PROFALLOC_PASS": "off"}), "off")


def places(folder):
    refused("-c", "x.c", says=["PROFALLOC_LIBDIR=/nonexistent", "libprofalloc.so"], PROFALLOC_LIBDIR="/nonexistent")
    place = folder.new()
    (place / "libprofalloc.so").write_text("")
    refused("x.o", says=["profalloc-gcc.specs", "as a whole"], PROFALLOC_LIBDIR=place)
    (place / "profalloc").mkdir()
    (place / "profalloc/profalloc-gcc.specs").write_text("")
    refused("x.o", says=["profalloc-wrap.txt", "as a whole"], PROFALLOC_LIBDIR=place)
    (place / "profalloc/profalloc-wrap.txt").write_text("# a comment\n--wrap=one\n--wrap=two\n")
    refused("x.o", says=["libprofalloc_access.a", "as a whole"], PROFALLOC_LIBDIR=place)
    (place / "profalloc/libprofalloc_access.a").write_text("")
    refused("x.c", says=["profalloc-nobuiltin.txt", "as a whole"], PROFALLOC_LIBDIR=place)
    (place / "profalloc/profalloc-nobuiltin.txt").write_text("-fno-builtin-one\n")
    refused("x.c", says=["profalloc-builtins.h", "as a whole"], PROFALLOC_LIBDIR=place)
    (place / "profalloc/profalloc-builtins.h").write_text("")
    words = shown(None, "x.c", variables={"PROFALLOC_LIBDIR": place})
    check("-Wl,--wrap=one,--wrap=two" in words and "-fno-builtin-one" in words and "-fno-builtin-memcpy" not in words, f"{words}")
    # Installed: found from the program's own place.
    prefix = folder.new()
    (prefix / "bin").mkdir()
    shutil.copy(CC, prefix / "bin/profalloc-cc")
    shutil.copytree(place, prefix / "lib")
    bare = {name: value for name, value in environment().items() if name != "PROFALLOC_LIBDIR"}
    words = run([prefix / "bin/profalloc-cc", "--profalloc-show", "x.o"], env=bare)[0]
    check(f"{prefix}/lib/libprofalloc.so" in words and f"{prefix}/lib/profalloc/libprofalloc_access.a" in words, words)
    shutil.rmtree(prefix / "lib")
    err = run([prefix / "bin/profalloc-cc", "-c", "x.c"], 1, env=bare)[1]
    check("PROFALLOC_LIBDIR" in err, err)


def cache(folder):
    """The compiler is asked once; another one in its place is asked again."""
    home = folder.new()
    tools = folder.new()
    asked = tools / "asked"
    for version in (1, 2):
        program(tools, "counted-gcc", f'#!/bin/sh\n[ "$1" = -dM ] && echo {version} >>"{asked}"\nexec gcc "$@"\n')
        os.utime(tools / "counted-gcc", (version * 1000, version * 1000))
        for command in ("counted-gcc", "env counted-gcc"):
            for _ in range(3):
                shown(None, "-c", "x.c", variables={"PROFALLOC_CC": command, "XDG_CACHE_HOME": home,
                                                    "PATH": f"{tools}:{os.environ['PATH']}"})
    equal(asked.read_text(), "1\n1\n2\n2\n", "questions to the compiler, by itself and behind another command")
    entry = next((home / "profalloc").iterdir())
    for damage in ("", "nonsense\n", entry.read_text()[:-20]):
        for path in (home / "profalloc").iterdir():
            path.write_text(damage)
        words = shown(None, "-c", "x.c", variables={"PROFALLOC_CC": "counted-gcc", "XDG_CACHE_HOME": home,
                                                    "PATH": f"{tools}:{os.environ['PATH']}"})
        check("-fsanitize=thread" in words, f"a damaged cache: {words}")
    words = shown(None, "-c", "x.c", variables={"XDG_CACHE_HOME": "/proc/nowhere", "HOME": "/proc"})
    check("-fsanitize=thread" in words, f"no cache: {words}")


TESTS = (help_text, compilers, only_clang, ourselves, sanitizers, flags, the_pass, places, cache)
for test in TESTS:
    if len(sys.argv) == 1 or test.__name__ in sys.argv[1:]:
        with Folder() as folder:
            print(test.__name__, flush=True)
            test(folder)
