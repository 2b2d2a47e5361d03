"""The two real programs: sqlite3 over a generated script, python3 over bench/real/objects.py."""
import dataclasses
import os
import pathlib
import random

from .process import BenchFailure

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

BULK_INSERT = f"""
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {BULK})
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


def _sql_statements():
    """Many small statements, as programs send them, so that the parser and the planner allocate too; then bulk work."""
    chance = random.Random(20231115)
    cities = [f"city{n}" for n in range(40)]
    yield SCHEMA + "BEGIN;\n"
    for number in range(1, CUSTOMERS + 1):
        note = "x" * chance.randrange(10, 300)
        yield (f"INSERT INTO customer VALUES({number},'name{chance.randrange(10**9)}','{chance.choice(cities)}',"
               f"'{note}');\n")
    for number in range(1, ORDERS + 1):
        memo = f"memo {number} " * chance.randrange(1, 12)
        yield (f"INSERT INTO purchase VALUES({number},{chance.randrange(1, CUSTOMERS + 1)},"
               f"'item{chance.randrange(500)}',{chance.randrange(10000)},'{memo}');\n")
    yield "COMMIT;\n" + BULK_INSERT + QUERIES


def real_programs(bench_dir, work_dir):
    for program, package in ((SQLITE, "sqlite3"), (PYTHON, "python3")):
        if not program.exists():
            raise BenchFailure(f"{program} is missing: install {package}")
    script = work_dir / "sqlite.sql"
    with open(script, "w", encoding="ascii") as file:
        file.writelines(_sql_statements())
    settings = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return [
        RealProgram("sqlite3", "inserts, indices, joins and updates in a database in memory",
                    [SQLITE, ":memory:"], {}, script),
        RealProgram("python3", "objects, dictionaries, json, re with PYTHONMALLOC=malloc",
                    [PYTHON, "-S", bench_dir / "real" / "objects.py"], settings),
    ]
