#!/bin/bash
# mimalloc's own tests on libprofalloc: see mimalloc_tests.py, and mimalloc_tests.list for what is expected of each.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

begin
need gcc gcc
/usr/bin/python3 "$real_dir/mimalloc_tests.py" "$scratch"
