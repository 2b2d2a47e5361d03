"""What the tests of the tool share: made traces with the truth about them, the tool's answers, and checks that say what
they expected."""
import json
import os
import subprocess
import sys
from pathlib import Path

import folders

TOOL = os.environ["PROFALLOC_TOOL"]
MAKER = os.path.join(os.environ["PROFALLOC_BUILD_DIR"], "tests/analyze/make_trace")


SANITIZED = b"__asan_init" in Path(TOOL).read_bytes()


def rounds(count):
    """Of a test on so many random inputs, one after another: under a sanitizer a quarter of them. They are alike in kind, and the answers
    are held against the truth on all of them without it. Not for damaged inputs, which sanitizers are there for."""
    return range((count + 3) // 4 if SANITIZED else count)


def check(condition, message):
    if not condition:
        sys.exit(f"failed: {message}")


def equal(ours, expected, what, tolerance=0):
    difference = abs(ours - expected) if tolerance else None
    same = difference <= tolerance * max(abs(expected), 1) if tolerance else ours == expected
    check(same, f"{what}: {str(ours)[:2000]}, expected {str(expected)[:2000]}")


# The exit status of a tool under AddressSanitizer that lost memory, or did worse.
LEAKED = 99


def run_tool(*arguments, **options):
    """Runs the tool. Under AddressSanitizer its leaks are looked for."""
    if SANITIZED:
        options["env"] = {**(options.get("env") or os.environ), "ASAN_OPTIONS": f"detect_leaks=1:verify_asan_link_order=0:exitcode={LEAKED}"}
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, errors="replace", **options)
    check(not SANITIZED or done.returncode != LEAKED, f"profalloc {' '.join(map(str, arguments))}: leaks, or worse:\n{done.stderr[-8000:]}")
    return done


def tool(*arguments, status=0, **options):
    """Runs the tool, checks its exit status, returns (stdout, stderr)."""
    done = run_tool(*arguments, **options)
    if status is not None:
        check(done.returncode == status,
              f"profalloc {' '.join(map(str, arguments))}: status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def worth_it(trace, calls):
    """Options of excess with which so many calls are worth a change. The usual share of the run time, unless the machine let the
    program stand still for so long that they took less than twice that."""
    data = json.loads(tool("excess", "--json", "--min-share", 0, trace)[0])
    return "--min-share", min(0.03, 0.5 * calls * data["pair_ns"] / data["run_ns"])


def report(*files):
    out, _ = tool("report", "--json", *files)
    return json.loads(out)


def checksum(seed, data):
    """pfa_checksum of export/format/trace.h."""
    mask = 2**64 - 1

    def mix(lane, word):
        lane = (lane ^ word) * 0x9e3779b97f4a7c15 & mask
        return lane ^ lane >> 29

    lanes = [seed ^ 0x243f6a8885a308d3, seed ^ 0x13198a2e03707344, seed ^ 0xa4093822299f31d0, seed ^ len(data)]
    for i in range(0, len(data), 8):
        lane = i // 8 % 4
        lanes[lane] = mix(lanes[lane], int.from_bytes(data[i:i + 8], "little"))
    return mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3])


def mend_checksum(data, offset, stored_size):
    """Makes the checksum of a changed block right again."""
    header = bytes(data[offset:offset + 24]) + bytes(8)
    total = checksum(checksum(0, header), bytes(data[offset + 32:offset + 32 + stored_size]))
    data[offset + 24:offset + 32] = total.to_bytes(8, "little")


class Chunk:
    """One line of the truth."""

    def __init__(self, line):
        thread, born, died, size, stack, weight, *accesses = line.split()
        self.thread, self.born, self.died, self.size = int(thread), int(born), int(died), int(size)
        self.stack, self.weight = int(stack), float(weight)
        if accesses:
            (self.reads, self.writes, self.low, self.length, self.first, self.last, self.shared, self.moved,
             self.free_thread, self.last_thread) = map(int, accesses)
        self.life = self.died - self.born if self.died else None
        self.exactly_born = self.born

    def cut(self, shift):
        """Makes it what a trace in steps tells (export/format/batch.h): moments are cut, lengths are rounded to fewer bits."""
        born, step, steps = self.born, 1 << shift, (self.died >> shift) - (self.born >> shift)
        self.born, self.died = self.born // step * step, self.died // step * step
        if getattr(self, "length", 0):
            told = [self.first - born, self.last - born]
            if self.life is not None:
                life = rounded(self.life, shift, steps)
                told = [within(time, self.life, life, shift, steps) for time in told]
            self.first, self.last = (self.born + time for time in told)
        if self.life is not None:
            self.life = rounded(self.life, shift, steps)


def rounded(life, shift, steps):
    """A life that ended so many steps after the one it began in."""
    if steps >= LONG:
        return steps << shift
    bits = min(max(life.bit_length() - 5, 0), shift)
    return (life >> bits << bits) + (1 << bits >> 1)


def within(time, life, told, shift, steps):
    """How long after the birth an access is told to be, of one in a life that is told as `told`."""
    if steps >= LONG:
        return min((time >> shift << shift) + (1 << shift >> 1) if time >> shift else 0, told)
    share = (time * SHARES + life // 2) // life
    return (share * told + SHARES // 2) // SHARES


LONG, SHARES = 32, 32


def make(form, path, chunks, seed, *words):
    """Makes a trace and returns its chunks, as the trace tells them."""
    done = subprocess.run([MAKER, form, str(path), str(chunks), str(seed), *words], capture_output=True, text=True, check=True)
    made = [Chunk(line) for line in done.stdout.splitlines()]
    for word in words:
        if word.partition("=")[0] == "shift":
            for chunk in made:
                chunk.cut(int(word.partition("=")[2] or 6))
    return made


def make_given(path, length, chunks, *words):
    """Makes a trace of a run of so many nanoseconds with the chunks given: (thread, born, died or 0, size, stack, where it is freed) and,
    with the word "accesses", (reads, writes, first, last) of each; see make_given.c."""
    text = "".join(f"{' '.join(map(str, line))}\n" for line in [(length,), *chunks])
    subprocess.run([MAKER, "ended", str(path), str(len(chunks)), "1", "given", *words], input=text, text=True, check=True, stdout=subprocess.DEVNULL)


def is_blind(stack):
    """Of code that is not instrumented, where the maker tells that."""
    return stack % 2 == 0 or stack == 15


def peak_of(chunks):
    """The largest sum of sizes over time; of one tick, deaths come first."""
    changes = {}
    for chunk in chunks:
        changes[chunk.born] = changes.get(chunk.born, 0) + chunk.size * chunk.weight
        if chunk.died:
            changes[chunk.died] = changes.get(chunk.died, 0) - chunk.size * chunk.weight
    live = peak = 0
    when = 0
    for time in sorted(changes):
        live += changes[time]
        if live > peak * (1 + 1e-12):
            peak, when = live, time
    return peak, when


NODE_FIRST, STACKS = 4, 12  # of the maker


def stack_number(point):
    """The maker's number of a point: its stacks differ in their innermost function and depth."""
    lines, first = len(point["stack"]), point["stack"][0]["function"]
    if first is None:
        return NODE_FIRST + STACKS - 1
    return NODE_FIRST + 2 * (lines - 1) if first == "plain_site" else NODE_FIRST + lines - 1


FOLDED = (7, 700)  # chunks and bytes that the maker folds when asked to


def check_report(data, chunks, folded=False, tolerance=0, peak=True):
    """All totals of a report against the truth."""
    dead = [c for c in chunks if c.died]
    alive = [c for c in chunks if not c.died]
    more_chunks, more_bytes = FOLDED if folded else (0, 0)
    frees = sum(c.weight for c in dead) + more_chunks
    bytes_freed = sum(c.weight * c.size for c in dead) + more_bytes
    live = sum(c.weight for c in alive)
    live_bytes = sum(c.weight * c.size for c in alive)
    equal(data["totals"]["frees"], frees, "frees", tolerance)
    equal(data["totals"]["allocations"], frees + live, "allocations", tolerance)
    equal(data["totals"]["bytes_freed"], bytes_freed, "bytes freed", tolerance)
    equal(data["totals"]["bytes_allocated"], bytes_freed + live_bytes, "bytes allocated", tolerance)
    equal(data["live"]["chunks"], live, "live chunks", tolerance)
    equal(data["live"]["bytes"], live_bytes, "live bytes", tolerance)
    for key, total in (("allocations", frees + live), ("frees", frees), ("bytes", bytes_freed + live_bytes),
                       ("live_chunks", live), ("live_bytes", live_bytes)):
        equal(sum(p[key] for p in data["points"]), total, f"sum of the points' {key}", tolerance or 1e-12)
    equal(sum(s["chunks"] for s in data["sizes"]), frees + live - more_chunks, "chunks in size classes", tolerance or 1e-12)
    if peak:
        bytes_at_peak, when = peak_of(chunks)
        equal(data["peak"]["bytes"], bytes_at_peak, "peak", tolerance)
        equal(sum(p["peak_bytes"] for p in data["points"]), bytes_at_peak, "the points' bytes at the peak", tolerance or 1e-12)
        equal(data["peak"]["time"], (when - 1000000) * 1e-9, "time of the peak", 1e-9)


def folder():
    return folders.Folder(prefix="profalloc-")


def main(**tests):
    """Runs each test in a folder of its own."""
    for name, test in tests.items():
        with folder() as path:
            test(Path(path))
            print(f"{name}: fine")
