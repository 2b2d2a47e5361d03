"""Stressors of Debian's stress-ng with the library preloaded: those that allocate, map, fork, start threads and programs, and handle
signals. See foreign.py, and stress_ng.list for how each of them ends and why.

Each does a number of operations, not a time, with memory that is bounded. What they measure is not looked at."""
import os
import shutil
import sys
from pathlib import Path

import foreign

# Operations of each of two instances, and more options.
WORK = {
    "bigheap": (300, "--bigheap-growth 64K"),
    "clone": (15, "--clone-max 16"),
    "context": (400, ""),
    "daemon": (50, ""),
    "dynlib": (20, ""),
    "exec": (30, "--exec-max 4"),
    "fork": (200, "--fork-max 4"),
    "hsearch": (50, "--hsearch-size 4096"),
    "list": (100, "--list-size 2000"),
    "malloc": (10000, "--malloc-bytes 1M --malloc-max 2000 --malloc-pthreads 2"),
    "mmap": (5, "--mmap-bytes 2M"),
    "mremap": (20, "--mremap-bytes 4M"),
    "pthread": (300, "--pthread-max 32"),
    "qsort": (3, "--qsort-size 20000"),
    "sigsegv": (2000, ""),
    "spawn": (60, ""),
    "stack": (3, ""),
    "tree": (2, "--tree-size 5000"),
    "vfork": (200, "--vfork-max 4"),
    "vm": (300, "--vm-bytes 8M"),
    "zlib": (10, ""),
    "zombie": (200, "--zombie-max 32"),
}
# Of these each process would leave a trace; the second goes on without recording in children.
WITHOUT_TRACES = {"clone": "out:none", "daemon": "out:none", "exec": "out:none", "fork": "follow:false,out:none", "spawn": "out:none",
                  "vfork": "out:none", "zombie": "out:none"}
# These do not run as root.
NOT_AS_ROOT = {"exec", "spawn"}
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def command_for(entry):
    operations, options = WORK[entry.name]
    command = ["stress-ng", f"--{entry.name}", "2", f"--{entry.name}-ops", operations, *options.split(), "--temp-path", ".",
               "--seed", "1", "--oom-avoid"]
    if entry.name in NOT_AS_ROOT and os.geteuid() == 0:
        command = [*NOBODY, *command]
    return command, {"needs": "successful run completed", "conf": WITHOUT_TRACES.get(entry.name, "")}


def main(scratch):
    entries = foreign.read_list(foreign.HERE / "stress_ng.list", {})
    if {entry.name for entry in entries if set(entry.expected.values()) != {"out"}} != set(WORK):
        sys.exit("stress_ng.list has not the stressors that there are")
    # Where anyone can read it.
    foreign.LIBRARY = shutil.copy(os.path.realpath(foreign.LIBRARY), scratch / "libprofalloc.so")
    os.chmod(foreign.LIBRARY, 0o755)
    return foreign.run_list(entries, scratch, command_for)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
