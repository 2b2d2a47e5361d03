#!/usr/bin/env python3
"""What Memoro and EMAD say of SQLite, protobuf and LevelDB, and of a program with accesses, is the same with whole times and with
times as the default options cut them: of one and the same run, recorded with whole times and cut afterwards."""
import json
import os
import subprocess
from pathlib import Path

import capture
import support
from capture import check, tool

BUILT = Path(os.environ["PROFALLOC_BUILD_DIR"])
MAKE_CUT = capture.program("analyze/make_cut")
SOURCES = Path(os.environ["PROFALLOC_SOURCE_DIR"])
SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<20000)
    insert into t select i, 'text '||i||hex(i*7919%1000), i*1.5 from n;
create index tb on t(b);
select count(*), sum(length(b)) from t where b like '%7%';
update t set b = upper(b)||'x' where a % 3 = 0;
select b, count(*) from t group by substr(b,1,7) order by 2 desc limit 5;
delete from t where a % 5 = 0;
select json_group_array(b) is not null from t where a < 3000;
"""


def close(one, other, part, what, least=1e-9):
    if one is None or other is None:
        check(one is None and other is None, f"{what}: {one} and {other}")
        return
    check(abs(one - other) <= part * max(abs(one), abs(other)) + least, f"{what}: {one} with whole times, {other} with cut ones")


def default_step():
    options = json.loads(tool("options", "--json")[0])
    options = options["options"] if isinstance(options, dict) else options
    return next(option["default"] for option in options if option["name"] == "time_step")


def compare_memoro(whole, cut, what):
    reports = [json.loads(tool("report", "--json", "--top", "100000", path)[0]) for path in (whole, cut)]
    for name in ("lifetime", "usage", "useful_lifetime"):
        one, other = (data["scores"][name] for data in reports)
        for key in ("mean", "geometric_mean"):
            close(one[key], other[key], 0.05, f"{what}: {key} of {name}", 0.005)
    points = [{point["id"]: point for point in data["points"]} for data in reports]
    check(len(points[0]) > 3, f"{what}: it has points")
    beyond = []
    for key, point in points[0].items():
        for name, score in (point.get("scores") or {}).items():
            other = points[1][key]["scores"][name]
            if score is not None and other is not None and abs(score - other) > 0.05:
                beyond.append((name, score, other, point["allocations"]))
    # Groups of chunks that came and went within one step cannot be told from one chunk at a time. How many do depends on how
    # busy the machine is: of few points one may be concerned.
    check(len(beyond) <= max(1, len(points[0]) / 50), f"{what}: {len(beyond)} scores of {len(points[0])} points are off: {beyond[:5]}")
    print(f"{what}: {len(points[0])} points, {len(beyond)} scores off by more than 0.05")


def compare_excess(whole, cut, what):
    one, other = (json.loads(tool("excess", "--json", path, status=None)[0]) for path in (whole, cut))
    for key in ("excessive", "verdict", "object_count", "suspects", "chunks", "never_freed"):
        check(one[key] == other[key], f"{what}: {key}: {one[key]} with whole times, {other[key]} with cut ones")
    close(one["suspects_ns"], other["suspects_ns"], 0.05, f"{what}: time of suspects")
    if one.get("kmeans"):
        for left, right in zip(one["kmeans"]["clusters"], other["kmeans"]["clusters"]):
            # One that lies between two clusters may be in the other.
            check(abs(left["objects"] - right["objects"]) <= 1 + left["objects"] / 100, f"{what}: objects of a cluster: {left} and {right}")
            close(left["lifetime_ns"], right["lifetime_ns"], 0.05, f"{what}: lifetime of a cluster")


def compare(folder, what, command, **options):
    capture.capture(folder, command, "time_step:1", **options)
    whole = max(folder.glob("*.pa"), key=lambda path: path.stat().st_size)
    cut = folder / "cut.pa"
    subprocess.run([MAKE_CUT, whole, cut, str(default_step())], check=True)
    check("complete" in tool("check", cut)[0], "the cut trace is whole")
    check(cut.stat().st_size < whole.stat().st_size, "and smaller")
    compare_memoro(whole, cut, what)
    compare_excess(whole, cut, what)


def sqlite(folder):
    script = folder / "script.sql"
    script.write_text(SQL)
    with open(script) as given:
        compare(folder, "SQLite", ["sqlite3", ":memory:"], stdin=given)


def protobuf(folder):
    fields = "\n".join(f"  repeated M{i % 50} field{i} = {i + 1};" for i in range(100))
    messages = "\n".join(f"message M{i} {{\n{fields}\n}}" for i in range(50))
    (folder / "many.proto").write_text(f'syntax = "proto3";\npackage cut;\n{messages}\n')
    out = folder / "out"
    out.mkdir()
    compare(folder, "protobuf", ["protoc", f"--proto_path={folder}", f"--cpp_out={out}", folder / "many.proto"])


def leveldb(folder):
    bench = BUILT / "bench/leveldb_bench"
    check(bench.exists(), f"{bench} is there: configure with -DPROFALLOC_BENCH=ON, as ./check does")
    compare(folder, "LevelDB", [bench, folder / "db", 20000])


def accesses(folder):
    """A program that is built with profalloc-cc."""
    program = folder / "places"
    subprocess.run([BUILT / "profalloc-cc", "-g", "-O1", SOURCES / "tests/exact/places.c", "-o", program, "-pthread"], check=True)
    compare(folder, "accesses", [program, folder / "notes", 2, 8000, "exit"])


support.main(sqlite=sqlite, protobuf=protobuf, leveldb=leveldb, accesses=accesses)
