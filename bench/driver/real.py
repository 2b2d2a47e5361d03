"""The real programs: sqlite3 over a generated script, python3 over bench/real/objects.py; and for bench/run capture
LevelDB, redis-server and a C++ program besides."""
import dataclasses
import os
import pathlib
import random
import shutil
import socket

from .process import BenchFailure, Helper, parse_fields
from .profilers import Missing, need

SQLITE = pathlib.Path("/usr/bin/sqlite3")
PYTHON = pathlib.Path("/usr/bin/python3")

CUSTOMERS = 3000
ORDERS = 20000
BULK = 200000

SCHEMA = """
PRAGMA temp_store=MEMORY;
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, note TEXT);
CREATE TABLE purchase(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer(id), item TEXT, amount INTEGER,
    memo TEXT);
CREATE TABLE reading(at INTEGER PRIMARY KEY, sensor INTEGER, value REAL, label TEXT);
CREATE INDEX purchase_customer ON purchase(customer, amount);
CREATE INDEX purchase_item ON purchase(item);
"""

BULK_INSERT = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {bulk})
INSERT INTO reading
    SELECT i, i * 7919 % 503, (i * 104729 % 10007) / 7.0, 'a label of some length, number ' || (i * 31 % 977) FROM n;
CREATE INDEX reading_sensor ON reading(sensor, value);
"""

QUERIES = """
SELECT c.city, count(*), sum(p.amount) FROM customer c JOIN purchase p ON p.customer = c.id
    GROUP BY c.city ORDER BY c.city;
SELECT item, group_concat(amount) FROM (SELECT item, amount FROM purchase ORDER BY item, id LIMIT 2000)
    GROUP BY item ORDER BY item;
SELECT sensor, count(*), round(avg(value), 6), min(label), max(label) FROM reading
    GROUP BY sensor ORDER BY sensor LIMIT 50;
SELECT label, count(DISTINCT sensor) AS sensors FROM reading GROUP BY label ORDER BY sensors DESC, label LIMIT 20;
SELECT a.name, b.name FROM customer a JOIN customer b
    ON a.city = b.city AND a.id < b.id AND a.id % 71 = 0 AND b.id % 67 = 0 ORDER BY 1, 2;
UPDATE purchase SET memo = memo || ' checked ' || amount WHERE amount % 5 = 0;
DELETE FROM reading WHERE sensor % 4 = 1;
SELECT count(*), sum(length(memo)) FROM purchase;
SELECT count(*), round(sum(value), 3) FROM reading;
PRAGMA integrity_check;
"""


@dataclasses.dataclass
class RealProgram:
    name: str
    what: str
    command: list
    environment: dict
    stdin: pathlib.Path = os.devnull


def _sql_statements(scale):
    """Many small statements, as programs send them, so that the parser and the planner allocate too; then bulk work."""
    chance = random.Random(20231115)
    cities = [f"city{n}" for n in range(40)]
    yield SCHEMA + "BEGIN;\n"
    for number in range(1, CUSTOMERS + 1):
        note = "x" * chance.randrange(10, 300)
        yield (f"INSERT INTO customer VALUES({number},'name{chance.randrange(10**9)}','{chance.choice(cities)}',"
               f"'{note}');\n")
    for number in range(1, int(ORDERS * scale) + 1):
        memo = f"memo {number} " * chance.randrange(1, 12)
        yield (f"INSERT INTO purchase VALUES({number},{chance.randrange(1, CUSTOMERS + 1)},"
               f"'item{chance.randrange(500)}',{chance.randrange(10000)},'{memo}');\n")
    yield "COMMIT;\n" + BULK_INSERT.format(bulk=int(BULK * scale)) + QUERIES


def real_programs(bench_dir, work_dir, scale=1.0):
    for program, package in ((SQLITE, "sqlite3"), (PYTHON, "python3")):
        if not program.exists():
            raise BenchFailure(f"{program} is missing: install {package}")
    script = work_dir / f"sqlite-{scale:g}.sql"  # another bench may be running
    with open(script, "w", encoding="ascii") as file:
        file.writelines(_sql_statements(scale))
    settings = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return [
        RealProgram("sqlite3", "inserts, indices, joins and updates in a database in memory",
                    [SQLITE, ":memory:"], {}, script),
        RealProgram("python3", "objects, dictionaries, json, re with PYTHONMALLOC=malloc",
                    [PYTHON, "-S", bench_dir / "real" / "objects.py", f"{scale:g}"], settings),
    ]


class Captured:
    """A program to be recorded. Each run has a folder of its own, and the same output under any allocator."""
    what, settings, stdin = "", {}, os.devnull

    def command(self, folder):
        raise NotImplementedError

    def helpers(self):
        return []

    def seconds(self, outcome):
        return outcome.wall

    def checksum(self, outcome):
        return outcome.stdout


class _Fixed(Captured):
    def __init__(self, program):
        self.name, self.what, self.settings, self.stdin = (program.name, program.what, program.environment,
                                                           program.stdin)
        self._command = program.command

    def command(self, folder):
        del folder
        return self._command


class _Containers(Captured):
    name, what = "containers", "strings, maps, shared pointers and closures of C++"

    def __init__(self, build_dir, scale):
        self._command = [build_dir / "bench" / "containers", str(max(1, int(200 * scale)))]
        if not self._command[0].exists():
            raise BenchFailure(f"{self._command[0]} is missing: build the project first")

    def command(self, folder):
        del folder
        return self._command


class _LevelDb(Captured):
    name, what = "leveldb", "fillrandom and readrandom, as many of 16 + 100 bytes each"

    def __init__(self, build_dir, scale):
        self._program, self._entries = build_dir / "bench" / "leveldb_bench", str(int(300000 * scale))
        need(self._program, "libleveldb-dev, and configure and build again")

    def command(self, folder):
        return [self._program, folder / "db", self._entries]


class _Redis(Captured):
    name, what = "redis", "redis-server, driven by redis-benchmark over loopback; only the server is recorded"

    def __init__(self, bench_dir, scale):
        self._client, self._requests = bench_dir / "real" / "redis_client.py", str(int(150000 * scale))
        self._server = shutil.which("redis-server")
        need(self._server, "redis-server")
        need(shutil.which("redis-benchmark"), "redis-tools")
        self._port = None

    def command(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        return [self._server, "--bind", "127.0.0.1", "--port", self._port, "--dir", folder, "--save", "",
                "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning"]

    def helpers(self):
        return [Helper([PYTHON, self._client, self._port, self._requests], counts=False)]

    def seconds(self, outcome):
        fields = parse_fields(outcome.helper_stdout)
        return outcome.running_between(float(fields["began"]), float(fields["ended"]))

    def checksum(self, outcome):
        return parse_fields(outcome.helper_stdout)["requests"]


def captured_programs(bench_dir, build_dir, scale):
    """By name; in place of one that is not installed, the Missing that says so."""
    fixed = {program.name: program for program in real_programs(bench_dir, build_dir / "bench", scale)}
    made = {"leveldb": lambda: _LevelDb(build_dir, scale), "redis": lambda: _Redis(bench_dir, scale),
            "python3": lambda: _Fixed(fixed["python3"]), "containers": lambda: _Containers(build_dir, scale),
            "sqlite3": lambda: _Fixed(fixed["sqlite3"])}
    found = {}
    for name, make in made.items():
        try:
            found[name] = make()
        except Missing as missing:
            found[name] = missing
    return found
