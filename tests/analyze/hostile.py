#!/usr/bin/env python3
"""Small files that are made to cost much: the tool answers, whatever it says of them, in little time and memory."""
import ctypes
import ctypes.util
import json
import mmap
import os
import resource
import struct
import subprocess
from pathlib import Path

import support
from support import check, tool

START, NODES, MODULES, EVENTS, LIVE, COUNTERS, END, SYMBOLS, MAPS = 1, 2, 3, 5, 6, 8, 13, 14, 15
ROWS = 32768
SESSION = 42
MASK = (1 << 64) - 1
SECONDS = 20
MEMORY = 1 << 30
SANITIZED = support.SANITIZED


def mix(lane, word):
    lane = (lane ^ word) * 0x9e3779b97f4a7c15 & MASK
    return lane ^ lane >> 29


def checksum(seed, data):
    """As pfa_checksum of export/format/trace.h."""
    lanes = [seed ^ 0x243f6a8885a308d3, seed ^ 0x13198a2e03707344, seed ^ 0xa4093822299f31d0, seed ^ len(data)]
    for at in range(0, len(data), 8):
        lanes[at // 8 % 4] = mix(lanes[at // 8 % 4], int.from_bytes(data[at:at + 8], "little"))
    return mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3])


def pack(data):
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    for name in ("ZSTD_compressBound", "ZSTD_compress"):
        getattr(zstd, name).restype = ctypes.c_size_t
    room = zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    packed = ctypes.create_string_buffer(room)
    size = zstd.ZSTD_compress(packed, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 19)
    check(size <= room, "zstd packs")
    return packed.raw[:size]


def block(kind, payload, packed=False):
    """Packed payloads are made as long as the tool wants them for what they unpack to, with a frame to be skipped."""
    stored = pack(payload) if packed else payload
    least = (len(payload) - (1 << 20) + 4095) // 4096
    if packed and least > len(stored):
        more = max(least - len(stored), 8)
        stored += struct.pack("<II", 0x184d2a50, more - 8) + bytes(more - 8)
    head = struct.pack("<IHHIIQQ", 0x4b414650, kind, int(packed), len(payload), len(stored), 1000, 0)
    return head[:-8] + struct.pack("<Q", checksum(checksum(0, head), stored)) + stored


def start(record_size=32, version=1):
    return block(START, struct.pack("<IIQIIQQQQIIQIIIIQ", version, 2, SESSION, 1, 1, 1000, 10**12, 10**18, 10**9, record_size, 64, 1, 0, 0, 0, 0, 0))


def instrumented():
    return block(COUNTERS, bytes(72) + struct.pack("<Q", 1))


def end(blocks=2):
    return block(END, struct.pack("<II", 1, blocks))


def number(value):
    """LEB128."""
    out = b""
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


LIVE_ROWS, AFTER_LIVE, ACCESSES, LENGTHS = 1, 2, 8, 16  # flags of a batch
DIED = 2000


def batch(flags, segments=b"", rows=ROWS, accesses=b"", size=16, shift=0, times=None, lives=None):
    """Rows of one kind, born at 2000 and, if they are deaths, dead at once; or with the columns given."""
    kind = struct.pack("<QIIIHHHHI", size << 16, 4, 4, 0, 1, 0, 1, 1, rows)
    if times is None:
        times = number(2 * (DIED >> shift)) + bytes(rows - 1)
    if lives is None:
        lives = lengths(bytes(rows), bytes(rows) if shift else b"") if flags & LENGTHS else bytes(rows)
        lives = (lengths(b"", b"") if flags & LENGTHS else b"") if flags & LIVE_ROWS else lives
    head = struct.pack("<IIIIQQIIIIII", rows, len(segments) // 16, 1, flags, DIED, DIED, shift, len(times), len(lives), 0, 0, len(accesses))
    return head + segments + kind + bytes(2 * rows) + times + lives + accesses


def lengths(steps, codes, size=None):
    """The column of lives of version 2: in steps, then codes."""
    return struct.pack("<I", len(steps) if size is None else size) + steps + codes


def columns(*parts, sizes=None):
    """Reads, writes, rests, lows, firsts and lasts, as a batch has them behind its other columns."""
    return struct.pack("<6I", *(sizes or map(len, parts))) + b"".join(parts)


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def limited(*arguments, status=0, memory=MEMORY):
    """Runs the tool with little memory (a sanitizer's is another matter) and little of the processor's time."""
    seconds = SECONDS * (10 if SANITIZED else 1)

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    begun = spent()
    out, said = tool(*arguments, status=status, preexec_fn=limit)
    print(f"  {arguments[0]}: {spent() - begun:.2f} s")
    return out, said


def write(path, *blocks):
    path.write_bytes(b"".join(blocks))
    return path


def equal_deaths(folder):
    """Deaths that are all alike, and as many live chunks like them: each takes one away."""
    count = 24
    deaths = [block(EVENTS, batch(2, struct.pack("<QII", i * ROWS, 1, ROWS)), True) for i in range(count)]
    picture = batch(1)
    lives = [block(LIVE, struct.pack("<IIQII", 1, 2 + (i == count), 2000, 0, 0) + picture, True) for i in range(count + 1)]
    path = write(folder / "t.pa", start(), *deaths, *lives, end(2 * count + 3))
    out, _ = limited("report", "--json", path)
    live = support.json.loads(out)["live"]["chunks"]
    support.equal(live, ROWS, "live chunks that did not die")


def magic_numbers(folder):
    """Nothing but the beginnings of blocks, before a block, behind it, and alone."""
    noise = b"PFAK" * (1 << 20)
    limited("report", write(folder / "t.pa", start(), noise, end()))
    out, _ = limited("dump", "--json", write(folder / "t.pa", noise, start(), noise[:4096], end()))
    support.equal(out.count('"type":"block"') + out.count('"type": "block"'), 2, "blocks found in the noise")
    limited("report", write(folder / "t.pa", noise), status=2)


def many_rings(folder):
    """Entries of ever other rings, the highest first: of no rows, and of one row each."""
    def segments(first, rows):
        return b"".join(struct.pack("<QII", 0, 0xfffffff0 - first - i, rows) for i in range(4096))
    # More than are taken, which costs the square of their number: without a sanitizer, which would take minutes for it.
    count = 6 if SANITIZED else 20
    empty = [block(EVENTS, batch(0, segments(4096 * i, 0), 1), True) for i in range(100)]
    single = [block(EVENTS, batch(0, segments(4096 * i, 1), 4096), True) for i in range(count)]
    limited("report", write(folder / "t.pa", start(), *empty, end()))
    limited("report", write(folder / "t.pa", start(), *single, end()))
    out, said = limited("check", folder / "t.pa", status=1)
    check(SANITIZED or "4 blocks that cannot be decoded" in out + said, out + said)


def large_rows(folder):
    """Blocks of rows that unpack to far more than a recording writes: each of many threads would need so much memory."""
    blocks = [block(EVENTS, batch(2) + bytes(60 << 20), True)] * 40
    path = write(folder / "t.pa", start(), *blocks, block(EVENTS, batch(2)), end(43))
    told = []
    for threads in ("1", "16"):
        def limit():
            if not SANITIZED:
                resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        out, _ = tool("report", "--json", "--threads", threads, path, preexec_fn=limit, env={**os.environ, "MALLOC_ARENA_MAX": "1"})
        told.append(out)
    data = json.loads(told[0])
    support.equal(told[1], told[0], "what 16 threads tell")
    support.equal(data["totals"]["allocations"], ROWS, "chunks that are told")
    check(any("40 blocks" in text for text in data["missing"]), f"what is missing: {data['missing']}")


def modules(first_node, count, path=b""):
    one = struct.pack("<QQQHHI", 0, 4096, 8192, 0, len(path), 0) + path
    return struct.pack("<II", first_node, count) + one * count


def nodes(first, count):
    return struct.pack("<II", first, count) + bytes((count * 4 + 7) // 8 * 8) + struct.pack("<Q", 4097) * count


def much_meta(folder):
    """Lists that unpack to thousands of times their size, alike and not, and the same nodes again and again."""
    same = block(MODULES, modules(4, (1 << 20) // 32 - 1), True)
    others = [block(MODULES, modules(4, (1 << 20) // 33 - 33 - i, b"/"), True) for i in range(2)]
    again = block(NODES, nodes(4, (1 << 20) // 12 - 1), True)
    for name, blocks in (("lists alike", [same] * 400), ("lists by turns", others * 200), ("nodes", [again] * 400)):
        out, said = limited("report", write(folder / "t.pa", start(), *blocks, end()), memory=1 << 29)
        check("blocks that cannot be decoded" in out + said, f"{name}: what is over the limit is said: {out}{said}")


def many_lists(folder):
    """A list of modules for each node, and nodes."""
    lists = [block(MODULES, modules(20000 - i, 1, b"/%d" % (i % 7))) for i in range(20000)]
    out, _ = limited("dump", "--nodes", write(folder / "t.pa", start(), block(NODES, nodes(4, 300000)), *lists, end()))
    # A node's list is the last that begins with it or before it.
    for node in (4, 5, 12345, 20000, 200000):
        expected = (20000 - min(node, 20000)) % 7
        check(f"  node {node} caller 0 pc 0x1001 /{expected}+0x1001\n" in out, f"the module of node {node}")


def rows_without_a_kind(folder):
    """Rows that say to be of a kind which says that it has none: what is summed by kinds has no place for them."""
    kinds = [struct.pack("<QIIIHHHHI", size << 16, 4, 4, 0, 1, 0, 1, 1, rows) for size, rows in ((16, ROWS), (4096, 0))]
    mixed = bytes(kind[byte] for byte in range(len(kinds[0])) for kind in kinds)
    times = number(2 * DIED) + bytes(ROWS - 1)
    head = struct.pack("<IIIIQQIIIIII", ROWS, 0, 2, 0, DIED, DIED, 0, len(times), ROWS, 0, 0, 0)
    deaths = head + mixed + b"\1" * ROWS + bytes(ROWS) + times + bytes(ROWS)
    path = write(folder / "t.pa", start(), *[block(EVENTS, deaths, True) for _ in range(4)], end(6))
    for command in (["excess", "--min-share", "0"], ["excess", "--by", "size"], ["leaks"], ["report"], ["advise"], ["mprof"], ["timeline"], ["flame"], ["report", "--by", "size"]):
        limited(*command, "--threads", 2, path)


def crooked_table(folder):
    """Records that begin anywhere, with holes between them: each is looked at once."""
    for offset, record_size in ((65536 + 8, 32), (65536, 40), (65536 + 24, 4096)):
        path = write(folder / "t.pa", start(record_size, 1))
        size = 1 << 20
        live_table(path, [(1, 0, offset, size - 64)], 65536 + size, record_size=record_size)
        with open(f"{path}.live", "r+b") as file:
            for at in range(offset, 65536 + size - 70000, 150_000):  # the rest is holes
                file.seek(at)
                file.write(b"\1" * 5000)
        for command in ("report", "leaks", "check"):
            done = support.run_tool(command, path, timeout=20 * SECONDS)
            check(done.returncode in (0, 1), f"{command} of a table with records of {record_size} bytes at {offset}: status {done.returncode}\n{done.stderr}")


def live_table(path, extents, size, pid=0, ticks=0, boot=0, record_size=32, version=1):
    """A live table that is a hole but for its head; returns the file, open."""
    fixed = struct.pack("<QIIQIIQQQIIQQQQ", 0x324556494c414650, version, pid, SESSION, record_size, 0, 1000, 2000, 2000, 4, len(extents), size,
                        0, 0, 0)
    fixed += bytes(64 + 24) + struct.pack("<QQQ", ticks, boot, int(record_size == 64)) + bytes(16 + 512)
    file = open(f"{path}.live", "wb")
    file.write(fixed + b"".join(struct.pack("<IIQQ", *extent) for extent in extents))
    file.truncate(size)
    return file


def overlapping_extents(folder):
    """A file of a terabyte that has 64 MiB, and thousands of extents with all of them."""
    path = write(folder / "t.pa", start())
    size, data = 1 << 40, 64 << 20
    with live_table(path, [(1, 0, 1 << 20, data + i) for i in range(32768)], size) as file:
        file.seek(1 << 20)
        file.write(struct.pack("<QQIIHHHH", 3000, 16 << 16 | 1, 4, 0, 1, 0, 1, 0) * (data // 32))
    out, _ = limited("report", "--json", path)
    result = support.json.loads(out)
    support.equal(result["live"]["chunks"], data // 32, "live chunks, each once")
    check(any("32767 parts of the live table" in line for line in result["missing"]), str(result["missing"]))


def rings_of_holes(folder):
    """Rings that say they are full and are holes but for their heads."""
    path = write(folder / "t.pa", start())
    count, room, capacity = 3000, 1 << 20, 16384
    with live_table(path, [(5, i + 1, (i + 1) * room, room) for i in range(count)], (count + 1) * room) as file:
        for i in range(count):
            file.seek((i + 1) * room)
            file.write(struct.pack("<IIQQ40xQ", i + 1, 48, capacity, 0, capacity) + bytes(120))
    out, _ = limited("report", "--json", path)
    check("3000 rings" in out, out[:2000])


RING, RINGS = 5, 9  # kinds of extents


def ring(number, stride, capacity=4, head=4, tail=0, base=0, folded_from=0, entry_size=48):
    """A ring of an extent of several: its head, and entries, as many as fit."""
    first = struct.pack("<IIQQQ32xQ24x32xQQ48x", number, entry_size, capacity, base, stride, head, tail, folded_from)
    entry = struct.pack("<QQQIIIHHHHI", DIED, DIED + 1000, 16 << 16, 4, 4, 0, 1, 0, 1, 1, 0)
    return first + entry * min(4, max(0, (stride - len(first)) // len(entry)))


def hostile_rings(folder):
    """Extents of several rings (version 2) whose heads say what cannot be. What can be read is, and nothing is read twice."""
    path = write(folder / "t.pa", start(32, 2))
    room, stride, most, whole = 1 << 20, 192 + 4 * 48, 2**64 - 1, 4

    def read(rings, index=1, size=None, at=room):
        size = len(rings) if size is None else size
        with live_table(path, [(RINGS, index, at, size)], max(at + size, 2 * room), version=2) as file:
            file.seek(room)
            file.write(rings)
        result = support.json.loads(limited("report", "--json", path)[0])
        return result["totals"]["frees"], " ".join(result["missing"])

    good = [ring(1 + i, stride) for i in range(3)]
    frees, missing = read(b"".join(good))
    support.equal((frees, "ring" in missing), (3 * whole, False), f"three rings that are whole; missing: {missing}")
    # The first says how far it is to the next: if that is wrong, there are none.
    for wrong in (0, 1, 191, 192, 3 * stride + 1, most, 1 << 63):
        frees, _ = read(b"".join([ring(1, stride)[:24] + struct.pack("<Q", wrong) + ring(1, stride)[32:], *good[1:]]))
        support.equal(frees, 0, f"deaths with a stride of {wrong}")
    # One that is wrong is told, and the others are read.
    for words in ({"capacity": 0}, {"capacity": 3}, {"capacity": 8}, {"capacity": 1 << 63}, {"capacity": most}, {"entry_size": 0},
                  {"entry_size": 49}, {"head": most}, {"head": 1 << 40, "base": 1}, {"base": 5}, {"base": most}, {"tail": most},
                  {"folded_from": most}, {"folded_from": 1, "tail": most}):
        frees, missing = read(b"".join([good[0], ring(2, stride, **words), good[2]]))
        check(2 * whole <= frees <= 3 * whole, f"{words}: {frees} deaths; missing: {missing}")
    # More than there can be in an extent: the first 64 are read. Numbers go round. The end of the extent, and of the file, in the middle.
    frees, _ = read(b"".join(ring(1 + i, stride) for i in range(100)))
    support.equal(frees, 64 * whole, "deaths of a hundred rings")
    frees, _ = read(b"".join(good), index=2**32 - 2)
    check(frees <= 3 * whole, f"numbers beyond the last: {frees}")
    frees, _ = read(b"".join(good), size=2 * stride + 200)
    support.equal(frees, 2 * whole, "deaths of what is in the extent")
    for at, size in ((1 << 50, stride), (room, 1 << 60), (room, most), (most - 4095, room), (most, most)):
        with live_table(path, [(RINGS, 1, at, size)], 2 * room, version=2) as file:
            file.seek(room)
            file.write(b"".join(good))
        limited("report", path)
    # Thousands of extents with 64 rings each that say they are full, and are holes but for the first head.
    count, step = 3000, 64 * 4096
    with live_table(path, [(RINGS, 1 + 64 * i, room + i * step, step) for i in range(count)], room + count * step, version=2) as file:
        for i in range(count):
            file.seek(room + i * step)
            file.write(ring(1 + 64 * i, 4096, 64, 64)[:192])
    limited("report", path)
    limited("check", path, status=1)


def torn_columns(folder, version=1):
    """Columns of accesses that end too early or too late, or say what cannot be: the block is told, and nothing else is lost."""
    one, rows = bytes([1]), 100
    flags, beyond = (ACCESSES, one) if version == 1 else (ACCESSES | LENGTHS, number(33))  # a tick of no life, a share beyond all of it
    zeros, ones = bytes(rows), one * rows
    good = columns(ones, ones, ones, zeros, zeros, zeros)
    huge = number(2**64 - 1)
    bad = {"no head": b"", "half a head": good[:20], "a column short": columns(zeros[1:], zeros, zeros, b"", b"", b""),
           "a column long": columns(zeros, zeros, zeros, zeros, b"", b""), "one byte more": good + b"x",
           "sizes beyond the batch": columns(zeros, zeros, zeros, b"", b"", b"", sizes=[2**32 - 1] * 6),
           "sizes that go round": columns(zeros, zeros, zeros, b"", b"", b"", sizes=[rows, rows, rows, 2**31, 2**31, 0]),
           "reads beyond 32 bits": columns(number(2**32) + zeros[1:], zeros, zeros, b"", b"", b""),
           "a number without end": columns(b"\xff" * rows, zeros, zeros, b"", b"", b""),
           "a rest beyond the chunk": columns(zeros, zeros, number(1 + 2 * 16) + zeros[1:], one, one, one),
           "a rest of 64 bits": columns(zeros, zeros, huge + zeros[1:], one, one, one),
           "a start beyond the chunk": columns(zeros, zeros, one + zeros[1:], number(2 * 16), one, one),
           "a start before the chunk": columns(zeros, zeros, one + zeros[1:], number(1), one, one),
           "a first access after death": columns(zeros, zeros, one + zeros[1:], b"\0", beyond, b"\0"),
           "a last access before birth": columns(zeros, zeros, one + zeros[1:], b"\0", b"\0", beyond),
           "times of 64 bits": columns(zeros, zeros, one + zeros[1:], b"\0", huge, huge)}
    segment = struct.pack("<QII", 0, 1, rows)
    path = write(folder / "t.pa", start(64, version), block(EVENTS, batch(flags, segment, rows, good)), instrumented(), end(3))
    total = support.json.loads(limited("report", "--json", path)[0])["accesses"]
    support.equal((total["chunks"], total["bytes_touched"]), (rows, 16 * rows), "the good ones")
    for name, accesses in bad.items():
        write(path, start(64, version), block(EVENTS, batch(flags, segment, rows, accesses)), instrumented(), end(3))
        out, said = limited("check", path, status=1)
        check("1 block that cannot be decoded" in out + said, f"{name}: {out}{said}")
        limited("report", path)
        limited("dump", "--events", path)
        limited("pack", path, status=1)
    # Without the flag there are none to be had.
    write(path, start(64, version), block(EVENTS, batch(flags & ~ACCESSES, segment, rows, good)), instrumented(), end(3))
    check("cannot be decoded" in "".join(limited("check", path, status=1)), "accesses that nobody announced")


def torn_columns_2(folder):
    torn_columns(folder, 2)


def torn_lengths(folder):
    """Lives of version 2: what they say is told; of those that say what cannot be, the block is told, and nothing else is lost."""
    rows, shift, path = 100, 4, folder / "t.pa"
    segment, steps, codes = struct.pack("<QII", 0, 1, rows), bytes([1]) * rows, bytes([20]) * rows
    last = (1 << 64 - shift) - 1  # the last moment that there is, in steps
    write(path, start(32, 2), block(EVENTS, batch(LENGTHS, segment, rows, shift=shift, lives=lengths(steps, codes))), end())
    events = [support.json.loads(line) for line in limited("dump", "--events", "--json", path)[0].splitlines()]
    lives = [event["lifetime"] for event in events if event["type"] == "death"]
    support.equal((len(lives), {round(life * 1e9) for life in lives}), (rows, {20}), "lives that are shorter than two steps, to the tick")
    bad = {"no size of the steps": b"\0\0\0", "nothing": b"",
           "steps beyond the column": lengths(steps, codes, 2 * rows + 1), "steps of 4 GiB": lengths(steps, codes, 2**32 - 1),
           "no codes": lengths(steps, b""), "a code short": lengths(steps, codes[1:]),
           "a code of two steps more": lengths(steps, number(200) + codes[1:]), "a code of 64 bits": lengths(steps, number(2**64 - 1) + codes[1:]),
           "codes without end": lengths(steps, b"\xff" * rows), "born before all time": lengths(number((DIED >> shift) + 1) + steps[1:], codes),
           "steps of 64 bits": lengths(number(2**64 - 1) + steps[1:], codes), "steps without end": lengths(b"\xff" * rows, codes)}
    cases = [(name, batch(LENGTHS, segment, rows, shift=shift, lives=lives)) for name, lives in bad.items()]
    cases += [("a life beyond all time", batch(LENGTHS, segment, rows, shift=shift, times=number(2 * last) + bytes(rows - 1),
                                               lives=lengths(bytes(rows), bytes([20]) * rows))),
              ("a step of 2^41", batch(LENGTHS, segment, rows, shift=41)), ("another flag", batch(LENGTHS | 1 << 31, segment, rows)),
              ("live chunks with half a column", batch(LENGTHS | LIVE_ROWS, b"", rows, lives=b"\0"))]
    for name, payload in cases:
        write(path, start(32, 2), block(EVENTS, payload), end())
        out, said = limited("check", path, status=1)
        check("1 block that cannot be decoded" in out + said, f"{name}: {out}{said}")
        limited("report", path)
        limited("dump", "--events", path)
        limited("pack", path, status=1)
    # Long lives, and a moment at the end of all time: they can be, and are told.
    many = batch(LENGTHS, segment, rows, shift=shift, times=number(2 * last) + bytes(rows - 1), lives=lengths(number(last) * rows, b""))
    write(path, start(32, 2), block(EVENTS, many), end())
    out, said = limited("check", path, status=1)  # for want of stacks
    check("cannot be decoded" not in out + said, out + said)
    limited("report", path)
    limited("leaks", path)


def huge_chunks(folder):
    """Places in a chunk of 6 GiB and a byte are told in units of 4: the last of them is not all in the chunk."""
    size, path = (6 << 30) + 1, folder / "t.pa"
    rows = [batch(8, struct.pack("<QII", i, 1, 1), 1, columns(b"\0", b"\0", bytes([rest]), b"\6", b"\0", b"\0"), size) for i, rest in ((0, 3), (1, 1))]
    write(path, start(64), *[block(EVENTS, one) for one in rows], instrumented(), end(4))
    support.equal(support.json.loads(limited("report", "--json", path)[0])["accesses"]["bytes_touched"], 2 * (size - 12) - 1, "bytes touched")
    out, _ = limited("dump", "--events", path)
    check(f" bytes 12-{size - 2} " in out and f" bytes 12-{size - 1} " in out, out)


def a_map(stack, words, count=None):
    return struct.pack("<II", words, stack) + struct.pack("<Q", 1) * (2 * (words if count is None else count))


def absurd_maps(folder):
    """Maps of no words, of more than there can be, cut off, again and again, and of ever other stacks."""
    path = folder / "t.pa"
    for payload in (a_map(4, 0), a_map(4, 8193), a_map(4, 2**32 - 1, 1), a_map(4, 2, 1), a_map(4, 1) + b"x", b"abc", a_map(4, 1) + a_map(4, 0)):
        write(path, start(64), block(MAPS, payload), instrumented(), end(3))
        check("1 block that cannot be decoded" in "".join(limited("check", path, status=1)), f"a map {payload[:12]}")
        limited("report", path)
    again = block(MAPS, a_map(4, 1) * ((8 << 20) // 24), True)
    out, _ = limited("report", "--json", write(path, start(64), *[again] * 100, instrumented(), end(102)))
    result = support.json.loads(out)
    support.equal([p["map"] for p in result["points"]], [[{"offset": 0, "reads": 1, "writes": 1}]], "the last of many that are alike")
    others = [block(MAPS, b"".join(a_map(i, 8192) for i in range(50 * j, 50 * j + 50)), True) for j in range(40)]
    out, said = limited("report", write(path, start(64), *others, instrumented(), end(42)), memory=1 << 29)
    check("blocks that cannot be decoded" in out + said, f"what is over the limit is said: {out}{said}")


def live_accesses(folder):
    """Maps, rings and records of a live table that say what cannot be; one that can be read is, and the times are the chunk's."""
    path = write(folder / "t.pa", start(64))
    most, room = 2**32 - 1, 1 << 20
    for maps, found, bad in ((a_map(4, 8193), 0, True), (a_map(4, 1) + a_map(5, most, 1), 1, True),
                             (a_map(4, 2) + a_map(4, 2) + a_map(4, 1), 1, False)):
        with live_table(path, [(8, 0, room, room)], 2 * room, record_size=64) as file:
            file.seek(room)
            file.write(maps)
        result = support.json.loads(limited("report", "--json", path)[0])
        support.equal(sum("map" in p for p in result["points"]), found, "maps that can be read")
        check(("maps of accesses" in str(result["missing"])) == bad, f"what is said: {result['missing']}")
    # A map of which only the head is no hole, many times.
    step, count = 8 + 16 * 8192, 2000
    with live_table(path, [(8, 0, room, count * step)], room + count * step, record_size=64) as file:
        for i in range(count):
            file.seek(room + i * step)
            file.write(struct.pack("<II", 8192, i))
    limited("report", path)
    event = struct.pack("<QQQIIIHHHHI", 2000, 3000, 16 << 16, 4, 4, 0, 1, 0, 1, 1, 0)
    absurd = [(2**64 - 1, 0, 0, most, 1, 1), (0, 2**64 - 1, 15, most, 1, 1), (2500, 2400, 16, 1, most, most), (0, 0, most, most, 0, 0)]
    with live_table(path, [(5, 1, room, room), (1, 0, 2 * room, room)], 3 * room, record_size=64) as file:
        file.seek(room)
        file.write(struct.pack("<IIQQ40xQ", 1, 48, 4, 0, 4) + bytes(4096 - 72) + event * 4)
        file.write(b"".join(struct.pack("<QQIIII", *one) for one in absurd))
        file.seek(2 * room)
        file.write(b"".join(struct.pack("<QQIIHHHH", 2000, 16 << 16 | 1, 5, 0, 1, 0, 1, 0) + struct.pack("<QQIIII", *one) for one in absurd))
    result = support.json.loads(limited("report", "--json", path)[0])
    total = result["accesses"]
    support.equal((total["chunks"], total["bytes"]), (8, 128), "chunks")
    # What is beyond the chunk is not counted: of the first all, of the second one byte, of the others none; the records' are alike.
    support.equal(total["bytes_touched"], 2 * (16 + 1), "bytes touched")
    limited("dump", "--events", path)
    limited("seal", path)
    sealed = support.json.loads(limited("report", "--json", path)[0])["accesses"]
    for key in ("chunks", "bytes_touched", "reads", "writes", "never_touched"):
        support.equal(sealed[key], total[key], f"{key}, once sealed")


def clean_paths(folder):
    """What a module's path does to a terminal."""
    path = write(folder / "t.pa", start(), block(NODES, nodes(4, 1)), block(MODULES, modules(4, 1, b"/a\x1b]0;b\x07c")), end())
    out, _ = limited("dump", "--nodes", path)
    check(not set(out) & {"\x1b", "\x07"}, repr(out))
    support.equal(out.count("/a ]0;b c"), 2, "the path of the module, cleaned")
    out, _ = limited("dump", "--nodes", "--json", path)
    check("/a\\u001b]0;b\\u0007c" in out, out)


def symbols(addresses, frames, texts):
    return (struct.pack("<IIII", 1, len(addresses), len(frames), len(texts))
            + b"".join(struct.pack("<QIIII", *address, 0) for address in addresses)
            + b"".join(struct.pack("<IIII", *frame, 1, 0) for frame in frames) + texts)


def many_names(folder):
    """Names of thousands of modules, addresses that share long chains of frames, and long texts that they share."""
    texts = b"\0" + b"".join(b"%05x\0" % i for i in range(4090))
    count = 16000
    of_modules = symbols([(i, 1 + 6 * (4089 - i % 64), i, 1) for i in range(count)], [(1, 1)] * count, texts)
    all_modules = symbols([(i, 1 + 6 * i, i, 1) for i in range(4090)], [(1, 1)] * 4090, texts)
    blocks = [block(SYMBOLS, all_modules, True)] + [block(SYMBOLS, of_modules, True)] * 200
    limited("report", write(folder / "t.pa", start(), *blocks, end()))
    chains = symbols([(i, 1, 0, 4096) for i in range(40000)], [(1, 1)] * 4096, b"\0a\0")
    out, said = limited("report", write(folder / "t.pa", start(), *[block(SYMBOLS, chains, True)] * 200, end()))
    check("cannot be decoded" in out + said, "chains that are shared make no sense")
    long = symbols([(i, 1, i, 1) for i in range(10000)], [(1, 1)] * 10000, b"\0" + b"a" * 600000 + b"\0")
    limited("report", write(folder / "t.pa", start(), *[block(SYMBOLS, long, True)] * 20, end()))


# Debug information that no compiler writes: its abbreviations, a unit, and a function of 256 bytes. Beside it tests/fuzz/maze.s, a maze of
# blocks.
DEBUG = """    .text
    .globl around
    .type around, %function
around:
    .fill 256, 1, 0
    .size around, 256
    .section .debug_abbrev, "", %progbits
    .uleb128 1, 0x11; .byte 1 /* DW_TAG_compile_unit: name string, low_pc addr, high_pc data8 */
    .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
    .uleb128 2, 0x39; .byte 1 /* DW_TAG_namespace: sibling ref4, name */
    .uleb128 0x01, 0x13, 0x03, 0x08, 0, 0
    .uleb128 3, 0x13; .byte 1 /* DW_TAG_structure_type: sibling, name, byte_size data1, specification ref4 */
    .uleb128 0x01, 0x13, 0x03, 0x08, 0x0b, 0x0b, 0x47, 0x13, 0, 0
    .uleb128 4, 0x16; .byte 0 /* DW_TAG_typedef: name, type ref4 */
    .uleb128 0x03, 0x08, 0x49, 0x13, 0, 0
    .uleb128 5, 0x13; .byte 0 /* DW_TAG_structure_type: name, byte_size */
    .uleb128 0x03, 0x08, 0x0b, 0x0b, 0, 0
    .byte 0
    .section .debug_info, "", %progbits
unit:
    .4byte unit_end - unit - 4
    .2byte 4
    .4byte 0
    .byte 8
    .uleb128 1
    .asciz "maze.c"
    .8byte around, 256
"""
# What is in them; the last is a type that must be found all the same. Of the mazes, each entry says that the one in it comes behind it.
LAST = '    .uleb128 5; .asciz "last"; .byte 16\n'
MAZES = {"namespaces": f'    .rept 60\n    .uleb128 2; .4byte 1f - unit; .asciz "n"\n1:\n    .endr\n{LAST}    .fill 60, 1, 0\n',
         "declarations": '    .rept 60\n2:\n    .uleb128 3; .4byte 1f - unit; .asciz "t"; .byte 16; .4byte 2b - unit\n1:\n    .endr\n'
                         f'{LAST}    .fill 60, 1, 0\n',
         "typedefs": f'1:\n    .uleb128 4; .asciz "a"; .4byte 2f - unit\n2:\n    .uleb128 4; .asciz "b"; .4byte 1b - unit\n{LAST}'}


def mazes(folder):
    """Debug information that leads to the same entries over and over: there are 2^60 ways to the innermost."""
    path = folder / "t.pa"
    files = {"blocks": None, **MAZES}
    for name, inside in files.items():
        source = Path(os.environ["PROFALLOC_SOURCE_DIR"]) / "tests/fuzz/maze.s"
        if inside is not None:
            source = folder / f"{name}.s"
            source.write_text(f"{DEBUG}{inside}    .byte 0\nunit_end:\n")
        module = folder / f"{name}.so"
        subprocess.run([os.environ["CC"], "-shared", "-nostdlib", "-Wl,--build-id=none", source, "-o", module], check=True)
        symbols_of = subprocess.run(["nm", module], capture_output=True, text=True, check=True).stdout
        address = next(int(line.split()[0], 16) for line in symbols_of.splitlines() if line.endswith(" around"))
        text = os.fsencode(module)
        of_module = struct.pack("<IIQQQHHI", 4, 1, 0, 0, 1 << 20, 0, len(text), 0) + text
        node = struct.pack("<II", 4, 1) + bytes(8) + struct.pack("<Q", address + 9)
        deaths = block(EVENTS, batch(0, struct.pack("<QII", 0, 1, 100), 100))
        write(path, start(), block(MODULES, of_module), block(NODES, node), deaths, end(4))
        check("at around " in limited("report", path)[0], f"{name}: the function")
        told = json.loads(limited("mprof", "--json", path)[0])
        check(not any("more debug information" in remark for remark in told["remarks"]), f"{name}: {told['remarks']}")
        types = [kind for row in told["bins"] for kind in row["types"]]
        check(inside is None or any(kind.endswith("last") for kind in types), f"{name}: types {types}")


def ticks_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def boot():
    value = 0xcbf29ce484222325
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:
        for byte in file.read().strip():
            value = (value ^ byte) * 0x100000001b3 & MASK
    return value


def another_process(folder):
    """The number of a process that was killed is another's now. One that has mapped the file is the process, whatever its
    clock and boot say: it may see others than we do."""
    path = folder / "t.pa"
    size = 1 << 20
    pid = os.getpid()
    for who, ticks, where, sealed in ((1, ticks_of(1) + 1, boot(), True), (pid, ticks_of(pid) + 1, boot(), False),
                                      (pid, ticks_of(pid), boot() ^ 1, False), (pid, ticks_of(pid), boot(), False),
                                      (pid, 0, 0, False)):
        write(path, start())
        live_table(path, [], size, who, ticks, where).close()
        with open(f"{path}.live", "r+b") as file, mmap.mmap(file.fileno(), 4096):
            out, said = limited("seal", path, status=0 if sealed else 1)
        check(sealed or "goes on" in said, out + said)


def this_process(folder):
    """The library says who it is: a name with brackets does not mislead it."""
    lib = os.environ.get("PROFALLOC_LIB", "")
    if SANITIZED or not os.path.exists(lib):
        return
    sleeper = folder / "a) b (c"
    (folder / "sleeper.c").write_text(
        '#include <unistd.h>\nint main(void) { return write(1, "x", 1) != 1 || pause() != 0; }\n')
    subprocess.run([os.environ["CC"], "-o", sleeper, folder / "sleeper.c"], check=True)
    environment = dict(os.environ, LD_PRELOAD=lib, PROFALLOC_CONF="prof:true")
    with subprocess.Popen([sleeper], env=environment, cwd=folder, stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        ticks = ticks_of(process.pid)
        tables = list(folder.glob("*.live"))
        found = [struct.unpack_from("<QQ", table.read_bytes(), 184) for table in tables]
        process.kill()
    support.equal(found, [(ticks, boot())], "the beginning of the process, and the boot")


if __name__ == "__main__":
    support.main(equal_deaths=equal_deaths, magic_numbers=magic_numbers, many_rings=many_rings, large_rows=large_rows, much_meta=much_meta,
                 many_lists=many_lists, overlapping_extents=overlapping_extents, rings_of_holes=rings_of_holes,
                 rows_without_a_kind=rows_without_a_kind, crooked_table=crooked_table,
                 hostile_rings=hostile_rings, torn_columns=torn_columns, torn_columns_2=torn_columns_2, torn_lengths=torn_lengths, huge_chunks=huge_chunks, absurd_maps=absurd_maps, live_accesses=live_accesses, clean_paths=clean_paths, many_names=many_names, mazes=mazes, another_process=another_process, this_process=this_process)
