#!/usr/bin/env python3
"""Allocations, frees and bytes of programs that do the same in every run, as Valgrind counts them. `profalloc run` is used,
since it sees what is freed after the library's own end, as Valgrind does.

What would differ for other reasons than the counting is made equal: both run the program by its whole path, with equally
many variables in its environment (the C library's setenv copies the table of them), in the same folder. Threads are not in
these programs: each thread's vector of modules has 16 bytes for each that has thread-local data, and the library is one more.
C++'s pool for exceptions without memory (72704 bytes on most machines) is counted by both and given back by none."""
import os
import re
import shutil
import subprocess

import capture
import support
from capture import check, equal

FOUND = r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks\s+.*?total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes"


def need(name, package):
    path = shutil.which(name)
    check(path is not None, f"{name} is missing: install the package {package}")
    return path


VALGRIND = [need("valgrind", "valgrind"), "--tool=memcheck", "--run-libc-freeres=no", "--run-cxx-freeres=no"]


def run_ours(folder, command, env, **options):
    for path in capture.traces(folder):
        path.unlink()
    return support.tool("run", "--", *command, cwd=folder, env=env, **options)


def environments(folder):
    """One for Valgrind and one for us, with dummies so that the program sees equally many variables."""
    base = {k: v for k, v in os.environ.items() if k in ("PATH", "PROFALLOC_LIB")}
    base.update(HOME=str(folder), LC_ALL="C", GIT_CONFIG_NOSYSTEM="1", GIT_PAGER="cat")
    theirs, ours = dict(base), dict(base)
    show = [need("env", "coreutils"), "-0"]
    # -0 and not lines: values may have several.
    count_theirs = subprocess.run([*VALGRIND, "-q", *show], env=theirs, capture_output=True, check=True).stdout.count(b"\0")
    count_ours = run_ours(folder, show, ours)[0].count("\0")
    shorter = ours if count_ours < count_theirs else theirs
    for i in range(abs(count_ours - count_theirs)):
        shorter[f"DUMMY_{i}"] = ""
    return theirs, ours


def compare(folder, *command):
    theirs, ours = environments(folder)
    done = subprocess.run([*VALGRIND, *map(str, command)], cwd=folder, env=theirs, capture_output=True, text=True, check=True)
    match = re.search(FOUND, done.stderr, re.S)
    check(match is not None, f"Valgrind printed no figures:\n{done.stderr}")
    live_bytes, live, allocations, frees, size = (int(text.replace(",", "")) for text in match.groups())
    run_ours(folder, command, ours)
    data = capture.check_trace(capture.trace(folder))
    print(f"{command[0]}: {allocations} allocations, {frees} frees, {size} bytes")
    equal(data["totals"], {"allocations": allocations, "frees": frees, "bytes_allocated": size, "bytes_freed": size - live_bytes},
          f"totals of {command}")
    equal(data["live"], {"chunks": live, "bytes": live_bytes}, f"live of {command}")


def c_program(folder):
    compare(folder, capture.program("oracle/chunks_c"))


def cpp_program(folder):
    compare(folder, capture.program("oracle/chunks_cpp"))


def sqlite(folder):
    script = """create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000)
        insert into t select x, hex(x * 7919) from c; create index i on t(b); select count(*), max(b) from t where b like '%33%';
        update t set b = b || a where a % 3 = 0; delete from t where a % 7 = 0; select sum(length(b)) from t;"""
    compare(folder, need("sqlite3", "sqlite3"), ":memory:", script)


def git(folder):
    repository = folder / "repository"
    repository.mkdir()
    program = need("git", "git")
    for i in range(50):
        (repository / f"file{i}").write_text(f"line {i}\n" * i)
    env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "gc.auto=0"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "all"]):
        subprocess.run([program, *command], cwd=repository, env=env, check=True)
    alone = [program, "-C", repository, "-c", "pack.threads=1", "-c", "core.preloadIndex=false"]
    compare(folder, *alone, "log", "--stat")
    compare(folder, *alone, "rev-list", "--objects", "--all")


support.main(c_program=c_program, cpp_program=cpp_program, sqlite=sqlite, git=git)
