#!/bin/bash
# perl: its own data structures, forks, pipes and interpreter threads, on libprofalloc.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

work() {
    under perl "$real_dir/perl_script.pl"
    under perl -e 'print "status\n"; exit 7' || echo "exit $?"
    under perl -e 'warn "a warning\n"; die "an error\n"' || echo "exit $?"
}

begin
need perl perl
assert_interposed perl -e 1
compare_ways work
