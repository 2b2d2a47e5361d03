#!/bin/bash
# Fetches mimalloc 2.0.9 from Debian's source package into third_party/mimalloc and verifies it; see fetch-source.sh.
exec "$(dirname "${BASH_SOURCE[0]}")/fetch-source.sh" mimalloc
