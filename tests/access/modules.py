#!/usr/bin/env python3
"""Any number of instrumented modules can be loaded at run time, into instrumented programs and others, and the accesses of the
last one are recorded as those of the first. (A module with static TLS of its own finds room for some forty.)"""
import shutil
import subprocess
import tempfile
from pathlib import Path

import compilers
import exact
from support import check, equal, tool

HERE = Path(__file__).resolve().parent
COUNT = 200
FLAGS = ("-O1", "-g", "-pthread", "-Wall", "-Wextra", "-Werror")


def has_tls(path):
    return "  TLS  " in subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout


def load_them(folder, what, program, modules, settings):
    trace = folder / "trace.pa"
    settings = {**settings, "PROFALLOC_CONF": f"prof:true,sample:1,accesses:true,out:{trace}"}
    done = subprocess.run([program, *modules], env=compilers.environment(settings), text=True, capture_output=True,
                          timeout=compilers.TIME_LIMIT, check=False)
    equal((done.returncode, done.stderr), (0, ""), what)
    equal(len(done.stdout.splitlines()), 2 * COUNT, f"{what}: chunks")
    exact.compare(what, done.stdout, trace)
    tool("check", trace)
    trace.unlink()


def one_way(folder, name, way):
    plugin = folder / "plugin.so"
    compilers.build(way, [HERE / "plugin.c"], plugin, *FLAGS, "-shared", "-fPIC")
    check(not has_tls(plugin), f"{name}: a module has thread-local memory of its own")
    modules = [folder / f"module{i}.so" for i in range(COUNT)]
    for module in modules:
        shutil.copy(plugin, module)
    program = folder / "program"
    compilers.build(way, [HERE / "modules.c"], program, *FLAGS, "-ldl")
    load_them(folder, name, program, modules, {})
    return modules


def main():
    with tempfile.TemporaryDirectory(prefix="profalloc-modules-") as scratch:
        folder = Path(scratch)
        for name, way in compilers.ways():
            modules = one_way(folder, name, way)
            print(f"{name}: fine", flush=True)
        plain = folder / "plain"
        subprocess.run(["cc", *FLAGS, HERE / "modules.c", "-o", plain, "-ldl"], check=True)
        load_them(folder, "a program that is not instrumented", plain, modules,
                  {"LD_PRELOAD": str(compilers.BUILD / "libprofalloc.so")})
        print("a program that is not instrumented: fine")


main()
