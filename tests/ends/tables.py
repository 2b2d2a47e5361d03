#!/usr/bin/env python3
"""The live table in memory: no thread of the program waits for the disk, nothing is lost by a kill, whether the place is there, tiny,
full or absent; and what is left there goes."""
import ctypes
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import capture
import support
from capture import check, equal, tool

CHURNER = capture.program("ends/churner")
MEMORY = Path("/dev/shm")


def is_in_memory(path):
    return subprocess.run(["stat", "-f", "-c", "%T", str(path)], check=True, capture_output=True, text=True).stdout.strip() == "tmpfs"


def shelf(folder):
    """A folder in memory of our own, so that others' tables do not count."""
    check(is_in_memory(MEMORY), f"{MEMORY} is no memory file system")
    path = MEMORY / f"profalloc-tables-{os.getpid()}"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def begin(folder, conf, steps=0, threads=3):
    process = capture.start(folder, [CHURNER, folder / "notes", threads, steps, "wait"], conf)
    capture.wait_for((folder / "notes.ready").exists, "the threads have begun")
    return process


def kill_and_check(folder, process, what):
    capture.kill(process)
    path = capture.trace(folder)
    capture.check_trace(path, folder / "notes", what)
    tool("seal", path)
    capture.check_trace(path, folder / "notes", f"{what}, sealed")
    equal(sorted(p.name for p in folder.iterdir() if ".live" in p.name), [], f"{what}: what is left beside the trace")


def killed(folder):
    place = shelf(folder)
    process = begin(folder, f"live:{place}")
    table, = place.iterdir()
    equal(table.stat().st_mode & 0o777, 0o600, "mode")
    check(re.fullmatch(r"profalloc-\d+-[0-9a-f]+\.live", table.name), table.name)
    link = Path(f"{capture.trace(folder)}.live")
    check(link.is_symlink() and link.resolve() == table.resolve(), "the link beside the trace")
    kill_and_check(folder, process, "in memory")
    equal(list(place.iterdir()), [], "what is left in memory")
    place.rmdir()


def found_without_its_link(folder):
    """The trace says where its table is, if the link is lost; and that it is gone, if it is."""
    place = shelf(folder)
    process = begin(folder, f"live:{place}")
    capture.kill(process)
    path = capture.trace(folder)
    os.unlink(f"{path}.live")
    capture.check_trace(path, folder / "notes", "without its link")
    table, = place.iterdir()
    table.rename(place / "away")
    out, _ = tool("check", path, status=1)
    check(f"the live table was in memory, {table}, and is gone" in out, out)
    (place / "away").rename(table)
    tool("seal", path)
    equal(list(place.iterdir()), [], "what is left in memory")
    place.rmdir()


def foreign(folder):
    """A table that is neither the reader's nor the trace's owner's is not read, and not removed."""
    if os.geteuid() != 0:
        print("not run: tables foreign: only root may give files away", flush=True)
        return
    place = shelf(folder)
    capture.kill(begin(folder, f"live:{place}"))
    path = capture.trace(folder)
    table, = place.iterdir()
    os.chown(table, 12345, -1)
    out, _ = tool("check", path, status=1)
    check("is neither yours nor of the owner of the trace, and is not read" in out, out)
    tool("seal", path, status=1)
    check(table.exists(), "the table stays")
    os.chown(path, 12345, -1)
    capture.check_trace(path, folder / "notes", "both another's")
    shutil.rmtree(place)


def short(folder):
    """A share that is used up at once: the rest is on the disk, and nothing is lost."""
    for size in ("1M", "4M", "16M"):
        at = folder / size
        at.mkdir()
        place = shelf(folder)
        process = begin(at, f"live:{place},live_size:{size}")
        more = Path(f"{capture.trace(at)}.live.more")
        capture.wait_for(lambda: size == "16M" or more.exists(), "the second file")
        kill_and_check(at, process, f"with {size} of memory")
        equal(list(place.iterdir()), [], "what is left in memory")
        place.rmdir()


def bind(other, folder):
    check(ctypes.CDLL(None).mount(str(other).encode(), str(folder).encode(), None, 0x1000, None) == 0, "mount --bind")


def mount(folder, size, what, other=None):
    """Puts a tmpfs of that size there, or another folder, for this process and its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) != 0:
        print(f"not run: {what}: mount namespaces are not permitted", flush=True)
        os._exit(0)
    check(libc.mount(b"none", b"/", None, 0x44000, None) == 0, "mount --make-rprivate")
    if other is not None:
        bind(other, folder)
    else:
        check(libc.mount(b"none", str(folder).encode(), b"tmpfs", 0, f"size={size}".encode()) == 0, "mount of a tmpfs")


def in_child(test, *arguments):
    """In a process of its own, whose mounts are its own."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            test(*arguments)
            code = 0
        except SystemExit as failure:
            print(failure, flush=True)
        os._exit(code)
    equal(os.waitpid(pid, 0)[1], 0, f"{test.__name__} {arguments}")


def with_place(folder, size, fill):
    """/dev/shm of that size, in which others leave or take so much."""
    mount(MEMORY, size, "tables tiny_and_full")
    at = folder / f"{size}-{fill}"
    at.mkdir()
    (MEMORY / "others").write_bytes(b"x" * fill)
    process = begin(at, "")
    if size != "4m":  # others take what there is: what we have is ours
        (MEMORY / "all").touch()
        subprocess.run(["dd", "if=/dev/zero", f"of={MEMORY}/all", "bs=64k"], stderr=subprocess.DEVNULL)
    kill_and_check(at, process, f"{size}, {fill} bytes taken")


def tiny_and_full(folder):
    in_child(with_place, folder, "64k", 0)
    in_child(with_place, folder, "4m", 0)
    in_child(with_place, folder, "64m", 0)
    in_child(with_place, folder, "64m", 60 << 20)


def absent(folder):
    """It is beside the trace then, and that is said where a folder was asked for."""
    for conf in ("live:beside", f"live:{folder}/nowhere"):
        at = folder / conf[5:9].strip("/")
        at.mkdir()
        process = begin(at, conf)
        check(not Path(f"{capture.trace(at)}.live").is_symlink(), "the table itself is beside the trace")
        kill_and_check(at, process, conf)


def without_memory(folder):
    """No memory file system at all, as far as the library looks: the table is beside the trace."""
    mount(MEMORY, "1m", "tables without_memory", folder / "disk")
    os.environ.pop("XDG_RUNTIME_DIR", None)
    if is_in_memory("/tmp"):
        bind(folder / "disk", "/tmp")
    check(not is_in_memory(MEMORY), f"{MEMORY} is still in memory")
    process = begin(folder, "")
    check(not Path(f"{capture.trace(folder)}.live").is_symlink(), "the table itself is beside the trace")
    kill_and_check(folder, process, "without a memory file system")


def nowhere(folder):
    check(not is_in_memory(folder), f"{folder} is in memory: set TMPDIR to a folder on a disk")
    (folder / "disk").mkdir()
    in_child(without_memory, folder)


def together(folder):
    """Several processes share a small place: together they leave a quarter of it free."""
    in_child(share_place, folder)


def share_place(folder):
    mount(MEMORY, "16m", "tables together")
    begun = {}
    for name in ("one", "two", "three", "four", "five"):
        (folder / name).mkdir()
        begun[name] = begin(folder / name, "")
    for process in begun.values():
        capture.kill(process)
    elsewhere = [*folder.glob("*/*.live.more"), *(path for path in folder.glob("*/*.live") if not path.is_symlink())]
    check(0 < len(elsewhere), "some of it is on the disk")
    space = os.statvfs(MEMORY)
    # Two threads that look at the same moment may both take the last of it.
    check(space.f_bavail * 16 >= space.f_blocks, f"{space.f_bavail} of {space.f_blocks} pages are free")
    for name in begun:
        capture.check_trace(capture.trace(folder / name), folder / name / "notes", f"five share a place: {name}")


def seen_from_outside(folder):
    """A process of another container, of which /proc says nothing here, or something of another process: its trace is not ended
    while it runs."""
    for place in ("beside", str(shelf(folder))):
        at = folder / place.strip("/").replace("/", "-")
        at.mkdir()
        told, tell = os.pipe()
        asked, ask = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ask)
            if ctypes.CDLL(None, use_errno=True).unshare(0x20000000) != 0:
                print("not run: tables seen_from_outside: PID namespaces are not permitted", flush=True)
                os._exit(77)
            process = begin(at, f"live:{place}")
            os.write(tell, b"begun")
            os.read(asked, 1)
            capture.kill(process)
            os._exit(0)
        os.close(tell)
        if os.read(told, 5) == b"begun":
            path = capture.trace(at)
            _, said = tool("seal", path, status=1)
            check("goes on" in said, said)
            check(Path(f"{path}.live").exists(), "its table stays")
        os.close(ask)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == 77:
            break
        equal(status, 0, "the one inside")
        capture.check_trace(path, at / "notes", "killed, seen from outside")
        tool("seal", path)
        check(not Path(f"{path}.live").exists(), "its table is gone")
    shutil.rmtree(shelf(folder))


def no_major_faults(folder):
    """Threads come and go, a sample or everything recorded, the trace on a disk, which is busy: none of them waits for it."""
    check(not is_in_memory(folder), f"{folder} is in memory: set TMPDIR to a folder on a disk")
    write = f"while :; do dd if=/dev/zero of={folder}/busy bs=1M count=64 conv=fsync 2>/dev/null; done"
    busy = subprocess.Popen(["sh", "-c", write], start_new_session=True)
    try:
        for conf in ("sample:512K", "sample:16K", "sample:1"):
            process = capture.start(folder, [capture.program("ends/replacer"), 50], conf, stdout=subprocess.PIPE)
            out, said = process.communicate(timeout=capture.TIME_LIMIT)
            equal((process.returncode, out, said), (0, "0 faults, 200 threads\n", ""), conf)
    finally:
        os.killpg(busy.pid, signal.SIGKILL)
        busy.wait()
    for path in capture.traces(folder):
        tool("check", path)


def orphans(folder):
    """Tables of killed processes whose trace is gone, or replaced by something else, are removed by a later process, a day on; others
    stay. What is in a trace's place is not opened: a pipe would be waited for."""
    place = shelf(folder)
    found = {}
    for name in ("kept", "deleted", "replaced", "young", "running"):
        (folder / name).mkdir()
        process = begin(folder / name, f"live:{place}")
        found[name], = set(place.iterdir()) - set(found.values())
        if name != "running":
            capture.kill(process)
        if name != "kept":
            for path in (folder / name).glob("*.pa*"):
                path.unlink()
                if name == "replaced" and path.suffix == ".pa":
                    os.mkfifo(path)
        if name != "young":
            os.utime(found[name], (1, 1))
    strange = place / "profalloc-mine.live"
    strange.write_text("mine")
    os.utime(strange, (1, 1))
    (folder / "next").mkdir()
    later = begin(folder / "next", f"live:{place}")
    capture.wait_for(lambda: not found["deleted"].exists() and not found["replaced"].exists(), "the orphans are gone")
    for name in ("kept", "young", "running"):
        check(found[name].exists(), f"the table '{name}' stays")
    check(strange.exists(), "what is not ours stays")
    capture.kill(process)
    capture.kill(later)
    tool("check", capture.trace(folder / "kept"))
    shutil.rmtree(place)


def sealed_meanwhile(folder):
    """`profalloc run` ends the traces of processes that are gone while others go on: their tables take memory."""
    place = shelf(folder)
    os.mkfifo(folder / "gate")
    script = f"for i in 1 2 3; do /bin/true; done; read line < {folder}/gate"
    process = capture.start(folder, ["/bin/bash", "-c", script], f"live:{place}", run=True)
    names = lambda: {link.name.split(".")[0] for link in folder.glob("*.live")}  # noqa: E731
    capture.wait_for(lambda: len(list(folder.glob("true.*.pa"))) == 3 and names() == {"bash"}, "the commands' tables are gone")
    equal(len(list(place.iterdir())), 1, "tables in memory")
    (folder / "gate").write_text("go\n")
    capture.finish(process, 0)
    for path in capture.traces(folder):
        tool("check", path)
    equal(list(place.iterdir()), [], "what is left in memory")
    place.rmdir()


support.main(sealed_meanwhile=sealed_meanwhile, killed=killed, foreign=foreign, found_without_its_link=found_without_its_link, short=short, tiny_and_full=tiny_and_full, absent=absent,
             nowhere=nowhere, together=together, seen_from_outside=seen_from_outside, no_major_faults=no_major_faults, orphans=orphans)
