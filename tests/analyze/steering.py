#!/usr/bin/env python3
"""Names that a terminal would obey: whatever a trace calls its parts, what the tool prints can be read and does nothing else."""
import json
import os
import pty
import struct
import subprocess

import hostile
import support
from hostile import DIED, EVENTS, LIVE, LIVE_ROWS, MODULES, NODES, START, SYMBOLS, block, number, symbols
from support import check

THREADS, TAGS, MARK, TABLE, TYPES = 4, 10, 12, 20, 22

# C0 and C1, these as UTF-8 and as bytes of their own; what turns the direction of writing; and the same in what is no UTF-8: too
# long, cut off, half of a pair, beyond the last character.
STEERING = (b"\x1b[31m", b"\x07", b"\r", b"\x7f", b"\xc2\x9b31m", b"\xc2\x85", b"\x9b31m", b"\x90q", b"\x84\x85", b"\xe2\x80\xae", b"\xe2\x81\xa6",
            b"\xef\xbb\xbf", b"\xc0\x9b", b"\xe0\x82\x9b", b"\xf0\x80\x82\x9b", b"\xed\xa0\x80", b"\xe2\x80", b"\xf4\x90\x80\x80", b"\xc3\x28\x9b",
            b"\xff\x9d")
# Letters, which stay. Their bytes are from 80 to 9f, too.
SEEN = "ÛœИ\U0001f600"
COUNT = len(STEERING)


def names_of(what):
    """Names that are alike but for what is to be obeyed."""
    return [what + bad + SEEN.encode() for bad in STEERING]


def is_obeyed(letter):
    return (letter < " " and letter != "\n" or "\x7f" <= letter < "\xa0" or letter in "\u200e\u200f\ufeff" or "\u2028" <= letter <= "\u202e"
            or "\u2066" <= letter <= "\u2069")


def obeyed(output):
    """What a terminal would obey in it, but for ends of lines. Bytes that are no UTF-8 count as if it did not read UTF-8."""
    return sorted({letter for letter in output.decode(errors="surrogateescape") if is_obeyed(letter) or "\udc80" <= letter < "\udca0"})


def texts(what):
    return b" ".join(names_of(what))


def start_block():
    parts = [b"/program/" + texts(b"program"), b"\0".join(names_of(b"command")) + b"\0", texts(b"options")]
    head = struct.pack("<IIQIIQQQQIIQIIIIQ", 2, 2, hostile.SESSION, 1, 1, 1000, 10**12, 10**18, 10**9, 32, 64, 1, 0, *map(len, parts), 0)
    return block(START, head + b"".join(parts))


# Two addresses in each module: one with a name and one without.
PATHS = [b"/folder/" + name for name in names_of(b"module")]
PCS = [4096 * (i + 1) + 16 * (j + 1) for i in range(COUNT) for j in range(2)]


def stack_blocks():
    modules = b"".join(struct.pack("<QQQHHI", 0, 4096 * (i + 1), 4096 * (i + 2), 0, len(path), 0) + path for i, path in enumerate(PATHS))
    parents = struct.pack(f"<{len(PCS)}I", *[0] * len(PCS))
    yield block(MODULES, struct.pack("<II", 4, COUNT) + modules)
    yield block(NODES, struct.pack("<II", 4, len(PCS)) + parents + bytes(-len(parents) % 8) + struct.pack(f"<{len(PCS)}Q", *PCS))
    functions, files = names_of(b"function"), [b"/folder/" + name for name in names_of(b"file")]
    table, places = b"\0", {}
    for text in PATHS + functions + files:
        places[text], table = len(table), table + text + b"\0"
    yield block(SYMBOLS, symbols([(PCS[2 * i], places[path], i, 1) for i, path in enumerate(PATHS)],
                                 [(places[function], places[file]) for function, file in zip(functions, files)], table))


def name_blocks():
    yield block(THREADS, b"".join(struct.pack("<IIQ16s", 1 + i, 100 + i, 1000, (bad + SEEN.encode())[:15]) for i, bad in enumerate(STEERING)))
    yield block(TAGS, b"".join(struct.pack("<II", 1 + i, len(name)) + name for i, name in enumerate(names_of(b"tag"))))
    yield block(TYPES, b"".join(struct.pack("<IIQ", 1 + i, len(name), 16) + name for i, name in enumerate(names_of(b"type"))))
    for name in names_of(b"mark"):
        yield block(MARK, struct.pack("<QII", 3000, 3, len(name)) + name)
    yield block(TABLE, b"/dev/shm/" + texts(b"table")[:200].replace(b"\0", b""))


EACH = 8  # chunks of each stack: of one thread, tag and type


def rows(flags, segments=b""):
    """A batch."""
    kinds = [struct.pack("<QIIIHHHHI", 4096 << 16, 4 + i, 4 + i, 1 + i % COUNT, 1 + i % COUNT, 1 + i % COUNT, 1 + (i + 1) % COUNT, 1, EACH)
             for i in range(len(PCS))]
    count = EACH * len(PCS)
    columns = b"".join(bytes(column) for column in zip(*kinds)) + bytes(i // EACH for i in range(count)) + bytes(count)
    times = number(2 * DIED) + bytes([2]) * (count - 1)
    lives = b"" if flags & LIVE_ROWS else bytes([100]) * count
    head = struct.pack("<IIIIQQIIIIII", count, len(segments) // 16, len(PCS), flags, DIED, DIED + count, 0, len(times), len(lives), 0, 0, 0)
    return head + segments + columns + times + lives


def picture(number_of, flags, name):
    head = struct.pack("<IIQII", number_of, flags, 5000, len(name), 0) + name
    return block(LIVE, head + bytes(-len(head) % 8) + rows(LIVE_ROWS))


def make(path):
    """A trace that has such names wherever there is a name."""
    deaths = block(EVENTS, rows(0, struct.pack("<QII", 0, 1, EACH * len(PCS))))
    blocks = [start_block(), *stack_blocks(), *name_blocks(), deaths, picture(1, 1, texts(b"picture")[:200]), picture(2, 3, b"")]
    with open(path, "wb") as file:
        file.write(b"".join(blocks) + hostile.end(len(blocks)))
    return path


def run(*words, status=(0, 1)):
    """Runs the tool; what it prints does nothing to a terminal."""
    done = subprocess.run([support.TOOL, *words], capture_output=True, timeout=100)
    shown = f"profalloc {' '.join(map(repr, words))}"
    check(done.returncode in status, f"{shown}: status {done.returncode}: {done.stderr[-2000:]}")
    for output in (done.stdout, done.stderr):
        line = next((line for line in output.split(b"\n") if obeyed(line)), b"")
        check(not obeyed(output), f"{shown}: {obeyed(output)} in {line}")
    return done.stdout


def made(path, *words):
    """Files that were made are told as they are, unless to a terminal."""
    done = subprocess.run([support.TOOL, *words], capture_output=True, check=True, timeout=100)
    check(not obeyed(done.stderr), f"{words}: {done.stderr}")
    support.equal(done.stdout, path + b"\n", "the file that was made")
    ours, its = pty.openpty()
    subprocess.run([support.TOOL, *words], stdout=its, stderr=subprocess.DEVNULL, check=True, timeout=100)
    os.close(its)
    shown = os.read(ours, 4096).replace(b"\r\n", b"\n")
    os.close(ours)
    check(shown.endswith(path[-4:] + b"\n") and not obeyed(shown), f"the file that was made: {shown}")


def odd_path(folder, name):
    return os.path.join(os.fsencode(folder), b"\x9bA" + name)


ASKED = (("report",), ("report", "--by", "function"), ("report", "--by", "file"), ("report", "--by", "module"), ("report", "--by", "thread"),
         ("report", "--by", "tag"), ("report", "--by", "stack", "--top", "100"), ("report", "--sort", "live"), ("advise",),
         ("leaks",), ("leaks", "--by", "tag"), ("leaks", "--top", "100"), ("excess", "--min-share", "0"), ("excess", "--min-share", "0", "--by", "thread"),
         ("mprof",), ("mprof", "--by", "module"), ("mprof", "-verbose", "-offsets"), ("timeline",), ("timeline", "--by", "function"), ("timeline", "--by", "thread"),
         ("timeline", "--by", "tag", "--top", "19"), ("timeline", "--csv", "--by", "tag"), ("flame", "--folded"), ("flame", "--svg", "-"), ("flame", "--by", "tag"), ("timeline", "--svg", "-", "--by", "thread"),
         ("dump", "--events", "--nodes"), ("check",), ("seal",))


def commands(folder):
    """Of all commands, as text and as JSON, with a name of the trace itself that is no better."""
    for path in (os.path.join(os.fsencode(folder), b"t.pa"), odd_path(folder, b"\xc2\x9b.pa")):
        make(path)
        for words in ASKED:
            run(*words, path, status=(1,) if words[0] == "check" else (0,))
            if words[0] not in ("check", "seal") and not {"--svg", "--csv", "--folded"} & set(words):
                run(*words, "--json", path, status=(0,))
        run("diff", path, path)
        made(path + b".summary", "gate", "--allow-incomplete", "--save", path + b".summary", path)
        run("gate", "--allow-incomplete", "--max-peak", "5%", path + b".summary", path)
        run("diff", path + b".summary", path)
        made(path + b".packed", "pack", path, "-o", path + b".packed")


def kept(folder):
    """Letters stay, and what was left out stands out: nothing is joined that was apart."""
    path = make(folder / "t.pa")
    shown = run("dump", "--nodes", path).decode(errors="surrogateescape")
    for bad, spaces in ((b"\x1b[31m", " [31m"), (b"\xc2\x9b31m", "  31m"), (b"\x9b31m", "?31m"), (b"\xe2\x80\xae", "   "), (b"\xe2\x80", "\udce2?")):
        for form in ("'type%s'", "/folder/module%s+"):
            check(form % (spaces + SEEN) in shown, f"{form} with {bad}")
    told = json.loads(run("report", "--json", path))
    found = {frame["function"] for point in told["points"] for frame in point["stack"]}
    check("function  31m" + SEEN in found, f"functions: {found}")


def given(folder):
    """What is given on the command line, and in files: names of files, expressions, patterns."""
    trace, bad = make(folder / "t.pa"), odd_path(folder, b"\xc2\x85\x1b[1m")
    for words in (("report",), ("dump",), ("check",), ("seal",), ("pack",), ("leaks",), ("flame",)):
        run(*words, bad, status=(1, 2))
    run("diff", bad, trace, status=(1, 2))
    run("gate", "--max-peak", "5%", trace, bad, status=(1, 2))
    run(b"\x9bA\xc2\x9b", status=(2,))
    for expression in (b"function = \"\x9b31m\xc2\x9b\"", b"\x9b31m\xc2\x9b", b"function ~ \xc2\x9b\x1b["):
        run("report", "--where", expression, trace, status=(0, 1, 2))
    with open(bad, "wb") as file:
        file.write(b"leak:\x9b31m\xc2\x9b\nleak:" + SEEN.encode() + b"\nnone:\x9b31m\xc2\x9b\n")
    run("leaks", "--suppressions", bad, trace, status=(0, 1, 2))
    with open(bad, "wb") as file:
        file.write(b"leak:function*\xc2\x9b*\nleak:\x9b31m\n")
    run("leaks", "--suppressions", bad, trace, status=(0, 1, 2))
    for text in (b"\x9b31m = size > 3\n", b"a = size > \xc2\x9b\n", b"a = size > 3 \x9b\n"):
        with open(bad, "wb") as file:
            file.write(text)
        run("report", "--where", b"@" + bad, trace, status=(0, 1, 2))
    for option in ("--by", "--sort", "--top"):
        run("report", option, b"\x9b31m\xc2\x9b", trace, status=(2,))


if __name__ == "__main__":
    support.main(commands=commands, kept=kept, given=given)
