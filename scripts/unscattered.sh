#!/bin/bash
# scripts/unscattered.sh COMMAND...: runs a program built with a sanitizer, or what runs such programs.
#
# The sanitizers of gcc 12 and clang 14 find no room for their tables where the kernel scatters addresses over more than 28
# bits (vm.mmap_rnd_bits; newer kernels do on x86-64), and most programs then fail at their start. There the command runs
# with addresses not scattered at all, if that is allowed: in some containers it is not.
set -euo pipefail

bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null) || bits=0
if [[ $bits -gt 28 ]] && setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
    exec setarch "$(uname -m)" --addr-no-randomize "$@"
fi
exec "$@"
