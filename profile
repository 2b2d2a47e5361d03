#!/bin/bash
# ./profile CMD...: installs what is missing, builds, runs CMD under the profiler, prints the report on stderr.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=profile
source "$root/scripts/build.sh"

usage() {
    cat <<'END'
usage: ./profile CMD [ARGUMENT...]

Runs CMD with libprofalloc in place of malloc and every allocation recorded with its call stack, then prints a report on
standard error: what was allocated, freed and live at the end, the peak, the places in the code that allocate most.
The recording stays in the working directory (PROGRAM.PID.pa). Exits with the status of CMD.

The first call installs the missing Debian packages (section "build" of packages.txt; as root, or it says what to run),
fetches the source of mimalloc and builds into build/. Later calls start at once.

Environment:
  PROFALLOC_CONF   further options, "key:value,...": see `build/profalloc options`
  LD_PRELOAD       kept, behind libprofalloc.so

Examples:
  ./profile ls -l
  PROFALLOC_CONF=stack_depth:16 ./profile python3 script.py
END
}

case ${1-} in
    -h | --help) usage && exit 0 ;;
    --) shift ;;
    -*) say "unknown option $1" && usage >&2 && exit 2 ;;
esac
if [[ $# -eq 0 ]]; then
    usage >&2
    exit 2
fi

set_up build
if [[ ! -f $root/build/build.ninja ]]; then
    say "building, this once"
    configure release -DPROFALLOC_TESTS=OFF -DPROFALLOC_BENCH=OFF
fi
build build profalloc_shared profalloc_tool

tool=$root/build/profalloc
if [[ $tool == *[:[:space:]]* ]]; then
    say "cannot preload from $root/build: LD_PRELOAD takes no path with a space or a colon. Move the folder."
    exit 1
fi
profiles=$(mktemp)
trap 'rm -f "$profiles"' EXIT
status=0
"$tool" run --list "$profiles" -- "$@" || status=$?
if [[ -s $profiles ]]; then
    "$tool" report --top 5 "$(head -n 1 "$profiles")" >&2
fi
exit "$status"
