"""What the tests of profalloc-cc share: the compilers to put underneath, calls of the wrapper, and what its products are
held to."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from support import check

BUILD = Path(os.environ["PROFALLOC_BUILD_DIR"])
CC, CXX = BUILD / "profalloc-cc", BUILD / "profalloc-c++"
FAMILY = {"gcc": "g++", "clang-14": "clang++-14", "clang-16": "clang++-16"}

# A program that shows that it works, that malloc is ours, and that has accesses and wrapped calls to show.
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef PART
int part(int *numbers, int count);
#else
int part(int *numbers, int count) { int sum = 0; for (int i = 0; i < count; i++) sum += numbers[i]++; return sum; }
#endif
int main(int argc, char **argv)
{
    int *numbers = malloc(100 * sizeof(int));
    memset(numbers, argc, 100 * sizeof(int));
    for (int i = 0; i < 100; i++) numbers[i] = i;
#ifndef STATIC
    Dl_info info;
    if (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) == 0 || strstr(info.dli_fname, "libprofalloc") == NULL)
        return 2;
#endif
    printf("sum %d%s\n", part(numbers, 100), argc > 1 ? argv[1] : "");
    free(numbers);
    return 0;
}
"""
PART = "int part(int *numbers, int count);\n" \
       "int part(int *numbers, int count) { int sum = 0; for (int i = 0; i < count; i++) sum += numbers[i]; return sum; }\n"


class Under:
    """A compiler underneath, with or without the pass plugin."""

    def __init__(self, name, pass_wish):
        self.name, self.pass_wish = name, pass_wish
        self.clang = name.startswith("clang")
        self.environment = {"PROFALLOC_CC": name, "PROFALLOC_PASS": pass_wish}

    def __str__(self):
        return f"{self.name}{' with the pass' if self.pass_wish == 'on' else ''}"


def has_pass(name):
    version = name.rpartition("-")[2]
    return any((folder / f"profalloc-pass-{version}.so").exists()
               for folder in (BUILD, BUILD / "lib/profalloc", BUILD / "profalloc"))


def unders():
    """All of them, or the one that PROFALLOC_TEST_UNDER names; clang-14-pass is clang-14 with the pass."""
    found = []
    for name, cxx in FAMILY.items():
        check(shutil.which(name) is not None and shutil.which(cxx) is not None, f"{name} or {cxx} is missing: run scripts/setup.sh test")
        found.append(Under(name, "off"))
        if name.startswith("clang"):
            check(has_pass(name), f"there is no pass for {name}: run scripts/setup.sh test, and build again")
            found.append(Under(name, "on"))
    wanted = os.environ.get("PROFALLOC_TEST_UNDER")
    chosen = [under for under in found if wanted in (None, under.name + ("-pass" if under.pass_wish == "on" else ""))]
    check(chosen, f"there is no compiler {wanted}")
    return chosen


def environment(under=None, **more):
    whole = dict(os.environ)
    for name in ("CC", "CXX", "CFLAGS", "LDFLAGS", "PROFALLOC_CC", "PROFALLOC_CXX", "PROFALLOC_PASS", "LD_LIBRARY_PATH"):
        whole.pop(name, None)
    whole.update(under.environment if under else {})
    whole.update({name: str(value) for name, value in more.items()})
    return whole


def run(command, status=0, **options):
    """Runs a command, checks its exit status, returns (stdout, stderr)."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **options)
    if status is not None:
        check(done.returncode == status,
              f"{shlex.join(command)}: status {done.returncode}, expected {status}\n{(done.stdout + done.stderr)[:5000]}")
    return done.stdout, done.stderr


def cc(under, *arguments, cxx=False, status=0, variables=None, **options):
    return run([CXX if cxx else CC, *arguments], status, env=environment(under, **(variables or {})), **options)


def shown(under, *arguments, **options):
    """The words of the command that would be run."""
    return shlex.split(cc(under, "--profalloc-show", *arguments, **options)[0])


def symbols(path):
    return run(["nm", path])[0]


def instrumented(path):
    """Of an object, or a program that is not stripped."""
    return re.search(r" [UtTwW] (__tsan_(unaligned_)?(read|write)|profalloc_pass_|pfa_pass_|__profalloc_)", symbols(path)) is not None


def dynamic(path):
    return run(["readelf", "-dW", path])[0]


def check_program(path, *arguments, output=None, what=""):
    """It runs, the libraries are found, the sanitizer's is not among them."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic(path))
    check(not any("tsan" in name for name in needed), f"{what}: {path} needs {needed}")
    if needed:
        check(any(name.startswith("libprofalloc.so") for name in needed), f"{what}: {path} needs only {needed}")
        libraries = run(["ldd", path], env=environment())[0]
        check("not found" not in libraries and "libprofalloc" in libraries, f"{what}: ldd says {libraries}")
    check(instrumented(path), f"{what}: {path} is not instrumented")
    said = run([path, *arguments], env=environment())[0]
    check(output is None or said == output, f"{what}: it said {said!r}, expected {output!r}")
    return said


def wraps(path, name):
    """Code of a program calls the wrapped function, or what clang makes of a call."""
    code = run(["objdump", "-d", "--no-show-raw-insn", path])[0]
    return re.search(rf"\b(bl?|callq?|jmp)\s.*<__(wrap|tsan)_{name}>", code) is not None


def calls_callbacks(path, function):
    """The code of one function of a program calls callbacks."""
    code = run(["objdump", "-d", "--no-show-raw-insn", path])[0]
    found = re.search(rf"<{function}>:\n(.*?)\n\n", code + "\n\n", re.S)
    return found is not None and re.search(r"<(__tsan_|profalloc_pass_|pfa_pass_|__profalloc_|pfa_access)", found.group(1)) is not None


class Folder:
    """A folder with blanks in its name, removed in the end, and a TMPDIR in it that must be empty then."""

    def __init__(self):
        self.base = Path(tempfile.mkdtemp(prefix="profalloc cc "))
        self.temporary = self.base / "tmp"
        self.temporary.mkdir()
        self.made = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        left = sorted(path.name for path in self.temporary.iterdir())
        shutil.rmtree(self.base)
        check(kind is not None or not left, f"left in TMPDIR: {left}")

    def new(self, **files):
        """A fresh folder with these files; the names' last "_" is a dot."""
        self.made += 1
        folder = self.base / f"work {self.made}"
        folder.mkdir()
        for name, text in files.items():
            (folder / ".".join(name.rsplit("_", 1))).write_text(text)
        return folder


def for_all(tests):
    """Each test with each compiler."""
    for under in unders():
        for test in tests:
            with Folder() as folder:
                os.environ["TMPDIR"] = str(folder.temporary)
                print(f"{under}: {test.__name__}", flush=True)
                test(under, folder)
