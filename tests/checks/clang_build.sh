#!/bin/bash
# The library also builds with clang, and the checks of the product hold for that build too. (Clang's build of the tool is that with
# AddressSanitizer, in ./check.)
set -euo pipefail

source_dir=${PROFALLOC_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
mimalloc_dir=${PROFALLOC_MIMALLOC_DIR:-$source_dir/third_party/mimalloc}
command -v clang >/dev/null || { echo "clang is missing: install the package clang"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    cmake -G Ninja -S "$source_dir" -B "$work" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPROFALLOC_TESTS=ON -DPROFALLOC_BENCH=OFF \
        -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DPROFALLOC_MIMALLOC_DIR="$mimalloc_dir" &&
        cmake --build "$work" --parallel 2 --target profalloc_shared profalloc_static golden_probe
} >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

export PROFALLOC_SOURCE_DIR=$source_dir PROFALLOC_BUILD_DIR=$work PROFALLOC_LIB=$work/libprofalloc.so
for check in symbols tls golden; do
    echo "--- $check"
    python3 "$source_dir/tests/checks/$check.py"
done
echo "--- preloaded"
[[ $(LD_PRELOAD=$PROFALLOC_LIB PROFALLOC_CONF=prof:true,sample:1 bash -c 'echo $(seq 1000 | sort -n | tail -1)') == 1000 ]]
