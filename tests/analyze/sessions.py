#!/usr/bin/env python3
"""Which files an answer is about: names that people could confuse, many traces at once, traces that go away while they are asked; and that
each is opened and verified once, whatever its index says."""
import json
import mmap
import os
import re
import resource
import struct
import subprocess

from support import MAKER, SANITIZED, TOOL, check, equal, main, mend_checksum, run_tool, tool


def make(path, chunks, seed, *words):
    subprocess.run([MAKER, "ended", path, str(chunks), str(seed), *words], check=True, stdout=subprocess.DEVNULL)


def allocations(*paths):
    return json.loads(tool("report", "--json", *paths)[0])["totals"]["allocations"]


def names(name):
    """A name that is cleaned for people is the name of another file, perhaps of one that is there."""
    odd, plain = f"{name}/a\tb.pa", f"{name}/a b.pa"
    make(odd, 100, 1)
    make(plain, 300, 2)
    equal(allocations(odd), 100, "chunks of the file with a tab in its name")
    equal(allocations(plain), 300, "chunks of the one with a space")
    for command in ("leaks", "mprof", "excess", "timeline", "flame", "advise"):
        ours, theirs = (tool(command, "--json", path)[0] for path in (odd, plain))
        check(ours != theirs, f"{command}: two different files")
    text = tool("report", odd)[0]
    check("\t" not in text and "a b.pa" in text, "the name is told without the tab")


def copies(name):
    """Of a recording that is given twice, the file that tells more is asked, and that is said once."""
    path, packed = f"{name}/a.pa", f"{name}/packed.pa"
    make(path, 200, 3)
    tool("pack", path, "-o", packed)
    for files in ((path, packed), (packed, path), (path, packed, path)):
        data = json.loads(tool("report", "--json", *files)[0])
        equal([file["path"] for file in data["files"]], [packed], "the file that is asked")
        equal(sum("same recording" in text for text in data["files"][0]["remarks"]), len(files) - 1, "remarks on what was left out")
        equal(data["totals"]["allocations"], 200, "chunks")


def many(name):
    """Hundreds of traces: as many files are open as stay open, and memory does not grow with what each of them takes."""
    first = f"{name}/0.pa"
    make(first, 3000, 4)
    paths = [first]
    for i in range(1, 60 if SANITIZED else 300):
        paths.append(f"{name}/{i}.pa")
        make(paths[-1], 3000, 4 + i, f"later={1000 * i}", f"pid={1000 + i}")
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    done = run_tool("report", "--json", *paths, preexec_fn=few)
    check(done.returncode == 0, f"{len(paths)} traces with 64 descriptors: {done.stderr[-500:]}")
    data = json.loads(done.stdout)
    equal(len(data["files"]), len(paths), "traces")
    equal(data["totals"]["allocations"], sum(file["totals"]["allocations"] for file in data["files"]), "chunks")
    if not SANITIZED:
        small, large = (peak_memory(paths[:count]) for count in (30, 300))
        # Of it, 94 KiB, and half as much while that list grows, are births and deaths for the common peak: of 2 million chunks at most.
        check(large - small < 270 * 220, f"{(large - small) / 270:.0f} KiB for each trace more")
        print(f"{(large - small) / 270:.1f} KiB for each trace more")


def peak_memory(paths):
    """KiB of the tool's largest resident set."""
    with open(os.devnull, "w") as nowhere:
        process = subprocess.Popen([os.environ["PROFALLOC_TOOL"], "report", "--json", *paths], stdout=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
    check(status == 0, f"report of {len(paths)} traces")
    return usage.ru_maxrss


def blocks_of(path):
    lines = map(json.loads, tool("dump", "--json", path)[0].splitlines())
    return [line for line in lines if line["type"] == "block"]


def one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def answers(path):
    """What is said of a file, which must not depend on how many threads read it."""
    told = []
    for command in (("report", "--json"), ("check",), ("dump", "--json")):
        many, one = (run_tool(*command, path, **options) for options in ({}, {"preexec_fn": one_processor}))
        equal((one.returncode, one.stdout, one.stderr), (many.returncode, many.stdout, many.stderr), f"{command} by one thread")
        told.append((many.returncode, many.stdout, many.stderr))
    return told


def with_index(data, end, entries, blocks):
    """The trace with another index."""
    payload = struct.pack("<II", end["how"], blocks) + b"".join(struct.pack("<QII", *entry) for entry in entries)
    made = bytearray(data[:end["offset"]])
    made += data[end["offset"]:end["offset"] + 6] + struct.pack("<HII", 0, len(payload), len(payload))
    made += data[end["offset"] + 16:end["offset"] + 32] + payload
    mend_checksum(made, end["offset"], len(payload))
    return made


def lies(name):
    """An index that is wrong is as good as none, whatever is wrong with it; and so is one that is right."""
    path = f"{name}/a.pa"
    make(path, 9000, 5, "plain")
    data = open(path, "rb").read()
    blocks = blocks_of(path)
    end = blocks.pop()
    how, count = struct.unpack_from("<II", data, end["offset"] + 32)
    end["how"] = how
    right = [struct.unpack_from("<QII", data, end["offset"] + 40 + 16 * i) for i in range(count)]
    equal([entry[0] for entry in right], [block["offset"] for block in blocks], "offsets in the index")
    middle = count // 2
    at, kind, size = right[middle]

    def changed(number, entry):
        return right[:number] + [entry] + right[number + 1:]

    indices = {
        "the same": right,
        "none": [],
        "wrong offset": changed(middle, (at + 1, kind, size)),
        "first elsewhere": changed(0, (8, *right[0][1:])),
        "wrong kind": changed(middle, (at, kind + 1, size)),
        "too short": changed(middle, (at, kind, size - 1)),
        "overlapping": changed(middle, (at, kind, size + right[middle + 1][2])),
        "beyond the file": changed(count - 1, (right[-1][0], right[-1][1], 2**32 - 1)),
        "far away": changed(middle, (2**64 - 1, kind, size)),
        "no size": changed(middle, (at, kind, 0)),
        "twice": right[:middle] + right[middle:middle + 1] + right[middle:],
        "one left out": right[:middle] + right[middle + 1:],
        "two as one": right[:middle] + [(at, kind, size + right[middle + 1][2])] + right[middle + 2:],
        "one as two": right[:middle] + [(at, kind, 40), (at + 40, kind, size - 40)] + right[middle + 1:],
        "backwards": right[::-1],
    }
    equal(with_index(data, end, right, count), data, "the trace with the same index")
    def but_the_end(told):
        """Without what tells the size of the last block."""
        return [(status, "\n".join(line for line in text.splitlines() if '"END"' not in line), said) for status, text, said in told]

    expected = but_the_end(answers(path))
    for what, entries in indices.items():
        with open(path, "wb") as file:
            file.write(with_index(data, end, entries, count))
        equal(but_the_end(answers(path)), expected, f"an index with {what}")
    for blocks in (0, count - 1, 2**32 - 1):
        with open(path, "wb") as file:
            file.write(with_index(data, end, right, blocks))
        report = json.loads(answers(path)[0][1])
        equal(report["totals"]["allocations"], 9000, f"chunks where the end counts {blocks} blocks")
        check(any("blocks before the end" in text for text in report["missing"]), f"an end that counts {blocks} blocks: {report['missing']}")


def holes(name):
    """A trace with damage is read as if it had no index, whoever reads it; what is before and behind the damage is told."""
    path = f"{name}/a.pa"
    make(path, 60000, 6, "plain")
    data = open(path, "rb").read()
    blocks = blocks_of(path)
    for victim in (blocks[1], blocks[len(blocks) // 2], blocks[-2], blocks[-1]):
        for start, length in ((0, 32), (40, 4), (0, 32 + victim["stored_size"])):
            start += victim["offset"]
            with open(path, "wb") as file:
                file.write(data[:start] + bytes(255 - byte for byte in data[start:start + length]) + data[start + length:])
            left = [block["offset"] for block in blocks_of(path)]
            equal(left, [block["offset"] for block in blocks if block is not victim], f"blocks that are left of a trace with a hole at {start}")
            answers(path)


def traced(calls, *arguments):
    """Lines of strace about such calls of the tool."""
    with open("calls", "w") as log:
        done = subprocess.run(["strace", "-f", "-e", f"trace={calls}", "-o", log.name, TOOL, *arguments], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"})
    check(done.returncode in (0, 3), f"{' '.join(arguments)}: {done.stderr}")
    with open("calls") as log:
        return log.read().splitlines()


def once(name):
    """Whatever is asked, each file is opened once; and each byte of it is verified once, by threads that read blocks one behind the other."""
    if SANITIZED:
        return  # sanitizers and strace disturb each other
    os.chdir(name)
    for number, trace in enumerate(("a.pa", "b.pa")):
        make(trace, 400000, 7 + number, f"pid={100 + number}")
    make("killed.pa", 3000, 9, "pid=102")
    tool("gate", "--save", "saved", "a.pa")
    both = 'point in "a.pa" and not point in "b.pa" or point in "a.pa" and size > 100'
    asked = {("report", "a.pa"): 1, ("leaks", "a.pa"): 1, ("excess", "a.pa"): 1, ("check", "a.pa"): 1, ("dump", "--events", "--where", "size > 100", "a.pa"): 1, ("diff", "a.pa", "b.pa"): 2,
             ("diff", "a.pa", "a.pa"): 1, ("gate", "--max-peak", "5%", "--max-leak", "5%", "a.pa", "b.pa"): 2, ("diff", "saved", "a.pa"): 2,
             ("report", "--where", 'point in "a.pa" and not point in "a.pa"', "a.pa"): 1, ("report", "--where", both, "a.pa"): 2,
             ("report", "--where", both, "killed.pa"): 3}
    for arguments, files in asked.items():
        opened = [re.search(r'"([^"]*)"', line)[1] for line in traced("openat,open", *arguments) if re.search(r'(\.pa|saved)"', line)]
        equal(len(opened), files, f"{arguments}: files that are opened: {opened}")
        equal(len(set(opened)), files, f"{arguments}: each once: {opened}")
    offsets = {block["offset"]: 32 + block["stored_size"] for block in blocks_of("a.pa")}
    end = max(offsets)
    for arguments in (("report", "a.pa"), ("diff", "a.pa", "a.pa"), ("report", "--where", 'point in "a.pa"', "a.pa")):
        lines = traced("pread64", *arguments)
        reads = [tuple(map(int, found)) for line in lines for found in re.findall(r", (\d+), (\d+)\) += ", line)]
        # Payloads are read from behind their headers, and the first header by itself, where it is asked what the file is.
        verified = sorted((at, size) for size, at in reads if at in offsets and size > 32)
        equal(sum(size for _, size in verified), end, f"{arguments}: bytes that are verified, but for the last block: {verified}")
        equal(len({at for at, _ in verified}), len(verified), f"{arguments}: each of them once")


class Session:
    """One session that is asked again and again."""

    def __init__(self, *paths):
        program = os.path.join(os.environ["PROFALLOC_BUILD_DIR"], "tests/analyze/asking_again")
        self.process = subprocess.Popen([program, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1:exitcode=99"})

    def ask(self, word="ask"):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        text = ""
        for line in self.process.stdout:
            if line == "---\n":
                return json.loads(text)
            text += line
        check(False, f"the session ends with {self.process.wait()}")

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(), 0, "how the session ends")
        self.process.stdout.close()


def report_of(*paths):
    return json.loads(tool("report", "--json", *paths)[0])


def replaced(name):
    """A file that is another recording by now is left out like one that is gone; one that is the same recording is not."""
    paths = [f"{name}/{number}.pa" for number in range(20)]
    for number, path in enumerate(paths):
        make(path, 300, 20 + number, f"later={1000 * number}", f"pid={200 + number}")
    other, packed = f"{name}/other.pa", f"{name}/packed.pa"
    make(other, 5000, 99, "pid=999")
    tool("pack", paths[0], "-o", packed)
    session = Session(*paths)
    first = session.ask("leave")
    equal(first, report_of(*paths), "the report of all")
    os.rename(packed, paths[0])
    again = session.ask()
    equal(again["totals"], first["totals"], "totals with a file that was packed")
    check(again["complete"], "a packed file is the same recording")
    with open(paths[1], "r+b") as file: # the same file, and another one of the same name
        data = open(other, "rb").read()
        file.write(data)
        file.truncate()
    os.rename(other, paths[2])
    data = session.ask()
    equal(len(data["missing"]), 2, f"files that are others now: {data['missing']}")
    for path, text in zip(paths[1:3], data["missing"]):
        check(path in text and "another recording" in text, text)
    theirs = report_of(paths[0], *paths[3:])
    for key in theirs:
        if key not in ("complete", "missing", "unread"):
            equal(data[key], theirs[key], f"without files that are others now: {key}")
    session.end()


def growing(name):
    """Of a process that goes on, each question tells what there is by then: all of it, not only its chunks."""
    path = f"{name}/a.pa"
    table = f"{path}.live"

    def grow(chunks):
        """As the process would: files stay the same ones."""
        make(f"{name}/new.pa", chunks, 3, f"pid={os.getpid()}", "accesses")
        for new, old in ((f"{name}/new.pa", path), (f"{name}/new.pa.live", table)):
            with open(new, "rb") as made, open(old, "r+b" if os.path.exists(old) else "wb") as file:
                file.write(made.read())
                file.truncate()

    def make(path, chunks, seed, *words):
        subprocess.run([MAKER, "killed", path, str(chunks), str(seed), *words], check=True, stdout=subprocess.DEVNULL)

    grow(500)
    with open(table, "rb") as file, mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ):
        session = Session(path)
        equal(session.ask("ending")["ending"], "running", "how the process ends, while it goes on")
        for chunks in (500, 2000, 2000, 6000):
            grow(chunks)
            ours = session.ask()
            check(any("goes on" in text for text in ours["missing"]), f"the process goes on: {ours['missing']}")
            equal(ours["totals"]["allocations"], chunks, "chunks")
            theirs = report_of(path)
            for key in theirs:
                equal(ours[key], theirs[key], f"{chunks} chunks: {key}")
    equal(session.ask("ending")["ending"], "killed", "how the process ended, in the same session")
    theirs = session.ask() # it is gone
    equal(theirs["files"][0]["end"], "killed", "how the process ended")
    equal(theirs, report_of(path), "the report of what is left")
    session.end()


def parts(name):
    """A live table that is read in parts by several threads has the chunks that it has when it is read from its start to its end."""
    program = os.path.join(os.environ["PROFALLOC_BUILD_DIR"], "tests/analyze/reading_parts")
    path = f"{name}/a.pa"
    doubted = 0
    for words in ((), ("dying",), ("dying", "sampled", "accesses"), ("alive", "dense"), ("alive", "dense", "accesses", "shift=6"), ("unwritten", "folded")):
        for chunks in (0, 500, 60000):
            subprocess.run([MAKER, "killed", path, str(chunks), "6", *words], check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run([program, path], capture_output=True, text=True)
            check(done.returncode == 0, f"{words}: {done.stderr}")
            live, doubts = map(int, done.stdout.split())
            doubted += doubts
            equal(live, report_of(path)["live"]["chunks"] if "sampled" not in words else live, f"{words}: live chunks")
    check(doubted > 0, "some chunks could have been of those that died, and were not")


main(names=names, copies=copies, lies=lies, holes=holes, once=once, replaced=replaced, growing=growing, parts=parts, many=many)
