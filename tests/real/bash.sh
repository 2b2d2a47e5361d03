#!/bin/bash
# bash and the small programs its scripts call (sort, sed, awk, grep), on libprofalloc.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

work() {
    under bash "$real_dir/bash_script.sh" || echo "exit $?"
}

begin
need bash bash
for program in sort sed grep tr; do
    assert_interposed "$program" --version
done
assert_interposed awk 'BEGIN { exit 0 }'
assert_interposed bash --norc -c 'x=$(echo 1); exit 0'
compare_ways work
