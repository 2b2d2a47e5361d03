#!/usr/bin/env python3
"""Names from a debuginfod server: of a stripped program whose debug information only the server has, of one that is gone, and
what a report says if the server does not answer."""
import contextlib
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import capture
import support
from capture import check, equal

SOURCE = """#include <stdlib.h>

void *volatile sink;

__attribute__((noinline)) void allocation_point(void)
{
    sink = malloc(12345);
    __asm__ volatile("");
}

int main(void)
{
    for (int i = 0; i < 10; i++) {
        allocation_point();
    }
    return 0;
}
"""
LINE = 1 + next(i for i, line in enumerate(SOURCE.splitlines()) if "malloc" in line)
KNOWN = ("allocation_point", "program.c", LINE)
UNKNOWN = (None, None, None)


def recorded(folder):
    """A trace of a program that was stripped, its debug information in a folder of the server's, and its build-id."""
    source, program, debug = folder / "program.c", folder / "program", folder / "server" / "program.debug"
    debug.parent.mkdir()
    source.write_text(SOURCE)
    subprocess.run([os.environ["CC"], "-g", "-O1", "-fno-builtin-malloc", "-Wl,--build-id", "-o", program, source], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    capture.capture(folder, [program])
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    build_id, = (line.split()[-1] for line in notes.splitlines() if "Build ID" in line)
    return capture.trace(folder), build_id


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def serves(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@contextlib.contextmanager
def server(folder, build_id):
    """The address of a server that has looked through folder/server."""
    check(shutil.which("debuginfod"), "debuginfod is missing; it is in Debian's package of that name")
    env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_")}
    env["DEBUGINFOD_CACHE_PATH"] = str(folder / "server-cache")
    port = free_port()
    with open(folder / "server.log", "w") as log:
        process = subprocess.Popen(["debuginfod", "-p", str(port), "-d", ":memory:", "-F", folder / "server"], stdout=log,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env)
    try:
        url = f"http://127.0.0.1:{port}"
        limit = time.monotonic() + 1800
        while not serves(f"{url}/buildid/{build_id}/debuginfo"):
            said = (folder / "server.log").read_text()[-2000:]
            check(process.poll() is None, f"the server ended:\n{said}")
            check(time.monotonic() < limit, f"the server does not serve the file:\n{said}")
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=600)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def environment(cache, urls, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_")}
    return {**env, "DEBUGINFOD_CACHE_PATH": str(cache), **({"DEBUGINFOD_URLS": urls} if urls else {}), **more}


def told(trace, cache, urls=None, **more):
    """Function, file and line of the allocation point, and the remarks."""
    out, _ = support.tool("report", "--json", trace, env=environment(cache, urls, **more))
    data = support.json.loads(out)
    point, = (p for p in data["points"] if p["bytes"] == 10 * 12345)
    frame = point["stack"][0]
    name = frame["file"] and Path(frame["file"]).name
    return (frame["function"], name, frame["line"]), [r for r in data["remarks"] if "debuginfod" in r]


def served(folder):
    trace, build_id = recorded(folder)
    equal(told(trace, folder / "none"), (UNKNOWN, []), "without a server")
    with server(folder, build_id) as url:
        equal(told(trace, folder / "none"), (UNKNOWN, []), "with a server that nobody names")
        equal(told(trace, folder / "cache", url), (KNOWN, []), "with a server")
        out, _ = support.tool("report", trace, env=environment(folder / "cache", url))
        check(f"allocation_point  (program.c:{LINE})" in out, out)
        (folder / "program").unlink()
        equal(told(trace, folder / "none")[0], UNKNOWN, "of a program that is gone, without a server")
        equal(told(trace, folder / "fresh", url), (KNOWN, []), "of a program that is gone, with a server")
        support.tool("pack", trace, "-o", folder / "packed.pa", env=environment(folder / "cache", url))
    equal(told(folder / "packed.pa", folder / "none"), (KNOWN, []), "packed while the server was there")
    equal(told(trace, folder / "cache", url), (KNOWN, []), "from the cache, the server being gone")


def refused(folder):
    """Nobody listens at that port."""
    trace, _ = recorded(folder)
    url = f"http://127.0.0.1:{free_port()}"
    frame, remarks = told(trace, folder / "cache", url)
    equal(frame, UNKNOWN, "with a server that is gone")
    check(len(remarks) == 1 and url in remarks[0] and "names may be missing" in remarks[0], f"which is said: {remarks}")


def connections(place):
    """How many were made since it was last asked."""
    place.setblocking(False)
    for count in range(1000):
        try:
            place.accept()[0].close()
        except BlockingIOError:
            return count
    return check(False, "no end of connections")


def silent(folder):
    """A server that takes connections and never answers is waited for once, however many modules there are."""
    trace, _ = recorded(folder)
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        place.listen(64)
        url = f"http://127.0.0.1:{place.getsockname()[1]}"
        for patience, env in ((2, {"DEBUGINFOD_TIMEOUT": "2"}), (10, {})):
            frame, remarks = told(trace, folder / "cache", url, **env)
            equal(frame, UNKNOWN, "with a silent server")
            check(len(remarks) == 1 and f"no answer within {patience} seconds" in remarks[0], f"which is said: {remarks}")
            equal(connections(place), 1, f"connections, with a patience of {patience}")


def not_there(folder):
    """A server that does not have the file has answered: nothing is to be said."""
    trace, build_id = recorded(folder)
    other = folder / "other"
    other.mkdir()
    with server(folder, build_id) as url:
        (folder / "program").unlink()
        (folder / "program.c").write_text(SOURCE.replace("12345", "12346"))
        subprocess.run([os.environ["CC"], "-g0", "-s", "-O1", "-Wl,--build-id", "-o", other / "program", folder / "program.c"], check=True)
        capture.capture(other, [other / "program"])
        out, _ = support.tool("report", "--json", capture.trace(other), env=environment(folder / "cache", url))
        data = support.json.loads(out)
        equal([r for r in data["remarks"] if "debuginfod" in r], [], "remarks")
        point, = (p for p in data["points"] if p["bytes"] == 10 * 12346)
        equal(point["stack"][0]["function"], None, "a name")


support.main(served=served, refused=refused, silent=silent, not_there=not_there)
