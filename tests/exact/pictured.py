#!/usr/bin/env python3
"""While pictures of millions of chunks are taken, the deaths of others are written, between the blocks of the pictures."""
import itertools

import capture
import support
from capture import check, equal, tool

PICTURED = capture.program("exact/pictured")
MEMORY = capture.Memory("exact_pictured", 512)
CHUNKS, PICTURES = 3000000, 1


def while_threads_free(folder):
    capture.capture(folder, [PICTURED, CHUNKS, PICTURES])
    path = capture.trace(folder)
    data = capture.check_trace(path)
    equal(capture.summed(data, "pictured_kept", "live_chunks"), CHUNKS, "chunks alive at the end")
    equal(capture.summed(data, "pictured_brief", "live_chunks"), 0, "brief chunks alive at the end")
    MEMORY.check_none_folded(data)
    blocks, _ = tool("dump", path)
    kinds = [line.split()[1] for line in blocks.splitlines() if line.split()[1:2]]
    runs = [(kind, len(list(group))) for kind, group in itertools.groupby(k for k in kinds if k in ("LIVE", "EVENTS"))]
    live = [i for i, (kind, _) in enumerate(runs) if kind == "LIVE"]
    # Without that, each picture would be one run of blocks.
    check(len(live) > PICTURES + 1, f"deaths are written between the blocks of a picture: {runs}")


support.main(while_threads_free=while_threads_free)
