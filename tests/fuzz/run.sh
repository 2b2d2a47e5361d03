#!/bin/bash
# Builds a fuzz target with clang and runs it on its corpus for a while.
#   run.sh fuzz_reader|fuzz_texts [SECONDS] [FOLDER]
# The folder gets the inputs that it made up and what they found; without one, findings stay in the build's.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${PROFALLOC_BUILD_DIR:-$root/build}
target=${1:?which target?}
seconds=${2:-20}
work=${3:-$(mktemp -d)}
findings=${3:-$build/tests/fuzz}/findings
[[ -n ${3-} ]] || trap 'rm -rf "$work"' EXIT

command -v clang >/dev/null || { echo "clang is missing: install the package clang"; exit 1; }
# All of the tool but its main, debug information, which the target fakes, and what starts processes.
mapfile -t sources < <(find "$root/analyze" -name '*.c' ! -name main.c ! -name options.c ! -name 'dwarf*.c' ! -name elfsymbols.c ! -name check.c \
    ! -name run.c ! -name run_child.c | sort)
mkdir -p "$build/tests/fuzz" "$work/corpus" "$findings"
work=$(cd "$work" && pwd)
findings=$(cd "$findings" && pwd)
rm -f "$build/tests/fuzz/$target"
corpus=$root/tests/fuzz/corpus
words=()
if [[ $target == fuzz_texts ]]; then
    corpus=$root/tests/fuzz/corpus_texts
    words=(-dict="$root/tests/fuzz/texts.dict")
fi
clang -g -O1 -std=gnu11 -D_GNU_SOURCE -DPFA_VERSION=\"fuzzed\" -DPFA_FUZZ_TRACE="\"$root/tests/fuzz/corpus/ended-60-sampled-shift-plain\"" -I"$root" -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    "$root/tests/fuzz/$target.c" "${sources[@]}" "$root/export/format/batch.c" "$root/export/format/batch_read.c" -lzstd -lm -o "$build/tests/fuzz/$target"
cd "$work"
# What the commands say of inputs is not shown (-close_fd_mask); sanitizers are heard all the same.
exec_options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=3000 -max_len=65536 -print_final_stats=1 -close_fd_mask=2
    -artifact_prefix="$findings/")
status=0
"$root/scripts/unscattered.sh" "$build/tests/fuzz/$target" "${exec_options[@]}" ${words[@]+"${words[@]}"} "$work/corpus" "$corpus" 2>&1 |
    tail -30 || status=$?
if ((status != 0)); then
    echo "what was found is in $findings:"
    ls -t "$findings"
fi
exit "$status"
