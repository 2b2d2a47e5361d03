#!/usr/bin/env python3
"""Kills at random moments: whatever a program was in the middle of, its trace is complete, and its totals lie between
what it had noted before and after that. In every fourth, more threads share less room than they need, or have none.

usage: kills.py [RUNS [SEED]]"""
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import capture
import folders
import support
from capture import Notes, check

CHURNER = capture.program("ends/churner")
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
LONGEST = 0.040
ROOM = {0: "buffers:1M", 4: "buffers:0"}


def was_recording(folder):
    """Too early a kill leaves nothing to look at."""
    found = capture.traces(folder)
    return len(found) == 1 and found[0].stat().st_size != 0 and (folder / "notes").exists()


def kill_once(folder, delay, room):
    """True if there was something to examine, and it is right."""
    folder.mkdir()
    process = capture.start(folder, [CHURNER, "notes", 8 if room else 2, 0, "wait"], room)
    time.sleep(delay)
    capture.kill(process)
    if was_recording(folder):
        capture.check_trace(capture.trace(folder), Notes(folder / "notes"), f"killed after {delay:.6f} s")
        folders.remove(folder)
        return True
    folders.remove(folder)
    return False


def kill_until(folder, number):
    """One kill that counts. Those that came too early are made again, a little later each time."""
    chance = random.Random(SEED * RUNS + number)
    for attempt in range(100):
        if kill_once(folder / f"{number}-{attempt}", chance.uniform(0, LONGEST) + attempt * LONGEST / 4, ROOM.get(number % 8, "")):
            return attempt
    check(False, "no kill met the program at work")


def kills(folder):
    print(f"seed {SEED}", flush=True)
    with ThreadPoolExecutor(2) as pool:
        again = sum(pool.map(lambda number: kill_until(folder, number), range(RUNS)))
    print(f"{RUNS} kills, and {again} that came before there was anything recorded")


folders.use_memory(256)  # hundreds of times a few files: on a disk it is the disk that is tested
support.main(kills=kills)
