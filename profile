#!/bin/bash
# ./profile CMD...: installs what is missing, builds, runs CMD on libprofalloc with full profiling, summary on stderr.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=profile
source "$root/scripts/build.sh"

usage() {
    cat <<'END'
usage: ./profile CMD [ARGUMENT...]

Runs CMD with libprofalloc in place of malloc and every allocation recorded, and prints a summary on stderr when it
ends: allocations, frees, bytes, what was live at exit, the peak, by size class. Exits with the status of CMD.

The first call installs the missing Debian packages (section "build" of packages.txt; as root, or it says what to run),
fetches the source of mimalloc and builds into build/. Later calls start at once.

Environment:
  PROFALLOC_CONF   further options, "key:value,...", applied after prof:true,sample:1,summary:true
  LD_PRELOAD       kept, behind libprofalloc.so

Examples:
  ./profile ls -l
  PROFALLOC_CONF=sample:512K ./profile python3 script.py
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

library=$root/build/libprofalloc.so
if [[ $library == *[:[:space:]]* ]]; then
    say "cannot preload $library: LD_PRELOAD takes no path with a space or a colon. Move the folder."
    exit 1
fi
exec env LD_PRELOAD="$library${LD_PRELOAD:+:$LD_PRELOAD}" \
    PROFALLOC_CONF="prof:true,sample:1,summary:true${PROFALLOC_CONF:+,$PROFALLOC_CONF}" "$@"
