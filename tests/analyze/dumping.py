#!/usr/bin/env python3
"""dump: every chunk of the truth is there, once, as it was."""
import json

import support
from support import check, equal, make, tool


def rows_of(path):
    lines = [json.loads(line) for line in tool("dump", "--json", "--events", "--nodes", path)[0].splitlines()]
    return lines


def key(chunk):
    return (chunk.thread, chunk.born, chunk.died, chunk.size, chunk.stack)


def all_chunks(folder):
    for form, words in (("ended", ()), ("killed", ("dying",)), ("killed", ("torn",))):
        chunks = make(form, folder / "t.pa", 3000, 2, *words)
        lines = rows_of(folder / "t.pa")
        deaths = sorted((r["thread"], r["alloc_time"], r["free_time"], r["size"], r["stack"])
                        for r in lines if r["type"] == "death")
        equal(deaths, sorted(key(c) for c in chunks if c.died), "deaths")
        live = {(r["thread"], r["alloc_time"], 0, r["size"], r["stack"]) for r in lines if r["type"] == "live"}
        equal(live, {key(c) for c in chunks if not c.died}, "live chunks")
        check(sum(r["type"] == "node" for r in lines) == 12, "nodes")
        check(any(r["type"] == "module" and r["path"].endswith("make_trace") for r in lines), "modules")


def text(folder):
    make("ended", folder / "t.pa", 100, 2)
    out, _ = tool("dump", folder / "t.pa")
    check("START" in out and "END" in out and "death" not in out, out)
    out, _ = tool("dump", "--events", folder / "t.pa")
    check(out.count(" death ") + out.count(" live ") >= 100, out)


support.main(all_chunks=all_chunks, text=text)
