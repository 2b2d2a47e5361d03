#!/bin/bash
# Stressors of stress-ng on libprofalloc: see stress_ng.py, and stress_ng.list for what is expected of each.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

begin
need stress-ng stress-ng
assert_interposed stress-ng --version
/usr/bin/python3 "$real_dir/stress_ng.py" "$scratch"
