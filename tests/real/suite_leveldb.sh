#!/bin/bash
# LevelDB's own tests on builds by profalloc-cc with everything recorded: see suite.py.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

begin
[ -x "$PROFALLOC_BUILD_DIR/profalloc-cc" ] || die "profalloc-cc is not in $PROFALLOC_BUILD_DIR: build the project first"
need clang clang
need cmake cmake
[ -e /usr/include/gmock/gmock.h ] || die "gmock/gmock.h not found: install the Debian package libgmock-dev"
[ -e /usr/include/benchmark/benchmark.h ] || die "benchmark/benchmark.h not found: install the Debian package libbenchmark-dev"
/usr/bin/python3 "$real_dir/suite.py" leveldb "$scratch"
