#!/usr/bin/env python3
"""The headers of analyze/: each compiles as the first include of a file, and all of them go together, so no two of them give
one name to two things.
"""
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2]))
COMPILER = shlex.split(os.environ.get("CC") or "cc")
# -Werror: a macro that is defined twice is only warned of.
FLAGS = ["-fsyntax-only", "-std=gnu11", "-D_GNU_SOURCE", "-Werror", "-I", str(ROOT), "-x", "c", "-"]
PROCESSES = 2


def complaints(headers):
    """What the compiler says of a file that includes these."""
    text = "".join(f'#include "{header}"\n' for header in headers)
    run = subprocess.run(COMPILER + FLAGS, input=text, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return "" if run.returncode == 0 else run.stderr or f"{COMPILER[0]} failed"


def has_own_guard(header):
    """Behind a guard that two headers share, the compiler sees one of them."""
    guard = "PFA_" + re.sub(r"[/.]", "_", header).upper()
    return f"#ifndef {guard}\n#define {guard}\n" in (ROOT / header).read_text()


def main():
    headers = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "analyze").rglob("*.h"))
    if not headers:
        sys.exit(f"no headers under {ROOT}/analyze")
    units = [headers] + [[header] for header in headers]
    with ThreadPoolExecutor(PROCESSES) as pool:
        told = [text for text in pool.map(complaints, units) if text]
    told += [f"{header}: its guard is not named for its path\n" for header in headers if not has_own_guard(header)]
    print("".join(told), end="")
    print(f"{len(headers)} headers, {len(told)} complaints")
    sys.exit(bool(told))


main()
