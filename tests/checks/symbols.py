#!/usr/bin/env python3
"""What libprofalloc.so shows to the world and what it wants from it.

Exported: exactly the entry points of hooks/entry_points.def, the functions of include/profalloc.h, and the names below.
Imported: nothing that allocates, prints or enters the kernel behind the floor's back, and nothing that only libstdc++ has unless weakly.
Static library: the same exports.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("PROFALLOC_BUILD_DIR", ROOT / "build"))
LIBRARY = Path(os.environ.get("PROFALLOC_LIB", BUILD / "libprofalloc.so"))
ARCHIVE = LIBRARY.with_suffix(".a")

# Exported besides the two lists: a weak variable that a program may define to set options.
ALSO_EXPORTED = {"profalloc_conf", "profalloc_access_attach", "profalloc_access_detach", "profalloc_access_thread", "set_mprof_autosave", "mprof_stop", "mprof_restart"}
# And in the shared library alone, which has to know what is unloaded, to be the first to hear of a fork, and to end the trace before
# another program takes the place of this one, or before it ends past its exit handlers.
SHARED_ONLY = {"dlclose", "__register_atfork", "fork", "__fork", "_Fork", "execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve",
               "execveat", "_exit", "_Exit"}

# A library that is malloc must not use malloc, nor what uses it (stdio, locale, loader), nor make system calls anywhere but
# in the floor, which makes them without libc.
FORBIDDEN_IMPORTS = re.compile(
    r"(malloc|calloc|realloc|reallocarray|free|cfree|aligned_alloc|memalign|posix_memalign|valloc|pvalloc"
    r"|v?f?printf|v?s?n?printf|v?asprintf|v?dprintf|__\w*printf_chk|puts|fputs|putc|putchar|fputc|fwrite|fread|fflush"
    r"|fopen(64)?|fdopen|fclose|freopen|getline|perror|stdout|stderr|stdin|strdup|strndup|strerror|setlocale"
    r"|opendir|qsort|dlopen|dlerror|backtrace|backtrace_symbols(_fd)?|getaddrinfo|syslog"
    r"|open(at)?(64)?|read|write|close|mmap(64)?|munmap|mremap|mprotect|madvise|brk|sbrk|syscall|getrlimit(64)?|getrandom)$"
)
# Exceptions. malloc_info(3) is given a stream by its caller and must write to it; operator new, when memory is exhausted,
# looks for a C++ runtime that was loaded after us, without loading anything.
ALLOWED_IMPORTS = {"fwrite", "dlopen"}
# The C++ library's part of the ABI; a C program has no libstdc++, so these must be weak.
CXX_IMPORT = re.compile(r"_Z|__cxa_(?!finalize$|atexit$|at_quick_exit$|thread_atexit_impl$)|__gxx_")


def nm(*arguments):
    """(name, type letter) of each symbol, without its version."""
    output = subprocess.run(["nm", "-P", *arguments], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        fields = line.split()
        if len(fields) >= 2 and len(fields[1]) == 1:
            yield fields[0].split("@")[0], fields[1]


def without_comments(path):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)


def intended():
    entries = re.findall(r"^\s*PFA_ENTRY\w*\(\s*(\w+)", without_comments(ROOT / "hooks/entry_points.def"), re.M)
    api = re.findall(r"\b(profalloc_\w+)\s*\(", without_comments(ROOT / "include/profalloc.h"))
    if not entries or not api:
        sys.exit("found no names in hooks/entry_points.def or include/profalloc.h")
    return set(entries) | set(api) | ALSO_EXPORTED


def compare(what, exported, wanted):
    problems = [f"{what} exports {name}, which no list names" for name in sorted(exported - wanted)]
    return problems + [f"{what} does not export {name}" for name in sorted(wanted - exported)]


def check_exports():
    wanted = intended()
    shared = {name for name, kind in nm("-D", "--defined-only", str(LIBRARY)) if kind != "A"}
    problems = compare(LIBRARY.name, shared, wanted | SHARED_ONLY)
    if ARCHIVE.exists():
        problems += compare(ARCHIVE.name, {name for name, _ in nm("-g", "--defined-only", str(ARCHIVE))}, wanted)
    print(f"{len(shared)} exported symbols")
    return problems


def check_imports():
    imports = list(nm("-D", "--undefined-only", str(LIBRARY)))
    problems = [f"{LIBRARY.name} imports {name}" for name, _ in imports
                if FORBIDDEN_IMPORTS.match(name) and name not in ALLOWED_IMPORTS]
    problems += [f"{LIBRARY.name} needs {name} of the C++ library; import it weakly"
                 for name, kind in imports if CXX_IMPORT.match(name) and kind not in "wv"]
    dynamic = subprocess.run(["readelf", "-dW", str(LIBRARY)], check=True, capture_output=True, text=True).stdout
    problems += [f"{LIBRARY.name} is linked with {name}" for name in re.findall(r"NEEDED.*\[(libstdc\+\+[^]]*)\]", dynamic)]
    print(f"{len(imports)} imported symbols")
    return problems


def main():
    problems = check_exports() + check_imports()
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


main()
