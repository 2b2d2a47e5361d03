#!/bin/bash
# python3 on libprofalloc, running parts of its own test suite. Single tests that fail under glibc too (as root, or in a
# container) are not held against the library: every test must end as it does in the reference.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

python=/usr/bin/python3
suites=(test_json test_re test_threading test_subprocess test_gc)

# python's own small-object allocator hides most requests. The full way does without it: every object is a chunk.
choose_allocator() {
    python_env=()
    [ "$way" != full ] || python_env=(PYTHONMALLOC=malloc)
}

# Under the limit of `under`, so that a hang ends with the stack of every thread in the log.
run_suites() {
    mkdir -p suite_tmp
    # One test lists the descriptors of a process and wants to know all of them: a trace has two. Others fail on a busy machine, also
    # with glibc: they give a child or a thread a second or two.
    under env "${python_env[@]}" "$python" -m test -v --timeout 1200 --tempdir "$PWD/suite_tmp" \
        --ignore test_pass_fds_redirected --ignore '*timeout*' --ignore '*BarrierTests*' \
        --junit-xml "$PWD/results.xml" "${suites[@]}" >suite.log 2>&1 || echo "suite status $?"
    "$python" "$real_dir/python_results.py" results.xml
}

run_script() {
    under env "${python_env[@]}" "$python" -X faulthandler - <<'PYTHON'
import collections, concurrent.futures, ctypes, decimal, hashlib, multiprocessing, pickle, sqlite3, sys, zlib

with open("/proc/self/maps") as maps:
    print("loaded" if "libprofalloc" in maps.read() else "not loaded", file=open("loaded.txt", "w"))

def digest(n):
    packed = zlib.compress(pickle.dumps([{"k": i, "t": "x" * (i % n)} for i in range(2000)]))
    return hashlib.sha256(packed).hexdigest()[:12]

with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print("threads", *pool.map(digest, range(1, 20)))
with multiprocessing.get_context("fork").Pool(3) as pool:
    print("forks", *pool.map(digest, range(20, 40)))
database = sqlite3.connect(":memory:")
database.execute("create table t (a, b)")
database.executemany("insert into t values (?, ?)", ((i, "r" * (i % 300)) for i in range(20000)))
print("sqlite", database.execute("select sum(length(b)), count(distinct b) from t").fetchone())
window = collections.deque(maxlen=500)
for i in range(100000):
    window.append(bytearray(i * 7919 % 5000))
print("window", sum(map(len, window)))
print("decimal", decimal.Context(prec=2000).sqrt(decimal.Decimal(2)).as_tuple().digits[-20:])
try:
    bytearray(sys.maxsize)
except MemoryError:
    print("MemoryError")
libc = ctypes.CDLL(None, use_errno=True)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
for i in range(10000):
    libc.free(libc.malloc(i))
sys.exit(5)
PYTHON
}

check_loaded() {
    local expected="loaded"
    [ "$way" != reference ] || expected="not loaded"
    [ "$(cat loaded.txt)" = "$expected" ] || echo "the library should be $expected, but is $(cat loaded.txt)"
}

work() {
    choose_allocator
    run_script || echo "exit $?"
    check_loaded
    run_suites
}

begin
need "$python" python3
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$python" -c 'import test.test_json, test.test_threading' 2>/dev/null ||
    die "python's test suite is missing: install the Debian package libpython$version-testsuite"
assert_interposed "$python" -c pass
compare_ways work
