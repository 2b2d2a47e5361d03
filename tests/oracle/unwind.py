#!/usr/bin/env python3
"""The unwinder against libunwind, inside programs of others.

usage: unwind.py SHIM

Runs programs with the shim (tests/oracle/unwind_shim.c) preloaded, which compares every new stack at their calls of malloc
and at a timer's signals, and adds up what it found. Fails if too few places were compared, if a stack differs that
nothing explains, or if more than a few walks stopped early.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

PLACES_NEEDED = 10000
STOPPED_ALLOWED = 0.001  # of the places: code without rules that a signal happened to hit

PYTHON = """
import functools, json, random, re, sqlite3, threading, xml.dom.minidom
def deep(n): return json.dumps([n, {'a': n}]) if n == 0 else deep(n - 1)
deep(60)
re.sub(r'(\\w+)\\s(\\d+)', lambda m: m.group(2) * 3, 'abc 123 def 456 ' * 200)
base = sqlite3.connect(':memory:')
base.create_function('thrice', 1, lambda x: str(x) * 3)
base.execute('create table t(a, b)')
base.executemany('insert into t values(?, ?)', ((i, 'x' * (i % 50)) for i in range(300)))
list(base.execute('select thrice(a), count(*) from t group by b order by 1'))
sorted(range(1000), key=functools.cmp_to_key(lambda a, b: (str(a) > str(b)) - 1))
threads = [threading.Thread(target=deep, args=(100,)) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
xml.dom.minidom.parseString('<a>' + '<b c="d">e</b>' * 50 + '</a>').toprettyxml()
"""
PERL = """my %h; for my $i (1..100000) { $h{$i % 5000} .= sprintf('%d', $i); }
my $s = join(',', sort { $a <=> $b } map { $_ * 7 % 13 } 1..2000); $s =~ s/1(2+)/$1/g; print length($s), "\\n";"""
NODE = """let a = []; for (let i = 0; i < 20000; i++) a.push({x: i, s: 'a' + i});
a.sort((p, q) => q.x - p.x); JSON.stringify(a); require('zlib').gzipSync(Buffer.alloc(100000));"""
SQL = pathlib.Path(__file__).resolve().parents[1] / "real" / "sqlite_work.sql"

# What, command, environment, standard input.
RUNS = [
    ("python", ["/usr/bin/python3", "-c", PYTHON], {"PYTHONMALLOC": "malloc"}, None),
    ("python, signals", ["/usr/bin/python3", "-c", PYTHON], {"PFA_ORACLE_SIGNALS": "200"}, None),
    ("sqlite, signals", ["sqlite3", ":memory:"], {"PFA_ORACLE_SIGNALS": "250"}, SQL),
    ("perl, signals", ["perl", "-e", PERL], {"PFA_ORACLE_SIGNALS": "250"}, None),
    ("node", ["node", "-e", NODE], {}, None),
    ("sort", ["sort", "-R", str(SQL)], {}, None),
]


def run(shim, command, settings, stdin_path, out):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "LD_PRELOAD": shim, "PFA_ORACLE_OUT": str(out), **settings}
    with open(stdin_path or os.devnull, "rb") as stdin:
        done = subprocess.run(command, env=environment, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=600, check=False)
    print(done.stderr.decode(errors="replace"), end="")
    return done.returncode


def totals(out):
    sums = {}
    for line in out.read_text().splitlines():
        for field in line.split():
            key, value = field.split("=")
            sums[key] = sums.get(key, 0) + int(value)
    return sums


def main():
    shim = sys.argv[1]
    everything, failures = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for what, command, settings, stdin_path in RUNS:
            out = pathlib.Path(folder) / "counts"
            out.unlink(missing_ok=True)
            status = run(shim, command, settings, stdin_path, out)
            if status != 0 or not out.exists():
                failures.append(f"{what}: exit status {status}, {'counts' if out.exists() else 'no counts'}")
                continue
            sums = totals(out)
            print(f"{what}: " + " ".join(f"{key}={value}" for key, value in sums.items()), flush=True)
            everything = {key: everything.get(key, 0) + value for key, value in sums.items()}
    print("all: " + " ".join(f"{key}={value}" for key, value in everything.items()))
    places = everything.get("places", 0)
    if places < PLACES_NEEDED:
        failures.append(f"only {places} places of {PLACES_NEEDED}")
    if everything.get("different", 0) > 0:
        failures.append(f"{everything['different']} stacks differ and nothing explains it")
    if everything.get("stopped", 0) > STOPPED_ALLOWED * places:
        failures.append(f"{everything['stopped']} walks stopped early")
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(bool(failures))


main()
