#!/usr/bin/env python3
"""Advice against what following it brings: a program that does one thing badly is advised to do it otherwise, and its other form saves
about what was promised."""
import json
import os
import re
import subprocess

import support
from support import check, equal, make, tool

SOURCE = os.path.join(os.environ["PROFALLOC_SOURCE_DIR"], "tests/analyze/advised.c")
COMPILER = os.path.join(os.environ["PROFALLOC_BUILD_DIR"], "profalloc-cc")


def record(folder, *words):
    path = folder / f"{'-'.join(words)}.pa"
    tool("run", "-o", path, "--", folder / "advised", *words)
    return path


def totals(path):
    data = json.loads(tool("report", "--json", path)[0])
    return data["totals"]["allocations"], data["peak"]["bytes"], data


def advice(path, *options):
    return json.loads(tool("advise", "--json", *options, path)[0])


def is_worth(finding):
    return finding["rank"] >= 1e-4 or finding["saves_ns"] >= 1e6


def best(path, kind, function):
    """The best finding of a kind about a place in this function, and its rank among all."""
    for rank, finding in enumerate(advice(path)["findings"]):
        if finding["advice"] == kind and any(f["function"] == function for f in finding["points"][0]["stack"]):
            return finding, rank
    raise SystemExit(f"failed: no advice '{kind}' for {function}: {[f['sentence'] for f in advice(path)['findings']]}")


def near(promised, brought, what, share=0.15):
    check(abs(promised - brought) <= share * max(brought, 1), f"{what}: promised {promised}, it brought {brought}")


READ = "code that is not instrumented may have read it"
TOUCHED = "code that is not instrumented may have touched it"


def kept_promises(folder):
    subprocess.run([COMPILER, "-O1", "-g", "-pthread", "-o", folder / "advised", SOURCE], check=True)
    for kind, sure in (("reserve", "high"), ("hoist", "high"), ("pool", "high"), ("shrink", "high"), ("remove", "medium"),
                       ("free_earlier", None), ("allocate_later", None)):
        worse, better = record(folder, kind), record(folder, kind, "better")
        finding, rank = best(worse, kind, f"do_{kind}")
        calls = totals(worse)[0] - totals(better)[0]
        size = totals(worse)[1] - totals(better)[1]
        equal(rank, 0, f"{kind}: it is what to do first")
        if sure is not None:
            # What saves time is no surer than what a call costs is known.
            capped = finding["saves_bytes"] == 0 and not advice(worse)["pair_ns_measured"]
            why = READ if kind == "remove" else "what a call costs is assumed" if capped else None
            equal((finding["sure"], finding["unsure"]), ("medium" if capped else sure, why), f"{kind}: how sure it is")
        if kind == "free_earlier":
            check(", last touched by advised (" in finding["sentence"], finding["sentence"])
        if finding["saves_calls"] > 0:
            near(finding["saves_calls"], calls, f"{kind}: calls")
        if finding["saves_bytes"] > 0:
            near(finding["saves_bytes"], size, f"{kind}: bytes of the peak", 0.02)
        check(finding["saves_calls"] > 0 or finding["saves_bytes"] > 0, f"{kind}: it promises something")
        still = [f for f in advice(better)["findings"] if f["advice"] == kind
                 and any(g["function"] == f"do_{kind}" for g in f["points"][0]["stack"]) and f["rank"] > 0.01]
        equal(still, [], f"{kind}: once done, it is not advised again")
    finding, rank = best(record(folder, "unshare"), "unshare", "do_unshare")
    findings = advice(folder / "unshare.pa")["findings"]
    check(all(is_worth(f) for f in findings[:rank]) and not any(is_worth(f) for f in findings[rank:]), f"it comes behind what is worth a change: {findings}")
    for command in ("advise", "report"):
        out = tool(command, folder / "unshare.pa")[0]
        check(re.search(r"\n  #\d+  pad or split what threads share: all 8 chunks were written again and again.*\n"
                        r"      saves what cannot be estimated: the waiting", out), out)
    equal((finding["saves_calls"], finding["saves_bytes"]), (0, 0), "of sharing there is no estimate")
    equal((finding["sure"], finding["unsure"]), ("low", "how often a chunk went from thread to thread is not recorded"), "nor is it sure")
    for words in (("unshare", "better"), ("hand_over",), ("read_together",)):
        path = record(folder, *words)
        shared = [p for p in totals(path)[2]["points"] if p["stack"][0]["function"] == f"do_{words[0]}"]
        equal([p["inferences"]["shared"]["chunks"] for p in shared], [1], f"{words}: several threads touched all")
        equal([f["sentence"] for f in advice(path)["findings"] if f["advice"] == "unshare"], [], f"{words}: no harm is done")


PLAIN, INLINED = 4, 5  # stacks of the maker: plain_site, and inlined_site of outer_site


def make_busy(path, *words):
    """A chunk every microsecond for a fifth of a second, freed at once; and twenty others."""
    often = [(1, 100000 + 1000 * i, 100500 + 1000 * i, 100, PLAIN, PLAIN) for i in range(200000)]
    seldom = [(1, 1000 * i, 1000 * i + 500, 200, INLINED, INLINED) for i in range(20)]
    support.make_given(path, 10**9, seldom + often, *words)


POOLED = r"""
#include <stdlib.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) static char *node(int size) { char *p = malloc((size_t)size); p[0] = 1; return p; }
#define USER(n) __attribute__((noinline)) static void use_##n(void) \
    { char *a[64]; for (int i = 0; i < 64; i++) a[i] = node(16 + n); for (int i = 0; i < 64; i++) { sink += a[i][0]; free(a[i]); } }
USER(0) USER(1) USER(2) USER(3) USER(4) USER(5) USER(6) USER(7)
int main(void) { for (int i = 0; i < 500; i++) { use_0(); use_1(); use_2(); use_3(); use_4(); use_5(); use_6(); use_7(); if (i % 50 == 0) usleep(3000); } return 0; }
"""


def stripped_pool(folder):
    """Without names, points that allocate through the same call have a pool together; how sure that is, is of all of them."""
    subprocess.run(["cc", "-O1", "-s", "-o", folder / "stripped", folder / "pool.c"], check=True)
    tool("run", "-o", folder / "stripped.pa", "--", folder / "stripped")
    pool = advice(folder / "stripped.pa")["findings"][0]
    equal((pool["advice"], len(pool["points"])), ("pool", 8), "the pool of a program without names")
    equal({(p["stack"][0]["function"], p["stack"][0]["address"]) for p in pool["points"]}, {(None, pool["points"][0]["stack"][0]["address"])}, "its call")
    check(0.7 * 8 * 32000 <= pool["chunks"] <= 8 * 32000, f"its chunks: {pool['chunks']}")
    # Of each point by itself there are too few to be sure.
    few = (folder / "pool.c").read_text().replace("i < 500", "i < 1").replace("i < 64", "i < 30")
    (folder / "few.c").write_text(few)
    subprocess.run(["cc", "-O1", "-o", folder / "few", folder / "few.c"], check=True)
    tool("run", "-o", folder / "few.pa", "--", folder / "few")
    data = advice(folder / "few.pa", "--burst-score", "1", "--group-threshold", "1")
    pool = data["findings"][0]
    equal((pool["chunks"], pool["share"]), (240, 1), "all chunks")
    sure = ("high", None) if data["pair_ns_measured"] else ("medium", "what a call costs is assumed")
    equal((pool["sure"], pool["unsure"]), sure, "of all of them it is sure")


def pools(folder):
    """A pool for several points: which they are."""
    (folder / "pool.c").write_text(POOLED)
    stripped_pool(folder)
    subprocess.run(["cc", "-O1", "-g", "-o", folder / "pool", folder / "pool.c"], check=True)
    tool("run", "-o", folder / "pool.pa", "--", folder / "pool")
    data = advice(folder / "pool.pa")
    pool = data["findings"][0]
    # A program that loses the processor within a burst has fewer that are short-lived.
    equal(pool["advice"], "pool", "the pool")
    check(0.7 * 8 * 32000 <= pool["chunks"] <= 8 * 32000, f"its chunks: {pool['chunks']}")
    equal(pool["saves_calls"], 0.99 * pool["chunks"], "its calls", 0.02)
    equal(sorted(p["stack"][1]["function"] for p in pool["points"]), [f"use_{i}" for i in range(8)], "its points")
    check(all(f["saves_ns"] <= data["run_ns"] for f in data["findings"]), "one thread saves no more time than it took")
    out = tool("advise", folder / "pool.pa")[0]
    told = re.findall(r"\n      and [\d,]+ chunks by (use_\d) \(pool.c:8\) < main \(pool.c:9\)(?=\n)", out)
    equal(told, [p["stack"][1]["function"] for p in pool["points"][1:6]], "points that are told")
    check("\n      and 2 more points of the same function\n" in out, out)


def worth(folder):
    """What saves next to nothing is not listed, but counted; --top lists it."""
    make_busy(folder / "busy.pa")
    findings = advice(folder / "busy.pa")["findings"]
    out = tool("advise", folder / "busy.pa")[0]
    listed = len(re.findall(r"^  #\d+  ", out, re.M))
    equal(listed, sum(map(is_worth, findings)), "those that are worth it")
    check(0 < listed < len(findings), f"some are, some are not: {findings}")
    check(f"\n{len(findings) - listed} more would save less than 0.01 %" in out, out)
    equal(len(re.findall(r"^  #\d+  ", tool("advise", "--top", 99, folder / "busy.pa")[0], re.M)), len(findings), "all of them")


def apart(folder):
    """What lies between two recordings is no part of the run."""
    paths = [folder / name for name in ("one.pa", "two.pa")]
    for number, path in enumerate(paths):
        make_busy(path, f"later={number * 5 * 10**9}")
    data = json.loads(tool("report", "--json", *paths)[0])
    told = json.loads(tool("advise", "--json", *paths)[0])
    equal(told["run_ns"], 1e9 * sum(f["seconds"] for f in data["files"]), "the run", 1e-6)


PHASES = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) static char *first(void) { char *p = malloc(100000); memset(p, 1, 100000); return p; }
__attribute__((noinline)) static char *second(void) { char *p = malloc(100000); memset(p, 1, 100000); sink += p[5] + p[99999]; return p; }
__attribute__((noinline)) static char *mapped(void) { char *p = malloc(8 << 20); memset(p, 1, 100000); return p; }
int main(int argc, char **argv)
{
    char *chunks[100];
    if (argc > 1) {
        char *large = mapped();
        for (int i = 0; i < 100000; i++) sink += large[i];
        free(large);
    }
    for (int i = 0; i < 100; i++) chunks[i] = first();
    usleep(50000);
    for (int i = 0; i < 100; i++) free(chunks[i]);
    for (int i = 0; i < 99; i++) chunks[i] = second();
    usleep(50000);
    for (int i = 0; i < 99; i++) { sink += chunks[i][7]; free(chunks[i]); }
    return 0;
}
"""


def phases(folder):
    """Without what is of no use, there is a peak at another moment; and what was never in memory is not saved."""
    (folder / "phases.c").write_text(PHASES)
    subprocess.run([COMPILER, "-O1", "-g", "-o", folder / "phases", folder / "phases.c"], check=True)
    tool("run", "-o", folder / "phases.pa", "--", folder / "phases")
    finding, _ = best(folder / "phases.pa", "remove", "first")
    near(finding["saves_bytes"], 100000, "two phases, one as large as the other", 0.01)
    near(finding["points"][0]["spare_at_peak"]["never_read"], 10000000, "at the peak itself", 0.01)
    tool("run", "-o", folder / "mapped.pa", "--", folder / "phases", "mapped")
    data = json.loads(tool("advise", "--json", "--where", "size > 1M", folder / "mapped.pa")[0])
    shrink = [f for f in data["findings"] if f["advice"] == "shrink"]
    equal([f["saves_bytes"] for f in shrink], [25 * 4096 - 100000], "the rest of the last page")
    check(shrink[0]["sentence"].endswith("; 7.9 MiB of the peak, in whole pages, were never touched and took no memory"), shrink[0]["sentence"])
    equal(shrink[0]["points"][0]["spare_at_peak"]["took_no_memory"], (8 << 20) - 25 * 4096, "what took no memory")


def kept(folder):
    """What leaks says of chunks that are never freed is advised too, and what holds the peak is named."""
    step, path = 40000, folder / "kept.pa"
    nodes = [(1, 1000 + step * i, 0, 1008, PLAIN, 0) for i in range(5000)]
    texts = [(1, 2000 + step * i, 3000 + step * i, 100, INLINED + 2, INLINED + 2) for i in range(5000)]
    support.make_given(path, 5000 * step + 40000, [(1, 0, 0, 200000, INLINED, 0), *nodes, *texts])
    data = advice(path)
    first = data["findings"][0]
    leak = json.loads(tool("leaks", "--json", path)[0])["points"][0]
    equal((first["advice"], first["saves_bytes"], first["sure"], first["chunks"]), ("free", 5000 * 1008, "high" if leak["sure"] > 0.795 else "medium", 5000), "what to do first")
    equal(first["bytes_per_second"], leak["bytes_per_second"], "how fast it grows", 1e-9)
    equal([p["stack"][0]["function"] for p in data["held_at_peak"]], ["plain_site"], "what holds nearly all of the peak")
    for command in ("advise", "report"):
        out = tool(command, path)[0]
        check("  #1  free it or bound it: all 5,000 chunks were never freed, growing by " in out, out)
        check(re.search(r"\nHeld at the peak, of 5\.\d MiB:\n     4\.8 MiB   9\d\.\d %  by plain_site \(make_sites\.c:\d+\); 4\.8 MiB of it not freed until the end\n"
                        r"  next: profalloc leaks, ", out), out)
        # Of the rest nothing is known to be changed, and yet what holds it is named.
        out = tool(command, "--where", "size >= 200000", path)[0]
        check("\nHeld at the peak of these chunks, of 195.3 KiB:\n" in out and (command == "report" or "; the peak of these chunks is 195.3 KiB" in out), out)
        check("Nothing " in out and re.search(r"\n   195\.3 KiB  100\.0 %  by inlined_site \(make_sites", out), out)
        out = tool(command, "--where", "function = plain_site", path)[0]
        check("\n      saves 4.8 MiB of the peak of these chunks (100.0 %); " in out, out)
        check("the peak of these" not in tool(command, path)[0], "of all chunks it is the peak")
    for seed in range(3):
        for words in (("accesses",), ("sampled",), ()):
            make("ended", folder / "t.pa", 3000, seed, "slow=2000", *words)
            leaks = {p["id"]: p for p in json.loads(tool("leaks", "--json", folder / "t.pa")[0])["points"] if p["verdict"] in ("leak", "grows")}
            all_of_it = advice(folder / "t.pa")["findings"]
            useless = {f["points"][0]["id"] for f in all_of_it if f["advice"] == "remove" and f["share"] > 0.95}
            ours = {f["points"][0]["id"]: f for f in all_of_it if f["advice"] == "free"}
            check(ours and set(ours) <= set(leaks), f"{words} {seed}: {len(ours)} of {len(leaks)} are advised")
            report = totals(folder / "t.pa")[2]
            before = report["peak"]["time"] / report["files"][0]["seconds"] - 1e-6
            equal({i for i in leaks if i not in ours and i not in useless and leaks[i]["first_birth"] < before}, set(), "none is left out")
            for one, finding in ours.items():
                equal((finding["verdict"], finding["reason"]), (leaks[one]["verdict"], leaks[one]["reason"]), "as leaks has it")
                overdue = leaks[one]["overdue"] if leaks[one]["verdict"] == "leak" else None
                equal(finding["kept_bytes"], (overdue or leaks[one])["bytes"], "its bytes", 1e-9)


def alternatives(folder):
    """Several changes of one point stand together, and say that they are alternatives."""
    path = folder / "t.pa"
    make("ended", path, 3000, 1, "accesses")
    for sort in ((), ("--sort", "bytes")):
        findings = advice(path, *sort)["findings"]
        best = {}
        for finding in advice(path)["findings"]:
            best.setdefault(finding["points"][0]["id"], finding["advice"])
        of_point = {}
        for finding in findings:
            one, first = finding["points"][0]["id"], best[finding["points"][0]["id"]]
            equal(finding["instead_of"], None if finding["advice"] == first else first, "the best of its point")
            of_point.setdefault(one, []).append(finding["sentence"])
        check(any(len(f) > 1 for f in of_point.values()) and len(of_point) > 3, f"several are of one point: {of_point}")
        out = tool("advise", "--top", len(findings), *sort, path)[0]
        told = [[s] + re.findall(r"\n      or (.*); saves ", rest) for s, rest in re.findall(r"\n  #\d+  (.*)((?:\n      .*)*)", out)]
        equal(told, list(of_point.values()), "all of them, by point")
        check(out.startswith(f"{len(of_point)} of {len(of_point)} changes ") and "savings of one point do not add up" in out, out[:400])
    two = re.findall(r"^  #(\d+)  ", tool("advise", "--top", 2, path)[0], re.M)
    equal(two, ["1", "2"], "two points")
    check("do not add up" not in tool("advise", "--where", "size = 0", path)[0], "where there are none")


COPIED = r"""
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static char *get(size_t size) { return malloc(size); }
/* As std::vector does: the old buffer is freed once the new one has what was in it, here a little at its front. */
__attribute__((noinline)) static char *grow(size_t least, size_t most)
{
    char *buffer = get(least);
    memset(buffer, 1, 64);
    for (size_t size = 2 * least; size <= most; size *= 2) {
        char *larger = get(size);
        memcpy(larger, buffer, 64);
        free(buffer);
        buffer = larger;
    }
    return buffer;
}
int main(int count, char **words)
{
    enum { KEPT = 5 };
    char *kept[KEPT];
    (void)words;
    for (size_t i = 0; i < KEPT; i++) kept[i] = grow(count > 1 ? 1 << 18 : 1 << 10, 1 << 18);
    char *last = grow(count > 1 ? 1 << 23 : 1 << 10, 1 << 23);
    for (size_t i = 0; i < KEPT; i++) free(kept[i]);
    free(last);
    return 0;
}
"""


def copied(folder):
    """A buffer that is copied at the peak is there twice: what reserving saves of it is what it brings."""
    (folder / "copied.c").write_text(COPIED)
    subprocess.run(["cc", "-O1", "-g", "-o", folder / "copied", folder / "copied.c"], check=True)
    peaks = []
    for name, words in (("worse", ()), ("better", ("better",))):
        tool("run", "-o", folder / f"{name}.pa", "--", folder / "copied", *words)
        peaks.append(totals(folder / f"{name}.pa")[1])
    saved = [f["saves_bytes"] for f in advice(folder / "worse.pa")["findings"] if f["advice"] == "reserve"]
    equal(sum(saved), peaks[0] - peaks[1], "bytes that reserving saves")
    equal(sorted(saved), [0, 1 << 22], "which is the buffer before the last")
    # Of smaller chunks the peak is when the last buffer has got that large: what was copied before is not counted.
    early = advice(folder / "worse.pa", "--where", "size < 300K and size > 2K")["findings"]
    equal(sorted(f["saves_bytes"] for f in early if f["advice"] == "reserve"), [0, 1 << 17], "the one that was copied then")


LIBRARY = r"""
#include <stdlib.h>
#include <string.h>
char *keep_all(size_t size);
char *keep_all(size_t size) { char *chunk = malloc(size); memset(chunk, 1, size); return chunk; }
"""
USER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char *keep_all(size_t size);
__attribute__((noinline)) static char *seen(size_t size) { return malloc(size); }
__attribute__((noinline)) static char *copied(const char *text) { return strdup(text); }
static char text[2001];
int main(void)
{
    static char *kept[600];
    long sum = 0;
    memset(text, 'x', 2000);
    FILE *file = fopen("/dev/null", "w");
    for (int i = 0; i < 200; i++) {
        kept[3 * i] = keep_all(3000);
        kept[3 * i + 1] = seen(1000);
        kept[3 * i + 2] = copied(text);
        sum += kept[3 * i][7] + (kept[3 * i + 1][5] = 1) + kept[3 * i + 2][3];
        fputs(text, file);
    }
    for (int i = 0; i < 600; i++) free(kept[i]);
    fclose(file);
    return sum == 0;
}
"""


def other_code(folder):
    """Of chunks that a library which is not instrumented allocates, nothing is said that takes to have seen what it does."""
    (folder / "library.c").write_text(LIBRARY)
    (folder / "user.c").write_text(USER)
    for stripped in (False, True):
        subprocess.run(["cc", "-O1", "-g", "-fPIC", "-shared", "-o", folder / "liblibrary.so", folder / "library.c"], check=True)
        subprocess.run([COMPILER, "-O1", "-g", "-o", folder / "user", folder / "user.c", f"-L{folder}", "-llibrary",
                        f"-Wl,-rpath,{folder}"] + ["-s"] * stripped, check=True)
        tool("run", "-o", folder / "user.pa", "--", folder / "user")
        modules = {os.path.basename(row["path"]): row["instrumented"] for row in
                   map(json.loads, tool("dump", "--json", "--nodes", folder / "user.pa")[0].splitlines()) if row["type"] == "module"}
        equal((modules["user"], modules["liblibrary.so"], modules["libc.so.6"]), (True, False, False), "what is instrumented")
        data = totals(folder / "user.pa")[2]
        sizes = {p["largest"]: p for p in data["points"]}
        equal((sizes[3000]["blind"], sizes[3000]["scores"]["usage"], "late_free" in sizes[3000]["inferences"]), (200, None, False), "the library's")
        equal((sizes[1000]["blind"], sizes[1000]["inferences"]["low_coverage"]["chunks"]), (0, 1), "the program's")
        check(sizes[4096]["blind"] == 1 and sizes[4096]["scores"]["usage"] is None, "libc's buffer")
        # Without names the wrapper of strdup is not known.
        equal((sizes[2001]["blind"], sizes[2001]["scores"]["usage"]), (200, None) if stripped else (0, 1), "a copy that libc made")
        # One of libc's is the buffer; nobody says that what is not seen was not used.
        known = {size: sizes[size]["accesses"] for size in (1000, 2001, 3000, 4096)}
        equal({size: (one["chunks"], one["blind"], one["unknown"], one["never_touched"]) for size, one in known.items()},
              {1000: (200, 0, 0, 0), 2001: (0, 200, 0, 0) if stripped else (200, 0, 0, 0), 3000: (0, 200, 0, 0), 4096: (0, 1, 0, 0)}, "chunks told")
        left_out = sum(p["blind"] for p in data["points"])
        check(left_out > (400 if stripped else 200), f"left out: {left_out}")
        equal((data["accesses"]["blind"], data["accesses"]["never_touched"]), (left_out, 0), "all that is left out")
        out = tool("report", folder / "user.pa")[0]
        check(f"  note: {left_out} other chunks are not in this: code that is not instrumented allocated them\n" in out, out)
        check("\nNever touched: 0 B in 0 chunks\n" in out, out)
        out, said = tool("flame", "--metric", "wasted", folder / "user.pa")
        equal(sum(int(line.split()[-1]) for line in out.splitlines()), 200 * 1000, "bytes that are wasted: they are written and not read")
        check(f"code that is not instrumented allocated {left_out} chunks, which are not in this" in said, said)
        for finding in advice(folder / "user.pa")["findings"]:
            if finding["advice"] not in ("free", "reserve", "hoist", "pool"):
                equal([p["blind"] for p in finding["points"]], [0], finding["sentence"])
        (folder / "user.pa").unlink()


def words(folder):
    """What is printed, and what is wrong on the command line."""
    make("ended", folder / "t.pa", 3000, 1, "accesses")
    out, _ = tool("advise", "--top", 3, folder / "t.pa")
    check("how sure: " in out and "\n  #3  " in out and "\n  #4  " not in out, out)
    make("ended", folder / "sure.pa", 3000, 1, "accesses", "size=48")
    value = {"rank": lambda f: 0, "bytes": lambda f: f["saves_bytes"], "calls": lambda f: f["saves_calls"], "time": lambda f: f["saves_ns"],
             "sure": lambda f: ("low", "medium", "high").index(f["sure"])}
    for path, more in ((folder / "t.pa", ()), (folder / "sure.pa", ("--coverage", "1", "--idle", "0", "--idle-least", "0"))):
        for sort in value:
            findings = advice(path, "--sort", sort, *more)["findings"]
            tier = lambda f: not is_worth(f) and (1 if f["advice"] == "unshare" else 2)
            order = [(value[sort](f), -tier(f), f["rank"]) for f in findings]
            equal(order, sorted(order, reverse=True), f"sorted by {sort}, equal ones by rank")
    check(len({f["sure"] for f in findings}) > 1, "some are surer than others")
    said = tool("advise", "--by", "function", folder / "t.pa", status=2)[1]
    check("--by" in said, said)
    said = tool("advise", "--sort", "colour", folder / "t.pa", status=2)[1]
    equal(said, "profalloc advise: --sort takes rank, bytes, calls, time or sure, not 'colour'\n", "what is wrong")
    check("usage: profalloc advise" in tool("advise", "--help")[0], "help")
    tool("advise", folder / "none.pa", status=2)
    make("ended", folder / "empty.pa", 0, 1)
    check("Nothing to change was found" in tool("advise", folder / "empty.pa")[0], "nothing to advise")
    make("ended", folder / "one.pa", 1, 1, "accesses")
    for finding in advice(folder / "one.pa")["findings"]:
        equal(finding["sure"], "low", "of one chunk nothing is sure")


READER = r"""
long sum_up(const unsigned char *bytes, int count);
long sum_up(const unsigned char *bytes, int count) { long sum = 0; while (count-- > 0) sum += *bytes++; return sum; }
"""
READ_BY = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
long sum_up(const unsigned char *bytes, int count);
__attribute__((noinline)) static unsigned char *written(void) { unsigned char *p = malloc(20000); memset(p, 1, 20000); return p; }
__attribute__((noinline)) static unsigned char *parts(void) { unsigned char *p = malloc(20000); p[0] = 1; return p; }
__attribute__((noinline)) static unsigned char *never(void) { return malloc(20000); }
__attribute__((noinline)) static char *number(void) { char *p = malloc(20000); memset(p, '7', 9); p[9] = 0; return p; }
int main(void)
{
    unsigned char *chunks[600];
    long sum = 0;
    for (int i = 0; i < 200; i++) { chunks[3 * i] = written(); chunks[3 * i + 1] = parts(); chunks[3 * i + 2] = never(); sum += chunks[3 * i + 1][0]; }
    for (int i = 0; i < 200; i++) { char *text = number(); sum += strtol(text, NULL, 10); free(text); }
    for (int i = 0; i < 600; i++) { sum += sum_up(chunks[i], 20000); free(chunks[i]); }
    return sum == 0;
}
"""


def read_elsewhere(folder):
    """What other code does with chunks is not seen, and it is said that it may have done something."""
    (folder / "reader.c").write_text(READER)
    (folder / "main.c").write_text(READ_BY)
    for other, whole in (("cc", False), (COMPILER, True)):
        subprocess.run([other, "-O1", "-g", "-fPIC", "-shared", "-o", folder / "libreader.so", folder / "reader.c"], check=True)
        subprocess.run([COMPILER, "-O1", "-g", "-o", folder / "main", folder / "main.c", f"-L{folder}", "-lreader", f"-Wl,-rpath,{folder}"], check=True)
        tool("run", "-o", folder / "main.pa", "--", folder / "main")
        ours = {(f["points"][0]["stack"][0]["function"], f["advice"]): (f["sure"], f["unsure"]) for f in advice(folder / "main.pa")["findings"]}
        equal(ours[("number", "remove")], ("medium", READ), "libc has read it")
        if whole:
            equal({key for key in ours if key[1] in ("remove", "shrink")}, {("number", "remove")}, "the library is seen to read the others")
        else:
            equal((ours[("written", "remove")], ours[("parts", "shrink")], ours[("never", "remove")]),
                  (("medium", READ), ("medium", TOUCHED), ("medium", TOUCHED)), "the library has read them")
            check(f"; how sure: medium ({READ})\n" in tool("advise", folder / "main.pa")[0], "it is said")
            alone = [f["advice"] for f in advice(folder / "main.pa", "--where", "at_function = never")["findings"]]
            check("remove" in alone, f"asked for alone, it is still seen that they were never touched: {alone}")
        (folder / "main.pa").unlink()


support.main(kept_promises=kept_promises, pools=pools, other_code=other_code, worth=worth, apart=apart, words=words,
             read_elsewhere=read_elsewhere, phases=phases, kept=kept, alternatives=alternatives, copied=copied)
