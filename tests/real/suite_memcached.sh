#!/bin/bash
# memcached's own tests on builds by profalloc-cc with everything recorded: see suite.py.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

begin
[ -x "$PROFALLOC_BUILD_DIR/profalloc-cc" ] || die "profalloc-cc is not in $PROFALLOC_BUILD_DIR: build the project first"
need clang clang
need perl perl
need make make
[ -e /usr/include/event.h ] || die "event.h not found: install the Debian package libevent-dev"
/usr/bin/python3 "$real_dir/suite.py" memcached "$scratch"
