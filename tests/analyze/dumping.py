#!/usr/bin/env python3
"""dump: every chunk of the truth is there, once, as it was; with --where those that are asked for."""
import json
import re

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


def where(folder):
    """The same lines as without, of those chunks alone; all that is no chunk stays."""
    path = folder / "t.pa"
    for form, words in (("ended", ()), ("killed", ("dying",)), ("ended", ("accesses", "sampled")), ("ended", ("shift", "sizes"))):
        chunks = make(form, path, 3000, 5, *words)
        every = list({json.dumps(r): r for r in rows_of(path) if r["type"] == "live"}.values())  # they are in a picture, too
        every += [r for r in rows_of(path) if r["type"] != "live"]
        chunk_like = lambda line: line["type"] in ("death", "live")
        bare = lambda line: json.dumps({k: v for k, v in line.items() if k != "from"}, sort_keys=True)
        cases = [("size > 100", lambda r: r["size"] > 100), ("live", lambda r: r["type"] == "live"), ("size < 0", lambda r: False),
                 ("thread = worker-2 and not size in 10..50", lambda r: r["thread"] == 2 and not 10 <= r["size"] <= 50),
                 ("freed and lifetime > 5us", lambda r: r["type"] == "death" and r["free_time"] - r["alloc_time"] > 5000)]
        if "accesses" in words:
            cases.append(("reads = 0", lambda r: r["reads"] == 0))
        for expression, holds in cases:
            ours = [json.loads(line) for line in tool("dump", "--json", "--where", expression, path)[0].splitlines()]
            equal(sorted(bare(r) for r in ours if chunk_like(r)), sorted(bare(r) for r in every if chunk_like(r) and holds(r)), f"{words}: {expression}")
            equal([r for r in ours if not chunk_like(r)], [r for r in every if r["type"] == "block"], f"{words}: {expression}: blocks")
            check(all(r["from"] is None for r in ours if chunk_like(r)), "where it is from is not told")
    with_nodes = tool("dump", "--where", "size < 0", "--nodes", path)[0]
    check(" node " in with_nodes and " death " not in with_nodes, "nodes stay")
    lines = tool("dump", "--where", "size > 100", "--where", "live", path)[0]
    equal(lines.count("\n    live "), sum(c.size > 100 and not c.died for c in chunks), "as text, both hold")
    check("^" in tool("dump", "--where", "size >", path, status=2)[1], "where it is wrong is pointed at")


def edges(folder):
    path = folder / "t.pa"
    for count, words in ((0, ()), (1, ()), (300, ("alive",)), (300, ("size=0",)), (300, ("size=1073741824",))):
        for form in ("ended", "killed"):
            chunks = make(form, path, count, 3, *words)
            for expression, holds in (("size >= 0", lambda c: True), ("live", lambda c: not c.died), ("size >= 1G", lambda c: c.size >= 1 << 30)):
                out = tool("dump", "--where", expression, path)[0]
                equal(len(re.findall("^    (?:live|death) ", out, re.M)), sum(map(holds, chunks)), f"{count} {words} {form}: {expression}")


def wrong_uses(folder):
    path = folder / "t.pa"
    make("ended", path, 10, 2)
    for arguments, said in (((path, path), "one trace"), (("--top", 3, path), "--top"), (("--by", "size", path), "no use for --by"), (("--sort", "size", path), "no use for --sort"), ((), "usage"),
                            ((folder / "absent.pa",), "absent.pa"), (("--where", "size > 1", folder / "absent.pa"), "absent.pa")):
        out, err = tool("dump", *arguments, status=2)
        check(said in err and out == "", f"{arguments}: {out}{err}")
    check("--where" in tool("dump", "--help")[0], "help")


def text(folder):
    make("ended", folder / "t.pa", 100, 2)
    out, _ = tool("dump", folder / "t.pa")
    check("START" in out and "END" in out and "death" not in out, out)
    out, _ = tool("dump", "--events", folder / "t.pa")
    check(out.count(" death ") + out.count(" live ") >= 100, out)


support.main(all_chunks=all_chunks, text=text, where=where, edges=edges, wrong_uses=wrong_uses)
