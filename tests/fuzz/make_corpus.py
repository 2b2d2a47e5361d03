#!/usr/bin/env python3
"""Makes tests/fuzz/corpus from small made traces; see fuzz_reader.c for the form. Needs a build with tests."""
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

MAKER = Path(os.environ["PROFALLOC_BUILD_DIR"]) / "tests/analyze/make_trace"
CORPUS = Path(__file__).resolve().parent / "corpus"
EXTENTS = 32768
HEAD = 8 + 4 + 4 + 8 + 4 + 4 + 3 * 8 + 2 * 4 + 4 * 8 + 16 * 8 + 64 * 8  # of pfa_live_head_t, without the extents


def short_form(table):
    """A live table without its holes: extents moved together right behind the head, each cut to where its data ends."""
    count = struct.unpack_from("<I", table, 60)[0]
    extents, body = [], b""
    at = HEAD + 24 * EXTENTS
    for i in range(count):
        kind, index, offset, size = struct.unpack_from("<IIQQ", table, HEAD + 24 * i)
        data = table[offset:offset + size].rstrip(b"\0")
        data = data.ljust((len(data) + 127) // 128 * 128, b"\0")
        if kind == 5:  # a ring's capacity must fit, with the accesses behind its entries
            ring = table[offset:offset + size]
            accesses = 4096 + struct.unpack_from("<Q", ring, 8)[0] * 48
            data = bytearray(ring[:4096 + 16 * 48] + ring[accesses:accesses + 16 * 32])
            struct.pack_into("<Q", data, 8, 16)
        extents.append(struct.pack("<IIQQ", kind, index, at + len(body), len(data)))
        body += bytes(data)
    return table[:HEAD] + bytes([len(extents)]) + b"".join(extents) + body


def main():
    CORPUS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.pa"
        for form, chunks, words in (("ended", 0, []), ("ended", 40, ["after", "folded"]), ("ended", 60, ["sampled", "shift", "plain"]),
                                    ("ended", 8, ["after", "folded", "plain"]), ("killed", 8, ["dying", "plain"]),
                                    ("killed", 30, ["torn", "folded", "plain"]), ("ended", 50, ["sizes", "shift", "plain"]),
                                    ("ended", 30, ["accesses", "maps", "sizes", "shift", "plain"]), ("ended", 40, ["accesses", "after", "folded"]),
                                    ("killed", 12, ["accesses", "maps", "dying", "plain"])):
            subprocess.run([MAKER, form, path, str(chunks), "1", *words], check=True, stdout=subprocess.DEVNULL)
            # The maker's own path and build-id are of this machine.
            data = path.read_bytes().replace(str(MAKER).encode(), b"/" + b"m" * (len(str(MAKER)) - 1))
            if form == "killed":
                table = Path(str(path) + ".live").read_bytes()
                data += short_form(table) + struct.pack("<I", len(data)) + b"L"
            (CORPUS / "-".join([form, str(chunks), *words])).write_bytes(data)
    print(sum(f.stat().st_size for f in CORPUS.iterdir()), "bytes")


sys.exit(main())
