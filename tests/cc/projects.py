#!/usr/bin/env python3
"""Small projects of the usual build systems, built with profalloc-cc and profalloc-c++ as their compilers: a library and a
program each, from configuration to the installed program. And ccache on either side of the wrapper."""
import re
import shutil
import sys
import tempfile
from pathlib import Path

from support import check, equal
from wrapper import (BUILD, CC, CXX, PART, PROGRAM, calls_callbacks, check_program, dynamic, environment, for_all,
                     instrumented, run)

SUM = "sum 4950\n"
CXX_PART = '#include <vector>\nextern "C" ' + PART.splitlines()[1].replace(
    "int sum = 0;", "std::vector<int> sums(1); int &sum = sums[0];") + "\n"


def needs(*programs):
    for program in programs:
        check(shutil.which(program) is not None, f"{program} is missing: run scripts/setup.sh test")


def build_environment(under, **more):
    return environment(under, CC=CC, CXX=CXX, **more)


def make(under, folder):
    """A configure script and a Makefile by hand: probes, dependency files, a static and a shared library."""
    needs("make")
    work = folder.new(main_c=PROGRAM, part_c=PART, configure_sh=r"""
set -e
echo 'int main(void) { return 0; }' >conftest.c
"$CC" $CFLAGS -o conftest conftest.c && ./conftest
"$CC" --version >config.log
echo 'int function(void) { return 1; }' >conftest.c
"$CC" -E conftest.c >conftest.i
"$CC" -c conftest.c && "$CC" -Wl,--version >>config.log 2>&1
! "$CC" -c -Werror -Wno-such-thing-as-this=7x conftest.c -fno-such-option 2>>config.log
rm -f conftest*
""", Makefile_mk=r"""
CFLAGS = -O2 -Wall -Werror -MMD -MP
all: static shared
static: main.o libpart.a
	$(CC) $(CFLAGS) $^ -o $@
shared: main.o libpart.so
	$(CC) $(CFLAGS) main.o -L. -lpart -Wl,-rpath,'$$ORIGIN' -o $@
main.o: CFLAGS += -DPART
part.o: CFLAGS += -fPIC
libpart.a: part.o
	$(AR) rcs $@ $^
libpart.so: part.o
	$(CC) -shared -Wl,-soname,$@ -Wl,-z,defs $^ -o $@
-include main.d part.d
""")
    run(["sh", "configure.sh"], cwd=work, env=build_environment(under))
    run(["make", "-f", "Makefile.mk", f"CC={CC}"], cwd=work, env=build_environment(under))
    for name in ("static", "shared"):
        check_program(work / name, output=SUM, what=name)
    check(calls_callbacks(work / "libpart.so", "part") and calls_callbacks(work / "static", "part"), "the library is not instrumented")
    out = run(["make", "-f", "Makefile.mk", f"CC={CC}"], cwd=work, env=build_environment(under))[0]
    check("Nothing to be done" in out, f"built again: {out}")


def autotools(under, folder):
    needs("autoconf", "automake")
    work = folder.new(main_c="#include <config.h>\n" + PROGRAM, part_cc=CXX_PART, configure_ac=r"""
AC_INIT([project], [1.0])
AM_INIT_AUTOMAKE([foreign])
AC_CONFIG_HEADERS([config.h])
AC_PROG_CC
AC_PROG_CXX
AC_PROG_RANLIB
AM_PROG_AR
AC_CHECK_FUNCS([malloc memcpy getline])
AC_CHECK_HEADERS([dlfcn.h pthread.h])
AC_CHECK_LIB([m], [cos])
AC_FUNC_MALLOC
AC_C_BIGENDIAN
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
""", Makefile_am=r"""
bin_PROGRAMS = program
noinst_LIBRARIES = libpart.a
libpart_a_SOURCES = part.cc
program_SOURCES = main.c
program_CPPFLAGS = -DPART -U_GNU_SOURCE
program_LDADD = libpart.a -lstdc++
""")
    base = Path(tempfile.mkdtemp(prefix="profalloc-cc-", dir=folder.base.parent))  # automake does not take blanks
    try:
        shutil.copytree(work, base / "source")
        run(["autoreconf", "-i"], cwd=base / "source", env=environment())
        build = base / "build"
        build.mkdir()
        run([base / "source/configure", f"--prefix={base / 'installed'}"], cwd=build, env=build_environment(under))
        config = (build / "config.h").read_text()
        for line in ("HAVE_MALLOC 1", "HAVE_MEMCPY 1", "HAVE_GETLINE 1", "HAVE_DLFCN_H 1", "HAVE_LIBM 1"):
            check(f"#define {line}" in config, f"configure did not find {line}")
        run(["make", "install"], cwd=build, env=build_environment(under))
        check_program(base / "installed/bin/program", output=SUM)
        check(instrumented(build / "libpart.a"), "the library is not instrumented")
    finally:
        shutil.rmtree(base)


def cmake(under, folder):
    needs("cmake", "ninja")
    work = folder.new(main_c=PROGRAM, part_cc=CXX_PART, CMakeLists_txt=r"""
cmake_minimum_required(VERSION 3.20)
project(small C CXX)
include(CheckFunctionExists)
include(CheckCCompilerFlag)
check_function_exists(getline HAVE_GETLINE)
check_c_compiler_flag(-fno-such-option-as-this HAVE_NONSENSE)
if(NOT HAVE_GETLINE OR HAVE_NONSENSE OR NOT CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    message(FATAL_ERROR "getline ${HAVE_GETLINE}, nonsense ${HAVE_NONSENSE}, compiler ${CMAKE_C_COMPILER_ID}")
endif()
find_package(Threads REQUIRED)
add_library(part SHARED part.cc)
add_executable(program main.c)
target_compile_definitions(program PRIVATE PART)
target_link_libraries(program PRIVATE part Threads::Threads)
install(TARGETS part program LIBRARY DESTINATION lib RUNTIME DESTINATION bin)
""")
    for kind in ("Debug", "Release"):
        run(["cmake", "-G", "Ninja", "-S", work, "-B", work / kind, f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_CXX_COMPILER={CXX}",
             f"-DCMAKE_BUILD_TYPE={kind}", "-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib"], env=environment(under))
        run(["cmake", "--build", work / kind], env=environment(under))
        check_program(work / kind / "program", output=SUM, what=kind)
        check(instrumented(work / kind / "libpart.so"), f"{kind}: the library is not instrumented")
        run(["cmake", "--install", work / kind, "--prefix", work / f"installed {kind}"], env=environment(under))
        check_program(work / f"installed {kind}" / "bin/program", output=SUM, what=f"{kind}, installed")
        out = run(["cmake", "--build", work / kind], env=environment(under))[0]
        check("no work to do" in out, f"built again: {out}")


def meson(under, folder):
    needs("meson", "ninja")
    work = folder.new(main_c=PROGRAM, part_cc=CXX_PART, meson_build=r"""
project('small', 'c', 'cpp', default_options: ['buildtype=debugoptimized', 'werror=true'])
cc = meson.get_compiler('c')
assert(cc.get_id() == 'gcc' or cc.get_id() == 'clang', cc.get_id())
assert(cc.has_function('getline'))
assert(not cc.has_argument('-fno-such-option-as-this'))
part = shared_library('part', 'part.cc')
executable('program', 'main.c', c_args: '-DPART', link_with: part)
""")
    run(["meson", "setup", work / "build", work], env=build_environment(under))
    run(["ninja", "-C", work / "build"], env=build_environment(under))
    check_program(work / "build/program", output=SUM)
    check(instrumented(work / "build/libpart.so"), "the library is not instrumented")


def statistics(folder, under):
    out = run(["ccache", "--print-stats"], env=environment(under, CCACHE_DIR=folder))[0]
    values = dict(re.findall(r"^(\w+)\t(\d+)$", out, re.M))
    return (int(values["direct_cache_hit"]) + int(values["preprocessed_cache_hit"]), int(values["cache_miss"]))


def ccache(under, folder):
    """In front of the wrapper, and between it and the compiler: the second build is all hits, and instrumented."""
    needs("ccache")
    behind = {"PROFALLOC_CC": f"ccache {under.name}"}
    for name, command, variables in (("in front", ["ccache", CC], {}), ("behind", [CC], behind)):
        store, work = folder.new(), folder.new(main_c=PROGRAM, part_c=PART)
        whole = environment(under, CCACHE_DIR=store, CCACHE_TEMPDIR=store / "tmp", **variables)
        for turn in (1, 2):
            for source in ("main", "part"):
                (work / f"{source}.o").unlink(missing_ok=True)
                run([*command, "-DPART", "-O2", "-MMD", "-c", f"{source}.c", "-o", f"{source}.o"], cwd=work, env=whole)
                check(instrumented(work / f"{source}.o"), f"ccache {name}, turn {turn}: {source}.o is not instrumented")
            equal(statistics(store, under), (2 * turn - 2, 2), f"ccache {name}, turn {turn}: hits and misses")
        run([*command, "main.o", "part.o", "-o", "program"], cwd=work, env=whole)
        check_program(work / "program", output=SUM, what=f"ccache {name}")


def installed(under, folder):
    """As it is when installed, with nothing said of its place."""
    prefix = folder.base / "prefix"
    plain = {name: value for name, value in environment(under).items() if name != "PROFALLOC_LIBDIR"}
    run(["cmake", "--install", BUILD, "--prefix", prefix], env=plain)
    work = folder.new(main_c=PROGRAM, part_cc=CXX_PART)
    check((prefix / "bin/profalloc-c++").is_symlink(), "profalloc-c++ is one program with profalloc-cc")
    run([prefix / "bin/profalloc-cc", "-O2", "-DPART", "-c", "main.c"], cwd=work, env=plain)
    run([prefix / "bin/profalloc-c++", "-O2", "main.o", "part.cc", "-o", "program"], cwd=work, env=plain)
    check_program(work / "program", output=SUM)
    check(str(prefix) in dynamic(work / "program"), "the installed library is not the one that is found")
    run([prefix / "bin/profalloc-cc", "-O2", "-DSTATIC", "-static", "main.c", "-o", "static"], cwd=work, env=plain)
    check_program(work / "static", output=SUM)


TESTS = (make, autotools, cmake, meson, ccache, installed)
if __name__ == "__main__":
    for_all([test for test in TESTS if len(sys.argv) == 1 or test.__name__ in sys.argv[1:]])
