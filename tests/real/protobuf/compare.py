#!/usr/bin/env python3
"""Records the program with and without an arena, and compares what the reports say: compare.py TOOL FOLDER.

How long chunks live is told in events, births and deaths, not in time: a machine that lets the program stand still changes no order."""
import bisect
import json
import subprocess
import sys

tool, folder = sys.argv[1:3]


def record(way):
    path = f"{folder}/{way}.pa"
    # Whole times: the run is so short that the steps they are else written in are as long as groups are apart.
    done = subprocess.run([tool, "run", "--conf", "time_step:1", "-o", path, "--", f"{folder}/parse", way], capture_output=True, text=True, check=True)
    data = json.loads(subprocess.run([tool, "report", "--json", path], capture_output=True, text=True, check=True).stdout)
    assert data["complete"] is True, data["missing"]
    scores = {name: total["geometric_mean"] for name, total in data["scores"].items()}
    return done.stdout, data["totals"]["allocations"], scores, data


def shares(way):
    """Of the chunks that are freed, by bytes: how much of the run they live, and how much of that they are in use."""
    out = subprocess.run([tool, "dump", "--json", "--events", f"{folder}/{way}.pa"], capture_output=True, text=True, check=True).stdout
    died = [row for row in map(json.loads, out.splitlines()) if row["type"] == "death"]
    moments = sorted(time for row in died for time in (row["alloc_time"], row["free_time"]))

    def events(begin, end):
        return bisect.bisect_left(moments, end) - bisect.bisect_left(moments, begin)

    told = [row for row in died if row["first_time"] is not None]
    lives = [events(row["alloc_time"], row["free_time"]) for row in told]
    uses = [events(row["first_time"], row["last_time"]) for row in told]
    size = sum(row["size"] for row in told)
    life = sum(row["size"] * n for row, n in zip(told, lives)) / size / len(moments)
    use = sum(row["size"] * n for row, n in zip(told, uses)) / sum(row["size"] * n for row, n in zip(told, lives))
    return life, use


def main():
    plain, plain_count, plain_scores, data = record("heap")
    arena, arena_count, arena_scores, _ = record("arena")
    print(f"{'':24} {'heap':>10} {'arena':>10}")
    print(f"{'allocations':24} {plain_count:>10.0f} {arena_count:>10.0f}")
    for name in plain_scores:
        print(f"{name:24} {plain_scores[name]:>10.2f} {arena_scores[name]:>10.2f}")
    assert plain == arena, "both parse the same"
    assert arena_count < 0.5 * plain_count, "fewer allocations with an arena"
    (plain_life, plain_use), (arena_life, arena_use) = shares("heap"), shares("arena")
    print(f"{'life, in events':24} {plain_life:>10.4f} {arena_life:>10.4f}")
    print(f"{'used of that':24} {plain_use:>10.4f} {arena_use:>10.4f}")
    assert arena_life > 1.1 * plain_life, "chunks of an arena live longer"
    assert arena_scores["usage"] < plain_scores["usage"], "an arena leaves bytes unused"
    assert arena_use < plain_use, "and keeps them longer than they are needed"
    # What the heap's chunks are for is said: those that the parser allocates anew for each message.
    advice = json.loads(subprocess.run([tool, "advise", "--json", f"{folder}/heap.pa"], capture_output=True, text=True, check=True).stdout)
    churned = [f for f in advice["findings"] if f["advice"] in ("pool", "hoist", "reserve") and f["saves_calls"] >= 1000]
    assert churned, "what is allocated for each message is found"
    for finding in churned[:3]:
        print(f"advice: {finding['sentence']}")


main()
