#!/usr/bin/env python3
"""The thread-local block of libprofalloc.so is small and initial-exec.

glibc keeps little spare static TLS for libraries loaded late, and any other model makes the dynamic linker call malloc.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2]))
LIBRARY = os.environ.get("PROFALLOC_LIB", str(ROOT / "build/libprofalloc.so"))

LIMIT = 512
# Module id, module offset and descriptors: the relocations of the general- and local-dynamic models, on both machines.
DYNAMIC_MODEL = re.compile(r"R_X86_64_(DTPMOD|DTPOFF|TLSDESC)\w*|R_AARCH64_(TLS_DTPMOD|TLS_DTPREL|TLSDESC)\w*")


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, LIBRARY], check=True, capture_output=True, text=True).stdout


def main():
    # Columns of a program header: type, offset, virtual address, physical address, file size, memory size.
    sizes = [int(line.split()[5], 16) for line in readelf("-l").splitlines() if line.split()[:1] == ["TLS"]]
    size = sum(sizes)
    print(f"static TLS: {size} bytes of at most {LIMIT}")
    dynamic = sorted({match.group() for match in DYNAMIC_MODEL.finditer(readelf("-r"))})
    calls = "__tls_get_addr" in readelf("--dyn-syms")
    if dynamic or calls:
        print("dynamic TLS model in use:", ", ".join(dynamic + ["__tls_get_addr"] * calls))
    sys.exit(size > LIMIT or bool(dynamic) or calls)


main()
