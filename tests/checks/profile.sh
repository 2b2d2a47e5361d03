#!/bin/bash
# ./profile: builds nothing when nothing is to do, keeps the program's status and output, prints the report on stderr.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
cd "$work"
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    cat "$work/err" 2>/dev/null || true
    exit 1
}

"$root/profile" true 2>/dev/null || fail "profile true: status $?"
# Every step of a build is a line of Ninja's log, but for the look whether there are new files; the time of CMake's last run is
# that of its cache.
build_state() {
    grep -v 'cmake.verify_globs' "$root/build/.ninja_log"
    stat -c '%n %y %s' "$root/build/CMakeCache.txt"
}
before=$(build_state)
"$root/profile" bash -c 'echo $(echo started)' >"$work/out" 2>"$work/err" || fail "profile bash: status $?"
[[ $(<"$work/out") == started ]] || fail "the program did not run"
[[ $(build_state) == "$before" ]] || fail "profile builds again what it has built"
grep -q 'Allocation points by bytes allocated' "$work/err" || fail "no report on stderr"
ls bash.*.pa >/dev/null || fail "no profile in the working directory"

status=0
"$root/profile" bash -c 'echo out; exit 7' >"$work/out" 2>"$work/err" || status=$?
[[ $status -eq 7 ]] || fail "status $status instead of the program's 7"
[[ $(<"$work/out") == out ]] || fail "the program's output is not alone on stdout"

status=0
"$root/profile" >"$work/out" 2>"$work/err" || status=$?
[[ $status -eq 2 && ! -s $work/out ]] || fail "without a program: status $status, or usage on stdout"
"$root/profile" --help | grep -q '^usage: ' || fail "--help"

PROFALLOC_CONF=summary:true "$root/profile" true 2>"$work/err"
grep -q '^profalloc: true\[' "$work/err" || fail "options of the caller are not heard"
