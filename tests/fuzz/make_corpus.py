#!/usr/bin/env python3
"""Makes tests/fuzz/corpus from small made traces and a recorded one; see fuzz_reader.c for the form. Needs a build with tests, and zstd.
The names of files begin with the version of the trace; those that older versions of the maker made stay (version 1 has no number)."""
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ["PROFALLOC_BUILD_DIR"])
MAKER = BUILD / "tests/analyze/make_trace"
HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
EXTENTS = 32768
HEAD = 8 + 4 + 4 + 8 + 4 + 4 + 3 * 8 + 2 * 4 + 4 * 8 + 16 * 8 + 64 * 8  # of pfa_live_head_t, without the extents


RING, RINGS, ENTRIES, RING_HEAD = 5, 9, 16, 192


def put_together(rings, record_size):
    """Rings of their own extents as one extent of several: each has its entries, and their accesses, right behind its head."""
    stride = RING_HEAD + ENTRIES * (48 + (32 if record_size == 64 else 0))
    together = b""
    for one in rings:
        head = bytearray(one[:RING_HEAD])
        struct.pack_into("<Q", head, 24, stride)
        together += bytes(head) + one[4096:4096 + stride - RING_HEAD]
    return together


def short_form(table, together):
    """A live table without its holes: extents moved together right behind the head, each cut to where its data ends. Together: rings
    have one extent."""
    record_size = struct.unpack_from("<I", table, 24)[0]
    count = struct.unpack_from("<I", table, 60)[0]
    extents, body, rings = [], b"", []
    at = HEAD + 24 * EXTENTS
    for i in range(count):
        kind, index, offset, size = struct.unpack_from("<IIQQ", table, HEAD + 24 * i)
        data = table[offset:offset + size].rstrip(b"\0")
        data = data.ljust((len(data) + 127) // 128 * 128, b"\0")
        if kind == RING:  # a ring's capacity must fit, with the accesses behind its entries
            ring = table[offset:offset + size]
            accesses = 4096 + struct.unpack_from("<Q", ring, 8)[0] * 48
            data = bytearray(ring[:4096 + ENTRIES * 48] + ring[accesses:accesses + ENTRIES * 32])
            struct.pack_into("<Q", data, 8, ENTRIES)
            rings.append((index, bytes(data)))
            if together:
                continue
        extents.append(struct.pack("<IIQQ", kind, index, at + len(body), len(data)))
        body += bytes(data)
    if together:
        data = put_together([data for _, data in rings], record_size)
        extents.append(struct.pack("<IIQQ", RINGS, rings[0][0], at + len(body), len(data)))
        body += data
    return table[:HEAD] + bytes([len(extents)]) + b"".join(extents) + body


def hide(data, path):
    """The same without a path of this machine."""
    return data.replace(str(path).encode(), b"/" + b"m" * (len(str(path)) - 1))


def unpack(trace):
    """A trace whose blocks are not compressed, so that what is changed in them is read. Checksums are left wrong: the target mends them."""
    plain, at = b"", 0
    while at < len(trace):
        magic, kind, flags, raw, stored, time, checksum = struct.unpack_from("<IHHIIQQ", trace, at)
        payload = trace[at + 32:at + 32 + stored]
        at += 32 + stored
        if flags & 1:
            payload = subprocess.run(["zstd", "-dcq"], input=payload, check=True, capture_output=True).stdout
        plain += struct.pack("<IHHIIQQ", magic, kind, flags & ~1, raw, len(payload), time, checksum) + payload
    return plain


def record():
    """A seed from a real recording (tests/fuzz/placed.c): it tells what made ones do not."""
    with tempfile.TemporaryDirectory() as folder:
        program, path = Path(folder) / "placed", Path(folder) / "t.pa"
        subprocess.run(["gcc", "-g0", "-O1", f"-I{HERE.parent.parent}", HERE / "placed.c", "-o", program, BUILD / "libprofalloc.so", "-pthread"], check=True)
        conf = f"prof:true,sample:1,addresses:true,stack_depth:6,out:{path}"
        subprocess.run([program], check=True, env={"PROFALLOC_CONF": conf, "LD_LIBRARY_PATH": str(BUILD)})
        data = hide(hide(unpack(path.read_bytes()), folder), BUILD)
        version = struct.unpack_from("<I", data, 32)[0]
        (CORPUS / f"{version}-recorded-addresses-types-tags-plain").write_bytes(data)


def main():
    CORPUS.mkdir(exist_ok=True)
    record()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.pa"
        for form, chunks, words in (("ended", 0, []), ("ended", 40, ["after", "folded"]), ("ended", 60, ["sampled", "shift", "plain"]),
                                    ("ended", 8, ["after", "folded", "plain"]), ("killed", 8, ["dying", "plain"]),
                                    ("killed", 30, ["torn", "folded", "plain"]), ("ended", 50, ["sizes", "shift", "plain"]),
                                    ("ended", 30, ["accesses", "maps", "sizes", "shift", "plain"]), ("ended", 40, ["accesses", "after", "folded"]),
                                    ("killed", 12, ["accesses", "maps", "dying", "plain"]), ("killed", 8, ["dying", "plain", "together"]),
                                    ("killed", 12, ["accesses", "plain", "together"]), ("ended", 200, ["accesses", "shift", "plain"])):
            together = "together" in words
            subprocess.run([MAKER, form, path, str(chunks), "1", *[w for w in words if w != "together"]], check=True, stdout=subprocess.DEVNULL)
            data = hide(path.read_bytes(), MAKER)
            if form == "killed":
                table = Path(str(path) + ".live").read_bytes()
                data += short_form(table, together) + struct.pack("<I", len(data)) + b"L"
            version = struct.unpack_from("<I", data, 32)[0]  # the first word of the first block
            (CORPUS / "-".join([str(version), form, str(chunks), *words])).write_bytes(data)
    print(sum(f.stat().st_size for f in CORPUS.iterdir()), "bytes")


if __name__ == "__main__":
    sys.exit(main())
