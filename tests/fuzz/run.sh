#!/bin/bash
# Builds the fuzz target of the reader with clang and runs it on the corpus for a while.
#   run.sh [SECONDS] [FOLDER-FOR-FINDINGS]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${PROFALLOC_BUILD_DIR:-$root/build}
seconds=${1:-20}
work=${2:-$(mktemp -d)}
[[ -n ${2-} ]] || trap 'rm -rf "$work"' EXIT

command -v clang >/dev/null || { echo "clang is missing: install the package clang"; exit 1; }
sources=()
for name in tool blocks livetable trace meta merge missing rows tally tracefile seal symbols debuginfod stacks symbolblock peak together collect json \
    report_json report_text; do
    sources+=("$root/analyze/$name.c")
done
mkdir -p "$build/tests/fuzz" "$work/corpus"
rm -f "$build/tests/fuzz/fuzz_reader"
clang -g -O1 -std=gnu11 -D_GNU_SOURCE -I"$root" -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    "$root/tests/fuzz/fuzz_reader.c" "${sources[@]}" "$root/export/format/batch.c" -lzstd -lm -o "$build/tests/fuzz/fuzz_reader"
cd "$work"
exec_options=(-max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 -max_len=65536 -print_final_stats=1)
"$root/scripts/unscattered.sh" "$build/tests/fuzz/fuzz_reader" "${exec_options[@]}" "$work/corpus" "$root/tests/fuzz/corpus" 2>&1 | tail -30
