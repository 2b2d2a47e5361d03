#!/bin/bash
# glibc's own tests of malloc on libprofalloc: see glibc_malloc.py, and glibc_malloc.list for what is expected of each.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

begin
need gcc gcc
"$SOURCE_DIR/scripts/fetch-source.sh" glibc
/usr/bin/python3 "$real_dir/glibc_malloc.py" "$scratch"
